//! Carries a plan out: integrity checks, then round after round, each trial into the store before the next begins.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::fold::{Folded, blank};
use super::jobs::Trial;
use super::launch::{Launcher, Turn};
use super::plan::{Plan, Rounds};
use super::skips::Skip;
use super::turns::{Waiting, Word};
use crate::agent::protocol::Purpose;
use crate::store::record::{Outcome, Record};
use crate::store::{Attached, Folder, Run};
use crate::testbeds::Testbed;

/// A void trial is repeated at the end of its round, so often at most.
const REPEATS: u32 = 2;
/// Why a trial is void that Ctrl-C ended; a resumed run repeats it.
pub const INTERRUPTED: &str = "interrupted";

/// Somebody who looks on. Measuring code prints nothing; this is how others hear of it.
pub trait Watch {
    fn begins(&mut self, plan: &Plan, skips: &[Skip]);
    /// `left` is what is still to come, where it is known.
    fn trial(&mut self, name: &str, left: Option<Duration>);
    fn tick(&mut self, done: u64, total: u64);
    fn record(&mut self, record: &Record);
    fn round(&mut self, round: u32, of: Rounds);
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    pub rounds: u32,
    pub interrupted: bool,
}

pub struct Runner<'a> {
    pub plan: &'a Plan,
    pub testbed: &'a dyn Testbed,
    pub folder: &'a mut Folder,
    pub skips: &'a [Skip],
    pub watch: &'a mut dyn Watch,
    /// How many trials run at a time; more than one only where none can feel the other.
    pub jobs: usize,
    /// Set by the first Ctrl-C.
    pub stop: &'a AtomicBool,
}

impl Runner<'_> {
    /// Runs to the plan's end, or goes on where `before` ended: the unfinished round is repeated whole, because pairs must
    /// not straddle an interruption.
    pub fn run(mut self, before: &Run) -> anyhow::Result<Finish> {
        let mut history = History::of(before);
        self.watch.begins(self.plan, self.skips);
        self.record_skips(&mut history)?;
        let begin = Instant::now();
        let mut finish = Finish::default();
        self.integrity_checks(&mut history, begin)?;
        let first = history.first_unfinished_round(self.plan, self.skips);
        finish.rounds = first - 1;
        let rounds_begin = Instant::now();
        for round in first.. {
            if self.stopped() || !self.another(round, first, begin, rounds_begin) {
                break;
            }
            self.round(round, &mut history, begin)?;
            if !self.stopped() {
                finish.rounds = round;
                self.watch.round(round, self.plan.rounds);
            }
        }
        finish.interrupted = self.stopped();
        Ok(finish)
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether this round is to be run: within the budget only whole rounds are begun that will most likely fit.
    fn another(&self, round: u32, first: u32, begin: Instant, rounds_begin: Instant) -> bool {
        match (self.plan.rounds, self.plan.budget) {
            (Rounds::Exactly(n), _) => round <= n,
            (Rounds::AtLeast(n), Some(budget)) if round > n => {
                let done = round - first;
                done > 0 && begin.elapsed() + rounds_begin.elapsed() / done <= budget.0
            }
            (Rounds::AtLeast(_), Some(_)) => true,
            (Rounds::AtLeast(n), None) => round <= n,
        }
    }

    fn record_skips(&mut self, history: &mut History) -> anyhow::Result<()> {
        for skip in self.skips {
            let name = format!("skipped/{}/{}", skip.workload, skip.filesystem);
            if history.attempts(&name) > 0 {
                continue;
            }
            let candidate = self.plan.candidates.iter().find(|e| e.label == skip.filesystem);
            let work = self.plan.workloads.iter().find(|w| w.label == skip.workload);
            let (Some(candidate), Some(work)) = (candidate, work) else { continue };
            let trial = Trial { purpose: Purpose::Integrity, round: 0, order: 0, candidate, work };
            let mut record = self.blank(&trial, 1);
            (record.trial, record.reason) = (name, Some(skip.reason.clone()));
            self.store(Folded { record, attached: Attached::default() }, history)?;
        }
        Ok(())
    }

    fn integrity_checks(&mut self, history: &mut History, begin: Instant) -> anyhow::Result<()> {
        let plan = self.plan;
        let due = plan.integrity_checks().filter(|t| !self.is_skipped(t) && !history.is_settled(&t.name()));
        self.until_none_is_void(due.collect(), history, begin)
    }

    fn round(&mut self, round: u32, history: &mut History, begin: Instant) -> anyhow::Result<()> {
        let plan = self.plan;
        let due = plan.round(round).filter(|t| !self.is_skipped(t) && !history.failed_its_check(t));
        self.until_none_is_void(due.collect(), history, begin)
    }

    /// Runs these trials, and those that are void again at the end, twice at most.
    fn until_none_is_void(
        &mut self,
        mut due: Vec<Trial<'_>>,
        history: &mut History,
        begin: Instant,
    ) -> anyhow::Result<()> {
        for _ in 0..=REPEATS {
            if due.is_empty() || self.stopped() {
                break;
            }
            due = self.trials(&due, history, begin)?;
        }
        Ok(())
    }

    fn is_skipped(&self, trial: &Trial<'_>) -> bool {
        self.skips.iter().any(|s| s.filesystem == trial.candidate.label && s.workload == trial.work.label)
    }

    /// Runs each once, as many launches at a time as there are jobs, and returns those that are void.
    fn trials<'t>(
        &mut self,
        due: &[Trial<'t>],
        history: &mut History,
        begin: Instant,
    ) -> anyhow::Result<Vec<Trial<'t>>> {
        let attempt = |trial: &Trial<'_>| history.attempts(&trial.name()) + 1;
        let turns: Vec<Turn<'_>> = due.iter().map(|t| Turn { trial: *t, attempt: attempt(t) }).collect();
        let before = history.launches.clone();
        let launcher =
            Launcher { plan: self.plan, testbed: self.testbed, stop: self.stop, launches: &before.number };
        let waiting = &Waiting::new(launcher, &turns, &before.any_here);
        let mut void = Vec::new();
        std::thread::scope(|scope| {
            let (tell, told) = mpsc::channel();
            for _ in 0..self.jobs.clamp(1, waiting.launches().max(1)) {
                let tell = tell.clone();
                scope.spawn(move || waiting.take_turns(&tell));
            }
            drop(tell);
            // What cannot be launched or stored ends the run: no more are begun.
            let fault = |e| {
                waiting.clear();
                Err(e)
            };
            for word in told {
                match word {
                    Word::Begins(at) => self.watch.trial(&due[at].name(), history.left(self.plan, begin)),
                    Word::Tick(done, total) => self.watch.tick(done, total),
                    Word::Ended(at, took, folded) => {
                        history.took(took / u32::try_from(self.jobs.max(1)).unwrap_or(1));
                        match self.store(*folded, history) {
                            Ok(Outcome::Void) => void.push(due[at]),
                            Ok(_) => {}
                            Err(e) => return fault(e),
                        }
                    }
                    Word::Broken(e) => return fault(e),
                }
            }
            Ok(void)
        })
    }

    fn store(&mut self, folded: Folded, history: &mut History) -> anyhow::Result<Outcome> {
        let record = self.folder.append(folded.record, &folded.attached)?;
        history.add(&record);
        self.watch.record(&record);
        Ok(record.outcome)
    }

    fn blank(&self, trial: &Trial<'_>, attempt: u32) -> Record {
        let job = self.plan.job(trial, attempt, self.testbed.device(&self.plan.moment(trial.round, 0)), "");
        blank(trial, &job, self.testbed.name(), self.testbed.traits())
    }
}

/// What has happened so far, in this process and before it.
#[derive(Default)]
struct History {
    /// Of each trial: how many attempts, and how the last one ended.
    last: HashMap<String, (u32, Outcome, bool)>,
    failed_checks: HashSet<(String, String)>,
    took: Vec<Duration>,
    launches: Arc<Launches>,
}

/// Counted by the threads that launch.
#[derive(Default)]
struct Launches {
    /// Of the run, in this process and before it.
    number: AtomicU32,
    /// Whether one went well in this process.
    any_here: AtomicBool,
}

impl History {
    fn of(run: &Run) -> Self {
        let mut history = History::default();
        run.records.iter().for_each(|record| history.add(record));
        let number = run.records.iter().filter_map(|r| r.circumstances.launch).map(|l| l.number).max();
        history.launches.number.store(number.unwrap_or(0), Ordering::Relaxed);
        history
    }

    fn add(&mut self, record: &Record) {
        let interrupted = record.reason.as_deref() == Some(INTERRUPTED);
        self.last.insert(record.trial.clone(), (record.attempt, record.outcome, interrupted));
        if record.purpose == Purpose::Integrity && record.outcome == Outcome::Failed {
            self.failed_checks.insert((record.filesystem.clone(), record.workload.clone()));
        }
    }

    fn attempts(&self, trial: &str) -> u32 {
        self.last.get(trial).map_or(0, |(attempt, ..)| *attempt)
    }

    /// Nothing more is to be done about this trial.
    fn is_settled(&self, trial: &str) -> bool {
        match self.last.get(trial) {
            None => false,
            Some((attempt, Outcome::Void, interrupted)) => !interrupted && *attempt > REPEATS,
            Some(_) => true,
        }
    }

    fn failed_its_check(&self, trial: &Trial<'_>) -> bool {
        self.failed_checks.contains(&(trial.candidate.label.clone(), trial.work.label.clone()))
    }

    fn first_unfinished_round(&self, plan: &Plan, skips: &[Skip]) -> u32 {
        let is_skipped = |t: &Trial<'_>| {
            skips.iter().any(|s| s.filesystem == t.candidate.label && s.workload == t.work.label)
                || self.failed_its_check(t)
        };
        let is_finished =
            |round: &u32| plan.round(*round).all(|t| is_skipped(&t) || self.is_settled(&t.name()));
        let everything_skipped = plan.round(1).all(|t| is_skipped(&t));
        if everything_skipped {
            return plan.rounds.at_least() + 1;
        }
        1 + (1..).take_while(is_finished).count() as u32
    }

    fn took(&mut self, time: Duration) {
        self.took.push(time);
    }

    /// The time still to come, from the mean of this process's trials.
    fn left(&self, plan: &Plan, begin: Instant) -> Option<Duration> {
        if let (Rounds::AtLeast(_), Some(budget)) = (plan.rounds, plan.budget)
            && begin.elapsed() < budget.0
        {
            return Some(budget.0 - begin.elapsed());
        }
        let mean =
            self.took.iter().sum::<Duration>() / u32::try_from(self.took.len()).ok().filter(|n| *n > 0)?;
        let cells = plan.candidates.len() * plan.workloads.len() * (plan.rounds.at_least() as usize + 1);
        let left = cells.saturating_sub(self.last.len());
        Some(mean * u32::try_from(left).unwrap_or(u32::MAX))
    }
}
