//! Power of a plan, estimated by resampling measured rounds.

use crate::family::{Table, judge_by};
use crate::looks::Looks;
use crate::power::Which;
use crate::random::Random;

/// Minimum number of rounds: fewer rounds reveal only a standard deviation.
const FEWEST: usize = 10;
/// Maximum number of rounds: means of more rounds are practically normal, and [`crate::power`] is faster.
const MOST: usize = 100;
/// Number of simulated studies: a power of 80 % is then known to within 1.8 % (one standard deviation).
const STUDIES: u64 = 500;
const PATTERNS: usize = 200;
const SEED: u64 = 0x64_72_61_77_6e;

/// The observed noise of a family: rounds of all its tables, each value minus its candidate's mean.
///
/// [`crate::power`] assumes normal noise with a given deviation. Real noise is mostly small, with an occasional stall. The
/// stalls make most of the deviation, and most short studies contain none, so they find medium differences more often than
/// normal noise would allow. Example: ext4 on a busy machine (deviation 4.5 %, kurtosis 4 to 27), ten rounds, 5 %: 0.49 instead
/// of 0.21. Here whole rounds are drawn with replacement, with their stalls and all effects shared by candidates and tables,
/// and judged by sign flips like a run (bootstrap power: B. Efron and R. J. Tibshirani, *An Introduction to the Bootstrap*,
/// 1993, ch. 25). Misleads with few rounds, which may contain no stall yet. Dependent rounds are drawn as if independent.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// Number of candidates in each table.
    tables: Vec<usize>,
    /// The values of all tables in each round, table by table.
    rounds: Vec<Vec<f64>>,
}

impl Noise {
    /// Uses the rounds common to all tables; `None` if these are fewer than ten.
    pub fn of(tables: &[Table]) -> Option<Noise> {
        let residuals: Vec<Table> = tables.iter().map(|table| table.centred().residuals()).collect();
        let row = |table: &Table, of: u32| {
            table.rows().find_map(|(round, row)| (round == of).then(|| row.to_vec()))
        };
        let whole = |round: &u32| {
            let parts: Option<Vec<Vec<f64>>> = residuals.iter().map(|table| row(table, *round)).collect();
            parts.map(|parts| parts.concat())
        };
        let mut rounds: Vec<Vec<f64>> = tables.first()?.rounds().iter().filter_map(whole).collect();
        if rounds.len() < FEWEST {
            return None;
        }
        // Values lie closer to their own mean than to the true one.
        let n = rounds.len() as f64;
        let wider = (n / (n - 1.0)).sqrt();
        rounds.iter_mut().flatten().for_each(|value| *value *= wider);
        Some(Noise { tables: tables.iter().map(Table::candidates).collect(), rounds })
    }

    /// The power of these looks for these pairs. `None` above a hundred rounds.
    pub fn under(&self, looks: &Looks, pairs: &[Which]) -> Option<Drawn> {
        let most = looks.planned().last().map_or(0, |look| look.rounds);
        if most > MOST {
            return None;
        }
        let mut needed = vec![Vec::new(); pairs.len()];
        for study in 0..STUDIES {
            let drawn = self.study(most, study);
            let least = self.least(&drawn, looks, pairs);
            needed.iter_mut().zip(least).for_each(|(all, least)| all.push(least));
        }
        needed.iter_mut().for_each(|all| all.sort_unstable_by(f64::total_cmp));
        Some(Drawn { needed })
    }

    /// Draws the rounds of a study. A longer study begins with the same rounds.
    fn study(&self, rounds: usize, study: u64) -> Vec<&[f64]> {
        let mut random = Random::new(SEED + study);
        (0..rounds).map(|_| &*self.rounds[random.below(self.rounds.len())]).collect()
    }

    /// For each pair the smallest true difference that any look would have found. Residuals, and so errors and the critical
    /// |t|, do not depend on true differences.
    fn least(&self, study: &[&[f64]], looks: &Looks, pairs: &[Which]) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; pairs.len()];
        for look in looks.planned() {
            let family = judge_by(&self.as_tables(&study[..look.rounds]), look.alpha, PATTERNS, SEED);
            let Some(critical) = family.critical else { continue };
            for (which, least) in pairs.iter().zip(&mut least) {
                let pairs = &family.tables[which.table].pairs;
                let pair = pairs.iter().find(|pair| (pair.a, pair.b) == (which.a, which.b));
                if let Some((off, error)) = pair.and_then(|pair| pair.estimate.zip(pair.error)) {
                    *least = least.min(critical * error - off);
                }
            }
        }
        least
    }

    fn as_tables(&self, rounds: &[&[f64]]) -> Vec<Table> {
        let mut from = 0;
        let mut table = |candidates: &usize| {
            let mut table = Table::new(*candidates);
            for (number, row) in (0..).zip(rounds) {
                table.push(number, &row[from..from + candidates]);
            }
            from += candidates;
            table
        };
        self.tables.iter().map(&mut table).collect()
    }
}

/// For each pair and study, the smallest difference found, rising.
pub struct Drawn {
    needed: Vec<Vec<f64>>,
}

impl Drawn {
    /// Probability that a true difference (a logarithm) of that pair is found.
    pub fn power(&self, pair: usize, difference: f64) -> f64 {
        let needed = &self.needed[pair];
        needed.partition_point(|needed| *needed < difference.abs()) as f64 / needed.len() as f64
    }

    /// The true difference found with probability `power`. `None` if the rounds are too few for any.
    pub fn detectable(&self, pair: usize, power: f64) -> Option<f64> {
        let needed = &self.needed[pair];
        let at = ((power * needed.len() as f64).ceil() as usize).clamp(1, needed.len()) - 1;
        Some(needed[at]).filter(|needed| needed.is_finite()).map(|needed| needed.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::Expected;

    const FIRST: Which = Which { table: 0, a: 0, b: 1 };

    /// Rounds of four candidates that differ by half each, with this noise.
    fn table(rounds: u32, noise: impl Fn(&mut Random) -> f64) -> Table {
        let (mut table, mut random) = (Table::new(4), Random::new(3));
        for round in 0..rounds {
            let minutes = random.normal();
            let row: Vec<f64> = (0..4).map(|of| 0.5 * f64::from(of) + minutes + noise(&mut random)).collect();
            assert!(table.push(round, &row));
        }
        table
    }

    #[test]
    fn of_normal_noise_it_says_what_the_deviation_says() {
        let seen = table(400, |random| 0.05 * random.normal());
        let noise = Noise::of(std::slice::from_ref(&seen)).unwrap();
        for rounds in [8, 12, 20] {
            let looks = Looks::once(rounds);
            let drawn = noise.under(&looks, &[FIRST]).unwrap();
            let expected = Expected::equal(1, 4, 0.05);
            let normal = expected.under(&looks);
            for difference in [0.05, 0.08, 0.12] {
                let (drawn, normal) = (drawn.power(0, difference), normal.power(FIRST, difference));
                assert!((drawn - normal).abs() < 0.1, "{rounds}, {difference}: {drawn} {normal}");
            }
        }
    }

    #[test]
    fn of_rare_stalls_it_says_that_middling_differences_are_found_more_often() {
        // One value in twelve contributes nearly all of a deviation of 5 %.
        let stalls = |random: &mut Random| {
            let stall = if random.bits().is_multiple_of(12) { 0.17 } else { 0.0 };
            0.01 * random.normal() - stall
        };
        let noise = Noise::of(&[table(400, stalls)]).unwrap();
        let looks = Looks::once(8);
        let drawn = noise.under(&looks, &[FIRST]).unwrap().power(0, 0.06);
        let normal = Expected::equal(1, 4, 0.05).under(&looks).power(FIRST, 0.06);
        assert!(drawn > normal + 0.15, "{drawn} {normal}");
    }

    #[test]
    fn the_detectable_difference_is_found_as_often_as_it_says_and_less_with_fewer_rounds() {
        let noise = Noise::of(&vec![table(30, |random| 0.05 * random.normal()); 2]).unwrap();
        let which = Which { table: 1, a: 2, b: 3 };
        let of = |looks: &Looks| noise.under(looks, &[FIRST, which]).unwrap();
        let (ten, looks) = (of(&Looks::once(10)), of(&Looks::auto()));
        let detectable = ten.detectable(1, 0.8).unwrap();
        assert!((ten.power(1, detectable + 1e-9) - 0.8).abs() < 0.01);
        assert!(of(&Looks::once(20)).detectable(1, 0.8).unwrap() < detectable);
        assert!(looks.detectable(1, 0.8).unwrap() < detectable, "it goes on to twenty rounds");
        assert_eq!(of(&Looks::once(5)).detectable(0, 0.8), None);
    }

    #[test]
    fn few_rounds_and_none_in_common_tell_no_noise_and_very_many_need_none() {
        assert_eq!((Noise::of(&[]), Noise::of(&[table(9, |_| 0.0)])), (None, None));
        let mut other = Table::new(4);
        (100..120).for_each(|round| assert!(other.push(round, &[0.0; 4])));
        assert_eq!(Noise::of(&[table(20, |_| 0.0), other]), None);
        let noise = Noise::of(&[table(20, |_| 0.0)]).unwrap();
        assert!(noise.under(&Looks::once(101), &[FIRST]).is_none());
    }
}
