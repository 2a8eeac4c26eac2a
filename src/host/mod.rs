//! What the machine that runs this process offers, host or guest: its programs and its memory groups.

mod fault;
pub mod memory_group;
pub mod programs;

pub use fault::StepError;

/// The children of this thread, ended ones that nobody has waited for included. `procfs` reads them at twice the cost.
pub fn children() -> Vec<i32> {
    let list = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Nanoseconds of the monotonic clock.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
