//! The files beside the records: unchanged, present where the record requires them, and consistent with its counts.

use super::Verified;
use super::as_planned::is_whole;
use crate::runner::plan::extras;
use crate::runner::plan::resolved::Resolved;
use crate::schema::event::Buckets;
use crate::schema::plan::Trial;
use crate::schema::record::{FileRef, Record};
use crate::store::Run;
use crate::store::beside::{self, Beside, CONSOLES, HISTOGRAMS, REQUESTS};
use crate::workloads;

/// Faults of this record's files; passes its histograms on.
pub fn hold(run: &Run, record: &Record, hear: &mut dyn FnMut(&[Buckets])) -> Option<String> {
    if record.histograms.len() > 1 {
        return Some("the record names more than one file of histograms".into());
    }
    let files: [(&Beside, Option<&FileRef>); 3] = [
        (&HISTOGRAMS, record.histograms.first()),
        (&CONSOLES, record.console.as_ref()),
        (&REQUESTS, record.requests.as_ref()),
    ];
    let mut named = files.into_iter().filter_map(|(kind, file)| Some((kind, file?)));
    let elsewhere = named.find_map(|(kind, file)| {
        let is_its = file.path == kind.path(&record.trial, record.attempt);
        (!is_its).then(|| format!("{} is not a valid place for a file of this trial", file.path))
    });
    // Counted histograms are read and hashed there, not twice. If that fails, this names the file and the fault.
    let wrong = match is_whole(record) {
        true => run.altered_but_histograms(record),
        false => run.altered(record),
    };
    let wrong = wrong.or(elsewhere).or_else(|| counts_hold(run, record, hear))?;
    Some(run.altered(record).unwrap_or(wrong))
}

/// Each histogram has as many entries as its phase counts operations, and no phase lacks one.
fn counts_hold(run: &Run, record: &Record, hear: &mut dyn FnMut(&[Buckets])) -> Option<String> {
    if !is_whole(record) {
        return None;
    }
    let histograms = match run.histograms(record) {
        Err(e) => return Some(format!("{e:#}")),
        Ok(all) => all,
    };
    hear(&histograms);
    let mut due = Vec::new();
    let mut unknown = Vec::new();
    let several = record.works.len() > 1;
    // Work ended by a power cut reports only its phases.
    for stage in record.stages.iter().filter(|stage| stage.window_ns.is_some()) {
        let of = several.then_some(stage.of);
        let engine = workloads::engine(&record.works.get(stage.of)?.work.engine)?;
        for phase in &stage.phases {
            match engine.timed(&phase.name) {
                [] => unknown.push((of, &phase.name)),
                counts => due.extend(
                    counts
                        .iter()
                        .map(|(operation, count)| timed(of, &phase.name, operation, phase.count(count))),
                ),
            }
        }
    }
    due.retain(|(.., n)| *n > 0);
    let told = histograms.iter().filter(|h| !unknown.contains(&(h.of, &h.phase)));
    let mut told: Vec<Timed> = told.map(|h| timed(h.of, &h.phase, &h.operation, entries(h))).collect();
    told.retain(|(.., n)| *n > 0);
    due.sort();
    told.sort();
    (due != told).then(|| "the trial's histograms have a different number of entries than its phases".into())
}

/// Number of the work (if there are several), name of the phase, name of the operation, and number of operations.
type Timed = (Option<usize>, String, String, u64);

fn timed(of: Option<usize>, phase: &str, operation: &str, n: u64) -> Timed {
    (of, phase.to_owned(), operation.to_owned(), n)
}

fn entries(histogram: &Buckets) -> u64 {
    histogram.buckets.iter().fold(0, |sum, (_, n)| sum.saturating_add(*n))
}

/// Files that no record names. A run killed while storing a trial leaves the files of that attempt.
pub fn unnamed(run: &Run, plan: Option<&Resolved<'_>>, found: &mut Verified) {
    let unnamed = match beside::unnamed(&run.door, &run.records) {
        Err(e) => return found.wrong.push(format!("could not read the run's folder: {e}")),
        Ok(unnamed) => unnamed,
    };
    let next = unnamed.first().and_then(|path| next_attempt(run, plan, path));
    for path in unnamed {
        let was_left = next.as_ref().is_some_and(|files| files.contains(&path));
        let (into, what) = match was_left {
            true => (&mut found.notes, "was stored, but the run was killed before it stored the record"),
            false => (&mut found.wrong, "belongs to no record"),
        };
        into.push(format!("{path} {what}"));
    }
}

/// Files that are not verified: reports, which are written again from the records, and unknown ones.
pub fn uncovered(run: &Run, found: &mut Verified) {
    match beside::uncovered(&run.door) {
        Err(e) => found.wrong.push(format!("could not read the run's folder: {e}")),
        Ok(names) => found.uncovered = names,
    }
}

/// The files of this file's attempt, if it is the next attempt of a planned trial.
fn next_attempt(run: &Run, plan: Option<&Resolved<'_>>, path: &str) -> Option<Vec<String>> {
    let next = |trial: &Trial<'_>| {
        let name = trial.name();
        let attempts = run.records.iter().filter(|record| record.trial == name).map(|record| record.attempt);
        let attempt = attempts.max().unwrap_or(0).saturating_add(1);
        beside::ALL.map(|kind| kind.path(&name, attempt)).to_vec()
    };
    let last = run.records.iter().map(|record| record.round).max().unwrap_or(0);
    let rounds = [last, last.saturating_add(1)].into_iter().filter(|round| *round > 0);
    let trials = run.plan.integrity_checks().chain(rounds.flat_map(|round| run.plan.round(round)));
    let extras = plan.map(extras::of_cells).unwrap_or_default();
    let trials = trials.chain(extras).chain(extras::corners(run));
    trials.map(|trial| next(&trial)).find(|files| files.iter().any(|file| file == path))
}
