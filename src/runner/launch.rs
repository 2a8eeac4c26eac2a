//! One launch: the jobs that share it, the agent's events, and of each trial's events a record of its own.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::fold::{Fold, Folded};
use super::jobs::Trial;
use super::plan::Plan;
use super::rounds::INTERRUPTED;
use crate::agent::protocol::{Event, Job};
use crate::store::record::{Circumstances, ClockKind, LaunchPlace};
use crate::testbeds::{Ended, Next, Testbed};

/// How often the world is looked at while an agent is silent.
const LOOK: Duration = Duration::from_millis(200);
/// An agent that says nothing for so long, progress reports included, has hung.
const SILENCE: Duration = Duration::from_secs(600);

/// What every launch of a run has in common.
#[derive(Clone, Copy)]
pub struct Launcher<'a> {
    pub plan: &'a Plan,
    pub testbed: &'a dyn Testbed,
    /// Set when what runs is to end at once.
    pub stop: &'a AtomicBool,
    /// How many launches there were, those of the run's earlier processes included.
    pub launches: &'a AtomicU32,
}

/// A trial, and which attempt at it this is.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    pub trial: Trial<'a>,
    pub attempt: u32,
}

/// What is told while a launch goes on. The number is the trial's in the launch, from 0.
pub enum Told {
    Begins(usize),
    /// How much of the work is done, of how much.
    Tick(u64, u64),
    Ended(usize, Box<Folded>),
}

impl<'a> Launcher<'a> {
    /// One launch with these trials in this order. `tell` hears of each, and ends the launch by returning false. Returns how
    /// many of them have ended, the first ones: where a launch is lost, those after its running trial were never begun.
    ///
    /// # Errors
    /// When it cannot be launched at all; what fails afterwards is the running trial's.
    pub fn launch(&self, turns: &[Turn<'_>], tell: &mut dyn FnMut(Told) -> bool) -> anyhow::Result<usize> {
        let jobs: Vec<Job> = (0..).zip(turns).map(|(place, turn)| self.job(turn, place)).collect();
        let number = self.launches.fetch_add(1, Ordering::Relaxed) + 1;
        let mut at = 0;
        let mut stretch = Stretch::begin(number, 1);
        let mut goes_on = tell(Told::Begins(at));
        let mut launched = self.testbed.launch(&jobs)?;
        let provenance = launched.provenance();
        let fold_of = |at: usize| {
            let mut fold = Fold::new(&turns[at].trial, &jobs[at], self.testbed.name(), self.testbed.traits());
            fold.launched(provenance.clone());
            fold
        };
        let mut fold = fold_of(at);
        // Lines of the console that are the records' of earlier trials.
        let mut stored = 0;
        let mut heard = Instant::now();
        // There a guest says nothing while it works, and its testbed knows better whether it lives.
        let in_virtual_time = self.testbed.traits().clock == ClockKind::Virtual;
        loop {
            let is_interrupted = self.stop.load(Ordering::Relaxed);
            if is_interrupted && !fold.is_done() {
                fold.void(INTERRUPTED);
            }
            if is_interrupted || !goes_on {
                launched.stop();
            }
            match launched.next(LOOK) {
                Next::Event(stamped) => {
                    heard = Instant::now();
                    match &stamped.event {
                        Event::Hello { .. } => stretch.is_launched(),
                        Event::Tick { done, total, .. } => goes_on &= tell(Told::Tick(*done, *total)),
                        Event::Trial { trial, .. } if *trial == jobs[at].trial => {}
                        Event::Trial { trial, .. }
                            if fold.is_over() && jobs.get(at + 1).is_some_and(|job| job.trial == *trial) =>
                        {
                            let console = launched.console().split_off(stored);
                            stored += console.len();
                            let before = std::mem::replace(&mut stretch, Stretch::begin(number, at + 2));
                            let over = std::mem::replace(&mut fold, fold_of(at + 1));
                            let ended = Ended { console, ..Ended::default() };
                            goes_on &= tell(Told::Ended(at, Box::new(over.finish(ended, before.end()))));
                            at += 1;
                            goes_on &= tell(Told::Begins(at));
                        }
                        Event::Trial { trial, .. } => {
                            fold.void(format!("the agent began {trial}, which was not its turn"));
                            goes_on = false;
                        }
                        _ => {}
                    }
                    fold.event(stamped);
                }
                Next::Damaged(what) => {
                    fold.void(what);
                    // What has lost a line can no longer tell one trial from the next.
                    goes_on &= at + 1 == jobs.len();
                }
                Next::Quiet if in_virtual_time || heard.elapsed() < SILENCE => {}
                Next::Quiet => {
                    fold.hung(SILENCE);
                    launched.stop();
                }
                Next::Ended => break,
            }
        }
        let mut ended: Ended = launched.end();
        ended.console.drain(..stored.min(ended.console.len()));
        tell(Told::Ended(at, Box::new(fold.finish(ended, stretch.end()))));
        Ok(at + 1)
    }

    /// The record of a trial for which there could be no launch.
    pub fn not_launched(&self, turn: &Turn<'_>, why: &anyhow::Error) -> Folded {
        let job = self.job(turn, 0);
        let mut fold = Fold::new(&turn.trial, &job, self.testbed.name(), self.testbed.traits());
        fold.fail(format!("it could not be launched: {why:#}"));
        // Of the launch nothing came, so the trial had no place in it.
        let circumstances = Circumstances { launch: None, ..Stretch::begin(0, 1).end() };
        fold.finish(Ended::default(), circumstances)
    }

    /// `place` is the trial's in its launch, from 0.
    fn job(&self, turn: &Turn<'_>, place: u32) -> Job {
        let Turn { trial, attempt } = turn;
        let token = format!("{}-{}-{attempt}", std::process::id(), token(&trial.name()));
        let device = self.testbed.device(&self.plan.moment(trial.round, place));
        self.plan.job(trial, *attempt, device, &token)
    }
}

/// The part of a launch that is one trial's: from the end of the one before it, the first from the launch on.
struct Stretch {
    begin: Instant,
    steal_ns: u64,
    circumstances: Circumstances,
}

impl Stretch {
    /// `place` is the trial's in its launch, from 1.
    fn begin(number: u32, place: usize) -> Self {
        let circumstances = Circumstances {
            started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            load: load(),
            launch: Some(LaunchPlace { number, place: u32::try_from(place).unwrap_or(u32::MAX) }),
            ..Circumstances::default()
        };
        Stretch { begin: Instant::now(), steal_ns: steal_ns(), circumstances }
    }

    /// The agent has said its first word; a second one is that of a machine started again after a power cut.
    fn is_launched(&mut self) {
        if self.circumstances.launch_ns == 0 {
            self.circumstances.launch_ns = self.elapsed_ns();
        }
    }

    fn end(mut self) -> Circumstances {
        self.circumstances.host_ns = self.elapsed_ns();
        self.circumstances.steal_ns = steal_ns().saturating_sub(self.steal_ns);
        self.circumstances
    }

    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Short and fit for a file name, whatever the labels hold.
fn token(trial: &str) -> String {
    blake3::hash(trial.as_bytes()).to_hex()[..8].to_owned()
}

fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0.0)
}

fn steal_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: u64 = text.split_whitespace().nth(8).and_then(|w| w.parse().ok()).unwrap_or(0);
    ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second())
}
