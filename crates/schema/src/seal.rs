//! The seal of a run's records, written when it ends: `seal.json`.

use serde::{Deserialize, Serialize};

use crate::finding::Interim;

/// Schema version of `seal.json`.
pub const SCHEMA: u32 = 1;

/// Covers a run's folder as it was when the run ended: plan, machine and records directly; histograms, consoles and requests
/// through the hashes in the records. Later additions are not covered.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    pub schema: u32,
    pub ended: Ended,
    /// Number of complete rounds.
    pub rounds: u32,
    /// The verdicts given so far, in order; no later verdict can spend their α again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Interim>,
    /// Number of records.
    pub records: usize,
    /// Bytes of `trials.jsonl` that hold them.
    pub bytes: usize,
    pub plan_blake3: String,
    pub machine_blake3: String,
    /// BLAKE3 of these bytes of `trials.jsonl`.
    pub trials_blake3: String,
}

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The run did everything that its plan contains.
    Complete,
    /// Ctrl-C ended the run.
    Interrupted,
    /// The run has not ended: a verdict was given and more rounds follow.
    GoesOn,
}
