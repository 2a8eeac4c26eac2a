//! The figures by which needs are judged: each need's metrics, and each metric's value per candidate. Pure.
//!
//! A value is the geometric mean over the rounds that all candidates have. The ratio of two such means is the geometric mean of
//! the ratios within rounds, so what affects a whole round alike (a warm machine, a full disk) cancels.
//!
//! Where a mean misleads: with few rounds it does not show how much it would change if the rounds were repeated. Findings take
//! this scatter into account.

use std::collections::{BTreeMap, BTreeSet};

use super::dataset::{Cell, Dataset, Series, Work};
use crate::schema::metric::Better;
use crate::schema::needs::{Aspect, Needs, Weighed};
pub use crate::schema::recommendation::{Missing, Need};

/// A need and its criteria.
#[derive(Clone, Debug)]
pub struct Stated {
    pub need: Need,
    pub weight: f64,
    /// The criteria of this need, all with equal weight.
    pub criteria: Vec<Criterion>,
    /// Why the need has no criterion.
    pub missing: Option<Missing>,
}

/// One metric of one workload.
#[derive(Clone, Debug)]
pub struct Criterion {
    pub workload: String,
    pub metric: String,
    pub dimensions: String,
    pub unit: String,
    pub better: Better,
    /// The number of rounds over which each mean is taken.
    pub rounds: usize,
    /// Each candidate's mean.
    pub means: Vec<Option<f64>>,
}

impl Criterion {
    /// The logarithm of a candidate's mean, oriented so that larger is better.
    pub fn goodness(&self, candidate: usize) -> Option<f64> {
        let ln = self.means.get(candidate).copied().flatten()?.ln();
        Some(if self.better == Better::Lower { -ln } else { ln })
    }
}

/// Every need with a weight, and the need that decides a draw, with figures of these candidates.
pub fn stated(
    dataset: &Dataset<'_>,
    needs: &Needs,
    aspect_of: &dyn Fn(&str) -> Option<Aspect>,
    candidates: &[String],
) -> Vec<Stated> {
    let look = Criteria { dataset, aspect_of, candidates };
    let weighed = weighed(&look, needs);
    // Aspects are judged only in workloads that carry a weight: a candidate is not worse for lacking other workloads.
    let has_weight = |work: &&Work<'_>| {
        let of_work = |(need, weight): &(Need, f64)| *weight > 0.0 && need.workload() == Some(&work.label);
        look.is_for_an_aspect(work) || weighed.iter().any(of_work)
    };
    let is_any = dataset.workloads.iter().any(|work| has_weight(&work) && !look.is_for_an_aspect(work));
    let mut all = Vec::new();
    for (need, weight) in weighed.iter().cloned() {
        let of_workload = |label: &str, is_it: &dyn Fn(&Series) -> bool| {
            let mut works = dataset.workloads.iter().filter(|work| work.label == label);
            works.next().map_or(Err(Missing::NotMeasured), |work| look.criteria([work].into_iter(), is_it))
        };
        let found = match &need {
            Need::Workload(label) => of_workload(label, &|series| look.is_headline(series)),
            Need::Metric { workload, metric } => of_workload(workload, &|series| series.name == *metric),
            Need::Aspect(aspect) => {
                let works = dataset.workloads.iter().filter(|work| !is_any || has_weight(work));
                look.criteria(works, &|series| aspect_of(&series.name) == Some(*aspect))
            }
        };
        let (criteria, missing) = match found {
            Ok(criteria) => (criteria, None),
            Err(missing) => (Vec::new(), Some(missing)),
        };
        all.push(Stated { need, weight, criteria, missing });
    }
    all
}

struct Criteria<'d> {
    dataset: &'d Dataset<'d>,
    aspect_of: &'d dyn Fn(&str) -> Option<Aspect>,
    candidates: &'d [String],
}

/// The needs with their weights. If no need has a weight, only the workloads count.
fn weighed(look: &Criteria<'_>, needs: &Needs) -> Vec<(Need, f64)> {
    let is_own = |label: &str| needs.workload.contains_key(label);
    let shared: Vec<&Work<'_>> =
        look.dataset.workloads.iter().filter(|w| !is_own(&w.label) && !look.is_for_an_aspect(w)).collect();
    let whole = needs.workloads.unwrap_or(if needs.weights().is_empty() { 1.0 } else { 0.0 });
    let each = whole / shared.len().max(1) as f64;
    let mut all: Vec<(Need, f64)> =
        shared.iter().map(|work| (Need::Workload(work.label.clone()), each)).collect();
    for (label, weighed) in &needs.workload {
        match weighed {
            Weighed::Headline(weight) => all.push((Need::Workload(label.clone()), *weight)),
            Weighed::Metrics(metrics) => all.extend(metrics.iter().map(|(metric, weight)| {
                (Need::Metric { workload: label.clone(), metric: metric.clone() }, *weight)
            })),
        }
    }
    all.extend(Aspect::ALL.map(|aspect| (Need::Aspect(aspect), needs.weight(aspect))));
    all.retain(|(need, weight)| {
        *weight > 0.0 || needs.draw.is_some_and(|aspect| *need == Need::Aspect(aspect))
    });
    all
}

impl Criteria<'_> {
    /// Whether the metric is a headline metric that shows speed: it measures no aspect, and does not stand in for times.
    fn is_headline(&self, series: &Series) -> bool {
        series.headline && !series.stands_in && (self.aspect_of)(&series.name).is_none()
    }

    /// Whether the workload only measures aspects; for example, a workload with a power cut measures the recovery time.
    fn is_for_an_aspect(&self, work: &Work<'_>) -> bool {
        let mut headlines =
            work.counted.iter().flat_map(|r| &r.metrics).filter(|metric| metric.headline).peekable();
        headlines.peek().is_some() && headlines.all(|metric| (self.aspect_of)(&metric.name).is_some())
    }

    fn criteria<'w>(
        &self,
        works: impl Iterator<Item = &'w Work<'w>>,
        is_it: &dyn Fn(&Series) -> bool,
    ) -> Result<Vec<Criterion>, Missing> {
        let mut found = Vec::new();
        let mut why = Missing::NotMeasured;
        for work in works {
            for series in work.series.iter().filter(|s| !s.once && s.better != Better::Neither && is_it(s)) {
                match self.criterion(&work.label, series) {
                    Ok(criterion) => found.push(criterion),
                    Err(missing) => why = missing,
                }
            }
            if has_only_times_that_say_nothing(work, is_it) {
                why = Missing::TimesSayNothing;
            }
        }
        if found.is_empty() { Err(why) } else { Ok(found) }
    }

    fn criterion(&self, workload: &str, series: &Series) -> Result<Criterion, Missing> {
        let cell = |label: &String| series.cells.iter().find(|cell| cell.filesystem == *label);
        let by_round: Vec<BTreeMap<u32, f64>> =
            self.candidates.iter().map(|label| cell(label).map(values).unwrap_or_default()).collect();
        let mut each = by_round.iter().filter(|values| !values.is_empty());
        let first = each.next().ok_or(Missing::NotMeasured)?;
        let rounds: BTreeSet<u32> = each.fold(first.keys().copied().collect(), |rounds, values| {
            rounds.into_iter().filter(|round| values.contains_key(round)).collect()
        });
        if rounds.is_empty() {
            return Err(Missing::NoRoundInCommon);
        }
        if by_round.iter().any(|values| rounds.iter().any(|r| values.get(r).is_some_and(|v| *v <= 0.0))) {
            return Err(Missing::NoRatio);
        }
        let mean = |values: &BTreeMap<u32, f64>| {
            let sum: f64 = rounds.iter().filter_map(|round| values.get(round)).map(|value| value.ln()).sum();
            (!values.is_empty()).then(|| (sum / rounds.len() as f64).exp())
        };
        Ok(Criterion {
            workload: workload.to_owned(),
            metric: series.name.clone(),
            dimensions: series.dimensions.clone(),
            unit: series.unit.clone(),
            better: series.better,
            rounds: rounds.len(),
            means: by_round.iter().map(mean).collect(),
        })
    }
}

fn values(cell: &Cell) -> BTreeMap<u32, f64> {
    cell.values.iter().map(|value| (value.round, value.value)).collect()
}

/// Whether records have the requested metrics, but only from machines whose times do not count.
fn has_only_times_that_say_nothing(work: &Work<'_>, is_it: &dyn Fn(&Series) -> bool) -> bool {
    let unsaid = |record: &&&crate::schema::record::Record| {
        record.metrics.iter().any(|metric| !record.says(metric) && is_it(&Series::named_as(metric)))
    };
    work.counted.iter().any(|record| unsaid(&record)) && !work.series.iter().any(is_it)
}
