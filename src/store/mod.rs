//! A run's folder: versioned, append-only, checksummed records that survive a kill or power loss at any time.
//!
//! ```text
//! results/NAME-DATE/
//!   plan.toml            the expanded experiment with its seeds
//!   machine.json         kernel, CPU, disk, tools and their hashes
//!   trials.jsonl         one record per line, with checksums that chain it to plan and machine; a torn last line is
//!                        tolerated and reported
//!   verdict.json         the findings of the last verdict, computed from the records alone
//!   seal.json            how many records and rounds there were when the run ended, and a hash of each file above
//!   seal.json.minisig    the signature of the seal, if the run is signed
//!   histograms/          latencies at full resolution, one file per trial
//!   requests/            the requests that each trial's modelled disk served, 48 bytes per request
//!   shards/              of a merged run: what each shard sealed
//!   consoles/            the console output of each trial's guest or agent, if any
//!   report.html          and other requested reports
//! ```

pub mod beside;
mod door;
mod folder;
pub mod keys;
pub mod kit;
pub mod lines;
pub mod merge;
pub mod plan;
pub mod seal;
pub mod signature;
pub mod unnamed;
mod unready;
mod verdict;

pub use beside::{Attached, Beside, CONSOLES, HISTOGRAMS, REQUESTS};
pub use door::Door;
pub use folder::{Folder, head, head_of, open_door, open_trusted, read, read_each, read_through, run_around};

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::exit::{DAMAGED, Failure};
use crate::schema::event::Buckets;
use crate::schema::finding::Verdict;
use crate::schema::machine::Machine;
use crate::schema::plan::Plan;
use crate::schema::record::{FileRef, Record};
use crate::schema::request::{LENGTH, Served};
use crate::schema::seal::{Ended, Seal};
use crate::schema::units::Bytes;

/// The expanded experiment.
pub const PLAN: &str = "plan.toml";
/// What happened when, for people; the seal does not cover it.
pub const LOG: &str = "log.txt";
const MACHINE: &str = "machine.json";
const TRIALS: &str = "trials.jsonl";
const SEAL: &str = "seal.json";
const VERDICT: &str = "verdict.json";
/// The name of the signature file, as `minisign -V -m seal.json` expects it.
const SIGNATURE: &str = "seal.json.minisig";
/// In a merged run, a folder with the shards' own files.
pub const SHARDS: &str = "shards";

/// A run read from its folder.
#[derive(Clone, Debug)]
pub struct Run {
    pub folder: PathBuf,
    pub door: Door,
    pub plan: Plan,
    pub machine: Machine,
    /// All records in the order of writing, including superseded attempts.
    pub records: Vec<Record>,
    /// Descriptions of damage, one sentence each; empty if the run is intact.
    pub damage: Vec<String>,
    /// Descriptions of lines that were not written completely, one sentence each. A killed run may have such a line, which does not
    /// count as damage.
    pub torn: Vec<String>,
    /// The seal written at the last end of the run, with the number of records and hashes of files.
    pub seal: Option<Seal>,
    /// The stored findings; `verify` recomputes them.
    pub verdict: Option<Verdict>,
    /// Bytes of `trials.jsonl` that no seal covers; above 0, the writer was killed or is still running.
    pub unsealed: usize,
}

impl Run {
    /// Whether the run reached its end and was not continued since.
    pub fn is_complete(&self) -> bool {
        self.unsealed == 0 && self.seal.as_ref().is_some_and(|seal| seal.ended == Ended::Complete)
    }

    /// The current records: the last attempt of each trial.
    pub fn current(&self) -> Vec<&Record> {
        let mut last = HashMap::new();
        for (at, record) in self.records.iter().enumerate() {
            last.insert(record.trial.as_str(), at);
        }
        let mut at: Vec<usize> = last.into_values().collect();
        at.sort_unstable();
        at.into_iter().map(|i| &self.records[i]).collect()
    }

    /// Returns the run with descriptions of altered files beside the records added to `damage`.
    pub fn with_all_damage(mut self) -> Self {
        let altered: Vec<String> = self.records.iter().filter_map(|record| self.altered(record)).collect();
        self.damage.extend(altered);
        self
    }

    /// Returns the run if it can be continued.
    ///
    /// # Errors
    /// If the run is damaged: new records must not follow damaged records.
    pub fn sound(self) -> Result<Self, Failure> {
        match self.damage.first() {
            None => Ok(self),
            Some(what) => {
                let text = format!("{} is damaged: {what}\n  try: fsderby verify {0}", self.folder.display());
                Err(Failure::new(DAMAGED, text))
            }
        }
    }

    /// The latencies of a trial at full resolution, from the file beside its record: one JSON object per line.
    pub fn histograms(&self, record: &Record) -> anyhow::Result<Vec<Buckets>> {
        let mut all = Vec::new();
        for file in &record.histograms {
            let bytes = self.stored(file, HISTOGRAMS.most)?;
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            for (at, line) in lines.enumerate() {
                let place = || format!("read line {} of {}", at + 1, file.path);
                all.push(Buckets::from_line(line).with_context(place)?);
            }
        }
        Ok(all)
    }

    /// All requests that the trial's modelled disk served, in order of completion, from the file beside the record; `None`
    /// without a modelled disk.
    ///
    /// # Errors
    /// If the file is missing or does not match its stored hash.
    pub fn requests(&self, record: &Record) -> anyhow::Result<Option<Vec<Served>>> {
        let Some(file) = &record.requests else { return Ok(None) };
        let bytes = self.stored(file, REQUESTS.most)?;
        let (whole, rest) = bytes.as_chunks::<LENGTH>();
        let served: Option<Vec<Served>> = whole.iter().map(Served::from_bytes).collect();
        let served = served.filter(|_| rest.is_empty());
        Ok(Some(served.with_context(|| {
            format!("{file} contains an entry that is not a disk request", file = file.path)
        })?))
    }

    /// A sentence about the first file beside a record that was altered or is missing.
    pub fn altered(&self, record: &Record) -> Option<String> {
        let one = |file: &FileRef, most| self.altered_file(file, most);
        let histograms = record.histograms.iter().find_map(|file| one(file, HISTOGRAMS.most));
        histograms.or_else(|| self.altered_but_histograms(record))
    }

    /// Like [`Run::altered`] without the files of latencies, for callers that read these files anyway and so check their hash.
    pub fn altered_but_histograms(&self, record: &Record) -> Option<String> {
        let one = |file: &FileRef, most| self.altered_file(file, most);
        let console = || record.console.as_ref().and_then(|file| one(file, CONSOLES.most));
        let requests = || record.requests.as_ref().and_then(|file| one(file, REQUESTS.most));
        console().or_else(requests)
    }

    fn altered_file(&self, file: &FileRef, most: Bytes) -> Option<String> {
        match self.door.hash(&file.path, most) {
            Err(e) => Some(format!("{} cannot be read: {e}", file.path)),
            Ok(hash) => (hash != file.blake3).then(|| format!("{} was altered", file.path)),
        }
    }

    fn stored(&self, file: &FileRef, most: Bytes) -> anyhow::Result<Vec<u8>> {
        let path = self.folder.join(&file.path);
        let bytes = self.door.read(&file.path, most).with_context(|| format!("read {}", path.display()))?;
        let is_it = blake3::hash(&bytes).to_hex().as_str() == file.blake3;
        ensure!(is_it, "{path} differs from the file that was stored", path = path.display());
        Ok(bytes)
    }
}

/// Makes creations, renames and removals in this folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    sync(&File::open(folder)?)
}

fn sync(folder: &File) -> io::Result<()> {
    match folder.sync_all() {
        // Some filesystems do not support syncing a folder; these filesystems do not delay changes of a folder.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) => Ok(()),
        other => other,
    }
}
