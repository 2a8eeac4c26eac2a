//! A run made of the records of others, its shards. It is written from beginning to end and named when it is whole.
//!
//! ```text
//! OUT/trials.jsonl      each record in the order of the plan, in a chain of its own
//! OUT/histograms/ …     the files beside the records: hard links where both lie on one filesystem, otherwise copies
//! OUT/shards/0001-1-of-4/  what the shard sealed: plan, machine, records, seal, and the seal's signature
//! ```
//! Only one line is in memory at a time, and only some of the shards are open.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use rustix::process::{Resource, getrlimit};

use super::door::{Door, Place};
use super::folder::{self, TRIALS_MOST};
use super::lines::{self, Span};
use super::seal::{self, SEAL_MOST};
use super::unready::{self, Unready};
use super::{MACHINE, PLAN, Run, SEAL, SHARDS, SIGNATURE, TRIALS, beside, sync_folder, verdict};
use crate::exit::Failure;
use crate::host::caller::create_folders;
use crate::schema::finding::Verdict;
use crate::schema::machine::Machine;
use crate::schema::plan::Plan;
use crate::schema::record::Record;
use crate::schema::seal::{Ended, SCHEMA, Seal};
use crate::schema::units::Bytes;

/// A shard whose folder is not open.
#[derive(Debug)]
pub struct Shard {
    pub folder: PathBuf,
    pub plan: Plan,
    pub machine: Machine,
    place: Place,
}

impl Shard {
    /// Everything of a shard but its records.
    ///
    /// # Errors
    /// If the path is not a run's folder.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let Run { folder, plan, machine, door, .. } = folder::head(path)?;
        let place = door.place().map_err(|e| folder::unreadable(path, "", &e))?;
        Ok(Shard { folder, plan, machine, place })
    }

    /// Opens its folder.
    pub fn open(&self) -> anyhow::Result<Door> {
        Ok(self.place.open().map_err(|e| folder::unreadable(&self.folder, "", &e))?)
    }
}

/// What the seal of the run in this folder says of its plan and its machine, if they were altered.
pub fn altered(folder: &Path) -> Option<String> {
    let door = Door::open(folder).ok()?;
    let seal = seal::read(&door).ok()??;
    let [plan, machine] = [PLAN, MACHINE].map(|name| door.read(name, folder::PAGE_MOST).ok());
    seal::altered(&seal, &plan?, &machine?).into_iter().next()
}

/// The error of the first file of this record that is there but cannot be read: a fault of the machine, and no damage.
pub fn unreadable(run: &Run, record: &Record) -> Option<Failure> {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::InvalidData];
    beside::beside_it(record).find_map(|file| {
        let e = run.door.hash(&file.path, TRIALS_MOST).err().filter(|e| !kinds.contains(&e.kind()))?;
        Some(folder::unreadable(&run.folder, &file.path, &e))
    })
}

/// The records of shards, read by their places in the files. Only some of the shards are open at a time.
pub struct Shards<'s> {
    all: &'s [Shard],
    /// The last one used is the last.
    open: VecDeque<Open>,
    most: usize,
}

struct Open {
    at: usize,
    door: Door,
    trials: File,
}

impl<'s> Shards<'s> {
    pub fn of(all: &'s [Shard]) -> Self {
        // Two descriptors each; a quarter of the limit leaves enough for everything else.
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = usize::try_from(limit / 8).unwrap_or(usize::MAX).clamp(1, 256);
        Shards { all, open: VecDeque::new(), most }
    }

    fn opened(&mut self, at: usize) -> anyhow::Result<&Open> {
        let known = self.open.iter().position(|open| open.at == at).and_then(|place| self.open.remove(place));
        let open = match known {
            Some(open) => open,
            None => {
                if self.open.len() == self.most {
                    self.open.pop_front();
                }
                let (shard, door) = (&self.all[at], self.all[at].open()?);
                let trials = door.file(TRIALS, TRIALS_MOST);
                let trials = trials.map_err(|e| folder::unreadable(&shard.folder, TRIALS, &e))?;
                Open { at, door, trials }
            }
        };
        self.open.push_back(open);
        self.open.back().context("the shard was opened")
    }
}

impl Open {
    fn line(&self, span: Span) -> io::Result<String> {
        let mut bytes = vec![0; span.bytes];
        self.trials.read_exact_at(&mut bytes, span.at)?;
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

/// Folders beside this run that killed merges left behind.
pub fn left_behind(run: &Path) -> Vec<PathBuf> {
    unready::filled_by_dead(folder::or_here(run.parent()))
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
    pub fn keep(&self, folder: &str, shard: &Shard) -> anyhow::Result<()> {
        self.door.make_folder(SHARDS)?;
        self.door.make_folder_in(SHARDS, folder)?;
        let from = shard.open()?;
        for name in [PLAN, MACHINE, TRIALS, SEAL, SIGNATURE] {
            if from.has(name)? {
                self.link(&format!("{SHARDS}/{folder}/{name}"), &from, name, TRIALS_MOST)?;
            }
        }
        Ok(())
    }

    /// Appends a record of a shard, with the files beside it.
    pub fn append(&mut self, shards: &mut Shards<'_>, at: usize, span: Span) -> anyhow::Result<()> {
        let shard = &shards.all[at];
        let unreadable = |e: &io::Error| folder::unreadable(&shard.folder, TRIALS, e);
        let changed =
            || unreadable(&io::Error::new(io::ErrorKind::InvalidData, "it changed while it was read"));
        let open = shards.opened(at)?;
        let line = open.line(span).map_err(|e| unreadable(&e))?;
        let (line, sum) = lines::rechained(&line, &self.last).ok_or_else(changed)?;
        let lines::Line::Sound(record, _) = lines::read(&line) else { return Err(changed().into()) };
        self.files(&open.door, &record)?;
        let line = line + "\n";
        self.bytes += line.len();
        ensure!(
            self.bytes as u64 <= TRIALS_MOST.0,
            "{TRIALS} would exceed {TRIALS_MOST}, the largest size that fsderby reads"
        );
        self.hash.update(line.as_bytes());
        self.trials.write_all(line.as_bytes())?;
        self.last = sum;
        self.records += 1;
        Ok(())
    }

    fn files(&self, shard: &Door, record: &Record) -> anyhow::Result<()> {
        for kind in beside::ALL {
            let path = kind.path(&record.trial, record.attempt);
            if beside::beside_it(record).any(|file| file.path == path) {
                self.door.make_folder(kind.folder)?;
                self.link(&path, shard, &path, kind.most)?;
            }
        }
        Ok(())
    }

    /// A shard's file under this new name in the merged run.
    fn link(&self, path: &str, shard: &Door, name: &str, most: Bytes) -> anyhow::Result<()> {
        let file = shard.file(name, most).map_err(|e| folder::unreadable(shard.path(), name, &e))?;
        let copying = || format!("could not link or copy {}/{name}", shard.path().display());
        self.door.link(path, shard, name, file).with_context(copying)
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
pub fn seal_hash(run: &Run) -> Result<String, Failure> {
    run.door.hash(SEAL, SEAL_MOST).map_err(|e| folder::unreadable(&run.folder, SEAL, &e))
}
