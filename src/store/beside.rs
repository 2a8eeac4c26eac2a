//! The files beside the records: one folder per kind of file, with one file for each trial that has content of that kind.

use std::collections::HashSet;
use std::io;

use anyhow::{Context, ensure};

use super::door::{Door, ORPHAN};
use super::{MACHINE, PLAN, SEAL, SHARDS, SIGNATURE, TRIALS, VERDICT};
use crate::schema::event::Buckets;
use crate::schema::record::{FileRef, Record};
use crate::schema::units::{Bytes, GIB, MIB};

/// Content that is stored beside a record.
#[derive(Clone, Debug, Default)]
pub struct Attached {
    pub histograms: Vec<Buckets>,
    /// The console output of the agent or its guest; usually empty without a guest.
    pub console: String,
    /// The requests that a modelled disk served; see [`crate::schema::request`].
    pub requests: Vec<u8>,
}

/// A kind of file beside a record.
pub struct Beside {
    pub folder: &'static str,
    extension: &'static str,
    what: &'static str,
    /// Size limit of a file of this kind, because files are read into memory whole.
    pub most: Bytes,
}

pub const HISTOGRAMS: Beside =
    Beside { folder: "histograms", extension: "jsonl", what: "latencies", most: Bytes(64 * MIB) };
pub const CONSOLES: Beside =
    Beside { folder: "consoles", extension: "txt", what: "console", most: Bytes(256 * MIB) };
/// The limit of 4 GiB holds 89 million requests of 48 bytes.
pub const REQUESTS: Beside =
    Beside { folder: "requests", extension: "bin", what: "requests", most: Bytes(4 * GIB) };

/// Longest part of a file name that comes from the trial's name; it keeps the whole name within 200 bytes.
const LONGEST: usize = 160;
/// Separates the two parts of a shortened file name; other file names do not contain it.
const CUT: char = '~';

pub const ALL: [&Beside; 3] = [&HISTOGRAMS, &CONSOLES, &REQUESTS];

impl Beside {
    /// Path of this attempt's file in the run's folder.
    pub fn path(&self, trial: &str, attempt: u32) -> String {
        format!("{}/{}.{attempt}.{}", self.folder, file_name(trial), self.extension)
    }

    /// Stores a file for this trial. File and directory entry are synced before the record is written.
    pub fn store(&self, run: &Door, record: &Record, bytes: &[u8]) -> anyhow::Result<FileRef> {
        let path = self.path(&record.trial, record.attempt);
        let storing = || format!("could not store {path}");
        let most = self.most;
        ensure!(
            bytes.len() as u64 <= most.0,
            "could not store {path}: the file would exceed {most}, the largest size that fsderby reads"
        );
        run.make_folder(self.folder).with_context(storing)?;
        // A killed run may have left a file without a record: it is renamed.
        run.set_aside(&path).with_context(storing)?;
        run.create(&path, bytes).with_context(storing)?;
        let blake3 = blake3::hash(bytes).to_hex().to_string();
        Ok(FileRef { path, blake3, what: self.what.into() })
    }
}

/// All files in these folders that no record names and that have not been renamed. Paths are relative to the run's folder,
/// sorted.
pub fn unnamed(run: &Door, records: &[Record]) -> io::Result<Vec<String>> {
    let files = |record| beside_it(record).map(|file: &FileRef| file.path.as_str());
    let named: HashSet<&str> = records.iter().flat_map(files).collect();
    let mut unnamed = Vec::new();
    for Beside { folder, .. } in ALL {
        for name in run.names(folder)? {
            let path = format!("{folder}/{name}");
            let is_orphan = path.rsplit_once(ORPHAN).is_some_and(|(_, n)| n.parse::<u32>().is_ok());
            unnamed.extend((!is_orphan && !named.contains(path.as_str())).then_some(path));
        }
    }
    unnamed.sort();
    Ok(unnamed)
}

/// Names in the run's folder that neither the seal nor a record covers: written reports, and what others have put there. Sorted.
pub fn uncovered(run: &Door) -> io::Result<Vec<String>> {
    let is_covered = |name: &String| {
        [PLAN, MACHINE, TRIALS, SEAL, VERDICT, SIGNATURE, SHARDS].contains(&name.as_str())
            || ALL.iter().any(|kind| kind.folder == name)
    };
    let mut names = run.names(".")?;
    names.retain(|name| !is_covered(name));
    names.sort();
    Ok(names)
}

/// The files that this record names.
pub fn beside_it(record: &Record) -> impl Iterator<Item = &FileRef> {
    record.histograms.iter().chain(&record.console).chain(&record.requests)
}

/// Renames all files that a killed run left without a record, so that files found later cannot come from that run.
pub fn make_way_for_all(run: &Door, records: &[Record]) -> anyhow::Result<()> {
    for path in unnamed(run, records)? {
        run.set_aside(&path).with_context(|| format!("could not rename {path}"))?;
    }
    Ok(())
}

/// File name for a trial. It is unique even if the filesystem ignores case: all characters but lower-case letters, digits and
/// hyphens are percent-encoded, and a slash becomes an underscore. A name that is too long ends with a hash of the full name.
fn file_name(trial: &str) -> String {
    use std::fmt::Write;
    let mut name = String::new();
    for byte in trial.bytes() {
        match byte {
            b'/' => name.push('_'),
            b'a'..=b'z' | b'0'..=b'9' | b'-' => name.push(char::from(byte)),
            // Writing into a string does not fail.
            _ => drop(write!(name, "%{byte:02x}")),
        }
    }
    if name.len() > LONGEST {
        let hash = &blake3::hash(trial.as_bytes()).to_hex()[..32];
        name.truncate(LONGEST - hash.len() - 1);
        name.push(CUT);
        name.push_str(hash);
    }
    name
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_called_as_its_trial_is_and_as_no_other() {
        assert_eq!(file_name("r03/postmark-quick/no atime"), "r03_postmark-quick_no%20atime");
        let alike = ["a.b", "a_b", "a/b", "a b", "A B", "a%20b", "慢", "快", "é", "e\u{301}"];
        let mut names: Vec<String> = alike.iter().map(|trial| file_name(trial)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), alike.len());
        let [one, other] =
            ["快", "慢"].map(|last| file_name(&("r01/慢".to_owned() + &"慢".repeat(99) + last)));
        assert!(one != other && one.len() == LONGEST && one.starts_with("r01_%e6%85%a2"), "{one} {other}");
    }

    proptest! {
        #[test]
        fn no_two_trials_share_a_file(one in "\\PC{1,90}", other in "\\PC{1,90}") {
            let names = [&one, &other].map(|trial| file_name(trial));
            prop_assert!(names.iter().all(|n| n.len() <= LONGEST && *n == n.to_lowercase() && !n.contains('/')));
            prop_assert_eq!(names[0] == names[1], one == other);
        }
    }
}
