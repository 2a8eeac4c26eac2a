//! Trials side by side: a queue of them and so many threads, each with one trial at a time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};

use super::fold::Folded;
use super::launch::{Attempt, Launcher};
use crate::exit::Failure;

/// Somebody who hears what becomes of the trials, of one at a time.
pub trait Hear: Send {
    fn begins(&mut self, _attempt: &Attempt<'_>) {}
    /// How much of a trial's work is done, of how much.
    fn tick(&mut self, _done: u64, _total: u64) {}
    /// `folded` is an error where the trial could not be launched. Its thread begins no other before this returns.
    ///
    /// # Errors
    /// Those end all: nothing more is begun, and what runs is ended and not told.
    fn ended(&mut self, attempt: &Attempt<'_>, folded: anyhow::Result<Folded>) -> anyhow::Result<()>;
}

/// Carries these out in their order, `jobs` at a time.
///
/// # Errors
/// The first of `hear`.
pub fn side_by_side(
    launcher: Launcher<'_>,
    attempts: &[Attempt<'_>],
    jobs: usize,
    hear: &mut dyn Hear,
) -> anyhow::Result<()> {
    let broken = AtomicBool::new(false);
    let stop = || broken.load(Ordering::Relaxed) || (launcher.stop)();
    let launcher = Launcher { stop: &stop, ..launcher };
    let (waiting, hear) = (Mutex::new(attempts.iter()), Mutex::new(hear));
    let take_one_after_the_other = || {
        while !stop()
            && let Some(attempt) = locked(&waiting).next()
        {
            locked(&hear).begins(attempt);
            let folded = launcher.launch(attempt, &mut |done, total| locked(&hear).tick(done, total));
            let mut hear = locked(&hear);
            if broken.load(Ordering::Relaxed) {
                break;
            }
            hear.ended(attempt, folded).inspect_err(|_| broken.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let start = |_| {
            let started = Builder::new().spawn_scoped(scope, take_one_after_the_other);
            // Those that were started end before they have begun much.
            started.map_err(not_started).inspect_err(|_| broken.store(true, Ordering::Relaxed))
        };
        let threads: Vec<_> = (0..jobs.min(attempts.len())).map(start).collect();
        let end =
            |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
        threads.into_iter().map(|thread| thread.map(end)?).fold(Ok(()), Result::and)
    })
}

fn not_started(e: io::Error) -> anyhow::Error {
    let text =
        format!("could not start a thread for a trial: {e}\n  try: a higher ulimit -u, or fewer --jobs");
    Failure::missing(text).into()
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
