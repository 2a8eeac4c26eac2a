//! The combinations of file size and record size.

use crate::schema::units::{KIB, MIB};

/// A file size and a record size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub file: u64,
    pub record: u64,
}

/// The range of IOzone's automatic mode: files of 64 KiB to 512 MiB and records of 4 KiB to 16 MiB, in steps of a factor of two.
pub const FILES: (u64, u64) = (64 * KIB, 512 * MIB);
pub const RECORDS: (u64, u64) = (4 * KIB, 16 * MIB);

/// With the crossover, files larger than this skip records below [`LARGE_RECORD`].
const LARGE_FILE: u64 = 16 * MIB;
const LARGE_RECORD: u64 = 64 * KIB;

impl Pair {
    /// The number of whole records in the file; a partial record at the end is not written.
    pub fn records(self) -> u64 {
        self.file / self.record
    }

    pub fn bytes(self) -> u64 {
        self.records() * self.record
    }
}

/// The sizes from the first to the last, each twice the size before.
pub fn doubled((first, last): (u64, u64)) -> Vec<u64> {
    std::iter::successors(Some(first), |size| size.checked_mul(2)).take_while(|size| *size <= last).collect()
}

/// The pairs ordered by file size, without pairs whose record is larger than the file.
pub fn pairs(files: &[u64], records: &[u64], crossover: bool) -> Vec<Pair> {
    let left_out = |pair: &Pair| {
        pair.record > pair.file || crossover && pair.file > LARGE_FILE && pair.record < LARGE_RECORD
    };
    let all =
        files.iter().flat_map(|file| records.iter().map(|record| Pair { file: *file, record: *record }));
    all.filter(|pair| !left_out(pair)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_tries_fourteen_files_with_five_to_thirteen_records() {
        let (files, records) = (doubled(FILES), doubled(RECORDS));
        assert_eq!((files.len(), records.len()), (14, 13));
        let all = pairs(&files, &records, true);
        let of = |file: u64| all.iter().filter(|pair| pair.file == file).count();
        assert_eq!([64 * KIB, MIB, 16 * MIB, 32 * MIB, 512 * MIB].map(of), [5, 9, 13, 9, 9]);
        assert_eq!(pairs(&files, &records, false).iter().filter(|pair| pair.file == 32 * MIB).count(), 13);
    }

    #[test]
    fn what_is_no_whole_record_is_left_out() {
        let pair = Pair { file: 10_000, record: 4096 };
        assert_eq!((pair.records(), pair.bytes()), (2, 8192));
    }
}
