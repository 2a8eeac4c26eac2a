//! One launch: a trial's job, the agent's events, and the resulting record.

use std::time::{Duration, Instant};

use anyhow::Context;
use procfs::{CurrentSI, KernelStats};

use super::fold::{Fold, Folded};
use crate::devices::Watch;
use crate::host::interference::Reading;
use crate::host::other_runs;
use crate::host::random;
use crate::runner::plan::jobs;
use crate::runner::plan::resolved::Resolved;
use crate::schema::event::Event;
use crate::schema::job::Job;
use crate::schema::plan::Trial;
use crate::schema::reason::{Outcome, Reason};
use crate::schema::record::Circumstances;
use crate::schema::setup::ClockKind;
use crate::testbeds::{Ended, Launched, Moved, Next, Testbed, Testbeds};

/// Polling interval while an agent is silent.
const LOOK: Duration = Duration::from_millis(200);
/// An agent sends a sign of life every few seconds. After this silence, including boot, it has hung.
const SILENCE: Duration = Duration::from_secs(120);

/// Shared by all launches of a run.
#[derive(Clone, Copy)]
pub struct Launcher<'a> {
    pub plan: &'a Resolved<'a>,
    pub testbeds: &'a Testbeds<'a>,
    /// Whether running trials must end at once.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// How far a running trial is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// The work done and the total.
    Work { done: u64, total: u64 },
    /// Virtual time and bytes of the disks.
    Virtual(Moved),
}

/// A trial and the number of this attempt at it.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    pub trial: Trial<'a>,
    pub number: u32,
}

impl Launcher<'_> {
    /// Runs this trial. `tick` receives how far the trial is.
    ///
    /// # Errors
    /// If it cannot be launched; later failures are in the record.
    pub fn launch(&self, attempt: &Attempt<'_>, tick: &mut dyn FnMut(Tick)) -> anyhow::Result<Folded> {
        let testbed = self.testbed(attempt);
        if let Some(changed) = testbed.changed() {
            return Ok(self.nothing(attempt, changed));
        }
        self.carry(attempt, &self.job(attempt, &token()?), tick)
    }

    /// Makes and mounts the trial's filesystem, and nothing more. Returns why that failed, if it did.
    ///
    /// # Errors
    /// If it cannot be launched.
    pub fn only_mounts(&self, attempt: &Attempt<'_>) -> anyhow::Result<Option<String>> {
        let job = jobs::only_mount(self.plan, &attempt.trial, self.testbed(attempt), &token()?);
        let record = self.carry(attempt, &job, &mut |_| ())?.record;
        // What is void by the machine's fault may succeed later. A panic is a result, which a trial's record keeps.
        let is_its =
            record.outcome == Outcome::Failed && matches!(record.reason, Some(Reason::Failed { .. }));
        Ok(is_its.then(|| record.why()))
    }

    fn carry(&self, attempt: &Attempt<'_>, job: &Job, tick: &mut dyn FnMut(Tick)) -> anyhow::Result<Folded> {
        let testbed = self.testbed(attempt);
        let in_virtual_time = testbed.traits().clock == ClockKind::Virtual;
        let mut watch = Stopwatch::start(!in_virtual_time);
        let watched = testbed.watched();
        let mut launched = testbed.launch(job)?;
        let mut fold = Fold::new(self.plan, &attempt.trial, job, testbed.name(), testbed.traits());
        watch.circumstances.from_state = launched.is_from_state();
        fold.launched(launched.provenance(), testbed.kernel().map(|(release, _)| release));
        self.listen(&mut *launched, in_virtual_time, &mut fold, &mut watch, tick);
        if let Some(changed) = testbed.changed() {
            fold.is(changed);
        }
        let ended = launched.end();
        let drives = watched.into_iter().map(Watch::end).collect();
        Ok(fold.finish(ended, Circumstances { drives, ..watch.stop() }))
    }

    /// Receives the agent's events; ends the agent if the agent hangs or the run is stopped.
    fn listen(
        &self,
        launched: &mut dyn Launched,
        // In virtual time a guest is silent between steps; its CPU time shows whether it lives.
        in_virtual_time: bool,
        fold: &mut Fold<'_>,
        watch: &mut Stopwatch,
        tick: &mut dyn FnMut(Tick),
    ) {
        let mut heard = Instant::now();
        loop {
            if (self.stop)() {
                if !fold.is_over() {
                    fold.is(Reason::Interrupted);
                }
                launched.stop();
            }
            match launched.next(LOOK) {
                Next::Event(stamped) => {
                    heard = Instant::now();
                    match &stamped.event {
                        Event::Hello { .. } => watch.is_launched(),
                        Event::Alive { done, total, .. } => tick(Tick::Work { done: *done, total: *total }),
                        _ => {}
                    }
                    fold.event(stamped);
                }
                Next::Damaged(what) => fold.is(Reason::DamagedEvent { what }),
                Next::Quiet if in_virtual_time => {
                    if let Some(moved) = launched.progress() {
                        tick(Tick::Virtual(moved));
                    }
                }
                Next::Quiet if heard.elapsed() < SILENCE => {}
                Next::Quiet => {
                    fold.hung(SILENCE);
                    launched.stop();
                }
                Next::Ended => break,
            }
        }
    }

    /// The record of a trial that could not be launched.
    pub fn not_launched(&self, attempt: &Attempt<'_>, why: &anyhow::Error) -> Folded {
        self.nothing(attempt, Reason::Launch { why: format!("{why:#}") })
    }

    fn nothing(&self, attempt: &Attempt<'_>, why: Reason) -> Folded {
        // Nothing was launched, so no object has its name.
        let (job, testbed) = (self.job(attempt, ""), self.testbed(attempt));
        let mut fold = Fold::new(self.plan, &attempt.trial, &job, testbed.name(), testbed.traits());
        fold.is(why);
        fold.finish(Ended::default(), Stopwatch::start(false).stop())
    }

    fn testbed(&self, attempt: &Attempt<'_>) -> &dyn Testbed {
        self.testbeds.of(self.plan, attempt.trial.candidate)
    }

    fn job(&self, attempt: &Attempt<'_>, token: &str) -> Job {
        let Attempt { trial, number } = attempt;
        jobs::job(self.plan, trial, *number, self.testbed(attempt), token)
    }
}

/// Host time and counters of a launch.
struct Stopwatch {
    begin: Instant,
    /// Whether other runs on this machine disturb the trial.
    feels_others: bool,
    steal_ns: u64,
    machine: Reading,
    circumstances: Circumstances,
}

impl Stopwatch {
    fn start(feels_others: bool) -> Self {
        let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let other_runs = others(feels_others);
        let circumstances = Circumstances { started, load: load(), other_runs, ..Circumstances::default() };
        // Reads every process, so it is not part of the launch.
        let machine = Reading::now();
        Stopwatch { begin: Instant::now(), feels_others, steal_ns: steal_ns(), machine, circumstances }
    }

    /// The agent's first event; a second start is the machine after a power cut.
    fn is_launched(&mut self) {
        if self.circumstances.launch_ns == 0 {
            self.circumstances.launch_ns = self.elapsed_ns();
        }
    }

    fn stop(mut self) -> Circumstances {
        self.circumstances.host_ns = self.elapsed_ns();
        self.circumstances.steal_ns = steal_ns().saturating_sub(self.steal_ns);
        self.circumstances.other_runs = self.circumstances.other_runs.max(others(self.feels_others));
        self.circumstances.interference = Some(Reading::now().since(&self.machine));
        self.circumstances
    }

    fn elapsed_ns(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Makes a unique and unguessable name. Its random part makes it unique; the process ID in it helps to find a run's objects.
fn token() -> anyhow::Result<String> {
    let random = random::bits().context("could not name a trial")?;
    Ok(format!("{}-{random:032x}", std::process::id()))
}

/// Number of other runs on this machine, if they disturb this one.
fn others(feels_them: bool) -> u32 {
    if feels_them { u32::try_from(other_runs::now().len()).unwrap_or(u32::MAX) } else { 0 }
}

/// As the kernel prints it, in hundredths; `procfs` converts it to `f32`, which alters the number.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|w| w.parse().ok()).unwrap_or(0.0)
}

fn steal_ns() -> u64 {
    let ticks = KernelStats::current().ok().and_then(|stats| stats.total.steal);
    ticks.unwrap_or(0) * (1_000_000_000 / rustix::param::clock_ticks_per_second())
}
