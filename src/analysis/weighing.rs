//! Chooses by weights, and computes how far a weight must change to change the choice. Pure mathematics on logarithms.
//!
//! Let v(c, i) be the logarithm of candidate i's ratio to the best candidate at need c (0 is the best, less is worse) and w(c) the
//! weights. The score is s(i) = Σ w(c)·v(c, i) / Σ w(c): the logarithm of the weighted geometric mean of ratios. The ranking by
//! this mean does not depend on the reference of the ratios (P. J. Fleming and J. J. Wallace, "How Not to Lie with Statistics",
//! Communications of the ACM 29 (1986), 218–221).
//!
//! If one weight is multiplied by m, Σ w·v of each candidate is linear in m, and so is Σ w. So the choice changes only at values of
//! m where the scores of two candidates are equal or differ by the margin. These few points are computed, and the choice is
//! evaluated between them: the answer is exact, without a search.
//!
//! Where a score misleads: weights are opinions, and a score over many needs can hide one need in which the choice is bad. Show
//! the result for each need beside the score.

/// The candidates' figures for each need, and the weights of the needs.
pub struct Weighing<'v> {
    /// For each need, then for each candidate: the logarithm of the ratio to the best candidate.
    pub goodness: &'v [Vec<f64>],
    pub weights: &'v [f64],
    /// Two scores within this distance (a logarithm) are a draw.
    pub margin: f64,
    /// For each candidate, the figure that decides a draw: more is better; a candidate without a figure comes last.
    pub draw: Option<&'v [f64]>,
}

/// A factor of a weight at which the choice changes, and the candidate that is then chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tipping {
    pub factor: f64,
    pub candidate: usize,
}

impl Weighing<'_> {
    fn candidates(&self) -> usize {
        self.goodness.first().map_or(0, Vec::len)
    }

    /// The logarithm of the weighted geometric mean.
    pub fn score(&self, candidate: usize) -> f64 {
        self.score_by(self.weights, candidate)
    }

    fn score_by(&self, weights: &[f64], candidate: usize) -> f64 {
        debug_assert!(weights.len() == self.goodness.len(), "each need has a weight");
        let sum: f64 = self.goodness.iter().zip(weights).map(|(of, weight)| weight * of[candidate]).sum();
        sum / weights.iter().sum::<f64>()
    }

    /// All candidates in order: first the choice among all candidates, then the choice among all others, and so on.
    pub fn ranking(&self) -> Vec<usize> {
        let mut left: Vec<usize> = (0..self.candidates()).collect();
        let mut ranking = Vec::new();
        while let Some(next) = self.choose(self.weights, &left) {
            left.retain(|candidate| *candidate != next);
            ranking.push(next);
        }
        ranking
    }

    /// The largest score; among scores within the margin of it, the best at the figure that decides a draw.
    fn choose(&self, weights: &[f64], among: &[usize]) -> Option<usize> {
        let scores: Vec<(usize, f64)> = among.iter().map(|c| (*c, self.score_by(weights, *c))).collect();
        let leader = first_largest(&scores)?;
        let Some(draw) = self.draw else { return Some(leader.0) };
        let drawn: Vec<(usize, f64)> =
            scores.into_iter().filter(|(_, score)| leader.1 - score <= self.margin).collect();
        let most = drawn.iter().map(|(c, _)| draw[*c]).fold(f64::NEG_INFINITY, f64::max);
        // A missing figure is minus infinity. Minus infinity equals itself, but its difference to itself is no number.
        let is_best = |c: usize| draw[c] == most || most - draw[c] <= self.margin;
        let best: Vec<(usize, f64)> = drawn.into_iter().filter(|(c, _)| is_best(*c)).collect();
        first_largest(&best).map(|(candidate, _)| candidate)
    }

    /// The nearest factors of this need's weight, below and above 1, at which the choice is not `chosen`.
    pub fn tipping(&self, need: usize, chosen: usize) -> (Option<Tipping>, Option<Tipping>) {
        let mut points = self.turns(need);
        points.sort_by(f64::total_cmp);
        let (below, above): (Vec<f64>, Vec<f64>) = points.into_iter().partition(|point| *point < 1.0);
        let all: Vec<usize> = (0..self.candidates()).collect();
        let other = |factor: f64| {
            let mut weights = self.weights.to_vec();
            weights[need] *= factor;
            self.choose(&weights, &all).filter(|candidate| *candidate != chosen)
        };
        let found =
            |begins: f64, inside: f64| other(inside).map(|candidate| Tipping { factor: begins, candidate });
        let down = below.iter().rev().copied().chain([0.0]);
        let down = std::iter::once(1.0).chain(below.iter().rev().copied()).zip(down);
        let up = above.iter().copied().chain([f64::INFINITY]);
        let up = std::iter::once(1.0).chain(above.iter().copied()).zip(up);
        // If only this need has a weight, a factor of the weight cannot change the choice.
        let is_alone = self.weights.iter().enumerate().all(|(at, weight)| at == need || *weight == 0.0);
        if is_alone {
            return (None, None);
        }
        let up = up.map(|(from, to)| (from, if to.is_finite() { (from + to) / 2.0 } else { 2.0 * from }));
        let down = down.map(|(from, to)| (from, (from + to) / 2.0));
        (down.map(|(f, i)| found(f, i)).find_map(|t| t), up.map(|(f, i)| found(f, i)).find_map(|t| t))
    }

    /// The factors of one weight at which two candidates are equal, or exactly the margin apart.
    fn turns(&self, need: usize) -> Vec<f64> {
        let rest = |candidate: usize| -> f64 {
            let others = self.goodness.iter().zip(self.weights).enumerate().filter(|(at, _)| *at != need);
            others.map(|(_, (of, weight))| weight * of[candidate]).sum()
        };
        let rests: Vec<f64> = (0..self.candidates()).map(rest).collect();
        let own = self.weights[need];
        let all: f64 = self.weights.iter().sum();
        let apart: &[f64] = if self.draw.is_some() { &[0.0, 1.0, -1.0] } else { &[0.0] };
        let mut points = Vec::new();
        for a in 0..rests.len() {
            for b in a + 1..rests.len() {
                for margins in apart {
                    let distance = margins * self.margin;
                    // rests[a] − rests[b] + m·own·(…) = distance · (all − own + m·own)
                    let at_zero = rests[a] - rests[b] - distance * (all - own);
                    let slope = own * (self.goodness[need][a] - self.goodness[need][b] - distance);
                    let point = -at_zero / slope;
                    points.extend((point.is_finite() && point > 0.0).then_some(point));
                }
            }
        }
        points
    }
}

/// The largest score; of several equal scores, the first.
fn first_largest(scores: &[(usize, f64)]) -> Option<(usize, f64)> {
    scores.iter().copied().reduce(|most, next| if next.1 > most.1 { next } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighing<'v>(goodness: &'v [Vec<f64>], weights: &'v [f64], draw: Option<&'v [f64]>) -> Weighing<'v> {
        Weighing { goodness, weights, margin: 1.03_f64.ln(), draw }
    }

    fn ln(ratios: &[f64]) -> Vec<f64> {
        ratios.iter().map(|ratio| ratio.ln()).collect()
    }

    #[test]
    fn the_score_is_the_weighted_geometric_mean() {
        let goodness = [ln(&[1.0, 0.5]), ln(&[0.25, 1.0])];
        let weighing = weighing(&goodness, &[3.0, 1.0], None);
        assert!((weighing.score(0).exp() - 0.25_f64.powf(0.25)).abs() < 1e-12);
        assert!((weighing.score(1).exp() - 0.5_f64.powf(0.75)).abs() < 1e-12);
        assert_eq!(weighing.ranking(), [0, 1]);
    }

    /// The first candidate is twice as good at the first need, the second four times as good at the second. With weights w and 1,
    /// the scores are equal at w · log 2 = log 4, so w = 2: a weight of 3 may fall to two thirds.
    #[test]
    fn a_choice_tips_where_the_lines_cross() {
        let goodness = [ln(&[1.0, 0.5]), ln(&[0.25, 1.0])];
        let (down, up) = weighing(&goodness, &[3.0, 1.0], None).tipping(0, 0);
        let down = down.expect("it tips");
        assert!((down.factor - 2.0 / 3.0).abs() < 1e-12 && down.candidate == 1);
        assert_eq!(up, None);
        let (down, up) = weighing(&goodness, &[3.0, 1.0], None).tipping(1, 0);
        assert_eq!(down, None);
        assert!((up.expect("it tips").factor - 1.5).abs() < 1e-12);
    }

    #[test]
    fn who_is_best_at_everything_is_always_chosen() {
        let goodness = [ln(&[1.0, 0.5]), ln(&[1.0, 0.9])];
        for need in 0..2 {
            assert_eq!(weighing(&goodness, &[1.0, 1.0], None).tipping(need, 0), (None, None));
        }
    }

    #[test]
    fn a_single_weight_cannot_tip() {
        let goodness = [ln(&[1.0, 0.5]), ln(&[0.5, 1.0])];
        assert_eq!(weighing(&goodness, &[1.0, 0.0], None).tipping(0, 0), (None, None));
    }

    #[test]
    fn a_draw_is_decided_and_only_a_draw() {
        let goodness = [ln(&[1.0, 0.98, 0.9])];
        let draw = ln(&[0.5, 0.9, 1.0]);
        assert_eq!(weighing(&goodness, &[1.0], Some(&draw)).ranking(), [1, 0, 2]);
        assert_eq!(weighing(&goodness, &[1.0], None).ranking(), [0, 1, 2]);
        let none = [f64::NEG_INFINITY; 3];
        assert_eq!(
            weighing(&goodness, &[1.0], Some(&none)).ranking(),
            [0, 1, 2],
            "no figures decide nothing"
        );
    }

    /// The second is chosen while it is in the draw: until the first leads by more than the margin.
    #[test]
    fn with_a_draw_the_choice_tips_at_the_margin() {
        let goodness = [ln(&[1.0, 0.97]), ln(&[0.98, 1.0])];
        let draw = ln(&[0.5, 1.0]);
        let weights = [1.0, 1.0];
        let weighing = weighing(&goodness, &weights, Some(&draw));
        assert_eq!(weighing.ranking(), [1, 0]);
        let (down, up) = weighing.tipping(0, 1);
        assert_eq!(down, None);
        let up = up.expect("it tips");
        assert_eq!(up.candidate, 0);
        let lead = (up.factor * -(0.97_f64.ln()) + 0.98_f64.ln()) / (up.factor + 1.0);
        assert!((lead - weighing.margin).abs() < 1e-9, "{}", up.factor);
    }

    /// The exact answer against a fine search, on made-up candidates.
    #[test]
    fn no_search_finds_a_nearer_tipping() {
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % 10_000) as f64 / 10_000.0
        };
        for _ in 0..60 {
            let goodness: Vec<Vec<f64>> = (0..3).map(|_| (0..5).map(|_| -0.5 * random()).collect()).collect();
            let weights: Vec<f64> = (0..3).map(|_| 0.2 + random()).collect();
            let draw: Vec<f64> = (0..5).map(|_| -random()).collect();
            for draw in [None, Some(draw.as_slice())] {
                let weighing = Weighing { margin: 0.05, ..weighing(&goodness, &weights, draw) };
                let chosen = weighing.ranking()[0];
                let all = [0, 1, 2, 3, 4];
                for need in 0..3 {
                    let (_, up) = weighing.tipping(need, chosen);
                    let changed = |factor: f64| {
                        let mut weights = weights.clone();
                        weights[need] *= factor;
                        weighing.choose(&weights, &all) != Some(chosen)
                    };
                    let searched = (1..4000).map(|step| 1.0 + f64::from(step) * 0.005).find(|f| changed(*f));
                    match (searched, up) {
                        (Some(found), Some(up)) => assert!(up.factor <= found + 1e-9, "{found} {up:?}"),
                        (None, Some(up)) => assert!(up.factor > 1.0, "{up:?}"),
                        (Some(found), None) => panic!("it changes at {found}"),
                        (None, None) => {}
                    }
                    if let Some(up) = up {
                        assert!(!changed(1.0 + (up.factor - 1.0) * 0.999), "{up:?} is too far");
                    }
                }
            }
        }
    }
}
