//! Requests, bytes and flushes that reached the block device, from the kernel's counters.

use std::fs;

use super::{Counter, Devices, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::event::Phase;
use crate::schema::metric::{Better, Metric};
use crate::schema::units::sum;

/// Unit of the counters in bytes, whatever the device's sector size (`Documentation/block/stat.rst`).
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

/// With layers, the counters of the device above them, stored under these names: compared with the disks' counters they show
/// what the layers added. Layers do not count flushes.
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
    explained: "Bytes written to the device by the end of the sync ÷ bytes that the workload wrote. A ratio above 1 \
                comes from metadata and journal. A ratio below 0.5 means that most data was deleted or overwritten \
                before it reached the device, or was compressed.",
    key: true,
    footnote: true,
    ..Declared::ratio("of what was written")
};

/// The counters and their metrics.
static DEVICE: [(&str, Declared); 6] = [
    (
        "bytes_written",
        Declared {
            name: "device.bytes_written",
            title: "written to the device",
            explained: "Bytes of all writes that reached the block device, including metadata and journal.",
            stands_in: true,
            ..BYTES
        },
    ),
    (
        "bytes_read",
        Declared {
            name: "device.bytes_read",
            title: "read from the device",
            explained: "Bytes of all reads that reached the block device, including metadata and read-ahead.",
            drawn: false,
            stands_in: true,
            ..BYTES
        },
    ),
    (
        "writes",
        Declared {
            name: "device.writes",
            title: "write requests",
            explained: "Write requests that reached the block device, after merging in the kernel's queue.",
            drawn: false,
            stands_in: true,
            ..REQUESTS
        },
    ),
    (
        "reads",
        Declared {
            name: "device.reads",
            title: "read requests",
            explained: "Read requests that reached the block device, after merging in the kernel's queue.",
            drawn: false,
            stands_in: true,
            ..REQUESTS
        },
    ),
    (
        "flushes",
        Declared {
            name: "device.flushes",
            title: "flushes",
            explained: "Flush requests for the device's volatile cache, as sent by fsync and journal commits.",
            stands_in: true,
            ..REQUESTS
        },
    ),
    (
        "bytes_discarded",
        Declared {
            name: "device.bytes_discarded",
            title: "discarded",
            better: Better::Neither,
            explained: "Bytes discarded (TRIM), for example by a mount with `discard`.",
            drawn: false,
            ..BYTES
        },
    ),
];

static READ_RATIO: Declared = Declared {
    name: "device.read_ratio",
    title: "device ÷ read",
    better: Better::Lower,
    section: Section::Device,
    over: Over::WorkAndSync,
    explained: "Bytes read from the device ÷ bytes that the workload read. A ratio above 1 comes from \
        metadata and read-ahead. A ratio below 1 means that the page cache served a part of the reads.",
    drawn: false,
    ..Declared::ratio("of what was read")
};

static FLUSHES_PER_FSYNC: Declared = Declared {
    name: "device.flushes_per_fsync",
    title: "flushes ÷ fsync",
    section: Section::Device,
    over: Over::WorkAndSync,
    explained: "Device flushes ÷ fsync calls of the workload: how many flushes one fsync costs. Flushes of \
                periodic journal commits are included.",
    drawn: false,
    ..Declared::ratio("flushes for each fsync")
};

static PART_READS: Declared = Declared {
    name: "device.reads.PHASE",
    title: "read requests",
    over: Over::Part,
    explained: "Read requests that reached the block device in one phase, which began with cold caches.",
    drawn: false,
    ..REQUESTS
};

static PART_RATIO: Declared = Declared {
    name: "device.read_ratio.PHASE",
    title: "device ÷ read",
    better: Better::Lower,
    section: Section::Device,
    over: Over::Part,
    explained: "Bytes read from the device in one phase ÷ bytes that the workload read in that phase. A \
                ratio above 1 comes from metadata and read-ahead.",
    ..Declared::ratio("of what was read")
};

impl Probe for BlockIo {
    fn name(&self) -> &'static str {
        "block_io"
    }

    fn description(&self) -> Description {
        Description {
            what: "Requests, bytes and flushes that reached the block device, from the start of the work to the end of the sync.",
            origin: "/sys/dev/block/MAJOR:MINOR/stat (Documentation/block/stat.rst of the kernel).",
            limits: "Counted at the block device: I/O of the host's filesystem under a loop image is not \
                     included. Layers such as RAID and dm-crypt do not count flushes; with layers, the \
                     counters of all disks below them are summed. With --on directory, requests of other \
                     processes to the same device are included.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        let device = DEVICE.iter().map(|(_, declared)| declared);
        let of_parts = [&PART_READS, &PART_RATIO];
        [&RATIO, &READ_RATIO, &FLUSHES_PER_FSYNC].into_iter().chain(device).chain(of_parts).collect()
    }

    fn metrics(&self, raw: &Raw, work: &Work<'_>) -> Vec<Metric> {
        let metric =
            |(counter, declared): &(&str, Declared)| Some(declared.metric(*raw.get(counter)? as f64));
        let mut metrics: Vec<Metric> = DEVICE.iter().filter_map(metric).collect();
        for (declared, counter, count) in [
            (&RATIO, "bytes_written", "bytes_written"),
            (&READ_RATIO, "bytes_read", "bytes_read"),
            (&FLUSHES_PER_FSYNC, "flushes", "fsyncs"),
        ] {
            let of = sum(work.phases.iter().map(|p| p.count(count)));
            let seen = raw.get(counter).filter(|_| of > 0);
            metrics.extend(seen.map(|seen| declared.metric(*seen as f64 / of as f64)));
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
            return Err(NotAvailable("the filesystem has no block device".into()));
        }
        let before = Reading::of(&devices)
            .ok_or_else(|| NotAvailable(format!("no counters for device {}", devices.leaves.join(", "))))?;
        Ok(Box::new(Open { devices, before }))
    }
}

struct Open {
    devices: Devices,
    before: Reading,
}

/// Counters of all disks, and of the device on top of the layers.
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
    fn lacks(&self) -> Vec<(&'static str, NotAvailable)> {
        let Reading { leaves, .. } = &self.before;
        let lacks = |has: bool, name, why: &str| (!has).then(|| (name, NotAvailable(why.to_owned())));
        let discards = lacks(
            leaves.1 >= WITH_DISCARDS,
            "discards",
            "this kernel does not count discards; Linux 4.18 and \
                later do",
        );
        let flushes = lacks(
            leaves.has_flushes(),
            "flushes",
            "this kernel does not count flushes; Linux 5.5 and \
            later do",
        );
        discards.into_iter().chain(flushes).collect()
    }

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
            raw.extend(OF_TOP.iter().filter_map(|(of, name)| Some(((*name).to_owned(), *top.get(of)?))));
        }
        let caches: Vec<bool> = self.devices.leaves.iter().filter_map(|leaf| volatile_cache(leaf)).collect();
        if !caches.is_empty() {
            raw.insert("volatile_cache".to_owned(), u64::from(caches.contains(&true)));
        }
        raw
    }
}

/// Whether the device may lose acknowledged writes, so that flushes are needed. A partition has the queue of its disk.
fn volatile_cache(device: &str) -> Option<bool> {
    let queue = |up: &str| fs::read_to_string(format!("/sys/dev/block/{device}/{up}queue/write_cache"));
    let text = queue("").or_else(|_| queue("../")).ok()?;
    Some(text.trim() == "write back")
}

/// One reading of the kernel's counters and the number of its fields: Linux counts discards since 4.18 and flushes since 5.5.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u64; FIELDS], usize);

const FIELDS: usize = 17;
/// Discards are fields 12 to 15.
const WITH_DISCARDS: usize = 15;

impl Counters {
    /// `device` is `major:minor`.
    pub fn read(device: &str) -> Option<Self> {
        let text = fs::read_to_string(format!("/sys/dev/block/{device}/stat")).ok()?;
        Counters::parse(&text)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut counters = [0; FIELDS];
        for (slot, word) in counters.iter_mut().zip(text.split_whitespace()) {
            *slot = word.parse().ok()?;
        }
        Some(Counters(counters, text.split_whitespace().count().min(FIELDS)))
    }

    /// The sum over these devices; `None` if a device has no counters.
    pub fn sum(devices: &[String]) -> Option<Self> {
        let mut all = devices.iter().map(|device| Counters::read(device));
        let first = all.next()??;
        all.try_fold(first, |sum, next| {
            let next = next?;
            let added = std::array::from_fn(|i| sum.0[i].wrapping_add(next.0[i]));
            Some(Counters(added, sum.1.min(next.1)))
        })
    }

    pub fn since(&self, earlier: &Counters) -> Counters {
        Counters(std::array::from_fn(|i| self.0[i].wrapping_sub(earlier.0[i])), self.1.min(earlier.1))
    }

    fn raw(&self) -> Raw {
        let named = [
            ("reads", self.0[0]),
            ("bytes_read", self.bytes_read()),
            ("writes", self.0[4]),
            ("bytes_written", self.0[6] * SECTOR),
            ("busy_ms", self.0[9]),
            ("waited_ms", self.0[10]),
        ];
        let discards = [("discards", self.0[11]), ("bytes_discarded", self.0[13] * SECTOR)];
        let has_discards = self.1 >= WITH_DISCARDS;
        let discards = discards.into_iter().filter(|_| has_discards);
        let flushes = self.has_flushes().then_some(("flushes", self.0[15]));
        let named = named.into_iter().chain(discards).chain(flushes);
        named.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn has_flushes(&self) -> bool {
        self.1 == FIELDS
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
        let all = Counters([0; FIELDS], FIELDS).raw();
        let mut given: Vec<String> =
            all.keys().cloned().chain(["volatile_cache".into()]).chain(top).collect();
        let mut declared: Vec<&str> = COUNTERS.iter().map(|c| c.name).collect();
        given.sort();
        declared.sort_unstable();
        assert_eq!(given, declared);
    }

    /// As `Documentation/block/stat.rst` has them, of three ages.
    #[test]
    fn what_an_old_kernel_does_not_count_is_absent_and_not_nought() {
        let line = "1 0 8 0 2 0 16 0 0 5 6 3 0 24 0 4 0";
        let open = |fields: usize| {
            let words: Vec<&str> = line.split(' ').take(fields).collect();
            let leaves = Counters::parse(&words.join(" ")).unwrap();
            let raw = leaves.raw();
            let lacks = Open { devices: Devices::default(), before: Reading { leaves, top: None } }.lacks();
            (raw, lacks.into_iter().map(|(name, _)| name).collect::<Vec<_>>())
        };
        let (raw, lacks) = open(17);
        assert_eq!(
            (raw["discards"], raw["bytes_discarded"], raw["flushes"], lacks.len()),
            (3, 24 * 512, 4, 0)
        );
        assert_eq!((open(15).0.get("flushes"), open(15).1), (None, vec!["flushes"]));
        let (raw, lacks) = open(11);
        assert_eq!(
            (raw.get("discards"), raw["bytes_written"], lacks),
            (None, 16 * 512, vec!["discards", "flushes"])
        );
    }

    #[test]
    fn an_amplification_needs_something_to_be_divided_by() {
        let counted =
            |list: &[(&str, u64)]| list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Raw>();
        let raw = counted(&[("bytes_written", 300), ("bytes_read", 50), ("flushes", 9)]);
        let ratios = |counts: Raw| {
            let phases = [Phase { counts, ..Phase::default() }];
            let step = crate::schema::event::Stepped::default();
            let all = BlockIo.metrics(&raw, &Work { step: &step, phases: &phases, sync_ns: 0 });
            let of = |name: &str| all.iter().find(|m| m.name == name).map(|m| m.value);
            ["device.written_ratio", "device.read_ratio", "device.flushes_per_fsync"].map(of)
        };
        assert_eq!(ratios(Raw::new()), [None; 3]);
        let counts = counted(&[("bytes_written", 100), ("bytes_read", 200), ("fsyncs", 3)]);
        assert_eq!(ratios(counts), [Some(3.0), Some(0.25), Some(3.0)]);
    }
}
