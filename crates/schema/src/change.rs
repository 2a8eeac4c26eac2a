//! What two runs allow to be said of the difference between them.

use serde::{Deserialize, Serialize};

use crate::finding::{Evidence, Found};
use crate::units::Percent;

/// The shape of what `fsderby compare --json` prints.
pub const SCHEMA: u32 = 3;

/// The second run beside the first: `after` beside `before`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    pub schema: u32,
    pub basis: ChangeBasis,
    /// Within it a difference does not matter.
    pub margin: Percent,
    /// In what the two runs differ beside their figures.
    pub differences: Vec<Difference>,
    /// One for each candidate of both runs that is no control, and each headline metric of each scenario.
    pub findings: Vec<Change>,
    /// How the controls themselves moved from run to run: no finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<Change>,
    /// What one of the runs has no figures of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// What the findings rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ChangeBasis {
    /// Two samples of rounds that do not belong together.
    TwoRuns {
        /// Of each run; fewer give no finding.
        needed: u32,
        /// The chance that any finding of *better* or *worse* is noise within the runs.
        alpha: f64,
        /// Candidates of both runs that nothing was changed in: findings are ratios of ratios to them. Without any, what differs from
        /// run to run whatever was changed cannot be told from the change.
        controls: Vec<String>,
        /// How far apart the halves of one run are at most, as a ratio above 1, of what is judged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drift: Option<f64>,
    },
    /// The same samples of a modelled disk in both runs, in virtual time: differences are exact.
    Samples { needed: u32 },
}

/// One candidate and one headline metric of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// `after` beside `before`.
    pub finding: Found,
    pub scenario: String,
    pub metric: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    pub candidate: String,
    /// How many times better it is in the second run, above 1 where it is: the ratio of geometric means. Beside controls: less what
    /// they changed by.
    pub ratio: f64,
    /// Of the ratio: simultaneous at 1 − α, or the least and the most over all samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Rounds of each run, or samples of both.
    pub n: [u32; 2],
    pub evidence: Evidence,
}

/// In what two runs differ: `the kernel of alderfs`, `6.1`, `6.12`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    pub what: String,
    pub before: String,
    pub after: String,
    pub reach: Reach,
    /// Absent where candidates of one run cannot differ in it by a word of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<Point>,
}

/// What candidates of one run can have both ways, though neither plan stated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// The kernel that served the filesystem.
    Kernel,
}

/// Whose figures a difference between two runs may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Nobody's, or everybody's alike: seeds, dates.
    Chance,
    /// This candidate's.
    Candidate(String),
    /// All candidates'.
    All,
}

/// A candidate of both runs that one of them has no figures of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    pub candidate: String,
    pub scenario: String,
    /// Whether it is the second run that has none.
    pub after: bool,
}

impl Changes {
    /// Rounds of each run, or samples of both, that a finding takes.
    pub fn needed(&self) -> u32 {
        let (ChangeBasis::TwoRuns { needed, .. } | ChangeBasis::Samples { needed, .. }) = &self.basis;
        *needed
    }

    /// Whether this one has rounds or samples enough.
    pub fn is_judged(&self, change: &Change) -> bool {
        change.n.iter().all(|n| *n >= self.needed())
    }

    /// Whether every finding has rounds or samples enough.
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
