//! Reruns trials of a run in virtual time: the same fingerprint must give the same record, to the nanosecond.

use anyhow::Context;

use crate::runner::execute::fold::Folded;
use crate::runner::execute::launch::{Attempt, Launcher};
use crate::runner::execute::side_by_side::{Hear, side_by_side};
use crate::runner::plan::resolved::Resolved;
use crate::schema::job::Purpose;
use crate::schema::plan::{Plan, Trial};
use crate::schema::reason::Outcome;
use crate::schema::record::{Circumstances, FileRef, Record};
use crate::schema::setup::ClockKind;
use crate::store::{Attached, Run};
use crate::testbeds::Testbeds;
use crate::text::names;

/// The result of a rerun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    Same,
    /// An input to the figures, named here, has changed, so the rerun cannot be compared with the record.
    Incomparable(String),
    /// The fingerprint is the same, but this part of the record differs.
    Differs(String),
}

/// Receives the result of each trial.
pub type Tell<'t> = dyn FnMut(&Record, &Compared, &Folded) + Send + 't;

/// The trials of a run that can be rerun: counted ones with a virtual clock.
pub fn candidates(run: &Run) -> Vec<&Record> {
    let counts = |r: &&Record| r.outcome == Outcome::Done && r.fingerprint().is_some();
    run.current().into_iter().filter(counts).collect()
}

/// The trial of that name, if it can be rerun: to be compared, or only to be looked into. A failed trial can too: it fails again.
///
/// # Errors
/// If there is none, or it is void, or not in virtual time and to be compared, or had no guest.
pub fn named<'r>(run: &'r Run, name: &str, is_looked_into: bool) -> Result<&'r Record, String> {
    let is_over = |r: &&Record| matches!(r.outcome, Outcome::Done | Outcome::Failed);
    let can_again = |r: &&Record| r.fingerprint().is_some() || is_looked_into && r.clock == ClockKind::Guest;
    let candidates: Vec<&Record> = run.current().into_iter().filter(is_over).filter(can_again).collect();
    match candidates.iter().find(|record| record.trial == name) {
        Some(one) => Ok(one),
        None if run.records.iter().any(|record| record.trial == name) => Err(match is_looked_into {
            true => format!(
                "the trial {name} is void, or it had no guest to look into\n  try: a trial of --on vm or --on model:DISK \
                 that is done or failed"
            ),
            false => format!(
                "the trial {name} is void or not in virtual time, so there is nothing to compare it with\n  \
                 try: --rerun all, or with --console, --keep-image or --shell to look into a trial of --on vm"
            ),
        }),
        None => Err(names::unknown("trial", name, candidates.iter().map(|record| record.trial.as_str()))),
    }
}

/// Reruns each trial this many times, `jobs` at a time, and reports each result.
///
/// # Errors
/// If a trial cannot be launched, or is not in the plan.
pub fn rerun(
    plan: &Resolved<'_>,
    testbeds: &Testbeds<'_>,
    records: &[&Record],
    times: usize,
    jobs: usize,
    tell: &mut Tell<'_>,
) -> anyhow::Result<()> {
    let launcher = Launcher { plan, testbeds, stop: &|| false };
    let attempt = |record: &Record| {
        let trial = planned(plan, record).context("the plan does not contain this trial")?;
        Ok(Attempt { trial, number: record.attempt })
    };
    let attempts: Vec<Attempt<'_>> =
        records.iter().map(|record| attempt(record)).collect::<anyhow::Result<_>>()?;
    let due: Vec<Attempt<'_>> = attempts.iter().flat_map(|a| std::iter::repeat_n(*a, times)).collect();
    side_by_side(launcher, &due, jobs, &mut Comparing { records, tell })
}

struct Comparing<'c> {
    records: &'c [&'c Record],
    tell: &'c mut Tell<'c>,
}

impl Hear for Comparing<'_> {
    fn ended(&mut self, attempt: &Attempt<'_>, again: anyhow::Result<Folded>) -> anyhow::Result<()> {
        let name = attempt.trial.name();
        let before = self.records.iter().find(|record| record.trial == name);
        let before = before.context("no record belongs to this trial")?;
        let again = again?;
        (self.tell)(before, &compare(before, &again), &again);
        Ok(())
    }
}

fn planned<'p>(plan: &'p Plan, record: &Record) -> Option<Trial<'p>> {
    let is_it = |trial: &Trial<'_>| trial.name() == record.trial;
    match record.purpose {
        Purpose::Integrity => plan.integrity_checks().find(is_it),
        Purpose::Measure => plan.round(record.round).find(is_it),
        extra => plan.again(extra).find(is_it),
    }
}

fn compare(before: &Record, again: &Folded) -> Compared {
    if before.fingerprint().is_none() {
        return Compared::Incomparable("the trial does not run in virtual time".to_owned());
    }
    let Folded { record: after, attached } = again;
    let other = before.provenance.iter().find(|(name, hash)| after.provenance.get(*name) != Some(hash));
    if let Some((name, _)) = other {
        return Compared::Incomparable(format!("the {name} has changed"));
    }
    if let Some(what) = differing_file(before, attached) {
        return Compared::Differs(what.to_owned());
    }
    let (was, is) = (measured(before), measured(after));
    if was == is {
        return Compared::Same;
    }
    let keys = |record: &serde_json::Value| record.as_object().cloned().unwrap_or_default();
    let (was, is) = (keys(&was), keys(&is));
    let differ: Vec<&str> =
        was.iter().filter(|(k, v)| is.get(*k) != Some(v)).map(|(k, _)| k.as_str()).collect();
    Compared::Differs(differ.join(", "))
}

/// The name of the first file beside the record that differs in the rerun.
fn differing_file(before: &Record, attached: &Attached) -> Option<&'static str> {
    let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    let was = |file: &Option<FileRef>| file.as_ref().map(|f| f.blake3.clone());
    let is = |bytes: &[u8]| (!bytes.is_empty()).then(|| hash(bytes));
    let pairs = [
        ("the disk's requests", was(&before.requests), is(&attached.requests)),
        ("the console", was(&before.console), is(attached.console.as_bytes())),
    ];
    pairs.into_iter().find(|(_, was, is)| was != is).map(|(what, ..)| what)
}

/// The record without its circumstances and file names.
fn measured(record: &Record) -> serde_json::Value {
    let record = Record {
        circumstances: Circumstances::default(),
        previous: String::new(),
        histograms: Vec::new(),
        console: None,
        requests: None,
        ..record.clone()
    };
    serde_json::to_value(record).unwrap_or_else(|e| panic!("a record is JSON: {e}"))
}
