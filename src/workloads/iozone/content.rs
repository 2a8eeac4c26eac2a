//! Content of the file: noise with a long period and a different start in each pass, so no filesystem can compress or deduplicate
//! it. Each record begins with a stamp that identifies the record and the pass that wrote it.
//!
//! A read is checked against the stamp and against the first sixteen bytes of each further page. This check finds pages that
//! are missing, misplaced, or left from an earlier pass.

use fsderby_sys::pages::Pages;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use crate::schema::units::KIB;
use crate::workloads::kit::random;

/// Period of the noise in bytes: a prime number of pages, so that offsets that are powers of two rarely get the same noise.
const PERIOD: usize = 257 * PAGE;
const PAGE: usize = 4 * KIB as usize;
/// Shift of the noise from pass to pass.
const PASS: u64 = 97 * PAGE as u64;
/// Bytes of the stamp, which fits into the smallest record.
const STAMP: usize = 16;
/// Bits of a stamp that hold the record's number.
const NUMBER_BITS: u32 = 40;

/// The pass that wrote the current records. The first record is tracked separately, because one test rewrites only that one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    whole: u32,
    first: u32,
}

impl Written {
    /// The new value after another pass over all records.
    pub fn all_again(self) -> Self {
        let next = self.whole.max(self.first) + 1;
        Written { whole: next, first: next }
    }

    /// The new value after another pass over the first record alone.
    pub fn first_again(self) -> Self {
        Written { first: self.whole.max(self.first) + 1, ..self }
    }

    fn of(self, record: u64) -> u32 {
        if record == 0 { self.first } else { self.whole }
    }
}

/// The content of a file with records of one size.
pub struct Content {
    seed: u64,
    record: usize,
    /// The noise. It is freed with this struct, like every buffer as long as a record, because the page cache needs the memory.
    noise: Pages,
    /// Position of the last stamp in the noise, and the noise that it replaced.
    stamped: Option<(usize, [u8; STAMP])>,
}

impl Content {
    pub fn new(seed: u64, record: usize) -> Self {
        let mut noise = Pages::new(PERIOD + record);
        let (once, again) = noise.bytes_mut().split_at_mut(PERIOD);
        random(&["iozone", "content"], seed).fill_bytes(once);
        for part in again.chunks_mut(PERIOD) {
            part.copy_from_slice(&once[..part.len()]);
        }
        Content { seed, record, noise, stamped: None }
    }

    /// The content of a record as the pass in `written` wrote it.
    #[inline]
    pub fn record(&mut self, number: u64, written: Written) -> &[u8] {
        let begin = self.begin(number, written);
        let stamp = self.stamp(number, written);
        let noise = self.noise.bytes_mut();
        if let Some((at, before)) = self.stamped {
            noise[at..at + STAMP].copy_from_slice(&before);
        }
        let mut before = [0; STAMP];
        before.copy_from_slice(&noise[begin..begin + STAMP]);
        noise[begin..begin + STAMP].copy_from_slice(&stamp);
        self.stamped = Some((begin, before));
        &self.noise.bytes()[begin..begin + self.record]
    }

    /// The first position with a wrong byte in the record; `None` if the record is right.
    #[inline]
    pub fn wrong_at(&self, number: u64, written: Written, came: &[u8]) -> Option<usize> {
        if came[..STAMP] != self.stamp(number, written) {
            return Some(0);
        }
        let begin = self.begin(number, written);
        // Pages are aligned in the file, not in the record.
        let first = PAGE - (number * self.record as u64 % PAGE as u64) as usize;
        (first..came.len()).step_by(PAGE).find(|at| {
            let end = (at + STAMP).min(came.len());
            !self.is_noise(begin + at, &came[*at..end])
        })
    }

    fn is_noise(&self, begin: usize, came: &[u8]) -> bool {
        let noise = &self.noise.bytes()[begin..begin + came.len()];
        // The current stamp hides the noise under it.
        let hidden = self.stamped.is_some_and(|(at, _)| begin < at + STAMP && at < begin + came.len());
        hidden || noise == came
    }

    /// The CRC-32 of the first records of the file.
    pub fn crc32(&mut self, records: u64, written: Written) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        (0..records).for_each(|number| sum.update(self.record(number, written)));
        sum.finalize()
    }

    fn begin(&self, number: u64, written: Written) -> usize {
        let pass = u64::from(written.of(number)) * PASS;
        ((number * self.record as u64 + pass) % PERIOD as u64) as usize
    }

    #[inline]
    fn stamp(&self, number: u64, written: Written) -> [u8; STAMP] {
        let what = u64::from(written.of(number)) << NUMBER_BITS | number;
        let mut source = SplitMix64::seed_from_u64(self.seed ^ what);
        let mut stamp = [0; STAMP];
        stamp[..8].copy_from_slice(&source.next_u64().to_le_bytes());
        stamp[8..].copy_from_slice(&source.next_u64().to_le_bytes());
        stamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: Written = Written { whole: 1, first: 1 };

    #[test]
    fn a_record_is_right_at_its_place_and_after_its_pass_alone() {
        for record in [64, 4096, 300 * 1024] {
            let mut content = Content::new(7, record);
            let bytes = content.record(5, ONCE).to_vec();
            assert_eq!(content.wrong_at(5, ONCE, &bytes), None);
            content.record(9, ONCE);
            assert_eq!(content.wrong_at(5, ONCE, &bytes), None, "another stamp stands in the noise");
            assert_eq!(content.wrong_at(4, ONCE, &bytes), Some(0));
            assert_eq!(content.wrong_at(5, ONCE.all_again(), &bytes), Some(0), "left from an earlier pass");
            assert_eq!(content.wrong_at(5, ONCE.first_again(), &bytes), None);
            assert_eq!(content.wrong_at(0, ONCE.first_again(), &bytes), Some(0));
        }
    }

    #[test]
    fn a_lost_page_of_a_large_record_is_found() {
        let mut content = Content::new(7, 512 * 1024);
        let before = content.record(3, ONCE).to_vec();
        let again = ONCE.all_again();
        let right = content.record(3, again).to_vec();
        for at in [PAGE, 256 * 1024, 508 * 1024] {
            let page = at..at + PAGE;
            let (mut zeros, mut old) = (right.clone(), right.clone());
            zeros[page.clone()].fill(0);
            old[page.clone()].copy_from_slice(&before[page]);
            assert_eq!(content.wrong_at(3, again, &zeros), Some(at));
            assert_eq!(content.wrong_at(3, again, &old), Some(at), "left from the pass before");
        }
    }

    #[test]
    fn pages_are_those_of_the_file() {
        // The third record of 6016 bytes begins at 12032, so the next page begins 256 bytes into it.
        let mut content = Content::new(7, 6016);
        let mut bytes = content.record(2, ONCE).to_vec();
        bytes[3 * PAGE - 2 * 6016..].fill(0);
        assert_eq!(content.wrong_at(2, ONCE, &bytes), Some(3 * PAGE - 2 * 6016));
    }

    #[test]
    fn the_sum_is_that_of_the_records_one_after_the_other() {
        let mut content = Content::new(7, 8192);
        let written = ONCE.first_again();
        let whole: Vec<u8> = (0..400).flat_map(|number| content.record(number, written).to_vec()).collect();
        assert_eq!(content.crc32(400, written), crc32fast::hash(&whole));
    }
}
