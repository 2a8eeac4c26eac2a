//! One metric in a report.

use serde::Serialize;

use super::number::{self, Scale};
pub use crate::analysis::dataset::{Cell, Value};
use crate::schema::declared::Declared;
use crate::schema::metric::{Better, Of};

/// One metric of one workload, over all filesystems.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub name: String,
    /// `file_bytes=4096, phase=write`; empty where the name says all.
    pub dimensions: String,
    pub title: String,
    /// What it means; empty where nobody declares it.
    pub explained: &'static str,
    pub unit: String,
    pub of: Of,
    pub better: Better,
    pub headline: bool,
    /// It is one only because no time says anything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stands_in: bool,
    /// Measured once, in the integrity check, and not in the rounds.
    pub once: bool,
    #[serde(skip)]
    pub declared: Option<&'static Declared>,
    /// What its dimensions count, beside the work: see [`crate::analysis::dataset::quantities`].
    #[serde(skip)]
    pub quantities: Vec<(String, u64)>,
    /// Whether it is drawn as well as listed.
    #[serde(skip)]
    pub is_drawn: bool,
    /// Titles of metrics that are in proportion to it in each round, and are not drawn again.
    #[serde(skip)]
    pub alike: Vec<String>,
    /// Which work it is of, where a trial has several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub work: String,
    pub cells: Vec<Cell>,
}

impl Row {
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().flat_map(|c| &c.values).map(|v| v.value)
    }

    /// How these values are written.
    pub fn scale(&self) -> Scale {
        let decimals = self.declared.map_or(0, |declared| declared.decimals);
        Scale::of(&self.unit, self.values()).at_least(decimals)
    }

    /// Whether it is one cell of a field over two quantities.
    pub fn is_on_a_map(&self) -> bool {
        self.quantities.len() == 2 && !self.once
    }

    /// Heads a narrow column.
    pub fn short(&self) -> &str {
        self.declared.map_or(self.title.as_str(), |d| d.heading())
    }

    /// Whether it stands beside the headline in narrow tables.
    pub fn is_key(&self) -> bool {
        !self.headline && self.declared.is_some_and(|d| d.key)
    }

    /// `median of 12`, where all have as many trials; `median`; of one trial each, `value`.
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

    /// What must stand under a narrow table, because the heading does not say it.
    pub fn footnote(&self) -> Option<String> {
        let declared = self.declared.filter(|d| d.footnote)?;
        Some(format!("{}: {}", declared.heading().replace('\n', " "), declared.explained))
    }

    /// Of which time it is, where the title does not say it: `over the work and the sync after it`.
    pub fn over(&self) -> String {
        let over =
            self.declared.filter(|_| !self.title.contains("phase")).map(|declared| declared.over.said());
        over.map_or_else(String::new, |over| format!("over {over}"))
    }

    /// What one picture of several metrics shows; empty where it is of one.
    pub fn alike(&self) -> String {
        if self.alike.is_empty() {
            return String::new();
        }
        format!(
            "Proportional to it, and therefore not drawn again: {}. Each round has the same number of them for \
                all.",
            number::list(&self.alike)
        )
    }

    /// `higher is better`; empty for neither.
    pub fn direction(&self) -> &'static str {
        match self.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
            Better::Neither => "",
        }
    }
}

/// `1,704 – 1,960`, or `identical`; empty where there are not two values.
pub fn range(cell: &Cell, scale: &Scale) -> String {
    match (cell.min, cell.max) {
        (Some(min), Some(max)) if cell.n > 1 && min == max => "identical".to_owned(),
        (Some(min), Some(max)) if cell.n > 1 => format!("{} – {}", scale.number(min), scale.number(max)),
        _ => String::new(),
    }
}
