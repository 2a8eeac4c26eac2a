//! Programs of this machine in a work: how they are run, what they may read, what they print, and what they leave behind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::schema::job::WorkSpec;

pub mod printed;
mod processes;
mod tree;

pub use processes::{Ended, Run, adopt, run};
pub use tree::{forget, live};

/// Where the sandbox shows input files. Their own folder may lie below one that it replaces, or that its user may not enter.
const INPUTS: &str = "/run/input";

/// A file or folder that programs read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Absolute.
    pub path: PathBuf,
    /// BLAKE3 of names, types and content, in hexadecimal.
    pub blake3: String,
}

/// A command line as it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// For `sh -c`.
    Shell(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl Line {
    /// As one would type it, for messages.
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
    /// Whatever it is; a signal is none.
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

/// The longest time of a command that states no limit.
pub const LIMIT: Duration = Duration::from_secs(3600);

/// The one folder of all inputs; `None` without inputs.
///
/// # Errors
/// If a path is not absolute, or the inputs lie in different folders.
pub fn folder(input: &[Input]) -> Result<Option<&Path>, String> {
    let mut folders = input.iter().map(|input| match input.path.parent() {
        Some(folder) if input.path.is_absolute() => Ok(folder),
        _ => Err(format!("input {}: write an absolute path of a file or folder", input.path.display())),
    });
    let Some(first) = folders.next().transpose()? else { return Ok(None) };
    for folder in folders {
        let folder = folder?;
        if folder != first {
            return Err(format!(
                "the inputs lie in {} and in {}, but $INPUT is one folder; put them, or links to them, into one",
                first.display(),
                folder.display()
            ));
        }
    }
    Ok(Some(first))
}

/// Whether a work starts programs.
pub fn starts(work: &WorkSpec) -> bool {
    super::parsed(work).is_ok_and(|work| work.needs().programs)
}

/// The input files of a work, each with its path in the sandbox.
pub fn input(work: &WorkSpec) -> Vec<(PathBuf, PathBuf)> {
    let parsed = super::parsed(work).map(|work| work.input()).unwrap_or_default();
    parsed
        .into_iter()
        .filter_map(|path| Some((path.clone(), inside(path.parent()?).join(path.file_name()?))))
        .collect()
}

/// `$INPUT`: this folder, or its place in the sandbox, where there is one.
pub fn seen(folder: &Path) -> PathBuf {
    let inside = inside(folder);
    if inside.is_dir() { inside } else { folder.to_owned() }
}

fn inside(folder: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let hash = blake3::hash(folder.as_os_str().as_bytes()).to_hex();
    Path::new(INPUTS).join(&hash[..16])
}
