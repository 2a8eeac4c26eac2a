//! Ranks with ties, from pairs judged together.

use crate::family::Pair;

/// The best and the worst possible rank of a candidate; 1 is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    pub best: usize,
    pub worst: usize,
}

/// The ranks that the findings leave each candidate. Best is 1 + the number of candidates found better; worst is the number of
/// all candidates minus those found worse.
pub fn ranks(candidates: usize, pairs: &[Pair]) -> Vec<Ranks> {
    let mut ranks = vec![Ranks { best: 1, worst: candidates }; candidates];
    for pair in pairs {
        debug_assert!(
            pair.a < candidates && pair.b < candidates && pair.a != pair.b,
            "a pair of two candidates"
        );
        let (better, worse) = match pair.direction() {
            1 => (pair.a, pair.b),
            -1 => (pair.b, pair.a),
            _ => continue,
        };
        ranks[worse].best += 1;
        ranks[better].worst -= 1;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Interval;

    fn pair(a: usize, b: usize, interval: Option<(f64, f64)>) -> Pair {
        let interval = interval.map(|(low, high)| Interval { low, high });
        Pair { a, b, estimate: None, error: None, t: None, p: 1.0, interval, detectable: None }
    }

    #[test]
    fn ranks_are_those_that_the_findings_leave() {
        // 0 is better than 1 and 2; 3 is better than 2; the other pairs are undecided.
        let pairs = [
            pair(0, 1, Some((0.1, 0.2))),
            pair(0, 2, Some((0.1, 0.3))),
            pair(0, 3, Some((-0.1, 0.3))),
            pair(1, 2, Some((-0.1, 0.3))),
            pair(1, 3, None),
            pair(2, 3, Some((-0.3, -0.1))),
        ];
        let known = [(1, 2), (2, 4), (3, 4), (1, 3)].map(|(best, worst)| Ranks { best, worst });
        assert_eq!(ranks(4, &pairs), known);
    }

    #[test]
    fn without_findings_all_are_tied() {
        assert_eq!(ranks(3, &[]), [Ranks { best: 1, worst: 3 }; 3]);
        assert_eq!(ranks(0, &[]), []);
    }
}
