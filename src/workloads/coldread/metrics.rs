//! From phases to metrics: each count by the time of its own phase.

use crate::metric::{Better, Metric, Of};
use crate::units::MIB;
use crate::workloads::Phase;

pub const VERSION: u32 = 1;

const NS_PER_SECOND: f64 = 1e9;
/// Where a filesystem's layout shows: one long way over the disk, and many short ones.
const HEADLINES: [&str; 2] = ["read-ordered.throughput", "read-random.rate"];

pub fn metrics(phases: &[Phase]) -> Vec<Metric> {
    let rates = [
        ("create.rate", "files", 1, "1/s"),
        ("create.throughput", "bytes_written", MIB, "MiB/s"),
        ("walk.rate", "entries", 1, "1/s"),
        ("read-ordered.throughput", "bytes_read", MIB, "MiB/s"),
        ("read-ordered.rate", "files", 1, "1/s"),
        ("read-random.rate", "files", 1, "1/s"),
        ("read-random.throughput", "bytes_read", MIB, "MiB/s"),
        ("pread-random.rate", "reads", 1, "1/s"),
        ("delete.rate", "files", 1, "1/s"),
    ];
    let rate = |(name, count, of, unit): (&str, &str, u64, &str)| {
        let phase = phases.iter().find(|p| name.strip_prefix(&p.name).is_some_and(|n| n.starts_with('.')))?;
        let value = phase.count(count) as f64 / of as f64 * NS_PER_SECOND / phase.ns.max(1) as f64;
        let metric = Metric::new(name, value, unit, Of::Time, Better::Higher);
        Some(if HEADLINES.contains(&name) { metric.headline() } else { metric })
    };
    rates.into_iter().filter_map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(headlines, HEADLINES);
    }
}
