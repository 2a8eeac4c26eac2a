//! Confidence intervals for quantiles of a run's operations, by resampling whole rounds.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::quantile;
use crate::random::Random;

/// Minimum number of rounds: fewer do not show how much rounds differ. With ten or more rounds, intervals hold in 94 to 98 % of
/// studies with independent rounds, and in 86 to 97 % with strong dependence on the previous round (`tests/simulation/rest.rs`).
pub const FEWEST: usize = 10;
/// Number of draws: with ten rounds, the ends of a 95 % interval are then the fifth draws from either side.
const DRAWS: usize = 500;
const SEED: u64 = 0x72_6f_75_6e_64_73;

/// Counts of each round: buckets of (highest value, count), rising, as in [`crate::quantile_of_counts`].
pub struct Rounds {
    /// Highest value of each bucket in any round.
    highest: Vec<u64>,
    /// Cumulative count of each round, per bucket.
    up_to: Vec<u64>,
    rounds: usize,
}

impl Rounds {
    /// Skips rounds without counts; equal values in two rounds are one bucket.
    pub fn of(rounds: &[Vec<(u64, u64)>]) -> Rounds {
        let rounds: Vec<&Vec<(u64, u64)>> =
            rounds.iter().filter(|round| round.iter().any(|(_, count)| *count > 0)).collect();
        let mut highest: Vec<u64> =
            rounds.iter().flat_map(|round| round.iter().map(|(value, _)| *value)).collect();
        highest.sort_unstable();
        highest.dedup();
        let n = rounds.len();
        // Keeps the sum over n rounds, each drawn any number of times, from overflowing.
        let most = u64::MAX / n.max(1) as u64;
        let mut up_to = vec![0; highest.len() * n];
        for (at, round) in rounds.iter().enumerate() {
            let (mut buckets, mut sum) = (round.iter().peekable(), 0_u64);
            for (bucket, highest) in highest.iter().enumerate() {
                while let Some((_, count)) = buckets.next_if(|(value, _)| value <= highest) {
                    sum = sum.saturating_add(*count).min(most);
                }
                up_to[bucket * n + at] = sum;
            }
        }
        Rounds { highest, up_to, rounds: n }
    }

    /// For each share in `shares`, an interval at `level` (0.95) for that quantile of all operations.
    ///
    /// As many rounds as there are get drawn with replacement, 500 times from a fixed seed. Each time their counts are summed
    /// and read by nearest rank, as in [`crate::quantile_of_counts`]. Operations of one round are not independent, so rounds
    /// are drawn and never operations (B. Efron and R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993, ch. 8 and 13).
    /// With n rounds plain percentiles are too narrow. So the share Φ(−sqrt(n ÷ (n − 1)) · t) is cut off at each side, with t
    /// of Student with n − 1 degrees of freedom: the expanded percentile interval of T. C. Hesterberg (The American
    /// Statistician 69 (2015), 371–386).
    ///
    /// `all` holds all rounds together, possibly in finer buckets. Within one bucket, a round's operations are assumed to be
    /// distributed like those of `all` in the same range of values. So single rounds can be stored in coarser buckets than `all`.
    ///
    /// `None` below [`FEWEST`] rounds. Misleads in the tail with few operations: p99.9 is reported from 10,000 operations on,
    /// of which ten are beyond it. If one round in ten had a stall, no interval from ten rounds knows how frequent stalls are.
    /// Dependent rounds, as on a drifting machine, are drawn as if independent; merging neighbours reduces this error.
    pub fn intervals(&self, all: &[(u64, u64)], shares: &[f64], level: f64) -> Option<Vec<(u64, u64)>> {
        if self.rounds < FEWEST {
            return None;
        }
        let beyond = cut_off(self.rounds as f64, level)?;
        let mut drawn = vec![Vec::with_capacity(DRAWS); shares.len()];
        let mut random = Random::new(SEED);
        let mut times = vec![0_u64; self.rounds];
        for _ in 0..DRAWS {
            times.fill(0);
            (0..self.rounds).for_each(|_| times[random.below(self.rounds)] += 1);
            let all = self.up_to(self.highest.len() - 1, &times);
            shares
                .iter()
                .zip(&mut drawn)
                .for_each(|(share, drawn)| drawn.push(self.place(&times, all, *share)));
        }
        let ends = |drawn: &Vec<f64>| {
            let (low, high) = (quantile(drawn, beyond)?, quantile(drawn, 1.0 - beyond)?);
            Some((self.value(all, low)?, self.value(all, high)?))
        };
        drawn.iter().map(ends).collect()
    }

    /// Cumulative count of this bucket, with each round taken `times` times.
    fn up_to(&self, bucket: usize, times: &[u64]) -> u64 {
        let rounds = &self.up_to[bucket * self.rounds..][..self.rounds];
        rounds.iter().zip(times).map(|(up_to, times)| up_to * times).sum()
    }

    /// Position in the buckets at which that share of the drawn rounds is reached: 3.25 is a quarter into bucket 3.
    fn place(&self, times: &[u64], all: u64, share: f64) -> f64 {
        let rank = ((share * all as f64).ceil() as u64).clamp(1, all);
        let (mut from, mut to) = (0, self.highest.len() - 1);
        while from < to {
            let middle = (from + to) / 2;
            if self.up_to(middle, times) < rank { from = middle + 1 } else { to = middle }
        }
        let before = if from == 0 { 0 } else { self.up_to(from - 1, times) };
        from as f64 + (rank - before) as f64 / (self.up_to(from, times) - before) as f64
    }

    /// The value at a position. A whole bucket stands for its highest value, so an integer position belongs to the previous bucket.
    fn value(&self, all: &[(u64, u64)], place: f64) -> Option<u64> {
        let bucket = (place.ceil() as usize).saturating_sub(1);
        let highest = *self.highest.get(bucket)?;
        let lowest = bucket.checked_sub(1).map_or(0, |before| self.highest[before].saturating_add(1));
        let from = all.partition_point(|(value, _)| *value < lowest);
        let to = all.partition_point(|(value, _)| *value <= highest);
        crate::quantile_of_counts(all.get(from..to)?, (place - bucket as f64).clamp(0.0, 1.0))
            .or(Some(highest))
    }
}

fn cut_off(n: f64, level: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf((1.0 - level) / 2.0);
    Some(Normal::standard().cdf((n / (n - 1.0)).sqrt() * t).clamp(0.0, 0.5))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::quantile_of_counts;

    fn rounds() -> Vec<Vec<(u64, u64)>> {
        (0..10_u64).map(|round| vec![(10, 50 + round), (20 + round, 40), (1000, 1)]).collect()
    }

    fn together(rounds: &[Vec<(u64, u64)>], times: &[u64]) -> Vec<(u64, u64)> {
        let mut merged = BTreeMap::new();
        for (round, times) in rounds.iter().zip(times) {
            round.iter().for_each(|(highest, count)| *merged.entry(*highest).or_insert(0) += count * times);
        }
        merged.into_iter().collect()
    }

    #[test]
    fn rounds_times_so_many_are_read_like_their_merged_histogram() {
        let times = [3, 0, 1, 2, 0, 0, 1, 1, 2, 0];
        let (counted, merged) = (Rounds::of(&rounds()), together(&rounds(), &times));
        for q in [0.0, 0.2, 0.55, 0.6, 0.75, 0.9, 0.99, 1.0] {
            let all = counted.up_to(counted.highest.len() - 1, &times);
            let bucket = (counted.place(&times, all, q).ceil() as usize).saturating_sub(1);
            assert_eq!(Some(counted.highest[bucket]), quantile_of_counts(&merged, q), "{q}");
        }
    }

    #[test]
    fn rounds_that_differ_give_an_interval_and_rounds_that_do_not_give_a_point() {
        let same = vec![vec![(5, 90), (9, 10)]; 12];
        let all = together(&same, &[1; 12]);
        assert_eq!(Rounds::of(&same).intervals(&all, &[0.5, 0.95], 0.95), Some(vec![(5, 5), (9, 9)]));
        let differ: Vec<Vec<(u64, u64)>> = (1..=10).map(|round| vec![(round * 10, 100)]).collect();
        let [(low, high)] =
            Rounds::of(&differ).intervals(&together(&differ, &[1; 10]), &[0.5], 0.95).unwrap()[..]
        else {
            panic!("one share, one interval")
        };
        assert!((10..=30).contains(&low) && (70..=100).contains(&high), "{low} to {high}");
    }

    /// The median of ten rounds of one value each, resampled. The value r is reached if at least five of the ten drawn are at
    /// most r, so P(at most r) is binomial and the ends are known exactly.
    #[test]
    fn the_ends_are_those_of_the_binomial_distribution_where_each_round_is_one_value() {
        let rounds: Vec<Vec<(u64, u64)>> = (1..=10).map(|round| vec![(round, 1)]).collect();
        let drawn = Rounds::of(&rounds);
        let up_to = |r: u32| {
            let p = f64::from(r) / 10.0;
            let of = |k: i32| {
                let ways = (0..k).fold(1.0, |ways, i| ways * f64::from(10 - i) / f64::from(i + 1));
                ways * p.powi(k) * (1.0 - p).powi(10 - k)
            };
            (5..=10).map(of).sum::<f64>()
        };
        for level in [0.5, 0.8, 0.9, 0.95] {
            let beyond = cut_off(10.0, level).unwrap();
            let known = [beyond, 1.0 - beyond].map(|share| (1..=10).find(|r| up_to(*r) >= share).unwrap());
            let (low, high) = drawn.intervals(&together(&rounds, &[1; 10]), &[0.5], level).unwrap()[0];
            let off =
                [low, high].iter().zip(known).map(|(ours, known)| ours.abs_diff(u64::from(known))).max();
            assert!(off <= Some(1), "{level}: {low} to {high} in place of {known:?}");
        }
    }

    #[test]
    fn coarse_rounds_give_the_ends_of_fine_ones_where_all_rounds_lie_alike_within_a_bucket() {
        let fine: Vec<Vec<(u64, u64)>> = (0..20_u64)
            .map(|round| (0..400).map(|value| (1000 + value, 1 + (value + round * 7) % 5)).collect())
            .collect();
        let coarse: Vec<Vec<(u64, u64)>> = fine
            .iter()
            .map(|round| {
                let of = |bucket: &[(u64, u64)]| (bucket[19].0, bucket.iter().map(|(_, n)| n).sum());
                round.chunks(20).map(of).collect()
            })
            .collect();
        let all = together(&fine, &[1; 20]);
        let shares = [0.5, 0.9, 0.99];
        let [ours, exact] =
            [&coarse, &fine].map(|rounds| Rounds::of(rounds).intervals(&all, &shares, 0.95).unwrap());
        for ((low, high), (true_low, true_high)) in ours.iter().zip(&exact) {
            assert!(low.abs_diff(*true_low) <= 2 && high.abs_diff(*true_high) <= 2, "{ours:?} {exact:?}");
        }
    }

    #[test]
    fn too_few_rounds_have_no_interval_and_what_is_too_much_ends_at_the_largest_number() {
        assert_eq!(Rounds::of(&[]).intervals(&[], &[0.5], 0.95), None);
        let nine = vec![vec![(5, 1)]; 9];
        assert_eq!(Rounds::of(&nine).intervals(&[(5, 9)], &[0.5], 0.95), None);
        let with_empty_ones = [nine, vec![vec![], vec![(7, 0)]]].concat();
        assert_eq!(Rounds::of(&with_empty_ones).intervals(&[(5, 9)], &[0.5], 0.95), None);
        let full = vec![vec![(5, u64::MAX), (9, u64::MAX)]; 10];
        let all = [(5, u64::MAX), (9, u64::MAX)];
        assert_eq!(Rounds::of(&full).intervals(&all, &[0.5, 1.0], 0.95).map(|all| all.len()), Some(2));
        // A bucket missing in `all` stands for itself.
        let ten = vec![vec![(5, 1)]; 10];
        assert_eq!(Rounds::of(&ten).intervals(&[], &[0.5], 0.95), Some(vec![(5, 5)]));
    }

    /// From SciPy: see tests/vectors.py.
    #[test]
    fn the_share_that_is_cut_off_is_that_of_the_expanded_percentile_interval() {
        let known: Vec<&str> = include_str!("../tests/vectors.txt")
            .lines()
            .filter_map(|line| line.strip_prefix("cut "))
            .collect();
        assert_eq!(known.len(), 4);
        for line in known {
            let [n, level, share] = line.split(' ').map(|x| x.parse().unwrap()).collect::<Vec<f64>>()[..]
            else {
                panic!("{line}");
            };
            let ours = cut_off(n, level).unwrap();
            assert!((ours / share - 1.0).abs() < 1e-6, "{line}: {ours}");
        }
    }
}
