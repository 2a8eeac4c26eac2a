//! Whether the bytes of a disk are zero. Encrypted volumes without a header and raw databases have no signature, so only zeros are
//! nothing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{Advice, fadvise};

use crate::schema::units::{Bytes, MIB};

/// So much is read at each end.
const END: u64 = 64 * MIB;
/// Further places, one MiB each.
const PLACES: u64 = 4096;
/// A disk that can be read in this time is read as a whole.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// First bytes of data that are shown.
const SHOWN: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Everything that was read is zero.
    Zeros { read: Bytes, whole: bool },
    /// There are other bytes.
    Data(Data),
}

/// The first bytes that are not zero, where the reading met them.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    pub offset: u64,
    pub first: Vec<u8>,
    /// Bits per byte of the MiB from there: near 8 for what is encrypted or compressed, 4 to 5 for text.
    pub entropy: f64,
}

/// Reads both ends, and then all of the disk if that takes less than a quarter of an hour or `whole` demands it, otherwise random
/// places of this seed. `progress` is given the bytes read and to be read.
///
/// # Errors
/// If the disk cannot be read.
pub fn look(
    disk: &File,
    size: Bytes,
    whole: bool,
    seed: u64,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<Content> {
    let (begin, mut read) = (Instant::now(), 0);
    let mut reader =
        Reader { disk, size: size.0, buffer: vec![0; MIB as usize], zeros: vec![0; MIB as usize] };
    let ends = (0..END.min(size.0))
        .step_by(MIB as usize)
        .chain((size.0.saturating_sub(END)..size.0).step_by(MIB as usize));
    let mut places: Vec<u64> = ends.collect();
    places.dedup();
    let all = 2 * END;
    for at in places {
        progress(read, all);
        match reader.at(at)? {
            Some(data) => return Ok(Content::Data(data)),
            None => read += MIB,
        }
    }
    let left = size.0.saturating_sub(2 * END);
    let time = begin.elapsed().mul_f64(left as f64 / read.max(1) as f64);
    let whole = whole || time < PATIENCE || left < PLACES * MIB;
    let middle = END..size.0.saturating_sub(END).max(END);
    let places: Box<dyn Iterator<Item = u64>> = match whole {
        true => Box::new(middle.step_by(MIB as usize)),
        false => {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut drawn: Vec<u64> =
                (0..PLACES).map(|_| END + random.next_u64() % (left / MIB) * MIB).collect();
            // A hard disk reads them faster in their order.
            drawn.sort_unstable();
            Box::new(drawn.into_iter())
        }
    };
    let all = read + if whole { left } else { PLACES * MIB };
    for at in places {
        progress(read, all);
        if let Some(data) = reader.at(at)? {
            return Ok(Content::Data(data));
        }
        read += MIB;
    }
    Ok(Content::Zeros { read: Bytes(read.min(size.0)), whole })
}

struct Reader<'d> {
    disk: &'d File,
    size: u64,
    buffer: Vec<u8>,
    zeros: Vec<u8>,
}

impl Reader<'_> {
    /// The first data in the MiB at this offset. What the kernel has cached is dropped first, so that the disk answers.
    fn at(&mut self, at: u64) -> io::Result<Option<Data>> {
        let length = (self.size - at).min(MIB) as usize;
        let _ = fadvise(self.disk, at, std::num::NonZeroU64::new(length as u64), Advice::DontNeed);
        let bytes = &mut self.buffer[..length];
        self.disk.read_exact_at(bytes, at)?;
        // As one comparison of memory: a terabyte is read as fast as the disk gives it.
        if bytes[..] == self.zeros[..length] {
            return Ok(None);
        }
        let data = bytes.iter().position(|byte| *byte != 0).map(|from| Data {
            offset: at + from as u64,
            first: bytes[from..].iter().take(SHOWN).copied().collect(),
            entropy: entropy(&bytes[from..]),
        });
        Ok(data)
    }
}

/// Bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: &u32| f64::from(*count) / bytes.len() as f64;
    counts.iter().filter(|count| **count > 0).map(share).map(|p| -p * p.log2()).sum()
}

impl Data {
    /// `offset 1048576: 8f 2a … (7.9 bits per byte)`
    pub fn in_words(&self) -> String {
        let hex: Vec<String> = self.first.iter().map(|byte| format!("{byte:02x}")).collect();
        let Data { offset, entropy, .. } = self;
        format!("at offset {offset}: {} ({entropy:.1} bits per byte)", hex.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u64, data: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        data.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap());
        file
    }

    fn looked(file: &File) -> Content {
        look(file, Bytes(file.metadata().unwrap().len()), false, 1, &mut |_, _| {}).unwrap()
    }

    #[test]
    fn zeros_are_nothing_and_one_bit_anywhere_is_something() {
        const SIZE: u64 = 200 * MIB + 512;
        assert_eq!(looked(&file(SIZE, &[])), Content::Zeros { read: Bytes(SIZE), whole: true });
        for at in [0, 511, 64 * MIB - 1, 64 * MIB, 100 * MIB + 7, 136 * MIB + 511, 136 * MIB + 512, SIZE - 1]
        {
            let Content::Data(data) = looked(&file(SIZE, &[(at, &[1])])) else { panic!("byte {at}") };
            assert_eq!((data.offset, data.first[0]), (at, 1));
        }
        for size in [1, 512, MIB, 3 * MIB, 64 * MIB, 65 * MIB, 128 * MIB, 129 * MIB] {
            assert_eq!(looked(&file(size, &[])), Content::Zeros { read: Bytes(size), whole: true }, "{size}");
            let Content::Data(data) = looked(&file(size, &[(size - 1, &[9])])) else { panic!("{size}") };
            assert_eq!(data.offset, size - 1);
        }
    }

    #[test]
    fn text_and_noise_are_told_apart_in_words() {
        let noise: Vec<u8> = (0..MIB).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u8).collect();
        let words = |bytes: &[u8]| match looked(&file(4 * MIB, &[(2 * MIB, bytes)])) {
            Content::Data(data) => data.in_words(),
            other => panic!("{other:?}"),
        };
        assert!(words(&noise).contains("(8.0 bits per byte)"), "{}", words(&noise));
        assert!(words(b"Dear diary").contains(": 44 65 61 72 20"));
    }
}
