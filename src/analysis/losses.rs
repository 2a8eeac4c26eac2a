//! Trials that completed but lost synced files in the power cut. Pure.
//!
//! Such a trial has failed and is not compared. Its recovery was timed like any other recovery, so reports show the recovery time
//! beside the losses: recovery time and durability belong together.

use super::dataset::{Series, Value, Work, cell};
use super::steps;
use crate::schema::job::Purpose;
use crate::schema::metric::Metric;
use crate::schema::reason::{Condition, Outcome, Reason};
use crate::schema::record::Record;
use crate::store::Run;

/// The trials of this scenario whose only failure is lost synced files; the last attempt of each trial.
pub fn of<'r>(run: &'r Run, scenario: &str) -> Vec<&'r Record> {
    let mine = |r: &&Record| r.purpose == Purpose::Measure && r.scenario == scenario && lost_files(r);
    run.current().into_iter().filter(mine).collect()
}

fn lost_files(record: &Record) -> bool {
    let by_the_cut =
        |reason: &Reason| matches!(reason, Reason::Integrity(check) if check.name == Condition::Survivors);
    record.outcome == Outcome::Failed && record.reason.as_ref().is_some_and(by_the_cut)
}

/// The series of a workload to show: the series that count, and the forced checks and recoveries of these trials.
pub fn shown(work: &Work<'_>, losses: &[&Record], filesystems: &[String]) -> Vec<Series> {
    let mut all = work.series.clone();
    for record in losses {
        for metric in steps::forced(record).iter().chain(&steps::recovery(record)) {
            add(&mut all, metric, record, filesystems);
        }
    }
    all
}

fn add(all: &mut Vec<Series>, metric: &Metric, record: &Record, filesystems: &[String]) {
    let like = Series::named_as(metric);
    let same = |s: &Series| !s.once && (&s.name, &s.dimensions) == (&like.name, &like.dimensions);
    let at = all.iter().position(same).unwrap_or_else(|| {
        let cells = filesystems.iter().map(|label| cell(label, Vec::new())).collect();
        all.push(Series { cells, ..like });
        all.len() - 1
    });
    let Some(its) = all[at].cells.iter_mut().find(|cell| cell.filesystem == record.filesystem) else {
        return;
    };
    let value = Value { trial: record.trial.as_str().into(), round: record.round, value: metric.value };
    *its = cell(&its.filesystem, [std::mem::take(&mut its.values), vec![value]].concat());
}

/// The note beside the figures of a filesystem that lost files.
pub fn said(work: &Work<'_>, losses: &[&Record], filesystem: &str) -> Option<String> {
    let mine: Vec<&Record> = losses.iter().filter(|r| r.filesystem == filesystem).copied().collect();
    let first = mine.first()?.survivors.as_ref()?;
    let kept = work.counted.iter().filter(|r| r.filesystem == filesystem).count();
    let lost = steps::lost(first);
    let example = first.lost.first().map_or(String::new(), |one| format!(" ({one})"));
    Some(format!(
        "{lost} of {} synced files were lost{example}, in {} of {} trials with a power cut: these trials failed and are not \
         compared; their recovery is shown",
        first.files,
        mine.len(),
        mine.len() + kept,
    ))
}
