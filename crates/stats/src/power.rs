//! Power of the family test for a plan, before any measurement.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::family::{Family, noncentrality};
use crate::looks::{ALPHA, Interim, Looks};
use crate::random::Random;
use crate::variance::{Grubbs, ROUNDING, weights};

/// Simulated studies per answer: a power of 80 % is known to within 0.9 % (one standard deviation).
const STUDIES: usize = 2000;

/// Up to this many rounds are drawn value by value; beyond, means and variances are drawn directly.
const ONE_BY_ONE: usize = 40;

/// Seed of the random numbers. All answers use the same numbers, so that a plan with more rounds never appears to find less.
const SEED: u64 = 0x70_6f_77_65_72;

/// Expected noise of a family: for each table and candidate, the standard deviation of a single value's logarithm.
///
/// The answers are simulated from a fixed seed: independent normal noise with these deviations, judged as in
/// [`crate::family::judge`]. Instead of sign flips, the critical |t| is that of normal noise with the degrees of freedom of
/// flipped residuals. `tests/simulation.rs` compares the answers with the actual test. Misleads if the expectation is wrong:
/// noise estimated from three rounds may be off by a factor of two, and a machine may be busier at other hours.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub tables: Vec<Vec<f64>>,
}

/// A pair of candidates in one of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Which {
    pub table: usize,
    pub a: usize,
    pub b: usize,
}

impl Expected {
    /// A family of `tables` tables of `candidates` candidates, all with the same noise.
    pub fn equal(tables: usize, candidates: usize, noise: f64) -> Expected {
        Expected { tables: vec![vec![noise; candidates]; tables] }
    }

    /// The noise observed in a family; `None` if the noise of a candidate is unknown.
    pub fn seen(family: &Family) -> Option<Expected> {
        let tables =
            family.tables.iter().map(|table| table.noise.iter().copied().collect::<Option<Vec<f64>>>());
        Some(Expected { tables: tables.collect::<Option<_>>()? })
    }

    /// This family with these looks.
    pub fn under(&self, looks: &Looks) -> Planned<'_> {
        let critical = self.critical(looks.planned());
        Planned { expected: self, stops: looks.planned().iter().map(|look| look.rounds).collect(), critical }
    }

    /// Number of rounds after which a single test at α = 5 % finds this difference (the logarithm of a ratio) with probability
    /// `power`. `None` above 1,000, or if the difference is zero.
    ///
    /// Uses formulas instead of simulation, because a report asks for every pair: accurate to one or two rounds in ten.
    pub fn rounds_to_find(&self, which: Which, difference: f64, power: f64) -> Option<usize> {
        let errors = |critical: f64, degrees: f64| noncentrality(critical, degrees, power);
        self.rounds_for(which, difference.abs(), 1000, errors)
    }

    /// Number of rounds after which a single test at α = 5 % finds two equal candidates equivalent with probability `power`.
    /// `margin` is the largest ratio that still counts as equivalent, as a logarithm. `None` above 10,000. As accurate as
    /// [`Expected::rounds_to_find`].
    pub fn rounds_to_be_equivalent(&self, which: Which, margin: f64, power: f64) -> Option<usize> {
        // The estimate may be off to either side.
        let either = 0.5 * (1.0 + power);
        let errors = |critical: f64, degrees: f64| noncentrality(critical, degrees, either);
        self.rounds_for(which, margin, 10_000, errors)
    }

    /// The smallest number of rounds for which `errors` (of critical |t| and degrees of freedom of the pair's error) fit into
    /// `within`.
    fn rounds_for(
        &self,
        which: Which,
        within: f64,
        most: usize,
        errors: impl Fn(f64, f64) -> f64,
    ) -> Option<usize> {
        let noise = &self.tables[which.table];
        let [a, b] = [which.a, which.b].map(|of| noise[of] * noise[of]);
        let share =
            if noise.len() == 2 { 1.0 } else { (a + b) * (a + b) / (a * a + b * b).max(f64::MIN_POSITIVE) };
        let beyond = Normal::standard().cdf(-self.critical_of_many());
        // With four or more candidates each own variance has nearly its rounds' degrees of freedom, and a pair has two of them.
        // The largest |t| comes from pairs with fewer. The simulation gives a quarter more.
        let wide = if self.tables.iter().any(|table| table.len() > 3) { 1.25 } else { 1.0 };
        least(most, |rounds| {
            let n = rounds as f64;
            let critical =
                || StudentsT::new(0.0, 1.0, wide * (n - 2.0)).map(|student| -student.inverse_cdf(beyond));
            can_find(&Interim { rounds, alpha: ALPHA })
                && critical().is_ok_and(|critical| {
                    errors(critical, share.max(1.0) * (n - 1.0)) * ((a + b) / n).sqrt() < within
                })
        })
    }

    /// The |t| that the largest of all pairs exceeds with 5 % probability if each candidate's noise is known.
    fn critical_of_many(&self) -> f64 {
        let mut random = Random::new(SEED);
        let mut largest: Vec<f64> = (0..STUDIES).map(|_| self.largest_of_many(&mut random)).collect();
        largest.sort_unstable_by(|x, y| y.total_cmp(x));
        largest[(ALPHA * STUDIES as f64) as usize]
    }

    fn largest_of_many(&self, random: &mut Random) -> f64 {
        let mut largest = 0.0_f64;
        for noise in &self.tables {
            let means: Vec<f64> = noise.iter().map(|noise| noise * random.normal()).collect();
            for b in 1..means.len() {
                for a in 0..b {
                    let apart = means[a] - means[b];
                    largest = largest.max(apart * apart / (noise[a] * noise[a] + noise[b] * noise[b]));
                }
            }
        }
        largest.sqrt()
    }

    /// For each look, the |t| that the largest of all pairs exceeds with probability α. `None` if the rounds are too few.
    fn critical(&self, looks: &[Interim]) -> Vec<Option<f64>> {
        if !looks.iter().any(can_find) {
            return vec![None; looks.len()];
        }
        // Flipped residuals have one degree of freedom less than the observed rounds.
        let stops: Vec<usize> = looks.iter().map(|look| look.rounds.saturating_sub(1)).collect();
        let mut random = Random::new(SEED);
        let mut study = |_| {
            let mut largest = vec![0.0_f64; looks.len()];
            for noise in &self.tables {
                rounds_of(noise, &stops, &mut random, |stop, sums| {
                    largest[stop] = largest[stop].max(sums.largest());
                });
            }
            largest
        };
        let studies: Vec<Vec<f64>> = (0..STUDIES).map(&mut study).collect();
        let of_look = |at: usize| studies.iter().map(|largest| largest[at]).collect();
        looks.iter().enumerate().map(|(at, look)| critical(*look, of_look(at))).collect()
    }
}

/// The expected noise of a family, and the looks at which the family is judged.
pub struct Planned<'a> {
    expected: &'a Expected,
    stops: Vec<usize>,
    critical: Vec<Option<f64>>,
}

impl Planned<'_> {
    /// For each look, the |t| beyond which a pair differs. `None` if the rounds are too few for its α.
    pub fn critical(&self) -> &[Option<f64>] {
        &self.critical
    }

    /// Probability that a true difference of this pair (a logarithm) is found at one of the looks.
    pub fn power(&self, which: Which, difference: f64) -> f64 {
        self.share(&self.needed(which), difference.abs())
    }

    /// The true difference found with probability `power`. `None` if the rounds are too few for any.
    pub fn detectable(&self, which: Which, power: f64) -> Option<f64> {
        let mut needed = self.needed(which);
        needed.sort_unstable_by(f64::total_cmp);
        let at = ((power * STUDIES as f64).ceil() as usize).clamp(1, STUDIES) - 1;
        needed.get(at).copied().filter(|needed| needed.is_finite()).map(|needed| needed.max(0.0))
    }

    /// Probability that this pair, if equal, is called equivalent within ±`margin` at one of the looks.
    pub fn equivalent(&self, which: Which, margin: f64) -> f64 {
        let width = |off: f64, error: f64, critical: f64| critical * error + off.abs();
        self.share(&self.least_of(which, width), margin)
    }

    /// The smallest difference that each simulated study would have found.
    fn needed(&self, which: Which) -> Vec<f64> {
        self.least_of(which, |off, error, critical| critical * error - off)
    }

    /// For each study the minimum over the looks of `of` (error of the estimate, standard error, critical |t|).
    fn least_of(&self, which: Which, of: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        let noise = &self.expected.tables[which.table];
        if self.critical.iter().all(Option::is_none) {
            return vec![f64::INFINITY; STUDIES];
        }
        let mut random = Random::new(SEED + 1);
        let study = |_| {
            let mut least = f64::INFINITY;
            rounds_of(noise, &self.stops, &mut random, |stop, sums| {
                if let Some(critical) = self.critical[stop] {
                    let (off, error) = sums.pair(which.a, which.b);
                    least = least.min(of(off, error, critical));
                }
            });
            least
        };
        (0..STUDIES).map(study).collect()
    }

    fn share(&self, needed: &[f64], given: f64) -> f64 {
        needed.iter().filter(|needed| **needed < given).count() as f64 / needed.len() as f64
    }
}

/// With n rounds one in 2^(n−1) sign patterns is the observed one.
fn can_find(look: &Interim) -> bool {
    look.rounds >= 3 && 0.5_f64.powf(look.rounds as f64 - 1.0) <= look.alpha
}

fn critical(look: Interim, mut largest: Vec<f64>) -> Option<f64> {
    if !can_find(&look) {
        return None;
    }
    largest.sort_unstable_by(|x, y| y.total_cmp(x));
    largest.get((look.alpha * STUDIES as f64) as usize).copied()
}

/// The smallest number of rounds up to `most` that is `enough`; more rounds are never worse.
fn least(most: usize, enough: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut too_few, mut enough_of) = (1, 2);
    while !enough(enough_of) {
        if enough_of == most {
            return None;
        }
        (too_few, enough_of) = (enough_of, (2 * enough_of).min(most));
    }
    while enough_of - too_few > 1 {
        let middle = usize::midpoint(too_few, enough_of);
        if enough(middle) { enough_of = middle } else { too_few = middle }
    }
    Some(enough_of)
}

/// Running rounds of one table: each candidate's sum and sum of squares.
struct Sums<'a> {
    noise: &'a [f64],
    /// The weights for this noise; a study has to estimate them. `None` if rounds are not drawn one by one: values are then not
    /// centred, as if each candidate's own noise were visible.
    weights: Option<Vec<f64>>,
    rounds: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
    row: Vec<f64>,
}

/// Draws rounds of identical candidates with this noise and calls `show` at each of the rising stops.
fn rounds_of(noise: &[f64], stops: &[usize], random: &mut Random, mut show: impl FnMut(usize, &Sums<'_>)) {
    debug_assert!(stops.is_sorted(), "stops rise: {stops:?}");
    let none = || vec![0.0; noise.len()];
    let one_by_one = stops.last().is_none_or(|last| *last <= ONE_BY_ONE);
    let weights = || weights(&noise.iter().map(|noise| noise * noise).collect::<Vec<f64>>());
    let weights = one_by_one.then(weights);
    let mut sums = Sums { noise, weights, rounds: 0.0, sums: none(), squares: none(), row: none() };
    let mut had = 0;
    for (stop, rounds) in stops.iter().enumerate() {
        let more = rounds.saturating_sub(had);
        if one_by_one {
            (0..more).for_each(|_| sums.draw(random));
        } else if more > 0 {
            sums.draw_all(more as f64, random);
        }
        had += more;
        show(stop, &sums);
    }
}

impl Sums<'_> {
    /// Draws one round.
    fn draw(&mut self, random: &mut Random) {
        self.row.iter_mut().zip(self.noise).for_each(|(value, noise)| *value = noise * random.normal());
        let weights = self.weights.iter().flatten();
        let mean: f64 = self.row.iter().zip(weights).map(|(value, weight)| value * weight).sum();
        for (of, value) in self.row.iter().enumerate() {
            self.sums[of] += value - mean;
            self.squares[of] += (value - mean) * (value - mean);
        }
        self.rounds += 1.0;
    }

    /// Draws this many rounds at once: their mean is normal, their squares about it are chi-squared, approximated as in
    /// E. B. Wilson and M. M. Hilferty (PNAS 17 (1931), 684–688): ν·(1 − 2/9ν + z·sqrt(2/9ν))³.
    fn draw_all(&mut self, rounds: f64, random: &mut Random) {
        let (freedom, common) = (rounds - 1.0, random.normal());
        let part = 2.0 / (9.0 * freedom.max(1.0));
        for (of, noise) in self.noise.iter().enumerate() {
            let mean = noise * random.normal() / rounds.sqrt();
            // With two candidates only their difference is visible, so both variances have the same error.
            let z = if self.noise.len() == 2 { common } else { random.normal() };
            let about = noise * noise * freedom * (1.0 - part + z * part.sqrt()).max(0.0).powi(3);
            self.sums[of] += rounds * mean;
            self.squares[of] += rounds * mean * mean + about;
        }
        self.rounds += rounds;
    }

    fn own(&self) -> Vec<f64> {
        let spread = self.sums.iter().zip(&self.squares).map(|(sum, squares)| {
            (squares - sum * sum / self.rounds).max(0.0) / (self.rounds - 1.0).max(1.0)
        });
        let spread: Vec<f64> = spread.collect();
        let Some(weights) = &self.weights else {
            return spread.iter().map(|s| s.max(ROUNDING * ROUNDING)).collect();
        };
        let mut own = Vec::with_capacity(self.noise.len());
        Grubbs::new(weights).own(&spread, &mut own);
        own
    }

    /// The error of this pair's estimate in a simulated study, and the standard error.
    fn pair(&self, a: usize, b: usize) -> (f64, f64) {
        let own = self.own();
        ((self.sums[a] - self.sums[b]) / self.rounds, ((own[a] + own[b]) / self.rounds).sqrt())
    }

    /// The largest |t| of all pairs.
    fn largest(&self) -> f64 {
        let own = self.own();
        let mut largest = 0.0_f64;
        for b in 1..own.len() {
            for a in 0..b {
                let apart = self.sums[a] - self.sums[b];
                largest = largest.max(apart * apart / (own[a] + own[b]));
            }
        }
        (largest / self.rounds.max(1.0)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Which = Which { table: 0, a: 0, b: 1 };

    fn detectable(expected: &Expected, rounds: usize) -> Option<f64> {
        expected.under(&Looks::once(rounds)).detectable(FIRST, 0.8)
    }

    #[test]
    fn more_rounds_find_less_and_larger_families_find_more_only() {
        let family = Expected::equal(1, 8, 0.05);
        let of: Vec<f64> = [8, 10, 14, 20, 40].map(|rounds| detectable(&family, rounds).unwrap()).to_vec();
        assert!(of.windows(2).all(|pair| pair[1] < pair[0]), "{of:?}");
        assert!(detectable(&Expected::equal(6, 8, 0.05), 10).unwrap() > of[1]);
        assert!((detectable(&Expected::equal(1, 8, 0.1), 10).unwrap() / of[1] - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_detectable_difference_is_found_as_often_as_it_says() {
        let expected = Expected { tables: vec![vec![0.05, 0.08, 0.03, 0.2], vec![0.1; 4]] };
        for looks in [Looks::once(9), Looks::auto()] {
            let planned = expected.under(&looks);
            let which = Which { table: 1, a: 3, b: 1 };
            let difference = planned.detectable(which, 0.8).unwrap();
            assert!((planned.power(which, difference * 1.000_001) - 0.8).abs() < 0.001);
        }
    }

    #[test]
    fn too_few_rounds_find_nothing() {
        let family = Expected::equal(1, 3, 0.05);
        assert_eq!((detectable(&family, 5), family.under(&Looks::once(5)).power(FIRST, 9.0)), (None, 0.0));
        assert_eq!((detectable(&family, 0), detectable(&family, 1)), (None, None));
        assert!(detectable(&family, 6).is_some());
        // At ten rounds 0.01 is enough to find something.
        let looks = Looks::auto();
        assert!(family.under(&looks).critical().iter().all(Option::is_some));
    }

    /// The formulas against the simulation, which costs a thousand times as much.
    #[test]
    fn rounds_from_formulas_have_the_power_that_was_asked_for() {
        let readme = vec![0.05, 0.05, 0.03, 0.22, 0.07, 0.09, 0.12, 0.13];
        for tables in [
            vec![vec![0.05; 8]],
            vec![vec![0.05; 8]; 3],
            vec![vec![0.05; 2]],
            vec![readme],
            vec![vec![0.05; 3]; 2],
        ] {
            let family = Expected { tables };
            for difference in [0.05, 0.1, 0.15] {
                let rounds = family.rounds_to_find(FIRST, difference, 0.8).unwrap();
                let power = family.under(&Looks::once(rounds)).power(FIRST, difference);
                assert!(
                    power >= 0.7 && (power <= 0.93 || rounds == 6),
                    "{family:?}, {difference}: {power} at {rounds}"
                );
            }
            for margin in [0.03, 0.1] {
                let rounds = family.rounds_to_be_equivalent(FIRST, margin, 0.8).unwrap();
                let power = family.under(&Looks::once(rounds)).equivalent(FIRST, margin);
                assert!(
                    power >= 0.7 && (power <= 0.93 || rounds == 6),
                    "{family:?}, within {margin}: {power} at {rounds}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_found_needs_no_number_of_rounds() {
        let family = Expected::equal(1, 4, 0.05);
        assert_eq!(
            (family.rounds_to_find(FIRST, 0.0, 0.8), family.rounds_to_be_equivalent(FIRST, 0.0, 0.8)),
            (None, None)
        );
        assert_eq!(Expected::equal(1, 2, 0.0).rounds_to_find(FIRST, 0.1, 0.8), Some(6));
        assert_eq!(Expected::equal(1, 3, 0.0).rounds_to_be_equivalent(FIRST, 0.1, 0.8), Some(6));
    }

    /// Beyond rounds drawn one by one the answers continue smoothly: error × sqrt(n) changes slowly.
    #[test]
    fn many_rounds_at_once_go_on_from_few() {
        for family in
            [Expected::equal(1, 2, 0.05), Expected { tables: vec![vec![0.05, 0.05, 0.1, 0.3, 0.02]] }]
        {
            let few = detectable(&family, ONE_BY_ONE).unwrap() * (ONE_BY_ONE as f64).sqrt();
            let many = detectable(&family, ONE_BY_ONE + 4).unwrap() * (ONE_BY_ONE as f64 + 4.0).sqrt();
            assert!((many / few - 1.0).abs() < 0.03, "{few} {many}");
        }
    }

    #[test]
    fn noise_that_was_seen_becomes_what_is_expected() {
        let mut table = crate::family::Table::new(2);
        assert_eq!(Expected::seen(&crate::family::judge(&[table.clone()], 0.05, 0)), None);
        (0..4).for_each(|round| assert!(table.push(round, &[f64::from(round % 2), 0.0])));
        let seen = Expected::seen(&crate::family::judge(&[table], 0.05, 0)).unwrap();
        // Differences 0, 1, 0, 1: variance 1/3, of which each has half.
        assert!(seen.tables[0].iter().all(|noise| (noise * noise - 1.0 / 6.0).abs() < 1e-12), "{seen:?}");
    }
}
