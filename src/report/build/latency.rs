//! Latencies by operation: the histograms of all counted trials, merged.

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
    by_filesystem: Vec<(String, Counts)>,
}

/// How many of each value.
#[derive(Default)]
struct Counts {
    all: Vec<(u64, u64)>,
    /// So many at the beginning rise.
    summed: usize,
}

/// So many may wait: trials have thousands of values each, and most of them have been seen.
const WAITING: usize = 1 << 16;

impl Counts {
    fn add(&mut self, more: &[(u64, u64)]) {
        self.all.extend(more);
        if self.all.len() - self.summed > self.summed + WAITING {
            self.sum();
        }
    }

    fn sum(&mut self) {
        // Each histogram rises, and this sort makes use of it.
        self.all.sort_by_key(|(value, _)| *value);
        self.all.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 = kept.1.saturating_add(if is_same { next.1 } else { 0 });
            is_same
        });
        self.summed = self.all.len();
    }

    /// Each value once, rising; what was counted 0 times has no place.
    fn done(mut self) -> Vec<(u64, u64)> {
        self.sum();
        self.all.retain(|(_, count)| *count > 0);
        self.all
    }
}

impl Merge {
    pub fn add(&mut self, filesystem: &str, histogram: &Buckets) {
        let Buckets { phase, operation, unit, buckets, .. } = histogram;
        self.counts(filesystem, [phase, operation, unit]).add(buckets);
    }

    /// What another has collected after this one.
    pub fn absorb(&mut self, other: Merge) {
        for Found { phase, operation, unit, by_filesystem } in other.found {
            for (filesystem, counts) in by_filesystem {
                self.counts(&filesystem, [&phase, &operation, &unit]).add(&counts.done());
            }
        }
    }

    fn counts(&mut self, filesystem: &str, of: [&String; 3]) -> &mut Counts {
        let same = |f: &Found| [&f.phase, &f.operation, &f.unit] == of;
        let at = self.found.iter().position(same).unwrap_or_else(|| {
            let [phase, operation, unit] = of.map(String::clone);
            self.found.push(Found { phase, operation, unit, by_filesystem: Vec::new() });
            self.found.len() - 1
        });
        let rows = &mut self.found[at].by_filesystem;
        let row = rows.iter().position(|(name, _)| name == filesystem).unwrap_or_else(|| {
            rows.push((filesystem.to_owned(), Counts::default()));
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

fn row(filesystem: String, counts: Counts) -> Option<Row> {
    let counts = counts.done();
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
        let mut others = Merge::default();
        others.add("b", &histogram("create", &[(30, 1), (40, 0)]));
        merge.absorb(others);
        let all = merge.done();
        assert_eq!(all.len(), 1);
        let a = &all[0].rows[0];
        assert_eq!((a.n, a.p50, a.p90, a.p99, a.max), (200, 10, 10, 20, 500));
        let b = &all[0].rows[1];
        assert_eq!((b.n, b.p50, b.max), (2, 30, 30));
    }

    #[test]
    fn many_histograms_take_no_more_room_than_their_values() {
        let mut counts = Counts::default();
        for round in 0..1000_u64 {
            let one: Vec<(u64, u64)> = (0..1000).map(|at| (at * 3 + round % 3, round)).collect();
            counts.add(&one);
            assert!(counts.all.len() <= 2 * 3000 + WAITING + 1000);
        }
        let all = counts.done();
        assert_eq!(
            (all.len(), all[0], all[1].0, all[2999].0),
            (3000, (0, (0..1000).step_by(3).sum()), 1, 2999)
        );
        assert_eq!(sum(all.iter().map(|(_, n)| *n)), 1000 * (0..1000).sum::<u64>());
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
