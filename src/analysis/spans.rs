//! Latencies of one operation by span of rounds: the data from which an interval is computed. Rounds are joined into at most
//! [`MOST`] spans, and values into buckets up to 3 % wide, which limits the memory in long runs.

use crate::schema::record::Record;
use crate::schema::setup::ClockKind;

/// Largest number of spans; more would not improve an interval.
const MOST: u32 = 32;

/// Maps rounds to spans. Neighbouring rounds share a span, because drift affects them alike.
#[derive(Clone, Copy)]
pub struct Joined {
    rounds: u32,
}

impl Joined {
    /// Joins the rounds of these records into at most [`MOST`] spans.
    pub fn of(records: &[Record]) -> Joined {
        let last = records.iter().map(|record| record.round).max().unwrap_or(0);
        Joined { rounds: last.div_ceil(MOST).max(1) }
    }

    /// The span of a record; `None` in virtual time, where samples differ by design and are not resampled.
    pub fn span(self, record: &Record) -> Option<u32> {
        (record.clock != ClockKind::Virtual).then(|| record.round.saturating_sub(1) / self.rounds)
    }
}

/// Counts of each value, by span.
#[derive(Debug, Default)]
pub struct Spans {
    /// The span that is being filled; records mostly arrive in round order.
    open: Option<(u32, Box<[u32; BUCKETS]>)>,
    closed: Vec<(u32, Vec<Packed>)>,
}

impl Spans {
    pub fn add(&mut self, span: u32, buckets: &[(u64, u64)]) {
        if self.open.as_ref().is_none_or(|(open, _)| *open != span) {
            self.close();
        }
        let (_, counts) = self.open.get_or_insert_with(|| (span, Box::new([0; BUCKETS])));
        for (value, count) in buckets {
            let at = &mut counts[bucket(*value)];
            *at = at.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX));
        }
    }

    pub fn absorb(&mut self, mut other: Spans) {
        self.close();
        other.close();
        self.closed.append(&mut other.closed);
    }

    fn close(&mut self) {
        self.closed.extend(self.open.take().map(|(span, counts)| (span, packed(&counts))));
    }

    /// For each span, (highest value of the bucket, count), ascending.
    pub fn done(&self) -> Vec<Vec<(u64, u64)>> {
        let open = self.open.iter().map(|(span, counts)| (*span, packed(counts)));
        let mut all: Vec<(u32, Vec<Packed>)> = self.closed.iter().cloned().chain(open).collect();
        all.sort_by_key(|(span, _)| *span);
        // Records of a repeated round arrive after records of later rounds, so a span can occur twice.
        all.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1.append(&mut next.1);
            }
            is_same
        });
        all.into_iter().map(|(_, counts)| in_values(counts)).collect()
    }
}

fn in_values(mut counts: Vec<Packed>) -> Vec<(u64, u64)> {
    counts.sort_by_key(|packed| packed.bucket());
    let mut all: Vec<(u64, u64)> = Vec::with_capacity(counts.len());
    for packed in counts {
        let (highest, count) = (highest(packed.bucket()), packed.count());
        match all.last_mut() {
            Some((last, sum)) if *last == highest => *sum += count,
            _ => all.push((highest, count)),
        }
    }
    all
}

/// A bucket number and a count, in four bytes because a run has a million such entries. A larger count takes several entries.
#[derive(Clone, Copy, Debug)]
struct Packed(u32);

const COUNT_BITS: u32 = 21;
const COUNT_MOST: u32 = (1 << COUNT_BITS) - 1;
const _: () =
    assert!(BUCKETS <= 1 << (u32::BITS - COUNT_BITS), "a bucket number and a count must fit into 32 bits");

impl Packed {
    fn bucket(self) -> u16 {
        (self.0 >> COUNT_BITS) as u16
    }

    fn count(self) -> u64 {
        u64::from(self.0 & COUNT_MOST)
    }
}

fn packed(counts: &[u32; BUCKETS]) -> Vec<Packed> {
    let mut all = Vec::with_capacity(counts.iter().filter(|count| **count > 0).count());
    for (bucket, count) in (0..).zip(counts) {
        let mut left = *count;
        while left > 0 {
            all.push(Packed(bucket << COUNT_BITS | left.min(COUNT_MOST)));
            left -= left.min(COUNT_MOST);
        }
    }
    all
}

/// The number of buckets: one per value below 64, then 32 per doubling.
const BUCKETS: usize = EXACT + (u64::BITS as usize - EXACT_BITS as usize) * STEPS;
const EXACT: usize = 1 << EXACT_BITS;
const EXACT_BITS: u32 = 6;
const STEPS: usize = EXACT / 2;

fn bucket(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let Some(doubling) = bits.checked_sub(EXACT_BITS + 1) else { return value as usize };
    EXACT + doubling as usize * STEPS + (value >> (doubling + 1)) as usize - STEPS
}

fn highest(bucket: u16) -> u64 {
    let bucket = usize::from(bucket);
    let Some(beyond) = bucket.checked_sub(EXACT) else { return bucket as u64 };
    let (doubling, step) = (beyond / STEPS, beyond % STEPS + STEPS);
    ((step as u64) << (doubling + 1)) | ((2 << doubling) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::example::record;

    #[test]
    fn each_bucket_has_one_highest_value_and_is_narrow() {
        let near = |value: u64| [value.saturating_sub(1), value, value.saturating_add(1)];
        for value in (0..64).flat_map(|bit| near(1 << bit)).chain([u64::MAX, 6594, 6595, 6596]) {
            let top = highest(u16::try_from(bucket(value)).unwrap());
            assert!(top >= value && bucket(top) == bucket(value), "{value}: {top}");
            assert!(top == u64::MAX || bucket(top + 1) == bucket(value) + 1, "{value}: {top}");
            assert!((top - value) as f64 <= 0.032 * value as f64, "{value}: {top}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn spans_come_in_any_order_and_in_parts_and_are_counted_once() {
        let mut first = Spans::default();
        first.add(0, &[(10, 1), (1_000_000, 2)]);
        first.add(1, &[(10, 5)]);
        let mut second = Spans::default();
        second.add(1, &[(12, 7), (1_000_001, 1)]);
        second.add(0, &[(10, 3)]);
        first.absorb(second);
        let million = highest(u16::try_from(bucket(1_000_000)).unwrap());
        let expected = [vec![(10, 4), (million, 2)], vec![(10, 5), (12, 7), (million, 1)]];
        assert_eq!(first.done(), expected);
        first.add(2, &[(3, u64::MAX), (3, 1)]);
        assert_eq!(first.done()[2], [(3, u64::from(u32::MAX))], "more is as much");
        assert_eq!(first.done()[..2], expected);
    }

    #[test]
    fn many_rounds_are_joined_to_some_spans_and_samples_to_none() {
        let mut records = vec![record(); 100];
        (1..).zip(&mut records).for_each(|(round, record)| record.round = round);
        let few = Joined::of(&records[..32]);
        assert!(records.iter().all(|record| few.span(record) == Some(record.round - 1)));
        let many = Joined::of(&records);
        records[0].clock = ClockKind::Virtual;
        assert_eq!(many.span(&records[0]), None);
    }
}
