//! Parallel trials: a queue, and threads with one trial each at a time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, ScopedJoinHandle};

use super::fold::Folded;
use super::launch::{Attempt, Launcher, Tick};
use crate::exit::Failure;

/// Receives the results of trials, one at a time.
pub trait Hear: Send {
    fn begins(&mut self, _attempt: &Attempt<'_>) {}
    fn tick(&mut self, _attempt: &Attempt<'_>, _tick: Tick) {}
    /// `folded` is an error if the trial could not be launched. Its thread starts no other trial before this returns.
    ///
    /// # Errors
    /// Errors end everything: no new trial begins, and running ones are ended without report.
    fn ended(&mut self, attempt: &Attempt<'_>, folded: anyhow::Result<Folded>) -> anyhow::Result<()>;
}

/// Carries out these attempts in order, `jobs` at a time.
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
    let hear = Mutex::new(hear);
    let carry_out = |attempt: &Attempt<'_>| {
        locked(&hear).begins(attempt);
        let folded = launcher.launch(attempt, &mut |tick| locked(&hear).tick(attempt, tick));
        let mut hear = locked(&hear);
        if broken.load(Ordering::Relaxed) {
            return Ok(());
        }
        // Set before another thread may report.
        hear.ended(attempt, folded).inspect_err(|_| broken.store(true, Ordering::Relaxed))
    };
    in_threads(attempts, jobs, &broken, || !stop(), carry_out)
}

/// Applies `carry_out` to these items in order, `jobs` at a time, as long as `goes_on`. The first error stops all threads.
fn in_threads<T: Sync>(
    all: &[T],
    jobs: usize,
    broken: &AtomicBool,
    goes_on: impl Fn() -> bool + Sync,
    carry_out: impl Fn(&T) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let breaks = || broken.store(true, Ordering::Relaxed);
    let waiting = Mutex::new(all.iter());
    // A separate closure: in the loop condition the lock would be held until the item is done.
    let next = || locked(&waiting).next();
    let take_one_after_the_other = || {
        while goes_on()
            && let Some(one) = next()
        {
            carry_out(one).inspect_err(|_| breaks())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let start = |_| {
            let started = Builder::new().spawn_scoped(scope, take_one_after_the_other);
            // Threads already started end soon.
            started.map_err(not_started).inspect_err(|_| breaks())
        };
        let threads: Vec<_> = (0..jobs.min(all.len())).map(start).collect();
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

#[cfg(test)]
mod tests {
    use std::sync::Condvar;
    use std::time::Duration;

    use super::*;

    /// The largest number carried out in parallel.
    fn at_once(jobs: usize) -> usize {
        let (busy, changed, most) = (Mutex::new(0), Condvar::new(), Mutex::new(0));
        let carry_out = |_: &u32| {
            let mut now = locked(&busy);
            *now += 1;
            changed.notify_all();
            // Long enough for all others to arrive; ends early if all have.
            let (mut now, _) =
                changed.wait_timeout_while(now, Duration::from_secs(2), |now| *now < jobs).unwrap();
            let mut most = locked(&most);
            *most = (*most).max(*now);
            *now -= 1;
            Ok(())
        };
        in_threads(&[1, 2, 3, 4], jobs, &AtomicBool::new(false), || true, carry_out).unwrap();
        most.into_inner().unwrap()
    }

    #[test]
    fn so_many_are_carried_out_at_the_same_time_as_there_are_jobs() {
        assert_eq!([1, 2, 4].map(at_once), [1, 2, 4]);
    }

    #[test]
    fn the_first_error_breaks_off_and_is_returned() {
        let (broken, done) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let carry_out = |n: &u32| {
            locked(&done).push(*n);
            if *n == 2 { Err(anyhow::anyhow!("the second")) } else { Ok(()) }
        };
        let goes_on = || !broken.load(Ordering::Relaxed);
        let ended = in_threads(&[1, 2, 3], 1, &broken, goes_on, carry_out);
        assert_eq!(ended.unwrap_err().to_string(), "the second");
        assert_eq!(*locked(&done), [1, 2]);
    }
}
