//! Computes the checksum of any number of zeros without reading zeros.

use std::iter;

/// The CRC-32 of this many zeros.
pub fn crc32(length: u64) -> u32 {
    let mut one = crc32fast::Hasher::new();
    one.update(&[0]);
    // Computes the checksums of 1, 2, 4 … zeros, and combines those whose lengths add up to `length`.
    let powers = iter::successors(Some(one), |half| {
        let mut twice = half.clone();
        twice.combine(half);
        Some(twice)
    });
    let mut sum = crc32fast::Hasher::new();
    for (bit, power) in powers.take((u64::BITS - length.leading_zeros()) as usize).enumerate() {
        if length >> bit & 1 == 1 {
            sum.combine(&power);
        }
    }
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_the_bytes() {
        for length in [0, 1, 2, 3, 511, 512, 65_537, (1 << 20) - 1] {
            assert_eq!(crc32(length), crc32fast::hash(&vec![0; length as usize]), "{length} zeros");
        }
    }
}
