//! Comparison of two separate runs: two independent samples without paired rounds.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::family::Interval;
use crate::variance::ROUNDING;

/// The probability at which a difference counts as detectable.
const POWER: f64 = 0.8;

/// One quantity of two runs; logarithms are those of the ratio after ÷ before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRuns {
    pub estimate: f64,
    pub error: f64,
    /// Degrees of freedom by Welch and Satterthwaite.
    pub freedom: f64,
    /// p-value, adjusted for all comparisons.
    pub p: f64,
    /// Confidence interval, simultaneous over all comparisons, at level 1 − α.
    pub interval: Interval,
    /// The smallest true difference found with 80 % probability.
    pub detectable: f64,
}

/// Compares the means of two samples of logarithms, as one of `comparisons` that are judged together at `alpha`.
///
/// ```text
/// t        = (mean after − mean before) ÷ sqrt(s²_after ÷ n_after + s²_before ÷ n_before)
/// freedom  = (v_a + v_b)² ÷ (v_a² ÷ (n_a − 1) + v_b² ÷ (n_b − 1))          v = s² ÷ n
/// p        = comparisons · P(|Student's t| ≥ |t|), at most 1
/// interval = estimate ± (the t of α ÷ comparisons) · error
/// ```
///
/// B. L. Welch, "The generalization of 'Student's' problem when several different population variances are involved",
/// Biometrika 34 (1947), 28–35. The correction is Bonferroni's, which holds under any dependence. `None` below two values on
/// either side. Values without variance are judged with a deviation of 10⁻¹², as in the family test.
///
/// Misleads: **the error covers only variation within the two runs**. Variation between runs (temperature, the image's place on
/// the host's disk, other users) is not included, and one run of each kind cannot show it. Rounds that drift within a run are
/// not independent. Subtracting a control of the same round removes both, as far as both affected the control equally.
pub fn two_runs(before: &[f64], after: &[f64], comparisons: usize, alpha: f64) -> Option<TwoRuns> {
    let (b, a) = (Sample::of(before)?, Sample::of(after)?);
    let difference = a.mean - b.mean;
    // A difference within rounding is zero, even if nothing varies.
    let estimate = if difference.abs() < ROUNDING { 0.0 } else { difference };
    let error = (a.of_mean + b.of_mean).sqrt();
    let freedom =
        (a.of_mean + b.of_mean).powi(2) / (a.of_mean.powi(2) / a.freedom + b.of_mean.powi(2) / b.freedom);
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let comparisons = comparisons.max(1) as f64;
    let p = (comparisons * 2.0 * student.cdf(-(estimate / error).abs())).min(1.0);
    let critical = -student.inverse_cdf(alpha / comparisons / 2.0);
    let reach = critical * error;
    let interval = Interval { low: estimate - reach, high: estimate + reach };
    let detectable = reach + student.inverse_cdf(POWER) * error;
    Some(TwoRuns { estimate, error, freedom, p, interval, detectable })
}

/// Mean of the second half of a run's values minus that of the first, in the order of the rounds. `None` below four.
///
/// Misleads: this contains noise as well as drift. It shows how far values of one run without any change are apart.
pub fn drift(values: &[f64]) -> Option<f64> {
    let (first, second) = values.split_at(values.len() / 2);
    let mean = |half: &[f64]| half.iter().sum::<f64>() / half.len() as f64;
    (values.len() >= 4).then(|| mean(second) - mean(first))
}

struct Sample {
    mean: f64,
    /// The variance of the mean.
    of_mean: f64,
    freedom: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Option<Sample> {
        let n = values.len() as f64;
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Some(Sample { mean, of_mean: variance.max(ROUNDING * ROUNDING) / n, freedom: n - 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: [f64; 6] = [8.51, 8.48, 8.55, 8.50, 8.53, 8.47];
    const AFTER: [f64; 5] = [8.40, 8.31, 8.45, 8.38, 8.29];

    fn near(ours: f64, known: f64) {
        assert!((ours - known).abs() < 1e-9 * known.abs().max(1e-3), "{ours} is not {known}");
    }

    #[test]
    fn it_is_welchs_test() {
        // scipy.stats.ttest_ind(AFTER, BEFORE, equal_var=False), and its confidence_interval(0.95)
        let two = two_runs(&BEFORE, &AFTER, 1, 0.05).expect("there are values");
        near(two.estimate, -0.140_666_666_666_668_05);
        near(two.freedom, 5.386_530_375_766_973);
        near(two.p, 0.005_836_054_516_535_067);
        near(two.interval.low, -0.220_909_892_556_079_3);
        near(two.interval.high, -0.060_423_440_777_256_81);
    }

    #[test]
    fn of_several_comparisons_each_is_harder_and_p_agrees_with_the_interval() {
        let one = two_runs(&BEFORE, &AFTER, 1, 0.05).expect("there are values");
        let many = two_runs(&BEFORE, &AFTER, 10, 0.05).expect("there are values");
        near(many.p, 10.0 * one.p);
        assert!(many.interval.high > one.interval.high && many.detectable > one.detectable);
        for comparisons in 1..300 {
            let two = two_runs(&BEFORE, &AFTER, comparisons, 0.05).expect("there are values");
            assert_eq!(two.p <= 0.05, two.interval.high < 0.0, "{comparisons}");
        }
    }

    #[test]
    fn what_does_not_vary_differs_by_what_it_differs() {
        let two = two_runs(&[1.0; 6], &[1.0; 6], 1, 0.05).expect("there are values");
        assert_eq!((two.estimate, two.p), (0.0, 1.0));
        let two = two_runs(&[1.0; 6], &[1.1; 6], 1, 0.05).expect("there are values");
        assert!(two.p < 1e-9 && (two.interval.low - 0.1).abs() < 1e-9);
        assert_eq!(two_runs(&[1.0], &[1.0, 2.0], 1, 0.05), None);
        assert_eq!(two_runs(&[1.0, f64::NAN], &[1.0, 2.0], 1, 0.05), None);
    }

    #[test]
    fn halves_show_a_drift() {
        near(drift(&[1.0, 2.0, 3.0, 4.0]).expect("four values"), 2.0);
        assert_eq!(drift(&[1.0, 2.0, 3.0]), None);
    }
}
