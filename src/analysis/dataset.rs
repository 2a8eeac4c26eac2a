//! A run's figures by workload, metric and filesystem: what findings and reports are made from. Pure.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::schema::job::Purpose;
use crate::schema::metric::{Better, Metric, Of, WORK};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::store::Run;

pub struct Dataset<'r> {
    /// Every label that was planned, in the order of the plan; a stray one that only records know comes last.
    pub planned: Vec<String>,
    /// Those that were ever begun with: what is skipped everywhere has no place in any table.
    pub filesystems: Vec<String>,
    pub workloads: Vec<Work<'r>>,
}

/// One workload.
pub struct Work<'r> {
    pub label: String,
    /// Its trials that are counted.
    pub counted: Vec<&'r Record>,
    /// Of the rounds first; then what only the integrity check has.
    pub series: Vec<Series>,
}

/// One metric of one workload, over all filesystems.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    /// `file_bytes=4096, phase=write`; empty where the name says all.
    pub dimensions: String,
    /// Which work it is of, where a trial has several.
    pub work: String,
    pub unit: String,
    pub of: Of,
    pub better: Better,
    pub headline: bool,
    /// Measured once, in the integrity check, and not in the rounds.
    pub once: bool,
    pub cells: Vec<Cell>,
}

/// One metric of one workload on one filesystem.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub filesystem: String,
    pub n: usize,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// In the order of the rounds.
    pub values: Vec<Value>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Value {
    pub trial: String,
    pub round: u32,
    pub value: f64,
}

impl<'r> Dataset<'r> {
    pub fn of(run: &'r Run) -> Self {
        let labels = run.plan.candidates.iter().map(|c| &c.label);
        let planned = each_once(labels.chain(run.records.iter().map(|r| &r.filesystem)));
        let begun = |label: &&String| {
            run.records.iter().any(|r| r.filesystem == **label && r.outcome != Outcome::Skipped)
        };
        let filesystems: Vec<String> = planned.iter().filter(begun).cloned().collect();
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
        Work { label, counted, series }
    }

    /// Rounds in which every filesystem that ever did this work has a trial that is counted.
    ///
    /// A filesystem that is skipped or fails each time is out of the run and does not make a round incomplete.
    pub fn complete_rounds(&self) -> usize {
        let contenders: BTreeSet<&str> = self.counted.iter().map(|r| r.filesystem.as_str()).collect();
        let rounds: BTreeSet<u32> = self.counted.iter().map(|r| r.round).collect();
        let seen: BTreeSet<(u32, &str)> =
            self.counted.iter().map(|r| (r.round, r.filesystem.as_str())).collect();
        rounds.iter().filter(|round| contenders.iter().all(|c| seen.contains(&(**round, *c)))).count()
    }
}

impl Series {
    /// Of that metric, without a value.
    pub fn named_as(metric: &Metric) -> Self {
        Series {
            name: metric.name.clone(),
            work: metric.dimensions.get(WORK).cloned().unwrap_or_default(),
            dimensions: dimensions(metric),
            unit: metric.unit.clone(),
            of: metric.of,
            better: metric.better,
            headline: metric.headline,
            once: false,
            cells: Vec::new(),
        }
    }
}

/// The trials that are counted: measured, done, and the last attempt.
pub fn counted(run: &Run) -> Vec<&Record> {
    run.current()
        .into_iter()
        .filter(|r| r.purpose == Purpose::Measure && r.outcome == Outcome::Done)
        .collect()
}

/// `file_bytes=4096, phase=write`.
pub fn dimensions(metric: &Metric) -> String {
    let pairs: Vec<String> = metric.dimensions.iter().map(|(k, v)| format!("{k}={v}")).collect();
    pairs.join(", ")
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

/// One for each name and set of dimensions, in the order in which they first appear.
fn series(records: &[&Record], filesystems: &[String], once: bool) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for metric in records.iter().flat_map(|r| r.metrics.iter().filter(|m| r.says(m))) {
        let dimensions = dimensions(metric);
        if all.iter().any(|s| s.name == metric.name && s.dimensions == dimensions) {
            continue;
        }
        let cells = filesystems.iter().map(|label| cell(metric, records, label)).collect();
        all.push(Series { once, cells, ..Series::named_as(metric) });
    }
    all
}

fn cell(like: &Metric, records: &[&Record], filesystem: &str) -> Cell {
    let same = |m: &&Metric| m.name == like.name && m.dimensions == like.dimensions;
    let mut values: Vec<Value> = Vec::new();
    for record in records.iter().filter(|r| r.filesystem == filesystem) {
        if let Some(metric) =
            record.metrics.iter().find(same).filter(|m| record.says(m) && m.value.is_finite())
        {
            values.push(Value { trial: record.trial.clone(), round: record.round, value: metric.value });
        }
    }
    values.sort_by_key(|v| v.round);
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
