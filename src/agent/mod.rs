//! Carries a trial out, on this kernel or inside a guest, and tells what happened: one job in, events out.
//!
//! ```text
//! fsderby ── job, then nothing: its end is the lifeline ──▶ supervisor ── fork ──▶ agent ──▶ worker
//!    ▲                                                    cleans up        PID 1 of its   the workload,
//!    └──────────────────────── events ─────────────────────────────────── namespaces     limited in memory
//! ```
//!
//! Death is the kernel's work: when the host's end of the lifeline closes, for whatever reason, the agent ends; with the
//! init of its namespaces all processes and mounts in them end, with the last mount its loop device, with the device its
//! unnamed image. The supervisor, outside, removes what has a name.

pub mod channel;
mod init;
mod mounting;
pub mod protocol;
mod recovery;
mod settle;
mod site;
mod supervisor;
mod tools;
mod tree;
mod trial;
mod work;
mod worker;

pub use init::{Mishap, PORT, main as init_main};
pub use site::image;
pub use supervisor::{STUCK, clean_up, main as supervisor_main, remove_what_dead_runs_left};
pub use worker::main as worker_main;

use std::io;
use std::path::Path;

/// Why a step did not work: which operation, on what.
#[derive(Debug, thiserror::Error)]
#[error("{operation} of {path} failed: {text}")]
pub struct StepError {
    pub operation: String,
    pub path: String,
    /// 0 where it was not a system call that failed.
    pub errno: i32,
    pub text: String,
}

impl StepError {
    fn new(operation: &str, path: impl AsRef<Path>, text: impl Into<String>) -> Self {
        let path = path.as_ref().display().to_string();
        StepError { operation: operation.to_owned(), path, errno: 0, text: text.into() }
    }

    fn io(operation: &str, path: impl AsRef<Path>, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        let errno = error.raw_os_error().unwrap_or(0);
        StepError { errno, ..StepError::new(operation, path, error.to_string()) }
    }
}

/// Nanoseconds of the monotonic clock.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
