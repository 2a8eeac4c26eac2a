//! A run's folder: versioned, append-only, checksummed records that survive death at any moment.
//!
//! ```text
//! results/NAME-DATE/
//!   plan.toml            the expanded experiment with its seeds
//!   machine.json         kernel, CPU, disk, tools and their hashes
//!   trials.jsonl         one record a line, checksummed and chained from plan and machine on; a torn last line is
//!                        tolerated and reported
//!   verdict.json         the findings of the last verdict that was given, from the records alone
//!   seal.json            how many records and rounds there were when the run ended, and a hash of each file above
//!   seal.json.minisig    the signature of the seal, where the run was signed
//!   histograms/          latencies at full resolution, one file a trial
//!   requests/            what each trial's modelled disk did, 48 bytes a request
//!   consoles/            what each trial's guest or agent wrote to its console, where it wrote anything
//!   report.html          and what else was asked for
//! ```

pub mod beside;
mod door;
mod folder;
pub mod lines;
pub mod plan;
pub mod seal;
pub mod signature;
pub mod unnamed;
mod unready;
mod verdict;

pub use beside::{Attached, Beside, CONSOLES, HISTOGRAMS, REQUESTS};
pub use door::Door;
pub use folder::{Folder, open_door, open_trusted, read, read_through};

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

/// The experiment, expanded.
pub const PLAN: &str = "plan.toml";
const MACHINE: &str = "machine.json";
const TRIALS: &str = "trials.jsonl";
const SEAL: &str = "seal.json";
const VERDICT: &str = "verdict.json";
/// As `minisign -V -m seal.json` looks for it.
const SIGNATURE: &str = "seal.json.minisig";

/// A run as it was read from its folder.
#[derive(Clone, Debug)]
pub struct Run {
    pub folder: PathBuf,
    pub door: Door,
    pub plan: Plan,
    pub machine: Machine,
    /// In the order in which they were written, superseded attempts included.
    pub records: Vec<Record>,
    /// What is damaged, one sentence each; empty in a sound run.
    pub damage: Vec<String>,
    /// Lines that were not written to their end, one sentence each. A run that was killed may have one; it is no damage.
    pub torn: Vec<String>,
    /// What the run said of its records when it ended last.
    pub seal: Option<Seal>,
    /// What it found, as it was stored; `verify` computes it again.
    pub verdict: Option<Verdict>,
    /// Bytes of `trials.jsonl` that came after the seal, or all of them: whoever wrote them was killed, or writes still.
    pub unsealed: usize,
}

impl Run {
    /// Whether it was carried out to its end, and not gone on with since.
    pub fn is_complete(&self) -> bool {
        self.unsealed == 0 && self.seal.as_ref().is_some_and(|seal| seal.ended == Ended::Complete)
    }

    /// The records that count: of each trial the last attempt.
    pub fn current(&self) -> Vec<&Record> {
        let mut last = HashMap::new();
        for (at, record) in self.records.iter().enumerate() {
            last.insert(record.trial.as_str(), at);
        }
        let mut at: Vec<usize> = last.into_values().collect();
        at.sort_unstable();
        at.into_iter().map(|i| &self.records[i]).collect()
    }

    /// The same, with the files beside the records that are altered among the damage.
    pub fn with_all_damage(mut self) -> Self {
        let altered: Vec<String> = self.records.iter().filter_map(|record| self.altered(record)).collect();
        self.damage.extend(altered);
        self
    }

    /// The run itself, to go on with.
    ///
    /// # Errors
    /// When it is damaged: what follows would be built on sand.
    pub fn sound(self) -> Result<Self, Failure> {
        match self.damage.first() {
            None => Ok(self),
            Some(what) => {
                let text = format!("{} is damaged: {what}\n  try: fsderby verify {0}", self.folder.display());
                Err(Failure::new(DAMAGED, text))
            }
        }
    }

    /// The latencies of a trial at full resolution, from the files beside the records: one JSON object a line.
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

    /// Everything that a trial's modelled disk did, in the order of the answers, from the file beside the record; `None` where
    /// no disk was modelled.
    ///
    /// # Errors
    /// When the file is missing or is not the one that was stored.
    pub fn requests(&self, record: &Record) -> anyhow::Result<Option<Vec<Served>>> {
        let Some(file) = &record.requests else { return Ok(None) };
        let bytes = self.stored(file, REQUESTS.most)?;
        let (whole, rest) = bytes.as_chunks::<LENGTH>();
        let served: Option<Vec<Served>> = whole.iter().map(Served::from_bytes).collect();
        let served = served.filter(|_| rest.is_empty());
        Ok(Some(served.with_context(|| format!("{} contains something that is not a request", file.path))?))
    }

    /// What is wrong with the files beside a record, in a sentence about the first.
    pub fn altered(&self, record: &Record) -> Option<String> {
        let one = |file: &FileRef, most| self.altered_file(file, most);
        let histograms = record.histograms.iter().find_map(|file| one(file, HISTOGRAMS.most));
        histograms.or_else(|| self.altered_but_histograms(record))
    }

    /// The same of all but the latencies, for who reads those anyway, which checks their hash.
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
        ensure!(is_it, "{} is not the file that was stored", path.display());
        Ok(bytes)
    }
}

/// What was made, renamed or removed in this folder is on the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    sync(&File::open(folder)?)
}

fn sync(folder: &File) -> io::Result<()> {
    match folder.sync_all() {
        // Some filesystems cannot, since they keep no names back.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) => Ok(()),
        other => other,
    }
}
