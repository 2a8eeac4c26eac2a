//! A run's folder: versioned, append-only, checksummed records that survive death at any moment.
//!
//! ```text
//! results/NAME-DATE/
//!   plan.toml            the expanded experiment with its seeds
//!   machine.json         kernel, CPU, disk, tools and their hashes
//!   trials.jsonl         one record a line, checksummed and chained from plan and machine on; a torn last line is
//!                        tolerated and reported
//!   seal.json            how many records and rounds there were when the run ended, and a hash of each file above
//!   seal.json.minisig    the signature of the seal, where the run was signed
//!   histograms/          latencies at full resolution, one file a trial
//!   requests/            what each trial's modelled disk did, 48 bytes a request
//!   consoles/            what each trial's guest or agent wrote to its console, where it wrote anything
//!   report.html          and what else was asked for
//! ```

pub mod beside;
mod folder;
pub mod lines;
pub mod plan;
pub mod seal;
pub mod signature;
mod unready;

pub use beside::Attached;
pub use folder::{Folder, read};

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::schema::event::Buckets;
use crate::schema::machine::Machine;
use crate::schema::plan::Plan;
use crate::schema::record::Record;
use crate::schema::request::{LENGTH, Served};
use crate::schema::seal::{Ended, Seal};

const PLAN: &str = "plan.toml";
const MACHINE: &str = "machine.json";
const TRIALS: &str = "trials.jsonl";
const SEAL: &str = "seal.json";
/// As `minisign -V -m seal.json` looks for it.
const SIGNATURE: &str = "seal.json.minisig";

/// A run as it was read from its folder.
#[derive(Clone, Debug)]
pub struct Run {
    pub folder: PathBuf,
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

    /// The latencies of a trial at full resolution, from the files beside the records: one JSON object a line.
    pub fn histograms(&self, record: &Record) -> anyhow::Result<Vec<Buckets>> {
        let mut all = Vec::new();
        for file in &record.histograms {
            let path = self.folder.join(&file.path);
            let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
            for (at, line) in text.lines().enumerate() {
                let place = || format!("read line {} of {}", at + 1, path.display());
                all.push(serde_json::from_str(line).with_context(place)?);
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
        let path = self.folder.join(&file.path);
        let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        ensure!(
            blake3::hash(&bytes).to_hex().as_str() == file.blake3,
            "{} is not what was stored",
            path.display()
        );
        let (whole, rest) = bytes.as_chunks::<LENGTH>();
        let served: Option<Vec<Served>> = whole.iter().map(Served::from_bytes).collect();
        let served = served.filter(|_| rest.is_empty());
        Ok(Some(served.with_context(|| format!("{} holds something that is no request", path.display()))?))
    }
}

/// What was made, renamed or removed in this folder is on the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // Some filesystems cannot, since they keep no names back.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) => Ok(()),
        other => other,
    }
}
