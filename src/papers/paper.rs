//! The structure of a paper: environment, candidates and tables.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claim::{Claim, Point};
use crate::schema::units::{Bytes, Scale};

#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Authors and title.
    pub title: String,
    pub year: u16,
    /// Place and date of publication as far as the paper states them, and the paper's language.
    pub published: String,
    /// What the paper compared, and how.
    pub story: String,
    pub disk: String,
    /// The modelled disk that represents the paper's disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The machine without the disk, in one line: processor, memory and kernel.
    pub machine: String,
    /// Whether the paper's figures are averages over trials. A run's figures next to them are then averages too, not medians.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub averages: bool,
    pub environment: Environment,
    /// Candidates that need more than the name of a kind.
    #[serde(default, rename = "candidate", skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Candidate>,
    #[serde(default, rename = "table", skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    #[serde(default, rename = "claim", skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    #[serde(default)]
    pub reproduction: Reproduction,
}

/// How the paper's experiments are run here.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reproduction {
    /// Runs on a model of the paper's disk and machine.
    #[serde(rename = "run")]
    pub runs: Vec<Repeat>,
    /// The memory of the paper's machine, unless an experiment states it.
    pub memory: Option<Bytes>,
    /// The size of the paper's volume, unless an experiment states it.
    pub size: Option<Bytes>,
    /// The era that has the default options of the paper's time, if there is one.
    pub era: Option<String>,
    /// Measured once at full size.
    pub written: Vec<Amount>,
    pub why: Vec<Why>,
}

/// One run of an experiment.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Name of an experiment, or path of its .toml file; in a paper's file relative to it.
    pub experiment: String,
    /// Instead of the experiment's workloads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// Only these of the experiment's filesystems; default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filesystems: Vec<String>,
    /// The default scale; absent: full size. The runs of a paper should take about half an hour on two cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

/// What of a work reached the device at full size.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amount {
    pub workload: String,
    pub kind: String,
    /// Device bytes written by the end of the sync ÷ bytes that the work wrote.
    pub ratio: f64,
}

/// A run in which one thing alone changes.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// What changes: `the write barrier`.
    pub change: String,
    pub command: String,
}

/// The environment, as far as the paper states it.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema, Deserialize)]
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
    /// Versions of the filesystems or their tools.
    pub versions: Option<String>,
    /// Options of mkfs and mount.
    pub options: Option<String>,
    /// The tool with which the paper measured.
    pub tool: Option<String>,
    pub repetitions: Option<String>,
    /// Contradictions and misprints of the paper.
    pub note: Option<String>,
}

/// A candidate. A name without such a row is the name of a kind.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Name in tables and claims: a kind, or a name used only here.
    pub name: String,
    /// Name in the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// Why fsderby has no such kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The figures that the paper printed for one workload.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The ready parameter set with the paper's parameters.
    pub workload: String,
    /// Further sets that the same chart covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Dimensions of the table's metrics, such as the file size.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, String>,
    /// Place in the paper: `tables 3 and 4`.
    pub place: String,
    /// Unit of the figures, whatever the paper calls it: see [`super::factor`].
    pub unit: String,
    /// Exact definition of the compared quantities.
    pub note: String,
    /// The metrics with the same definition, in the order of the figures.
    pub metrics: Vec<String>,
    /// If no metric has the same definition: the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmatched: Option<String>,
    /// Figures by candidate; empty if the paper has a chart or sentences instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Vec<f64>>,
}

impl Paper {
    /// The paper's figure, in its own unit.
    pub fn printed(&self, point: &Point<'_>) -> Option<f64> {
        self.tables.iter().find_map(|table| table.printed(point))
    }

    pub fn candidate(&self, name: &str) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.name == name)
    }

    /// Why fsderby has no metric like the paper's.
    pub fn unmatched(&self, point: &Point<'_>) -> Option<&str> {
        let of_it = |table: &&Table| {
            table.metrics.iter().any(|own| own == point.metric)
                && table.workloads().any(|own| own == point.workload)
                && table.at == *point.at
        };
        self.tables.iter().filter(of_it).find_map(|table| table.unmatched.as_deref())
    }
}

impl Table {
    pub fn workloads(&self) -> impl Iterator<Item = &str> {
        [&self.workload].into_iter().chain(&self.also).map(String::as_str)
    }

    /// Whether a run can be compared with the paper: for one set, several filesystems must have figures of existing metrics.
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
    /// Each row with its heading, in the order of display.
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
