//! Sends signs of life, and gives up a step that exceeds its limit.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fsderby_sys::process::{exit_now, suspended_ns};

use super::channel::Teller;
use super::{StepError, blocked, monotonic_ns, tools};
use crate::schema::event::{Event, SUSPENDED_NS, Seen};
use crate::schema::job::{Job, LIMIT, StepName};

/// The agent's exit code when it gives up a step.
const GIVEN_UP: i32 = 124;
/// During the work its progress reports are the sign of life. At other times the agent sends one sign of life per this many intervals.
const SELDOM: u32 = 5;

/// How long the watching thread sleeps at a time; after each sleep the thread notes by how much it overslept.
const NAP: Duration = Duration::from_millis(500);
/// A thread that oversleeps by more than this did not merely wait for a CPU.
const OVERSLEPT: Duration = Duration::from_secs(1);
/// In virtual time: how long after its limit a step is given up. The callers of commands and works have ended them by then.
const GRACE: Duration = Duration::from_secs(60);

/// Watches the steps of one trial; dropping it ends its thread.
pub struct Watchdog {
    step: Arc<Mutex<Option<Begun>>>,
    /// The watching thread; it returns the longest time by which it overslept.
    thread: Option<(mpsc::Sender<()>, JoinHandle<Duration>)>,
    suspended_ns: u64,
}

#[derive(Clone, Copy)]
struct Begun {
    step: StepName,
    at: Instant,
    limit: Duration,
}

impl Watchdog {
    /// In virtual time nothing may run beside the trial: there the thread wakes only at a step's limit.
    pub fn start(tell: &Teller, job: &Job) -> std::io::Result<Self> {
        let step: Arc<Mutex<Option<Begun>>> = Arc::default();
        let every = job.alive_every_ms.map(|ms| Duration::from_millis(ms) * SELDOM);
        let limit = job.limits_seconds.values().min().map_or(LIMIT, |seconds| Duration::from_secs(*seconds));
        let (watched, tell) = (step.clone(), tell.clone());
        let (over, is_over) = mpsc::channel();
        let watching = move || match every {
            Some(every) => give_signs(&watched, &tell, every, &is_over),
            None => wait_for_limits(&watched, &tell, limit, &is_over),
        };
        let thread = thread::Builder::new().name("alive".into()).spawn(watching)?;
        Ok(Watchdog { step, thread: Some((over, thread)), suspended_ns: suspended_ns() })
    }

    /// Ends the watchdog. Returns an observation if something kept the trial from running; `continued` says that a client was stopped
    /// and continued by signals.
    pub fn end(mut self, continued: bool) -> Option<Seen> {
        let (over, thread) = self.thread.take()?;
        drop(over);
        let overslept = thread.join().unwrap_or_default();
        let asleep_ns = u64::try_from(overslept.as_nanos()).unwrap_or(u64::MAX);
        let suspended_ns = suspended_ns().saturating_sub(self.suspended_ns);
        let is_halted = overslept > OVERSLEPT || suspended_ns > SUSPENDED_NS || continued;
        is_halted.then_some(Seen::Halted { asleep_ns, suspended_ns, continued })
    }

    pub fn begins(&self, step: StepName, limit: Duration) {
        *lock(&self.step) = Some(Begun { step, at: Instant::now(), limit });
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.thread.take() {
            drop(over);
            let _ = thread.join();
        }
    }
}

fn lock(step: &Mutex<Option<Begun>>) -> std::sync::MutexGuard<'_, Option<Begun>> {
    step.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends signs of life until the trial is over; returns the longest time by which a nap was overslept.
fn give_signs(
    watched: &Mutex<Option<Begun>>,
    tell: &Teller,
    every: Duration,
    is_over: &mpsc::Receiver<()>,
) -> Duration {
    let (mut overslept, mut looked) = (Duration::ZERO, Instant::now());
    loop {
        let begin = Instant::now();
        let woken = is_over.recv_timeout(NAP);
        overslept = overslept.max(begin.elapsed().saturating_sub(NAP));
        if woken != Err(RecvTimeoutError::Timeout) {
            return overslept;
        }
        if looked.elapsed() >= every {
            looked = Instant::now();
            look(*lock(watched), tell, every);
        }
    }
}

/// Sleeps until a step exceeds its limit, or the trial is over. `first` is the sleep before the first step.
fn wait_for_limits(
    watched: &Mutex<Option<Begun>>,
    tell: &Teller,
    first: Duration,
    is_over: &mpsc::Receiver<()>,
) -> Duration {
    let mut wait = first;
    while is_over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let begun = *lock(watched);
        wait = begun.map_or(first, |Begun { at, limit, .. }| (limit + GRACE).saturating_sub(at.elapsed()));
        if let (Some(Begun { step, limit, .. }), Duration::ZERO) = (begun, wait) {
            give_up(tell, step, limit);
        }
    }
    Duration::ZERO
}

/// The action that the watchdog must take now.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    /// No action: the work reports its own progress.
    Nothing,
    Sign,
    /// End the agent: a step exceeds its limit. Commands and works are ended by their callers, so here a system call does not return.
    GiveUp(StepName, Duration),
}

fn due(begun: Option<Begun>, every: Duration) -> Due {
    match begun {
        Some(Begun { step, at, limit }) if at.elapsed() > limit + every => Due::GiveUp(step, limit),
        Some(Begun { step: StepName::Work, .. }) => Due::Nothing,
        _ => Due::Sign,
    }
}

fn look(begun: Option<Begun>, tell: &Teller, every: Duration) {
    match due(begun, every) {
        Due::Nothing => {}
        Due::Sign => drop(tell.send(&Event::Alive { done: 0, total: 0, clock_ns: monotonic_ns() })),
        Due::GiveUp(step, limit) => give_up(tell, step, limit),
    }
}

fn give_up(tell: &Teller, step: StepName, limit: Duration) -> ! {
    let StepError { text, .. } = tools::too_long(limit);
    let _ = tell.send(&StepError::new("wait for", "the kernel", text).event(step));
    blocked::power_off();
    exit_now(GIVEN_UP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_shows_that_it_lives_until_its_own_deadline() {
        let (every, limit) = (Duration::from_millis(1), Duration::from_secs(100));
        let begun = |step, ago: u64| {
            let at =
                Instant::now().checked_sub(Duration::from_secs(ago)).expect("a machine that ran so long");
            Some(Begun { step, at, limit })
        };
        assert_eq!(due(None, every), Due::Sign);
        assert_eq!(due(begun(StepName::Make, 99), every), Due::Sign);
        assert_eq!(due(begun(StepName::Make, 101), every), Due::GiveUp(StepName::Make, limit));
        assert_eq!(due(begun(StepName::Work, 1), every), Due::Nothing);
        assert_eq!(due(begun(StepName::Work, 101), every), Due::GiveUp(StepName::Work, limit));
    }
}
