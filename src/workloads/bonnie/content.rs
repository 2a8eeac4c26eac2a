//! Content of the data file and of the small files.
//!
//! The data file is written from one buffer as long as a chunk, initially zeros. Before each write the next byte of the buffer is
//! incremented; rewriting increments the same byte of the chunk again. So chunk `k` of `c` bytes holds the following values
//! modulo 256, with `r = k mod c` and `q = k / c`:
//! ```text
//!  0 ………………… r │ r+1 …………………… c-1
//!  q+1 … q+1 q+1│ q  q  q  …  q          (at r: q+2 after the rewriting)
//! ```
//! The position at which a byte differs from its successor identifies the chunk within a turn, and the byte's value identifies
//! the turn. These two bytes are checked in each chunk that is read, and all bytes in each [`WHOLE_EVERY`]th.
//!
//! A small file holds zeros, like the original's; each piece begins with [`STAMP`] bytes that identify file and piece.

/// One of this many chunks or files is checked in full: often enough to find repeated errors, and rarely enough to cost no time.
pub const WHOLE_EVERY: u64 = 16;
/// Bytes at the beginning of each piece of a small file that identify file and piece.
pub const STAMP: usize = 8;

/// A chunk of the data file.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub number: u64,
    pub bytes: usize,
    /// The byte that writing this chunk increments.
    pub marked: usize,
    /// The value of the bytes after `marked`.
    turn: u8,
    rewritten: bool,
}

impl Chunk {
    /// `bytes` is a power of two.
    #[inline]
    pub fn new(number: u64, bytes: usize, rewritten: bool) -> Self {
        let (marked, turn) = (number as usize & (bytes - 1), (number >> bytes.trailing_zeros()) as u8);
        Chunk { number, bytes, marked, turn, rewritten }
    }

    /// The byte at this position.
    pub fn byte(&self, at: usize) -> u8 {
        let raised = u8::from(at <= self.marked) + u8::from(self.rewritten && at == self.marked);
        self.turn.wrapping_add(raised)
    }

    /// The two positions that identify this chunk. After the last byte of a chunk comes its first byte.
    #[inline]
    fn telling(&self) -> [usize; 2] {
        [self.marked, (self.marked + 1) & (self.bytes - 1)]
    }

    /// The first position with a wrong byte. A byte that is too low by at most `lowered` is not wrong.
    #[inline]
    pub fn wrong(&self, found: &[u8], whole: bool, lowered: u32) -> Option<usize> {
        let is_wrong = |at: usize| u32::from(self.byte(at).wrapping_sub(found[at])) > lowered;
        match whole {
            false => self.telling().into_iter().find(|at| is_wrong(*at)),
            true if lowered == 0 && self.is_exact(found) => None,
            true => (0..self.bytes).find(|at| is_wrong(*at)),
        }
    }

    /// Compares all bytes at once; the position of a difference is searched only afterwards.
    fn is_exact(&self, found: &[u8]) -> bool {
        let (before, rest) = found.split_at(self.marked);
        // The first byte is right and each byte equals its predecessor: one memory comparison, which C libraries do fast.
        let all = |bytes: &[u8], is: u8| {
            bytes.first().is_none_or(|first| *first == is && bytes[1..] == bytes[..bytes.len() - 1])
        };
        all(before, self.turn.wrapping_add(1))
            && rest[0] == self.byte(self.marked)
            && all(&rest[1..], self.turn)
    }

    /// Writes the whole chunk.
    pub fn fill(&self, into: &mut [u8]) {
        let marked = self.marked;
        into[..marked].fill(self.turn.wrapping_add(1));
        into[marked] = self.byte(marked);
        into[marked + 1..].fill(self.turn);
    }
}

/// The CRC-32 of the data file's chunks from `first` to before `end`.
pub fn checksum(first: u64, end: u64, bytes: usize, rewritten: bool) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    let mut chunk = vec![0; bytes];
    for number in first..end {
        Chunk::new(number, bytes, rewritten).fill(&mut chunk);
        sum.update(&chunk);
    }
    sum.finalize()
}

/// The stamp of a piece of a small file.
pub fn stamp(file: u32, piece: u32) -> [u8; STAMP] {
    (u64::from(file) << 32 | u64::from(piece)).wrapping_add(1 << 32).to_le_bytes()
}

/// The first position with a wrong byte in a piece of a small file.
pub fn wrong_piece(file: u32, piece: u32, found: &[u8], whole: bool) -> Option<usize> {
    let stamped = found.len().min(STAMP);
    let (head, rest) = found.split_at(stamped);
    let stamp = stamp(file, piece);
    let in_stamp = head.iter().zip(&stamp).position(|(found, written)| found != written);
    in_stamp.or_else(|| {
        let is_zero = !whole || rest.iter().fold(0, |all, byte| all | byte) == 0;
        (!is_zero).then(|| stamped + rest.iter().position(|byte| *byte != 0).unwrap_or(0))
    })
}

/// The CRC-32 of a small file of this size, written in pieces.
pub fn small_checksum(file: u32, size: u32, piece_bytes: usize) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    let mut piece = vec![0; piece_bytes];
    for (number, at) in (0..size as usize).step_by(piece_bytes).enumerate() {
        let length = (size as usize - at).min(piece_bytes);
        let stamped = length.min(STAMP);
        piece[..stamped].copy_from_slice(&stamp(file, number as u32)[..stamped]);
        sum.update(&piece[..length]);
    }
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes chunks from one buffer, like the original.
    fn written(chunks: u64, bytes: usize) -> Vec<Vec<u8>> {
        let mut buffer = vec![0u8; bytes];
        let write = |k: u64| {
            let at = (k % bytes as u64) as usize;
            buffer[at] = buffer[at].wrapping_add(1);
            buffer.clone()
        };
        (0..chunks).map(write).collect()
    }

    #[test]
    fn a_chunk_is_what_one_buffer_held_when_it_was_written() {
        // The buffer of 8 bytes is incremented more than 256 times at each byte, so that bytes wrap around.
        for (number, buffer) in (0..).zip(written(2200, 8)) {
            let plain = Chunk::new(number, 8, false);
            let mut filled = vec![0; 8];
            plain.fill(&mut filled);
            assert_eq!(filled, buffer, "chunk {number}");
            assert_eq!((plain.wrong(&buffer, true, 0), plain.wrong(&buffer, false, 0)), (None, None));
            let rewritten = Chunk { rewritten: true, ..plain };
            let mut again = buffer.clone();
            again[rewritten.marked] = again[rewritten.marked].wrapping_add(1);
            rewritten.fill(&mut filled);
            assert_eq!(filled, again, "chunk {number}, rewritten");
            assert_eq!(rewritten.wrong(&again, true, 0), None);
            assert_eq!(plain.wrong(&again, false, 0), Some(plain.marked));
        }
    }

    #[test]
    fn a_chunk_in_anothers_place_is_found_by_a_few_bytes() {
        let all = written(60, 16);
        for (number, _) in (0..).zip(&all) {
            let chunk = Chunk::new(number, 16, false);
            let same: Vec<_> = (0..).zip(&all).filter(|(_, b)| chunk.wrong(b, false, 0).is_none()).collect();
            assert_eq!(same.iter().map(|(n, _)| *n).collect::<Vec<u64>>(), [number]);
        }
    }

    #[test]
    fn any_wrong_byte_is_found_where_all_are_looked_at() {
        let chunk = Chunk::new(5, 64, true);
        let mut bytes = vec![0; 64];
        chunk.fill(&mut bytes);
        for at in 0..64 {
            bytes[at] ^= 0x10;
            assert_eq!(chunk.wrong(&bytes, true, 0), Some(at));
            bytes[at] ^= 0x10;
        }
        bytes[9] = bytes[9].wrapping_sub(2);
        assert_eq!((chunk.wrong(&bytes, true, 2), chunk.wrong(&bytes, true, 1)), (None, Some(9)));
    }

    #[test]
    fn small_files_are_told_apart() {
        let mut piece = vec![0; 100];
        piece[..STAMP].copy_from_slice(&stamp(3, 1));
        assert_eq!(wrong_piece(3, 1, &piece, true), None);
        assert!(wrong_piece(3, 0, &piece, false).is_some() && wrong_piece(2, 1, &piece, false).is_some());
        assert_eq!(wrong_piece(3, 1, &piece[..3], true), None);
        piece[70] = 1;
        assert_eq!((wrong_piece(3, 1, &piece, true), wrong_piece(3, 1, &piece, false)), (Some(70), None));
    }

    #[test]
    fn a_checksum_is_that_of_all_that_was_written() {
        let bytes = written(9, 32).concat();
        assert_eq!(checksum(0, 9, 32, false), crc32fast::hash(&bytes));
        assert_eq!(checksum(2, 5, 32, false), crc32fast::hash(&bytes[64..160]));
        let small = [&stamp(7, 0)[..], &[0; 12], &stamp(7, 1)[..5]].concat();
        assert_eq!(small_checksum(7, 25, 20), crc32fast::hash(&small));
    }
}
