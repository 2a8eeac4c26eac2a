//! The blocked tasks of a guest whose step exceeds its limit: by name for the message, with their stacks on the guest's console.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most tasks named in a message; the console has all.
const NAMED: usize = 8;

/// Whether this machine is a guest of the trial: on the host, tasks and kernel log belong to others too.
static IS_GUEST: AtomicBool = AtomicBool::new(false);

/// Notes that this machine is a guest.
pub fn of_this_guest() {
    IS_GUEST.store(true, Ordering::Relaxed);
}

/// Prints the stacks of blocked tasks to the guest's console and returns their names for a message; empty on the host.
pub fn show() -> String {
    if !IS_GUEST.load(Ordering::Relaxed) {
        return String::new();
    }
    // Otherwise the console shows errors only. Without this kernel interface the message still names the tasks.
    let _ = fs::write("/proc/sys/kernel/printk", "7");
    let _ = fs::write("/proc/sysrq-trigger", "w");
    let all = blocked();
    let more = if all.len() > NAMED { ", …" } else { "" };
    match all.as_slice() {
        [] => "; no task was blocked".to_owned(),
        all => format!("; blocked: {}{more}; stacks on the console", all[..all.len().min(NAMED)].join(", ")),
    }
}

/// Ends the guest, whose init cannot end its steps any more; does nothing on the host.
pub fn power_off() {
    if IS_GUEST.load(Ordering::Relaxed) {
        let _ = super::power::power_off();
    }
}

/// `kworker/0:1 in io_schedule`, for each task in uninterruptible sleep.
fn blocked() -> Vec<String> {
    let Ok(processes) = procfs::process::all_processes() else { return Vec::new() };
    let tasks = processes.flatten().filter_map(|process| process.tasks().ok()).flat_map(Iterator::flatten);
    let named = |task: procfs::process::Task| {
        let stat = task.stat().ok().filter(|stat| stat.state == 'D')?;
        let wchan = fs::read_to_string(format!("/proc/{}/task/{}/wchan", task.pid, task.tid)).ok();
        let within = wchan.filter(|name| name != "0").map_or(String::new(), |name| format!(" in {name}"));
        Some(format!("{}{within}", stat.comm))
    };
    tasks.filter_map(named).collect()
}
