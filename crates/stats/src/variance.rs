//! Each candidate's own variance, from rounds in which all candidates were measured.

/// Clocks give at most twelve digits: a smaller difference of logarithms is rounding.
pub const ROUNDING: f64 = 1e-12;

const LEAST: f64 = ROUNDING * ROUNDING;

/// The weight of each candidate in a round's mean: equal, except that a candidate noisier than the median counts less in
/// proportion. Up to three candidates count equally, because with two of three remaining nobody can say which one is noisy.
pub fn weights(own: &[f64]) -> Vec<f64> {
    if own.len() < 4 {
        return vec![1.0 / own.len() as f64; own.len()];
    }
    let middle = median(&mut own.to_vec());
    let weights: Vec<f64> = own.iter().map(|own| 1.0 / own.max(middle)).collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

/// Estimates each candidate's own variance g from the variances s² of values centred on their round's mean.
///
/// Subtracting the mean with weights w removes part of each candidate's own noise and adds a little of the others' noise:
/// E s_i² = σ_i²·(1 − 2·w_i) + B with B = Σw_j²σ_j². Solved for σ²:
///
/// ```text
/// B = Σ a_j·s_j² ÷ (1 + Σ a_j)      a_j = w_j² ÷ (1 − 2·w_j)
/// g_i = (s_i² − B) ÷ (1 − 2·w_i), and at least a tenth of the median s²
/// ```
///
/// With equal weights 1 ÷ K this is F. E. Grubbs' estimator (JASA 43 (1948), 243–264), K ÷ (K − 2) · (s_i² − Σs_j² ÷ (K·(K −
/// 1))). With K = 2 the noise cannot be attributed: each gets half the variance of the difference, 2·s_i².
///
/// Misleads: of three candidates, one much noisier makes the estimates of the other two uncertain.
pub struct Grubbs {
    /// Per candidate: its coefficient of B, and 1 ÷ (1 − 2·w).
    parts: Vec<(f64, f64)>,
    sorted: Vec<f64>,
}

impl Grubbs {
    pub fn new(weights: &[f64]) -> Grubbs {
        debug_assert!(
            weights.len() < 3 || weights.iter().all(|w| *w > 0.0 && *w < 0.5),
            "no candidate has half of all weight: {weights:?}"
        );
        let a = |w: f64| w * w / (1.0 - 2.0 * w);
        let all: f64 = weights.iter().map(|w| a(*w)).sum();
        let parts = weights.iter().map(|w| (a(*w) / (1.0 + all), 1.0 / (1.0 - 2.0 * w))).collect();
        Grubbs { parts, sorted: Vec::with_capacity(weights.len()) }
    }

    /// Computes each candidate's g from its s².
    pub fn own(&mut self, centred: &[f64], own: &mut Vec<f64>) {
        debug_assert_eq!(centred.len(), self.parts.len(), "each candidate has a weight");
        own.clear();
        if centred.len() < 3 {
            own.extend(centred.iter().map(|s| (2.0 * s).max(LEAST)));
            return;
        }
        let of_all: f64 = self.parts.iter().zip(centred).map(|((part, _), s)| part * s).sum();
        own.extend(self.parts.iter().zip(centred).map(|((_, scale), s)| (s - of_all) * scale));
        // The median is at most the largest: usually all exceed a tenth of that, and no sort is needed.
        let smallest = own.iter().fold(f64::INFINITY, |least, g| if *g < least { *g } else { least });
        let largest = centred.iter().fold(LEAST, |most, s| if *s > most { *s } else { most });
        if smallest < 0.1 * largest {
            self.sorted.clear();
            self.sorted.extend_from_slice(centred);
            let least = (0.1 * median(&mut self.sorted)).max(LEAST);
            own.iter_mut().for_each(|g| *g = g.max(least));
        }
    }
}

/// The median of at least one value; reorders the slice. Insertion sort, because ten thousand calls sort a handful of values
/// each.
fn median(values: &mut [f64]) -> f64 {
    for from in 1..values.len() {
        let mut at = from;
        while at > 0 && values[at - 1] > values[at] {
            values.swap(at - 1, at);
            at -= 1;
        }
    }
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { 0.5 * (values[half - 1] + values[half]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(weights: &[f64], centred: &[f64]) -> Vec<f64> {
        let mut own = Vec::new();
        Grubbs::new(weights).own(centred, &mut own);
        own
    }

    fn equal(centred: &[f64]) -> Vec<f64> {
        of(&vec![1.0 / centred.len() as f64; centred.len()], centred)
    }

    /// With variances 1, 2, 3 the centred ones are σ²·(1/3) + 6/9 = 1, 4/3, 5/3, from which the estimator recovers them.
    #[test]
    fn own_variances_come_back_from_the_centred_ones() {
        for (own, known) in equal(&[1.0, 4.0 / 3.0, 5.0 / 3.0]).iter().zip([1.0, 2.0, 3.0]) {
            assert!((own - known).abs() < 1e-12, "{own} is not {known}");
        }
    }

    #[test]
    fn with_equal_weights_the_formula_is_that_of_grubbs() {
        let s = [1.0, 1.5, 0.7, 2.0, 1.1];
        for (own, s_i) in equal(&s).iter().zip(s) {
            let known: f64 = 5.0 / 3.0 * (s_i - s.iter().sum::<f64>() / 20.0);
            assert!((own - known.max(0.11)).abs() < 1e-12, "{own} is not {known}");
        }
    }

    #[test]
    fn own_variances_come_back_whatever_the_weights() {
        let (variances, weights) = ([1.0, 2.0, 3.0, 9.0], [0.4, 0.3, 0.2, 0.1]);
        let b: f64 = variances.iter().zip(weights).map(|(v, w)| w * w * v).sum();
        let centred: Vec<f64> = variances.iter().zip(weights).map(|(v, w)| v * (1.0 - 2.0 * w) + b).collect();
        for (own, known) in of(&weights, &centred).iter().zip(variances) {
            assert!((own - known).abs() < 1e-12, "{own} is not {known}");
        }
    }

    #[test]
    fn who_is_noisier_than_the_median_counts_for_less() {
        assert_eq!(weights(&[1.0, 1.0, 1.0, 1.0]), [0.25; 4]);
        // The median is 1.5, and half of 3: 1/1.5, 1/1.5, 1/2, 1/6.
        let known = [1.0 / 3.0, 1.0 / 3.0, 0.25, 1.0 / 12.0];
        assert!(weights(&[1.0, 0.1, 2.0, 6.0]).iter().zip(known).all(|(w, known)| (w - known).abs() < 1e-12));
        assert_eq!(weights(&[1.0, 1.0, 100.0]), [1.0 / 3.0; 3]);
    }

    #[test]
    fn two_share_the_variance_of_their_difference() {
        // d = ±1 in four rounds: s_d² = 4/3; centred values ±1/2 have 1/3 each.
        assert_eq!(equal(&[1.0 / 3.0, 1.0 / 3.0]), [2.0 / 3.0, 2.0 / 3.0]);
    }

    #[test]
    fn none_falls_below_a_tenth_of_the_median() {
        let own = equal(&[0.0, 1.0, 1.0, 2.0]);
        assert!((own[0] - 0.1).abs() < 1e-15, "{own:?}");
    }

    #[test]
    fn what_does_not_vary_keeps_a_trillionth() {
        assert_eq!(equal(&[0.0; 3]), [LEAST; 3]);
        assert_eq!(equal(&[0.0; 2]), [LEAST; 2]);
        assert_eq!(equal(&[]), [0.0; 0]);
    }
}
