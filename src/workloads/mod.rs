//! Workloads: one trait, one table.
//!
//! A workload knows neither its filesystem nor its testbed. Its parameters are a TOML table; shipped parameter sets are data
//! beside the code, and experiments refer to them by name.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Table;

use crate::schema::declared::{Declared, Sheet};
use crate::schema::description::Description;
use crate::schema::metric::Metric;
use crate::schema::scenario::{Stage, WorkStage};
use crate::schema::units::{Bytes, Scale};

pub mod backup;
pub mod bonnie;
pub mod clients;
pub mod coldread;
pub mod command;
pub mod fill;
pub mod fio;
pub mod iozone;
pub mod kit;
pub mod news;
pub mod postmark;
pub mod programs;
pub mod sources;
pub mod sparse;
pub mod tasks;

pub use fsderby_sys::shared::Progress;

pub use crate::schema::event::{Client, ClientPhase, Phase};
pub use crate::schema::job::{Portion, WorkSpec};
pub use crate::schema::work::{Amount, LiveFile};

/// Every workload engine.
pub static TABLE: &[&dyn Workload] = &[
    // Keep one engine per line.
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
    &command::Command,
    &fio::Fio,
];

pub type Histogram = hdrhistogram::Histogram<u64>;

pub trait Workload: Sync {
    /// The engine's name: `postmark`. Its parameter sets have other names.
    fn name(&self) -> &'static str;
    fn description(&self) -> Description;
    /// Shipped parameter sets. Names are unique over all engines.
    fn sets(&self) -> &'static [ParamSet];
    /// Every metric that any parameters can produce.
    fn declared(&self) -> Vec<&'static Declared>;
    /// Tables of these metrics in the layout of the original tool.
    fn sheets(&self) -> &'static [Sheet] {
        &[]
    }
    /// The kind of content that the workload's files have, which matters on a compressing filesystem.
    fn content(&self) -> Content {
        Content::Noise
    }
    /// The operations of a phase whose latencies are recorded, each with the name of its count.
    fn timed(&self, _phase: &str) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// The names of the workload's parts; each part may run in another process.
    fn parts(&self) -> &'static [&'static str] {
        &[]
    }
    /// The stages of this work if an experiment names no part: a cold start before each part but the first.
    fn scenario(&self, _work: &dyn Work, work: &WorkStage) -> Vec<Stage> {
        if work.part.is_some() || self.parts().is_empty() {
            return vec![Stage::Work(work.clone())];
        }
        with_cold_starts(work, self.parts())
    }
    /// Parses parameters. An error names the wrong key and the most similar known key, or the exceeded limit.
    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String>;
    /// The parameters of the same work, made smaller or larger.
    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String>;
}

/// These parts of a work, with a cold start before each but the first.
fn with_cold_starts(work: &WorkStage, parts: &[&str]) -> Vec<Stage> {
    let part = |name: &&str| Stage::Work(WorkStage { part: Some((*name).to_owned()), ..work.clone() });
    let parts = parts.iter().map(part);
    let remount = || Stage::other("remount", None);
    parts.enumerate().flat_map(|(at, part)| (at > 0).then(remount).into_iter().chain([part])).collect()
}

/// The content of a workload's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Random bytes, which nothing compresses.
    Noise,
    /// Generated text, which compresses better than people's files.
    Text,
    /// Nearly the same bytes in all files.
    Constant,
}

impl Content {
    /// The warning for a filesystem that compresses.
    pub fn warning(self) -> &'static str {
        match self {
            Content::Noise => {
                "the workload writes random bytes, which do not compress; the figures show the cost of compression \
                 without its gain"
            }
            Content::Text => {
                "the workload writes generated text, which compresses far better than real mail or documents; the \
                 gain is overstated"
            }
            Content::Constant => {
                "the workload writes nearly constant bytes, which compress to almost nothing; real files do not, so \
                 the gain is greatly overstated"
            }
        }
    }
}

/// A shipped parameter set: a TOML file with `story`, `source` and a `parameters` table.
#[derive(Clone, Copy, Debug)]
pub struct ParamSet {
    pub name: &'static str,
    /// The file's text, checked by a test.
    pub toml: &'static str,
}

/// Parsed parameters. States needs and amounts before anything runs.
pub trait Work: Send + Sync {
    fn needs(&self) -> Needs;
    /// The amount of work, as exactly as parameters and seed allow, without any I/O.
    fn amount(&self, seed: u64) -> Amount;
    /// The amount of work, computed fast and in little memory; an estimate if an exact count would take long.
    fn expected(&self, seed: u64) -> Amount {
        self.amount(seed)
    }
    /// The largest number of clients that can do this work in parallel, each all of the work in its own folder. It is at most the
    /// number of files, and 1 if the work concerns the whole filesystem.
    fn most_clients(&self) -> u64 {
        u64::MAX
    }
    /// Files and folders of this machine that the work's programs read, as absolute paths.
    fn input(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Programs of this machine without which the work cannot run, as far as it names them.
    fn programs(&self) -> Vec<&str> {
        Vec::new()
    }
    /// Whether the work prepares files and then needs a cold start.
    fn starts_cold(&self) -> bool {
        false
    }
    /// Does everything that must not be timed: buffers, tables, random data. The work runs in the current folder.
    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String>;
    /// The number of operations after each of which the work can be stopped; 0 if it cannot be stopped.
    fn operations(&self) -> u64 {
        0
    }
    /// The number of fsyncs, as far as known beforehand: each takes as long as many other operations.
    fn syncs(&self) -> u64 {
        0
    }
    /// Files that must survive a power cut right after this many operations. Pure, and equal to the state that a run with this
    /// seed would leave.
    fn durable(&self, _seed: u64, _operations: u64) -> Durable {
        Durable::default()
    }
    /// Computes metrics from raw phases. Pure, so that `fsderby verify` can recompute the metrics.
    fn metrics(&self, phases: &[Phase]) -> Vec<Metric>;
    /// Incremented when [`Work::metrics`] changes for the same phases.
    fn metrics_version(&self) -> u32;
}

/// Requirements of this work on a filesystem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub hard_links: bool,
    pub symlinks: bool,
    pub largest_file: Bytes,
    /// Whether the work uses all space, so that nothing else may use the filesystem.
    pub whole_filesystem: bool,
    /// Whether the work copies from a second disk. The part [`SOURCE`] of the work fills that disk before timing starts, and
    /// [`Ready::take_source`] receives its folder.
    pub source: bool,
    /// Programs of this machine; a guest gets copies.
    pub programs: bool,
    /// Owners and permission bits of files.
    pub owners: bool,
    /// Whether the work allocates space for a file without writing to it.
    pub preallocation: bool,
    /// Memory of each client beside the page cache, if more than about a mebibyte.
    pub memory: Bytes,
}

/// The part of a work that fills its source disk.
pub const SOURCE: &str = "source";

/// Prepared work, whose run is timed.
pub trait Ready {
    /// Works in the current folder. Stops at the first operation that fails.
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError>;
    /// Receives the folder of the source disk, read-only, if the work needs a source disk.
    fn take_source(&mut self, _source: OwnedFd) {}
    /// The files that must exist after the run, in any order, if the run kept its files.
    fn live(&self) -> Vec<LiveFile>;
}

/// Files that the work has synced and not deleted since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    pub files: Vec<LiveFile>,
    /// Whether the names of these files are durable too: fsync of a file makes its content durable, fsync of its folder its name
    /// (fsync(2)).
    pub named: bool,
}

/// A failed operation: its name, its path, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{operation} of '{}' failed: {cause}", path.display())]
pub struct OpError {
    pub operation: &'static str,
    pub path: PathBuf,
    pub cause: Cause,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// A system call, or a program, failed.
    #[error("{0}")]
    System(#[from] io::Error),
    /// What was found is not what was written.
    #[error("{0}")]
    Differs(String),
    /// The work is to stop before this operation; no failure.
    #[error("the work was stopped")]
    Stopped,
}

impl Cause {
    pub fn errno(&self) -> Option<i32> {
        match self {
            Cause::System(error) => error.raw_os_error(),
            Cause::Differs(_) | Cause::Stopped => None,
        }
    }
}

/// Nanoseconds from a fixed point; never decreases.
pub trait Clock {
    fn now_ns(&self) -> u64;
    /// A clock for the threads of a work, which cannot share this clock.
    fn of_threads(&self) -> fn() -> u64 {
        fsderby_sys::process::monotonic_ns
    }
}

/// Receives the results of a running workload. Does no I/O; only ends of phases allocate.
pub trait Log {
    /// A phase has ended, at the last clock reading.
    fn phase(&mut self, phase: Phase);
    /// The latencies of one kind of operation in that phase, in nanoseconds.
    fn histogram(&mut self, phase: &'static str, operation: &str, latencies: &Histogram);
    fn progress(&self) -> &Progress;
    /// The last operation is done; only computation is left. A power cut happens now.
    fn finished(&mut self) {}
}

/// A log that keeps nothing, for work that is not measured.
#[derive(Default)]
pub struct Silent(Progress);

impl Log for Silent {
    fn phase(&mut self, _phase: Phase) {}

    fn histogram(&mut self, _phase: &'static str, _operation: &str, _latencies: &Histogram) {}

    fn progress(&self) -> &Progress {
        &self.0
    }
}

/// The engine and the parameters behind a set's name.
pub fn find(set: &str) -> Option<(&'static dyn Workload, &'static ParamSet)> {
    TABLE.iter().find_map(|w| w.sets().iter().find(|s| s.name == set).map(|s| (*w, s)))
}

/// The work of these parameters.
///
/// # Errors
/// If no engine has the given name, or the engine does not understand the parameters.
pub fn parsed(spec: &WorkSpec) -> Result<Box<dyn Work>, String> {
    let engine =
        engine(&spec.engine).ok_or_else(|| format!("this fsderby has no workload {}", spec.engine))?;
    engine.parse(&spec.parameters)
}

/// The engine of that name.
pub fn engine(name: &str) -> Option<&'static dyn Workload> {
    TABLE.iter().copied().find(|w| w.name() == name)
}

/// A shipped set: its `parameters` table and texts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetFile {
    /// The purpose of the set, in a sentence or two.
    pub story: String,
    /// The source of the parameters.
    pub source: String,
    pub parameters: Table,
}

impl ParamSet {
    /// The parsed file. Panics if it does not parse, because sets are part of the program, and a test reads every set.
    pub fn file(&self) -> SetFile {
        toml::from_str(self.toml)
            .unwrap_or_else(|e| panic!("the shipped set {} does not parse: {e}", self.name))
    }
}
