//! Selects effects by false discovery rate: a few wrong ones among many are accepted, and a report without any effect names none.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// One of many effects, with its estimated error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    pub effect: f64,
    /// Standard error of the effect.
    pub error: f64,
    /// Degrees of freedom of the error.
    pub freedom: f64,
}

/// One of many effects, judged together with the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discovered {
    /// The smallest false discovery rate at which the report names this effect.
    pub p: f64,
    pub low: f64,
    pub high: f64,
    /// Whether the interval excludes 0.
    pub is_named: bool,
}

/// Judges effects together so that at most a share `rate` of the named ones is expected to be false.
///
/// ```text
/// p        = P(|Student's t| ≥ |effect ÷ error|)                     for each effect alone
/// R        = the largest k for which the k smallest p are ≤ k · rate ÷ m
/// named    = the R smallest p
/// p'       = min over j ≥ its rank of p(j) · m ÷ j, at most 1
/// interval = effect ± error · (the t of max(R, 1) · rate ÷ m)
/// ```
///
/// Y. Benjamini and Y. Hochberg, JRSS B 57 (1995), 289–300. The intervals are those of Y. Benjamini and D. Yekutieli, JASA 100
/// (2005), 71–81: of those for named effects at most a share `rate` is expected to miss. An effect is named exactly if its
/// interval excludes 0. If no effect is real, any is named with probability at most `rate`.
///
/// Misleads: the guarantee covers independent or positively dependent effects. Effects on a/b, a/c and b/c have other
/// dependence too; its consequences are simulated (`tests/simulation/modelled.rs`).
pub fn discover(effects: &[Estimated], rate: f64) -> Vec<Discovered> {
    let m = effects.len();
    let alone: Vec<f64> = effects.iter().map(Estimated::p).collect();
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|a, b| alone[*a].total_cmp(&alone[*b]));
    let level = |rank: usize| rank as f64 * rate / m as f64;
    let named = (1..=m).rev().find(|rank| alone[order[rank - 1]] <= level(*rank)).unwrap_or(0);
    let mut adjusted = vec![1.0; m];
    let mut least = 1.0_f64;
    for (place, at) in order.iter().enumerate().rev() {
        least = least.min(alone[*at] * m as f64 / (place + 1) as f64);
        adjusted[*at] = least;
    }
    let interval = level(named.max(1));
    // Most have the same degrees of freedom, and computing t from a probability is slow.
    let mut known: Option<(f64, f64)> = None;
    let mut critical = |own: &Estimated| match known.filter(|(freedom, _)| *freedom == own.freedom) {
        Some((_, t)) => t,
        None => known.insert((own.freedom, own.critical(interval))).1,
    };
    let judged = |(at, own): (usize, &Estimated)| {
        let reach = critical(own) * own.error;
        let is_named = order[..named].contains(&at);
        Discovered { p: adjusted[at], low: own.effect - reach, high: own.effect + reach, is_named }
    };
    effects.iter().enumerate().map(judged).collect()
}

impl Estimated {
    fn student(&self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.freedom).ok()
    }

    fn p(&self) -> f64 {
        let t = self.effect / self.error;
        match self.student() {
            Some(student) if t.is_finite() => 2.0 * student.cdf(-t.abs()),
            _ => 1.0,
        }
    }

    /// The |t| exceeded with this probability.
    fn critical(&self, level: f64) -> f64 {
        self.student().map_or(f64::INFINITY, |student| -student.inverse_cdf(level / 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Effects with these t, and enough degrees of freedom to be nearly normal.
    fn of(ts: &[f64]) -> Vec<Estimated> {
        ts.iter().map(|t| Estimated { effect: *t, error: 1.0, freedom: 1e7 }).collect()
    }

    /// `p.adjust(2 * pnorm(-c(3.2, 2.6, 2.3, 0.5, 0.1)), "BH")` in R.
    #[test]
    fn it_is_the_procedure_of_benjamini_and_hochberg() {
        let found = discover(&of(&[0.1, 3.2, 2.6, 2.3, 0.5]), 0.05);
        let near = |ours: f64, known: f64| assert!((ours - known).abs() < 1e-5, "{ours} is not {known}");
        near(found[1].p, 0.006_871_4);
        near(found[2].p, 0.023_305_6);
        near(found[3].p, 0.035_747_1);
        let named: Vec<bool> = found.iter().map(|one| one.is_named).collect();
        assert_eq!(named, [false, true, true, true, false]);
    }

    #[test]
    fn what_is_named_has_an_interval_without_zero_and_nothing_else_has() {
        let mut random = crate::random::Random::new(3);
        for study in 0..300 {
            let shift = f64::from(study % 4);
            let effects: Vec<Estimated> = (0..40)
                .map(|at| {
                    let truth = if at < 6 { shift } else { 0.0 };
                    Estimated { effect: truth + random.normal(), error: 1.0, freedom: 11.0 }
                })
                .collect();
            for one in discover(&effects, 0.05) {
                assert_eq!(one.is_named, one.low > 0.0 || one.high < 0.0, "{one:?}");
                assert_eq!(one.is_named, one.p <= 0.05, "{one:?}");
            }
        }
    }

    #[test]
    fn without_effects_nothing_is_named() {
        assert_eq!(discover(&[], 0.05), []);
        let none = Estimated { effect: 0.0, error: 0.0, freedom: 11.0 };
        assert!(!discover(&[none], 0.05)[0].is_named);
    }
}
