//! The runs in which a paper's workloads and filesystems occur, by their testbed and the era of their options.

use std::collections::BTreeMap;

use crate::analysis::dataset::{Dataset, Work};
use crate::analysis::range::Ranges;
use crate::papers::{Paper, Table};
use crate::runner::experiment::{Experiment, eras};
use crate::schema::finding::Verdict;
use crate::schema::plan::{Candidate, Plan, PlannedWork};
use crate::schema::scenario::Stage;
use crate::schema::units::{Bytes, Scale};
use crate::store::Run;
use crate::workloads::{self, Workload};

/// The largest divisor of a scale that is recognised in a run's parameters.
const SMALLEST: u64 = 4096;

/// What the paper's experiments state at full size.
#[derive(Default)]
pub struct Full {
    /// Memory, by workload.
    pub memory: BTreeMap<String, Bytes>,
    /// The experiment, with this workload alone, by workload.
    pub experiments: BTreeMap<String, Experiment>,
    /// The experiment's name on the command line, by workload.
    pub named: BTreeMap<String, String>,
    /// Size of the volume, by workload.
    pub size: BTreeMap<String, Bytes>,
    /// The candidates of all experiments, with their options.
    pub candidates: Vec<Candidate>,
}

impl Full {
    pub fn of(paper: &Paper) -> Self {
        let mut full = Full::default();
        let runs = paper.reproduction.runs.iter();
        for (run, experiment) in runs.filter_map(|run| Some((run, Experiment::load(&run.experiment).ok()?))) {
            for workload in experiment.workloads.iter().chain(&run.workloads) {
                full.memory.extend(experiment.memory.map(|memory| (workload.clone(), memory)));
                full.size.extend(experiment.size.map(|size| (workload.clone(), size)));
                full.named.insert(workload.clone(), run.experiment.clone());
                let alone = Experiment { workloads: vec![workload.clone()], ..experiment.clone() };
                full.experiments.insert(workload.clone(), alone);
            }
            full.candidates
                .extend(experiment.plan("loop".into(), 1).map(|plan| plan.candidates).unwrap_or_default());
        }
        let works = paper.tables.iter().flat_map(Table::workloads);
        let works =
            works.chain(paper.claims.iter().flat_map(|claim| claim.workloads.iter().map(String::as_str)));
        for work in works {
            full.memory.extend(paper.reproduction.memory.map(|memory| (work.to_owned(), memory)));
            full.size.extend(paper.reproduction.size.map(|size| (work.to_owned(), size)));
        }
        full
    }

    /// Whether this candidate has the paper's options: none, or those of one of the paper's experiments. Options of an era may
    /// stand before them.
    fn is_papers(&self, candidate: &Candidate) -> bool {
        let Some(own) = eras::own_options(candidate) else { return false };
        let is_plain = own.mkfs.is_empty() && own.mount.is_empty();
        let same = |known: &Candidate| {
            known.kind == candidate.kind && eras::own_options(known).is_some_and(|known| known == own)
        };
        is_plain || self.candidates.iter().any(same)
    }
}

/// A column of the page: the candidates on one testbed, with the options of one era or with today's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Where {
    pub testbed: String,
    pub era: Option<String>,
}

impl Where {
    /// The columns of a run, those without an era first. Kinds that an era does not cover had the same options then, and stand
    /// beside those that it covers.
    pub fn all(plan: &Plan) -> Vec<Where> {
        let of = |candidate: &Candidate| {
            let Candidate { era, .. } = candidate;
            Where { testbed: plan.setup(candidate).testbed.to_owned(), era: era.clone() }
        };
        let of_eras: Vec<Where> = plan.candidates.iter().filter(|c| c.era.is_some()).map(of).collect();
        let is_in_era = |candidate: &&Candidate| of_eras.iter().any(|column| column.has(plan, candidate));
        let others = plan.candidates.iter().filter(|candidate| !is_in_era(candidate)).map(of);
        let mut all: Vec<Where> = Vec::new();
        for column in others.chain(of_eras.iter().cloned()) {
            if !all.contains(&column) {
                all.push(column);
            }
        }
        all
    }

    /// Whether this candidate belongs to the column.
    fn has(&self, plan: &Plan, candidate: &Candidate) -> bool {
        let is_uncovered =
            |era: &String| candidate.era.is_none() && eras::options(era, &candidate.kind).is_err();
        plan.setup(candidate).testbed == self.testbed
            && (candidate.era == self.era || self.era.as_ref().is_some_and(is_uncovered))
    }

    /// `model:DISK, default options of 2006`
    pub fn title(&self) -> String {
        let era = self.era.as_ref().map_or_else(String::new, |era| format!(", default options of {era}"));
        format!("{}{era}", self.testbed)
    }
}

/// One run on one testbed.
pub struct Place<'r> {
    pub run: &'r Run,
    pub dataset: &'r Dataset<'r>,
    pub ranges: Ranges<'r>,
    pub verdict: &'r Verdict,
    /// The paper's workloads in the run: name, label, scale.
    pub works: Vec<(String, String, Scale)>,
    pub candidates: Vec<&'r Candidate>,
}

impl<'r> Place<'r> {
    pub fn of(
        paper: &Paper,
        run: &'r Run,
        dataset: &'r Dataset<'r>,
        verdict: &'r Verdict,
        (column, asked): (&Where, &[&str]),
    ) -> Self {
        let full = Full::of(paper);
        let copy = run.plan.guard.as_ref().map(|twice| twice.copy.as_str());
        let is_here = |candidate: &&Candidate| {
            column.has(&run.plan, candidate) && copy != Some(&candidate.label) && full.is_papers(candidate)
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

    pub fn work(&self, name: &str) -> Option<(&str, Scale)> {
        self.works.iter().find(|(known, ..)| known == name).map(|(_, label, scale)| (label.as_str(), *scale))
    }

    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &'r Candidate> {
        self.candidates.iter().copied().filter(move |candidate| candidate.kind == kind)
    }

    pub fn is_modelled(&self) -> bool {
        self.run.records.iter().any(|record| record.sampled().is_some())
    }

    /// Whether a counted trial has this metric.
    pub fn has(&self, scenario: &str, metric: &str, label: &str) -> bool {
        let series =
            self.dataset_of(scenario).map(|work| work.series.iter().filter(|own| own.name == metric));
        let mut cells = series.into_iter().flatten().flat_map(|own| &own.cells);
        cells.any(|cell| cell.filesystem == label && cell.median.is_some())
    }

    pub fn dataset_of(&self, label: &str) -> Option<&'r Work<'r>> {
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
    scale_of(engine, &set.file().parameters, &planned.work.parameters)
}

/// The scale that makes the work `did` of the whole work; `None` if none does.
fn scale_of(engine: &dyn Workload, whole: &toml::Table, did: &toml::Table) -> Option<Scale> {
    let mut scales = (1..=SMALLEST).map(|by| Scale { of: 1, by });
    // A run may also have written out the defaults of the full work, as a scale of 1 once did.
    scales.find(|scale| {
        scale.is_whole() && did == whole || engine.scale(whole, *scale).is_ok_and(|scaled| scaled == *did)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_work_is_known_with_and_without_its_defaults_and_part_of_it_by_its_scale() {
        let (engine, set) = workloads::find("raid-backup").expect("shipped");
        let whole = set.file().parameters;
        let part = |by| engine.scale(&whole, Scale { of: 1, by }).expect("a scale");
        assert_ne!(part(1), whole, "the engine writes out what it scales");
        for (did, by) in [(whole.clone(), 1), (part(1), 1), (part(4), 4)] {
            assert_eq!(scale_of(engine, &whole, &did), Some(Scale { of: 1, by }));
        }
        let mut other = whole.clone();
        other.insert("seeks".into(), 7.into());
        assert_eq!(scale_of(engine, &whole, &other), None);
    }
}
