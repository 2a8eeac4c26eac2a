//! Signals that ask a command to end.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::INTERRUPTED;

/// Without SIGHUP below nohup, which ignores it.
fn heeded() -> impl Iterator<Item = i32> {
    let status = procfs::process::Process::myself().and_then(|own| own.status());
    let ignores = status.is_ok_and(|status| status.sigign & 1 << (SIGHUP - 1) != 0);
    [SIGINT, SIGTERM].into_iter().chain((!ignores).then_some(SIGHUP))
}

/// Set by Ctrl-C, SIGTERM, or the end of the terminal; a second Ctrl-C or SIGTERM ends the program at once. A terminal that closes
/// may send its signal twice.
pub fn stop() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in heeded() {
        // In this order, so that the first signal does not find the flag set.
        let again = match signal {
            SIGHUP => Ok(()),
            _ => flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), stop.clone()).map(drop),
        };
        again.and_then(|()| flag::register(signal, stop.clone())).context("could not listen for Ctrl-C")?;
    }
    Ok(stop)
}

/// Set by Ctrl-C, SIGTERM, or the end of the terminal. No further signal ends the program at once: what it made must not stay.
pub fn stop_and_clean_up() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in heeded() {
        flag::register(signal, stop.clone()).context("could not listen for Ctrl-C")?;
    }
    Ok(stop)
}
