//! What is done in a directory: one trait, one table.
//!
//! A workload knows neither its filesystem nor its testbed. It is described by parameters (a TOML table); ready sets of
//! them are data beside the code and are entered into experiments by name.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Table;

use crate::schema::declared::{Declared, Sheet};
use crate::schema::metric::Metric;
use crate::schema::scenario::{Stage, WorkStage};
use crate::schema::story::Story;
use crate::schema::units::{Bytes, Scale};

pub mod backup;
pub mod bonnie;
pub mod clients;
pub mod coldread;
pub mod fill;
pub mod iozone;
pub mod kit;
pub mod news;
pub mod postmark;
pub mod sources;
pub mod sparse;
pub mod tasks;

pub use fsderby_sys::shared::Progress;

pub use crate::schema::event::{Client, ClientPhase, Phase};
pub use crate::schema::job::{Portion, WorkSpec};
pub use crate::schema::work::{Amount, LiveFile};

/// Every workload engine.
pub static TABLE: &[&dyn Workload] = &[
    // One row a line.
    &postmark::PostMark,
    &coldread::ColdRead,
    &fill::Fill,
    &tasks::Tasks,
    &sparse::Sparse,
    &backup::Backup,
    &news::News,
    &sources::Sources,
    &bonnie::Bonnie,
    &iozone::IoZone,
];

pub type Histogram = hdrhistogram::Histogram<u64>;

pub trait Workload: Sync {
    /// The engine's name: `postmark`. Its parameter sets have names of their own.
    fn name(&self) -> &'static str;
    fn story(&self) -> Story;
    /// Ready parameters, by name. Names are unique over all engines.
    fn sets(&self) -> &'static [ParamSet];
    /// Every metric that any parameters can give.
    fn declared(&self) -> Vec<&'static Declared>;
    /// The tables in which people know these metrics from the tool itself.
    fn sheets(&self) -> &'static [Sheet] {
        &[]
    }
    /// Which operations of a phase have their latencies told, each with the phase's count of them.
    fn timed(&self, _phase: &str) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// The names of its parts, which other processes may go on with.
    fn parts(&self) -> &'static [&'static str] {
        &[]
    }
    /// The stages of this work where an experiment names no part: before each part but the first, nothing of the filesystem's
    /// is left in memory.
    fn scenario(&self, work: &WorkStage) -> Vec<Stage> {
        if work.part.is_some() || self.parts().is_empty() {
            return vec![Stage::Work(work.clone())];
        }
        let part = |name: &&str| Stage::Work(WorkStage { part: Some((*name).to_owned()), ..work.clone() });
        let parts = self.parts().iter().map(part);
        let remount = || Stage::other("remount", None);
        parts.enumerate().flat_map(|(at, part)| (at > 0).then(remount).into_iter().chain([part])).collect()
    }
    /// Parameters to work. The error names the key, the nearest right one, or the limit that was passed.
    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String>;
    /// The same work, smaller or larger.
    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String>;
}

/// A ready set of parameters: a TOML file with `story`, `source` and a `parameters` table.
#[derive(Clone, Copy, Debug)]
pub struct ParamSet {
    pub name: &'static str,
    /// The file's text, checked by a test.
    pub toml: &'static str,
}

/// Parameters understood. Says what it needs and how much it moves before anything is run.
pub trait Work: Send + Sync {
    fn needs(&self) -> Needs;
    /// How much the work is, as exactly as it can be told from parameters and seed, without any I/O.
    fn amount(&self, seed: u64) -> Amount;
    /// The same at once and in little memory, however much it is: exact where that is soon counted.
    fn expected(&self, seed: u64) -> Amount {
        self.amount(seed)
    }
    /// How many clients can do it at the same time at most, each all of it in a folder of its own: no more than it has files, and one
    /// alone where it is about the whole filesystem.
    fn most_clients(&self) -> u64 {
        u64::MAX
    }
    /// Everything that must not be timed: buffers, tables, random data. The work itself happens in the current folder.
    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String>;
    /// After how many of its operations it can be stopped, the last included; 0 where it cannot.
    fn operations(&self) -> u64 {
        0
    }
    /// What must survive when the power is cut right after so many operations. Pure, and the same that a run with this seed
    /// would leave.
    fn durable(&self, _seed: u64, _operations: u64) -> Durable {
        Durable::default()
    }
    /// Pure: raw phases to metrics. `fsderby verify` calls it again.
    fn metrics(&self, phases: &[Phase]) -> Vec<Metric>;
    /// Counted up whenever [`Work::metrics`] gives another value for the same phases.
    fn metrics_version(&self) -> u32;
}

/// What a filesystem must be able to do for this work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub hard_links: bool,
    pub symlinks: bool,
    pub largest_file: Bytes,
    /// It takes whatever space there is, so nobody else may have any there.
    pub whole_filesystem: bool,
    /// A second disk to copy from. Its part [`SOURCE`] fills that disk before anything is timed, and [`Ready::take_source`] has it.
    pub source: bool,
    /// Space that is given to a file without writing to it.
    pub preallocation: bool,
    /// What each client keeps in memory beside the page cache, where that is more than a mebibyte or so.
    pub memory: Bytes,
}

/// The part of a work that fills the disk that it copies from.
pub const SOURCE: &str = "source";

/// Work with everything at hand: what follows is timed.
pub trait Ready {
    /// Works in the current folder. Stops at the first operation that fails.
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError>;
    /// The disk that it copies from, where it needs one: its folder, which can only be read.
    fn take_source(&mut self, _source: OwnedFd) {}
    /// Where it kept its files: the files that must now be there, in any order.
    fn live(&self) -> Vec<LiveFile>;
}

/// Files that the work has had written through to the disk, and not deleted since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    pub files: Vec<LiveFile>,
    /// Whether their names are promised too: fsync of a file promises its content, that of its folder its name (fsync(2)).
    pub named: bool,
}

/// An operation that failed: which one, on what, and why.
#[derive(Debug, thiserror::Error)]
#[error("{operation} of '{}' failed: {error}", path.display())]
pub struct OpError {
    pub operation: &'static str,
    pub path: PathBuf,
    #[source]
    pub error: io::Error,
}

/// Nanoseconds from some fixed moment; never steps back.
pub trait Clock {
    fn now_ns(&self) -> u64;
    /// The same for the threads of a work, which cannot share this.
    fn of_threads(&self) -> fn() -> u64 {
        fsderby_sys::process::monotonic_ns
    }
}

/// Where a running workload tells what it did. None of this does I/O; only ends of phases allocate.
pub trait Log {
    /// A phase has ended, with the last reading of the clock.
    fn phase(&mut self, phase: Phase);
    /// The latencies of one kind of operation in that phase, in nanoseconds.
    fn histogram(&mut self, phase: &'static str, operation: &'static str, latencies: &Histogram);
    fn progress(&self) -> &Progress;
    /// The last operation is done; what is left to do is to reckon. Where the power is cut it goes now.
    fn finished(&mut self) {}
}

/// The engine and the parameters behind a set's name.
pub fn find(set: &str) -> Option<(&'static dyn Workload, &'static ParamSet)> {
    TABLE.iter().find_map(|w| w.sets().iter().find(|s| s.name == set).map(|s| (*w, s)))
}

/// The work of these parameters.
///
/// # Errors
/// Where there is no such engine, or it does not understand them.
pub fn parsed(spec: &WorkSpec) -> Result<Box<dyn Work>, String> {
    let engine =
        engine(&spec.engine).ok_or_else(|| format!("this fsderby has no workload {}", spec.engine))?;
    engine.parse(&spec.parameters)
}

/// The engine of that name.
pub fn engine(name: &str) -> Option<&'static dyn Workload> {
    TABLE.iter().copied().find(|w| w.name() == name)
}

/// The `parameters` table and texts of a ready set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetFile {
    /// What it is for, in a sentence or two.
    pub story: String,
    /// Where the parameters come from.
    pub source: String,
    pub parameters: Table,
}

impl ParamSet {
    /// Panics on a set that does not parse: they are part of the program, and a test reads them all.
    pub fn file(&self) -> SetFile {
        toml::from_str(self.toml)
            .unwrap_or_else(|e| panic!("the shipped set {} does not parse: {e}", self.name))
    }
}
