//! Runs trials of a run in virtual time again: the same fingerprint must give the same record, to the nanosecond.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;

use anyhow::Context;

use super::fold::Folded;
use super::jobs::Trial;
use super::launch::{Launcher, Told, Turn};
use super::plan::Plan;
use crate::agent::protocol::Purpose;
use crate::store::record::{Circumstances, FileRef, Outcome, Record};
use crate::store::{Attached, Run};
use crate::testbeds::Testbed;

/// What came of running a trial again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    Same,
    /// Something that decides the figures is another than it was: nothing can be said.
    Incomparable(String),
    /// The fingerprint is the same and this is not.
    Differs(String),
}

/// The trials of a run that can be run again: those that count and whose clock is virtual.
pub fn candidates(run: &Run) -> Vec<&Record> {
    run.records.iter().filter(|r| r.outcome == Outcome::Done && r.fingerprint().is_some()).collect()
}

/// Runs each of these trials so many times, `jobs` at a time, and tells what came of each.
///
/// # Errors
/// When a trial cannot be launched, or the plan has none of that name.
pub fn rerun(
    run: &Run,
    testbed: &dyn Testbed,
    records: &[&Record],
    times: usize,
    jobs: usize,
    tell: &mut dyn FnMut(&Record, &Compared),
) -> anyhow::Result<()> {
    let (stop, launches) = (AtomicBool::new(false), AtomicU32::new(0));
    let launcher = Launcher { plan: &run.plan, testbed, stop: &stop, launches: &launches };
    let due: Vec<&Record> = records.iter().flat_map(|record| std::iter::repeat_n(*record, times)).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (say, said) = mpsc::channel();
        for _ in 0..jobs.clamp(1, due.len().max(1)) {
            let (say, next, due) = (say.clone(), &next, &due);
            scope.spawn(move || {
                while let Some(record) = due.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let again = again(launcher, record);
                    let has_failed = again.is_err();
                    if say.send((*record, again)).is_err() || has_failed {
                        break;
                    }
                }
            });
        }
        drop(say);
        for (record, again) in said {
            let again = again.inspect_err(|_| next.store(due.len(), Ordering::Relaxed))?;
            tell(record, &compare(record, &again));
        }
        Ok(())
    })
}

fn again(launcher: Launcher<'_>, record: &Record) -> anyhow::Result<Folded> {
    let trial = planned(launcher.plan, record).context("the plan has no such trial")?;
    let mut folded = None;
    launcher.launch(&[Turn { trial, attempt: record.attempt }], &mut |told| {
        if let Told::Ended(_, ended) = told {
            folded = Some(*ended);
        }
        true
    })?;
    folded.context("the trial has not ended")
}

fn planned<'p>(plan: &'p Plan, record: &Record) -> Option<Trial<'p>> {
    let is_it = |trial: &Trial<'_>| trial.name() == record.trial;
    match record.purpose {
        Purpose::Integrity => plan.integrity_checks().find(is_it),
        _ => plan.round(record.round).find(is_it),
    }
}

fn compare(before: &Record, again: &Folded) -> Compared {
    let Folded { record: after, attached } = again;
    let other = before.provenance.iter().find(|(name, hash)| after.provenance.get(*name) != Some(hash));
    if let Some((name, _)) = other {
        return Compared::Incomparable(format!("the {name} is another than it was"));
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

/// What of the files beside the record is not as it was.
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

/// The record without its circumstances, and without the names of the files beside it.
fn measured(record: &Record) -> serde_json::Value {
    let record = Record {
        circumstances: Circumstances::default(),
        previous: String::new(),
        histograms: Vec::new(),
        console: None,
        requests: None,
        ..record.clone()
    };
    serde_json::to_value(record).unwrap_or_default()
}
