//! A run made of the records of others, its shards. It is written from beginning to end and named when it is whole.
//!
//! ```text
//! OUT/trials.jsonl      each record in the order of the plan, in a chain of its own
//! OUT/histograms/ …     the files beside the records: hard links where both lie on one filesystem, otherwise copies
//! OUT/shards/1-of-4/    what the shard sealed: plan, machine, records, seal, and the seal's signature
//! ```
//! Only one line is in memory at a time.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, bail, ensure};

use super::door::Door;
use super::folder::{self, TRIALS_MOST};
use super::lines::{self, Span};
use super::seal::{self, SEAL_MOST};
use super::unready::Unready;
use super::{MACHINE, PLAN, Run, SEAL, SHARDS, SIGNATURE, TRIALS, beside, sync_folder, verdict};
use crate::host::caller::create_folders;
use crate::schema::finding::Verdict;
use crate::schema::machine::Machine;
use crate::schema::plan::Plan;
use crate::schema::record::Record;
use crate::schema::seal::{Ended, SCHEMA, Seal};

/// The records of a shard, read by their places in its file.
pub struct Shard<'r> {
    run: &'r Run,
    trials: File,
}

impl<'r> Shard<'r> {
    pub fn of(run: &'r Run) -> io::Result<Self> {
        Ok(Shard { run, trials: run.door.file(TRIALS, TRIALS_MOST)? })
    }

    fn line(&self, span: Span) -> anyhow::Result<String> {
        let mut bytes = vec![0; span.bytes];
        self.trials.read_exact_at(&mut bytes, span.at)?;
        Ok(String::from_utf8(bytes)?)
    }
}

/// A merged run while it is written. If this value is dropped before it is whole, nothing is left.
pub struct Merging {
    unready: Unready,
    door: Door,
    trials: BufWriter<File>,
    hash: blake3::Hasher,
    last: String,
    bytes: usize,
    records: usize,
}

impl Merging {
    /// Begins a run beside its later place.
    ///
    /// # Errors
    /// If it cannot be written there.
    pub fn begin(path: &Path, plan: &Plan, machine: &Machine) -> anyhow::Result<Self> {
        let parent = folder::or_here(path.parent());
        create_folders(parent)?;
        let unready = Unready::in_folder(parent)?;
        let door = Door::open(unready.path())?;
        let last = folder::fill(&door, plan, machine)?;
        let trials = BufWriter::new(door.append(TRIALS, TRIALS_MOST)?);
        Ok(Merging { unready, door, trials, hash: blake3::Hasher::new(), last, bytes: 0, records: 0 })
    }

    /// Keeps what this shard sealed.
    pub fn keep(&self, folder: &str, shard: &Run) -> anyhow::Result<()> {
        self.door.make_folder(SHARDS)?;
        self.door.make_folder_in(SHARDS, folder)?;
        for name in [PLAN, MACHINE, TRIALS, SEAL, SIGNATURE] {
            if shard.door.has(name)? {
                self.door.link(&format!("{SHARDS}/{folder}/{name}"), &shard.door, name, TRIALS_MOST)?;
            }
        }
        Ok(())
    }

    /// Appends a record of a shard, with the files beside it.
    pub fn append(&mut self, shard: &Shard<'_>, span: Span) -> anyhow::Result<()> {
        let line = shard.line(span)?;
        let Some((line, sum)) = lines::rechained(&line, &self.last) else {
            bail!("a line of {} is not as fsderby writes it", shard.run.folder.display());
        };
        let lines::Line::Sound(record, _) = lines::read(&line) else {
            bail!("a line of {} changed while it was read", shard.run.folder.display());
        };
        self.files(shard, &record)?;
        let line = line + "\n";
        self.bytes += line.len();
        ensure!(
            self.bytes as u64 <= TRIALS_MOST.0,
            "{TRIALS} would exceed {TRIALS_MOST}, the largest size that fsderby reads\n  try: merge fewer rounds, or split \
             the experiment"
        );
        self.hash.update(line.as_bytes());
        self.trials.write_all(line.as_bytes())?;
        self.last = sum;
        self.records += 1;
        Ok(())
    }

    fn files(&self, shard: &Shard<'_>, record: &Record) -> anyhow::Result<()> {
        for kind in beside::ALL {
            let path = kind.path(&record.trial, record.attempt);
            if beside::beside_it(record).any(|file| file.path == path) {
                self.door.make_folder(kind.folder)?;
                let storing = || format!("could not store {path}");
                self.door.link(&path, &shard.run.door, &path, kind.most).with_context(storing)?;
            }
        }
        Ok(())
    }

    /// The run as it is so far, which has its later name.
    pub fn read(&mut self, path: &Path) -> anyhow::Result<Run> {
        self.trials.flush()?;
        let run = folder::read_through(self.door.clone())?;
        Ok(Run { folder: path.to_owned(), ..run })
    }

    /// Seals it and gives it its name.
    pub fn end(mut self, path: &Path, rounds: u32, given: &Verdict, ended: Ended) -> anyhow::Result<()> {
        self.trials.flush()?;
        self.trials.get_ref().sync_data()?;
        verdict::store(&self.door, given)?;
        let (plan, machine) =
            (self.door.read(PLAN, folder::PAGE_MOST)?, self.door.read(MACHINE, folder::PAGE_MOST)?);
        let sealed = Seal {
            schema: SCHEMA,
            ended,
            rounds,
            looks: given.basis.looks(),
            records: self.records,
            bytes: self.bytes,
            plan_blake3: seal::hash(&plan),
            machine_blake3: seal::hash(&machine),
            trials_blake3: self.hash.finalize().to_hex().to_string(),
        };
        seal::store(&self.door, &sealed)?;
        self.door.sync_all()?;
        self.unready.named(path)?;
        Ok(sync_folder(folder::or_here(path.parent()))?)
    }
}

/// A shard's own files in a merged run: its records are passed on, and its seal is checked.
///
/// # Errors
/// States which file is missing or unreadable.
pub fn read_kept(run: &Run, folder: &str, keep: &mut dyn FnMut(Record, Span)) -> anyhow::Result<Run> {
    let door = run.door.inside(SHARDS)?.inside(folder)?;
    folder::read_each(door, keep)
}

/// BLAKE3 of a run's seal.
pub fn seal_hash(run: &Run) -> io::Result<String> {
    run.door.hash(SEAL, SEAL_MOST)
}
