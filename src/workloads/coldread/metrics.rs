//! Turns phases into metrics: each count ÷ its phase's time.

use crate::schema::declared::{Declared, Over, Section};
use crate::schema::event::Phase;
use crate::schema::metric::Metric;
use crate::workloads::kit::Rate;

pub const VERSION: u32 = 1;

const COLD: Section = Section::Own {
    title: "Reading after a cold start",
    note: "Before each phase the filesystem is unmounted and mounted again, so all data comes from the device.",
};
const CREATE: Over = Over::Phase("create");
const ORDERED: Over = Over::Phase("read-ordered");
const RANDOM: Over = Over::Phase("read-random");

// The primary metrics show how the filesystem lays out files on the disk: one by a long scan, one by many short reads.
static RATES: [Rate; 9] = [
    Rate {
        count: "files",
        declared: Declared {
            name: "create.rate",
            title: "create (phase create)",
            section: Section::Files,
            over: CREATE,
            explained: "Files created and written per second in the create phase, one directory after \
                        another.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "bytes_written",
        declared: Declared {
            name: "create.throughput",
            title: "write (phase create)",
            short: "write",
            section: Section::Throughput,
            over: CREATE,
            explained: "Bytes written per second in the create phase, without the time of the sync after the phase.",
            key: true,
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "entries",
        declared: Declared {
            name: "walk.rate",
            title: "stat (phase walk)",
            short: "stat",
            section: COLD,
            over: Over::Phase("walk"),
            explained: "Files and directories listed and stat'ed per second in the walk phase, as find or a \
                backup does.",
            key: true,
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "bytes_read",
        declared: Declared {
            name: "read-ordered.throughput",
            title: "read in directory order (phase read-ordered)",
            did: "read in directory order",
            section: Section::Headline,
            over: ORDERED,
            explained: "Bytes read per second while every file is read in directory order, as a full backup does.",
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "read-ordered.rate",
            title: "files in directory order (phase read-ordered)",
            section: COLD,
            over: ORDERED,
            explained: "Files read per second in directory order.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "read-random.rate",
            title: "files in random order (phase read-random)",
            did: "read files in random order",
            section: Section::Headline,
            over: RANDOM,
            explained: "Files (except the large ones) read per second in random order. A server reads files like this \
                in the first hour after its restart.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "bytes_read",
        declared: Declared {
            name: "read-random.throughput",
            title: "read in random order (phase read-random)",
            section: COLD,
            over: RANDOM,
            explained: "Bytes read per second while files are read in random order.",
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "reads",
        declared: Declared {
            name: "pread-random.rate",
            title: "random reads of 4 KiB (phase pread-random)",
            short: "4 KiB",
            section: COLD,
            over: Over::Phase("pread-random"),
            explained: "Blocks of 4 KiB read per second at random offsets of the large files, one at a time, as a \
                database does.",
            key: true,
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "delete.rate",
            title: "delete (phase delete)",
            section: Section::Files,
            over: Over::Phase("delete"),
            explained: "Files deleted per second in the delete phase, in directory order.",
            ..Declared::PER_SECOND
        },
    },
];

pub fn declared() -> Vec<&'static Declared> {
    RATES.iter().map(|rate| &rate.declared).collect()
}

pub fn metrics(phases: &[Phase]) -> Vec<Metric> {
    RATES.iter().filter_map(|rate| rate.metric(phases)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::MIB;

    #[test]
    fn each_rate_is_a_count_by_the_time_of_its_own_phase() {
        let phase = |name: &str, ns, counts: &[(&str, u64)]| Phase {
            name: name.to_owned(),
            ns,
            counts: counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
        };
        let phases = [
            phase("read-ordered", 500_000_000, &[("files", 10), ("bytes_read", 3 * MIB)]),
            phase("read-random", 2_000_000_000, &[("files", 9), ("bytes_read", MIB)]),
            phase("pread-random", 250_000_000, &[("reads", 5), ("bytes_read", 5 * 4096)]),
        ];
        let seen = metrics(&phases);
        let values: Vec<(&str, f64)> = seen.iter().map(|m| (m.name.as_str(), m.value)).collect();
        let expected = [
            ("read-ordered.throughput", 6.0),
            ("read-ordered.rate", 20.0),
            ("read-random.rate", 4.5),
            ("read-random.throughput", 0.5),
            ("pread-random.rate", 20.0),
        ];
        assert_eq!(values, expected);
        let headlines: Vec<&str> = seen.iter().filter(|m| m.headline).map(|m| m.name.as_str()).collect();
        assert_eq!(headlines, ["read-ordered.throughput", "read-random.rate"]);
    }
}
