//! Merged latencies of a run's counted trials: counts per value, by candidate, for each operation of each scenario. Each histogram
//! file beside the records is read only once, because histograms are most of a run's bytes.

use std::collections::HashSet;

use super::dataset::counted;
use super::spans::{Joined, Spans};
use crate::host::parallel::parallel;
use crate::schema::event::Buckets;
use crate::schema::metric::Owner;
use crate::schema::record::Record;
use crate::store::Run;

/// Collects histograms by candidate.
#[derive(Debug, Default)]
pub struct Latencies {
    pub merged: Vec<Merged>,
    /// One sentence for each histogram that could not be read.
    pub missing: Vec<String>,
}

/// One operation of a phase.
#[derive(Debug)]
pub struct Merged {
    pub scenario: String,
    pub work: Owner,
    pub phase: String,
    pub operation: String,
    pub unit: String,
    pub by_candidate: Vec<(String, Done)>,
}

/// One candidate's number of operations and their latencies.
#[derive(Debug, Default)]
pub struct Done {
    pub counts: Counts,
    /// The latencies by span of rounds; empty in virtual time.
    pub spans: Spans,
}

/// The trials whose latencies count.
pub struct Counted<'r> {
    trials: HashSet<(&'r str, u32)>,
    joined: Joined,
}

impl<'r> Counted<'r> {
    pub fn of(run: &'r Run) -> Self {
        let timed = counted(run).into_iter().filter(|record| record.fidelity.times_count());
        let trials = timed.map(|record| (record.trial.as_str(), record.attempt)).collect();
        Counted { trials, joined: Joined::of(&run.records) }
    }

    pub fn has(&self, record: &Record) -> bool {
        self.trials.contains(&(record.trial.as_str(), record.attempt))
    }
}

impl Latencies {
    /// Collects the latencies of a run. Reports each unreadable histogram in `missing` and keeps the other histograms.
    pub fn of(run: &Run) -> Self {
        let timed = Counted::of(run);
        let records: Vec<&Record> = run.records.iter().filter(|record| timed.has(record)).collect();
        let of_part = |part: &[&Record]| {
            let mut latencies = Latencies::default();
            for record in part {
                match run.histograms(record) {
                    Ok(all) => latencies.add(&timed, record, &all),
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

    /// Merges these parts in the given order.
    pub fn together(parts: Vec<Latencies>) -> Self {
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        parts.for_each(|part| all.absorb(part));
        all
    }

    /// Adds the histograms of the record's measured works, if the record counts.
    pub fn add(&mut self, counted: &Counted<'_>, record: &Record, histograms: &[Buckets]) {
        if !counted.has(record) {
            return;
        }
        let span = counted.joined.span(record);
        let several = record.works.iter().filter(|work| work.measured).count() > 1;
        for Buckets { of, phase, operation, unit, buckets } in histograms {
            let work = of.map(|of| record.works.get(of).filter(|work| work.measured));
            let owner = match work {
                Some(None) => continue,
                Some(Some(work)) if several => Owner::work(&work.name),
                _ => Owner::default(),
            };
            let done = self.done(&record.filesystem, &owner, [&record.scenario, phase, operation, unit]);
            done.counts.add(buckets);
            span.into_iter().for_each(|span| done.spans.add(span, buckets));
        }
    }

    fn absorb(&mut self, other: Latencies) {
        for Merged { scenario, work, phase, operation, unit, by_candidate } in other.merged {
            for (candidate, done) in by_candidate {
                let all = self.done(&candidate, &work, [&scenario, &phase, &operation, &unit]);
                all.counts.add(&done.counts.done());
                all.spans.absorb(done.spans);
            }
        }
        self.missing.extend(other.missing);
    }

    fn done(&mut self, candidate: &str, work: &Owner, of: [&String; 4]) -> &mut Done {
        let same = |m: &Merged| m.work == *work && [&m.scenario, &m.phase, &m.operation, &m.unit] == of;
        let at = self.merged.iter().position(same).unwrap_or_else(|| {
            let [scenario, phase, operation, unit] = of.map(String::clone);
            let (work, by_candidate) = (work.clone(), Vec::new());
            self.merged.push(Merged { scenario, work, phase, operation, unit, by_candidate });
            self.merged.len() - 1
        });
        let rows = &mut self.merged[at].by_candidate;
        let row = rows.iter().position(|(name, _)| name == candidate).unwrap_or_else(|| {
            rows.push((candidate.to_owned(), Done::default()));
            rows.len() - 1
        });
        &mut rows[row].1
    }
}

/// Counts by value.
///
/// `workloads::kit` records latencies with three digits, so nearly all values are the upper bound of one of its buckets (2,048 per
/// doubling and below). These values have fixed slots, in one block per doubling. All other values are stored individually.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    blocks: Vec<Option<Box<[u32; BLOCK]>>>,
    /// Values without a slot, and counts that overflow a slot.
    others: Vec<(u64, u64)>,
}

const BLOCK: usize = 1 << BITS;
const BITS: u32 = 10;

impl Counts {
    pub fn add(&mut self, more: &[(u64, u64)]) {
        for (value, count) in more {
            let (block, at) = place(*value);
            match u32::try_from(*count) {
                Ok(count) if value_at(block, at) == *value => self.count(block, at, count),
                _ => self.others.push((*value, *count)),
            }
        }
        if self.others.len() > OTHERS {
            self.others = summed(std::mem::take(&mut self.others));
        }
    }

    fn count(&mut self, block: usize, at: usize, count: u32) {
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, None);
        }
        let place = &mut self.blocks[block].get_or_insert_with(|| Box::new([0; BLOCK]))[at];
        *place = place.checked_add(count).unwrap_or_else(|| {
            self.others.push((value_at(block, at), u64::from(*place)));
            count
        });
    }

    /// Each value once with its count, in ascending order, without counts of 0.
    pub fn done(&self) -> Vec<(u64, u64)> {
        let blocks =
            self.blocks.iter().enumerate().filter_map(|(block, counts)| Some((block, counts.as_ref()?)));
        let places = blocks.flat_map(|(block, counts)| {
            let count = move |(at, count): (usize, &u32)| (value_at(block, at), u64::from(*count));
            counts.iter().enumerate().map(count)
        });
        let counted = places.filter(|(_, count)| *count > 0);
        let mut all = summed(counted.chain(self.others.iter().copied()).collect());
        all.retain(|(_, count)| *count > 0);
        all
    }
}

/// If `others` has more entries than this, entries of the same value are merged.
const OTHERS: usize = 1 << 14;

fn summed(mut counts: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    counts.sort_by_key(|(value, _)| *value);
    counts.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        kept.1 = kept.1.saturating_add(if is_same { next.1 } else { 0 });
        is_same
    });
    counts
}

/// The block and slot of a value. The first block has a slot per value; each further block covers the upper half of a doubling.
fn place(value: u64) -> (usize, usize) {
    let block = (u64::BITS - value.leading_zeros()).saturating_sub(BITS);
    let at = (value >> block.saturating_sub(1)) as usize & (BLOCK - 1);
    (block as usize, at)
}

/// The highest value of this slot.
fn value_at(block: usize, at: usize) -> u64 {
    let step = block.saturating_sub(1) as u32;
    let first = if block == 0 { 0 } else { BLOCK as u64 };
    ((first + at as u64) << step) | ((1 << step) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buckets_of_our_own_histograms_have_a_place_each() {
        let mut histogram =
            hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds");
        let mut values: Vec<u64> = (0..40_000_000_000).step_by(7_654_321).chain(0..5000).collect();
        values.extend((0..42).map(|bit| 1 << bit));
        values.iter().for_each(|value| histogram.saturating_record(*value));
        let highest = |value| histogram.highest_equivalent(value);
        let buckets: Vec<(u64, u64)> =
            histogram.iter_recorded().map(|v| (highest(v.value_iterated_to()), v.count_at_value())).collect();
        let mut counts = Counts::default();
        (0..3).for_each(|_| counts.add(&buckets));
        assert_eq!(counts.others, []);
        assert!(buckets.len() > 5_000, "{}", buckets.len());
        let thrice: Vec<(u64, u64)> = buckets.iter().map(|(value, count)| (*value, 3 * count)).collect();
        assert_eq!(counts.done(), thrice);
    }

    #[test]
    fn each_place_has_one_highest_value() {
        let near = |value: u64| [value.saturating_sub(1), value, value.saturating_add(1)];
        for value in (0..64).flat_map(|bit| near(1 << bit)).chain([u64::MAX, 6594, 6595, 6596]) {
            let (block, at) = place(value);
            let highest = value_at(block, at);
            assert!(highest >= value && place(highest) == (block, at), "{value}: {highest}");
            assert!(highest == u64::MAX || place(highest + 1) != (block, at), "{value}: {highest}");
        }
    }

    #[test]
    fn what_has_no_place_is_counted_all_the_same() {
        let mut counts = Counts::default();
        // The values are not ascending and not the upper bound of a bucket, and their counts are more than a slot holds.
        (0..20_000).for_each(|_| counts.add(&[(3000, 1), (10, 2), (20, 0), (10, u64::from(u32::MAX))]));
        assert!(counts.others.len() <= OTHERS + 3);
        assert_eq!(counts.done(), [(10, 20_000 * (2 + u64::from(u32::MAX))), (3000, 20_000)]);
        counts.add(&[(10, u64::MAX)]);
        assert_eq!(counts.done()[0], (10, u64::MAX));
    }
}
