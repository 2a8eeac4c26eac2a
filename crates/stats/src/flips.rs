//! Reference distribution of the largest |t| over a family, from sign flips of whole rounds.

use crate::random::Random;
use crate::table::Table;
use crate::variance::Grubbs;

/// Maximum number of sign patterns. With up to 14 rounds all patterns are used: half of 2¹⁴ is 8,192, as a pattern and its
/// opposite give the same |t|. With more rounds this many are drawn, which determines a p of 5 % to within 0.2 % (one standard
/// deviation).
pub const PATTERNS: usize = 10_000;

/// Number of rounds whose sums are looked up at a time.
const CHUNK: usize = 8;

/// Two |t|² that differ by less are equal up to rounding.
const SAME: f64 = 1e-9;

/// The largest |t|² over the family for each sign pattern except the observed one, in falling order.
pub struct Reference {
    largest: Vec<f64>,
    pub exhaustive: bool,
}

impl Reference {
    /// Builds the reference from tables of residuals and the weights of the rounds' means. A residual is a value minus its
    /// round's mean and its candidate's mean, so it contains no true difference. Rounds with the same number flip together. The
    /// observed rounds are one of at most `patterns`.
    pub fn of(tables: &[(&Table, &[f64])], patterns: usize, seed: u64) -> Reference {
        debug_assert!(patterns > 0, "the observed signs are one pattern");
        let mut rounds: Vec<u32> =
            tables.iter().flat_map(|(table, _)| table.rounds().iter().copied()).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let mut flipping: Vec<Flipping> =
            tables.iter().map(|(table, weights)| Flipping::new(table, weights, &rounds)).collect();
        let mut largest_of =
            |signs: &[u8]| flipping.iter_mut().map(|table| table.largest(signs)).fold(0.0_f64, f64::max);
        let half =
            1_usize.checked_shl(rounds.len().saturating_sub(1) as u32).filter(|half| *half <= patterns);
        let mut largest: Vec<f64> = match half {
            Some(half) => (1..half).map(|pattern| largest_of(&pattern.to_le_bytes())).collect(),
            None => {
                let mut draws =
                    Draws { random: Random::new(seed), signs: vec![0; rounds.len().div_ceil(CHUNK)] };
                (1..patterns).map(|_| largest_of(draws.next())).collect()
            }
        };
        // None is negative, so the order of their bits is their order, and sorts faster.
        largest.sort_unstable_by_key(|t| std::cmp::Reverse(t.to_bits()));
        Reference { largest, exhaustive: half.is_some() }
    }

    /// Number of patterns, including the observed one.
    pub fn patterns(&self) -> usize {
        self.largest.len() + 1
    }

    /// The share of patterns whose largest |t| is at least `t`.
    pub fn p(&self, t: f64) -> f64 {
        let least = t * t * (1.0 - SAME);
        let as_large = self.largest.partition_point(|largest| *largest >= least);
        (1 + as_large) as f64 / self.patterns() as f64
    }

    /// The |t| to exceed for p ≤ α. `None` if no |t| is enough.
    pub fn critical(&self, alpha: f64) -> Option<f64> {
        let patterns = self.patterns() as f64;
        // At most this many patterns, including the observed one, may be as large.
        let allowed = (0..=self.largest.len()).take_while(|n| (n + 1) as f64 / patterns <= alpha).count();
        Some(self.largest.get(allowed.checked_sub(1)?).unwrap_or(&0.0).sqrt())
    }
}

struct Draws {
    random: Random,
    /// The signs of the rounds, one bit per round.
    signs: Vec<u8>,
}

impl Draws {
    fn next(&mut self) -> &[u8] {
        for eight in self.signs.chunks_mut(8) {
            eight.copy_from_slice(&self.random.bits().to_le_bytes()[..eight.len()]);
        }
        &self.signs
    }
}

/// A table of residuals, prepared for ten thousand flips.
struct Flipping {
    candidates: usize,
    rounds: f64,
    /// For eight rounds and each pattern of their signs: each candidate's sum, and the sum of the signs.
    sums: Vec<f64>,
    /// Each candidate's sum of squares, which no flip changes.
    squares: Vec<f64>,
    mean: Vec<f64>,
    centred: Vec<f64>,
    own: Vec<f64>,
    grubbs: Grubbs,
}

impl Flipping {
    fn new(table: &Table, weights: &[f64], rounds: &[u32]) -> Flipping {
        let candidates = table.candidates();
        let row = candidates + 1;
        let mut sums = vec![0.0; rounds.len().div_ceil(CHUNK) * 256 * row];
        let mut squares = vec![0.0; candidates];
        for (round, residuals) in table.rows() {
            let at = rounds.partition_point(|other| *other < round);
            for pattern in 0..256 {
                let sign = if pattern >> (at % CHUNK) & 1 == 1 { -1.0 } else { 1.0 };
                let from = (at / CHUNK * 256 + pattern) * row;
                let into = &mut sums[from..from + row];
                into.iter_mut().zip(residuals).for_each(|(sum, residual)| *sum += sign * residual);
                into[candidates] += sign;
            }
            squares.iter_mut().zip(residuals).for_each(|(sum, residual)| *sum += residual * residual);
        }
        let rounds = table.rounds().len() as f64;
        let of_each = || Vec::with_capacity(candidates);
        Flipping {
            candidates,
            rounds,
            sums,
            squares,
            mean: vec![0.0; row],
            centred: of_each(),
            own: of_each(),
            grubbs: Grubbs::new(weights),
        }
    }

    /// The largest t² of all pairs under these signs, with means, variances and t recomputed.
    ///
    /// Residuals sum to zero, so the component of a pattern along (1, 1, …, 1) has no effect. With mean sign m only n·(1 − m²)
    /// of its squared length n acts, so the means are divided by sqrt(1 − m²). The variances are divided by n − 2: residuals
    /// have n − 1 degrees of freedom, and the flipped mean takes one. For normal noise this gives Student's t with n − 2
    /// degrees of freedom, while the observed rounds have n − 1: slightly conservative.
    fn largest(&mut self, signs: &[u8]) -> f64 {
        let row = self.candidates + 1;
        self.mean.fill(0.0);
        for (chunk, sums) in self.sums.chunks_exact(256 * row).enumerate() {
            let from = usize::from(signs[chunk]) * row;
            self.mean.iter_mut().zip(&sums[from..from + row]).for_each(|(mean, sum)| *mean += sum);
        }
        let n = self.rounds;
        let working = n * n - self.mean[self.candidates] * self.mean[self.candidates];
        if working < 0.5 || n < 3.0 {
            return 0.0;
        }
        // Σ ÷ n ÷ sqrt(1 − m²), with m = Σ signs ÷ n.
        let scale = working.sqrt().recip();
        self.mean.iter_mut().for_each(|mean| *mean *= scale);
        self.centred.clear();
        let spread = self.mean.iter().zip(&self.squares).map(|(mean, sum)| (sum - n * mean * mean).max(0.0));
        self.centred.extend(spread.map(|sum| sum / (n - 2.0)));
        self.grubbs.own(&self.centred, &mut self.own);
        n * self.widest()
    }

    /// The largest (mean − mean)² ÷ (variance + variance).
    fn widest(&self) -> f64 {
        let (means, own) = (&self.mean[..self.candidates], &self.own[..self.candidates]);
        let mut widest = 0.0;
        for b in 1..means.len() {
            for (mean, variance) in means[..b].iter().zip(&own[..b]) {
                let apart = mean - means[b];
                let squared = apart * apart / (variance + own[b]);
                widest = if squared > widest { squared } else { widest };
            }
        }
        widest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rounds: u32, seed: u64) -> Reference {
        let mut random = Random::new(5);
        let mut table = Table::new(3);
        (0..rounds).for_each(|round| assert!(table.push(round, &[0.0; 3].map(|_| random.normal()))));
        Reference::of(&[(&table.centred().residuals(), &[1.0 / 3.0; 3])], PATTERNS, seed)
    }

    #[test]
    fn all_patterns_are_taken_up_to_fourteen_rounds_and_ten_thousand_above() {
        assert_eq!((of(6, 1).patterns(), of(6, 1).exhaustive), (32, true));
        assert_eq!((of(14, 1).patterns(), of(14, 1).exhaustive), (8192, true));
        assert_eq!((of(15, 1).patterns(), of(15, 1).exhaustive), (10_000, false));
    }

    #[test]
    fn a_seed_decides_what_is_drawn_and_nothing_else_does() {
        assert_eq!(of(20, 1).largest, of(20, 1).largest);
        assert_ne!(of(20, 1).largest, of(20, 2).largest);
        assert_eq!(of(12, 1).largest, of(12, 2).largest);
    }

    #[test]
    fn what_exceeds_the_critical_value_has_at_most_that_p_and_what_does_not_has_more() {
        for reference in [of(8, 1), of(20, 1)] {
            for alpha in [0.01, 0.025, 0.05, 0.2, 1.0] {
                let critical = reference.critical(alpha).unwrap();
                assert!(reference.p(critical * 1.000_001) <= alpha, "{alpha}");
                assert!(critical == 0.0 || reference.p(critical * 0.999_999) > alpha, "{alpha}");
            }
        }
    }

    #[test]
    fn with_five_rounds_no_t_is_enough_for_five_per_cent() {
        assert_eq!(of(5, 1).critical(0.05), None);
        assert!(of(6, 1).critical(0.05).is_some());
        assert_eq!(of(10, 1).critical(0.0), None);
        assert_eq!(of(5, 1).p(1e9), 1.0 / 16.0);
    }

    #[test]
    fn a_family_of_nothing_has_one_pattern() {
        let none = Reference::of(&[], PATTERNS, 1);
        assert_eq!((none.patterns(), none.p(3.0), none.critical(0.05)), (1, 1.0, None));
        let (zero, empty) = (Table::new(0), Table::new(4));
        assert_eq!(Reference::of(&[(&zero, &[]), (&empty, &[0.25; 4])], PATTERNS, 1).patterns(), 1);
    }
}
