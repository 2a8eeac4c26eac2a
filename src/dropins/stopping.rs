//! Signals to a drop-in: the files that it created are removed, its last output is printed, and it ends with the original's
//! exit code.
//!
//! The work stops when it next reads the clock, and a separate thread removes the files and ends the process.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fsderby_sys::process::{exit_now, own_descriptors};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::workloads::Clock;

/// Number of attempts to remove the files, because the interrupted operation may create one more; at most 20 s.
const PASSES: usize = 2000;
const PAUSE: Duration = Duration::from_millis(10);

/// Files that a drop-in has created and not yet deleted.
pub trait Made: Send + Sync + 'static {
    /// Removes the files. Errors are ignored, because they could not be reported.
    fn remove(&self);
    fn is_gone(&self) -> bool;
    /// Text for standard output after the removal.
    fn last_words(&self) -> String {
        String::new()
    }
}

/// Handles signals until it is dropped.
pub struct Stopping {
    is_stopping: Arc<AtomicBool>,
    signals: Handle,
}

impl Stopping {
    /// From now on, a signal removes the files and ends the process with this exit code.
    pub fn watch(made: Arc<impl Made>, code: u8) -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let (handle, is_stopping) = (signals.handle(), Arc::new(AtomicBool::new(false)));
        let seen = is_stopping.clone();
        let wait = move || {
            // A thread with its own descriptor table keeps system calls as cheap as in a single-threaded process; if this is
            // not permitted, they cost more.
            let _ = own_descriptors();
            if signals.forever().next().is_some() {
                seen.store(true, Ordering::Relaxed);
                remove_until_gone(&*made);
                let mut out = io::stdout();
                let _ = out.write_all(made.last_words().as_bytes()).and_then(|()| out.flush());
                exit_now(code.into());
            }
        };
        thread::Builder::new().spawn(wait)?;
        Ok(Stopping { is_stopping, signals: handle })
    }

    /// Waits for the end of the process if a signal arrived; otherwise returns at once.
    #[inline]
    pub fn wait_if_stopping(&self) {
        while self.is_stopping.load(Ordering::Relaxed) {
            thread::park();
        }
    }
}

impl Drop for Stopping {
    /// Restores the default effect of signals.
    fn drop(&mut self) {
        self.wait_if_stopping();
        self.signals.close();
    }
}

fn remove_until_gone(made: &impl Made) {
    for _ in 0..PASSES {
        made.remove();
        thread::sleep(PAUSE);
        if made.is_gone() {
            return;
        }
    }
}

/// A clock that stops the work after a signal.
pub struct Stoppable<'a, C: ?Sized> {
    pub stopping: &'a Stopping,
    pub clock: &'a C,
}

impl<C: Clock + ?Sized> Clock for Stoppable<'_, C> {
    #[inline]
    fn now_ns(&self) -> u64 {
        self.stopping.wait_if_stopping();
        self.clock.now_ns()
    }
}
