//! An integer hash. All randomness of a disk follows from a seed through it.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// One step of SplitMix64: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
pub(crate) fn mix(value: u64) -> u64 {
    SplitMix64::seed_from_u64(value).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first two outputs of the published generator for seed 0.
    #[test]
    fn the_hash_is_splitmix64() {
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
    }
}
