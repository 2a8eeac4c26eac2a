//! Exit codes. The numbers are stable, because scripts rely on them.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

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
/// Shards (parts of a run) do not merge: one is missing, duplicate, unfinished or does not fit.
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
    (SHARDS, "Shards (parts of a run) do not merge: one is missing, duplicate, unfinished or does not fit."),
    (INTERRUPTED, "Stopped by Ctrl-C; finished trials are kept."),
];

/// How messages introduce their remedy, on a line of its own.
const REMEDY: &str = "\n  try: ";

/// An error with its exit code. Other errors end with [`USAGE`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    pub code: u8,
    pub what: String,
    /// What to do about it.
    pub try_this: Option<String>,
}

impl Failure {
    /// `message` may end with a remedy: a line `  try: …`.
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        let message = visible::message(&message.into());
        let (what, try_this) = match message.rsplit_once(REMEDY) {
            Some((what, remedy)) => (what.to_owned(), Some(remedy.to_owned())),
            None => (message, None),
        };
        Failure { code, what, try_this }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(USAGE, message)
    }

    pub fn missing(message: impl Into<String>) -> Self {
        Failure::new(MISSING, message)
    }

    /// The same failure of a named part, such as a candidate.
    #[must_use]
    pub fn of(self, whose: impl Display) -> Self {
        Failure { what: format!("{whose}: {}", self.what), ..self }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.try_this.iter().try_for_each(|remedy| write!(f, "{REMEDY}{remedy}"))
    }
}

/// A missing requirement, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}{REMEDY}{try_this}")]
pub struct Missing {
    pub what: String,
    pub try_this: String,
}

impl From<Missing> for Failure {
    fn from(missing: Missing) -> Self {
        Failure { code: MISSING, what: missing.what, try_this: Some(missing.try_this) }
    }
}

/// The exit code of an error: that of the first [`Failure`] or [`Missing`] in its chain.
pub fn code(error: &anyhow::Error) -> u8 {
    let code = |e: &(dyn Error + 'static)| {
        let missing = e.downcast_ref::<Missing>().map(|_| MISSING);
        missing.or_else(|| Some(e.downcast_ref::<Failure>()?.code))
    };
    error.chain().find_map(code).unwrap_or(USAGE)
}
