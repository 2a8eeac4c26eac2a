//! All trials of a workload and the order of each round. Of a large run, only the trials that readers look for.

use std::collections::BTreeMap;

use crate::analysis::dataset::dimensions;
use crate::report::view::Summary;
use crate::report::view::entry::look;
use crate::report::view::look::Look;
use crate::report::view::number::{Scale, count};
use crate::report::view::row::Row;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::job::Purpose;
use crate::schema::metric::Metric;
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::store::Run;

/// The largest number of lines of a table on the page; the file of `--csv-trials` has all lines.
const LINES_MOST: usize = 200;
/// This many rounds suffice to show that the order is random.
const ROUNDS_MOST: usize = 12;

/// Trials of one workload, in measured order.
pub struct Trials {
    pub workload: String,
    pub columns: Vec<String>,
    pub lines: Vec<TrialLine>,
    /// The number of all trials: `2,000 trials`.
    pub all: String,
    /// The trials left out; empty if all are listed.
    pub left_out: String,
}

pub struct TrialLine {
    pub round: String,
    pub place: u32,
    pub filesystem: String,
    pub attempt: u32,
    pub outcome: &'static str,
    pub started: String,
    pub load: String,
    pub seed: u64,
    pub values: Vec<String>,
    pub reason: String,
}

/// One round: the order of its candidates.
pub struct Round {
    pub round: u32,
    pub turns: Vec<Turn>,
}

pub struct Turn {
    pub label: String,
    pub look: Look,
    pub outcome: &'static str,
}

/// The order of all rounds, or of the first rounds if there are many; and the number of rounds that are left out.
pub fn order(run: &Run, summary: &Summary, work: &WorkloadSummary) -> (Vec<Round>, usize) {
    let mut rounds: BTreeMap<u32, Vec<&Record>> = BTreeMap::new();
    let mine = |r: &&Record| r.scenario == work.label && r.purpose == Purpose::Measure;
    for record in run.current().into_iter().filter(mine) {
        rounds.entry(record.round).or_default().push(record);
    }
    let turn = |record: &Record| Turn {
        label: record.filesystem.clone(),
        look: look(&summary.filesystems, &record.filesystem),
        outcome: record.outcome.name(),
    };
    let round = |(round, mut records): (u32, Vec<&Record>)| {
        records.sort_by_key(|record| record.order);
        Round { round, turns: records.into_iter().map(turn).collect() }
    };
    let more = rounds.len().saturating_sub(ROUNDS_MOST);
    (rounds.into_iter().take(ROUNDS_MOST).map(round).collect(), more)
}

pub fn trials(run: &Run, work: &WorkloadSummary) -> Trials {
    let rows: Vec<&Row> = work.headlines();
    let scales: Vec<Scale> = rows.iter().map(|row| row.scale()).collect();
    let columns = rows.iter().zip(&scales).map(|(row, scale)| scale.heading(&row.title)).collect();
    let line = |record: &&Record| {
        let value = |(row, scale): (&&Row, &Scale)| {
            let same = |m: &&Metric| m.name == row.name && dimensions(m) == row.dimensions;
            record.metrics.iter().find(same).map_or_else(String::new, |m| scale.number(m.value))
        };
        trial(record, rows.iter().zip(&scales).map(value).collect())
    };
    let mine = run.records.iter().filter(|r| r.scenario == work.label && r.outcome != Outcome::Skipped);
    let mine: Vec<&Record> = mine.collect();
    let listed = listed(&mine);
    Trials {
        workload: work.label.clone(),
        columns,
        lines: listed.iter().map(line).collect(),
        all: count(mine.len(), "trial"),
        left_out: match mine.len() - listed.len() {
            0 => String::new(),
            more => format!("{} more are in the table that --csv-trials writes", count(more, "trial")),
        },
    }
}

/// The trials to list: all; or, if there are many, the trials of the first rounds and all that failed or were repeated.
fn listed<'r>(all: &[&'r Record]) -> Vec<&'r Record> {
    let is_notable = |record: &Record| record.outcome != Outcome::Done || record.attempt > 1;
    let mut room = LINES_MOST.saturating_sub(all.iter().filter(|record| is_notable(record)).count());
    let mut has_place = |record: &&&Record| {
        is_notable(record)
            || room.checked_sub(1).is_some_and(|left| {
                room = left;
                true
            })
    };
    if all.len() <= LINES_MOST {
        all.to_vec()
    } else {
        all.iter().filter(|r| has_place(r)).take(LINES_MOST).copied().collect()
    }
}

fn trial(record: &Record, values: Vec<String>) -> TrialLine {
    let round = match record.purpose {
        Purpose::Integrity => "integrity check".to_owned(),
        Purpose::Measure => record.round.to_string(),
        extra => extra.title(),
    };
    TrialLine {
        round,
        place: record.order,
        filesystem: record.filesystem.clone(),
        attempt: record.attempt,
        outcome: record.outcome.name(),
        started: record.circumstances.started.replace('T', " ").trim_end_matches('Z').to_owned(),
        load: format!("{:.2}", record.circumstances.load),
        seed: record.workload_seed,
        values,
        reason: record.why(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    #[test]
    fn of_many_trials_the_first_and_what_failed_are_listed_and_the_rest_is_counted() {
        let mut example = examples::rounds(60);
        let last = example.run.records.iter_mut().rfind(|r| r.outcome == Outcome::Done).expect("it is done");
        (last.outcome, last.attempt) = (Outcome::Void, 3);
        let workload = last.scenario.clone();
        let report = example.report();
        let work = report.summary.workloads.iter().find(|w| w.label == workload).expect("it is there");
        let trials = trials(&example.run, work);
        assert_eq!(trials.lines.len(), LINES_MOST);
        assert!(trials.lines.iter().any(|line| line.attempt == 3));
        let all = example
            .run
            .records
            .iter()
            .filter(|r| r.scenario == workload && r.outcome != Outcome::Skipped)
            .count();
        assert_eq!(
            trials.left_out,
            format!("{} trials more are in the table that --csv-trials writes", all - LINES_MOST)
        );
        let (rounds, more) = order(&example.run, &report.summary, work);
        assert_eq!((rounds.len(), more), (ROUNDS_MOST, 60 - ROUNDS_MOST));
    }
}
