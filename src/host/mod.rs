//! The machine on which this process runs, host or guest: its programs, cgroups, and folders created by fsderby.

pub mod caller;
pub mod control_group;
pub mod device_group;
mod fault;
pub mod given;
pub mod interference;
pub mod kernel_log;
pub mod memory_group;
pub mod node;
pub mod other_runs;
pub mod own_folder;
pub mod own_limits;
pub mod parallel;
pub mod process_group;
pub mod programs;
pub mod random;
pub mod stranger;

use std::time::{Duration, Instant};

pub use fault::StepError;
pub use fsderby_sys::process::monotonic_ns;

/// How long a device may take to appear.
const PATIENCE: Duration = Duration::from_secs(30);

/// Repeats `look` until it finds something; `None` after half a minute.
pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    None
}

/// The children of this thread, including ended children that were not yet reaped. The library `procfs` would take twice the time.
pub fn children() -> Vec<i32> {
    let list = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
