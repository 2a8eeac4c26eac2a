//! The range of a comparison over all runs that have it, or why there is none.

use super::places::{Full, Place};
use super::reasons::{Reason, Sentence, clause, hull};
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
    /// The range over all runs and candidates that have these points in one setup. Those without a range, and those whose work
    /// is not the paper's, count only if there are no others.
    fn over(&self, points: &[&Point<'_>], judge: &Judge<'_>) -> Result<Ends, Reason> {
        for point in points {
            if let Some(why) = self.paper.unmatched(point) {
                let why = clause(why);
                return Err(Reason::only(format!("The metric {} cannot be measured: {why}.", point.metric)));
            }
            let candidate = self.paper.candidate(point.candidate);
            if let Some(missing) = candidate.and_then(|candidate| candidate.missing.as_ref()) {
                let text = format!("{} cannot be run here: {}.", point.candidate, clause(missing));
                return Err(Reason::only(text));
            }
        }
        let mut range: Option<Ends> = None;
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
                    let mut reason = Reason::default();
                    match judge(place, &sides) {
                        Ok(range) => reason.range = Some(range.ends),
                        Err(unknown) => reason.add(self.unknown(place, points, &sides, unknown)),
                    }
                    for ((point, (scenario, scale)), candidate) in points.iter().zip(&works).zip(&labels) {
                        let work = (point.workload, *scenario, *scale);
                        let gates = self.gates(place, work, point.metric, candidate);
                        gates.into_iter().for_each(|gate| reason.add(gate));
                    }
                    if reason.because.is_empty() {
                        range = hull(range, reason.range);
                    } else {
                        closed.get_or_insert_default().add(reason);
                    }
                }
            }
        }
        range.ok_or_else(|| closed.unwrap_or_else(|| self.absent(points)))
    }

    /// The workloads and filesystems that no run has.
    fn absent(&self, points: &[&Point<'_>]) -> Reason {
        let (mut all, mut lone) = (Reason::default(), Vec::new());
        for point in points {
            let (work, candidate) = (point.workload, point.candidate);
            let of_it = || self.places.iter().filter(|place| place.work(work).is_some());
            if of_it().next().is_none() {
                let experiment = self.full.named.get(work);
                let run = experiment.map_or("runs of ".to_owned(), |experiment| {
                    format!("runs of the experiment {experiment} with --workloads ")
                });
                all.add(Reason::takes(
                    Sentence::about("The runs lack the work of ", work, "."),
                    Sentence::about(run, work, ""),
                ));
            } else if of_it().all(|place| place.of_kind(candidate).next().is_none()) {
                all.add(Reason::takes(
                    Sentence::about(
                        format!("The runs of {work} lack "),
                        candidate,
                        " with the paper's options.",
                    ),
                    Sentence::about(format!("runs of {work} with "), candidate, ""),
                ));
            } else {
                lone.push(point);
            }
        }
        if all.because.is_empty() {
            return Reason::only("No single run has both sides of the comparison in one setup.");
        }
        // The side that is there may not do either.
        for point in lone {
            for place in &self.places {
                let Some((scenario, scale)) = place.work(point.workload) else { continue };
                for candidate in place.of_kind(point.candidate) {
                    let work = (point.workload, scenario, scale);
                    self.gates(place, work, point.metric, candidate)
                        .into_iter()
                        .for_each(|gate| all.add(gate));
                }
            }
        }
        all
    }

    fn unknown(
        &self,
        place: &Place<'_>,
        points: &[&Point<'_>],
        sides: &[Side<'_>],
        unknown: Unknown,
    ) -> Reason {
        let point = points[0];
        let folder = place.run.folder.display();
        let further = |rounds: usize| match &place.run.plan.shard {
            // A shard has the rounds of its plan.
            Some(_) => "fsderby merge OUT SHARD…".to_owned(),
            None => format!("fsderby run --resume {folder} --rounds {rounds}"),
        };
        let complete = place.verdict.basis.complete() as usize;
        let no_ratio = |trials: &str| {
            let mut metrics: Vec<&str> = points.iter().map(|point| point.metric).collect();
            metrics.dedup();
            Reason::only(Sentence::about(
                format!(
                    "In too few trials of {} in {folder}{trials} a ratio can be formed of ",
                    point.workload
                ),
                metrics.join(" ÷ "),
                ", for example because a value is 0.",
            ))
        };
        match unknown {
            Unknown::NotMeasured => {
                let mut all = Reason::default();
                let is_there = |side: &Side<'_>| place.has(side.scenario, side.metric, side.label);
                for (point, _) in points.iter().zip(sides).filter(|(_, side)| !is_there(side)) {
                    all.add(Reason::only(Sentence::about(
                        format!("No valid trial of {} in {folder} measured ", point.workload),
                        format!("{} of {}", point.metric, point.candidate),
                        ".",
                    )));
                }
                if all.because.is_empty() { no_ratio("") } else { all }
            }
            Unknown::Averaged(n) => Reason::only(format!(
                "The claim is about the average of {n} figures of {}; fsderby computes no range for such an average.",
                point.metric
            )),
            Unknown::Few { needed, .. } if complete >= needed => no_ratio(""),
            Unknown::Few { needed, .. } => {
                let rounds = count(complete, "complete round");
                Reason::takes(format!("{folder} has {rounds}; a range needs {needed}."), further(needed))
            }
            Unknown::Extras(lacking) => {
                let trials = match lacking {
                    Lacking::Floor => "more disk-model overhead",
                    Lacking::Seeds => "other workload seeds",
                    Lacking::Costs => "other costs of an instruction",
                    Lacking::Samples => "all samples of the disk",
                };
                // A complete run has its extra trials.
                let is_whole = place.run.is_complete() && place.run.plan.shard.is_none();
                if is_whole && complete >= SAMPLES_NEEDED {
                    return no_ratio(&format!(" with {trials}"));
                }
                let said = format!("{folder} lacks trials of {} with {trials}.", point.workload);
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
