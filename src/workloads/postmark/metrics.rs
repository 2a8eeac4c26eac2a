//! Turns phases into metrics: integers in, rates out.
//!
//! File rates are defined like PostMark's: a phase's count ÷ the phase's time. Throughput is bytes ÷ the time of all three phases.
//! PostMark's clock has whole seconds, the clock of a trial nanoseconds.

use super::dry::Totals;
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::event::Phase;
use crate::schema::metric::Metric;
use crate::schema::units::sum;
use crate::workloads::kit::Rate;

pub const VERSION: u32 = 1;

const CREATE: Over = Over::Phase("create");
const TRANSACTIONS: Over = Over::Phase("transactions");
const DELETE: Over = Over::Phase("delete");

const FILES: Declared = Declared { section: Section::Files, ..Declared::PER_SECOND };
const BYTES: Declared =
    Declared { section: Section::Throughput, over: Over::Phases, key: true, ..Declared::MIB_PER_SECOND };

static RATES: [Rate; 10] = [
    Rate {
        count: "transactions",
        declared: Declared {
            name: "transactions.rate",
            title: "transactions",
            did: "did transactions",
            section: Section::Headline,
            over: TRANSACTIONS,
            explained: "Transactions per second in the transaction phase. A transaction reads or appends to \
                        one file, then creates or deletes a file.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "created",
        declared: Declared {
            name: "create.alone.rate",
            title: "create (phase create)",
            over: CREATE,
            explained: "Files created and written per second in the create phase, which does nothing else.",
            ..FILES
        },
    },
    Rate {
        count: "created",
        declared: Declared {
            name: "create.mixed.rate",
            title: "create (phase transactions)",
            over: TRANSACTIONS,
            explained: "Files created and written per second in the transaction phase, interleaved with \
                        reads, appends and deletions.",
            ..FILES
        },
    },
    Rate {
        count: "read",
        declared: Declared {
            name: "read.rate",
            title: "read (phase transactions)",
            over: TRANSACTIONS,
            explained: "Files read per second in the transaction phase.",
            ..FILES
        },
    },
    Rate {
        count: "appended",
        declared: Declared {
            name: "append.rate",
            title: "append (phase transactions)",
            over: TRANSACTIONS,
            explained: "Files appended to per second in the transaction phase.",
            ..FILES
        },
    },
    Rate {
        count: "deleted",
        declared: Declared {
            name: "delete.alone.rate",
            title: "delete (phase delete)",
            over: DELETE,
            explained: "Files deleted per second in the delete phase, which does nothing else.",
            ..FILES
        },
    },
    Rate {
        count: "deleted",
        declared: Declared {
            name: "delete.mixed.rate",
            title: "delete (phase transactions)",
            over: TRANSACTIONS,
            explained: "Files deleted per second in the transaction phase, interleaved with reads, appends \
                        and creations.",
            ..FILES
        },
    },
    Rate {
        count: "fsyncs",
        declared: Declared {
            name: "fsync.rate",
            title: "fsync (all phases)",
            over: Over::Phases,
            explained: "Calls of fsync per second over all phases; measured only with fsync = true.",
            ..FILES
        },
    },
    Rate {
        count: "bytes_read",
        declared: Declared {
            name: "read.throughput",
            title: "read (all phases)",
            short: "read",
            explained: "Bytes read ÷ the time of all three phases, as PostMark reports it; the sync after the \
                workload is not included.",
            ..BYTES
        },
    },
    Rate {
        count: "bytes_written",
        declared: Declared {
            name: "write.throughput",
            title: "write (all phases)",
            short: "write",
            explained: "Bytes written ÷ the time of all three phases, as PostMark reports it; the sync after the \
                workload is not included.",
            ..BYTES
        },
    },
];

static TIME: Declared = Declared {
    name: "work.time",
    title: "the work (all phases)",
    over: Over::Phases,
    explained: "Time of the create, transaction and delete phases together; the sync after them is not \
                included.",
    ..Declared::SECONDS
};

pub fn declared() -> Vec<&'static Declared> {
    RATES.iter().map(|rate| &rate.declared).chain([&TIME]).collect()
}

pub fn phase(name: &str, ns: u64, totals: &Totals, fsyncs: u64, transactions: u64) -> Phase {
    let counts = [
        ("created", totals.created),
        ("read", totals.read),
        ("appended", totals.appended),
        ("deleted", totals.deleted),
        ("transactions", transactions),
        ("bytes_read", totals.bytes_read),
        ("bytes_written", totals.bytes_written),
        ("fsyncs", fsyncs),
    ];
    let counts = counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    Phase { name: name.to_owned(), ns, counts }
}

/// The metrics of these phases, without rates of zero.
pub fn metrics(phases: &[Phase]) -> Vec<Metric> {
    let total_ns = sum(phases.iter().map(|p| p.ns));
    let rates = RATES.iter().filter_map(|rate| rate.metric(phases)).filter(|m| m.value > 0.0);
    let time = (total_ns > 0).then(|| TIME.metric(total_ns as f64 / 1e9));
    rates.chain(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::MIB;

    fn half_a_second(name: &str, totals: Totals, transactions: u64) -> Phase {
        phase(name, 500_000_000, &totals, 0, transactions)
    }

    #[test]
    fn phases_divide_by_their_time_and_bytes_by_the_whole() {
        let phases = [
            half_a_second("create", Totals { created: 10, bytes_written: MIB, ..Totals::default() }, 0),
            half_a_second("transactions", Totals { created: 5, read: 20, ..Totals::default() }, 20),
        ];
        let values: Vec<(String, f64)> =
            metrics(&phases).into_iter().map(|m| (m.name.clone(), m.value)).collect();
        let expected = [
            ("transactions.rate", 40.0),
            ("create.alone.rate", 20.0),
            ("create.mixed.rate", 10.0),
            ("read.rate", 40.0),
            ("write.throughput", 1.0),
            ("work.time", 1.0),
        ];
        assert_eq!(values, expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn only_the_transactions_are_the_headline() {
        let phases = [half_a_second("transactions", Totals { deleted: 3, ..Totals::default() }, 4)];
        let headlines: Vec<Metric> = metrics(&phases).into_iter().filter(|m| m.headline).collect();
        assert_eq!(headlines.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["transactions.rate"]);
    }
}
