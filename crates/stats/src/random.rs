//! Random numbers from a seed. Stored runs were judged with them, so their outputs must not change.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Xoshiro256++ from a seed of 64 bits. The same seed gives the same numbers on every machine.
pub struct Random {
    from: Xoshiro256PlusPlus,
    /// The second number of a pair of normal numbers, kept for the next call.
    spare: Option<f64>,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { from: Xoshiro256PlusPlus::seed_from_u64(seed), spare: None }
    }

    pub fn bits(&mut self) -> u64 {
        self.from.next_u64()
    }

    /// An integer below `n`, uniform to within n ÷ 2⁶⁴: the high half of a product, as in D. Lemire (ACM TOMACS 29 (2019), 3)
    /// without the step that removes this bias.
    pub fn below(&mut self, n: usize) -> usize {
        debug_assert!(n > 0, "no integer is below 0");
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A number uniform in 0..1 (1 excluded), in steps of 2⁻⁵³.
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normal number with mean 0 and standard deviation 1: the polar method of G. Marsaglia and T. A. Bray (SIAM Review 6 (1964),
    /// 260–264), without trigonometric functions.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (x, y) = (2.0 * self.share() - 1.0, 2.0 * self.share() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let scale = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_another_seed_others() {
        let of = |seed| {
            std::array::from_fn::<u64, 4, _>({
                let mut r = Random::new(seed);
                move |_| r.bits()
            })
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    /// 40,000 numbers: the mean's deviation is 0.005, that of the fourth moment sqrt(96 ÷ 40,000) = 0.049; five of each.
    #[test]
    fn normal_numbers_have_the_moments_of_the_normal_distribution() {
        let mut random = Random::new(1);
        let numbers: Vec<f64> = (0..40_000).map(|_| random.normal()).collect();
        let moment = |power| numbers.iter().map(|x: &f64| x.powi(power)).sum::<f64>() / 40_000.0;
        assert!(moment(1).abs() < 0.025 && (moment(2) - 1.0).abs() < 0.035, "{} {}", moment(1), moment(2));
        assert!(moment(3).abs() < 0.1 && (moment(4) - 3.0).abs() < 0.25, "{} {}", moment(3), moment(4));
    }

    #[test]
    fn numbers_below_seven_are_equally_likely() {
        let mut random = Random::new(3);
        let mut seen = [0_u32; 7];
        (0..7000).for_each(|_| seen[random.below(7)] += 1);
        // Expected: 1000 each; the deviation is sqrt(7000 × 1/7 × 6/7) = 29.3; four of these.
        assert!(seen.iter().all(|times| (883..=1117).contains(times)), "{seen:?}");
    }
}
