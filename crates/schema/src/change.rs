//! Findings about the difference between two runs.

use serde::{Deserialize, Serialize};

use crate::finding::{Evidence, Found};
use crate::units::Percent;

/// Schema version of the output of `fsderby compare --json`.
pub const SCHEMA: u32 = 3;

/// The second run compared with the first: `after` relative to `before`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    pub schema: u32,
    pub basis: ChangeBasis,
    /// A difference within the margin does not matter.
    pub margin: Percent,
    /// Differences between the two runs besides their figures.
    pub differences: Vec<Difference>,
    /// One finding per candidate in both runs (controls excluded) and headline metric of each scenario.
    pub findings: Vec<Change>,
    /// Changes of the controls themselves; these are not findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<Change>,
    /// Candidates without figures in one of the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// The basis of the findings.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "on", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ChangeBasis {
    /// Two independent samples of rounds.
    TwoRuns {
        /// Number of rounds that each run needs; with fewer rounds there is no finding.
        needed: u32,
        /// Probability that any finding of *better* or *worse* is noise within the runs.
        alpha: f64,
        /// Unchanged candidates in both runs: findings are ratios of ratios to them. Without controls, variation between runs
        /// cannot be separated from the change.
        controls: Vec<String>,
        /// Largest difference between the halves of one run, over everything judged, as a ratio above 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drift: Option<f64>,
    },
    /// The same samples of a modelled disk in both runs, in virtual time: differences are exact.
    Samples { needed: u32 },
}

/// One candidate and one headline metric of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// `after` relative to `before`.
    pub finding: Found,
    pub scenario: String,
    pub metric: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    pub candidate: String,
    /// Improvement in the second run, above 1 if better: the ratio of geometric means. With controls, relative to their change.
    pub ratio: f64,
    /// Interval of the ratio: simultaneous at 1 − α, or minimum and maximum over all samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Rounds of each run, or samples in both.
    pub n: [u32; 2],
    pub evidence: Evidence,
}

/// A difference between two runs: `the kernel of alderfs`, `6.1`, `6.12`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    pub what: String,
    pub before: String,
    pub after: String,
    pub reach: Reach,
    /// The factor that differs; absent if a plan cannot give candidates of one run different values of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<Point>,
}

/// A factor that candidates of one run can vary, although neither plan stated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// The kernel that served the filesystem.
    Kernel,
}

/// The figures that a difference between two runs may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// The difference may change no figures, or all figures alike: seeds, dates.
    Chance,
    /// The difference may change the figures of this candidate.
    Candidate(String),
    /// The difference may change the figures of all candidates.
    All,
}

/// A candidate in both runs without figures in one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    pub candidate: String,
    pub scenario: String,
    /// Whether the candidate lacks figures in the second run, rather than in the first.
    pub after: bool,
}

impl Changes {
    /// Rounds of each run, or samples in both, that a finding requires.
    pub fn needed(&self) -> u32 {
        let (ChangeBasis::TwoRuns { needed, .. } | ChangeBasis::Samples { needed, .. }) = &self.basis;
        *needed
    }

    /// Whether this change has enough rounds or samples.
    pub fn is_judged(&self, change: &Change) -> bool {
        change.n.iter().all(|n| *n >= self.needed())
    }

    /// Whether every finding has enough rounds or samples.
    pub fn is_final(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(|change| self.is_judged(change))
    }

    pub fn controls(&self) -> &[String] {
        match &self.basis {
            ChangeBasis::TwoRuns { controls, .. } => controls,
            ChangeBasis::Samples { .. } => &[],
        }
    }
}
