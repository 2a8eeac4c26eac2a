//! What does not count, and why: nothing is left out silently.

use serde::Serialize;

use super::summary::WorkloadSummary;
use crate::agent::protocol::Role;
use crate::store::Run;
use crate::store::record::{Outcome, Record};

/// Trials that do not count, for one reason.
#[derive(Clone, Debug, Serialize)]
pub struct Absent {
    pub workload: String,
    pub filesystem: String,
    /// `failed`, `void`, `skipped`, `superseded`, or `not run`.
    pub what: &'static str,
    pub reason: String,
    /// `round 3`, `round 4, attempt 1: repeated`; empty where it never came to a trial.
    pub trials: Vec<String>,
}

/// All trials that do not count, in the order of the records, and the filesystems that never had their turn.
pub fn of(run: &Run, filesystems: &[String], workloads: &[WorkloadSummary]) -> Vec<Absent> {
    let current = run.current();
    let mut out: Vec<Absent> = Vec::new();
    for record in &run.records {
        let superseded = !current.iter().any(|c| c.trial == record.trial && c.attempt == record.attempt);
        let what = match record.outcome {
            Outcome::Done if !superseded => continue,
            Outcome::Done => "superseded",
            other => other.name(),
        };
        let reason = record.reason.clone().unwrap_or_else(|| "a later attempt counts".to_owned());
        add(&mut out, record, what, reason, superseded);
    }
    for workload in workloads.iter().map(|w| &w.label) {
        let untried =
            |label: &&String| !run.records.iter().any(|r| r.workload == *workload && r.filesystem == **label);
        for filesystem in filesystems.iter().filter(untried) {
            let reason = "the run ended before its turn".to_owned();
            let (workload, filesystem) = (workload.clone(), filesystem.clone());
            out.push(Absent { workload, filesystem, what: "not run", reason, trials: Vec::new() });
        }
    }
    out
}

fn add(out: &mut Vec<Absent>, record: &Record, what: &'static str, reason: String, superseded: bool) {
    let mut trial = match record.role {
        Role::Proof => "proof".to_owned(),
        Role::Measure => format!("round {}", record.round),
    };
    if superseded {
        trial += &format!(", attempt {}: repeated", record.attempt);
    }
    let same = |a: &&mut Absent| {
        a.workload == record.workload
            && a.filesystem == record.filesystem
            && a.what == what
            && a.reason == reason
    };
    let trials = if what == Outcome::Skipped.name() { Vec::new() } else { vec![trial] };
    match out.iter_mut().find(same) {
        Some(absent) => absent.trials.extend(trials),
        None => out.push(Absent {
            workload: record.workload.clone(),
            filesystem: record.filesystem.clone(),
            what,
            reason,
            trials,
        }),
    }
}
