//! What is watched while the workload runs: one trait, one table.
//!
//! Probes run in the agent, from just before the work to just after the sync, and give differences of counters.

pub mod block_io;
mod cpu;
mod faults;
pub mod memory;
mod modelled_disk;

use std::collections::BTreeMap;

use crate::story::Story;

/// Every probe.
pub static TABLE: &[&dyn Probe] =
    &[&cpu::Cpu, &faults::Faults, &block_io::BlockIo, &memory::Memory, &modelled_disk::ModelledDisk];

pub type Raw = BTreeMap<String, u64>;

pub trait Probe: Sync {
    fn name(&self) -> &'static str;
    fn story(&self) -> Story;
    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable>;
}

/// An open probe. Neither call may do more than read counters.
pub trait Running {
    fn start(&mut self);
    /// Counter differences since `start`, in the units their names end with.
    fn stop(&mut self) -> Raw;
}

/// What a probe may look at.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// `major:minor` of the block device below the site, where there is one.
    pub device: Option<&'a str>,
    /// The memory group around the workload, where there is one.
    pub memory_group: Option<&'a std::path::Path>,
    /// Whether the machine itself is as small as the limit asks.
    pub whole_machine: bool,
}

/// These are states and no differences: the largest holds.
const STATES: [&str; 4] = ["peak_bytes", "peak_bytes_at_most", "volatile_cache", "cached_bytes"];

/// Adds what was counted later.
pub fn add(sum: &mut Raw, later: &Raw) {
    for (name, value) in later {
        let known = sum.entry(name.clone()).or_default();
        *known = if STATES.contains(&name.as_str()) { (*known).max(*value) } else { *known + value };
    }
}

/// Why a probe cannot be opened here.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAvailable(pub String);
