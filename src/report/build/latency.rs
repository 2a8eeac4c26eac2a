//! Latencies by operation: the histograms of all counted trials, merged.

use std::collections::BTreeMap;

use fsderby_stats::quantile_of_counts;

use crate::report::view::latency::{Latency, NEEDED_FOR_P999, Row};
use crate::schema::event::Buckets;
use crate::schema::units::sum;

/// Collects histograms, filesystem by filesystem.
#[derive(Default)]
pub struct Merge {
    found: Vec<Found>,
}

struct Found {
    phase: String,
    operation: String,
    unit: String,
    by_filesystem: Vec<(String, BTreeMap<u64, u64>)>,
}

impl Merge {
    pub fn add(&mut self, filesystem: &str, histogram: &Buckets) {
        let counts = self.counts(filesystem, histogram);
        for (highest, count) in &histogram.buckets {
            let known = counts.entry(*highest).or_default();
            *known = known.saturating_add(*count);
        }
    }

    fn counts(&mut self, filesystem: &str, h: &Buckets) -> &mut BTreeMap<u64, u64> {
        let same = |f: &Found| f.phase == h.phase && f.operation == h.operation && f.unit == h.unit;
        let at = self.found.iter().position(same).unwrap_or_else(|| {
            let (phase, operation, unit) = (h.phase.clone(), h.operation.clone(), h.unit.clone());
            self.found.push(Found { phase, operation, unit, by_filesystem: Vec::new() });
            self.found.len() - 1
        });
        let rows = &mut self.found[at].by_filesystem;
        let row = rows.iter().position(|(name, _)| name == filesystem).unwrap_or_else(|| {
            rows.push((filesystem.to_owned(), BTreeMap::new()));
            rows.len() - 1
        });
        &mut rows[row].1
    }

    /// The percentiles; operations stand in the order in which they were first seen.
    pub fn done(self) -> Vec<Latency> {
        self.found.into_iter().map(latency).filter(|l| !l.rows.is_empty()).collect()
    }
}

fn latency(found: Found) -> Latency {
    let rows = found.by_filesystem.into_iter().filter_map(|(name, counts)| row(name, counts)).collect();
    Latency { phase: found.phase, operation: found.operation, unit: found.unit, rows }
}

fn row(filesystem: String, counts: BTreeMap<u64, u64>) -> Option<Row> {
    let counts: Vec<(u64, u64)> = counts.into_iter().filter(|(_, count)| *count > 0).collect();
    let n = sum(counts.iter().map(|(_, count)| *count));
    Some(Row {
        filesystem,
        n,
        p50: quantile_of_counts(&counts, 0.5)?,
        p90: quantile_of_counts(&counts, 0.9)?,
        p99: quantile_of_counts(&counts, 0.99)?,
        p999: quantile_of_counts(&counts, 0.999).filter(|_| n >= NEEDED_FOR_P999),
        max: quantile_of_counts(&counts, 1.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(operation: &str, buckets: &[(u64, u64)]) -> Buckets {
        let text = |t: &str| t.to_owned();
        Buckets {
            of: None,
            phase: text("work"),
            operation: text(operation),
            unit: text("ns"),
            buckets: buckets.to_vec(),
        }
    }

    #[test]
    fn rounds_are_merged_and_filesystems_are_not() {
        let mut merge = Merge::default();
        merge.add("a", &histogram("create", &[(10, 90), (20, 10)]));
        merge.add("b", &histogram("create", &[(30, 1)]));
        merge.add("a", &histogram("create", &[(10, 99), (500, 1)]));
        merge.add("a", &histogram("delete", &[]));
        let all = merge.done();
        assert_eq!(all.len(), 1);
        let a = &all[0].rows[0];
        assert_eq!((a.n, a.p50, a.p90, a.p99, a.max), (200, 10, 10, 20, 500));
        assert_eq!(all[0].rows[1].p50, 30);
    }

    #[test]
    fn a_thousandth_takes_ten_thousand_operations() {
        let p999 = |counts: [u64; 3]| {
            let mut merge = Merge::default();
            // In several rounds, whose operations are counted together.
            counts.iter().for_each(|count| merge.add("a", &histogram("create", &[(10, *count), (700, 10)])));
            let latency = merge.done().remove(0);
            (latency.rows[0].p999, latency.lacks_p999())
        };
        assert_eq!(p999([4000, 3000, 2969]), (None, true));
        assert_eq!(p999([4000, 3000, 2970]), (Some(700), false));
    }
}
