//! Turns the phase into metrics: rates, and the level reached.

use crate::schema::declared::{Declared, Over, Section};
use crate::schema::event::Phase;
use crate::schema::metric::{Better, Metric};
use crate::workloads::kit::Rate;

pub const VERSION: u32 = 1;

pub const PHASE: &str = "fill";
/// A phase counts the bytes of its files under one of two names: this one, or the next constant if they are only allocated.
pub const WRITTEN: &str = "bytes_written";
pub const ALLOCATED: &str = "bytes_allocated";

static RATES: [Rate; 3] = [
    Rate {
        count: WRITTEN,
        declared: Declared {
            name: "fill.throughput",
            title: "write (phase fill)",
            did: "filled the volume",
            section: Section::Headline,
            over: Over::Phase(PHASE),
            explained: "Bytes written per second in the fill phase. The workload syncs before each check of the \
                free space; the time of these syncs is included.",
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: ALLOCATED,
        declared: Declared {
            name: "fill.allocation",
            title: "allocate (phase fill)",
            did: "allocated the volume",
            section: Section::Headline,
            over: Over::Phase(PHASE),
            explained: "Bytes allocated, but not written, per second in the fill phase. The workload syncs before \
                        each check of the free space; the time of these syncs is included.",
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "fill.rate",
            title: "create (phase fill)",
            section: Section::Files,
            over: Over::Phase(PHASE),
            explained: "Files created and filled per second in the fill phase. The workload syncs before each check \
                        of the free space; the time of these syncs is included.",
            ..Declared::PER_SECOND
        },
    },
];

static USED: Declared = Declared {
    name: "fill.used",
    title: "used after filling",
    section: Section::Capacity,
    over: Over::Moment,
    explained: "Space used at the end of the workload ÷ space available to an ordinary user at its beginning.",
    ..Declared::PERCENT
};

static FILES: Declared = Declared {
    name: "fill.files",
    title: "files after filling",
    better: Better::Higher,
    section: Section::Capacity,
    over: Over::Moment,
    explained: "Number of files at the end of the workload.",
    ..Declared::count("files")
};

static BYTES: Declared = Declared {
    name: "fill.bytes",
    title: "content after filling",
    better: Better::Higher,
    section: Section::Capacity,
    over: Over::Moment,
    explained: "Sum of the lengths of all files at the end of the workload; the filesystem's metadata is not \
                included.",
    ..Declared::BYTES
};

static FREE: Declared = Declared {
    name: "fill.free",
    title: "free after filling",
    better: Better::Neither,
    section: Section::Capacity,
    over: Over::Moment,
    explained: "Space still available to an ordinary user at the end of the workload.",
    ..Declared::BYTES
};

pub fn declared() -> Vec<&'static Declared> {
    RATES.iter().map(|rate| &rate.declared).chain([&USED, &FILES, &BYTES, &FREE]).collect()
}

pub fn metrics(phases: &[Phase]) -> Vec<Metric> {
    let is_counted = |rate: &&Rate| phases.iter().any(|phase| phase.counts.contains_key(rate.count));
    let rates = RATES.iter().filter(is_counted).filter_map(|rate| rate.metric(phases));
    let reached = phases.iter().filter(|phase| phase.name == PHASE).flat_map(|phase| {
        let (usable, free) = (phase.count("bytes_usable"), phase.count("bytes_free"));
        let share = 100.0 * usable.saturating_sub(free) as f64 / usable.max(1) as f64;
        let count = |declared: &Declared, name| declared.metric(phase.count(name) as f64);
        let bytes = BYTES.metric((phase.count(WRITTEN) + phase.count(ALLOCATED)) as f64);
        [USED.metric(share), count(&FILES, "files"), bytes, FREE.metric(free as f64)]
    });
    rates.chain(reached).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::MIB;

    #[test]
    fn what_was_reached_stands_beside_the_rates() {
        let counts =
            [("files", 40), ("bytes_written", 6 * MIB), ("bytes_usable", 10 * MIB), ("bytes_free", 2 * MIB)];
        let counts = counts.map(|(name, n)| (name.to_owned(), n)).into();
        let seen = metrics(&[Phase { name: PHASE.into(), ns: 2_000_000_000, counts }]);
        let values: Vec<(&str, f64)> = seen.iter().map(|m| (m.name.as_str(), m.value)).collect();
        let expected = [
            ("fill.throughput", 3.0),
            ("fill.rate", 20.0),
            ("fill.used", 80.0),
            ("fill.files", 40.0),
            ("fill.bytes", 6.0 * MIB as f64),
            ("fill.free", 2.0 * MIB as f64),
        ];
        assert_eq!(values, expected);
        assert!(metrics(&[]).is_empty());
    }
}
