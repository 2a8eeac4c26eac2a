//! Sends signs of life, and gives up a step that exceeds its limit.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use fsderby_sys::process::{exit_now, suspended_ns};

use super::channel::Teller;
use super::monotonic_ns;
use crate::schema::event::{Event, Seen};
use crate::schema::job::StepName;

/// The agent's exit code when it gives up a step.
const GIVEN_UP: i32 = 124;
/// During the work its progress reports are the sign of life. At other times the agent sends one sign of life per this many intervals.
const SELDOM: u32 = 5;

/// How long the watching thread sleeps at a time; after each sleep the thread notes by how much it overslept.
const NAP: Duration = Duration::from_millis(500);
/// A thread that oversleeps by more than this did not merely wait for a CPU.
const OVERSLEPT: Duration = Duration::from_secs(1);
/// Tolerance between the machine's two clocks, which cannot be read at the same instant.
const SUSPENDED_NS: u64 = 1_000_000;

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
    /// `every` is `None` in virtual time, where nothing else may run beside the trial.
    pub fn start(tell: &Teller, every: Option<Duration>) -> std::io::Result<Self> {
        let step = Arc::default();
        let Some(every) = every.map(|every| every * SELDOM) else {
            return Ok(Watchdog { step, thread: None, suspended_ns: suspended_ns() });
        };
        let (watched, tell) = (step.clone(), tell.clone());
        let (over, is_over) = mpsc::channel();
        let watching = move || {
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
                    look(*lock(&watched), &tell, every);
                }
            }
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
    let text = format!("took longer than {} s", limit.as_secs());
    let (operation, path) = ("wait for".to_owned(), "the kernel".to_owned());
    let _ = tell.send(&Event::Failed { step, operation, path, errno: 0, text });
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
