//! The latencies of a run's counted trials, merged: of each operation of each scenario, how many of each value each candidate has.
//! Only reads the files beside the records, which are most of a run's bytes; so each is read once.

use std::collections::HashSet;

use super::dataset::counted;
use crate::parallel::parallel;
use crate::schema::event::Buckets;
use crate::schema::record::Record;
use crate::store::Run;

/// Collects histograms, candidate by candidate.
#[derive(Debug, Default)]
pub struct Latencies {
    pub merged: Vec<Merged>,
    /// Which could not be read, one sentence each.
    pub missing: Vec<String>,
}

/// One operation of a phase.
#[derive(Debug)]
pub struct Merged {
    pub scenario: String,
    pub phase: String,
    pub operation: String,
    pub unit: String,
    pub by_candidate: Vec<(String, Counts)>,
}

/// Those whose latencies count.
pub struct Counted<'r>(HashSet<(&'r str, u32)>);

impl<'r> Counted<'r> {
    pub fn of(run: &'r Run) -> Self {
        let timed = counted(run).into_iter().filter(|record| record.fidelity.times_count());
        Counted(timed.map(|record| (record.trial.as_str(), record.attempt)).collect())
    }

    pub fn has(&self, record: &Record) -> bool {
        self.0.contains(&(record.trial.as_str(), record.attempt))
    }
}

impl Latencies {
    /// A histogram that cannot be read is told, and the rest stands.
    pub fn of(run: &Run) -> Self {
        let timed = Counted::of(run);
        let records: Vec<&Record> = run.records.iter().filter(|record| timed.has(record)).collect();
        let of_part = |part: &[&Record]| {
            let mut latencies = Latencies::default();
            for record in part {
                match run.histograms(record) {
                    Ok(all) => latencies.add(record, &all),
                    Err(error) => {
                        let trial = &record.trial;
                        latencies.missing.push(format!("The latencies of {trial} are missing: {error:#}"));
                    }
                }
            }
            latencies
        };
        Latencies::together(parallel(&records, of_part))
    }

    /// What parts of the records have, in their order.
    pub fn together(parts: Vec<Latencies>) -> Self {
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        parts.for_each(|part| all.absorb(part));
        all
    }

    /// Those of the record's measured works.
    pub fn add(&mut self, record: &Record, histograms: &[Buckets]) {
        let several = record.works.iter().filter(|work| work.measured).count() > 1;
        for Buckets { of, phase, operation, unit, buckets } in histograms {
            let work = of.map(|of| record.works.get(of).filter(|work| work.measured));
            // With its work before its phase, where several were measured.
            let phase = match work {
                Some(None) => continue,
                Some(Some(work)) if several => &format!("{}, {phase}", work.name),
                _ => phase,
            };
            self.counts(&record.filesystem, [&record.scenario, phase, operation, unit]).add(buckets);
        }
    }

    fn absorb(&mut self, other: Latencies) {
        for Merged { scenario, phase, operation, unit, by_candidate } in other.merged {
            for (candidate, counts) in by_candidate {
                let of = [&scenario, &phase, &operation, &unit];
                self.counts(&candidate, of).add(&counts.done());
            }
        }
        self.missing.extend(other.missing);
    }

    fn counts(&mut self, candidate: &str, of: [&String; 4]) -> &mut Counts {
        let same = |m: &Merged| [&m.scenario, &m.phase, &m.operation, &m.unit] == of;
        let at = self.merged.iter().position(same).unwrap_or_else(|| {
            let [scenario, phase, operation, unit] = of.map(String::clone);
            self.merged.push(Merged { scenario, phase, operation, unit, by_candidate: Vec::new() });
            self.merged.len() - 1
        });
        let rows = &mut self.merged[at].by_candidate;
        let row = rows.iter().position(|(name, _)| name == candidate).unwrap_or_else(|| {
            rows.push((candidate.to_owned(), Counts::default()));
            rows.len() - 1
        });
        &mut rows[row].1
    }
}

/// How many of each value.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Each value once, rising.
    known: Vec<(u64, u64)>,
    /// Those that were not known yet.
    waiting: Vec<(u64, u64)>,
}

/// So many may wait at least: soon most values of a trial have been seen.
const WAITING: usize = 512;

impl Counts {
    /// A histogram rises, so each value is looked for a little behind the one before it.
    pub fn add(&mut self, more: &[(u64, u64)]) {
        let mut from = 0;
        for (value, count) in more {
            from = match place(&self.known, from, *value) {
                Ok(at) => {
                    self.known[at].1 = self.known[at].1.saturating_add(*count);
                    at + 1
                }
                Err(at) => {
                    self.waiting.push((*value, *count));
                    at
                }
            };
        }
        if self.waiting.len() > WAITING.max(self.known.len() / 4) {
            self.sum();
        }
    }

    fn sum(&mut self) {
        self.known.append(&mut self.waiting);
        // What was known rises, and so does each histogram: this sort makes use of it.
        self.known.sort_by_key(|(value, _)| *value);
        self.known.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 = kept.1.saturating_add(if is_same { next.1 } else { 0 });
            is_same
        });
    }

    /// Each value once, rising; what was counted 0 times has no place.
    pub fn done(mut self) -> Vec<(u64, u64)> {
        self.sum();
        self.known.retain(|(_, count)| *count > 0);
        self.known
    }
}

/// Where this value stands at or behind `from`, or would stand; in steps that double, as it is mostly near.
fn place(rising: &[(u64, u64)], from: usize, value: u64) -> Result<usize, usize> {
    let (mut low, mut step) = (from, 1);
    while rising.get(low + step).is_some_and(|(known, _)| *known < value) {
        (low, step) = (low + step, 2 * step);
    }
    let high = rising.len().min(low + step + 1);
    let found = rising[low.min(high)..high].binary_search_by_key(&value, |(known, _)| *known);
    found.map(|at| low + at).map_err(|at| low + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::sum;

    #[test]
    fn many_histograms_take_no_more_room_than_their_values() {
        let mut counts = Counts::default();
        for round in 0..1000_u64 {
            let one: Vec<(u64, u64)> = (0..1000).map(|at| (at * 3 + round % 3, round)).collect();
            counts.add(&one);
            assert!(counts.known.len() + counts.waiting.len() <= 3000 + 750 + 1000);
        }
        let all = counts.done();
        assert_eq!(
            (all.len(), all[0], all[1].0, all[2999].0),
            (3000, (0, (0..1000).step_by(3).sum()), 1, 2999)
        );
        assert_eq!(sum(all.iter().map(|(_, n)| *n)), 1000 * (0..1000).sum::<u64>());
    }

    #[test]
    fn a_value_is_found_wherever_it_stands() {
        let rising: Vec<(u64, u64)> = (0..100).map(|at| (10 * at, 1)).collect();
        for from in [0, 1, 37, 99, 100] {
            for value in 0..1010 {
                let all = rising[from..].binary_search_by_key(&value, |(known, _)| *known);
                let all = all.map(|at| from + at).map_err(|at| from + at);
                assert_eq!(place(&rising, from, value), all, "{value} from {from}");
            }
        }
    }

    #[test]
    fn what_does_not_rise_is_counted_all_the_same() {
        let mut counts = Counts::default();
        (0..300).for_each(|_| counts.add(&[(30, 1), (10, 2), (20, 0), (10, u64::MAX)]));
        assert_eq!(counts.done(), [(10, u64::MAX), (30, 300)]);
    }
}
