//! A gate in shared memory: processes wait for it to open, and afterwards for each other.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};

use crate::shared::{Counters, Shared};

/// Waiting processes sleep in the kernel on one of these words (futex(2)) and use no CPU. Sleepers of equal priority are woken
/// in order of arrival.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gate {
    is_open: AtomicU32,
    done: AtomicU32,
}

// SAFETY: two atomics, for which all zeros is a valid value: closed, and nobody is done.
unsafe impl Counters for Gate {}

/// A shared [`Gate`].
pub type SharedGate = Shared<Gate>;

impl Gate {
    /// Opens the gate for all current and later waiters.
    ///
    /// # Errors
    /// None on a kernel with futexes.
    pub fn open(&self) -> io::Result<()> {
        self.is_open.store(1, Ordering::Release);
        wake_all(&self.is_open)
    }

    /// Waits until the gate is open.
    ///
    /// # Errors
    /// None on a kernel with futexes.
    pub fn pass(&self) -> io::Result<()> {
        wait_until(&self.is_open, |open| open == 1)
    }

    /// Counts this process as done, and waits until `all` are done.
    ///
    /// # Errors
    /// None on a kernel with futexes.
    pub fn leave_with(&self, all: u32) -> io::Result<()> {
        let done = self.done.fetch_add(1, Ordering::AcqRel) + 1;
        debug_assert!(done <= all.max(1), "{done} of {all} processes are done");
        match all {
            0 | 1 => Ok(()),
            _ if done >= all => wake_all(&self.done),
            _ => wait_until(&self.done, |done| done >= all),
        }
    }
}

fn wake_all(word: &AtomicU32) -> io::Result<()> {
    futex::wake(word, Flags::empty(), i32::MAX.cast_unsigned())?;
    Ok(())
}

fn wait_until(word: &AtomicU32, is_so: impl Fn(u32) -> bool) -> io::Result<()> {
    loop {
        let seen = word.load(Ordering::Acquire);
        if is_so(seen) {
            return Ok(());
        }
        match futex::wait(word, Flags::empty(), seen, None) {
            // It changed before this process slept, or a signal came.
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    const WAITING: u32 = 3;

    #[test]
    fn nobody_passes_a_shut_gate_and_everybody_an_open_one() {
        let gate = SharedGate::new().unwrap();
        let (passed, has_passed) = mpsc::channel();
        let waiting: Vec<_> = (0..WAITING)
            .map(|_| {
                // Each through a separate mapping, as processes do.
                let (gate, passed) = (gate.again().unwrap(), passed.clone());
                thread::spawn(move || {
                    gate.pass().unwrap();
                    passed.send(()).unwrap();
                })
            })
            .collect();
        assert!(has_passed.recv_timeout(Duration::from_millis(50)).is_err(), "it is shut");
        gate.open().unwrap();
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(has_passed.try_iter().count(), WAITING as usize);
        gate.pass().unwrap();
    }

    #[test]
    fn those_who_are_done_leave_when_the_last_one_is() {
        let gate = SharedGate::new().unwrap();
        let (left, has_left) = mpsc::channel();
        let waiting: Vec<_> = (1..WAITING)
            .map(|_| {
                let (gate, left) = (gate.again().unwrap(), left.clone());
                thread::spawn(move || {
                    gate.leave_with(WAITING).unwrap();
                    left.send(()).unwrap();
                })
            })
            .collect();
        assert!(has_left.recv_timeout(Duration::from_millis(50)).is_err(), "one is not done");
        gate.leave_with(WAITING).unwrap();
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
        SharedGate::new().unwrap().leave_with(1).unwrap();
    }
}
