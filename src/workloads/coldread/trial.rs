//! The parts of a trial, each timed as a whole and operation by operation.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::pread;

use super::metrics;
use super::parameters::{BLOCK, Parameters};
use super::tree::Tree;
use crate::schema::job::Portion;
use crate::schema::metric::Metric;
use crate::schema::units::Bytes;
use crate::schema::work::{Amount, LiveFile};
use crate::workloads::kit::files::{self, CHUNK, differs, failed, wrong};
use crate::workloads::kit::noise::other_content;
use crate::workloads::kit::phases::{Counts, Phases, Under};
use crate::workloads::kit::visit::{Entry, Visitor, visit};
use crate::workloads::kit::{Latencies, Tree as _};
use crate::workloads::{Clock, Log, Needs, OpError, Phase, Ready, Work};

/// The parts of a trial, in the order of [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Create,
    Walk,
    ReadOrdered,
    ReadRandom,
    PreadRandom,
    Delete,
}

const PARTS: [Part; 6] =
    [Part::Create, Part::Walk, Part::ReadOrdered, Part::ReadRandom, Part::PreadRandom, Part::Delete];

/// The names of the parts and their phases.
pub const NAMES: [&str; 6] = ["create", "walk", "read-ordered", "read-random", "pread-random", "delete"];

impl Part {
    fn name(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// The operation of a phase whose latencies are recorded, with the name of the phase's count.
pub fn timed(phase: &str) -> &'static [(&'static str, &'static str)] {
    match phase {
        "create" => &[("create", "files")],
        "walk" => &[("stat", "entries")],
        "read-ordered" | "read-random" => &[("read", "files")],
        "pread-random" => &[("pread", "reads")],
        "delete" => &[("unlink", "files")],
        _ => &[],
    }
}

/// The operations with recorded latencies, in the order of [`OPERATIONS`].
#[derive(Clone, Copy)]
enum Operation {
    Create,
    Stat,
    Read,
    Pread,
    Unlink,
}

const OPERATIONS: &[&str] = &["create", "stat", "read", "pread", "unlink"];

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { largest_file: Bytes(self.large_size), ..Needs::default() }
    }

    fn amount(&self, seed: u64) -> Amount {
        let tree = Tree::new(self, seed);
        let (all, small) = (tree.bytes(), tree.small_bytes());
        Amount {
            files_peak: u64::from(tree.files()),
            bytes_read: all + small + u64::from(self.reads) * BLOCK as u64,
            bytes_written: all,
            bytes_peak: all,
        }
    }

    fn most_clients(&self) -> u64 {
        u64::from(self.files)
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        if portion.stop_after.is_some() {
            return Err("this workload cannot be stopped at an operation".into());
        }
        let parts = match &portion.part {
            None if portion.keep_files => &PARTS[..1],
            None => &PARTS[..],
            Some(name) => {
                let at = NAMES.iter().position(|own| own == name);
                at.map(|at| &PARTS[at..=at]).ok_or_else(|| format!("the workload has no part {name}"))?
            }
        };
        let tree = Tree::new(self, seed);
        let has = |part| parts.contains(&part);
        Ok(Box::new(Trial {
            parts,
            folders: if has(Part::Create) { tree.folders() } else { Vec::new() },
            order: if has(Part::ReadRandom) { tree.shuffled() } else { Vec::new() },
            blocks: if has(Part::PreadRandom) { tree.blocks(self.reads) } else { Vec::new() },
            executor: Executor { tree, path: String::with_capacity(64), buffer: vec![0; CHUNK] },
            latencies: Latencies::new(OPERATIONS),
        }))
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics::metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        metrics::VERSION
    }
}

struct Trial {
    parts: &'static [Part],
    folders: Vec<String>,
    order: Vec<u32>,
    blocks: Vec<(u32, u64)>,
    executor: Executor,
    latencies: Latencies,
}

/// State and buffers that the operations of every part use.
struct Executor {
    tree: Tree,
    path: String,
    buffer: Vec<u8>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let files = u64::from(self.executor.tree.files());
        let steps = |part: &Part| match part {
            Part::ReadRandom => self.order.len() as u64,
            Part::PreadRandom => self.blocks.len() as u64,
            _ => files,
        };
        let operations = self.parts.iter().map(steps).sum();
        let Trial { parts, folders, order, blocks, executor, latencies } = self;
        let mut phases = Phases::new(clock, log, latencies, operations);
        parts.iter().try_for_each(|part| {
            phases.run(part.name(), |under| {
                let mut at = At { executor: &mut *executor, under, totals: Totals::default() };
                match part {
                    Part::Create => at.create(folders),
                    Part::Walk => at.walk(),
                    Part::ReadOrdered => at.read_ordered(),
                    Part::ReadRandom => at.read_random(order),
                    Part::PreadRandom => at.pread_random(blocks),
                    Part::Delete => at.delete(),
                }
            })
        })
    }

    fn live(&self) -> Vec<LiveFile> {
        self.executor.tree.live()
    }
}

#[derive(Default)]
struct Totals {
    files: u64,
    folders: u64,
    bytes: u64,
}

/// A part in progress.
struct At<'a, 'b> {
    executor: &'a mut Executor,
    under: &'a mut Under<'b>,
    totals: Totals,
}

impl At<'_, '_> {
    fn create(&mut self, folders: &[String]) -> Result<Counts, OpError> {
        for folder in folders {
            files::mkdir(folder)?;
        }
        for file in 0..self.executor.tree.files() {
            let begin = self.under.clock.now_ns();
            let Executor { tree, path, .. } = &mut *self.executor;
            self.totals.bytes += tree.make(file, path)?;
            self.done(Operation::Create, begin);
        }
        let Totals { files, bytes, .. } = self.totals;
        Ok(vec![("files", files), ("folders", folders.len() as u64), ("bytes_written", bytes)])
    }

    fn walk(&mut self) -> Result<Counts, OpError> {
        visit(&mut Walk(self))?;
        let Totals { files, folders, .. } = self.totals;
        self.all_were_there()?;
        Ok(vec![("entries", files + folders), ("files", files), ("folders", folders)])
    }

    fn read_ordered(&mut self) -> Result<Counts, OpError> {
        visit(&mut Reading(self))?;
        self.all_were_there()?;
        Ok(vec![("files", self.totals.files), ("bytes_read", self.totals.bytes)])
    }

    fn read_random(&mut self, order: &[u32]) -> Result<Counts, OpError> {
        for file in order {
            let begin = self.under.clock.now_ns();
            let mut path = std::mem::take(&mut self.executor.path);
            let name = self.executor.tree.path(*file, &mut path);
            self.read_file(*file, files::open(name)?, name.as_ref())?;
            self.executor.path = path;
            self.done(Operation::Read, begin);
        }
        Ok(vec![("files", self.totals.files), ("bytes_read", self.totals.bytes)])
    }

    fn pread_random(&mut self, blocks: &[(u32, u64)]) -> Result<Counts, OpError> {
        let Executor { tree, path, buffer } = &mut *self.executor;
        let open = |file| files::open(tree.path(file, path));
        let opened: Vec<OwnedFd> = tree.large().map(open).collect::<Result<_, _>>()?;
        let buffer = &mut buffer[..BLOCK];
        for (file, at) in blocks {
            let begin = self.under.clock.now_ns();
            let came = pread(&opened[(file - tree.small()) as usize], &mut *buffer, *at);
            let came = came.map_err(|e| failed("pread", tree.path(*file, path), e))?;
            if came != BLOCK {
                let text = format!("read {came} bytes at {at}, but {BLOCK} bytes were written");
                return Err(wrong(tree.path(*file, path), text));
            }
            if !tree.is_right(*file, *at, buffer) {
                return Err(wrong(tree.path(*file, path), other_content(*at)));
            }
            self.under.done(Operation::Pread as usize, begin);
        }
        let reads = blocks.len() as u64;
        Ok(vec![("reads", reads), ("bytes_read", reads * BLOCK as u64)])
    }

    fn delete(&mut self) -> Result<Counts, OpError> {
        visit(&mut Deleting(self))?;
        self.all_were_there()?;
        Ok(vec![("files", self.totals.files), ("folders", self.totals.folders)])
    }

    /// Counts one file as done; `begin` is the time at which its operation began.
    fn done(&mut self, operation: Operation, begin: u64) {
        self.under.done(operation as usize, begin);
        self.totals.files += 1;
    }

    /// Reads a whole file, from the open descriptor to its close.
    fn read_file(&mut self, file: u32, opened: OwnedFd, path: &std::path::Path) -> Result<(), OpError> {
        let Executor { tree, buffer, .. } = &mut *self.executor;
        let size = tree.size(file);
        self.totals.bytes += tree.noise().read_whole(file, size, opened, path, buffer)?;
        Ok(())
    }

    fn all_were_there(&self) -> Result<(), OpError> {
        let (files, written) = (self.totals.files, u64::from(self.executor.tree.files()));
        if files == written {
            return Ok(());
        }
        Err(differs("read the directory", ".", format!("found {files} files, but {written} were created")))
    }
}

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

struct Walk<'a, 'b, 'c>(&'a mut At<'b, 'c>);

impl Walk<'_, '_, '_> {
    fn status(&mut self, entry: &Entry<'_>) -> Result<u64, OpError> {
        let begin = self.0.under.clock.now_ns();
        let about = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW);
        let about = about.map_err(|e| entry.failed("stat", e))?;
        let ns = self.0.under.clock.now_ns() - begin;
        self.0.under.latencies.record(Operation::Stat as usize, ns);
        Ok(about.st_size as u64)
    }
}

impl Visitor for Walk<'_, '_, '_> {
    fn enter(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        self.0.totals.folders += 1;
        self.status(folder).map(drop)
    }

    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        let bytes = self.status(entry)?;
        let expected = self.0.known(entry).map(|file| self.0.executor.tree.size(file))?;
        if bytes != expected {
            let text = format!("the file has {bytes} bytes, but {expected} bytes were written");
            return Err(entry.differs("stat", text));
        }
        self.0.totals.files += 1;
        self.0.under.step();
        Ok(())
    }
}

impl At<'_, '_> {
    fn known(&self, entry: &Entry<'_>) -> Result<u32, OpError> {
        let known = self.executor.tree.named(entry.name.to_bytes());
        known.ok_or_else(|| entry.differs("read the directory of", "no file of that name was created"))
    }
}

struct Reading<'a, 'b, 'c>(&'a mut At<'b, 'c>);

impl Visitor for Reading<'_, '_, '_> {
    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        let file = self.0.known(entry)?;
        let begin = self.0.under.clock.now_ns();
        let opened = openat(entry.folder, entry.name, READ, Mode::empty());
        self.0.read_file(file, opened.map_err(|e| entry.failed("open", e))?, entry.path)?;
        self.0.done(Operation::Read, begin);
        Ok(())
    }
}

struct Deleting<'a, 'b, 'c>(&'a mut At<'b, 'c>);

impl Visitor for Deleting<'_, '_, '_> {
    fn file(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        let begin = self.0.under.clock.now_ns();
        unlinkat(entry.folder, entry.name, AtFlags::empty()).map_err(|e| entry.failed("unlink", e))?;
        self.0.done(Operation::Unlink, begin);
        Ok(())
    }

    fn leave(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        self.0.totals.folders += 1;
        unlinkat(folder.folder, folder.name, AtFlags::REMOVEDIR).map_err(|e| folder.failed("rmdir", e))
    }
}
