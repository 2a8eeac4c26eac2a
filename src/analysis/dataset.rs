//! A run's values by workload, metric and filesystem: the input of findings and reports. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::standing_in::StandingIn;
use crate::schema::job::Purpose;
use crate::schema::metric::{Better, Metric, Of, Owner, WORK};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::schema::shared::Shared;
use crate::store::Run;

pub struct Dataset<'r> {
    /// Every label of the plan, in plan order, and then the labels that occur only in records.
    pub planned: Vec<String>,
    /// Labels with at least one trial begun. A label that is skipped everywhere is in no table.
    pub filesystems: Vec<String>,
    pub workloads: Vec<Work<'r>>,
}

/// One workload.
pub struct Work<'r> {
    pub label: String,
    /// The trials of this workload that count.
    pub counted: Vec<&'r Record>,
    /// Trials on modelled disks outside the rounds: see [`Purpose`].
    pub extras: Vec<&'r Record>,
    /// First the metrics of the rounds, then the metrics that only the integrity check measures.
    pub series: Vec<Series>,
}

/// One metric of one workload, over all filesystems.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    /// The metric's dimensions, such as `file_bytes=4096, phase=write`; empty if the name identifies the metric.
    pub dimensions: String,
    /// The numeric dimensions: see [`quantities`].
    pub quantities: Vec<(String, u64)>,
    /// The work that the metric belongs to, if a trial has several works.
    pub work: Owner,
    pub unit: String,
    pub of: Of,
    pub better: Better,
    pub headline: bool,
    /// Whether the metric is a headline only because times do not count on this testbed: see [`super::standing_in`].
    pub stands_in: bool,
    /// Whether the metric is measured once, in the integrity check, and not in the rounds.
    pub once: bool,
    pub cells: Shared<Vec<Cell>>,
}

/// One metric of one workload on one filesystem.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Cell {
    pub filesystem: String,
    pub n: usize,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The values, in round order.
    pub values: Vec<Value>,
}

impl Cell {
    /// The arithmetic mean of the values, as papers print it.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.values.iter().map(|value| value.value).sum();
        (self.n > 0).then(|| sum / self.n as f64)
    }

    /// The geometric mean of the values; `None` without values, or if one of them is not above 0.
    pub fn geometric_mean(&self) -> Option<f64> {
        let is_defined = self.n > 0 && self.values.iter().all(|value| value.value > 0.0);
        let logs: f64 = self.values.iter().map(|value| value.value.ln()).sum();
        is_defined.then(|| (logs / self.n as f64).exp())
    }
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Value {
    /// The trial's name, shared by all values of a trial, because a run may have a million values.
    #[serde(serialize_with = "as_text")]
    pub trial: Arc<str>,
    pub round: u32,
    pub value: f64,
}

impl<'r> Dataset<'r> {
    pub fn of(run: &'r Run) -> Self {
        let labels = run.plan.candidates.iter().map(|c| &c.label);
        let planned = each_once(labels.chain(run.records.iter().map(|r| &r.filesystem)));
        let begun = run.records.iter().filter(|r| r.outcome != Outcome::Skipped);
        let begun: HashSet<&str> = begun.map(|r| r.filesystem.as_str()).collect();
        let filesystems = planned.iter().filter(|label| begun.contains(label.as_str())).cloned();
        let filesystems: Vec<String> = filesystems.collect();
        let labels = run.plan.scenarios.iter().map(|s| &s.label);
        let works = each_once(labels.chain(run.records.iter().map(|r| &r.scenario)));
        let workloads = works.into_iter().map(|label| Work::of(run, label, &filesystems)).collect();
        Dataset { planned, filesystems, workloads }
    }
}

impl<'r> Work<'r> {
    fn of(run: &'r Run, label: String, filesystems: &[String]) -> Self {
        let counted: Vec<&Record> = counted(run).into_iter().filter(|r| r.scenario == label).collect();
        let is_integrity = |r: &&Record| {
            r.purpose == Purpose::Integrity && r.outcome == Outcome::Done && r.scenario == label
        };
        let checked: Vec<&Record> = run.current().into_iter().filter(is_integrity).collect();
        let mut series = series(&counted, filesystems, false);
        for one in self::series(&checked, filesystems, true) {
            if !series.iter().any(|s| (&s.name, &s.dimensions) == (&one.name, &one.dimensions)) {
                series.push(one);
            }
        }
        stand_in(&mut series, &counted);
        let is_extra =
            |r: &&Record| r.purpose.is_extra() && r.outcome == Outcome::Done && r.scenario == label;
        let extras = run.current().into_iter().filter(is_extra).collect();
        Work { label, counted, extras, series }
    }

    /// This candidate's extra trial with this purpose.
    pub fn extra(&self, label: &str, purpose: Purpose) -> Option<&'r Record> {
        self.extras.iter().find(|r| r.filesystem == label && r.purpose == purpose).copied()
    }

    /// This candidate's trial in this round.
    pub fn of_round(&self, label: &str, round: u32) -> Option<&'r Record> {
        self.counted.iter().find(|r| r.filesystem == label && r.round == round).copied()
    }

    /// Rounds in which every filesystem that ever did this work has a counted trial.
    ///
    /// A filesystem that is skipped or fails each time does not make a round incomplete.
    pub fn complete_rounds(&self) -> usize {
        let contenders: BTreeSet<&str> = self.counted.iter().map(|r| r.filesystem.as_str()).collect();
        let rounds: BTreeSet<u32> = self.counted.iter().map(|r| r.round).collect();
        let seen: BTreeSet<(u32, &str)> =
            self.counted.iter().map(|r| (r.round, r.filesystem.as_str())).collect();
        rounds.iter().filter(|round| contenders.iter().all(|c| seen.contains(&(**round, *c)))).count()
    }
}

impl Series {
    /// This metric's value in a trial; `None` if the value is missing or not positive.
    pub fn value_in(&self, record: &Record) -> Option<f64> {
        let mut metrics = record.metrics.iter().filter(|metric| metric.name == self.name);
        let metric = metrics.find(|metric| dimensions(metric) == self.dimensions)?;
        Some(metric.value).filter(|value| *value > 0.0 && value.is_finite())
    }

    /// The measured work of a trial that this metric belongs to, as an index into the trial's works.
    pub fn work_in(&self, record: &Record) -> Option<usize> {
        let is_it = |name: &str| self.work.is_empty() || *name == *self.work;
        record.works.iter().position(|work| work.measured && is_it(&work.name))
    }

    /// A series for that metric, without values.
    pub fn named_as(metric: &Metric) -> Self {
        Series {
            name: metric.name.clone(),
            work: Owner::of(metric),
            dimensions: dimensions(metric),
            quantities: quantities(metric),
            unit: metric.unit.clone(),
            of: metric.of,
            better: metric.better,
            headline: metric.headline,
            stands_in: false,
            once: false,
            cells: Shared::default(),
        }
    }
}

/// The log ratio of `a` to `b`, positive if `a` is better.
pub fn log_ratio(better: Better, a: f64, b: f64) -> f64 {
    let sign = if better == Better::Lower { -1.0 } else { 1.0 };
    sign * (a / b).ln()
}

/// Makes metrics that stand in for times headline metrics, if the workload has no other headline metric.
fn stand_in(series: &mut [Series], counted: &[&Record]) {
    let Some(standing_in) = StandingIn::of(counted).filter(|_| series.iter().all(|one| !one.headline)) else {
        return;
    };
    let takes = |one: &&mut Series| {
        let medians = one.cells.iter().filter_map(|cell| cell.median);
        let values = one.cells.iter().flat_map(|cell| &cell.values).map(|value| value.value);
        !one.once && standing_in.takes((&one.name, one.of), medians, values)
    };
    for one in series.iter_mut().filter(takes) {
        (one.headline, one.stands_in) = (true, true);
    }
}

/// The trials that are counted: measured, done, and the last attempt.
pub fn counted(run: &Run) -> Vec<&Record> {
    run.current()
        .into_iter()
        .filter(|r| r.purpose == Purpose::Measure && r.outcome == Outcome::Done)
        .collect()
}

/// The metric's dimensions as text: `file_bytes=4096, phase=write`.
pub fn dimensions(metric: &Metric) -> String {
    let pairs: Vec<String> = metric.dimensions.iter().map(|(k, v)| format!("{k}={v}")).collect();
    pairs.join(", ")
}

/// The metric's dimensions except the work, such as sizes; empty unless all of them are whole numbers.
pub fn quantities(metric: &Metric) -> Vec<(String, u64)> {
    let own = metric.dimensions.iter().filter(|(name, _)| *name != WORK);
    let numbers: Option<Vec<(String, u64)>> =
        own.map(|(name, value)| Some((name.clone(), value.parse().ok()?))).collect();
    numbers.unwrap_or_default()
}

fn each_once<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for name in names {
        if !once.contains(name) {
            once.push(name.clone());
        }
    }
    once
}

/// One series for each name and set of dimensions, in order of first appearance.
fn series(records: &[&Record], filesystems: &[String], once: bool) -> Vec<Series> {
    let mut all = Collected::default();
    let at: HashMap<&str, usize> =
        filesystems.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    for (number, record) in (1..).zip(records) {
        let Some(filesystem) = at.get(record.filesystem.as_str()) else { continue };
        all.add(record, number, *filesystem);
    }
    let cells = |values: BTreeMap<usize, Vec<Value>>| cells(filesystems, values);
    all.found
        .into_iter()
        .filter(|found| found.is_said)
        .map(|found| Series { once, cells: cells(found.values), ..Series::named_as(found.like) })
        .collect()
}

/// Identifies a metric.
type Key<'r> = (&'r str, &'r BTreeMap<String, String>);

/// The metrics of all records, collected in one pass.
#[derive(Default)]
struct Collected<'r> {
    found: Vec<Found<'r>>,
    known: HashMap<Key<'r>, usize>,
}

struct Found<'r> {
    /// The first metric found with the name and dimensions of its key.
    like: &'r Metric,
    is_said: bool,
    /// Number of the last record with this metric, counted from 1. If a record has the metric twice, its first value counts.
    last: usize,
    /// The metric's values, by index of the filesystem.
    values: BTreeMap<usize, Vec<Value>>,
}

impl<'r> Collected<'r> {
    fn add(&mut self, record: &'r Record, number: usize, filesystem: usize) {
        let trial: Arc<str> = record.trial.as_str().into();
        let mut next = 0;
        for metric in &record.metrics {
            let at = self.at(metric, next);
            next = at + 1;
            let found = &mut self.found[at];
            let is_first = std::mem::replace(&mut found.last, number) != number;
            if !record.says(metric) {
                continue;
            }
            if !std::mem::replace(&mut found.is_said, true) {
                found.like = metric;
            }
            if is_first && metric.value.is_finite() {
                let value = Value { trial: trial.clone(), round: record.round, value: metric.value };
                found.values.entry(filesystem).or_default().push(value);
            }
        }
    }

    /// The index of a metric. Most records list metrics in the same order, so the guess `next` mostly saves a search.
    fn at(&mut self, metric: &'r Metric, next: usize) -> usize {
        let is_it = |found: &Found<'_>| {
            (&found.like.name, &found.like.dimensions) == (&metric.name, &metric.dimensions)
        };
        if self.found.get(next).is_some_and(is_it) {
            return next;
        }
        let at = *self.known.entry((&metric.name, &metric.dimensions)).or_insert(self.found.len());
        if at == self.found.len() {
            self.found.push(Found { like: metric, is_said: false, last: 0, values: BTreeMap::new() });
        }
        at
    }
}

fn cells(filesystems: &[String], mut values: BTreeMap<usize, Vec<Value>>) -> Shared<Vec<Cell>> {
    let of = |(at, filesystem): (usize, &String)| cell(filesystem, values.remove(&at).unwrap_or_default());
    filesystems.iter().enumerate().map(of).collect()
}

/// Makes a cell of these values: in round order, with their median and range.
pub fn cell(filesystem: &str, mut values: Vec<Value>) -> Cell {
    values.sort_by_key(|v| v.round);
    values.shrink_to_fit();
    let plain: Vec<f64> = values.iter().map(|v| v.value).collect();
    let range = fsderby_stats::range(&plain);
    Cell {
        filesystem: filesystem.to_owned(),
        n: values.len(),
        median: fsderby_stats::median(&plain),
        min: range.map(|r| r.0),
        max: range.map(|r| r.1),
        values,
    }
}

fn as_text<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}
