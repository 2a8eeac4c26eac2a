//! A signal in the middle of a drop-in: what it has made is removed, its last words are printed, and it ends as the original ends.
//!
//! The signal finds the work under way. The work stops where it next looks at the clock, and a thread does the rest.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fsderby_sys::process::{exit_now, own_descriptors};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::workloads::Clock;

/// The operation that a signal finds may make one more, so it is looked again until there is nothing; 20 s at most.
const PASSES: usize = 2000;
const PAUSE: Duration = Duration::from_millis(10);

/// What a drop-in has made and not yet deleted.
pub trait Made: Send + Sync + 'static {
    /// What cannot be removed stays: there is nobody left to tell.
    fn remove(&self);
    fn is_gone(&self) -> bool;
    /// On standard output, when all is removed.
    fn last_words(&self) -> String {
        String::new()
    }
}

/// Signals are waited for as long as this is there.
pub struct Stopping {
    is_stopping: Arc<AtomicBool>,
    signals: Handle,
}

impl Stopping {
    /// From now on a signal removes what was made and ends the process with this exit code.
    pub fn watch(made: Arc<impl Made>, code: u8) -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let (handle, is_stopping) = (signals.handle(), Arc::new(AtomicBool::new(false)));
        let seen = is_stopping.clone();
        let wait = move || {
            // The work's calls cost what they cost a process of one thread. Where it may not be, they cost more.
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

    /// Never comes back after a signal, which ends the process.
    #[inline]
    pub fn wait_if_stopping(&self) {
        while self.is_stopping.load(Ordering::Relaxed) {
            thread::park();
        }
    }
}

impl Drop for Stopping {
    /// Signals do again what they did before.
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

/// The clock at which the work stops after a signal.
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
