//! The places of a file's pieces, and its checksum: a function of the seed.

use std::collections::BTreeSet;

use super::parameters::Parameters;
use crate::schema::random::below;
use crate::workloads::kit::files::CHUNK;
use crate::workloads::kit::random;

/// The offsets of a file's pieces in ascending order, drawn by R. Floyd's algorithm (J. Bentley, "Programming Pearls: A Sample of
/// Brilliance", CACM 30(9), 1987).
pub fn of(parameters: &Parameters, file: u32, seed: u64) -> Vec<u64> {
    let mut source = random(&["sparse", "places", &file.to_string()], seed);
    let all = parameters.places();
    let mut drawn = BTreeSet::new();
    for last in all - u64::from(parameters.pieces)..all {
        let place = below(&mut source, last + 1);
        drawn.insert(if drawn.contains(&place) { last } else { place });
    }
    drawn.into_iter().map(|place| place * CHUNK as u64).collect()
}

/// Checksums of zeros, so that holes need not be hashed byte by byte.
pub struct Zeros {
    chunk: crc32fast::Hasher,
    after_piece: crc32fast::Hasher,
}

impl Zeros {
    pub fn new(piece: u64) -> Self {
        let of = |length: usize| {
            let mut sum = crc32fast::Hasher::new();
            sum.update(&vec![0; length]);
            sum
        };
        Zeros { chunk: of(CHUNK), after_piece: of(CHUNK - piece as usize) }
    }

    /// The checksum of a whole file; `piece` adds each piece to the sum.
    pub fn crc32(
        &self,
        length: u64,
        places: &[u64],
        mut piece: impl FnMut(u64, &mut crc32fast::Hasher),
    ) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        let mut at = 0;
        for place in places {
            for _ in (at..*place).step_by(CHUNK) {
                sum.combine(&self.chunk);
            }
            piece(*place, &mut sum);
            sum.combine(&self.after_piece);
            at = place + CHUNK as u64;
        }
        for _ in (at..length).step_by(CHUNK) {
            sum.combine(&self.chunk);
        }
        sum.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_file_with_its_holes() {
        let text = "files = 1\nlength = '1m'\npieces = 3\npiece = '5k'";
        let parameters = Parameters::parse(&text.parse().expect("TOML")).expect("parameters");
        for seed in 0..20 {
            let places = of(&parameters, 0, seed);
            assert_eq!((places.len(), places.is_sorted()), (3, true));
            let mut whole = vec![0; 1 << 20];
            places.iter().for_each(|at| whole[*at as usize..][..5 * 1024].fill(7));
            let zeros = Zeros::new(parameters.piece);
            let seen = zeros.crc32(parameters.length, &places, |_, sum| sum.update(&[7; 5 * 1024]));
            assert_eq!(seen, crc32fast::hash(&whole), "{places:?}");
        }
        assert_ne!(of(&parameters, 0, 1), of(&parameters, 1, 1));
    }
}
