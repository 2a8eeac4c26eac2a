//! Latencies by operation: percentiles of the merged histograms of all counted trials.

use fsderby_stats::quantile_of_counts;

use crate::analysis::latencies::{Counts, Latencies, Merged};
use crate::report::view::entry::Entry;
use crate::report::view::latency::{Latency, NEEDED_FOR_P999, Row};
use crate::schema::units::sum;

/// Those of one scenario. Candidates stand in the order of the plan, operations in the order in which they were first seen.
pub fn of(latencies: &Latencies, scenario: &str, filesystems: &[Entry]) -> Vec<Latency> {
    let mine = latencies.merged.iter().filter(|merged| merged.scenario == scenario);
    mine.map(|merged| latency(merged, filesystems)).filter(|l| !l.rows.is_empty()).collect()
}

fn latency(merged: &Merged, filesystems: &[Entry]) -> Latency {
    let Merged { phase, operation, unit, by_candidate, .. } = merged;
    let rows = filesystems.iter().filter_map(|entry| {
        let (_, counts) = by_candidate.iter().find(|(label, _)| *label == entry.label)?;
        row(entry.label.clone(), counts)
    });
    Latency { phase: phase.clone(), operation: operation.clone(), unit: unit.clone(), rows: rows.collect() }
}

fn row(filesystem: String, counts: &Counts) -> Option<Row> {
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

    fn summed(counts: [(&str, &[(u64, u64)]); 3]) -> Vec<Latency> {
        let entry = |label: &str| Entry { label: label.into(), ..Entry::default() };
        let mut by_candidate: Vec<(String, Counts)> = Vec::new();
        for (candidate, buckets) in counts {
            if !by_candidate.iter().any(|(known, _)| known == candidate) {
                by_candidate.push((candidate.to_owned(), Counts::default()));
            }
            let mut its = by_candidate.iter_mut().filter(|(known, _)| known == candidate);
            its.next().expect("it was put in").1.add(buckets);
        }
        let text = |t: &str| t.to_owned();
        let [scenario, phase, operation, unit] = [text("mail"), text("work"), text("create"), text("ns")];
        let merged = vec![Merged { scenario, phase, operation, unit, by_candidate }];
        of(&Latencies { merged, missing: Vec::new() }, "mail", &[entry("a"), entry("b")])
    }

    #[test]
    fn rounds_are_merged_and_filesystems_are_not() {
        let all =
            summed([("b", &[(30, 2), (40, 0)]), ("a", &[(10, 90), (20, 10)]), ("a", &[(10, 99), (500, 1)])]);
        assert_eq!(all.len(), 1);
        let a = &all[0].rows[0];
        assert_eq!((a.n, a.p50, a.p90, a.p99, a.max), (200, 10, 10, 20, 500));
        let b = &all[0].rows[1];
        assert_eq!((b.n, b.p50, b.max), (2, 30, 30));
        assert!(summed([("a", &[]), ("b", &[]), ("b", &[(1, 0)])]).is_empty(), "nothing was done");
    }

    #[test]
    fn a_thousandth_takes_ten_thousand_operations() {
        let p999 = |counts: [u64; 3]| {
            // In several rounds, whose operations are counted together.
            let rounds = counts.map(|count| [(10, count), (700, 10)]);
            let [one, two, three] = &rounds;
            let latency = summed([("a", one), ("a", two), ("a", three)]).remove(0);
            (latency.rows[0].p999, latency.lacks_p999())
        };
        assert_eq!(p999([4000, 3000, 2969]), (None, true));
        assert_eq!(p999([4000, 3000, 2970]), (Some(700), false));
    }
}
