//! CPU time of the whole machine, and of the filesystem's own daemons.

use procfs::process::Process;
use procfs::{CurrentSI, KernelStats};

use super::{Counter, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::host;
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::metric::Metric;
use crate::schema::story::Story;

pub struct Cpu;

static COUNTERS: [Counter; 5] = [
    Counter::difference("machine_user_ns"),
    Counter::difference("machine_sys_ns"),
    Counter::difference("machine_iowait_ns"),
    Counter::difference("machine_steal_ns"),
    Counter::difference("daemons_ns"),
];

static SHARE: Declared = Declared {
    name: "cpu.share",
    title: "CPU share (workload and daemons)",
    short: "CPU",
    section: Section::Processor,
    over: Over::Work,
    explained: "CPU time of the workload's process and of the filesystem's daemons ÷ the time of the work: 100 % is one CPU that never \
                waits. It is neither good nor bad: a work that waits for the disk has a small share.",
    key: true,
    ..Declared::PERCENT
};

static TIME: Declared = Declared {
    name: "cpu.time",
    title: "CPU time (workload and daemons)",
    section: Section::Processor,
    over: Over::Work,
    explained: "User and system time of the workload's process, by getrusage, and of the filesystem's daemons. Kernel threads, as those of \
                writeback and journal, are not part of it.",
    ..Declared::SECONDS
};

static MACHINE: Declared = Declared {
    name: "cpu.machine",
    title: "CPU time (whole machine)",
    section: Section::Processor,
    over: Over::WorkAndSync,
    explained: "User and system time of the whole machine, kernel threads and everything else that ran included.",
    ..Declared::SECONDS
};

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

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&SHARE, &TIME, &MACHINE]
    }

    fn metrics(&self, raw: &Raw, work: &Work<'_>) -> Vec<Metric> {
        let own = work.step.user_ns + work.step.sys_ns + raw.get("daemons_ns").unwrap_or(&0);
        let share = 100.0 * own as f64 / work.step.ns.max(1) as f64;
        let mut metrics = vec![SHARE.metric(share), TIME.metric(own as f64 / 1e9)];
        let machine = raw.get("machine_user_ns").zip(raw.get("machine_sys_ns"));
        metrics.extend(machine.map(|(user, sys)| MACHINE.metric((user + sys) as f64 / 1e9)));
        metrics
    }

    fn open(&self, _site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let daemons = daemons();
        let before = read(tick_ns, &daemons).ok_or_else(|| NotAvailable("no /proc/stat".into()))?;
        Ok(Box::new(Open { tick_ns, daemons, before }))
    }
}

struct Open {
    tick_ns: u64,
    daemons: Vec<Process>,
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
fn daemons() -> Vec<Process> {
    let is_worker =
        |process: &Process| process.cmdline().is_ok_and(|words| words.iter().any(|word| word == "worker"));
    let children = host::children().into_iter().filter_map(|pid| Process::new(pid).ok());
    children.filter(|process| !is_worker(process)).collect()
}

fn read(tick_ns: u64, daemons: &[Process]) -> Option<Reading> {
    let all = KernelStats::current().ok()?.total;
    let [iowait, irq, softirq, steal] =
        [all.iowait, all.irq, all.softirq, all.steal].map(Option::unwrap_or_default);
    let of_daemons = daemons.iter().filter_map(|process| process.stat().ok()).map(|s| s.utime + s.stime);
    Some([
        ("machine_user_ns", (all.user + all.nice) * tick_ns),
        ("machine_sys_ns", (all.system + irq + softirq) * tick_ns),
        ("machine_iowait_ns", iowait * tick_ns),
        ("machine_steal_ns", steal * tick_ns),
        ("daemons_ns", of_daemons.sum::<u64>() * tick_ns),
    ])
}
