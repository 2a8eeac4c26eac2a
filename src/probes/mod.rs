//! What is watched while the workload runs: one trait, one table.
//!
//! Probes run in the agent, from just before the work to just after the sync. Each declares its counters and turns them into
//! metrics of its own.

pub mod block_io;
pub mod cpu;
mod faults;
mod fragments;
pub mod memory;
pub mod modelled_disk;
mod pace;
mod pages;
mod scheduling;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fsderby_sys::shared::SharedProgress;

use crate::schema::declared::Declared;
use crate::schema::event::{Phase, Series, Stepped};
use crate::schema::metric::Metric;
use crate::schema::record::{Counters, Record, StageRecord};
use crate::schema::story::Story;

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

pub type Raw = BTreeMap<String, u64>;

pub trait Probe: Sync {
    fn name(&self) -> &'static str;
    fn story(&self) -> Story;
    /// Everything that it can give.
    fn counters(&self) -> &'static [Counter];
    /// Every metric that it can give; none where its counters only serve validity checks or pictures.
    fn declared(&self) -> Vec<&'static Declared> {
        Vec::new()
    }
    /// Pure: what was counted over the whole work to metrics. `raw` is empty where the probe could not be opened.
    fn metrics(&self, _raw: &Raw, _work: &Work<'_>) -> Vec<Metric> {
        Vec::new()
    }
    /// The same of one part of a work that has several, of which each but the first began cold.
    fn metrics_of_part(&self, _raw: &Raw, _phases: &[&Phase]) -> Vec<Metric> {
        Vec::new()
    }
    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable>;
}

/// The work that was watched.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// What its process took, as the kernel accounts for it.
    pub step: &'a Stepped,
    pub phases: &'a [Phase],
    /// CPU time that the sync after it took in its caller.
    pub sync_ns: u64,
}

/// One value of a probe's, and what becomes of several readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    pub name: &'static str,
    pub semantics: Semantics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// Counted between start and stop; several readings add up.
    Difference,
    /// The most so far; of several readings the largest holds.
    Maximum,
    /// How it is at that moment; of several readings the last holds.
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

/// An open probe. No call but the last may do more than read counters.
pub trait Running {
    /// Of its counters those that this kernel does not have, and why.
    fn lacks(&self) -> Vec<(&'static str, NotAvailable)> {
        Vec::new()
    }
    fn start(&mut self);
    /// A few times a second while the work goes on: never in virtual time.
    fn sample(&mut self) {}
    /// When the work is done and its sync has not begun.
    fn work_ended(&mut self) {}
    /// What the probe declares, in the units that the names end with.
    fn stop(&mut self) -> Raw;
    /// What changed while the work went on.
    fn series(&mut self) -> Series {
        Series::new()
    }
    /// Everything is written, all probes have stopped and nothing is timed: what can be seen of the files that are left. It belongs
    /// to what [`Running::stop`] gave.
    fn look_at_files(&mut self) -> Result<Raw, NotAvailable> {
        Ok(Raw::new())
    }
}

/// The block devices below a site, each as `major:minor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices {
    /// The disks, or what passes for them: all that reaches a device, flushes too, is counted here and summed.
    pub leaves: Vec<String>,
    /// What the filesystem is made on, where layers lie between: a device of bios alone counts no flushes.
    pub top: Option<String>,
}

/// What a probe may look at.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    pub devices: &'a Devices,
    /// The memory group around the workload, where there is one.
    pub memory_group: Option<&'a Path>,
    /// Whether the machine itself is as small as the limit asks.
    pub whole_machine: bool,
    /// The folder in which the work is done.
    pub place: Option<&'a Path>,
    /// How far the work is, where that may be looked at while it goes on.
    pub progress: Option<&'a Progress>,
}

impl<'a> Site<'a> {
    /// With nothing to look at but these.
    pub fn new(devices: &'a Devices) -> Self {
        Site { devices, memory_group: None, whole_machine: false, place: None, progress: None }
    }
}

/// How far a work is, over all of its clients.
#[derive(Clone, Debug, Default)]
pub struct Progress(pub Vec<Arc<SharedProgress>>);

impl Progress {
    /// Operations that are done, as the engine counts them.
    pub fn done(&self) -> u64 {
        self.0.iter().map(|client| client.done.load(Relaxed)).sum()
    }

    /// Operations that there are.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|client| client.total.load(Relaxed)).sum()
    }
}

/// What the host counts of a guest's disk: no probe of the agent's, and stored beside theirs.
static OF_HOST: [&str; 2] = ["host_cache", "host_block_io"];

pub fn is_of_host(probe: &str) -> bool {
    OF_HOST.contains(&probe)
}

/// What was counted in these stages together.
pub fn sum<'r>(stages: impl Iterator<Item = &'r StageRecord>) -> Counters {
    let mut all = Counters::new();
    for (probe, raw) in stages.flat_map(|stage| &stage.probes) {
        add(probe, all.entry(probe.clone()).or_default(), raw);
    }
    all
}

/// One counter over all measured stages, or what the host counted.
pub fn counted(record: &Record, probe: &str, counter: &str) -> Option<u64> {
    let own = sum(record.measured());
    let raw = own.get(probe).or_else(|| record.host_probes.get(probe))?;
    raw.get(counter).copied()
}

/// Adds what was counted later. What nobody declares is taken for a difference.
pub fn add(probe: &str, sum: &mut Raw, later: &Raw) {
    let counters = TABLE.iter().find(|p| p.name() == probe).map(|p| p.counters());
    for (name, value) in later {
        let counter = counters.unwrap_or_default().iter().find(|c| c.name == name);
        let known = sum.entry(name.clone()).or_default();
        *known = match counter.map_or(Semantics::Difference, |c| c.semantics) {
            Semantics::Difference => known.saturating_add(*value),
            Semantics::Maximum => (*known).max(*value),
            Semantics::Level => *value,
        };
    }
}

/// Why a probe cannot be opened here.
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
