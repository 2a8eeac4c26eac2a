//! Judges a paper's claims by runs of its experiments, and puts its tables beside them.
//!
//! ```text
//! runs ── one column per testbed ──▶ for each claim: its comparisons, each with a range of `analysis::range`
//!                                    ──▶ gates ──▶ `papers::here`: holds, does not hold, cannot tell
//! ```
//! A scaled run must still be the paper's work. Otherwise, whatever its range, nobody can tell:
//!
//! - data ÷ memory as published, within a tenth
//! - three commit intervals of the filesystem at least
//! - device bytes written ÷ bytes of the work within 25 % of the full size's, measured once for one kind and one workload
//!
//! At full size the work is the paper's own, so only the first applies.

use std::collections::BTreeMap;

use fsderby_stats::agreement;

use super::known::Known;
use super::published::Ours;
use super::sections;
use crate::analysis::dataset::{Dataset, Work};
use crate::analysis::range::{Range, Ranges, Side, Unknown};
use crate::analysis::robust::Lacking;
use crate::analysis::{stationary, verdict};
use crate::papers::here::{self, Ends, Here, Leg};
use crate::papers::{Claim, Paper, Point, Table};
use crate::report::view::entry::Entry;
use crate::report::view::number::{count, list};
use crate::report::view::published::{Compared, Line};
use crate::report::view::reproduced::{
    ClaimShown, Column, Counts, Offer, Order, Ran, RangeShown, Reproduced,
};
use crate::report::view::row::Row;
use crate::runner::experiment::Experiment;
use crate::schema::declared::{self, Declared};
use crate::schema::finding::Verdict;
use crate::schema::plan::{Candidate, PlannedWork};
use crate::schema::scenario::Stage;
use crate::schema::units::{Bytes, Scale};
use crate::store::Run;
use crate::workloads;

/// The largest divisor of a scale that is recognised in a run's parameters.
const SMALLEST: u64 = 4096;
/// Data ÷ memory may differ from the published ratio by this factor.
const MEMORY: f64 = 1.1;
/// Device bytes written ÷ bytes of the work may differ from the full size's by this factor.
const WRITTEN: f64 = 1.25;
/// More rounds than this are no advice.
const MOST_ROUNDS: f64 = 1000.0;

/// The page of a paper.
///
/// # Errors
/// If none of the runs has a workload and a filesystem of the paper: what each run has instead.
pub fn of(
    named: &str,
    paper: &Paper,
    runs: &[Run],
    known: Known,
    is_why: bool,
) -> Result<Reproduced, String> {
    let asked = asked(paper);
    let datasets: Vec<Dataset<'_>> = runs.iter().map(Dataset::of).collect();
    let verdicts: Vec<Verdict> =
        runs.iter().zip(&datasets).map(|(run, data)| verdict::of(run, data)).collect();
    let full = Full::of(paper);
    let mut columns: Vec<(String, Vec<Place<'_>>)> = Vec::new();
    for ((run, dataset), verdict) in runs.iter().zip(&datasets).zip(&verdicts) {
        for testbed in run.plan.testbeds() {
            let place = Place::of(paper, run, dataset, verdict, (testbed, &asked));
            if place.works.is_empty() || place.candidates.is_empty() {
                return Err(nothing_of(paper, &place));
            }
            match columns.iter_mut().find(|(title, _)| title == testbed) {
                Some((_, places)) => places.push(place),
                None => columns.push((testbed.to_owned(), vec![place])),
            }
        }
    }
    let columns = columns.into_iter().map(|(title, places)| {
        let here = Runs { paper, full: &full, places };
        here.column(title, known)
    });
    let offer = |why: &crate::papers::Why| Offer { change: why.change.clone(), command: why.command.clone() };
    Ok(Reproduced {
        paper: named.to_owned(),
        title: format!("{}, {}", paper.title, paper.year),
        columns: columns.collect(),
        why: paper.reproduction.why.iter().filter(|_| is_why).map(offer).collect(),
        command: String::new(),
    })
}

fn nothing_of(paper: &Paper, place: &Place<'_>) -> String {
    let folder = place.run.folder.display();
    let works: Vec<String> = place.run.plan.workloads.iter().map(|work| work.label.clone()).collect();
    let kinds: Vec<String> = place.run.plan.candidates.iter().map(|c| c.label.clone()).collect();
    let has = if place.works.is_empty() { ("workload", works) } else { ("filesystem", kinds) };
    let experiments: Vec<&str> = paper.reproduction.runs.iter().map(|run| run.experiment.as_str()).collect();
    let experiments =
        if experiments.is_empty() { "its experiments".to_owned() } else { experiments.join(" or ") };
    format!(
        "{folder} has no {} of the paper; it has {}\n  try: a run of {experiments}, at any scale 1/N, with the experiment's \
         filesystems and options",
        has.0,
        list(&has.1)
    )
}

/// The metrics of all claims.
fn asked(paper: &Paper) -> Vec<&str> {
    let tests = paper.claims.iter().flat_map(|claim| &claim.tests);
    tests.flat_map(|test| test.metrics.iter().chain(&test.than_metric)).map(String::as_str).collect()
}

/// What the paper's experiments state at full size.
struct Full {
    /// Memory, by workload.
    memory: BTreeMap<String, Bytes>,
    /// The candidates of all experiments, with their options.
    candidates: Vec<Candidate>,
}

impl Full {
    fn of(paper: &Paper) -> Self {
        let mut full = Full { memory: BTreeMap::new(), candidates: Vec::new() };
        let runs = paper.reproduction.runs.iter();
        for (run, experiment) in runs.filter_map(|run| Some((run, Experiment::load(&run.experiment).ok()?))) {
            for workload in experiment.workloads.iter().chain(&run.workloads) {
                full.memory.extend(experiment.memory.map(|memory| (workload.clone(), memory)));
            }
            full.candidates
                .extend(experiment.plan("loop".into(), 1).map(|plan| plan.candidates).unwrap_or_default());
        }
        let works = paper.tables.iter().flat_map(Table::workloads);
        let works =
            works.chain(paper.claims.iter().flat_map(|claim| claim.workloads.iter().map(String::as_str)));
        for work in works {
            full.memory.extend(paper.reproduction.memory.map(|memory| (work.to_owned(), memory)));
        }
        full
    }

    /// Whether this candidate has the paper's options: none, or those of one of the paper's experiments.
    fn is_papers(&self, candidate: &Candidate) -> bool {
        let is_plain = candidate.variant.mkfs.is_empty() && candidate.variant.mount.is_empty();
        let same = |known: &Candidate| known.kind == candidate.kind && known.variant == candidate.variant;
        candidate.era.is_none() && (is_plain || self.candidates.iter().any(same))
    }
}

/// One run on one testbed.
struct Place<'r> {
    run: &'r Run,
    dataset: &'r Dataset<'r>,
    ranges: Ranges<'r>,
    verdict: &'r Verdict,
    /// The paper's workloads in the run: name, label, scale.
    works: Vec<(String, String, Scale)>,
    candidates: Vec<&'r Candidate>,
}

impl<'r> Place<'r> {
    fn of(
        paper: &Paper,
        run: &'r Run,
        dataset: &'r Dataset<'r>,
        verdict: &'r Verdict,
        (testbed, asked): (&str, &[&str]),
    ) -> Self {
        let full = Full::of(paper);
        let copy = run.plan.guard.as_ref().map(|twice| twice.copy.as_str());
        let is_here = |candidate: &&Candidate| {
            run.plan.setup(candidate).testbed == testbed
                && copy != Some(&candidate.label)
                && full.is_papers(candidate)
        };
        let mut names: Vec<&str> = paper.tables.iter().flat_map(Table::workloads).collect();
        for test in paper.claims.iter().flat_map(|claim| claim.tests.iter().map(move |test| (claim, test))) {
            names.extend(test.0.workloads.iter().chain(&test.1.than_workload).map(String::as_str));
        }
        names.sort_unstable();
        names.dedup();
        let work = |name: &&str| {
            let mut planned = run.plan.workloads.iter();
            let (label, scale) =
                planned.find_map(|planned| Some((planned.label.clone(), scale(name, planned, run)?)))?;
            Some(((*name).to_owned(), label, scale))
        };
        Place {
            run,
            dataset,
            ranges: Ranges::of(run, dataset, verdict, asked),
            verdict,
            works: names.iter().filter_map(work).collect(),
            candidates: run.plan.candidates.iter().filter(is_here).collect(),
        }
    }

    fn work(&self, name: &str) -> Option<(&str, Scale)> {
        self.works.iter().find(|(known, ..)| known == name).map(|(_, label, scale)| (label.as_str(), *scale))
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &'r Candidate> {
        self.candidates.iter().copied().filter(move |candidate| candidate.kind == kind)
    }

    fn dataset_of(&self, label: &str) -> Option<&'r Work<'r>> {
        self.dataset.workloads.iter().find(|work| work.label == label)
    }
}

/// The scale at which this planned work does the paper's workload; `None` if it does other work, several clients do it, or other
/// stages belong to its scenario.
fn scale(name: &str, planned: &PlannedWork, run: &Run) -> Option<Scale> {
    let (engine, set) = workloads::find(name)?;
    let scenario = run.plan.scenarios.iter().find(|scenario| scenario.label == planned.label)?;
    let is_alone = scenario.stages == [Stage::work(&planned.label)];
    let is_one = planned.clients.unwrap_or(run.plan.clients) == 1;
    if planned.work.engine != engine.name() || !is_alone || !is_one {
        return None;
    }
    let parameters = set.file().parameters;
    let whole = Scale { of: 1, by: 1 };
    if planned.work.parameters == parameters {
        return Some(whole);
    }
    let scales = (2..=SMALLEST).map(|by| Scale { of: 1, by });
    let mut scales =
        scales.filter(|scale| engine.scale(&parameters, *scale).is_ok_and(|p| p == planned.work.parameters));
    scales.next()
}

/// Why nobody can tell, and what it would take.
#[derive(Clone, Debug)]
struct Reason {
    said: String,
    takes: Option<String>,
}

impl Reason {
    fn only(said: impl Into<String>) -> Self {
        Reason { said: said.into(), takes: None }
    }
}

/// The runs of a column.
struct Runs<'r> {
    paper: &'r Paper,
    full: &'r Full,
    places: Vec<Place<'r>>,
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
            let candidate = self.paper.candidate(point.candidate);
            if let Some(missing) = candidate.and_then(|candidate| candidate.missing.as_ref()) {
                let text = format!("{} cannot be run here: {missing}.", point.candidate);
                return Err(Reason { said: text, takes: None });
            }
        }
        let mut hull: Option<Ends> = None;
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
                        self.gates(place, (point.workload, scenario, *scale), candidate)?;
                    }
                    let [low, high] = hull.unwrap_or(range.ends);
                    hull = Some([low.min(range.ends[0]), high.max(range.ends[1])]);
                }
            }
        }
        hull.ok_or_else(|| self.absent(points))
    }

    /// The first workload or filesystem that no run has.
    fn absent(&self, points: &[&Point<'_>]) -> Reason {
        let has = |point: &&&Point<'_>| self.places.iter().any(|place| place.work(point.workload).is_some());
        if let Some(point) = points.iter().find(|point| !has(point)) {
            let takes = Some(format!("a run of {}", point.workload));
            return Reason { said: format!("No run has {}.", point.workload), takes };
        }
        let is_in = |place: &Place<'_>, point: &Point<'_>| {
            place.work(point.workload).is_some() && place.of_kind(point.candidate).next().is_some()
        };
        let takes_part = |point: &&&Point<'_>| self.places.iter().any(|place| is_in(place, point));
        if let Some(point) = points.iter().find(|point| !takes_part(point)) {
            let (work, candidate) = (point.workload, point.candidate);
            let takes = Some(format!("a run of {work} with {candidate}"));
            return Reason {
                said: format!("No run of {work} has {candidate} with the paper's options."),
                takes,
            };
        }
        Reason::only("No single run has both sides of the comparison in one setup.")
    }

    fn unknown(&self, place: &Place<'_>, point: &Point<'_>, unknown: Unknown) -> Reason {
        let folder = place.run.folder.display();
        let further = |rounds: usize| Some(format!("fsderby run --resume {folder} --rounds {rounds}"));
        let unit = if place.is_modelled() { "sample" } else { "round" };
        match unknown {
            Unknown::NotMeasured => Reason::only(format!(
                "No valid trial in {folder} has {} of {} in {}.",
                point.metric, point.candidate, point.workload
            )),
            Unknown::Averaged(n) => Reason::only(format!(
                "The claim means the average of {n} figures of {}, for which fsderby has no range.",
                point.metric
            )),
            Unknown::Few { has, needed } => Reason {
                said: format!("{folder} has {} of the {needed} that a range needs.", count(has, unit)),
                takes: further(needed),
            },
            Unknown::Extras(lacking) => {
                let trials = match lacking {
                    Lacking::Floor => "more disk-model overhead",
                    Lacking::Seeds => "other workload seeds",
                    Lacking::Costs => "other costs of an instruction",
                    Lacking::Samples => "all samples of the disk",
                };
                let said = format!("{folder} has no trials of this metric with {trials}.");
                Reason { said, takes: further(crate::analysis::ensemble::SAMPLES_NEEDED) }
            }
            Unknown::NotPaired => Reason {
                said: "On this testbed fsderby has no range for a ratio of two workloads or metrics.".into(),
                takes: Some("a run on a modelled disk".into()),
            },
            Unknown::Opposed => Reason::only("The two metrics have opposite directions."),
        }
    }

    /// Whether a work of a run is the paper's, although it may be scaled.
    fn gates(
        &self,
        place: &Place<'_>,
        (name, scenario, scale): (&str, &str, Scale),
        candidate: &Candidate,
    ) -> Result<(), Reason> {
        self.memory(place, name, scale, candidate)?;
        if !scale.shrinks() {
            return Ok(());
        }
        commits(place, (name, scenario, scale), candidate)?;
        self.written(scale)
    }

    /// Data ÷ memory as published.
    fn memory(
        &self,
        place: &Place<'_>,
        name: &str,
        scale: Scale,
        candidate: &Candidate,
    ) -> Result<(), Reason> {
        let Some(full) = self.full.memory.get(name) else {
            return Err(Reason::only(format!("The paper's data do not state its memory for {name}.")));
        };
        let wanted = Bytes(scale.apply(full.0));
        let Some(own) = place.run.plan.setup(candidate).memory else {
            let said =
                format!("{} had no memory limit, so data ÷ memory is not as published.", candidate.label);
            return Err(Reason { said, takes: Some(format!("--memory {}", wanted.0)) });
        };
        let apart = own.0 as f64 / wanted.0 as f64;
        if (1.0 / MEMORY..=MEMORY).contains(&apart) {
            return Ok(());
        }
        let said = format!("{name} had {own} of memory; data ÷ memory as published needs {wanted}.");
        let takes = match place.run.plan.shortfall.and_then(|short| short.memory) {
            Some(_) => "a larger scale: a trial does not fit into less memory".to_owned(),
            None => format!("--memory {}", wanted.0),
        };
        Err(Reason { said, takes: Some(takes) })
    }

    /// Device bytes ÷ bytes of the work, as at full size.
    fn written(&self, scale: Scale) -> Result<(), Reason> {
        const METRIC: &str = "device.written_ratio";
        let known = &self.paper.reproduction.written;
        if known.is_empty() {
            let said = "At full size nobody has measured yet how much of the work reaches the device.";
            return Err(Reason {
                said: said.into(),
                takes: Some("the full size, or one trial of it".into()),
            });
        }
        let mut seen = false;
        for (place, amount) in self.places.iter().flat_map(|place| known.iter().map(move |k| (place, k))) {
            let Some((scenario, own)) = place.work(&amount.workload) else { continue };
            let Some(work) = place.dataset_of(scenario).filter(|_| own == scale) else { continue };
            let series = work.series.iter().filter(|series| series.name == METRIC && !series.once);
            for cell in series.flat_map(|series| &series.cells) {
                let is_it = place.of_kind(&amount.kind).any(|candidate| candidate.label == cell.filesystem);
                let Some(median) = cell.median.filter(|_| is_it) else { continue };
                seen = true;
                if !(1.0 / WRITTEN..=WRITTEN).contains(&(median / amount.ratio)) {
                    let said = format!(
                        "In {} on {} the device wrote {median:.2} bytes for each byte of the work; at full size it \
                         wrote {:.2}.",
                        amount.workload, amount.kind, amount.ratio
                    );
                    return Err(Reason { said, takes: Some("a larger scale".into()) });
                }
            }
        }
        let amount = &known[0];
        let lacks = || Reason {
            said: format!(
                "No run at this scale has {} on {}, whose full size is known.",
                amount.workload, amount.kind
            ),
            takes: Some(format!("a run with {} on {}", amount.workload, amount.kind)),
        };
        if seen { Ok(()) } else { Err(lacks()) }
    }

    fn column(&self, title: String, known: Known) -> Column {
        let claims = self.paper.claims.iter().enumerate();
        let claims: Vec<ClaimShown> = claims.map(|(at, claim)| self.claim(at + 1, claim, known)).collect();
        let (tables, missing) = self.tables(known);
        let margin = self.places.first().map_or(0.0, |place| place.run.plan.margin.0 / 100.0);
        let agreement = tables.iter().fold(Order::default(), |sum, table| added(sum, table, margin));
        let counts = claims.iter().fold(Counts::default(), |mut counts, claim| {
            *match claim.verdict {
                Some(Here::Holds) => &mut counts.holds,
                Some(Here::DoesNotHold) => &mut counts.does_not_hold,
                Some(Here::CannotTell) => &mut counts.cannot_tell,
                None => &mut counts.untested,
            } += 1;
            counts
        });
        let runs = self.places.iter().map(Place::said).collect();
        Column { title, runs, counts, claims, tables, missing, agreement }
    }

    fn claim(&self, number: usize, claim: &Claim, known: Known) -> ClaimShown {
        let legs = claim.legs(self);
        let here = here::together(&legs);
        let (mut because, mut takes) = (Vec::new(), Vec::new());
        if let Some(why) = &claim.untested {
            because.push(flat(why));
        } else {
            because.extend(summed(&legs, here));
            if here == Here::CannotTell {
                let reasons: Vec<&Reason> = legs.iter().filter_map(|leg| leg.seen.as_ref().err()).collect();
                reasons.iter().for_each(|reason| once(&mut because, reason.said.clone()));
                reasons
                    .iter()
                    .for_each(|reason| reason.takes.iter().for_each(|t| once(&mut takes, t.clone())));
                let open = legs.iter().filter(|leg| leg.here == Here::CannotTell && leg.seen.is_ok());
                open.filter_map(|leg| self.to_tell(leg)).for_each(|t| once(&mut takes, t));
            }
        }
        ClaimShown {
            number,
            says: claim.says.clone(),
            place: claim.place.clone(),
            verdict: claim.untested.is_none().then_some(here),
            because,
            takes,
            contradicted: claim.contradicted.as_deref().map(flat),
            ranges: legs.iter().map(|leg| shown(leg, known)).collect(),
        }
    }

    /// What it would take for a range that lies partly outside of its claim.
    fn to_tell(&self, leg: &Leg<Reason>) -> Option<String> {
        let [low, high] = leg.seen.as_ref().ok()?.map(f64::ln);
        if self.places.iter().any(Place::is_modelled) {
            let is_scaled =
                self.places.iter().any(|place| place.works.iter().any(|(.., scale)| scale.shrinks()));
            let other = if is_scaled { "a larger scale, or " } else { "" };
            let text =
                "a difference beyond what the model leaves open: further rounds do not narrow this range";
            return Some(format!("{other}{text}"));
        }
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
        let ends = leg.allowed.map(f64::ln);
        let near = ends.iter().filter(|end| end.is_finite()).map(|end| (middle - end).abs());
        let near = near.fold(f64::INFINITY, f64::min);
        let n = self.places.iter().map(|place| f64::from(place.verdict.basis.complete())).fold(0.0, f64::max);
        let rounds = (n * (half / near).powi(2)).ceil();
        Some(match rounds <= MOST_ROUNDS {
            true => format!("about {rounds:.0} rounds at the noise of this run"),
            false => format!("more than {MOST_ROUNDS:.0} rounds at the noise of this run"),
        })
    }

    /// The paper's tables with figures of these runs, and those without, each with the reason.
    fn tables(&self, known: Known) -> (Vec<Compared>, Vec<String>) {
        let (mut tables, mut missing) = (Vec::new(), Vec::new());
        for table in &self.paper.tables {
            let named = || format!("{} ({})", table.place, table.workloads().collect::<Vec<_>>().join(", "));
            if let Some(why) = &table.unmatched {
                once(&mut missing, format!("{}: {}.", named(), flat(why).trim_end_matches('.')));
            } else if table.figures.is_empty() {
                once(&mut missing, format!("{}: the paper prints no figures.", named()));
            } else if !table.is_comparable() {
                once(&mut missing, format!("{}: no single workload here has these figures.", named()));
            } else {
                let found = self.places.iter().filter_map(|place| self.table(place, table, known));
                let before = tables.len();
                tables.extend(found);
                if tables.len() == before {
                    once(&mut missing, format!("{}: no run of this workload.", named()));
                }
            }
        }
        for candidate in &self.paper.candidates {
            missing.extend(candidate.missing.as_ref().map(|why| {
                let printed = candidate.printed.as_ref().unwrap_or(&candidate.name);
                format!("{printed} cannot be run here: {}.", flat(why).trim_end_matches('.'))
            }));
        }
        (tables, missing)
    }

    fn table(&self, place: &Place<'_>, table: &Table, known: Known) -> Option<Compared> {
        let (label, _) = place.work(&table.workload)?;
        let work = place.dataset_of(label)?;
        let declared = declared_of(&table.workload, known);
        let sections = sections::of(&work.series, &declared, place.is_modelled());
        let rows: Vec<&Row> = sections.iter().flat_map(|section| &section.rows).collect();
        let entry =
            |candidate: &&Candidate| Entry { is_plain: true, ..super::entry(place.run, &candidate.label) };
        let compared: Vec<Entry> = place.candidates.iter().map(entry).collect();
        let (averages, margin) = (self.paper.averages, place.run.plan.margin);
        let ours = Ours { rows: &rows, compared: &compared, declared: &declared, averages, margin };
        ours.beside(table.clone()).filter(|compared| compared.is_measured)
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

/// Three commit intervals of its filesystem.
fn commits(
    place: &Place<'_>,
    (name, scenario, scale): (&str, &str, Scale),
    candidate: &Candidate,
) -> Result<(), Reason> {
    let Some(work) = place.dataset_of(scenario) else { return Ok(()) };
    let own = work.counted.iter().filter(|record| record.filesystem == candidate.label);
    let Some((took, needed)) =
        own.filter_map(|record| stationary::commits(record)).min_by(|a, b| a.0.total_cmp(&b.0))
    else {
        return Ok(());
    };
    if took >= needed {
        return Ok(());
    }
    let said =
        format!("{name} took {took:.1} s on {}; three commit intervals are {needed:.0} s.", candidate.label);
    let larger = ((scale.by as f64 * took / needed) / scale.of as f64).floor().max(1.0);
    let takes = if larger <= 1.0 { "the full size".to_owned() } else { format!("--scale 1/{larger:.0}") };
    Err(Reason { said, takes: Some(takes) })
}

impl Place<'_> {
    fn is_modelled(&self) -> bool {
        self.run.records.iter().any(|record| record.sampled().is_some())
    }

    /// `scale 1/16, 32 MiB of memory, 13 rounds, Linux 6.12`
    fn said(&self) -> Ran {
        let mut scales: Vec<String> = self
            .works
            .iter()
            .map(
                |(_, _, Scale { of, by })| {
                    if of == by { "full size".to_owned() } else { format!("scale {of}/{by}") }
                },
            )
            .collect();
        scales.sort();
        scales.dedup();
        let setup = self.candidates.first().map(|candidate| self.run.plan.setup(candidate));
        let memory = setup.and_then(|setup| setup.memory).map(|memory| format!("{memory} of memory"));
        let rounds = count(self.verdict.basis.complete() as usize, "complete round");
        let kernels = self.run.machine.setups.iter().map(|setup| format!("Linux {}", setup.kernel));
        let mut said = scales;
        said.extend(memory);
        said.push(rounds);
        kernels.for_each(|kernel| once(&mut said, kernel));
        Ran { folder: self.run.folder.display().to_string(), said: said.join(", ") }
    }
}

/// How many comparisons lie inside, outside, or neither.
fn summed(legs: &[Leg<Reason>], here: Here) -> Vec<String> {
    let number = |wanted| legs.iter().filter(|leg| leg.here == wanted).count();
    let all = count(legs.len(), "comparison");
    match here {
        Here::Holds if legs.len() == 1 => vec!["The range lies within what the claim allows.".into()],
        Here::Holds => vec![format!("The ranges of all {all} lie within what the claim allows.")],
        Here::DoesNotHold => {
            let first = legs.iter().find(|leg| leg.here == here);
            let example = first.map(|leg| format!(" The first is {} ({}).", leg.what, leg.workload));
            let of = if legs.len() == 1 {
                "the only comparison".into()
            } else {
                format!("{} of {all}", number(here))
            };
            vec![format!(
                "The range of {of} lies wholly outside of what the claim allows.{}",
                example.unwrap_or_default()
            )]
        }
        Here::CannotTell => {
            let open = legs.iter().filter(|leg| leg.here == here && leg.seen.is_ok()).count();
            let text = "lies partly inside and partly outside of what the claim allows.";
            (open > 0).then(|| format!("The range of {open} of {all} {text}")).into_iter().collect()
        }
    }
}

fn shown(leg: &Leg<Reason>, known: Known) -> RangeShown {
    let declared = declared_of(&leg.workload, known);
    let title = declared::find(&declared, &leg.metric).map_or(leg.metric.clone(), |d| d.heading().to_owned());
    // A ratio has no end at 0, and no value is infinite.
    let open = |end: f64| Some(end).filter(|end| end.is_finite() && *end != 0.0);
    let is_ratio = leg.what.contains('÷');
    RangeShown {
        workload: leg.workload.clone(),
        metric: leg.metric.clone(),
        title,
        what: leg.what.clone(),
        allowed: leg.allowed.map(|end| if is_ratio { open(end) } else { Some(end) }),
        range: leg.seen.as_ref().ok().copied(),
        verdict: leg.here,
    }
}

fn declared_of(workload: &str, known: Known) -> Vec<&'static Declared> {
    workloads::find(workload).map(|(engine, _)| (known.metrics)(engine.name())).unwrap_or_default()
}

/// The pairs of this table by their order.
fn added(sum: Order, table: &Compared, margin: f64) -> Order {
    let mut all = sum;
    for metric in 0..table.titles.len() {
        let figure = |line: &Line| {
            let figure = &line.figures[metric];
            figure.here.map(|here| (line.kind.clone(), figure.published, here))
        };
        let figures: Vec<(String, f64, f64)> = table.lines.iter().filter_map(figure).collect();
        for (at, a) in figures.iter().enumerate() {
            for b in figures[at + 1..].iter().filter(|b| b.0 != a.0) {
                *match agreement::order([a.1, b.1], [a.2, b.2], margin) {
                    agreement::Order::Same => &mut all.same,
                    agreement::Order::Opposite => &mut all.opposite,
                    agreement::Order::Tied => &mut all.tied,
                } += 1;
            }
        }
    }
    all
}

fn once(all: &mut Vec<String>, text: String) {
    if !all.contains(&text) {
        all.push(text);
    }
}

/// Text of a file on one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
