//! The validation jobs: the usual jobs of a benchmark.

use super::asks::{Asks, RawWork, Taken, span};
use super::native;
use crate::{Access, Spec};

/// Sectors of a flash disk that a guest uses; each must be written first.
const GUEST_SPAN: u64 = 512 << 10;
/// A hard disk gets 1/`FEWER` of the requests of a flash disk.
const FEWER: u64 = 20;

#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The name in the table of measurements.
    pub name: &'static str,
    pub title: &'static str,
    pub(super) access: Access,
    pub(super) unit: Unit,
    /// The requests for this disk.
    asks: fn(&Spec) -> Asks,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Microseconds,
    Milliseconds,
    PerSecond,
    Megabytes,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Unit::Microseconds => "µs",
            Unit::Milliseconds => "ms",
            Unit::PerSecond => "/s",
            Unit::Megabytes => "MB/s",
        }
    }

    /// Whether a larger figure means a slower disk.
    pub fn is_time(self) -> bool {
        matches!(self, Unit::Microseconds | Unit::Milliseconds)
    }

    /// The figure in whole thousandths of the unit.
    pub fn thousandths(self, taken: Taken) -> u64 {
        match self {
            Unit::Microseconds => taken.mean_ns(),
            Unit::Milliseconds => taken.mean_ns() / 1000,
            Unit::PerSecond => taken.rate(),
            Unit::Megabytes => taken.rate() / 1_000_000,
        }
    }

    pub fn value(self, taken: Taken) -> f64 {
        self.thousandths(taken) as f64 / 1000.0
    }
}

pub(super) static JOBS: [Job; 11] = [
    Job {
        name: "read-1",
        title: "4 KiB random reads, one at a time",
        access: Access::Reads,
        unit: Unit::Microseconds,
        asks: |spec| Asks::LoneReads { count: count(spec, 20_000) },
    },
    Job {
        name: "read-32",
        title: "4 KiB random reads, 32 at a time",
        access: Access::Queued,
        unit: Unit::PerSecond,
        asks: |spec| Asks::Reads { depth: 32, count: count(spec, 100_000) },
    },
    Job {
        name: "read-256",
        title: "4 KiB random reads, 256 at a time",
        access: Access::Queued,
        unit: Unit::PerSecond,
        asks: |spec| Asks::Reads { depth: 256, count: count(spec, 100_000) },
    },
    Job {
        name: "stream-read",
        title: "sequential reading",
        access: Access::Streams,
        unit: Unit::Megabytes,
        asks: |_| Asks::StreamReads { pieces: 2000 },
    },
    Job {
        name: "stream-write",
        title: "sequential writing",
        access: Access::Streams,
        unit: Unit::Megabytes,
        asks: |_| Asks::StreamWrites { pieces: 2000 },
    },
    Job {
        name: "write-32",
        title: "4 KiB random writes, 32 at a time",
        access: Access::Queued,
        unit: Unit::PerSecond,
        asks: |_| Asks::Writes { seconds: 30 },
    },
    Job {
        name: "write-steady",
        title: "4 KiB random writes in steady state, 32 at a time",
        access: Access::Copying,
        unit: Unit::PerSecond,
        asks: |_| Asks::SteadyWrites { before: 200_000, count: 100_000 },
    },
    Job {
        name: "sync",
        title: "4 KiB write and flush",
        access: Access::Flushes,
        unit: Unit::Microseconds,
        asks: |spec| Asks::Syncs { count: count(spec, 2000) },
    },
    Job {
        name: "flush-8",
        title: "flush after 8 scattered writes",
        access: Access::Flushes,
        unit: Unit::Milliseconds,
        asks: |_| Asks::Flushes { writes: 8, times: 50 },
    },
    Job {
        name: "flush-64",
        title: "flush after 64 scattered writes",
        access: Access::Flushes,
        unit: Unit::Milliseconds,
        asks: |_| Asks::Flushes { writes: 64, times: 50 },
    },
    Job {
        name: "read-beside-sync",
        title: "4 KiB random reads beside a writer that flushes each write",
        access: Access::Queued,
        unit: Unit::PerSecond,
        asks: |_| Asks::ReadsBesideSyncs { seconds: 10 },
    },
];

pub(super) fn find(name: &str) -> Option<&'static Job> {
    JOBS.iter().find(|job| job.name == name)
}

fn count(spec: &Spec, of_flash: u64) -> u64 {
    if spec.is_rotational() { of_flash / FEWER } else { of_flash }
}

impl Job {
    /// The result of the model alone, in the job's unit.
    pub(super) fn value(&self, spec: &Spec) -> f64 {
        self.unit.value(self.alone(spec))
    }

    /// Like [`Job::value`], for repeated evaluation: slow jobs on flash run an eighth of the requests.
    pub(super) fn value_of_a_part(&self, spec: &Spec) -> f64 {
        let asks = match (self.asks)(spec) {
            steady @ Asks::SteadyWrites { .. } => steady.fewer(8),
            reads @ Asks::Reads { .. } if !spec.is_rotational() => reads.fewer(8),
            other => other,
        };
        self.unit.value(native::run(spec, asks, span(spec)))
    }

    /// The model alone, without a kernel.
    pub(super) fn alone(&self, spec: &Spec) -> Taken {
        native::run(spec, (self.asks)(spec), span(spec))
    }

    /// The guest's version of the job. On flash and network disks it has fewer requests, because each costs an emulated CPU the
    /// same. Hard disks get all of them.
    pub fn in_guest(&self, spec: &Spec) -> Guest {
        let asks = (self.asks)(spec);
        let fewer = match asks {
            _ if spec.is_rotational() => 1,
            Asks::StreamReads { .. } | Asks::StreamWrites { .. } => 4,
            Asks::Writes { seconds } => seconds,
            _ => 10,
        };
        let sectors = if spec.is_rotational() { spec.sectors() } else { span(spec).min(GUEST_SPAN) };
        Guest { work: RawWork { fill: !spec.is_rotational(), asks: asks.fewer(fewer) }, sectors }
    }
}

/// A guest's work for a job, and its volume.
#[derive(Clone, Copy, Debug)]
pub struct Guest {
    pub work: RawWork,
    /// Size of the volume.
    pub sectors: u64,
}

impl Guest {
    /// The same work by the model alone.
    pub(super) fn alone(&self, spec: &Spec) -> Taken {
        native::run(spec, self.work.asks, self.sectors)
    }
}
