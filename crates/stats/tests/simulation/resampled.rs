//! Quantiles of merged histograms, with intervals by resampling whole rounds: whether they would hold. No report has them yet.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use fsderby_stats::random::Random;
use fsderby_stats::{quantile, quantile_of_counts};

/// Ends of an interval at 95 % are then good to about a tenth of its width.
const RESAMPLES: usize = 2000;

/// A quantile with its interval, in the histogram's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    pub value: u64,
    /// `None` with fewer than three rounds.
    pub interval: Option<(u64, u64)>,
}

/// The quantile `q` of all rounds' histograms together, with an interval at `level` (0.95).
///
/// Each round's buckets are (highest value, how many), rising, as in [`quantile_of_counts`], and rounds that have the same
/// bucket give it the same highest value. As many rounds as there are get drawn, with replacement, 2,000 times from the seed;
/// each time the histograms are merged and read. Operations of one round are not independent, so rounds are drawn, never
/// operations (the block bootstrap; M. H. Quenouille and B. Efron, Ann. Stat. 7 (1979), 1–26). With n rounds plain percentiles
/// are too narrow, so the wider share Φ(−sqrt(n ÷ (n − 1)) · t) is cut off at each side, t being that of Student with n − 1
/// degrees of freedom: the expanded percentile interval of T. C. Hesterberg (The American Statistician 69 (2015), 371–386).
///
/// `None` where nothing was counted. Misleads: far out with few operations. p99.9 is asked for from 10,000 operations on, of
/// which ten are beyond it; and where one round in ten had a stall, no interval from ten rounds knows how often stalls are.
pub fn quantile_by_rounds(rounds: &[Vec<(u64, u64)>], q: f64, level: f64, seed: u64) -> Option<Quantile> {
    let counted = Counted::new(rounds);
    let value = quantile_of_counts(&counted.merged(), q)?;
    let n = rounds.len();
    if n < 3 {
        return Some(Quantile { value, interval: None });
    }
    let mut random = Random::new(seed);
    let mut drawn = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let mut times = vec![0_u64; n];
        (0..n).for_each(|_| times[random.below(n)] += 1);
        drawn.extend(counted.quantile(&times, q).map(|value| value as f64));
    }
    let beyond = cut_off(n as f64, level)?;
    let (low, high) = (quantile(&drawn, beyond)?, quantile(&drawn, 1.0 - beyond)?);
    Some(Quantile {
        value,
        interval: Some(((low.floor() as u64).min(value), (high.ceil() as u64).max(value))),
    })
}

fn cut_off(n: f64, level: f64) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf((1.0 - level) / 2.0);
    Some(Normal::standard().cdf((n / (n - 1.0)).sqrt() * t).clamp(0.0, 0.5))
}

/// For each bucket of any round: its highest value, and of each round how many were counted up to it.
struct Counted {
    highest: Vec<u64>,
    up_to: Vec<Vec<u64>>,
}

impl Counted {
    fn new(rounds: &[Vec<(u64, u64)>]) -> Counted {
        let mut highest: Vec<u64> = rounds.iter().flatten().map(|(highest, _)| *highest).collect();
        highest.sort_unstable();
        highest.dedup();
        let up_to = rounds.iter().map(|round| {
            let mut buckets = round.iter().peekable();
            let mut sum = 0_u64;
            let until = |highest: &u64| {
                while let Some((_, count)) = buckets.next_if(|(of, _)| of <= highest) {
                    sum = sum.saturating_add(*count);
                }
                sum
            };
            highest.iter().map(until).collect()
        });
        Counted { up_to: up_to.collect(), highest }
    }

    fn merged(&self) -> Vec<(u64, u64)> {
        let once = vec![1; self.up_to.len()];
        let mut before = 0;
        let of = |at: usize| {
            let up_to = self.up_to(at, &once);
            let count = up_to - before;
            before = up_to;
            (self.highest[at], count)
        };
        (0..self.highest.len()).map(of).collect()
    }

    /// How many were counted up to this bucket, each round so many times.
    fn up_to(&self, bucket: usize, times: &[u64]) -> u64 {
        let of_each = self.up_to.iter().zip(times).map(|(round, times)| round[bucket].saturating_mul(*times));
        of_each.fold(0, u64::saturating_add)
    }

    /// As [`quantile_of_counts`] of the rounds so many times each, by halving.
    fn quantile(&self, times: &[u64], q: f64) -> Option<u64> {
        let all = self.up_to(self.highest.len().checked_sub(1)?, times);
        let rank = ((q * all as f64).ceil() as u64).max(1);
        let (mut from, mut to) = (0, self.highest.len());
        while from < to {
            let middle = (from + to) / 2;
            if self.up_to(middle, times) < rank { from = middle + 1 } else { to = middle }
        }
        self.highest.get(from).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> Vec<Vec<(u64, u64)>> {
        (0..10_u64).map(|round| vec![(10, 50 + round), (20 + round, 40), (1000, 1)]).collect()
    }

    #[test]
    fn the_value_is_that_of_the_merged_histogram() {
        let merged = [(10, 545), (20, 40), (21, 40), (22, 40), (23, 40), (24, 240), (1000, 10)];
        for q in [0.0, 0.3, 0.6, 0.7, 0.99, 1.0] {
            let ours = quantile_by_rounds(&rounds(), q, 0.95, 1).unwrap();
            let expected = quantile_of_counts(&merged, q).unwrap();
            assert!(
                ours.value == expected || (expected == 24 && (24..30).contains(&ours.value)),
                "{q}: {ours:?}"
            );
            let (low, high) = ours.interval.unwrap();
            assert!(low <= ours.value && ours.value <= high, "{q}: {ours:?}");
        }
    }

    #[test]
    fn rounds_times_so_many_are_read_like_their_merged_histogram() {
        let counted = Counted::new(&rounds());
        let times = [3, 0, 1, 2, 0, 0, 1, 1, 2, 0];
        let mut merged = std::collections::BTreeMap::new();
        for (round, times) in rounds().iter().zip(times) {
            round.iter().for_each(|(highest, count)| *merged.entry(*highest).or_insert(0) += count * times);
        }
        let merged: Vec<(u64, u64)> = merged.into_iter().collect();
        for q in [0.0, 0.2, 0.55, 0.6, 0.75, 0.9, 0.99, 1.0] {
            assert_eq!(counted.quantile(&times, q), quantile_of_counts(&merged, q), "{q}");
        }
    }

    #[test]
    fn rounds_that_differ_give_an_interval_and_rounds_that_do_not_give_a_point() {
        let same = vec![vec![(5, 90), (9, 10)]; 8];
        let quantile = quantile_by_rounds(&same, 0.95, 0.95, 1).unwrap();
        assert_eq!((quantile.value, quantile.interval), (9, Some((9, 9))));
        let differ: Vec<Vec<(u64, u64)>> = (1..=9).map(|round| vec![(round * 10, 100)]).collect();
        let (low, high) = quantile_by_rounds(&differ, 0.5, 0.95, 1).unwrap().interval.unwrap();
        assert!(low <= 30 && high >= 70, "{low} to {high}");
    }

    #[test]
    fn nothing_counted_is_no_quantile_and_two_rounds_have_no_interval() {
        assert_eq!(quantile_by_rounds(&[], 0.5, 0.95, 1), None);
        assert_eq!(quantile_by_rounds(&[vec![], vec![(5, 0)], vec![]], 0.5, 0.95, 1), None);
        let two = quantile_by_rounds(&[vec![(5, 1)], vec![(7, 1)]], 1.0, 0.95, 1).unwrap();
        assert_eq!((two.value, two.interval), (7, None));
    }

    /// From SciPy: see tests/vectors.py.
    #[test]
    fn the_share_that_is_cut_off_is_that_of_the_expanded_percentile_interval() {
        let known: Vec<&str> =
            include_str!("../vectors.txt").lines().filter_map(|line| line.strip_prefix("cut ")).collect();
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
