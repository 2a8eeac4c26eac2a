//! The most memory that workload and page cache took together, within their limit.

use std::path::PathBuf;

use procfs::Current;

use super::{Counter, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::host::memory_group;
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::metric::{Better, Metric};
use crate::schema::story::Story;
use crate::schema::units::MIB;

pub struct Memory;

static COUNTERS: [Counter; 2] = [Counter::maximum("peak_bytes"), Counter::maximum("peak_bytes_at_most")];

static PEAK: Declared = Declared {
    name: "memory.peak",
    title: "peak memory",
    better: Better::Neither,
    section: Section::Capacity,
    over: Over::WorkAndSync,
    explained: "The most memory that the workload and its page cache took together, as its memory group counts it.",
    ..Declared::BYTES
};

impl Probe for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn story(&self) -> Story {
        Story {
            what: "The most memory that the workload and its page cache took together.",
            origin: "memory.max_usage_in_bytes or memory.peak of the memory group; in a guest /proc/meminfo: what is free, cached or reclaimable \
                     when the work begins, which is all there is, \
                     but for 8 MiB of the kernel's own.",
            limits: "Not every filesystem's writeback is charged to the group that dirtied the pages; a small virtual machine is the equal limit.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&PEAK]
    }

    fn metrics(&self, raw: &Raw, _work: &Work<'_>) -> Vec<Metric> {
        raw.get("peak_bytes").map(|bytes| PEAK.metric(*bytes as f64)).into_iter().collect()
    }

    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        if site.whole_machine {
            let bytes = for_use().ok_or_else(|| NotAvailable("no /proc/meminfo".into()))?;
            return Ok(Box::new(Bounded(bytes)));
        }
        let group = site.memory_group.ok_or_else(|| NotAvailable("there is no memory limit".into()))?;
        memory_group::peak(group)
            .ok_or_else(|| NotAvailable("this kernel does not say the peak of a group".into()))?;
        Ok(Box::new(Open(group.to_owned())))
    }
}

/// What the kernel's own threads need to write back, beside what they write: with 24 MiB and nothing beside them a thread that
/// writes whole segments waits for memory that only it can free. On this machine they take it from outside the group.
const WRITEBACKS_OWN: u64 = 8 * MIB;

/// What pages and processes can still take: free memory, and what the kernel gives up for them. Bytes.
pub fn for_use() -> Option<u64> {
    let about = procfs::Meminfo::current().ok()?;
    let cached = about.active_file? + about.inactive_file?;
    let all = about.mem_free + cached + about.s_reclaimable.unwrap_or(0);
    Some(all.saturating_sub(WRITEBACKS_OWN))
}

struct Bounded(u64);

impl Running for Bounded {
    fn start(&mut self) {}

    fn stop(&mut self) -> Raw {
        [("peak_bytes_at_most".to_owned(), self.0)].into()
    }
}

struct Open(PathBuf);

impl Running for Open {
    fn start(&mut self) {}

    fn stop(&mut self) -> Raw {
        memory_group::peak(&self.0).map(|bytes| ("peak_bytes".to_owned(), bytes)).into_iter().collect()
    }
}
