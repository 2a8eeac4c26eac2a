//! File content: noise that differs between files, so no filesystem can compress or deduplicate it. The content at each position
//! identifies the file and the offset.

use std::os::fd::AsFd;
use std::path::Path;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use super::files::{self, CHUNK, wrong};
use crate::schema::units::{KIB, MIB};
use crate::workloads::OpError;

/// A kernel caches data in pages and so also loses it in pages. Only the beginning of each page is checked.
pub const PAGE: u64 = 4 * KIB;
/// Bytes at the beginning of each chunk that identify file and offset.
const STAMP: usize = 16;
/// Number of different starting points of a chunk's noise.
const NOISE: usize = MIB as usize;

/// The message about content that differs from what was written.
pub fn other_content(at: u64) -> String {
    format!("at byte {at}, the content differs from what was written")
}

/// The content of files, which are numbered from 0.
pub struct Noise {
    seed: u64,
    /// The noise, long enough for a whole chunk from the last starting point.
    bytes: Vec<u8>,
}

impl Noise {
    pub fn new(seed: u64, mut source: impl Rng) -> Self {
        let mut bytes = vec![0; NOISE + CHUNK];
        source.fill_bytes(&mut bytes);
        Noise { seed, bytes }
    }

    /// Passes each chunk of a file of this size to `each`, in order. The stamp is put into the noise only during the call.
    pub fn content<E>(
        &mut self,
        file: u32,
        size: u64,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        for at in (0..size).step_by(CHUNK) {
            let length = (size - at).min(CHUNK as u64) as usize;
            self.piece(file, at, length, &mut each)?;
        }
        Ok(())
    }

    /// Passes the first `length` bytes of the chunk at this offset to `each`.
    pub fn piece<T>(&mut self, file: u32, at: u64, length: usize, each: impl FnOnce(&[u8]) -> T) -> T {
        let (stamp, begin) = self.chunk(file, at);
        let stamped = begin..begin + length.min(STAMP);
        let mut noise = [0; STAMP];
        noise[..stamped.len()].copy_from_slice(&self.bytes[stamped.clone()]);
        self.bytes[stamped.clone()].copy_from_slice(&stamp[..stamped.len()]);
        let done = each(&self.bytes[begin..begin + length]);
        self.bytes[stamped.clone()].copy_from_slice(&noise[..stamped.len()]);
        done
    }

    /// Reads a file of this size to its end and checks it. Returns its length.
    pub fn read_whole(
        &self,
        file: u32,
        size: u64,
        opened: impl AsFd,
        path: impl AsRef<Path>,
        buffer: &mut [u8],
    ) -> Result<u64, OpError> {
        let mut at = 0u64;
        loop {
            let came = files::read(&opened, &path, buffer)?;
            if came == 0 {
                break;
            }
            if at.is_multiple_of(PAGE) && !self.is_right(file, at, &buffer[..came]) {
                return Err(wrong(path, other_content(at)));
            }
            at += came as u64;
        }
        if at != size {
            return Err(wrong(path, format!("read {at} bytes, but {size} bytes were written")));
        }
        Ok(at)
    }

    /// The CRC-32 of a file of this size.
    pub fn crc32(&self, file: u32, size: u64) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        for at in (0..size).step_by(CHUNK) {
            let length = (size - at).min(CHUNK as u64) as usize;
            let (stamp, begin) = self.chunk(file, at);
            sum.update(&stamp[..length.min(STAMP)]);
            sum.update(&self.bytes[begin + length.min(STAMP)..begin + length]);
        }
        sum.finalize()
    }

    /// Whether these bytes, read at this offset, are right. Checks their beginning and the beginning of each page in them,
    /// because data is lost in pages. `at` is not within a stamp.
    pub fn is_right(&self, file: u32, at: u64, bytes: &[u8]) -> bool {
        let end = at + bytes.len() as u64;
        let pages = (at / PAGE + 1..).map(|page| page * PAGE).take_while(|place| *place < end);
        let mut of = u64::MAX;
        let mut chunk = ([0; STAMP], 0);
        std::iter::once(at).filter(|at| *at < end).chain(pages).all(|place| {
            let within = (place % CHUNK as u64) as usize;
            if of != place - within as u64 {
                of = place - within as u64;
                chunk = self.chunk(file, of);
            }
            let (stamp, begin) = &chunk;
            let written = if within == 0 { &stamp[..] } else { &self.bytes[begin + within..] };
            let came = &bytes[(place - at) as usize..];
            let looked = came.len().min(STAMP);
            came[..looked] == written[..looked]
        })
    }

    /// The stamp of the chunk at this offset, and the position of its noise.
    fn chunk(&self, file: u32, at: u64) -> ([u8; STAMP], usize) {
        let chunk = SplitMix64::seed_from_u64((u64::from(file) << 40) | (at / CHUNK as u64)).next_u64();
        let mut source = SplitMix64::seed_from_u64(self.seed ^ chunk);
        let begin = source.next_u64() % NOISE as u64;
        let mut stamp = [0; STAMP];
        source.fill_bytes(&mut stamp);
        (stamp, begin as usize)
    }
}
