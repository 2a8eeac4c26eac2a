//! The family test: which pairs differ, judged over all pairs of all tables at once, by flipping the signs of whole rounds.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::flips::{PATTERNS, Reference};
pub use crate::table::{Table, across};
use crate::variance::{Grubbs, ROUNDING, weights};

/// What was found about a family of tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// In the order of the tables that were given.
    pub tables: Vec<Judged>,
    /// The |t| beyond which a pair differs; `None` where no |t| is enough: there are too few rounds for this α.
    pub critical: Option<f64>,
    /// How many patterns of signs the reference distribution has, a pattern and its opposite counted once.
    pub patterns: usize,
    /// Whether these are all patterns that there are; otherwise they were drawn from the seed.
    pub exhaustive: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub rounds: usize,
    /// For each candidate the standard deviation of a single value, as a logarithm: 0.05 is about 5 %. `None` below two rounds
    /// or two candidates.
    pub noise: Vec<Option<f64>>,
    /// All pairs with a < b: (0, 1), (0, 2), …, (1, 2), ….
    pub pairs: Vec<Pair>,
}

/// Two candidates in one table. All that is a logarithm is one of the ratio a ÷ b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub a: usize,
    pub b: usize,
    /// Mean logarithm of the ratio. `None` without any round.
    pub estimate: Option<f64>,
    /// Its standard error. `None` below two rounds.
    pub error: Option<f64>,
    /// Estimate ÷ error.
    pub t: Option<f64>,
    /// Adjusted for the whole family; 1 where nothing can be said. The pair differs where p ≤ α, and just there the interval
    /// leaves out 0.
    pub p: f64,
    /// Simultaneous over the family, at the level 1 − α. `None` where any ratio is possible: too few rounds for this α.
    pub interval: Option<Interval>,
    /// The smallest true difference that such a test would find with 80 % probability. `None` where it could find none.
    pub detectable: Option<f64>,
}

/// Ends of an interval, as logarithms of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Pair {
    /// 1: a is better than b; −1: worse; 0: not known.
    pub fn direction(&self) -> i8 {
        match self.interval {
            Some(Interval { low, .. }) if low > 0.0 => 1,
            Some(Interval { high, .. }) if high < 0.0 => -1,
            _ => 0,
        }
    }

    /// Whether the whole interval lies within ±`margin`, itself a logarithm: ln(1 + 3 %).
    ///
    /// Two one-sided tests of D. J. Schuirmann (J. Pharmacokinet. Biopharm. 15 (1987), 657–680), made with the simultaneous
    /// interval in place of one of 90 %, so that with 95 % probability no pair of the family is wrongly called equivalent. A
    /// pair may be both equivalent and different: 1 % ± 0.5 % is a difference that nobody needs. Misleads: with few rounds
    /// nothing is equivalent, and that is no sign of a difference.
    pub fn equivalent(&self, margin: f64) -> bool {
        self.interval.is_some_and(|interval| -margin < interval.low && interval.high < margin)
    }
}

/// Judges all pairs of all tables as one family, at the level `alpha` for all of it together.
///
/// Per table of n rounds, with c[i,r] the value of candidate i in round r less the round's mean, in which a candidate that is
/// noisier than the median counts for less:
///
/// ```text
/// t[i,j]   = (mean c[i] − mean c[j]) ÷ sqrt((g_i + g_j) ÷ n)     g: each candidate's own variance, by Grubbs
/// p        = share of the patterns of signs for which the largest |t| over all pairs of all tables is as large
/// interval = estimate ± q·error                                  q: the largest |t| at which p is still above α
/// ```
///
/// The reference distribution comes from the residuals, each value less its round's and its candidate's mean; the signs of whole
/// rounds are flipped, and means, variances and t computed anew. Rounds of the same number are flipped together in all tables,
/// so what tables have in common (the minutes of a busy machine) stays together. Up to 14 rounds all patterns of signs are
/// taken, above 10,000 with that of the rounds as they were, drawn from the seed.
///
/// The largest t over a family: P. H. Westfall and S. S. Young, *Resampling-Based Multiple Testing*, Wiley 1993, single step;
/// residuals: D. A. Freedman and D. Lane (J. Bus. Econ. Stat. 1 (1983), 292–298). **Residuals, not the centred values
/// themselves**: those still contain the true differences. Flipped, these blow up the variances under which pairs without a
/// difference are judged, and once some candidates differ, others that do not are called different in nearly every study. **One
/// step, not step-down**: an interval for every pair and a p that never contradicts it cannot both come from step-down without
/// losing simultaneous coverage. `tests/simulation` prints the rates of both beside those of this rule.
///
/// What it does with little: a row with a missing or infinite value never enters a [`Table`]. With one candidate there are no
/// pairs. With one round there is an estimate without error, p = 1. A table with so few rounds n that 2^(1−n) > α can find
/// nothing: it has estimates and errors, no intervals, and is left out of the reference. Values without any variance are judged
/// with a deviation of 10⁻¹², so equal ones have t = 0 and others a huge one. Nothing is ever NaN or infinite.
///
/// Misleads: where the noise of two candidates is both skewed and unequal (one of them stalls now and then), means of few rounds
/// lean to a side, and about one study in ten has an interval that misses. Rounds must be independent but for what they do to all
/// candidates alike. A table with fewer rounds than the others costs all of them power.
pub fn judge(tables: &[Table], alpha: f64, seed: u64) -> Family {
    judge_by(tables, alpha, PATTERNS, seed)
}

/// As [`judge`], with at most so many patterns of signs in place of 10,000: for simulations of ten thousand families, whose rates
/// the coarser p does not change.
pub fn judge_by(tables: &[Table], alpha: f64, patterns: usize, seed: u64) -> Family {
    let centred: Vec<Centred> = tables.iter().map(Centred::new).collect();
    let able = centred.iter().filter(|table| table.own.len() > 1 && table.least_p() <= alpha);
    let able: Vec<(&Table, &[f64])> =
        able.map(|table| (&table.residuals, table.weights.as_slice())).collect();
    let reference = Reference::of(&able, patterns, seed);
    let critical = reference.critical(alpha);
    let judge = Judge { reference: &reference, critical, alpha };
    Family {
        tables: centred.iter().map(|table| judge.judged(table)).collect(),
        critical,
        patterns: reference.patterns(),
        exhaustive: reference.exhaustive,
    }
}

/// A table with its rounds' means taken away.
struct Centred {
    rounds: usize,
    candidates: usize,
    weights: Vec<f64>,
    residuals: Table,
    /// Of each candidate. Nothing of no rounds.
    means: Vec<f64>,
    /// Of each candidate its own variance. Nothing below two rounds.
    own: Vec<f64>,
}

impl Centred {
    fn new(table: &Table) -> Centred {
        let (rounds, candidates) = (table.rounds().len(), table.candidates());
        let centred = table.centred();
        let means = centred.means();
        let alike = vec![1.0 / candidates as f64; candidates];
        let mut centred = Centred {
            rounds,
            candidates,
            weights: alike,
            residuals: centred.residuals(),
            means,
            own: Vec::new(),
        };
        if rounds >= 2 {
            centred.estimate();
            centred.weights = weights(&centred.own);
            centred.residuals = centred.residuals.centred_by(&centred.weights);
            centred.estimate();
        }
        centred
    }

    fn estimate(&mut self) {
        Grubbs::new(&self.weights).own(&self.residuals.spread(), &mut self.own);
    }

    /// With n rounds one pattern in 2^(n−1) is that of the rounds as they were.
    fn least_p(&self) -> f64 {
        0.5_f64.powf(self.rounds as f64 - 1.0).min(1.0)
    }
}

struct Judge<'a> {
    reference: &'a Reference,
    critical: Option<f64>,
    alpha: f64,
}

impl Judge<'_> {
    fn judged(&self, table: &Centred) -> Judged {
        // One alone is always at its round's mean.
        let known = |of: usize| table.own.get(of).filter(|_| table.candidates > 1).map(|own| own.sqrt());
        let noise = (0..table.candidates).map(known).collect();
        let all = (0..table.candidates).flat_map(|a| (a + 1..table.candidates).map(move |b| (a, b)));
        Judged { rounds: table.rounds, noise, pairs: all.map(|(a, b)| self.pair(table, a, b)).collect() }
    }

    fn pair(&self, table: &Centred, a: usize, b: usize) -> Pair {
        let mut pair =
            Pair { a, b, estimate: None, error: None, t: None, p: 1.0, interval: None, detectable: None };
        if table.means.is_empty() {
            return pair;
        }
        let estimate = table.means[a] - table.means[b];
        pair.estimate = Some(estimate);
        if table.own.is_empty() {
            return pair;
        }
        let error = ((table.own[a] + table.own[b]) / table.rounds as f64).sqrt();
        // A difference that is mere rounding is none, also where nothing varies.
        let t = if estimate.abs() < ROUNDING { 0.0 } else { estimate / error };
        (pair.error, pair.t) = (Some(error), Some(t));
        pair.p = self.reference.p(t).max(table.least_p());
        if let Some(critical) = self.critical.filter(|_| table.least_p() <= self.alpha) {
            pair.interval = Some(about(estimate, critical * error, pair.p <= self.alpha));
            pair.detectable = Some(error * noncentrality(critical, degrees(table, a, b), 0.8));
        }
        pair
    }
}

/// Degrees of freedom of a pair's error: F. E. Satterthwaite (Biometrics Bulletin 2 (1946), 110–114). Of two candidates only their
/// difference is known.
fn degrees(table: &Centred, a: usize, b: usize) -> f64 {
    let (of_each, a, b) = (table.rounds as f64 - 1.0, table.own[a], table.own[b]);
    if table.candidates == 2 { of_each } else { of_each * (a + b) * (a + b) / (a * a + b * b) }
}

/// Rounding decides nothing: the interval leaves out 0 just where the pair differs.
fn about(estimate: f64, half: f64, differs: bool) -> Interval {
    let Interval { low, high } = Interval { low: estimate - half, high: estimate + half };
    match (differs, estimate > 0.0) {
        (true, true) => Interval { low: low.max(f64::MIN_POSITIVE), high },
        (true, false) => Interval { low, high: high.min(-f64::MIN_POSITIVE) },
        (false, _) => Interval { low: low.min(0.0), high: high.max(0.0) },
    }
}

/// How many errors a true difference must have, so that |t| > `critical` with the probability `power`.
///
/// From P(T ≥ q) ≈ Φ((δ − q·(1 − 1/4ν)) ÷ sqrt(1 + q²/2ν)) for a noncentral t with ν degrees of freedom and noncentrality δ
/// (M. Abramowitz and I. A. Stegun, *Handbook of Mathematical Functions*, 26.7.10). Good to a hundredth from ν = 5 on.
pub(crate) fn noncentrality(critical: f64, degrees: f64, power: f64) -> f64 {
    let z = Normal::standard().inverse_cdf(power);
    let beyond = critical * (1.0 - 0.25 / degrees) + z * (1.0 + critical * critical / (2.0 * degrees)).sqrt();
    beyond.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn table(rounds: u32, rows: impl Fn(u32) -> Vec<f64>) -> Table {
        let mut table = Table::new(rows(0).len());
        assert!((0..rounds).all(|round| table.push(round, &rows(round))));
        table
    }

    fn noisy(rounds: u32, effects: &[f64], seed: u64) -> Table {
        let mut random = Random::new(seed);
        let mut table = Table::new(effects.len());
        for round in 0..rounds {
            let row: Vec<f64> = effects.iter().map(|effect| effect + 0.05 * random.normal()).collect();
            assert!(table.push(round, &row));
        }
        table
    }

    /// Every number of a family.
    fn numbers(family: &Family) -> Vec<f64> {
        let pairs = || family.tables.iter().flat_map(|table| &table.pairs);
        let ends =
            pairs().filter_map(|pair| pair.interval).flat_map(|interval| [interval.low, interval.high]);
        let noise = family.tables.iter().flat_map(|table| table.noise.iter().copied().flatten());
        let of_pairs = pairs().flat_map(|p| [p.estimate, p.error, p.t, p.detectable, Some(p.p)]).flatten();
        ends.chain(noise).chain(of_pairs).chain(family.critical).collect()
    }

    /// From SciPy's noncentral t: see tests/vectors.py.
    #[test]
    fn noncentralities_are_those_of_the_noncentral_t_to_a_hundredth() {
        let known: Vec<&str> = include_str!("../tests/vectors.txt")
            .lines()
            .filter_map(|line| line.strip_prefix("noncentral "))
            .collect();
        assert_eq!(known.len(), 4);
        for line in known {
            let [q, degrees, power, known] =
                line.split(' ').map(|x| x.parse().unwrap()).collect::<Vec<f64>>()[..]
            else {
                panic!("{line}");
            };
            let ours = noncentrality(q, degrees, power);
            assert!((ours / known - 1.0).abs() < 0.015, "{line}: {ours}");
        }
    }

    #[test]
    fn p_and_interval_never_contradict_each_other() {
        for seed in 0..300 {
            let effects = [0.0, 0.01 * (seed % 12) as f64, 0.05, 0.1];
            let (rounds, alpha) = (5 + (seed % 12) as u32, [0.01, 0.025, 0.05, 0.2][seed as usize % 4]);
            let tables = [noisy(rounds, &effects, seed), noisy(rounds + 1, &effects[..2], seed + 1)];
            for pair in judge_by(&tables, alpha, 500, seed).tables.iter().flat_map(|table| &table.pairs) {
                assert_eq!(pair.p <= alpha, pair.direction() != 0, "{seed}: {pair:?}");
                let of_estimate = if pair.estimate > Some(0.0) { 1 } else { -1 };
                assert!(pair.direction() == 0 || pair.direction() == of_estimate, "{seed}: {pair:?}");
            }
        }
    }

    #[test]
    fn what_is_the_same_in_every_round_is_judged_exactly() {
        // As in virtual time: the first two are identical, the third is 1 % faster, and no round differs from another.
        let family = judge(&[table(6, |_| vec![2.0, 2.0, 2.01])], 0.05, 0);
        let [same, slower, _] = family.tables[0].pairs[..] else { panic!("{family:?}") };
        assert_eq!((same.t, same.p, same.direction()), (Some(0.0), 1.0, 0));
        assert_eq!(same.interval, Some(Interval { low: 0.0, high: 0.0 }));
        assert!(slower.p <= 0.05 && slower.direction() == -1 && slower.t < Some(-1e6), "{slower:?}");
        assert!(numbers(&family).iter().all(|number| number.is_finite()), "{family:?}");
        // Rounding of logarithms is no difference.
        let rounding =
            judge(&[table(8, |round| vec![f64::from(round).exp().ln(), f64::from(round)])], 0.05, 0);
        assert_eq!(rounding.tables[0].pairs[0].direction(), 0);
    }

    #[test]
    fn one_candidate_one_round_or_nothing_says_nothing() {
        let none = judge(&[], 0.05, 0);
        assert_eq!((none.tables.len(), none.critical), (0, None));
        let alone = judge(&[noisy(10, &[0.0], 1)], 0.05, 0);
        assert_eq!((alone.tables[0].pairs.len(), alone.tables[0].noise.as_slice()), (0, [None].as_slice()));
        let once = judge(&[table(1, |_| vec![1.0, 3.0])], 0.05, 0).tables[0].pairs[0];
        assert_eq!((once.estimate, once.error, once.p, once.interval), (Some(-2.0), None, 1.0, None));
        let empty = judge(&[Table::new(3)], 0.05, 0).tables[0].pairs.clone();
        assert_eq!((empty.len(), empty[0].estimate, empty[0].p), (3, None, 1.0));
    }

    #[test]
    fn five_rounds_find_nothing_however_large_the_difference_and_six_do() {
        for (rounds, found) in [(2, false), (5, false), (6, true)] {
            let pair = judge(&[noisy(rounds, &[0.0, 5.0], 1)], 0.05, 0).tables[0].pairs[0];
            assert_eq!(
                (pair.direction() == -1, pair.interval.is_some(), pair.detectable.is_some()),
                (found, found, found)
            );
        }
        assert_eq!(judge(&[noisy(20, &[0.0, 5.0], 1)], 0.0, 0).tables[0].pairs[0].direction(), 0);
    }

    #[test]
    fn a_table_with_too_few_rounds_leaves_the_others_as_they_are() {
        let long = noisy(10, &[0.0, 0.1, 0.2], 1);
        let alone = judge(std::slice::from_ref(&long), 0.05, 0);
        let both = judge(&[long, noisy(4, &[0.0, 9.0, 0.0], 2)], 0.05, 0);
        assert_eq!(both.tables[0], alone.tables[0]);
        assert!(both.tables[1].pairs.iter().all(|pair| pair.interval.is_none() && pair.p > 0.05));
    }

    #[test]
    fn a_larger_family_asks_for_more() {
        let one = noisy(10, &[0.0, 0.1, 0.2], 1);
        let others: Vec<Table> = (2..6).map(|seed| noisy(10, &[0.0; 6], seed)).collect();
        let alone = judge(std::slice::from_ref(&one), 0.05, 0);
        let among = judge(&[vec![one], others].concat(), 0.05, 0);
        assert!(among.critical > alone.critical);
        assert!(
            among.tables[0].pairs.iter().zip(&alone.tables[0].pairs).all(|(among, alone)| among.p >= alone.p)
        );
    }

    #[test]
    fn an_extreme_value_gives_finite_numbers() {
        let family = judge(&[table(9, |round| vec![744.0, -744.0, f64::from(round)])], 0.05, 0);
        assert!(numbers(&family).iter().all(|number| number.is_finite()), "{family:?}");
    }

    #[test]
    fn equivalent_means_that_the_whole_interval_lies_within_the_margin() {
        let pair =
            |interval| Pair { interval, ..judge(&[noisy(6, &[0.0, 0.0], 1)], 0.05, 0).tables[0].pairs[0] };
        assert!(pair(Some(Interval { low: -0.02, high: 0.01 })).equivalent(0.03));
        assert!(pair(Some(Interval { low: 0.01, high: 0.02 })).equivalent(0.03));
        assert!(!pair(Some(Interval { low: -0.02, high: 0.03 })).equivalent(0.03));
        assert!(!pair(None).equivalent(0.03));
    }
}
