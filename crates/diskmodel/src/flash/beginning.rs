//! Where units lie on a disk that was in use before the trial: by a rule, which needs no table.
//!
//! ```text
//!  packed      unit u in superblock u ÷ V at place u mod V: V units of each superblock are live, the rest is dead
//!  scattered   as random overwriting leaves it in the end: what follows one another lies anywhere, and superblocks hold from
//!              2V − units live units, those that are collected next, to all of theirs, those written last
//! ```
//! In that steady state the live share of a superblock falls with its age as an exponential that ends where it is collected
//! (P. Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10, 2014); with spare flash of some
//! per cent it is a line but for half a per cent.

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
        /// The first position of each superblock, and the end of the last.
        firsts: Vec<u32>,
        /// Unit u has position `factor`·u modulo all; `inverse` leads back.
        factor: u64,
        inverse: u64,
        units: u64,
    },
}

impl Beginning {
    /// So many units in so many superblocks.
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
        // Near the golden section, neighbours come to lie far from each other.
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

    /// Live units of a superblock, were all units of the disk filled.
    pub fn live(&self, superblock: u32) -> u32 {
        match self {
            Beginning::Packed { live } => *live,
            Beginning::Scattered { firsts, .. } => {
                firsts[superblock as usize + 1] - firsts[superblock as usize]
            }
        }
    }

    /// The unit that lies there.
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

/// Euclid's.
fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Of a number modulo another that it has no divisor in common with, by Euclid's algorithm with its coefficients.
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

    /// With 2500 of 2700 live in the mean, the next to be collected has 2300 and the latest nearly all of its 2700.
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
