//! Input files of programs: their paths, and the check that they do not change during a run.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::schema::job::WorkSpec;
use crate::workloads;

/// Where the sandbox shows input files. Their own folder may lie below one that it replaces, or that its user may not enter.
pub const INPUTS: &str = "/run/input";

/// A file or folder that programs read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The absolute path.
    pub path: PathBuf,
    /// BLAKE3 of names, types and content, in hexadecimal.
    pub blake3: String,
}

/// The folder that contains all inputs; `None` without inputs.
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
                "the inputs lie in {} and in {}, but $INPUT is one folder; put the inputs, or links to them, into one folder",
                first.display(),
                folder.display()
            ));
        }
    }
    Ok(Some(first))
}

/// The input files of a work, each with its path in the sandbox.
pub fn input(work: &WorkSpec) -> Vec<(PathBuf, PathBuf)> {
    let parsed = workloads::parsed(work).map(|work| work.input()).unwrap_or_default();
    parsed
        .into_iter()
        .filter_map(|path| Some((path.clone(), inside(path.parent()?).join(path.file_name()?))))
        .collect()
}

/// The value of `$INPUT`: this folder, or in a sandbox the path at which the sandbox shows it.
pub fn seen(folder: &Path) -> PathBuf {
    let inside = inside(folder);
    if inside.is_dir() { inside } else { folder.to_owned() }
}

fn inside(folder: &Path) -> PathBuf {
    let hash = blake3::hash(folder.as_os_str().as_bytes()).to_hex();
    Path::new(INPUTS).join(&hash[..16])
}

/// Checks that the inputs still have the hashes taken when the run was planned. Reads all inputs, so that they are in the page
/// cache before the command of every trial.
///
/// # Errors
/// The error names the input that cannot be read or has changed.
pub fn unchanged(input: &[Input]) -> Result<(), String> {
    for Input { path, blake3 } in input {
        let at = match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => seen(folder).join(name),
            _ => path.clone(),
        };
        let now = hash(&at).map_err(|e| format!("could not read the input {}: {e}", path.display()))?;
        if now != *blake3 {
            return Err(format!(
                "the input {} has changed since the run was planned\n  try: restore the input, or begin a new run",
                path.display()
            ));
        }
    }
    Ok(())
}

/// BLAKE3 of a file's content, or of a folder's names, types, links and contents, in order of names.
pub fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, path)?;
    Ok(hasher.finalize().to_hex().to_string())
}

fn add(hasher: &mut blake3::Hasher, path: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(path)?;
    let mut named = |kind: &str, bytes: &[u8]| {
        hasher.update(kind.as_bytes());
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    if about.is_symlink() {
        named("link", fs::read_link(path)?.as_os_str().as_bytes());
        return Ok(());
    }
    if about.is_file() {
        named("file", &about.len().to_le_bytes());
        io::copy(&mut File::open(path)?, hasher)?;
        return Ok(());
    }
    if !about.is_dir() {
        return Err(io::Error::other("it is neither a file nor a folder nor a link"));
    }
    let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
    let mut names = entries?;
    names.sort();
    named("folder", &(names.len() as u64).to_le_bytes());
    for name in names {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        add(hasher, &path.join(&name))?;
    }
    Ok(())
}
