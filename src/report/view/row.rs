//! One metric in a report.

use serde::Serialize;

use super::number::{self, Scale};
pub use crate::analysis::dataset::{Cell, Value};
use crate::schema::declared::Declared;
use crate::schema::metric::{Better, Of, Owner};
use crate::schema::shared::Shared;

/// One metric of one workload, over all filesystems.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Row {
    pub name: String,
    /// The metric's dimensions, such as `file_bytes=4096, phase=write`; empty if the name identifies the metric.
    pub dimensions: String,
    pub title: String,
    /// Meaning of the metric; empty if the metric is not declared.
    pub explained: &'static str,
    pub unit: String,
    pub of: Of,
    pub better: Better,
    pub headline: bool,
    /// Whether the metric is a headline only because times do not count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stands_in: bool,
    /// Whether the metric is measured once, in the integrity check, and not in the rounds.
    pub once: bool,
    #[serde(skip)]
    pub declared: Option<&'static Declared>,
    /// Numeric dimensions of the metric, except the work: see [`crate::analysis::dataset::quantities`].
    #[serde(skip)]
    pub quantities: Vec<(String, u64)>,
    /// Whether the metric has a chart besides its table cells.
    #[serde(skip)]
    pub is_drawn: bool,
    /// Titles of metrics that are proportional to this one in each round and therefore have no chart.
    #[serde(skip)]
    pub alike: Vec<String>,
    /// The work that the metric belongs to, if a trial has several works.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub work: Owner,
    pub cells: Shared<Vec<Cell>>,
}

impl Row {
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().flat_map(|c| &c.values).map(|v| v.value)
    }

    /// The format of these values.
    pub fn scale(&self) -> Scale {
        let decimals = self.declared.map_or(0, |declared| declared.decimals);
        Scale::of(&self.unit, self.values()).at_least(decimals)
    }

    /// Whether this metric is a cell of a heat map.
    pub fn is_on_a_map(&self) -> bool {
        self.quantities.len() == 2 && !self.once
    }

    /// The heading of a narrow column.
    pub fn short(&self) -> &str {
        let declared = self.declared.filter(|d| !d.names_its_part());
        declared.map_or(self.title.as_str(), |d| d.heading())
    }

    /// Whether narrow tables show this metric beside the headline.
    pub fn is_key(&self) -> bool {
        !self.headline && self.declared.is_some_and(|d| d.key)
    }

    /// What a cell shows: `median of 12` if all filesystems have 12 trials, `median` if numbers differ, `value` for one trial each.
    pub fn median_of(&self) -> String {
        let mut all: Vec<usize> = self.cells.iter().map(|cell| cell.n).filter(|n| *n > 0).collect();
        all.sort_unstable();
        all.dedup();
        match all.as_slice() {
            [1] => "value".to_owned(),
            [n] => format!("median of {}", number::grouped(&n.to_string())),
            _ => "median".to_owned(),
        }
    }

    /// A note under a narrow table that explains the heading of this metric.
    pub fn footnote(&self) -> Option<String> {
        let declared = self.declared.filter(|d| d.footnote)?;
        Some(format!("{}: {}", declared.heading().replace('\n', " "), declared.explained))
    }

    /// The time span of the metric, if the title does not state it: `over the work and the sync after it`.
    pub fn over(&self) -> String {
        let over =
            self.declared.filter(|_| !self.title.contains("phase")).map(|declared| declared.over.said());
        over.map_or_else(String::new, |over| format!("over {over}"))
    }

    /// A sentence about the metrics that share this chart; empty if there are none.
    pub fn alike(&self) -> String {
        if self.alike.is_empty() {
            return String::new();
        }
        format!(
            "Not drawn again, because proportional to this metric: {metrics}. In each round, all candidates do the same \
             number of each of these operations.",
            metrics = number::list(&self.alike)
        )
    }

    /// Which direction is better: `higher is better`; empty if neither is better.
    pub fn direction(&self) -> &'static str {
        match self.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
            Better::Neither => "",
        }
    }
}

/// The range of a cell's values: `1,704 – 1,960`, or `identical`; empty with fewer than two values.
pub fn range(cell: &Cell, scale: &Scale) -> String {
    match (cell.min, cell.max) {
        (Some(min), Some(max)) if cell.n > 1 && min == max => "identical".to_owned(),
        (Some(min), Some(max)) if cell.n > 1 => format!("{} – {}", scale.number(min), scale.number(max)),
        _ => String::new(),
    }
}
