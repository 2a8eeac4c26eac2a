//! What a run says of its records when it ends: `seal.json`.

use serde::{Deserialize, Serialize};

use crate::finding::Look;

/// The shape of `seal.json`.
pub const SCHEMA: u32 = 1;

/// Covers a run's folder as it was at its end: plan and machine, the records so far, and through the hashes in these all that
/// lies beside them. What was added later is not covered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    pub schema: u32,
    pub ended: Ended,
    /// How many rounds were over.
    pub rounds: u32,
    /// The verdicts that were given so far, in their order: what each spent, none after it can spend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Look>,
    /// How many records there were.
    pub records: usize,
    /// The bytes of `trials.jsonl` that hold them.
    pub bytes: usize,
    pub plan_blake3: String,
    pub machine_blake3: String,
    /// Of so many bytes of `trials.jsonl`.
    pub trials_blake3: String,
}

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All that was due was done.
    Complete,
    /// By Ctrl-C.
    Interrupted,
    /// It had not ended: a verdict was given, and rounds were to follow.
    GoesOn,
}
