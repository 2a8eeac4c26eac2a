//! The smallest difference that is credible where a candidate entered twice.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewer rounds give an interval of several times the deviation.
pub const FEWEST: usize = 5;

/// The largest difference, as a logarithm of a ratio, that two identical candidates may have here: the farther end of the interval of
/// their mean difference. Input: the differences of the two logarithms, one per round. A difference between two filesystems up to this
/// size may be one of the place and time, not of the filesystems.
///
/// ```text
/// |mean d| + t · s_d ÷ sqrt(n)        t of Student with n − 1 degrees of freedom at 1 − α ÷ 2
/// ```
///
/// Student, "The probable error of a mean", Biometrika 6 (1908), 1–25. `None` below [`FEWEST`] finite differences.
/// Misleads: it is of one pair of one kind; a filesystem that writes more may scatter more.
pub fn smallest(differences: &[f64], alpha: f64) -> Option<f64> {
    let finite: Vec<f64> = differences.iter().copied().filter(|d| d.is_finite()).collect();
    if finite.len() < FEWEST {
        return None;
    }
    let n = finite.len() as f64;
    let mean = finite.iter().sum::<f64>() / n;
    let variance = finite.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    Some(mean.abs() + student.inverse_cdf(1.0 - alpha / 2.0) * (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn it_is_the_end_of_students_interval() {
        // scipy.stats.t.interval(0.95, 4, loc=0.02, scale=sqrt(0.00025 / 5)): (0.00036757, 0.03963243)
        let seen = smallest(&[0.0, 0.01, 0.02, 0.03, 0.04], 0.05).expect("five differences");
        assert!((seen - 0.039_632_43).abs() < 1e-6, "{seen}");
        let other = smallest(&[0.0, -0.01, -0.02, -0.03, -0.04, f64::NAN], 0.05).expect("five differences");
        assert!((seen - other).abs() < 1e-12, "whichever is the faster");
        assert_eq!(smallest(&[0.1; 4], 0.05), None);
        assert!(smallest(&[0.1; 5], 0.05).is_some_and(|all| (all - 0.1).abs() < 1e-12));
    }

    /// Of two identical candidates, another pair of means exceeds it rarely.
    #[test]
    fn what_is_only_noise_seldom_exceeds_it() {
        let mut random = Random::new(7);
        let mut draw = |n: usize| (0..n).map(|_| 0.05 * random.normal()).collect::<Vec<f64>>();
        let beyond = (0..2000).filter(|_| {
            let reach = smallest(&draw(10), 0.05).expect("ten differences");
            (draw(10).iter().sum::<f64>() / 10.0).abs() > reach
        });
        let share = beyond.count() as f64 / 2000.0;
        assert!(share < 0.05, "{share}");
    }
}
