//! Exit codes. The numbers are stable, because scripts rely on them.

use crate::text::visible;

/// The command succeeded.
pub const OK: u8 = 0;
/// The condition given with `--fail-if` is met.
pub const FAIL_IF: u8 = 1;
/// A wrong option, experiment or parameter.
pub const USAGE: u8 = 2;
/// The testbed, a tool or a permission is missing.
pub const MISSING: u8 = 3;
/// The run ended, but some trials failed or are void.
pub const TRIALS: u8 = 4;
/// Records are damaged.
pub const DAMAGED: u8 = 5;
/// Data read back differs from data written, or a synced file did not survive a power cut.
pub const INTEGRITY: u8 = 6;
/// A repeated trial gave another result with the same program, kernel and inputs.
pub const HASH: u8 = 7;
/// Shards (parts of a run) do not merge: one is missing, doubled, unfinished or does not fit.
pub const SHARDS: u8 = 8;
/// The run was stopped by Ctrl-C; finished trials are kept.
pub const INTERRUPTED: u8 = 130;

/// Meaning of each code, for help and documents.
pub static MEANINGS: [(u8, &str); 10] = [
    (OK, "Success."),
    (FAIL_IF, "The condition given with `--fail-if` is met."),
    (USAGE, "A wrong option, experiment or parameter."),
    (MISSING, "The testbed, a tool or a permission is missing."),
    (TRIALS, "The run ended, but some trials failed or are void."),
    (DAMAGED, "Records are damaged."),
    (INTEGRITY, "Data read back differs from data written, or a synced file did not survive a power cut."),
    (HASH, "A repeated trial gave another result with the same program, kernel and inputs."),
    (SHARDS, "Shards (parts of a run) do not merge: one is missing, doubled, unfinished or does not fit."),
    (INTERRUPTED, "Stopped by Ctrl-C; finished trials are kept."),
];

/// An error with its exit code. Other errors end with [`USAGE`].
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub code: u8,
    pub message: String,
}

impl Failure {
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Failure { code, message: visible::message(&message.into()) }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(USAGE, message)
    }

    pub fn missing(message: impl Into<String>) -> Self {
        Failure::new(MISSING, message)
    }
}

/// The exit code of an error: that of the first [`Failure`] in its chain.
pub fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(|e| e.downcast_ref::<Failure>()).map_or(USAGE, |f| f.code)
}
