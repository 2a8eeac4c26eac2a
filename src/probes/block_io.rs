//! What reached the block device: requests, bytes and flushes, by the kernel's own counters.

use std::fs;

use super::{Counter, Devices, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::event::Phase;
use crate::schema::metric::{Better, Metric};
use crate::schema::story::Story;
use crate::schema::units::sum;

/// The counters' sectors, whatever the device's own sectors are (`Documentation/block/stat.rst`).
const SECTOR: u64 = 512;

pub struct BlockIo;

static COUNTERS: [Counter; 15] = [
    Counter::difference("reads"),
    Counter::difference("bytes_read"),
    Counter::difference("writes"),
    Counter::difference("bytes_written"),
    Counter::difference("busy_ms"),
    Counter::difference("waited_ms"),
    Counter::difference("discards"),
    Counter::difference("bytes_discarded"),
    Counter::difference("flushes"),
    Counter::level("volatile_cache"),
    Counter::difference("top_reads"),
    Counter::difference("top_bytes_read"),
    Counter::difference("top_writes"),
    Counter::difference("top_bytes_written"),
    Counter::difference("top_bytes_discarded"),
];

/// What layers let through says what they added: the same of the device above them, under these names. They count no flushes.
const OF_TOP: [(&str, &str); 5] = [
    ("reads", "top_reads"),
    ("bytes_read", "top_bytes_read"),
    ("writes", "top_writes"),
    ("bytes_written", "top_bytes_written"),
    ("bytes_discarded", "top_bytes_discarded"),
];

const BYTES: Declared = Declared { section: Section::Device, over: Over::WorkAndSync, ..Declared::BYTES };
const REQUESTS: Declared =
    Declared { section: Section::Device, over: Over::WorkAndSync, ..Declared::count("requests") };

static RATIO: Declared = Declared {
    name: "device.written_ratio",
    title: "device ÷ written",
    short: "device ÷\nwritten",
    section: Section::Device,
    over: Over::WorkAndSync,
    explained: "Bytes that reached the device by the end of the sync ÷ bytes that the work wrote. Above 1 is metadata and journal; below \
                0.5 most stayed in memory.",
    key: true,
    footnote: true,
    ..Declared::ratio("of what was written")
};

/// What is counted for each.
static DEVICE: [(&str, Declared); 5] = [
    (
        "bytes_written",
        Declared {
            name: "device.bytes_written",
            title: "written to the device",
            explained: "Bytes of all writes that reached the block device, metadata and journal included.",
            ..BYTES
        },
    ),
    (
        "bytes_read",
        Declared {
            name: "device.bytes_read",
            title: "read from the device",
            explained: "Bytes of all reads that reached the block device, metadata and read-ahead included.",
            drawn: false,
            ..BYTES
        },
    ),
    (
        "writes",
        Declared {
            name: "device.writes",
            title: "write requests",
            explained: "Writes that reached the block device, merged as the kernel's queue merged them.",
            drawn: false,
            ..REQUESTS
        },
    ),
    (
        "reads",
        Declared {
            name: "device.reads",
            title: "read requests",
            explained: "Reads that reached the block device, merged as the kernel's queue merged them.",
            drawn: false,
            ..REQUESTS
        },
    ),
    (
        "flushes",
        Declared {
            name: "device.flushes",
            title: "flushes",
            explained: "Requests to write the device's own cache through, as fsync and journal commits make them.",
            ..REQUESTS
        },
    ),
];

static PART_READS: Declared = Declared {
    name: "device.reads.PHASE",
    title: "read requests",
    over: Over::Part,
    explained: "Reads that reached the block device in one part of the work, which began with empty caches.",
    drawn: false,
    ..REQUESTS
};

static PART_RATIO: Declared = Declared {
    name: "device.read_ratio.PHASE",
    title: "device ÷ read",
    better: Better::Lower,
    section: Section::Device,
    over: Over::Part,
    explained: "Bytes read from the device in one part of the work ÷ bytes that the work asked for in it: above 1 is metadata and read-ahead.",
    ..Declared::ratio("of what was read")
};

impl Probe for BlockIo {
    fn name(&self) -> &'static str {
        "block_io"
    }

    fn story(&self) -> Story {
        Story {
            what: "Requests, bytes and flushes that reached the block device, from the start of the work to the end of the sync.",
            origin: "/sys/dev/block/MAJOR:MINOR/stat, as Documentation/block/stat.rst of the kernel describes it.",
            limits: "Counted before the device: what the host's filesystem makes of a loop image is not seen. With layers, which \
                     count no flushes, the counters of all disks below them are added up. On the directory testbed everybody's \
                     requests to that device are counted.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        let device = DEVICE.iter().map(|(_, declared)| declared);
        [&RATIO].into_iter().chain(device).chain([&PART_READS, &PART_RATIO]).collect()
    }

    fn metrics(&self, raw: &Raw, work: &Work<'_>) -> Vec<Metric> {
        let metric =
            |(counter, declared): &(&str, Declared)| Some(declared.metric(*raw.get(*counter)? as f64));
        let mut metrics: Vec<Metric> = DEVICE.iter().filter_map(metric).collect();
        let written = sum(work.phases.iter().map(|p| p.count("bytes_written")));
        if let (Some(reached), 1..) = (raw.get("bytes_written"), written) {
            metrics.push(RATIO.metric(*reached as f64 / written as f64));
        }
        metrics
    }

    fn metrics_of_part(&self, raw: &Raw, phases: &[&Phase]) -> Vec<Metric> {
        let part = phases.iter().map(|p| p.name.as_str()).collect::<Vec<&str>>().join("+");
        let asked = sum(phases.iter().map(|p| p.count("bytes_read")));
        let reads = raw.get("reads").map(|n| PART_READS.metric_of_part(&part, *n as f64));
        let ratio = raw.get("bytes_read").filter(|_| asked > 0);
        let ratio = ratio.map(|bytes| PART_RATIO.metric_of_part(&part, *bytes as f64 / asked as f64));
        reads.into_iter().chain(ratio).collect()
    }

    fn open(&self, site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let devices = site.devices.clone();
        if devices.leaves.is_empty() {
            return Err(NotAvailable("there is no block device below".into()));
        }
        let before = Reading::of(&devices)
            .ok_or_else(|| NotAvailable(format!("no counters of device {}", devices.leaves.join(", "))))?;
        Ok(Box::new(Open { devices, before }))
    }
}

struct Open {
    devices: Devices,
    before: Reading,
}

/// One of all disks, and one of what lies on top of layers.
struct Reading {
    leaves: Counters,
    top: Option<Counters>,
}

impl Reading {
    fn of(devices: &Devices) -> Option<Self> {
        let top = devices.top.as_deref().and_then(Counters::read);
        Counters::sum(&devices.leaves).map(|leaves| Reading { leaves, top })
    }
}

impl Running for Open {
    fn start(&mut self) {
        if let Some(now) = Reading::of(&self.devices) {
            self.before = now;
        }
    }

    fn stop(&mut self) -> Raw {
        let Some(now) = Reading::of(&self.devices) else { return Raw::new() };
        let mut raw = now.leaves.since(&self.before.leaves).raw();
        if let Some((now, before)) = now.top.zip(self.before.top.as_ref()) {
            let top = now.since(before).raw();
            raw.extend(OF_TOP.iter().filter_map(|(of, name)| Some(((*name).to_owned(), *top.get(*of)?))));
        }
        let caches: Vec<bool> = self.devices.leaves.iter().filter_map(|leaf| volatile_cache(leaf)).collect();
        if !caches.is_empty() {
            raw.insert("volatile_cache".to_owned(), u64::from(caches.contains(&true)));
        }
        raw
    }
}

/// Whether the device may lose what it has acknowledged, so that flushes are needed. A partition's queue is its disk's.
fn volatile_cache(device: &str) -> Option<bool> {
    let queue = |up: &str| fs::read_to_string(format!("/sys/dev/block/{device}/{up}queue/write_cache"));
    let text = queue("").or_else(|_| queue("../")).ok()?;
    Some(text.trim() == "write back")
}

/// One reading of the kernel's counters; fields that an old kernel lacks are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u64; 17]);

impl Counters {
    /// `device` is `major:minor`.
    pub fn read(device: &str) -> Option<Self> {
        let text = fs::read_to_string(format!("/sys/dev/block/{device}/stat")).ok()?;
        let mut counters = [0; 17];
        for (slot, word) in counters.iter_mut().zip(text.split_whitespace()) {
            *slot = word.parse().ok()?;
        }
        Some(Counters(counters))
    }

    /// Over all of these; `None` where one of them shows none.
    pub fn sum(devices: &[String]) -> Option<Self> {
        let mut all = devices.iter().map(|device| Counters::read(device));
        let first = all.next()??;
        all.try_fold(first, |sum, next| {
            let next = next?;
            Some(Counters(std::array::from_fn(|i| sum.0[i].wrapping_add(next.0[i]))))
        })
    }

    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters(std::array::from_fn(|i| self.0[i].wrapping_sub(earlier.0[i])))
    }

    fn raw(&self) -> Raw {
        let named = [
            ("reads", self.0[0]),
            ("bytes_read", self.bytes_read()),
            ("writes", self.0[4]),
            ("bytes_written", self.0[6] * SECTOR),
            ("busy_ms", self.0[9]),
            ("waited_ms", self.0[10]),
            ("discards", self.0[11]),
            ("bytes_discarded", self.0[13] * SECTOR),
            ("flushes", self.0[15]),
        ];
        named.map(|(name, value)| (name.to_owned(), value)).into()
    }

    pub fn bytes_read(&self) -> u64 {
        self.0[2] * SECTOR
    }

    pub fn in_flight(&self) -> u64 {
        self.0[8]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_declared() {
        let top = OF_TOP.iter().map(|(of, name)| {
            assert!(COUNTERS.iter().any(|c| c.name == *of), "{of}");
            (*name).to_owned()
        });
        let mut given: Vec<String> =
            Counters([0; 17]).raw().into_keys().chain(["volatile_cache".into()]).chain(top).collect();
        let mut declared: Vec<&str> = COUNTERS.iter().map(|c| c.name).collect();
        given.sort();
        declared.sort_unstable();
        assert_eq!(given, declared);
    }
}
