//! Where a sample stands in its dozen: which cache and CPU it has, and which twelfth of each range.
//!
//! Cache and CPU come in turn, one step apart after each three samples, which is a Latin square. Of what has a range each dozen
//! has one value in each twelfth: a Latin hypercube (M. D. McKay, R. J. Beckman and W. J. Conover, "A comparison of three methods
//! for selecting values of input variables in the analysis of output from a computer code", Technometrics 21 (1979), 239–245).
//!
//! ```text
//! sample       0  1  2  3  4  5  6  7  8  9 10 11     every dozen
//! cache      0  1  2  0  1  2  0  1  2  0  1  2     the same
//! CPU        0  1  2  1  2  0  2  0  1  0  1  2     the same, its levels turned
//! seek       6  3 11  0  8  …                       an order of its own; sample 0 of the first dozen is nominal
//! ```
//! Random orders often go together, and what goes together cannot be told apart afterwards: of the nine pairs that three ranges
//! form with each other, the cache and the CPU, the most alike has 40 % of its variance in common, in the median over dozens.
//! So of 256 random designs the one is taken whose most alike pair is least alike: 13 %.

use crate::mix::mix;

pub(crate) const DRAWS: usize = 12;
const RANGES: usize = 3;
const DESIGNS: u64 = 256;
/// The twelfth that begins with the middle of its range, where nominal is.
const NOMINAL: u32 = 6;

/// For each range, the twelfth that each sample has of it.
type Design = [[u32; DRAWS]; RANGES];

pub(crate) struct Place {
    /// 0 to 2, nominal first.
    pub cache: usize,
    pub cpu: usize,
    /// 0 to 11, of each range.
    pub twelfths: [u32; RANGES],
}

/// Of the `n`th sample of the ensemble with this seed.
pub(crate) fn place(seed: u64, n: u32) -> Place {
    let n = n as usize;
    let (dozen, at) = (n / DRAWS, n % DRAWS);
    let own = mix(seed ^ mix(!(dozen as u64)));
    let designs = (0..DESIGNS).map(|number| design(own ^ mix(number), dozen == 0));
    let design = designs.min_by_key(likeness).unwrap_or_default();
    Place { cache: cache(n), cpu: cpu(n), twelfths: design.map(|order| order[at]) }
}

fn cache(n: usize) -> usize {
    n % 3
}

fn cpu(n: usize) -> usize {
    (n + n / 3) % 3
}

fn design(seed: u64, has_nominal: bool) -> Design {
    let mut random = seed;
    [(); RANGES].map(|()| {
        let mut order = [NOMINAL, 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11];
        let first = usize::from(has_nominal);
        // Fisher and Yates, of all that may move.
        for last in (first + 1..DRAWS).rev() {
            random = mix(random);
            order.swap(last, first + (random % (last - first + 1) as u64) as usize);
        }
        order
    })
}

/// The greatest share of variance that a range has in common with another, r², or with cache or CPU, η²; times 572², to be
/// whole numbers. 572 is the sum of the squares of a range's twelfths about their mean, counted in halves.
fn likeness(design: &Design) -> i64 {
    const SQUARES: i64 = 572;
    let centred = design.map(|order| order.map(|twelfth| 2 * i64::from(twelfth) - 11));
    let mut most = 0;
    for (n, a) in centred.iter().enumerate() {
        for b in &centred[n + 1..] {
            let products: i64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            most = most.max(products * products);
        }
        for level in [cache, cpu] {
            let mut sums = [0; 3];
            a.iter().enumerate().for_each(|(at, value)| sums[level(at)] += value);
            // Each level has four samples.
            most = most.max(sums.map(|sum| sum * sum).iter().sum::<i64>() * SQUARES / 4);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dozen_has_each_twelfth_of_each_range_once() {
        for (seed, dozen) in [(1, 0), (1, 1), (2, 0), (77, 5)] {
            let places: Vec<Place> = (0..12).map(|at| place(seed, dozen * 12 + at)).collect();
            for range in 0..RANGES {
                let mut twelfths: Vec<u32> = places.iter().map(|p| p.twelfths[range]).collect();
                twelfths.sort_unstable();
                assert_eq!(twelfths, (0..12).collect::<Vec<u32>>());
            }
        }
    }

    #[test]
    fn the_nominal_draw_is_in_the_middle_and_others_are_where_the_seed_says() {
        assert_eq!(place(3, 0).twelfths, [NOMINAL; RANGES]);
        let dozen = |seed, first| (first..first + 12).map(|n| place(seed, n).twelfths).collect::<Vec<_>>();
        assert_eq!(dozen(3, 0), dozen(3, 0));
        assert_ne!(dozen(3, 0), dozen(4, 0));
        assert_ne!(dozen(3, 0), dozen(3, 12));
    }

    /// Of single random designs the median has 400 thousandths, and some have 800.
    #[test]
    fn no_two_parameters_of_a_dozen_go_together() {
        for seed in 0..50 {
            let places: Vec<Place> = (0..12).map(|n| place(seed, n)).collect();
            let mut design = Design::default();
            places
                .iter()
                .enumerate()
                .for_each(|(at, p)| (0..RANGES).for_each(|r| design[r][at] = p.twelfths[r]));
            let shared = likeness(&design) * 1000 / (572 * 572);
            assert!(shared < 200, "seed {seed}: {shared} thousandths");
        }
    }

    #[test]
    fn what_is_the_same_is_most_alike() {
        let order = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
        assert_eq!(likeness(&[order; RANGES]), 572 * 572);
    }
}
