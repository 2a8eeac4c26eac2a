//! The kernel's memory for the filesystem: dirty pages, dentries and inodes.

use procfs::{Current, Meminfo};

use super::{Counter, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::metric::{Better, Metric};

pub struct Pages;

static COUNTERS: [Counter; 13] = [
    Counter::level("total_bytes"),
    Counter::level("dirty_bytes_at_start"),
    Counter::level("writeback_bytes_at_start"),
    Counter::level("slab_bytes_at_start"),
    Counter::level("dirty_bytes_after_work"),
    Counter::level("writeback_bytes_after_work"),
    Counter::level("slab_bytes_after_work"),
    Counter::level("dirty_bytes_at_end"),
    Counter::level("writeback_bytes_at_end"),
    Counter::level("slab_bytes_at_end"),
    Counter::maximum("dirty_bytes_max"),
    Counter::maximum("writeback_bytes_max"),
    Counter::maximum("slab_bytes_max"),
];

const BYTES: Declared =
    Declared { section: Section::Capacity, over: Over::Moment, drawn: false, ..Declared::BYTES };

static LEFT: Declared = Declared {
    name: "pages.left",
    title: "unwritten data when the work ended",
    better: Better::Neither,
    explained: "Size of the pages that were dirty or under writeback when the last operation ended. The final sync \
                had to write these pages.",
    ..BYTES
};

static DIRTY: Declared = Declared {
    name: "pages.dirty",
    title: "dirty pages, maximum",
    better: Better::Neither,
    over: Over::Work,
    explained: "Maximum size of all dirty pages and pages under writeback during the workload, sampled ten times per \
        second.",
    ..BYTES
};

static SLAB: Declared = Declared {
    name: "pages.slab",
    title: "growth of the slab",
    over: Over::Work,
    explained: "Growth of the kernel's slab, which includes cached dentries and inodes, during the workload.",
    ..BYTES
};

impl Probe for Pages {
    fn name(&self) -> &'static str {
        "pages"
    }

    fn description(&self) -> Description {
        Description {
            what: "Dirty pages, pages under writeback, and slab: before the workload, after it, after the sync, \
                and the maximum of ten samples per second.",
            origin: "/proc/meminfo: Dirty, Writeback, Slab and MemTotal.",
            limits: "The values are those of the whole machine. Peaks between two samples are missed; with --on \
                     model (virtual time) there are no samples while the workload runs. A sample takes 57 µs: ten \
                     per second use 0.06 % of a CPU.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&LEFT, &DIRTY, &SLAB]
    }

    fn metrics(&self, raw: &Raw, _work: &Work<'_>) -> Vec<Metric> {
        let counter = |name: &str| raw.get(name).map(|bytes| *bytes as f64);
        let both = |one, other| Some(counter(one)? + counter(other)?);
        let left =
            both("dirty_bytes_after_work", "writeback_bytes_after_work").map(|bytes| LEFT.metric(bytes));
        let most = counter("dirty_bytes_max").map(|bytes| DIRTY.metric(bytes));
        let grown = counter("slab_bytes_after_work").zip(counter("slab_bytes_at_start"));
        let grown = grown.map(|(after, before)| SLAB.metric(after - before));
        [left, most, grown].into_iter().flatten().collect()
    }

    fn open(&self, _site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let start = Level::read().ok_or_else(|| NotAvailable("no /proc/meminfo".into()))?;
        Ok(Box::new(Open { start, after_work: None, most: None }))
    }
}

/// A reading of the kernel's memory for the filesystem, in bytes.
#[derive(Clone, Copy, Default)]
struct Level {
    total: u64,
    dirty: u64,
    writeback: u64,
    slab: u64,
}

impl Level {
    fn read() -> Option<Self> {
        let Meminfo { mem_total, dirty, writeback, slab, .. } = Meminfo::current().ok()?;
        Some(Level { total: mem_total, dirty, writeback, slab })
    }

    fn at(self, when: &str) -> [(String, u64); 3] {
        [("dirty", self.dirty), ("writeback", self.writeback), ("slab", self.slab)]
            .map(|(what, bytes)| (format!("{what}_bytes_{when}"), bytes))
    }
}

struct Open {
    start: Level,
    after_work: Option<Level>,
    most: Option<Level>,
}

impl Running for Open {
    fn start(&mut self) {
        self.start = Level::read().unwrap_or(self.start);
    }

    fn sample(&mut self) {
        let Some(now) = Level::read() else { return };
        // The maximum is that of dirty pages and pages under writeback together.
        let together = Level { dirty: now.dirty + now.writeback, ..now };
        let most = self.most.get_or_insert(together);
        most.dirty = most.dirty.max(together.dirty);
        most.writeback = most.writeback.max(now.writeback);
        most.slab = most.slab.max(now.slab);
    }

    fn work_ended(&mut self) {
        self.after_work = Level::read();
    }

    fn stop(&mut self) -> Raw {
        let levels = [
            (Some(self.start), "at_start"),
            (self.after_work, "after_work"),
            (Level::read(), "at_end"),
            (self.most, "max"),
        ];
        let seen = levels.into_iter().filter_map(|(level, when)| Some(level?.at(when)));
        seen.flatten().chain([("total_bytes".to_owned(), self.start.total)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Devices;
    use super::*;

    #[test]
    fn the_most_is_only_given_where_somebody_looked() {
        let devices = Devices::default();
        let raw = |looks: u32| {
            let mut running = Pages.open(&Site::new(&devices)).unwrap();
            running.start();
            (0..looks).for_each(|_| running.sample());
            running.work_ended();
            running.stop()
        };
        let (unseen, seen) = (raw(0), raw(2));
        assert!(
            !unseen.contains_key("dirty_bytes_max") && unseen["total_bytes"] > unseen["slab_bytes_at_end"]
        );
        assert!(seen["slab_bytes_max"] > 0 && seen["dirty_bytes_max"] >= seen["writeback_bytes_max"]);
    }
}
