//! Ranks with ties, from pairs that were judged together.

use crate::family::Pair;

/// The best and the worst rank that a candidate may have, 1 being the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    pub best: usize,
    pub worst: usize,
}

/// For each candidate the ranks that the findings leave: best is 1 + how many are better than it, worst is the number of
/// candidates less those that it is better than.
pub fn ranks(candidates: usize, pairs: &[Pair]) -> Vec<Ranks> {
    let mut ranks = vec![Ranks { best: 1, worst: candidates }; candidates];
    for pair in pairs {
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
