//! Random integers and orders from a seed. Stored plans depend on these outputs, so they must not change.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Xoshiro256++ seeded with the BLAKE3 of the parts and their lengths, so that different parts cannot collide.
pub fn seeded(parts: &[&[u8]]) -> Xoshiro256PlusPlus {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Xoshiro256PlusPlus::from_seed(*hash.finalize().as_bytes())
}

/// A uniform integer below `n`, by rejecting numbers from the incomplete last span.
pub fn below(random: &mut impl Rng, n: u64) -> u64 {
    let whole = u64::MAX - u64::MAX % n;
    loop {
        let number = random.next_u64();
        if number < whole {
            return number % n;
        }
    }
}

/// Shuffles the list uniformly (Fisher and Yates).
pub fn shuffle<T>(list: &mut [T], random: &mut impl Rng) {
    for last in (1..list.len()).rev() {
        list.swap(last, below(random, last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(seeded(&[b"ab", b"c"]), seeded(&[b"a", b"bc"]));
    }

    #[test]
    fn each_order_of_a_list_comes_about_as_often_as_any_other() {
        let mut random = seeded(&[b"orders"]);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let mut list = [1, 2, 3];
            shuffle(&mut list, &mut random);
            *seen.entry(list).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        // Expected: 1000 each; the deviation is sqrt(6000 × 1/6 × 5/6) = 28.9; four of these.
        assert!(seen.values().all(|times| (884..=1116).contains(times)), "{seen:?}");
    }
}
