//! Figures that another program measured elsewhere, shown beside the run's figures or alone.

use serde::Serialize;

use super::needs::Table;

/// Results of one import for the same work.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Imported {
    /// The folder of the import.
    pub import: String,
    /// The tool's name for itself.
    pub tool: String,
    /// The files with the figures of the tool.
    pub sources: Vec<From>,
    /// The work, as far as the files state it.
    pub work: String,
    /// The workload of the run beside which the imported figures are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// Differences between the run's workload and the imported work; empty if both are the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// The imported filesystems, in the order of the files.
    pub filesystems: Vec<Filesystem>,
    /// Passes that differ by more than is normal.
    pub disagreements: Vec<Disagreement>,
    /// Sentences that must accompany the figures.
    pub sentences: Vec<String>,
    /// The sources of the figures and the repairs of their lines, one line each.
    #[serde(skip)]
    pub provenance: Vec<String>,
    /// What the tool's figures do not tell.
    pub note: String,
    #[serde(skip)]
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct From {
    pub name: String,
    pub blake3: String,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Filesystem {
    pub label: String,
    /// The matching candidate of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub here: Option<String>,
    pub passes: Vec<Pass>,
    /// The run's median ÷ the imported median, only for the same work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<Ratio>,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Pass {
    /// File and line of the figures: `raid.txt:57`.
    pub from: String,
    pub program: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub figures: Vec<Figure>,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Figure {
    pub metric: String,
    pub unit: String,
    /// The figure; `null` if the tool could not measure it.
    pub value: Option<f64>,
    /// A bound of the figure, if the value itself is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_than: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub less_than: Option<f64>,
    /// Whether another pass contradicts this figure.
    pub disagrees: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Ratio {
    pub metric: String,
    pub ratio: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Disagreement {
    pub filesystem: String,
    pub metric: String,
    /// The largest ÷ the smallest figure, as the least ratio that printed digits and the tool's clock allow.
    pub times: f64,
}

/// One table: label, the source of the figures, then a column for each metric.
#[derive(Clone, Debug)]
pub struct Part {
    pub title: String,
    pub table: Table,
}

impl Imported {
    pub const TITLE: &'static str = "Imported figures";
    /// The mark after a figure that another pass contradicts.
    pub const DISAGREES: &'static str = "‡";
    /// The column heading of a CPU share, after its rate.
    pub const SHARE: &'static str = "CPU";
    /// The first columns of each table are text.
    pub const TEXTS: usize = 2;

    /// The heading of the figures: `Imported from Bonnie++: raid.txt`.
    pub fn caption(&self) -> String {
        let names: Vec<&str> = self.sources.iter().map(|source| source.name.as_str()).collect();
        format!("Imported from {}: {}", self.tool, names.join(", "))
    }
}
