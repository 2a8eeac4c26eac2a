//! The recommendation by the experiment's needs.

use serde::Serialize;

use super::number;
use super::sentence::Sentence;
use crate::analysis::criteria::{Missing, Need};
use crate::analysis::recommendation::{Change, Recommendation, Weighed};

/// The recommendation, and the sentences that explain it.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct ToChoose {
    #[serde(flatten)]
    pub found: Recommendation,
    /// Sentences: the chosen candidate and the reasons, its disadvantages, when another candidate would be chosen, and which needs
    /// could not be judged.
    pub sentences: Vec<Sentence>,
    /// The choice and how sure it is, for the heading.
    #[serde(skip)]
    pub brief: Vec<Sentence>,
    /// A short title for each need, in order.
    #[serde(skip)]
    pub titles: Vec<String>,
}

/// Column headings and lines; the first column is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<String>,
    pub lines: Vec<Vec<String>>,
}

impl ToChoose {
    pub const TITLE: &'static str = "Recommendation";
    pub const RATIOS: &'static str = "Each figure is an estimate: a candidate's ratio to the first-ranked candidate \
                                      at one need (a workload or another weighted property). The first-ranked \
                                      candidate has the ratio 1. A ratio of 0.5 is half as good (half the rate, or \
                                      twice the time). The column overall, the score, is the weighted geometric mean \
                                      of a candidate's ratios.";
    pub const WEIGHTS: &'static str = "The weight of a need is shown as its share of all weights. The last two \
                                       columns give the factor by which the weight of one need must fall or rise, \
                                       with the other weights unchanged, before another candidate is recommended.";

    /// The table with a line for each candidate, best first, and a column for each need whose index is in `of`.
    pub fn ratios(&self, of: &[usize]) -> Table {
        let mut columns = vec![String::new(), "overall".to_owned()];
        columns.extend(of.iter().map(|at| self.titles[*at].clone()));
        let line = |place: &crate::analysis::recommendation::Place| {
            let mut line = vec![place.filesystem.clone(), ratio(place.score)];
            line.extend(of.iter().map(|at| place.ratios[*at].map_or_else(|| "–".to_owned(), ratio)));
            line
        };
        Table { columns, lines: self.found.ranking.iter().map(line).collect() }
    }

    /// The indices of the needs that could be judged.
    pub fn judged(&self) -> Vec<usize> {
        let needs = self.found.needs.iter().enumerate();
        needs.filter(|(_, need)| need.missing.is_none()).map(|(at, _)| at).collect()
    }

    /// The table with a line for each need: its weight, and when another candidate would be chosen.
    pub fn weights(&self) -> Table {
        let columns = ["", "counts", "another if less", "another if more"].map(str::to_owned).to_vec();
        let line = |(need, title): (&Weighed, &String)| match need.missing {
            Some(missing) => vec![title.clone(), why(missing).to_owned(), String::new(), String::new()],
            None if need.weight == 0.0 => {
                vec![title.clone(), "decides a draw".to_owned(), String::new(), String::new()]
            }
            None => {
                let counts = format!("{:.0}%", 100.0 * need.share);
                vec![title.clone(), counts, changed(need.less.as_ref()), changed(need.more.as_ref())]
            }
        };
        Table { columns, lines: self.found.needs.iter().zip(&self.titles).map(line).collect() }
    }
}

/// When another candidate would be chosen, as a factor of the weight: `at 0.42 times: B`.
fn changed(change: Option<&Change>) -> String {
    change.map_or_else(
        || "never".to_owned(),
        |change| format!("at {} times: {}", times(change.factor), change.filesystem),
    )
}

/// A ratio with two or three digits: `0.95`, `0.042`.
pub fn ratio(value: f64) -> String {
    match value {
        v if v >= 0.9995 => "1".to_owned(),
        v if v >= 0.1 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// A factor: `2.3`, `0.42`, `1,200`.
pub fn times(factor: f64) -> String {
    match factor {
        f if f >= 100.0 => number::grouped(&format!("{f:.0}")),
        f if f >= 10.0 => format!("{f:.0}"),
        f if (0.95..1.05).contains(&f) => format!("{f:.3}"),
        f if f >= 0.01 => format!("{f:.2}"),
        f => format!("{f:.1e}"),
    }
}

pub fn why(missing: Missing) -> &'static str {
    match missing {
        Missing::NotMeasured => "no valid trial measured it",
        Missing::TimesSayNothing => "this need was measured on testbeds whose times are not valid",
        Missing::NoRatio => "some values of this need are 0 and have no ratio",
        Missing::NoRoundInCommon => "no round measured this need for all candidates",
    }
}

/// The title of a need.
pub fn title(need: &Need) -> String {
    match need {
        Need::Workload(label) => label.clone(),
        Need::Metric { workload, metric } => format!("{workload}: {metric}"),
        Need::Aspect(aspect) => aspect.title().to_owned(),
    }
}
