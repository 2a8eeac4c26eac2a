//! Figures that another program measured elsewhere, beside the run's own or by themselves.

use serde::Serialize;

use super::needs::Table;

/// Results of one import that are of the same work.
#[derive(Clone, Debug, Serialize)]
pub struct Imported {
    /// The import's folder.
    pub import: String,
    /// As the tool calls itself.
    pub tool: String,
    /// The files that its figures stand in.
    pub sources: Vec<From>,
    /// What was done, as far as the files say it.
    pub work: String,
    /// The workload beside which they are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// In what that is other work; empty where it is the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// In the order of the files.
    pub filesystems: Vec<Filesystem>,
    /// Passes that are farther apart than passes may be.
    pub disagreements: Vec<Disagreement>,
    /// What must be said with the figures.
    pub sentences: Vec<String>,
    /// Where they come from and what was mended, a line each.
    #[serde(skip)]
    pub provenance: Vec<String>,
    /// What the tool's figures do not say.
    pub note: String,
    #[serde(skip)]
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Serialize)]
pub struct From {
    pub name: String,
    pub blake3: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Filesystem {
    pub label: String,
    /// That one of the run that it stands beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub here: Option<String>,
    pub passes: Vec<Pass>,
    /// Here by imported, for the same work alone: the medians of both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<Ratio>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Pass {
    /// `raid.txt:57`
    pub from: String,
    pub program: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub figures: Vec<Figure>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub metric: String,
    pub unit: String,
    /// `null` where the tool could not tell.
    pub value: Option<f64>,
    /// Then it is more than this, or less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_than: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub less_than: Option<f64>,
    /// Whether another pass says something else.
    pub disagrees: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub metric: String,
    pub ratio: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    pub filesystem: String,
    pub metric: String,
    /// How many times as large the largest is, at least.
    pub times: f64,
}

/// One table: label, whose figures they are, then a column for each metric.
#[derive(Clone, Debug)]
pub struct Part {
    pub title: String,
    pub table: Table,
}

impl Imported {
    pub const TITLE: &'static str = "Imported figures";
    /// Behind a figure that another pass contradicts.
    pub const DISAGREES: &'static str = "‡";
    /// Heads the column of a CPU share, behind the rate that it is of.
    pub const SHARE: &'static str = "CPU";
    /// The first columns of each table, which are text.
    pub const TEXTS: usize = 2;

    /// `Imported from Bonnie++: raid.txt`
    pub fn caption(&self) -> String {
        let names: Vec<&str> = self.sources.iter().map(|source| source.name.as_str()).collect();
        format!("Imported from {}: {}", self.tool, names.join(", "))
    }
}
