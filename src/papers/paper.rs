//! The shape of a paper: what it was measured on, who took part, the tables.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claim::{Claim, Point};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Who and what: authors and title.
    pub title: String,
    pub year: u16,
    /// Where and when it appeared, as far as it says so, and in which language.
    pub published: String,
    /// What it compared, and how.
    pub story: String,
    pub disk: String,
    /// The modelled disk that stands for that disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// All else that the figures were measured on, in a line.
    pub machine: String,
    /// Whether its figures are averages of its trials. Ours beside them are averages then, and else medians.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub averages: bool,
    pub environment: Environment,
    /// Those of which there is more to say than the name of a kind.
    #[serde(default, rename = "candidate", skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
    #[serde(default, rename = "claim", skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
}

/// What it was measured on, as far as it says so.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Environment {
    pub processor: Option<String>,
    pub memory: Option<String>,
    pub board: Option<String>,
    pub controller: Option<String>,
    pub disk: Option<String>,
    pub volume: Option<String>,
    pub system: Option<String>,
    pub kernel: Option<String>,
    /// Of the filesystems or their tools.
    pub versions: Option<String>,
    /// Of mkfs and mount.
    pub options: Option<String>,
    /// What measured.
    pub tool: Option<String>,
    pub repetitions: Option<String>,
    /// Where the paper contradicts itself or misprints.
    pub note: Option<String>,
}

/// One that took part. What has no such row is a kind of ours by its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// In tables and claims: a kind of ours, or a name of its own.
    pub name: String,
    /// What the paper calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// Why it is no kind of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What the paper printed for one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The ready set whose parameters are the paper's.
    pub workload: String,
    /// Further sets that the same chart is of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The dimensions of the metrics that it is of, such as the size of the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, String>,
    /// Where in the paper: `tables 3 and 4`.
    pub place: String,
    /// What the figures are in, whatever the paper calls it: see [`super::factor`].
    pub unit: String,
    /// What exactly is compared.
    pub note: String,
    /// The metrics that are the same quantities, in the order of the figures.
    pub metrics: Vec<String>,
    /// Why no metric of ours is the same quantity, where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmatched: Option<String>,
    /// By candidate. None where the paper has a chart or sentences in place of figures.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Vec<f64>>,
}

impl Paper {
    /// What it printed of that, in its own unit.
    pub fn printed(&self, point: &Point<'_>) -> Option<f64> {
        self.tables.iter().find_map(|table| table.printed(point))
    }

    pub fn candidate(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.name == name)
    }
}

impl Table {
    pub fn workloads(&self) -> impl Iterator<Item = &str> {
        [&self.workload].into_iter().chain(&self.also).map(String::as_str)
    }

    /// Whether a run can stand beside it: several filesystems have figures of metrics that are ours too, for one set.
    pub fn is_comparable(&self) -> bool {
        self.figures.len() > 1 && self.unmatched.is_none() && self.also.is_empty() && self.at.is_empty()
    }

    fn printed(&self, point: &Point<'_>) -> Option<f64> {
        let at = self.metrics.iter().position(|metric| metric == point.metric)?;
        let is_of = self.workloads().any(|workload| workload == point.workload) && self.at == *point.at;
        self.figures.get(point.candidate).filter(|_| is_of)?.get(at).copied()
    }
}

impl Environment {
    /// Each with its word, in the order in which they are shown.
    pub fn rows(&self) -> [(&'static str, &Option<String>); 12] {
        [
            ("Processor", &self.processor),
            ("Memory", &self.memory),
            ("Board", &self.board),
            ("Controller", &self.controller),
            ("Disk", &self.disk),
            ("Volume", &self.volume),
            ("System", &self.system),
            ("Kernel", &self.kernel),
            ("Versions", &self.versions),
            ("Options", &self.options),
            ("Tool", &self.tool),
            ("Repetitions", &self.repetitions),
        ]
    }
}
