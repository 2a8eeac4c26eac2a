//! Recommends a candidate by the user's needs: which candidates meet the requirements, which are dominated, which is best by the
//! weights, and how far the weights must change to change the choice. Pure; the caller passes what each kind of filesystem can do.

use super::criteria::{self, Criterion, Need, Stated};
use super::dataset::Dataset;
use super::weighing::{self, Weighing};
use crate::schema::finding::{Found, Verdict};
use crate::schema::needs::{Aspect, Needs};
pub use crate::schema::recommendation::{
    Change, Choice, Figure, JudgedBy, Lack, Place, Recommendation, RuledOut, Unjudged, Weighed,
};
use crate::schema::units::Percent;

/// With more candidates there is no recommendation, because it would have too many pairs and table lines.
const MOST: usize = 256;

/// One candidate relative to another, by one criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Better,
    Worse,
    Equal,
    Unknown,
}

/// Two candidates, by one criterion.
pub struct Pair<'p> {
    pub criterion: &'p Criterion,
    pub a: &'p str,
    pub b: &'p str,
    /// The log ratio, positive if `a` is better; `None` if one has no figure.
    pub by: Option<f64>,
}

pub type Compare<'c> = &'c dyn Fn(&Pair<'_>) -> Comparison;

/// Compares only the means: a difference within the margin counts as equal.
pub fn by_margin(margin: Percent) -> impl Fn(&Pair<'_>) -> Comparison {
    let margin = ln(margin);
    move |pair| match pair.by {
        None => Comparison::Unknown,
        Some(by) if by > margin => Comparison::Better,
        Some(by) if -by > margin => Comparison::Worse,
        Some(_) => Comparison::Equal,
    }
}

/// Compares by the findings where there are findings (headline metrics and CPU time), otherwise by the margin.
pub fn by_findings<'v>(verdict: &'v Verdict) -> impl Fn(&Pair<'_>) -> Comparison + 'v {
    let else_by = by_margin(verdict.margin);
    move |pair| {
        let Criterion { workload, metric, dimensions, .. } = pair.criterion;
        let all = verdict.findings.iter().chain(&verdict.cpu);
        let mut of_both = all
            .filter(|finding| finding.is_of(workload, metric, dimensions))
            .filter(|finding| finding.a == pair.b || finding.b == pair.b);
        match of_both.find_map(|finding| finding.from_the_side_of(pair.a)).map(|finding| finding.finding) {
            None => else_by(pair),
            Some(Found::Better) => Comparison::Better,
            Some(Found::Worse) => Comparison::Worse,
            Some(Found::Equivalent) => Comparison::Equal,
            Some(Found::CannotTell) => Comparison::Unknown,
        }
    }
}

fn ln(margin: Percent) -> f64 {
    (margin.0 / 100.0).ln_1p()
}

/// The run's data, the needs, and the candidates' properties.
pub struct Asked<'a> {
    pub dataset: &'a Dataset<'a>,
    /// Candidates that may be chosen.
    pub candidates: &'a [String],
    pub needs: &'a Needs,
    pub margin: Percent,
    /// The requirements that this candidate does not meet.
    pub lacks: &'a dyn Fn(&str) -> Vec<Lack>,
    /// The aspect that a metric of that name measures.
    pub aspect_of: &'a dyn Fn(&str) -> Option<Aspect>,
}

pub fn recommend(asked: &Asked<'_>, compare: Compare<'_>) -> Recommendation {
    let Asked { dataset, candidates, needs, margin, lacks, aspect_of } = *asked;
    let (mut ruled_out, mut able) = (Vec::new(), Vec::new());
    for filesystem in candidates.iter().take(MOST).cloned() {
        let lacks = lacks(&filesystem);
        match lacks.is_empty() {
            true => able.push(filesystem),
            false => ruled_out.push(RuledOut { filesystem, lacks }),
        }
    }
    let (judged, unjudged) = with_figures(&criteria::stated(dataset, needs, aspect_of, &able), able);
    let stated = criteria::stated(dataset, needs, aspect_of, &judged);
    let mut recommendation = Recommendation {
        profile: needs.profile.clone(),
        margin,
        rounds: rounds(&stated),
        needs: stated.iter().map(|stated| weighed(stated, &judged)).collect(),
        ruled_out,
        unjudged,
        ranking: Vec::new(),
        choice: None,
    };
    let at: Vec<usize> = (0..stated.len()).filter(|at| stated[*at].is_weighed()).collect();
    if at.is_empty() || judged.is_empty() || candidates.len() > MOST {
        return recommendation;
    }
    let goodness: Vec<Vec<f64>> = at.iter().map(|at| stated[*at].goodness(judged.len())).collect();
    let weights: Vec<f64> = at.iter().map(|at| stated[*at].weight).collect();
    let draw = draw(needs, &stated, judged.len());
    let weighing =
        Weighing { goodness: &goodness, weights: &weights, margin: ln(margin), draw: draw.as_deref() };
    let ranking = weighing.ranking();
    let Some(chosen) = ranking.first().copied() else { return recommendation };
    let all: f64 = weights.iter().sum();
    for (of, at) in at.iter().enumerate() {
        let change = |tipping: weighing::Tipping| Change {
            factor: tipping.factor,
            filesystem: judged[tipping.candidate].clone(),
        };
        let (less, more) = weighing.tipping(of, chosen);
        let need = &mut recommendation.needs[*at];
        (need.share, need.less, need.more) = (need.weight / all, less.map(change), more.map(change));
    }
    // This includes the need that decides a draw, even if that need has no weight.
    let figures = |stated: &Stated| stated.missing.is_none().then(|| stated.goodness(judged.len()));
    let figures: Vec<Option<Vec<f64>>> = stated.iter().map(figures).collect();
    let ratio = |candidate: usize, need: usize| {
        figures[need].as_ref().map(|of| of[candidate].exp()).filter(|ratio| *ratio > 0.0)
    };
    let place = |candidate: usize| Place {
        filesystem: judged[candidate].clone(),
        score: weighing.score(candidate).exp(),
        ratios: (0..stated.len()).map(|need| ratio(candidate, need)).collect(),
        behind: behind(&stated, &weighing, compare, &judged, candidate)
            .map(|other| judged[other].clone())
            .collect(),
    };
    recommendation.ranking = ranking.iter().map(|candidate| place(*candidate)).collect();
    recommendation.choice = Some(choice(&weighing, &judged, &ranking, needs.draw));
    recommendation
}

/// Splits candidates: first the candidates that have figures for every weighed need, then all others.
fn with_figures(stated: &[Stated], able: Vec<String>) -> (Vec<String>, Vec<Unjudged>) {
    let lacking = |candidate: usize| -> Vec<Need> {
        let has_all = |stated: &&Stated| stated.criteria.iter().all(|c| c.means[candidate].is_some());
        stated.iter().filter(|s| s.is_weighed() && !has_all(s)).map(|s| s.need.clone()).collect()
    };
    let (mut judged, mut unjudged) = (Vec::new(), Vec::new());
    for (candidate, filesystem) in able.into_iter().enumerate() {
        let needs = lacking(candidate);
        match needs.is_empty() {
            true => judged.push(filesystem),
            false => unjudged.push(Unjudged { filesystem, needs }),
        }
    }
    (judged, unjudged)
}

impl Stated {
    /// Whether the need has a weight and a criterion.
    fn is_weighed(&self) -> bool {
        self.weight > 0.0 && self.missing.is_none()
    }

    /// For each candidate, the log ratio to the best candidate, as the mean over the need's criteria.
    fn goodness(&self, candidates: usize) -> Vec<f64> {
        let mean = |candidate: usize| {
            let sum: Option<f64> = self.criteria.iter().map(|c| c.goodness(candidate)).sum();
            sum.map_or(f64::NEG_INFINITY, |sum| sum / self.criteria.len() as f64)
        };
        let all: Vec<f64> = (0..candidates).map(mean).collect();
        let best = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        all.into_iter().map(|one| if best.is_finite() { one - best } else { one }).collect()
    }
}

fn rounds(stated: &[Stated]) -> usize {
    let weighed = stated.iter().filter(|stated| stated.is_weighed());
    weighed.flat_map(|stated| &stated.criteria).map(|criterion| criterion.rounds).min().unwrap_or(0)
}

fn weighed(stated: &Stated, candidates: &[String]) -> Weighed {
    let judged_by = |criterion: &Criterion| {
        let all = || (0..candidates.len()).filter_map(|candidate| criterion.goodness(candidate));
        let best = all().fold(f64::NEG_INFINITY, f64::max);
        let figure = |(candidate, filesystem): (usize, &String)| {
            let (mean, goodness) =
                criterion.means.get(candidate).copied().flatten().zip(criterion.goodness(candidate))?;
            Some(Figure { filesystem: filesystem.clone(), mean, ratio: (goodness - best).exp() })
        };
        JudgedBy {
            workload: criterion.workload.clone(),
            metric: criterion.metric.clone(),
            dimensions: criterion.dimensions.clone(),
            unit: criterion.unit.clone(),
            better: criterion.better,
            rounds: criterion.rounds,
            figures: candidates.iter().enumerate().filter_map(figure).collect(),
        }
    };
    Weighed {
        need: stated.need.clone(),
        weight: stated.weight,
        share: 0.0,
        missing: stated.missing,
        judged_by: stated.criteria.iter().map(judged_by).collect(),
        less: None,
        more: None,
    }
}

/// For each candidate, the goodness at the need that decides a draw.
fn draw(needs: &Needs, stated: &[Stated], candidates: usize) -> Option<Vec<f64>> {
    let need = Need::Aspect(needs.draw?);
    stated.iter().find(|s| s.need == need && s.missing.is_none()).map(|s| s.goodness(candidates))
}

/// The candidates that dominate this candidate: worse by no criterion, and better by at least one. A difference within the margin
/// counts as equal, so three candidates could dominate each other in a cycle. So a dominating candidate must also have the larger
/// score.
fn behind<'a>(
    stated: &'a [Stated],
    weighing: &'a Weighing<'a>,
    compare: Compare<'a>,
    judged: &'a [String],
    candidate: usize,
) -> impl Iterator<Item = usize> + 'a {
    let dominates = move |other: usize| {
        // The need that decides a draw counts too, although it has no weight.
        let criteria = stated.iter().flat_map(|stated| &stated.criteria);
        let mut is_better = false;
        for criterion in criteria {
            let by = criterion.goodness(other).zip(criterion.goodness(candidate)).map(|(a, b)| a - b);
            match compare(&Pair { criterion, a: &judged[other], b: &judged[candidate], by }) {
                Comparison::Better => is_better = true,
                Comparison::Equal => {}
                Comparison::Worse | Comparison::Unknown => return false,
            }
        }
        is_better && weighing.score(other) > weighing.score(candidate)
    };
    (0..judged.len()).filter(move |other| *other != candidate && dominates(*other))
}

fn choice(weighing: &Weighing<'_>, judged: &[String], ranking: &[usize], draw: Option<Aspect>) -> Choice {
    let chosen = ranking[0];
    let is_close = |other: &usize| (weighing.score(chosen) - weighing.score(*other)).abs() <= weighing.margin;
    let is_decided = |other: &usize| {
        weighing.draw.is_some_and(|draw| {
            draw[chosen] != draw[*other] && (draw[chosen] - draw[*other]).abs() > weighing.margin
        })
    };
    let close = ranking[1..].iter().copied().filter(is_close);
    let (drawn_with, ties): (Vec<usize>, Vec<usize>) = close.partition(is_decided);
    let labels = |all: Vec<usize>| all.into_iter().map(|candidate| judged[candidate].clone()).collect();
    Choice {
        filesystem: judged[chosen].clone(),
        draw: draw.filter(|_| !drawn_with.is_empty()),
        ties: labels(ties),
        drawn_with: labels(drawn_with),
    }
}
