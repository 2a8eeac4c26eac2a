//! The family test: finds the pairs that differ, judged over all pairs of all tables at once, by sign flips of whole rounds.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::flips::{PATTERNS, Reference};
pub use crate::table::{Table, across};
use crate::variance::{Grubbs, ROUNDING, weights};

/// The result for a family of tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The judged tables, in the order of the given ones.
    pub tables: Vec<Judged>,
    /// The |t| beyond which a pair differs; `None` if the rounds are too few for this α.
    pub critical: Option<f64>,
    /// Number of sign patterns in the reference distribution; a pattern and its opposite count once.
    pub patterns: usize,
    /// Whether all sign patterns were used; otherwise a sample was drawn from the seed.
    pub exhaustive: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub rounds: usize,
    /// For each candidate the standard deviation of a single value's logarithm: 0.05 is about 5 %. `None` below two rounds or two
    /// candidates.
    pub noise: Vec<Option<f64>>,
    /// All pairs with a < b: (0, 1), (0, 2), …, (1, 2), ….
    pub pairs: Vec<Pair>,
}

/// Two candidates in one table. Logarithms are those of the ratio a ÷ b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    pub a: usize,
    pub b: usize,
    /// Mean logarithm of the ratio. `None` without any round.
    pub estimate: Option<f64>,
    /// Standard error of the estimate. `None` below two rounds.
    pub error: Option<f64>,
    /// The t of this pair: estimate ÷ error.
    pub t: Option<f64>,
    /// p-value, adjusted for the whole family; 1 if undecidable. The pair differs if p ≤ α, exactly when the interval excludes
    /// 0.
    pub p: f64,
    /// Confidence interval, simultaneous over the family, at level 1 − α. `None` if the rounds are too few for this α.
    pub interval: Option<Interval>,
    /// The smallest true difference that such a test finds with 80 % probability. `None` if it can find none.
    pub detectable: Option<f64>,
}

/// Ends of an interval, as logarithms of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Pair {
    /// The result of the test: 1 if a is better than b, −1 if a is worse, 0 if the test does not decide.
    pub fn direction(&self) -> i8 {
        match self.interval {
            Some(Interval { low, .. }) if low > 0.0 => 1,
            Some(Interval { high, .. }) if high < 0.0 => -1,
            _ => 0,
        }
    }

    /// Whether the whole interval lies within ±`margin`, also a logarithm: ln(1 + 3 %).
    ///
    /// Two one-sided tests of D. J. Schuirmann (J. Pharmacokinet. Biopharm. 15 (1987), 657–680). They use the simultaneous
    /// interval instead of a 90 % one, so with 95 % probability no pair of the family is wrongly called equivalent. A pair may
    /// be both equivalent and different: 1 % ± 0.5 % is a difference without practical relevance. Misleads: with few
    /// rounds no pair is equivalent, which does not indicate a difference.
    pub fn equivalent(&self, margin: f64) -> bool {
        self.interval.is_some_and(|interval| -margin < interval.low && interval.high < margin)
    }
}

/// Judges all pairs of all tables as one family, with overall level `alpha`.
///
/// Per table of n rounds, c[i,r] is the value of candidate i in round r minus the round's mean. In that mean a candidate
/// noisier than the median has less weight:
///
/// ```text
/// t[i,j]   = (mean c[i] − mean c[j]) ÷ sqrt((g_i + g_j) ÷ n)     g: each candidate's own variance, by Grubbs
/// p        = share of the sign patterns for which the largest |t| over all pairs of all tables is at least as large
/// interval = estimate ± q·error                                  q: the largest |t| at which p is still above α
/// ```
///
/// The reference distribution comes from the residuals, each value minus its round's and its candidate's mean. The signs of
/// whole rounds are flipped, and means, variances and t are recomputed. Rounds with the same number flip together in all
/// tables, which keeps shared effects (minutes of a busy machine) together. Up to 14 rounds all sign patterns are used; beyond,
/// 10,000 including the observed one, drawn from the seed.
///
/// Largest t over a family: P. H. Westfall and S. S. Young, *Resampling-Based Multiple Testing*, Wiley 1993, single step.
/// Residuals: D. A. Freedman and D. Lane (J. Bus. Econ. Stat. 1 (1983), 292–298). **Residuals instead of centred values**:
/// centred values contain the true differences. When flipped, these inflate the variances under which equal pairs are judged;
/// once some candidates differ, equal ones are called different in nearly every study. **Single step instead of step-down**:
/// step-down cannot give every pair an interval that agrees with its p and keep simultaneous coverage. `tests/simulation`
/// prints the rates of both beside those of this rule.
///
/// Edge cases: a row with a missing or infinite value never enters a [`Table`]. One candidate gives no pairs. One round gives
/// an estimate without error, p = 1. A table with n rounds and 2^(1−n) > α can find nothing: it has estimates and errors but no
/// intervals, and is left out of the reference. Values without variance are judged with a deviation of 10⁻¹², so equal ones
/// have t = 0 and others a huge one. No result is NaN or infinite.
///
/// Misleads if the noise of two candidates is both skewed and unequal (one of them stalls occasionally): means of few rounds
/// are then biased, and an interval misses in about one study in ten. Rounds must be independent except for effects common to
/// all candidates. A table with fewer rounds than the others costs all of them power.
pub fn judge(tables: &[Table], alpha: f64, seed: u64) -> Family {
    judge_by(tables, alpha, PATTERNS, seed)
}

/// Like [`judge`] with at most `patterns` sign patterns instead of 10,000: for simulations of ten thousand families, whose
/// rates do not depend on the coarser p.
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

/// A table minus its rounds' means.
struct Centred {
    rounds: usize,
    candidates: usize,
    weights: Vec<f64>,
    residuals: Table,
    /// Mean of each candidate. Empty without rounds.
    means: Vec<f64>,
    /// Own variance of each candidate. Empty below two rounds.
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

    /// With n rounds one in 2^(n−1) sign patterns is the observed one.
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
        // A single candidate always equals its round's mean.
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
        // A difference within rounding is zero, even if nothing varies.
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

/// Degrees of freedom of a pair's error: F. E. Satterthwaite (Biometrics Bulletin 2 (1946), 110–114). With two candidates only
/// their difference is known.
fn degrees(table: &Centred, a: usize, b: usize) -> f64 {
    let (of_each, a, b) = (table.rounds as f64 - 1.0, table.own[a], table.own[b]);
    if table.candidates == 2 { of_each } else { of_each * (a + b) * (a + b) / (a * a + b * b) }
}

/// Forces agreement despite rounding: the interval excludes 0 exactly if the pair differs.
fn about(estimate: f64, half: f64, differs: bool) -> Interval {
    let Interval { low, high } = Interval { low: estimate - half, high: estimate + half };
    match (differs, estimate > 0.0) {
        (true, true) => Interval { low: low.max(f64::MIN_POSITIVE), high },
        (true, false) => Interval { low, high: high.min(-f64::MIN_POSITIVE) },
        (false, _) => Interval { low: low.min(0.0), high: high.max(0.0) },
    }
}

/// The true difference, in standard errors, at which |t| > `critical` has probability `power`.
///
/// From P(T ≥ q) ≈ Φ((δ − q·(1 − 1/4ν)) ÷ sqrt(1 + q²/2ν)) for a noncentral t with ν degrees of freedom and noncentrality δ
/// (M. Abramowitz and I. A. Stegun, *Handbook of Mathematical Functions*, 26.7.10). Accurate to 0.01 from ν = 5.
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
        // As in virtual time: the first two are identical, the third is 1 % faster, and all rounds are equal.
        let family = judge(&[table(6, |_| vec![2.0, 2.0, 2.01])], 0.05, 0);
        let [same, slower, _] = family.tables[0].pairs[..] else { panic!("{family:?}") };
        assert_eq!((same.t, same.p, same.direction()), (Some(0.0), 1.0, 0));
        assert_eq!(same.interval, Some(Interval { low: 0.0, high: 0.0 }));
        assert!(slower.p <= 0.05 && slower.direction() == -1 && slower.t < Some(-1e6), "{slower:?}");
        assert!(numbers(&family).iter().all(|number| number.is_finite()), "{family:?}");
        // Rounding of logarithms is not a difference.
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
