//! Random numbers of a work, from its seed.

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::schema::random::seeded;

/// A separate generator for each use, so that changing one leaves the others unchanged.
pub fn random(uses: &[&str], seed: u64) -> Xoshiro256PlusPlus {
    let seed = seed.to_le_bytes();
    let parts: Vec<&[u8]> = uses.iter().map(|of| of.as_bytes()).chain([&seed[..]]).collect();
    seeded(&parts)
}
