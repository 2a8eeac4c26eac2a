//! The way to a verdict if all work of a run was short: a shipped experiment with long enough work, and its expected duration at
//! this run's pace.

use std::time::Duration;

use super::entry::FilesystemEntry;
use super::{Experiment, SHIPPED, typed};
use crate::analysis::dataset::counted;
use crate::analysis::elapsed::elapsed;
use crate::runner::plan::resolved::Resolved;
use crate::runner::preflight::pace::{EMULATED, Pace};
use crate::schema::plan::Plan;
use crate::schema::reason::{Condition, Held};
use crate::schema::record::Record;
use crate::schema::scenario::{Scenario, WorkStage};
use crate::schema::units::{MIB, sum};
use crate::store::Run;
use crate::testbeds;
use crate::workloads::clients;

/// The shipped experiment for a first impression; it is never suggested as a way to a verdict.
const FIRST: &str = "quick";
/// MiB/s of small files in a guest with an emulated CPU.
const SMALL_FILES: f64 = 8.0;
/// The default if the run's experiment has no longer form.
const NEXT: &str = "mailserver";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Longer {
    /// `fsderby run mailserver`
    pub command: String,
    /// Expected duration in minutes, rounded up.
    pub minutes: u64,
}

/// Whether every trial was too short for stationary figures; false if nothing was measured.
pub fn is_due(run: &Run) -> bool {
    let checks: Vec<Held> = counted(run).iter().filter_map(|record| stationary(record)).collect();
    !checks.is_empty() && checks.iter().all(|held| *held == Held::Label)
}

fn stationary(record: &Record) -> Option<Held> {
    record.validity.iter().find(|check| check.name == Condition::Stationary).map(|check| check.held)
}

/// `None` if nothing was measured, or if the run created no filesystem.
pub fn than(run: &Run) -> Option<Longer> {
    after(run, elapsed(counted(run).into_iter()))
}

/// Like [`than`], with the total duration of the counted trials as an argument.
pub fn after(run: &Run, took: Duration) -> Option<Longer> {
    let resolved = Resolved::of(&run.plan).ok()?;
    run.plan.candidates.first().filter(|first| resolved.of_candidate(first).place.makes_filesystem())?;
    let (name, mut experiment) = next(&run.plan)?;
    let mut words = vec![format!("fsderby run {name}")];
    let candidates = typed::given(&run.plan);
    let is_own = |of: &Experiment| of.candidates().is_ok_and(|own| own == candidates);
    if !is_own(&Experiment::load(FIRST).ok()?) && !is_own(&experiment) {
        words.extend(typed::filesystems(&candidates, &experiment));
        let entries: Vec<FilesystemEntry> =
            candidates.into_iter().map(FilesystemEntry::of_candidate).collect();
        experiment.take_filesystems(&[], &entries);
    }
    // That is the default.
    if run.plan.testbed != testbeds::LOOP {
        experiment.on = Some(run.plan.testbed.clone());
        experiment.cross.on.clear();
        words.push(format!("--on {}", shell_words::quote(&run.plan.testbed)));
    }
    let plan = experiment.plan(run.plan.testbed.clone(), run.plan.plan_seed).ok()?;
    let seconds = pace(run, took)?.of(trials(&plan), written(&Resolved::of(&plan).ok()?));
    Some(Longer { command: words.join(" "), minutes: (seconds / 60.0).ceil() as u64 })
}

/// The shipped experiment of which this plan is a smaller form, or the default.
fn next(plan: &Plan) -> Option<(&'static str, Experiment)> {
    let parsed = |(name, text): &(&'static str, &str)| Some((*name, Experiment::parse(text, name).ok()?));
    let all = || SHIPPED.iter().filter_map(parsed);
    let is_smaller = |(name, own): &(&str, Experiment)| *name != FIRST && own.describes(plan);
    all().find(is_smaller).or_else(|| all().find(|(name, _)| *name == NEXT))
}

/// Number of integrity checks, plus the number of trials in the minimum number of rounds.
fn trials(plan: &Plan) -> u64 {
    (plan.candidates.len() * plan.scenarios.len()) as u64 * (u64::from(plan.rounds.at_least()) + 1)
}

/// Bytes written by integrity checks and by the minimum number of rounds, without the bytes of the initial state.
fn written(plan: &Resolved<'_>) -> u64 {
    let stages = plan.scenarios.iter().flat_map(Scenario::works);
    let of_stage = |stage: &WorkStage| {
        let known = plan.work(&stage.work)?;
        let clients = plan.clients_of(&known.planned, stage);
        Some(clients::expected(&*known.work, plan.workload_seed(1), clients).bytes_written)
    };
    let a_candidate = sum(stages.filter_map(of_stage));
    let times = plan.candidates.len() as u64 * (u64::from(plan.rounds.at_least()) + 1);
    a_candidate.saturating_mul(times)
}

/// Measured durations of trials.
struct Measured {
    /// Seconds per trial.
    overhead: f64,
    bytes_a_second: f64,
}

impl Measured {
    /// Expected duration of these trials in seconds.
    fn of(&self, trials: u64, bytes: u64) -> f64 {
        trials as f64 * self.overhead + bytes as f64 / self.bytes_a_second
    }
}

/// A guest's boot dominates a short trial and says nothing about longer work. So the usual overhead is subtracted, and a rate
/// based on too little data is replaced by the usual one. `None` if nothing was written.
fn pace(run: &Run, took: Duration) -> Option<Measured> {
    let counted = counted(run);
    let bytes = sum(counted.iter().flat_map(|r| r.phases()).map(|phase| phase.count("bytes_written")));
    let (seconds, trials) = (took.as_secs_f64(), counted.len() as f64);
    if bytes == 0 || seconds <= 0.0 {
        return None;
    }
    let usual = Pace::of(counted.first()?.fidelity);
    if *usual != EMULATED {
        return Some(Measured { overhead: 0.0, bytes_a_second: bytes as f64 / seconds });
    }
    let overhead = usual.overhead.as_secs_f64().min(seconds / trials);
    let work = seconds - trials * overhead;
    let bytes_a_second =
        if work > trials * overhead { bytes as f64 / work } else { SMALL_FILES * MIB as f64 };
    Some(Measured { overhead, bytes_a_second })
}
