//! From phases to metrics: whole numbers in, rates out.
//!
//! Rates of files are PostMark's: those of a phase are divided by that phase's time, throughput by the time
//! of all three. PostMark's clock has whole seconds; ours has nanoseconds.

use super::dry::Totals;
use crate::metric::{Better, Metric, Of};
use crate::units::MIB;
use crate::workloads::Phase;

pub const VERSION: u32 = 1;

const NS_PER_SECOND: f64 = 1e9;

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

/// A rate of nothing is left out: there is no time to divide by.
pub fn metrics(phases: &[Phase]) -> Vec<Metric> {
    let of = |phase: &str, count: &str| {
        let phase = phases.iter().find(|p| p.name == phase)?;
        rate(phase.count(count), phase.ns)
    };
    let total_ns = phases.iter().map(|p| p.ns).sum();
    let total = |count: &str| rate(phases.iter().map(|p| p.count(count)).sum(), total_ns);
    let mib = |count: &str| total(count).map(|bytes| bytes / MIB as f64);
    let per_second = [
        ("transactions.rate", of("transactions", "transactions"), "1/s"),
        ("create.alone.rate", of("create", "created"), "1/s"),
        ("create.mixed.rate", of("transactions", "created"), "1/s"),
        ("read.rate", of("transactions", "read"), "1/s"),
        ("append.rate", of("transactions", "appended"), "1/s"),
        ("delete.alone.rate", of("delete", "deleted"), "1/s"),
        ("delete.mixed.rate", of("transactions", "deleted"), "1/s"),
        ("fsync.rate", total("fsyncs"), "1/s"),
        ("read.throughput", mib("bytes_read"), "MiB/s"),
        ("write.throughput", mib("bytes_written"), "MiB/s"),
    ];
    let rates = per_second.into_iter().filter_map(|(name, value, unit)| {
        let metric = Metric::new(name, value?, unit, Of::Time, Better::Higher);
        Some(if name == "transactions.rate" { metric.headline() } else { metric })
    });
    let time = (total_ns > 0)
        .then(|| Metric::new("work.time", total_ns as f64 / NS_PER_SECOND, "s", Of::Time, Better::Lower));
    rates.chain(time).collect()
}

fn rate(count: u64, ns: u64) -> Option<f64> {
    (count > 0 && ns > 0).then(|| count as f64 * NS_PER_SECOND / ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half_a_second(name: &str, totals: Totals, transactions: u64) -> Phase {
        phase(name, 500_000_000, &totals, 0, transactions)
    }

    #[test]
    fn phases_divide_by_their_time_and_bytes_by_the_whole() {
        let phases = [
            half_a_second("create", Totals { created: 10, bytes_written: MIB, ..Totals::default() }, 0),
            half_a_second("transactions", Totals { created: 5, read: 20, ..Totals::default() }, 20),
        ];
        let values: Vec<(String, f64)> = metrics(&phases).into_iter().map(|m| (m.name, m.value)).collect();
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
