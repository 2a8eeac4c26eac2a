//! One candidate entered twice: tests whether the two differ, over all headline metrics together.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::variance::ROUNDING;

/// The p of the pair over all metrics jointly. Input: for each metric the differences of the two logarithms, one per round;
/// metrics may have different rounds. 1 if no metric has two rounds.
///
/// With d the differences of one of M metrics over n rounds, t = mean d ÷ (s_d ÷ sqrt(n)). The result is the minimum over the
/// metrics of M · P(|Student's t with n − 1 degrees of freedom| ≥ |t|), at most 1. Student, "The probable error of a mean",
/// Biometrika 6 (1908), 1–25, with Bonferroni's inequality, which holds under any dependence of the metrics.
///
/// Sign flips are unsuitable: with n rounds their smallest p is 2 ÷ 2ⁿ (ten rounds: 2 ÷ 1024 = 0.00195), so p < 0.001 needs
/// eleven rounds. The price is the assumption of a normal tail. Differences of two identical candidates are symmetric whatever
/// their noise, and for symmetric noise with heavy tails Student's t is conservative (`tests/simulation.rs` has the rates).
/// Misleads: few rounds detect little; p = 0.5 does not prove equality.
pub fn same_twice(differences: &[Vec<f64>]) -> f64 {
    let each: Vec<f64> = differences.iter().filter_map(|of_metric| p_of(of_metric)).collect();
    let least = each.iter().copied().fold(1.0, f64::min);
    (least * each.len().max(1) as f64).min(1.0)
}

/// `None` below two rounds. Values that are not finite are skipped.
fn p_of(differences: &[f64]) -> Option<f64> {
    let finite: Vec<f64> = differences.iter().copied().filter(|d| d.is_finite()).collect();
    let n = finite.len() as f64;
    if finite.len() < 2 {
        return None;
    }
    let mean = finite.iter().sum::<f64>() / n;
    if mean.abs() < ROUNDING {
        return Some(1.0);
    }
    let spread = (finite.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let t = mean.abs() / (spread.max(ROUNDING) / n.sqrt());
    StudentsT::new(0.0, 1.0, n - 1.0).ok().map(|student| 2.0 * student.cdf(-t))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_metric_is_a_paired_t_test() {
        // scipy.stats.ttest_1samp([1, 2, 3, 4, 6], 0).pvalue
        let p = same_twice(&[vec![1.0, 2.0, 3.0, 4.0, 6.0]]);
        assert!((p - 0.020_475_874_420_910_672).abs() < 1e-12, "{p}");
    }

    #[test]
    fn each_further_metric_makes_it_harder() {
        let differs = vec![1.0, 2.0, 3.0, 4.0, 6.0];
        let not = vec![1.0, -1.0, 2.0, -2.0, 0.5];
        let (one, two) = (same_twice(std::slice::from_ref(&differs)), same_twice(&[differs, not]));
        assert!((two - 2.0 * one).abs() < 1e-15);
    }

    #[test]
    fn what_says_nothing_gives_one() {
        assert_eq!(same_twice(&[]), 1.0);
        assert_eq!(same_twice(&[vec![], vec![3.0], vec![f64::NAN, 2.0]]), 1.0);
        assert_eq!(same_twice(&[vec![0.0; 12]]), 1.0);
    }

    #[test]
    fn the_same_difference_in_every_round_is_found_at_any_size() {
        assert!(same_twice(&[vec![0.01; 10]]) < 1e-9);
    }

    #[test]
    fn ten_rounds_can_void_a_run() {
        let slower: Vec<f64> = (0..10).map(|round| 0.1 + 0.01 * f64::from(round % 3)).collect();
        let p = same_twice(&[slower, vec![0.01, -0.02, 0.01, 0.0, -0.01, 0.02, 0.0, 0.01, -0.01, 0.0]]);
        assert!(p < 0.001, "{p}");
    }
}
