//! An import's folder: created completely or not at all, and never changed.
//!
//! ```text
//! results/bonnie-raid/
//!   import.json     the parsed figures, the hash of each file, and the request
//!   sources/1.txt   copies of the files
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;

use super::unready::{FILE, SOURCES, Unready};
use super::{Given, READING, collected, find};
use crate::exit::{DAMAGED, Failure};
use crate::host::caller::create_folders;
use crate::schema::import::{Import, SCHEMA, Source};
use crate::schema::units::{Bytes, MIB};
use crate::store::Door;

/// Size limit of a source; a tool's output has some kilobytes.
pub const SOURCE_MOST: Bytes = Bytes(16 * MIB);
/// Size limit of `import.json`; a figure takes some hundred bytes.
const FILE_MOST: Bytes = Bytes(256 * MIB);
/// Most sources in one import.
pub const MOST_SOURCES: usize = 1000;

/// Path of the copy of source number `at`.
pub fn copy_of(at: usize) -> String {
    format!("{SOURCES}/{}.txt", at + 1)
}

/// Whether this folder holds an import and not a run.
pub fn is_import(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(FILE)).is_ok()
}

/// Creates a folder with the import and its sources.
///
/// # Errors
/// If the name exists, or space or permissions are missing. After an error no file is left behind.
pub fn store(import: &Import, files: &[Given<'_>], path: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        let text =
            format!("{} already exists and is not overwritten\n  try: another --output", path.display());
        return Err(Failure::usage(text));
    }
    made(import, files, path).map_err(|e| {
        let text = format!(
            "could not create the import's folder {}: {e:#}\n  try: --output DIR, in a folder that \
            you can write to",
            path.display()
        );
        Failure::missing(text)
    })
}

/// Fills a temporary folder and renames it, so that the import exists completely or not at all. On failure, all folders created for
/// the import are removed.
fn made(import: &Import, files: &[Given<'_>], path: &Path) -> anyhow::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above: Vec<&Path> =
        parent.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
    let made = create_folders(parent).map_err(anyhow::Error::from).and_then(|()| {
        let unready = Unready::in_folder(parent)?;
        fill(import, files, unready.path())?;
        Ok(unready.named(path)?)
    });
    made.inspect_err(|_| above.iter().for_each(|folder| drop(fs::remove_dir(folder))))
}

fn fill(import: &Import, files: &[Given<'_>], at: &Path) -> anyhow::Result<()> {
    let door = Door::open(at)?;
    door.make_folder(SOURCES)?;
    for (source, file) in import.sources.iter().zip(files) {
        door.create(&source.path, file.bytes).with_context(|| source.path.clone())?;
    }
    let mut json = serde_json::to_vec_pretty(import)?;
    json.push(b'\n');
    Ok(door.create(FILE, &json)?)
}

/// Reads an import, parses its sources again and compares the figures.
///
/// # Errors
/// [`DAMAGED`] with every problem found.
pub fn read(folder: &Path) -> Result<Import, Failure> {
    let name = folder.display();
    let none = |why: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{name} is not an import: {why}\n  try: a folder that fsderby import has made"
        ))
    };
    let door = Door::open(folder).map_err(|e| none(&e))?;
    if !is_import(folder) {
        return Err(none(&format!("it has no {FILE}")));
    }
    let damaged = |what: &[String]| {
        let text = format!(
            "{name} is not reliable: {problems}\n  try: fsderby import again, from the original files",
            problems = what.join("; ")
        );
        Failure::new(DAMAGED, text)
    };
    let json = door.read(FILE, FILE_MOST).map_err(|e| damaged(&[format!("{FILE}: {e}")]))?;
    let import: Import = serde_json::from_slice(&json).map_err(|e| damaged(&[format!("{FILE}: {e}")]))?;
    if import.schema != SCHEMA {
        let text = format!(
            "{name}: this import has format version {}, but this program reads version {SCHEMA}\n  try: fsderby import again, from \
                the original files",
            import.schema
        );
        return Err(Failure::usage(text));
    }
    read_again(&door, import).map_err(|wrong| damaged(&wrong))
}

/// Parses the sources again and returns the result. This must equal the stored import, unless an older version of the parser made
/// the stored import.
///
/// # Errors
/// All mismatches, one phrase each.
fn read_again(door: &Door, import: Import) -> Result<Import, Vec<String>> {
    if import.sources.len() > MOST_SOURCES {
        return Err(vec![format!("the import has more than {MOST_SOURCES} sources")]);
    }
    let (mut texts, mut wrong) = (Vec::new(), Vec::new());
    for (at, source) in import.sources.iter().enumerate() {
        match source_of(door, at, source) {
            Ok(bytes) => texts.push(bytes),
            Err(what) => wrong.push(what),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let files = import.sources.iter().zip(&texts);
    let files: Vec<Given<'_>> = files.map(|(source, bytes)| Given { name: &source.name, bytes }).collect();
    let again = find(&import.asked.tool).and_then(|_| collected(import.asked.clone(), &files));
    let mut again = again.map_err(|e| vec![e.to_string()])?;
    if again.entries == import.entries && again.sources == import.sources {
        return Ok(import);
    }
    if import.reading < READING {
        let said = format!(
            "imported by fsderby {}, and parsed again, because this version of fsderby parses it differently",
            import.fsderby
        );
        let others = again.entries.iter_mut().filter(|entry| !import.entries.contains(entry));
        others.for_each(|entry| entry.notes.push(said.clone()));
        return Ok(again);
    }
    Err(vec![if again.entries == import.entries {
        "the import's description of the sources is wrong".into()
    } else {
        format!("the import's figures differ from its sources as parsed by fsderby {}", again.fsderby)
    }])
}

fn source_of(door: &Door, at: usize, source: &Source) -> Result<Vec<u8>, String> {
    if source.path != copy_of(at) {
        let path = &source.path;
        return Err(format!("{path} is not a valid path of a source"));
    }
    let bytes = door.read(&source.path, SOURCE_MOST).map_err(|e| match e.kind() {
        ErrorKind::NotFound => format!("{} is missing", source.path),
        _ => format!("{}: {e}", source.path),
    })?;
    let is_it = blake3::hash(&bytes).to_hex().as_str() == source.blake3;
    if is_it { Ok(bytes) } else { Err(format!("{} is altered", source.path)) }
}
