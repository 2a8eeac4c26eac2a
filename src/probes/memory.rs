//! Peak memory of workload and page cache together, within the memory limit.

use std::fs;
use std::path::PathBuf;

use procfs::Current;

use super::{Counter, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::host::memory_group;
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::metric::{Better, Metric};
use crate::schema::units::{MIB, sum};

pub struct Memory;

static COUNTERS: [Counter; 2] = [Counter::maximum("peak_bytes"), Counter::maximum("peak_bytes_at_most")];

static PEAK: Declared = Declared {
    name: "memory.peak",
    title: "peak memory",
    better: Better::Neither,
    section: Section::Capacity,
    over: Over::WorkAndSync,
    explained: "Peak memory of the workload and its page cache, as counted by its cgroup.",
    ..Declared::BYTES
};

impl Probe for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn description(&self) -> Description {
        Description {
            what: "Peak memory of the workload and its page cache.",
            origin: "memory.max_usage_in_bytes or memory.peak of the cgroup. In a guest, from /proc/meminfo: \
                     free, cached and reclaimable memory when the workload begins, plus the per-CPU free pages \
                     (/proc/zoneinfo). In a guest, the value is therefore all usable memory, minus 8 MiB that \
                     the kernel needs for writeback.",
            limits: "Some filesystems' writeback is not charged to the cgroup that dirtied the pages. Guest RAM limits \
                all filesystems alike.",
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
        let group = site.memory_group.ok_or_else(|| NotAvailable("no memory limit is set".into()))?;
        memory_group::peak(group)
            .ok_or_else(|| NotAvailable("this kernel does not report the peak memory of a cgroup".into()))?;
        Ok(Box::new(Open(group.to_owned())))
    }
}

/// Bytes that the kernel's own threads need for writeback, in addition to the data written. With 24 MiB and no reserve, a
/// thread that writes whole segments waits for memory that only it can free. On this machine these threads use memory outside
/// the cgroup.
const WRITEBACKS_OWN: u64 = 8 * MIB;

/// Bytes that pages and processes can still use: free memory, and memory that the kernel can reclaim.
pub fn for_use() -> Option<u64> {
    left(&procfs::Meminfo::current().ok()?, &fs::read_to_string("/proc/zoneinfo").ok()?)
}

fn left(about: &procfs::Meminfo, zoneinfo: &str) -> Option<u64> {
    let page = u64::try_from(rustix::param::page_size()).ok()?;
    let listed = on_lists_of_cpus(zoneinfo).saturating_mul(page);
    let cached = about.active_file? + about.inactive_file?;
    let all = sum([about.mem_free, listed, cached, about.s_reclaimable.unwrap_or(0)]);
    Some(all.saturating_sub(WRITEBACKS_OWN))
}

/// Free pages on per-CPU lists (mm/page_alloc.c), which `MemFree` does not include. Since Linux 6.7 they can be an eighth of
/// the machine's memory. Processes get pages from these lists first, and `MemFree` does not change.
fn on_lists_of_cpus(zoneinfo: &str) -> u64 {
    let counts = zoneinfo.lines().filter_map(|line| line.trim_start().strip_prefix("count:"));
    sum(counts.filter_map(|pages| pages.trim().parse().ok()))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest with two CPUs, shortened; the pages of each CPU are those of 6.12.
    const ZONEINFO: &str = "\
Node 0, zone      DMA
  pages free     2815
        boost    0
      nr_free_pages 2815
  pagesets
    cpu: 0
              count:    3
              high:     0
              batch:    1
  vm stats threshold: 4
Node 0, zone    DMA32
  pages free     135200
  pagesets
    cpu: 0
              count:    1926
              high:     2031
              batch:    63
              high_min: 700
              high_max: 21000
  vm stats threshold: 8
    cpu: 1
              count:    74
              high:     1408
  node_unreclaimable:  0
";

    #[test]
    fn free_pages_on_lists_of_cpus_are_counted_for_each_zone_and_cpu() {
        assert_eq!(on_lists_of_cpus(ZONEINFO), 3 + 1926 + 74);
        assert_eq!(on_lists_of_cpus(""), 0);
    }

    #[test]
    fn what_is_taken_from_the_list_of_a_cpu_is_missed_though_memfree_stays() {
        use procfs::FromBufRead;

        let meminfo = "MemTotal: 700000 kB\nMemFree: 531564 kB\nBuffers: 208 kB\nCached: 37420 kB\nSwapCached: 0 kB\n\
                       Active: 0 kB\nInactive: 0 kB\nActive(file): 0 kB\nInactive(file): 312 kB\nSwapTotal: 0 kB\n\
                       SwapFree: 0 kB\nDirty: 0 kB\nWriteback: 0 kB\nAnonPages: 25520 kB\nMapped: 0 kB\nSlab: 0 kB\n\
                       SReclaimable: 804 kB\nPageTables: 0 kB\nNFS_Unstable: 0 kB\nBounce: 0 kB\nCommitted_AS: 0 kB\n\
                       VmallocTotal: 0 kB\nVmallocUsed: 0 kB\nVmallocChunk: 0 kB\nWritebackTmp: 0 kB\nSUnreclaim: 0 kB\n";
        let about = procfs::Meminfo::from_buf_read(meminfo.as_bytes()).unwrap();
        let before = left(&about, ZONEINFO).unwrap();
        let after = left(&about, &ZONEINFO.replace("1926", "1876")).unwrap();
        assert_eq!(before - after, 50 * rustix::param::page_size() as u64);
        let shown = (531_564 + 312 + 804) * 1024 - WRITEBACKS_OWN;
        assert_eq!(before - shown, (3 + 1926 + 74) * rustix::param::page_size() as u64);
    }
}
