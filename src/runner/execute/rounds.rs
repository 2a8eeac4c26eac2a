//! Carries out a plan: integrity checks, then round after round, each trial stored before the next takes its place.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fold::{Folded, blank};
use super::launch::{Attempt, Launcher, Tick};
use super::side_by_side::{Hear, side_by_side};
use super::skipped;
use crate::analysis::dataset::Dataset;
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::analysis::{rounds, verdict};
use crate::host::node;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::{extras, jobs, shard};
use crate::runner::preflight::skips::Skip;
use crate::schema::finding::Verdict;
use crate::schema::job::Purpose;
use crate::schema::plan::{Plan, Rounds, Trial};
use crate::schema::reason::{Outcome, Reason};
use crate::schema::record::Record;
use crate::schema::seal::Ended;
use crate::store::{Attached, Folder, Run};
use crate::testbeds::Testbeds;

/// Most repetitions of a void trial, at the end of its round.
const REPEATS: u32 = 2;
/// Most rounds of a run with `rounds = "auto"`. The last interim analysis is after twenty complete rounds.
const MOST_ROUNDS: u32 = 30;
/// Attempts of a trial that stays void.
pub const ATTEMPTS: u32 = REPEATS + 1;

/// An observer of a run. The code that measures prints nothing; it calls these functions.
pub trait Watch: Send {
    fn begins(&mut self, plan: &Plan, skips: &[Skip]);
    fn trial(&mut self, name: &str, far: &Far);
    /// How far this trial is; called several times a second.
    fn tick(&mut self, trial: &str, tick: Tick);
    fn record(&mut self, record: &Record);
    /// Called when the last trial of a round is over.
    fn round(&mut self, round: u32, of: Rounds, far: &Far);
    /// Called after the first rounds, which show how much figures vary; only interim analyses judge differences.
    fn scatter(&mut self, _run: &Run) {}
}

/// How far a run is. Trials at the worst corners, and rounds beyond the least number, are not known before they are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Far {
    /// How much is done, of how much: trials, or the seconds of a budget.
    pub done: [u64; 2],
    /// The expected remaining time, from the trials so far; `None` before the first has ended.
    pub left: Option<Duration>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Finish {
    pub rounds: u32,
    pub interrupted: bool,
}

pub struct Runner<'a> {
    pub plan: &'a Resolved<'a>,
    pub testbeds: &'a Testbeds<'a>,
    pub folder: &'a mut Folder,
    pub skips: &'a [Skip],
    pub watch: &'a mut dyn Watch,
    /// Trials in parallel; more than one only if they cannot disturb each other.
    pub jobs: usize,
    /// Set by the first Ctrl-C.
    pub stop: &'a AtomicBool,
}

impl<'a> Runner<'a> {
    /// Runs to the plan's end, or continues after `before`. An unfinished round is repeated completely, because pairs must not
    /// span an interruption.
    pub fn run(mut self, before: &Run) -> anyhow::Result<Finish> {
        let mut history = History::of(before);
        history.is_decided = before.verdict.as_ref().is_some_and(|given| self.decides(before, given));
        self.watch.begins(self.plan, self.skips);
        self.record_skips(&mut history)?;
        let begin = Instant::now();
        let mut finish = Finish::default();
        if self.plan.share.is_of_named() {
            self.named(&mut history, begin)?;
        } else {
            self.integrity_checks(&mut history, begin)?;
        }
        while let Some(together) = self.together(finish.rounds + 1, &history, begin) {
            let due: Vec<Trial<'_>> =
                together.clone().flat_map(|round| self.unfinished(round, &history)).collect();
            if !due.is_empty() {
                self.until_none_is_void(due, &mut history, begin)?;
                if self.stopped() {
                    let is_over = |round: &u32| self.unfinished(*round, &history).is_empty();
                    finish.rounds = together.take_while(is_over).last().unwrap_or(finish.rounds);
                    break;
                }
                if together.contains(&rounds::FEWEST_FOR_SCATTER) {
                    self.watch.scatter(&self.folder.read()?);
                }
                history.is_decided |= self.looks(*together.end())?;
            }
            if together.contains(&(SAMPLES_NEEDED as u32)) {
                self.extras(&mut history, begin)?;
            }
            finish.rounds = *together.end();
            history.rounds = finish.rounds;
        }
        finish.interrupted = self.stopped();
        let ended = if finish.interrupted { Ended::Interrupted } else { Ended::Complete };
        let run = self.folder.read()?;
        let verdict = verdict::given(&run, &Dataset::of(&run));
        self.folder.seal(finish.rounds, &verdict, ended)?;
        Ok(finish)
    }

    /// Gives the verdict at a planned interim analysis, and returns whether it decides the run. It is sealed before any further
    /// round, so the error spent stays spent.
    fn looks(&mut self, round: u32) -> anyhow::Result<bool> {
        if self.plan.rounds != Rounds::Auto || round < self.plan.rounds.at_least() {
            return Ok(false);
        }
        let run = self.folder.read()?;
        let given = verdict::given(&run, &Dataset::of(&run));
        let before = run.seal.as_ref().map_or(0, |seal| seal.looks.len());
        if given.basis.looks().len() == before {
            return Ok(false);
        }
        let decides = self.decides(&run, &given);
        self.folder.seal(round, &given, Ended::GoesOn)?;
        Ok(decides)
    }

    /// Whether further rounds can find nothing more: no pair is open, or no analysis is left.
    fn decides(&self, run: &Run, given: &Verdict) -> bool {
        let is_last = || {
            let last = given.basis.looks().last().map_or(0, |look| look.rounds as usize);
            rounds::looks(&run.plan).next_after(last).is_none()
        };
        self.plan.rounds == Rounds::Auto && given.is_final() && (!given.is_open() || is_last())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether to begin another round: within the budget, only one that will probably fit.
    fn another(&self, round: u32, history: &History, begin: Instant) -> bool {
        match (self.plan.rounds, self.plan.budget) {
            (Rounds::AtLeast(n), Some(budget)) if round > n => {
                begin.elapsed() + history.a_round() / self.jobs() <= budget.0
            }
            // An analysis needs ten complete rounds: later than round ten if trials fail.
            (Rounds::Auto, _) => !history.is_decided && round <= MOST_ROUNDS,
            _ => round <= self.plan.rounds.at_least(),
        }
    }

    /// The rounds to carry out together, from this one on. One round, unless trials run in parallel: they would wait for each
    /// round's last trial. No decision between rounds may lie within them.
    fn together(&self, round: u32, history: &History, begin: Instant) -> Option<RangeInclusive<u32>> {
        if self.plan.share.is_of_named() {
            return None;
        }
        let due = self.round(round, history);
        // A shard may have no trial of a round.
        let is_none_left = due.is_empty() && self.plan.share.is_whole();
        let has_begun = due.iter().any(|trial| history.attempts(&trial.name()) > 0);
        if is_none_left || self.stopped() || !(has_begun || self.another(round, history, begin)) {
            return None;
        }
        let last = match (self.plan.rounds, self.plan.budget) {
            (Rounds::Exactly(n) | Rounds::AtLeast(n), None) if self.jobs > 1 => n,
            _ => round,
        };
        let extras = SAMPLES_NEEDED as u32;
        let last = if round <= extras { last.min(extras) } else { last };
        Some(round..=last.max(round))
    }

    /// Number of parallel trials, at least 1, so that times can be divided by it.
    fn jobs(&self) -> u32 {
        u32::try_from(self.jobs).unwrap_or(u32::MAX).max(1)
    }

    fn record_skips(&mut self, history: &mut History) -> anyhow::Result<()> {
        for skip in self.skips {
            let candidate = self.plan.candidates.iter().find(|e| e.label == skip.filesystem);
            let scenario = self.plan.scenarios.iter().find(|s| s.label == skip.scenario);
            debug_assert!(candidate.is_some() && scenario.is_some(), "a skip is a cell of the plan");
            let (Some(candidate), Some(scenario)) = (candidate, scenario) else { continue };
            let trial = skipped::trial(Trial {
                purpose: Purpose::Integrity,
                round: 0,
                order: 0,
                candidate,
                scenario,
            });
            let name = skipped::name(&trial);
            if history.attempts(&name) > 0 {
                continue;
            }
            let mut record = self.blank(&trial, 1);
            (record.trial, record.reason) = (name, Some(Reason::Skipped { text: skip.reason.clone() }));
            self.store(Folded { record, attached: Attached::default() }, history)?;
        }
        Ok(())
    }

    fn integrity_checks(&mut self, history: &mut History, begin: Instant) -> anyhow::Result<()> {
        let plan = self.plan;
        let due = plan.integrity_checks().filter(|t| self.is_its(t) && !history.is_settled(&t.name()));
        self.until_none_is_void(due.collect(), history, begin)
    }

    /// The trials that a shard's plan names.
    fn named(&mut self, history: &mut History, begin: Instant) -> anyhow::Result<()> {
        let due = shard::named(self.plan.plan).into_iter();
        let due = due.filter(|t| self.is_its(t) && !history.is_settled(&t.name()));
        self.until_none_is_void(due.collect(), history, begin)
    }

    /// The extra trials of a full ensemble; the worst corners are known only after the others.
    fn extras(&mut self, history: &mut History, begin: Instant) -> anyhow::Result<()> {
        let is_due = |runner: &Self, history: &History, t: &Trial<'_>| {
            runner.is_its(t) && !history.failed_its_check(t) && !history.is_settled(&t.name())
        };
        let mut due = extras::of_cells(self.plan);
        due.retain(|trial| is_due(self, history, trial));
        self.until_none_is_void(due, history, begin)?;
        // The worst corners follow from the results of all shards.
        if self.stopped() || !self.plan.samples() || !self.plan.share.is_whole() {
            return Ok(());
        }
        let run = self.folder.read()?;
        let mut due = extras::corners(&run);
        due.retain(|trial| is_due(self, history, trial));
        self.until_none_is_void(due, history, begin)
    }

    /// The trials of this round.
    fn round(&self, round: u32, history: &History) -> Vec<Trial<'a>> {
        let plan = self.plan.plan;
        plan.round(round).filter(|t| self.is_its(t) && !history.failed_its_check(t)).collect()
    }

    /// All trials of a round, if any trial of the round is unfinished.
    fn unfinished(&self, round: u32, history: &History) -> Vec<Trial<'a>> {
        let due = self.round(round, history);
        let is_over = due.iter().all(|trial| history.is_settled(&trial.name()));
        if is_over { Vec::new() } else { due }
    }

    /// Runs these trials, then repeats void ones, at most twice. Reports each round when its last trial is over.
    fn until_none_is_void(
        &mut self,
        mut due: Vec<Trial<'_>>,
        history: &mut History,
        begin: Instant,
    ) -> anyhow::Result<()> {
        let measured = due.iter().filter(|trial| trial.purpose == Purpose::Measure);
        let mut open: BTreeMap<u32, usize> = BTreeMap::new();
        measured.for_each(|trial| *open.entry(trial.round).or_default() += 1);
        for _ in 0..=REPEATS {
            if due.is_empty() || self.stopped() {
                break;
            }
            due = self.trials(&due, history, begin, &mut open)?;
        }
        // Trials that stay void are not waited for.
        if !self.stopped() {
            let far = self.far(history, begin);
            open.into_keys().for_each(|round| self.watch.round(round, self.plan.rounds, &far));
        }
        Ok(())
    }

    fn far(&self, history: &History, begin: Instant) -> Far {
        let gone = begin.elapsed();
        if let (Rounds::AtLeast(_), Some(budget)) = (self.plan.rounds, self.plan.budget)
            && gone < budget.0
        {
            return Far { done: [gone.as_secs(), budget.0.as_secs()], left: Some(budget.0 - gone) };
        }
        let plan = self.plan.plan;
        let rounds = plan.rounds.at_least();
        let all: Vec<Trial<'_>> = match self.plan.share.is_of_named() {
            true => shard::named(plan),
            false => {
                let extras = if extras::are_due(rounds) { extras::of_cells(self.plan) } else { Vec::new() };
                let of_rounds = (1..=rounds).flat_map(|round| plan.round(round));
                plan.integrity_checks().chain(of_rounds).chain(extras).collect()
            }
        };
        let is_open = |trial: &&Trial<'_>| {
            self.is_its(trial) && !history.failed_its_check(trial) && !history.is_settled(&trial.name())
        };
        let (done, open) = (history.last.len() as u64, all.iter().filter(is_open).count());
        let mean = history.measuring.checked_div(history.measured).map(|mean| mean / self.jobs());
        let left = mean.map(|mean| mean * u32::try_from(open).unwrap_or(u32::MAX));
        Far { done: [done, done + open as u64], left }
    }

    /// Whether this run carries out that trial.
    fn is_its(&self, trial: &Trial<'_>) -> bool {
        self.plan.share.has(trial) && !self.is_skipped(trial)
    }

    fn is_skipped(&self, trial: &Trial<'_>) -> bool {
        self.skips.iter().any(|s| s.filesystem == trial.candidate.label && s.scenario == trial.scenario.label)
    }

    /// Runs each trial once and returns the void trials; removes the other trials from `open` of their rounds.
    fn trials<'t>(
        &mut self,
        due: &[Trial<'t>],
        history: &mut History,
        begin: Instant,
        open: &mut BTreeMap<u32, usize>,
    ) -> anyhow::Result<Vec<Trial<'t>>> {
        let number = |trial: &Trial<'_>| history.attempts(&trial.name()) + 1;
        let attempts: Vec<Attempt<'_>> =
            due.iter().map(|trial| Attempt { trial: *trial, number: number(trial) }).collect();
        let stop = self.stop;
        let stop = || stop.load(Ordering::Relaxed);
        let launcher = Launcher { plan: self.plan, testbeds: self.testbeds, stop: &stop };
        let jobs = self.jobs;
        let mut pass = Pass { runner: self, launcher, history, begin, open, void: HashSet::new() };
        side_by_side(launcher, &attempts, jobs, &mut pass)?;
        let void = pass.void;
        Ok(due.iter().filter(|trial| void.contains(&trial.name())).copied().collect())
    }

    fn store(&mut self, folded: Folded, history: &mut History) -> anyhow::Result<Outcome> {
        let mut record = folded.record;
        if !self.plan.share.is_whole() {
            record.circumstances.node = node::name();
        }
        let record = self.folder.append(record, &folded.attached)?;
        history.add(&record);
        self.watch.record(&record);
        Ok(record.outcome)
    }

    fn blank(&self, trial: &Trial<'_>, attempt: u32) -> Record {
        let testbed = self.testbeds.of(self.plan, trial.candidate);
        let job = jobs::job(self.plan, trial, attempt, testbed, "");
        blank(self.plan, trial, &job, testbed.name(), testbed.traits())
    }
}

/// A pass over some trials, with one attempt at each trial.
struct Pass<'p, 'r> {
    runner: &'p mut Runner<'r>,
    launcher: Launcher<'p>,
    history: &'p mut History,
    begin: Instant,
    /// Unfinished trials of each round.
    open: &'p mut BTreeMap<u32, usize>,
    /// The trials that were void, by name.
    void: HashSet<String>,
}

impl Hear for Pass<'_, '_> {
    fn begins(&mut self, attempt: &Attempt<'_>) {
        let far = self.runner.far(self.history, self.begin);
        self.runner.watch.trial(&attempt.trial.name(), &far);
    }

    fn tick(&mut self, attempt: &Attempt<'_>, tick: Tick) {
        self.runner.watch.tick(&attempt.trial.name(), tick);
    }

    /// A launch error ends a run that has launched nothing yet; later a launch error ends only its trial, since the next may succeed.
    fn ended(&mut self, attempt: &Attempt<'_>, folded: anyhow::Result<Folded>) -> anyhow::Result<()> {
        let folded = match folded {
            Ok(folded) => folded,
            Err(e) if self.history.has_launched => self.launcher.not_launched(attempt, &e),
            Err(e) => return Err(e),
        };
        self.history.has_launched = true;
        if self.runner.store(folded, self.history)? == Outcome::Void {
            self.void.insert(attempt.trial.name());
        } else {
            self.over(attempt.trial.round);
        }
        Ok(())
    }
}

impl Pass<'_, '_> {
    /// Notes that one trial of this round is over.
    fn over(&mut self, round: u32) {
        let Entry::Occupied(mut left) = self.open.entry(round) else { return };
        *left.get_mut() -= 1;
        if *left.get() == 0 {
            left.remove();
            let far = self.runner.far(self.history, self.begin);
            self.runner.watch.round(round, self.runner.plan.rounds, &far);
        }
    }
}

/// The history so far, including earlier processes.
#[derive(Default)]
struct History {
    /// For each trial: the number of attempts, and why the last attempt was not done.
    last: HashMap<String, (u32, Option<Reason>)>,
    failed_checks: HashSet<(String, String)>,
    /// Number of trials in rounds, and their total host time.
    measured: u32,
    measuring: Duration,
    /// Rounds that are over.
    rounds: u32,
    /// Whether an interim analysis has decided everything.
    is_decided: bool,
    /// Whether this process has launched a trial.
    has_launched: bool,
}

impl History {
    fn of(run: &Run) -> Self {
        let mut history = History::default();
        run.records.iter().for_each(|record| history.add(record));
        history
    }

    fn add(&mut self, record: &Record) {
        self.last.insert(record.trial.clone(), (record.attempt, record.reason.clone()));
        if record.purpose == Purpose::Measure {
            self.measured += 1;
            self.measuring += Duration::from_nanos(record.circumstances.host_ns);
        }
        if record.purpose == Purpose::Integrity && record.outcome == Outcome::Failed {
            self.failed_checks.insert((record.filesystem.clone(), record.scenario.clone()));
        }
    }

    fn attempts(&self, trial: &str) -> u32 {
        self.last.get(trial).map_or(0, |(attempt, ..)| *attempt)
    }

    /// Whether this trial needs no further attempt. A resumed run retries a trial whose last attempt was void. It gives up only a
    /// trial whose last attempt broke a validity check and which has had [`ATTEMPTS`] attempts.
    fn is_settled(&self, trial: &str) -> bool {
        match self.last.get(trial) {
            None => false,
            Some((attempts, Some(Reason::Validity(_)))) => *attempts > REPEATS,
            Some((_, reason)) => reason.as_ref().is_none_or(|reason| reason.outcome() != Outcome::Void),
        }
    }

    fn failed_its_check(&self, trial: &Trial<'_>) -> bool {
        self.failed_checks.contains(&(trial.candidate.label.clone(), trial.scenario.label.clone()))
    }

    /// Mean duration of a round, if trials do not run in parallel.
    fn a_round(&self) -> Duration {
        self.measuring.checked_div(self.rounds).unwrap_or_default()
    }
}
