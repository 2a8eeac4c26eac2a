//! Initial location of each unit on a disk that was in use before the trial, by formula instead of a table.
//!
//! ```text
//!  packed      unit u in superblock u ÷ V at place u mod V: V units of each superblock are live, the rest is dead
//!  scattered   as random overwriting leaves it: consecutive units lie anywhere; live units per superblock rise linearly
//!              from 2V − units (next to be collected) to all of its units (written last)
//! ```
//! In steady state the live share of a superblock falls exponentially with its age until it is collected (P. Desnoyers,
//! "Analytic models of SSD write performance", ACM Transactions on Storage 10, 2014). With spare flash of some per cent a line
//! approximates it within half a per cent.

/// A place on the flash: superblock and unit within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub superblock: u32,
    pub place: u32,
}

#[derive(Clone, Debug)]
pub(super) enum Beginning {
    Packed {
        live: u32,
    },
    Scattered {
        /// First position of each superblock, and the end of the last superblock.
        firsts: Vec<u32>,
        /// Unit u has position `factor`·u modulo `units`; `inverse` reverses this.
        factor: u64,
        inverse: u64,
        units: u64,
    },
}

impl Beginning {
    /// `units` units scattered over `superblocks` superblocks.
    pub fn scattered(units: u64, superblocks: u64, superblock_units: u64) -> Beginning {
        let mean = units.div_ceil(superblocks);
        let least = (2 * mean).saturating_sub(superblock_units);
        let most = 2 * mean - least;
        let live = |n: u64| least + ((most - least) * (2 * n + 1)).div_ceil(2 * superblocks);
        let mut first = 0;
        let mut firsts: Vec<u32> = (0..superblocks)
            .map(|n| {
                let own = first;
                first = (first + live(n)).min(units);
                own as u32
            })
            .collect();
        firsts.push(units as u32);
        // A factor near the golden section puts neighbours far apart.
        let golden = (units * 618 / 1000).max(1);
        let factor = (golden..).find(|factor| greatest_divisor(*factor, units) == 1).unwrap_or(1);
        Beginning::Scattered { firsts, factor, inverse: inverse(factor, units), units }
    }

    pub fn locate(&self, unit: u32) -> Location {
        match self {
            Beginning::Packed { live } => Location { superblock: unit / live, place: unit % live },
            Beginning::Scattered { firsts, factor, units, .. } => {
                let position = (u64::from(unit) * factor % units) as u32;
                let superblock = firsts.partition_point(|first| *first <= position) - 1;
                Location { superblock: superblock as u32, place: position - firsts[superblock] }
            }
        }
    }

    /// Live units of a superblock if the disk is completely filled.
    pub fn live(&self, superblock: u32) -> u32 {
        match self {
            Beginning::Packed { live } => *live,
            Beginning::Scattered { firsts, .. } => {
                firsts[superblock as usize + 1] - firsts[superblock as usize]
            }
        }
    }

    /// The unit at this location.
    pub fn unit_at(&self, Location { superblock, place }: Location) -> u32 {
        match self {
            Beginning::Packed { live } => superblock * live + place,
            Beginning::Scattered { firsts, inverse, units, .. } => {
                let position = firsts[superblock as usize] + place;
                (u64::from(position) * inverse % units) as u32
            }
        }
    }
}

/// Greatest common divisor, by Euclid's algorithm.
fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Modular inverse of `factor`, which is coprime to `modulus`, by the extended Euclidean algorithm.
fn inverse(factor: u64, modulus: u64) -> u64 {
    let (mut rest, mut next) = (i128::from(modulus), i128::from(factor % modulus));
    let (mut before, mut now) = (0_i128, 1_i128);
    while next != 0 {
        let quotient = rest / next;
        (rest, next) = (next, rest - quotient * next);
        (before, now) = (now, before - quotient * now);
    }
    before.rem_euclid(i128::from(modulus)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_where_it_is_looked_for_and_no_two_are_in_one_place() {
        let beginning = Beginning::scattered(100_000, 40, 2_700);
        let mut places: Vec<(u32, u32)> = (0..100_000)
            .map(|unit| {
                let at = beginning.locate(unit);
                assert_eq!(beginning.unit_at(at), unit);
                assert!(at.place < beginning.live(at.superblock) && at.superblock < 40);
                (at.superblock, at.place)
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 100_000);
    }

    /// With a mean of 2500 live units of 2700, the superblock collected next has 2300 and the newest nearly all 2700.
    #[test]
    fn superblocks_hold_what_steady_state_leaves_in_them() {
        let beginning = Beginning::scattered(100_000, 40, 2_700);
        let live: Vec<u32> = (0..40).map(|n| beginning.live(n)).collect();
        assert!(live[..39].is_sorted() && live[0] == 2305 && live[39] == 2695, "{live:?}");
        assert_eq!(live.iter().sum::<u32>(), 100_000);
        let beside = [5000, 5001].map(|unit| beginning.locate(unit).superblock);
        assert_ne!(beside[0], beside[1]);
    }
}
