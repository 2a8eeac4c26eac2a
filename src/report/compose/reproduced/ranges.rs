//! The range of a comparison over all runs that have it, or why there is none.

use super::places::{Full, Place};
use super::reasons::{Reason, Said};
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::analysis::range::{Range, Side, Unknown};
use crate::analysis::robust::Lacking;
use crate::papers::here::{self, Ends};
use crate::papers::{Paper, Point};
use crate::report::view::number::count;
use crate::schema::plan::Candidate;

/// The runs of a column.
pub struct Runs<'r> {
    pub paper: &'r Paper,
    pub full: &'r Full,
    pub places: Vec<Place<'r>>,
}

impl here::Ranges for Runs<'_> {
    type Unknown = Reason;

    fn ratio(&self, of: &Point<'_>, than: &Point<'_>) -> Result<Ends, Reason> {
        self.over(&[of, than], &|place, sides| place.ranges.ratio(&sides[0], &sides[1]))
    }

    fn value(&self, of: &Point<'_>) -> Result<Ends, Reason> {
        self.over(&[of], &|place, sides| place.ranges.value(&sides[0]))
    }
}

type Judge<'j> = dyn Fn(&Place<'_>, &[Side<'_>]) -> Result<Range, Unknown> + 'j;

impl Runs<'_> {
    /// The range over all runs and candidates that have these points in one setup.
    fn over(&self, points: &[&Point<'_>], judge: &Judge<'_>) -> Result<Ends, Reason> {
        for point in points {
            if let Some(why) = self.paper.unmatched(point.workload, point.metric) {
                return Err(Reason::only(format!("The metric {} cannot be measured: {why}.", point.metric)));
            }
            let candidate = self.paper.candidate(point.candidate);
            if let Some(missing) = candidate.and_then(|candidate| candidate.missing.as_ref()) {
                let text = format!("{} cannot be run here: {missing}.", point.candidate);
                return Err(Reason::only(text));
            }
        }
        let mut hull: Option<Ends> = None;
        let mut closed: Option<Reason> = None;
        for place in &self.places {
            let works: Option<Vec<_>> = points.iter().map(|point| place.work(point.workload)).collect();
            let Some(works) = works else { continue };
            for first in place.of_kind(points[0].candidate) {
                for labels in alike(place, first, points) {
                    let sides = points.iter().zip(&works).zip(&labels);
                    let sides: Vec<Side<'_>> = sides
                        .map(|((point, (scenario, _)), candidate)| Side {
                            scenario,
                            metric: point.metric,
                            at: point.at,
                            label: &candidate.label,
                        })
                        .collect();
                    let range =
                        judge(place, &sides).map_err(|unknown| self.unknown(place, points[0], unknown))?;
                    for ((point, (scenario, scale)), candidate) in points.iter().zip(&works).zip(&labels) {
                        let work = (point.workload, *scenario, *scale);
                        let gates = self.gates(place, work, point.metric, candidate);
                        closed = closed.or(gates.err());
                    }
                    let [low, high] = hull.unwrap_or(range.ends);
                    hull = Some([low.min(range.ends[0]), high.max(range.ends[1])]);
                }
            }
        }
        match (hull, closed) {
            (range, Some(reason)) => Err(Reason { range, ..reason }),
            (Some(range), None) => Ok(range),
            (None, None) => Err(self.absent(points)),
        }
    }

    /// The first workload or filesystem that no run has.
    fn absent(&self, points: &[&Point<'_>]) -> Reason {
        let has = |point: &&&Point<'_>| self.places.iter().any(|place| place.work(point.workload).is_some());
        if let Some(point) = points.iter().find(|point| !has(point)) {
            let work = point.workload;
            return Reason::takes(
                Said::about("The runs lack ", work, "."),
                Said::about("runs of ", work, ""),
            );
        }
        let is_in = |place: &Place<'_>, point: &Point<'_>| {
            place.work(point.workload).is_some() && place.of_kind(point.candidate).next().is_some()
        };
        let takes_part = |point: &&&Point<'_>| self.places.iter().any(|place| is_in(place, point));
        if let Some(point) = points.iter().find(|point| !takes_part(point)) {
            let (work, candidate) = (point.workload, point.candidate);
            return Reason::takes(
                Said::about(format!("The runs of {work} lack "), candidate, " with the paper's options."),
                Said::about(format!("runs of {work} with "), candidate, ""),
            );
        }
        Reason::only("No single run has both sides of the comparison in one setup.")
    }

    fn unknown(&self, place: &Place<'_>, point: &Point<'_>, unknown: Unknown) -> Reason {
        let folder = place.run.folder.display();
        let further = |rounds: usize| match &place.run.plan.shard {
            // A shard has the rounds of its plan.
            Some(_) => "fsderby merge OUT SHARD…".to_owned(),
            None => format!("fsderby run --resume {folder} --rounds {rounds}"),
        };
        let unit = if place.is_modelled() { "sample" } else { "round" };
        match unknown {
            Unknown::NotMeasured => Reason::only(Said::about(
                format!("No valid trial of {} in {folder} has the metric ", point.workload),
                format!("{} of {}", point.metric, point.candidate),
                ".",
            )),
            Unknown::Averaged(n) => Reason::only(format!(
                "The claim is about the average of {n} figures of {}; fsderby computes no range for such an average.",
                point.metric
            )),
            Unknown::Few { needed, .. } if place.verdict.basis.complete() as usize >= needed => {
                Reason::only(Said::about(
                    format!(
                        "A ratio needs {} with a value other than 0; {} in {folder} has fewer of ",
                        count(needed, unit),
                        point.workload
                    ),
                    format!("{} of {}", point.metric, point.candidate),
                    ".",
                ))
            }
            Unknown::Few { has, needed } => Reason::takes(
                format!("{folder} has {} of the {needed} that a range needs.", count(has, unit)),
                further(needed),
            ),
            Unknown::Extras(lacking) => {
                let trials = match lacking {
                    Lacking::Floor => "more disk-model overhead",
                    Lacking::Seeds => "other workload seeds",
                    Lacking::Costs => "other costs of an instruction",
                    Lacking::Samples => "all samples of the disk",
                };
                if place.run.is_complete() && place.verdict.basis.complete() as usize >= SAMPLES_NEEDED {
                    return Reason::only(Said::about(
                        format!("In trials of {folder} with {trials} no ratio can be formed of "),
                        point.metric,
                        ", because a value is 0 or missing.",
                    ));
                }
                let said = format!("{folder} has no trials of this metric with {trials}.");
                Reason::takes(said, further(SAMPLES_NEEDED))
            }
            Unknown::NotPaired => Reason::takes(
                "On this testbed fsderby has no range for a ratio of two workloads or metrics.",
                "a run on a modelled disk",
            ),
            Unknown::Opposed => Reason::only(
                "One of the two metrics should be high and the other low, so their ratio has no direction.",
            ),
        }
    }
}

/// For each point a candidate, all in the setup of the first; points of one kind have the same candidate.
fn alike<'r>(place: &Place<'r>, first: &'r Candidate, points: &[&Point<'_>]) -> Vec<Vec<&'r Candidate>> {
    let setup = |candidate: &Candidate| place.run.plan.setup(candidate) == place.run.plan.setup(first);
    match points {
        [of, than] if of.candidate != than.candidate => {
            let others = place.of_kind(than.candidate).filter(|other| setup(other));
            others.map(|other| vec![first, other]).collect()
        }
        _ => vec![vec![first; points.len()]],
    }
}
