//! The most memory that workload and page cache took together, within their limit.

use std::path::PathBuf;

use super::{NotAvailable, Probe, Raw, Running, Site};
use crate::agent::memory_peak;
use crate::story::Story;

pub struct Memory;

impl Probe for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn story(&self) -> Story {
        Story {
            what: "The most memory that the workload and its page cache took together.",
            origin: "memory.max_usage_in_bytes or memory.peak of the memory group.",
            limits: "Not every filesystem's writeback is charged to the group that dirtied the pages; a small virtual machine is the equal limit.",
        }
    }

    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let group = site.memory_group.ok_or_else(|| NotAvailable("there is no memory limit".into()))?;
        memory_peak(group)
            .ok_or_else(|| NotAvailable("this kernel does not say the peak of a group".into()))?;
        Ok(Box::new(Open(group.to_owned())))
    }
}

struct Open(PathBuf);

impl Running for Open {
    fn start(&mut self) {}

    fn stop(&mut self) -> Raw {
        memory_peak(&self.0).map(|bytes| ("peak_bytes".to_owned(), bytes)).into_iter().collect()
    }
}
