//! Latencies by operation: percentiles of the merged histograms of all counted trials.

use fsderby_stats::quantile_of_counts;
use fsderby_stats::resampled::Rounds;

use crate::analysis::latencies::{Done, Latencies, Merged};
use crate::report::view::entry::Entry;
use crate::report::view::latency::{
    Intervals, Latency, NEEDED_FOR_P999, Row, SAMPLES_ARE_CHOSEN, TOO_FEW_ROUNDS,
};
use crate::schema::units::sum;

/// The level of each single interval.
const LEVEL: f64 = 0.95;

/// For one scenario. Candidates in plan order, operations in order of first appearance.
pub fn of(latencies: &Latencies, scenario: &str, filesystems: &[Entry], is_modelled: bool) -> Vec<Latency> {
    let mine = latencies.merged.iter().filter(|merged| merged.scenario == scenario);
    mine.map(|merged| latency(merged, filesystems, is_modelled)).filter(|l| !l.rows.is_empty()).collect()
}

fn latency(merged: &Merged, filesystems: &[Entry], is_modelled: bool) -> Latency {
    let Merged { work, phase, operation, unit, by_candidate, .. } = merged;
    let row = |entry: &Entry| {
        let (_, done) = by_candidate.iter().find(|(label, _)| *label == entry.label)?;
        row(entry.label.clone(), done)
    };
    let rows: Vec<Row> = filesystems.iter().filter_map(row).collect();
    let no_intervals = match rows.iter().all(|row| row.intervals.is_some()) {
        true => "",
        false if is_modelled => SAMPLES_ARE_CHOSEN,
        false => TOO_FEW_ROUNDS,
    };
    let (work, phase, operation, unit) = (work.clone(), phase.clone(), operation.clone(), unit.clone());
    Latency { work, phase, operation, unit, rows, no_intervals }
}

fn row(filesystem: String, done: &Done) -> Option<Row> {
    let counts = done.counts.done();
    let n = sum(counts.iter().map(|(_, count)| *count));
    let p999 = quantile_of_counts(&counts, 0.999).filter(|_| n >= NEEDED_FOR_P999);
    Some(Row {
        filesystem,
        n,
        p50: quantile_of_counts(&counts, 0.5)?,
        p90: quantile_of_counts(&counts, 0.9)?,
        p99: quantile_of_counts(&counts, 0.99)?,
        p999,
        max: quantile_of_counts(&counts, 1.0)?,
        intervals: intervals(done, &counts, p999.is_some()),
    })
}

fn intervals(done: &Done, counts: &[(u64, u64)], has_p999: bool) -> Option<Intervals> {
    let rounds = Rounds::of(&done.spans.done());
    let shares = [0.5, 0.9, 0.99, 0.999];
    let shares = if has_p999 { &shares[..] } else { &shares[..3] };
    let ends = rounds.intervals(counts, shares, LEVEL)?;
    Some(Intervals {
        p50: *ends.first()?,
        p90: *ends.get(1)?,
        p99: *ends.get(2)?,
        p999: ends.get(3).copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;
    use crate::schema::metric::Owner;

    fn summed(counts: [(&str, &[(u64, u64)]); 3]) -> Vec<Latency> {
        let entry = |label: &str| Entry { label: label.into(), ..Entry::default() };
        let mut by_candidate: Vec<(String, Done)> = Vec::new();
        for (candidate, buckets) in counts {
            if !by_candidate.iter().any(|(known, _)| known == candidate) {
                by_candidate.push((candidate.to_owned(), Done::default()));
            }
            let mut its = by_candidate.iter_mut().filter(|(known, _)| known == candidate);
            its.next().expect("it was put in").1.counts.add(buckets);
        }
        let text = |t: &str| t.to_owned();
        let [scenario, phase, operation, unit] = [text("mail"), text("work"), text("create"), text("ns")];
        let merged = vec![Merged { scenario, work: Owner::default(), phase, operation, unit, by_candidate }];
        of(&Latencies { merged, missing: Vec::new() }, "mail", &[entry("a"), entry("b")], false)
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

    #[test]
    fn a_hundredth_takes_a_hundred_operations_and_is_drawn_from_there_on() {
        let seen = |counts: [&[(u64, u64)]; 2]| {
            let latency = summed([("a", counts[0]), ("b", counts[1]), ("b", &[])]).remove(0);
            let p99: Vec<Option<u64>> = latency.rows.iter().map(Row::p99).collect();
            assert_eq!(latency.drawn().len(), p99.iter().flatten().count());
            assert_eq!(
                latency.notes().any(|note| note.starts_with("p99 is shown from 100")),
                p99.contains(&None)
            );
            assert!(latency.rows.iter().all(|row| row.values()[2].map(|(value, _)| value) == row.p99()));
            p99
        };
        // One in a hundred took longer, whichever it was.
        assert_eq!(seen([&[(10, 99), (700, 1)], &[(10, 198), (20, 1), (700, 1)]]), [Some(10), Some(10)]);
        assert_eq!(seen([&[(10, 98), (700, 1)], &[(10, 98), (700, 2)]]), [None, Some(700)]);
        assert_eq!(seen([&[(10, 1)], &[(10, 99)]]), [None, None]);
    }

    #[test]
    fn from_ten_rounds_on_each_percentile_stands_within_its_interval() {
        let latencies = |rounds| examples::rounds(rounds).report().summary.workloads.remove(0).latencies;
        // One of the example's candidates lacks a round.
        let ten = latencies(11);
        assert!(!ten.is_empty() && ten.iter().all(|latency| latency.no_intervals.is_empty()));
        for row in ten.iter().flat_map(|latency| &latency.rows) {
            let has: Vec<bool> = row.values().iter().flatten().map(|(_, ends)| ends.is_some()).collect();
            assert_eq!(
                has.split_last(),
                Some((&false, &vec![true; 3 + usize::from(row.p999.is_some())][..]))
            );
            for (value, (low, high)) in row.values().into_iter().flatten().filter_map(|(v, e)| Some((v, e?)))
            {
                assert!(low <= value && value <= high, "{row:?}");
            }
        }
        let widest = ten.iter().flat_map(|latency| &latency.rows).filter_map(Row::around_p99);
        assert!(widest.clone().any(|(low, high)| low < high), "{:?}", widest.collect::<Vec<_>>());
        let nine = latencies(9);
        assert!(
            nine.iter().all(|latency| latency.no_intervals == TOO_FEW_ROUNDS && !latency.has_intervals())
        );
    }

    #[test]
    fn samples_of_a_modelled_disk_are_not_drawn_again() {
        let latencies = examples::model::samples(12).report().summary.workloads.remove(0).latencies;
        assert!(!latencies.is_empty());
        assert!(latencies.iter().all(|l| l.no_intervals == SAMPLES_ARE_CHOSEN && !l.has_intervals()));
    }
}
