//! Programs of this machine in a work: how they are run, what they may read, what they print, and what they leave behind.

use std::ffi::CStr;
use std::time::Duration;

use crate::schema::job::WorkSpec;
use crate::workloads::kit::Keys;

mod input;
pub mod printed;
mod processes;
mod sources;
mod tree;

pub use input::{INPUTS, Input, folder, hash, input, seen, unchanged};
pub use processes::{Ended, Run, adopt, furnish, run, shift_start, sync};
pub use sources::Sources;
pub use tree::live;

/// A command line as it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A text that `sh -c` runs.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Line {
    /// The command as a user would type it, for messages.
    pub fn said(&self) -> String {
        match self {
            Line::Shell(text) => text.clone(),
            Line::Words(words) => shell_words::join(words),
        }
    }

    pub fn words(&self) -> Vec<&str> {
        match self {
            Line::Shell(text) => vec!["sh", "-c", text],
            Line::Words(words) => words.iter().map(String::as_str).collect(),
        }
    }
}

/// The exit codes of a program that count as success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Success {
    Codes(Vec<i32>),
    /// Any exit code counts as success; an end by a signal does not.
    Any,
}

impl Success {
    pub fn zero() -> Self {
        Success::Codes(vec![0])
    }

    fn has(&self, code: i32) -> bool {
        match self {
            Success::Codes(codes) => codes.contains(&code),
            Success::Any => true,
        }
    }
}

/// Options of the tmpfs that programs see as /tmp and /dev/shm.
pub const IN_MEMORY: &CStr = c"size=256m,mode=1777";

/// The longest time of a program: a trial's work has no more (`LIMIT` of a job's steps).
const LONGEST_SECONDS: u32 = 3600;

/// The key `limit_seconds`; without it the longest time.
///
/// # Errors
/// If it is not between 1 and the longest time.
pub fn limit(keys: &Keys<'_>) -> Result<Duration, String> {
    let given = keys.get::<toml::Value>("limit_seconds")?.is_some();
    let seconds = if given { keys.number("limit_seconds", 1..=LONGEST_SECONDS)? } else { LONGEST_SECONDS };
    Ok(Duration::from_secs(seconds.into()))
}

/// The Debian package of a program of this name; usually it has the same name.
pub fn package(program: &str) -> &str {
    const OTHER: [(&str, &str); 8] = [
        ("cc", "gcc"),
        ("cp", "coreutils"),
        ("find", "findutils"),
        ("fs_mark", "fsmark"),
        ("mv", "coreutils"),
        ("psql", "postgresql-client"),
        ("rm", "coreutils"),
        ("sort", "coreutils"),
    ];
    OTHER.iter().find(|(name, _)| *name == program).map_or(program, |(_, package)| package)
}

/// Whether a work starts programs.
pub fn starts(work: &WorkSpec) -> bool {
    super::parsed(work).is_ok_and(|work| work.needs().programs)
}
