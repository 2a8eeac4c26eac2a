//! CPU time of the whole machine, and of the filesystem's own daemons.

use std::fs;

use super::{NotAvailable, Probe, Raw, Running, Site};
use crate::story::Story;

pub struct Cpu;

impl Probe for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn story(&self) -> Story {
        Story {
            what: "CPU time of the whole machine and of the filesystem's daemons, from the start of the work to the end of the sync.",
            origin: "/proc/stat and /proc/PID/stat, in clock ticks.",
            limits: "The machine's time holds everybody's; only so are the kernel's own threads (writeback, journal, compression) seen. \
                     The workload's own time comes from getrusage and stands in the work step.",
        }
    }

    fn open(&self, _site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let daemons = children();
        let before = read(tick_ns, &daemons).ok_or_else(|| NotAvailable("no /proc/stat".into()))?;
        Ok(Box::new(Open { tick_ns, daemons, before }))
    }
}

struct Open {
    tick_ns: u64,
    daemons: Vec<String>,
    before: Reading,
}

impl Running for Open {
    fn start(&mut self) {
        if let Some(now) = read(self.tick_ns, &self.daemons) {
            self.before = now;
        }
    }

    fn stop(&mut self) -> Raw {
        let Some(now) = read(self.tick_ns, &self.daemons) else { return Raw::new() };
        now.into_iter()
            .zip(self.before.iter())
            .map(|((name, now), (_, before))| (name.to_owned(), now.saturating_sub(*before)))
            .collect()
    }
}

type Reading = [(&'static str, u64); 5];

/// Processes that the agent inherited: daemons of FUSE filesystems, and the waiting worker, whose time is told apart.
fn children() -> Vec<String> {
    let children = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let is_worker = |pid: &&str| {
        fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|c| c.split(|b| *b == 0).any(|word| word == b"worker"))
    };
    children.split_whitespace().filter(|pid| !is_worker(pid)).map(str::to_owned).collect()
}

fn read(tick_ns: u64, daemons: &[String]) -> Option<Reading> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let words = stat.lines().next()?.split_whitespace().skip(1);
    let ticks: Vec<u64> = words.map_while(|w| w.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    let tick = |i: usize| ticks.get(i).copied().unwrap_or(0) * tick_ns;
    Some([
        ("machine_user_ns", tick(0) + tick(1)),
        ("machine_sys_ns", tick(2) + tick(5) + tick(6)),
        ("machine_iowait_ns", tick(4)),
        ("machine_steal_ns", tick(7)),
        ("daemons_ns", daemons.iter().filter_map(|pid| process_ticks(pid)).sum::<u64>() * tick_ns),
    ])
}

/// User and system ticks of all threads of a process; the name in brackets may hold blanks.
fn process_ticks(pid: &str) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(words.get(11)?.parse::<u64>().ok()? + words.get(12)?.parse::<u64>().ok()?)
}
