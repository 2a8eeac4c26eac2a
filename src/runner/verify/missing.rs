//! Whether records are missing. A run proceeds in a known way: round after round in plan order, repeating void trials up to a
//! limit, and measuring nothing of skipped or dropped cells. In virtual time several rounds are open.

use std::collections::{HashMap, HashSet};

use super::Verified;
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::runner::execute::rounds::ATTEMPTS;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::{extras, shard};
use crate::schema::finding;
use crate::schema::job::Purpose;
use crate::schema::plan::Trial;
use crate::schema::reason::Outcome;
use crate::schema::record::Record;
use crate::schema::seal::Ended;
use crate::schema::setup::ClockKind;
use crate::store::Run;

/// Finds gaps, and states how far the run went.
pub fn find(run: &Run, plan: &Resolved<'_>, found: &mut Verified) {
    let past = Past::of(run, plan);
    found.wrong.extend(past.attempts_do_not_count_up());
    found.wrong.extend(past.gaps());
    found.wrong.extend(past.is_out_of_order());
    found.wrong.extend(past.differs_from_the_seal());
    found.notes.extend(past.how_far());
    found.notes.extend(past.newer_corners());
}

struct Past<'r> {
    run: &'r Run,
    plan: &'r Resolved<'r>,
    /// All attempts of each trial, in file order.
    attempts: HashMap<&'r str, Vec<&'r Record>>,
    /// Cells (label, workload) that this machine or a later one skipped; they may have been measured before.
    skipped: HashSet<(&'r str, &'r str)>,
    /// Cells that failed their integrity check and were not measured further.
    dropped: HashSet<(&'r str, &'r str)>,
    /// The last round with records of due cells.
    last_round: u32,
}

impl<'r> Past<'r> {
    fn of(run: &'r Run, plan: &'r Resolved<'r>) -> Self {
        let cells = |is: fn(&Record) -> bool| {
            let these = run.records.iter().filter(move |record| is(record));
            these.map(|record| (record.filesystem.as_str(), record.scenario.as_str())).collect()
        };
        let mut attempts: HashMap<&str, Vec<&Record>> = HashMap::new();
        for record in &run.records {
            attempts.entry(&record.trial).or_default().push(record);
        }
        let skipped = cells(|r| r.outcome == Outcome::Skipped);
        let dropped = cells(|r| r.purpose == Purpose::Integrity && r.outcome == Outcome::Failed);
        let mut past = Past { run, plan, attempts, skipped, dropped, last_round: 0 };
        let due = run
            .records
            .iter()
            .filter(|record| matches!(record.purpose, Purpose::Measure | Purpose::Integrity))
            .filter(|record| past.is_due(record.purpose, &record.filesystem, &record.scenario));
        past.last_round = due.map(|record| record.round).max().unwrap_or(0);
        past
    }

    /// Whether this cell needs such a trial.
    fn is_due(&self, purpose: Purpose, label: &str, workload: &str) -> bool {
        let is_dropped = purpose != Purpose::Integrity && self.dropped.contains(&(label, workload));
        !self.skipped.contains(&(label, workload)) && !is_dropped
    }

    fn attempts_do_not_count_up(&self) -> Option<String> {
        let counts_up = |all: &[&Record]| all.iter().zip(1..).all(|(record, n)| record.attempt == n);
        let broken =
            self.attempts.iter().filter(|(_, all)| !counts_up(all)).map(|(trial, _)| *trial).min()?;
        Some(format!(
            "{broken}: the attempts of this trial are not numbered from 1, so one is missing or out of order"
        ))
    }

    /// The integrity checks and the trials of these rounds for all due cells.
    fn due(&self, rounds: u32) -> impl Iterator<Item = Trial<'r>> {
        let (resolved, plan) = (self.plan, &self.run.plan);
        let is_full = extras::are_due(rounds);
        let extras = if is_full { extras::of_cells(resolved) } else { Vec::new() };
        let has_corners = is_full && !self.has_older_rules() && resolved.share.is_whole() && !self.goes_on();
        let corners = if has_corners { extras::corners(self.run) } else { Vec::new() };
        // Each round has at least one record, which bounds the rounds to search: records plus one. A shard lacks rounds of others.
        let most = plan.shard.as_ref().map_or(1, |shard| shard.of as usize);
        let rounds = (1..=rounds).take(self.run.records.len().saturating_mul(most).saturating_add(most));
        let trials = plan.integrity_checks().chain(rounds.flat_map(|round| plan.round(round)));
        let trials = trials.chain(extras).chain(corners).chain(shard::named(plan));
        trials
            .filter(|trial| resolved.share.has(trial))
            .filter(|trial| self.is_due(trial.purpose, &trial.candidate.label, &trial.scenario.label))
    }

    /// Whether more trials are to come: of a merged run whose worst corners were not tried yet.
    fn goes_on(&self) -> bool {
        self.run.seal.as_ref().is_some_and(|seal| seal.ended == Ended::GoesOn)
            && !self.run.machine.shards.is_empty()
    }

    /// The rules of the verdict determine the worst corner.
    fn has_older_rules(&self) -> bool {
        self.run.verdict.as_ref().is_some_and(|verdict| verdict.schema < finding::SCHEMA)
    }

    /// Corners of today's rules that a run under older rules did not try.
    fn newer_corners(&self) -> Option<String> {
        if !self.has_older_rules() || !extras::are_due(self.last_round) {
            return None;
        }
        let corners = extras::corners(self.run);
        let absent: Vec<String> = corners
            .iter()
            .map(Trial::name)
            .filter(|name| !self.attempts.contains_key(name.as_str()))
            .collect();
        let first = absent.first()?;
        Some(format!(
            "the rules of version {} need trials at other worst corners ({first}{}); findings that need \
             these trials are withheld, and a new run makes these trials",
            finding::SCHEMA,
            if absent.len() > 1 { ", …" } else { "" },
        ))
    }

    /// A complete run has repeated all void trials; any other run must have everything before its last trial.
    fn gaps(&self) -> Option<String> {
        let is_complete = self.run.is_complete();
        let rounds = match &self.run.seal {
            Some(seal) if is_complete => seal.rounds,
            _ => self.waited_for(),
        };
        let has_begun = is_complete || self.last_round > 0;
        let gap =
            |trial: &Trial<'_>| match self.attempts.get(trial.name().as_str()).and_then(|all| all.last()) {
                None => true,
                Some(last) => is_complete && last.outcome == Outcome::Void && last.attempt < ATTEMPTS,
            };
        let mut missing = self.due(rounds).filter(|_| has_begun).filter(gap).map(|trial| trial.name());
        let first = missing.next()?;
        Some(match missing.count() {
            0 => format!("the trial {first} or its last attempt is missing"),
            more => format!("{first} and {more} other trials, or their last attempts, are missing"),
        })
    }

    /// The rounds that were over before the last one began. In virtual time, with parallel trials, a round waits for no other,
    /// except for those before the extra trials.
    fn waited_for(&self) -> u32 {
        let needed = SAMPLES_NEEDED as u32;
        match self.is_virtual() {
            false => self.last_round.saturating_sub(1),
            true if self.last_round > needed => needed,
            true => 0,
        }
    }

    fn is_virtual(&self) -> bool {
        self.run.records.iter().any(|record| record.clock == ClockKind::Virtual)
    }

    /// Without parallelism, first attempts follow the plan's order without gaps.
    fn is_out_of_order(&self) -> Option<String> {
        let records = &self.run.records;
        if self.is_virtual() {
            return None;
        }
        let first = records.iter().filter(|record| record.attempt == 1);
        let was = first.filter(|record| self.is_due(record.purpose, &record.filesystem, &record.scenario));
        let was = was.map(|record| &record.trial);
        let mut pairs = was.zip(self.due(self.last_round).map(|trial| trial.name()));
        let (was, due) = pairs.find(|(was, due)| *was != due)?;
        Some(format!("{was} stands where the plan has {due}: a line is missing or out of order"))
    }

    fn differs_from_the_seal(&self) -> Option<String> {
        let seal = self.run.seal.as_ref()?;
        let (records, rounds) = (self.run.records.len(), self.last_round);
        if self.run.unsealed == 0 && seal.records != records {
            return Some(format!(
                "the seal states {sealed} record{s}, but the run has {records}",
                sealed = seal.records,
                s = s(seal.records)
            ));
        }
        (self.run.is_complete() && self.plan.share.is_whole() && rounds != seal.rounds).then(|| {
            format!(
                "the seal states {sealed} round{s}, but the records have {rounds}",
                sealed = seal.rounds,
                s = s(seal.rounds as usize)
            )
        })
    }

    /// Records that a valid run may lack, in a sentence.
    fn how_far(&self) -> Option<String> {
        let (rounds, asked) = (self.last_round, self.run.plan.rounds.at_least());
        match &self.run.seal {
            None => Some(
                "the run is not sealed: it was killed, is still running, or comes from an older \
                          fsderby; whether records are missing at its end is unknown"
                    .into(),
            ),
            Some(_) if self.run.unsealed > 0 => Some(
                "the run is incomplete: it was continued after its end, then killed, or is still \
                      running; whether records are missing at its end is unknown"
                    .into(),
            ),
            Some(seal) if seal.ended == Ended::Interrupted => {
                let s = s(asked as usize);
                Some(format!(
                    "the run is incomplete: it was interrupted after {} of {asked} round{s}",
                    seal.rounds
                ))
            }
            Some(_) if self.goes_on() => Some(
                "the run is incomplete: trials at worst corners remain, and findings that need these trials are withheld\n  \
                 try: fsderby merge --next"
                    .into(),
            ),
            Some(_) if rounds < asked && self.due(asked).any(|trial| trial.round > rounds) => {
                let s = s(asked as usize);
                Some(format!("the run ended after {rounds} of the plan's {asked} round{s}"))
            }
            Some(_) => None,
        }
    }
}

/// The ending "s" of a plural, or nothing.
fn s(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}
