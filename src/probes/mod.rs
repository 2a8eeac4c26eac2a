//! Measurements taken while a workload runs: one trait, one table.
//!
//! Probes run in the agent, from just before the workload to just after the sync. Each declares its counters and computes its
//! own metrics from them.

pub mod block_io;
pub mod cpu;
mod faults;
mod fragments;
pub mod memory;
pub mod modelled_disk;
mod pace;
mod pages;
mod scheduling;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fsderby_sys::shared::SharedProgress;

use crate::schema::declared::Declared;
use crate::schema::description::Description;
use crate::schema::event::{Phase, Series, Stepped};
use crate::schema::metric::Metric;
use crate::schema::record::{Counters, Record, StageRecord};
use crate::schema::shared::Keyed;

/// Every probe.
pub static TABLE: &[&dyn Probe] = &[
    // One row a line.
    &cpu::Cpu,
    &scheduling::Scheduling,
    &faults::Faults,
    &block_io::BlockIo,
    &memory::Memory,
    &pages::Pages,
    &pace::Pace,
    &fragments::Fragments,
    &modelled_disk::ModelledDisk,
];

pub type Raw = Keyed<u64>;

pub trait Probe: Sync {
    fn name(&self) -> &'static str;
    fn description(&self) -> Description;
    /// Every counter that the probe can return.
    fn counters(&self) -> &'static [Counter];
    /// Every metric that the probe can return; empty if its counters serve only validity checks or charts.
    fn declared(&self) -> Vec<&'static Declared> {
        Vec::new()
    }
    /// Computes metrics from the counters of a whole workload. Pure. `raw` is empty if the probe could not be opened.
    fn metrics(&self, _raw: &Raw, _work: &Work<'_>) -> Vec<Metric> {
        Vec::new()
    }
    /// Computes metrics of one part of a workload with several parts; each part but the first began with cold caches.
    fn metrics_of_part(&self, _raw: &Raw, _phases: &[&Phase]) -> Vec<Metric> {
        Vec::new()
    }
    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable>;
}

/// The workload that was observed.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// Resource use of the workload's process, as the kernel reports it.
    pub step: &'a Stepped,
    pub phases: &'a [Phase],
    /// CPU time of the caller during the sync after the workload.
    pub sync_ns: u64,
}

/// A counter of a probe, and how several readings are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    pub name: &'static str,
    pub semantics: Semantics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// Difference between start and stop; several readings are added.
    Difference,
    /// A maximum; the largest of several readings counts.
    Maximum,
    /// A value at one point in time; the last of several readings counts.
    Level,
}

impl Counter {
    pub const fn difference(name: &'static str) -> Counter {
        Counter { name, semantics: Semantics::Difference }
    }

    pub const fn maximum(name: &'static str) -> Counter {
        Counter { name, semantics: Semantics::Maximum }
    }

    pub const fn level(name: &'static str) -> Counter {
        Counter { name, semantics: Semantics::Level }
    }
}

/// An open probe. Only the last call may do more than read counters.
pub trait Running {
    /// Counters that this kernel does not have, with the reason.
    fn lacks(&self) -> Vec<(&'static str, NotAvailable)> {
        Vec::new()
    }
    fn start(&mut self);
    /// Called a few times per second while the workload runs; never in virtual time.
    fn sample(&mut self) {}
    /// Called when the workload has ended, before its sync.
    fn work_ended(&mut self) {}
    /// Returns the counters that the probe declares, in the units given by their names.
    fn stop(&mut self) -> Raw;
    /// Values over time while the workload ran.
    fn series(&mut self) -> Series {
        Series::new()
    }
    /// Examines the remaining files, after everything is written, all probes have stopped and nothing is timed. The result
    /// belongs to that of [`Running::stop`].
    fn look_at_files(&mut self) -> Result<Raw, NotAvailable> {
        Ok(Raw::new())
    }
}

/// The block devices below the filesystem, each as `major:minor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// The disks. All requests to them, including flushes, are counted and summed.
    pub leaves: Vec<String>,
    /// The device with the filesystem, if there are layers below it; a bio-based device does not count flushes.
    pub top: Option<String>,
}

/// Objects that a probe may read.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub devices: &'a Devices,
    /// The cgroup of the workload, if it has one.
    pub memory_group: Option<&'a Path>,
    /// Whether the machine itself has only as much memory as the limit.
    pub whole_machine: bool,
    /// The directory of the workload.
    pub place: Option<&'a Path>,
    /// Progress of the workload, if it may be read while the workload runs.
    pub progress: Option<&'a Progress>,
}

impl<'a> Site<'a> {
    /// A site with these devices and nothing else.
    pub fn new(devices: &'a Devices) -> Self {
        Site { devices, memory_group: None, whole_machine: false, place: None, progress: None }
    }
}

/// Progress of a workload, over all of its clients.
#[derive(Clone, Debug, Default)]
pub struct Progress(pub Vec<Arc<SharedProgress>>);

impl Progress {
    /// Completed operations, as counted by the engine.
    pub fn done(&self) -> u64 {
        self.0.iter().map(|client| client.done.load(Relaxed)).sum()
    }

    /// Total number of operations.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|client| client.total.load(Relaxed)).sum()
    }
}

/// The host's counters of a guest's disk. No probe of the agent has them; they are stored with the probes' counters.
static OF_HOST: [&str; 2] = ["host_cache", "host_block_io"];

pub fn is_of_host(probe: &str) -> bool {
    OF_HOST.contains(&probe)
}

/// Sum of the counters of these stages.
pub fn sum<'r>(stages: impl Iterator<Item = &'r StageRecord>) -> Counters {
    let mut all = Counters::default();
    for (probe, raw) in stages.flat_map(|stage| &stage.probes) {
        add(probe, all.or_default(probe), raw);
    }
    all
}

/// One counter over all measured stages, or a counter of the host.
pub fn counted(record: &Record, probe: &str, counter: &str) -> Option<u64> {
    let own = sum(record.measured());
    let raw = own.get(probe).or_else(|| record.host_probes.get(probe))?;
    raw.get(counter).copied()
}

/// Adds a later reading. Undeclared counters are treated as differences.
pub fn add(probe: &str, sum: &mut Raw, later: &Raw) {
    let counters = TABLE.iter().find(|p| p.name() == probe).map(|p| p.counters());
    for (name, value) in later {
        let counter = counters.unwrap_or_default().iter().find(|c| c.name == name);
        let known = sum.or_default(name);
        *known = match counter.map_or(Semantics::Difference, |c| c.semantics) {
            Semantics::Difference => known.saturating_add(*value),
            Semantics::Maximum => (*known).max(*value),
            Semantics::Level => *value,
        };
    }
}

/// Why a probe cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAvailable(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up_the_largest_maximum_holds_and_the_last_level() {
        let raw = |values: [(&str, u64); 2]| values.map(|(name, value)| (name.to_owned(), value)).into();
        let mut blocks: Raw = raw([("reads", 3), ("volatile_cache", 1)]);
        add("block_io", &mut blocks, &raw([("reads", 4), ("volatile_cache", 0)]));
        assert_eq!(blocks, raw([("reads", 7), ("volatile_cache", 0)]));
        let mut memory: Raw = raw([("peak_bytes", 9), ("of another version", 1)]);
        add("memory", &mut memory, &raw([("peak_bytes", 4), ("of another version", 1)]));
        assert_eq!(memory, raw([("peak_bytes", 9), ("of another version", 2)]));
    }

    #[test]
    fn no_probe_declares_a_counter_twice() {
        for probe in TABLE {
            let mut names: Vec<&str> = probe.counters().iter().map(|c| c.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}", probe.name());
        }
    }

    /// What is opened where the tests run gives what it declares and nothing else.
    #[test]
    fn a_probe_gives_the_counters_that_it_declares() {
        let devices = Devices::default();
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("one"), [1; 10_000]).unwrap();
        let progress = Progress(vec![Arc::new(SharedProgress::new().unwrap())]);
        let watched = Site {
            place: Some(place.path()),
            progress: Some(&progress),
            whole_machine: true,
            ..Site::new(&devices)
        };
        for probe in TABLE {
            let Ok(mut running) = probe.open(&watched) else { continue };
            running.start();
            running.sample();
            running.work_ended();
            let mut given = running.stop();
            // Not every filesystem says where its files lie.
            let Ok(seen) = running.look_at_files() else { continue };
            given.extend(seen);
            let declared = |name: &String| probe.counters().iter().any(|c| c.name == name);
            assert!(!given.is_empty() && given.keys().all(declared), "{}: {given:?}", probe.name());
        }
    }
}
