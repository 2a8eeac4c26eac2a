//! CPU time of the whole machine, and of the filesystem's own daemons.
//!
//! The kernel counts a process's CPU time in nanoseconds. But it divides the machine's time into user and system time by
//! sampling which process runs at each tick. A FUSE request and its answer fit between two ticks, so sampling can miss a third
//! of the time. The idle time of a CPU is measured, not sampled. So machine time is computed as all CPU time less idle time.
//!
//! ```text
//! /proc/stat            idle and waiting, each in ticks of 10 ms       the machine: to within two ticks, of work that takes seconds
//! getrusage             the worker, to the nanosecond            ┐
//! /proc/PID/schedstat   each kernel thread, to the nanosecond    ├─ what the work took: comparable, however short it is
//! /proc/PID/stat        each daemon, in ticks of 10 ms           ┘
//! ```

use std::collections::BTreeMap;

use procfs::process::{Process, all_processes};
use procfs::{CurrentSI, KernelStats};

use super::{Counter, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::host;
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::metric::Metric;
use crate::schema::needs::Aspect;
use crate::schema::units::sum;

pub struct Cpu;

/// Unit of /proc/stat and /proc/PID/stat: 1 ÷ 100 s on Linux, whatever the kernel's tick.
const TICK_NS: u64 = 10_000_000;
/// Idle time and I/O wait are each rounded to a tick.
const MACHINE_RESOLUTION_NS: u64 = 2 * TICK_NS;
/// Least CPU time of daemons that is reported; a smaller time is mostly rounding error.
const DAEMONS_AT_LEAST_NS: u64 = 10 * TICK_NS;

static COUNTERS: [Counter; 8] = [
    Counter::difference("machine_cpus_ns"),
    Counter::difference("machine_idle_ns"),
    Counter::difference("machine_user_ns"),
    Counter::difference("machine_sys_ns"),
    Counter::difference("machine_iowait_ns"),
    Counter::difference("machine_steal_ns"),
    Counter::difference("daemons_ns"),
    Counter::difference("kernel_threads_ns"),
];

static SHARE: Declared = Declared {
    name: "cpu.share",
    title: "CPU share (workload and daemons)",
    short: "CPU",
    section: Section::Processor,
    over: Over::Work,
    explained: "CPU time of the workload process and of the filesystem's daemons ÷ elapsed time; 100 % is one \
                CPU fully busy. A high share is neither better nor worse than a low one: a workload that waits \
                for the disk has a low share.",
    key: true,
    ..Declared::PERCENT_OF_TIME
};

static TIME: Declared = Declared {
    name: "cpu.time",
    title: "CPU time (workload and daemons)",
    section: Section::Processor,
    over: Over::Work,
    explained: "User and system time of the workload process (getrusage) and of the filesystem's daemons. Kernel \
                threads, such as writeback and journal, are not included.",
    ..Declared::SECONDS
};

static SERVED: Declared = Declared {
    name: "cpu.work",
    title: "CPU time (workload, daemons and kernel threads)",
    aspect: Some(Aspect::Cpu),
    section: Section::Processor,
    over: Over::WorkAndSync,
    explained: "User and system time of the workload process, the sync, the filesystem's daemons and all kernel \
                threads (journal, writeback, compression). The resolution is 1 ns, but 10 ms for daemons. The metric \
                is not reported if the daemons' CPU time is above 0 but below 0.1 s. The time of an interrupt counts \
                for the interrupted task. On a shared machine, kernel threads also work for other processes.",
    ..Declared::SECONDS
};

static MACHINE: Declared = Declared {
    name: "cpu.machine",
    title: "CPU time (whole machine)",
    section: Section::Processor,
    over: Over::WorkAndSync,
    explained: "Time in which the CPUs of the machine were not idle, including kernel threads, interrupts and all \
                other processes. In a virtual machine, this time includes steal time. The error is up to 20 ms (two \
                ticks of /proc/stat). Values below 20 ms, or below the CPU time of workload and daemons, are not \
                reported.",
    ..Declared::SECONDS
};

const PART: Declared =
    Declared { section: Section::Processor, over: Over::Work, drawn: false, ..Declared::SECONDS };

static USER: Declared = Declared {
    name: "cpu.user",
    title: "CPU time of the workload, user",
    explained: "User-mode CPU time of the workload process, as reported by getrusage. Many kernels only sample, at \
        timer ticks, whether a process is in user mode; then the value is an estimate.",
    ..PART
};

static SYSTEM: Declared = Declared {
    name: "cpu.system",
    title: "CPU time of the workload, system",
    explained: "Kernel-mode CPU time of the workload process, as reported by getrusage. This time includes the \
        filesystem code that the workload's system calls run.",
    ..PART
};

static REST: Declared = Declared {
    name: "cpu.rest",
    title: "CPU time (machine less workload)",
    over: Over::WorkAndSync,
    explained: "CPU time of the whole machine minus the CPU time of the workload and the filesystem's daemons. This \
                difference is the CPU time of kernel threads (journal, writeback, compression), the sync and all \
                other processes. The error is up to 20 ms; smaller values are not reported. The validity check \
                `interference` reports the share of other processes.",
    ..PART
};

impl Probe for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn description(&self) -> Description {
        Description {
            what: "CPU time of the whole machine and of the filesystem's daemons, from the start of the work to the end of the sync.",
            origin: "/proc/stat and /proc/PID/stat, in units of 10 ms; /proc/PID/schedstat of kernel \
                     threads, in nanoseconds. CPU time of the machine is the non-idle time of all CPUs. User \
                     and system time of /proc/stat are sampled, so tasks that run for less than a tick are \
                     mostly missed.",
            limits: "CPU time of the machine includes all processes, and kernel threads work for all \
                     processes. A process that starts and ends between two readings is missed. A kernel \
                     without NO_HZ also samples idle time. The workload's own CPU time comes from getrusage \
                     and is stored in the trial's record, under the step `work`.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&SHARE, &TIME, &USER, &SYSTEM, &SERVED, &MACHINE, &REST]
    }

    fn metrics(&self, raw: &Raw, work: &Work<'_>) -> Vec<Metric> {
        let own = sum([work.step.user_ns, work.step.sys_ns, *raw.get("daemons_ns").unwrap_or(&0)]);
        let share = 100.0 * own as f64 / work.step.ns.max(1) as f64;
        let mut metrics = vec![SHARE.metric(share), TIME.metric(own as f64 / 1e9)];
        metrics.push(USER.metric(work.step.user_ns as f64 / 1e9));
        metrics.push(SYSTEM.metric(work.step.sys_ns as f64 / 1e9));
        metrics.extend(served_ns(raw, work).map(|served| SERVED.metric(served as f64 / 1e9)));
        let told = machine_ns(raw).filter(|machine| *machine >= own.max(MACHINE_RESOLUTION_NS));
        if let Some(machine) = told {
            metrics.push(MACHINE.metric(machine as f64 / 1e9));
            let rest = Some(machine - own).filter(|rest| *rest >= MACHINE_RESOLUTION_NS);
            metrics.extend(rest.map(|rest| REST.metric(rest as f64 / 1e9)));
        }
        metrics
    }

    fn open(&self, _site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let daemons = daemons();
        let before = read(tick_ns, &daemons).ok_or_else(|| NotAvailable("no /proc/stat".into()))?;
        Ok(Box::new(Open { tick_ns, daemons, before, threads: kernel_threads() }))
    }
}

/// CPU time of the whole machine. Older records, made before idle time was counted, have only sampled time.
pub fn machine_ns(raw: &Raw) -> Option<u64> {
    let counter = |name: &str| raw.get(name).copied();
    match counter("machine_cpus_ns") {
        Some(cpus) => Some(
            cpus.saturating_sub(counter("machine_idle_ns")?.saturating_add(counter("machine_iowait_ns")?)),
        ),
        None => Some(counter("machine_user_ns")?.saturating_add(counter("machine_sys_ns")?)),
    }
}

/// Upper bound of the idle time of all CPUs: the counted time plus its error of two ticks. `None` for older records, made
/// before idle time was counted.
pub fn idle_ns_most(raw: &Raw) -> Option<u64> {
    let counter = |name: &str| raw.get(name).copied();
    counter("machine_cpus_ns")?;
    let counted = counter("machine_idle_ns")?.saturating_add(counter("machine_iowait_ns")?);
    Some(counted.saturating_add(MACHINE_RESOLUTION_NS))
}

/// Flag in /proc/PID/stat: include/linux/sched.h.
const PF_KTHREAD: u32 = 0x0020_0000;

/// CPU time of workload, sync, daemons and kernel threads; `None` if kernel threads were not counted, or if the daemons' time
/// is too coarse.
fn served_ns(raw: &Raw, work: &Work<'_>) -> Option<u64> {
    let threads = *raw.get("kernel_threads_ns")?;
    let daemons = raw.get("daemons_ns").copied().unwrap_or(0);
    let is_told = daemons == 0 || daemons >= DAEMONS_AT_LEAST_NS;
    let served = sum([work.step.user_ns, work.step.sys_ns, work.sync_ns, daemons, threads]);
    (is_told && served > 0).then_some(served)
}

struct Open {
    tick_ns: u64,
    daemons: Vec<Process>,
    before: Reading,
    /// CPU time of each kernel thread in nanoseconds; `None` if the kernel does not report it.
    threads: Option<BTreeMap<i32, u64>>,
}

impl Running for Open {
    fn start(&mut self) {
        if let Some(now) = read(self.tick_ns, &self.daemons) {
            self.before = now;
        }
        // Only known threads are read again, so that as little as possible runs between this reading and the workload.
        for (pid, ns) in self.threads.iter_mut().flatten() {
            *ns = Process::new(*pid)
                .and_then(|thread| thread.schedstat())
                .map_or(*ns, |now| now.sum_exec_runtime);
        }
    }

    fn stop(&mut self) -> Raw {
        let Some(now) = read(self.tick_ns, &self.daemons) else { return Raw::new() };
        let threads = self.threads.as_ref().and_then(|before| Some(spent(before, &kernel_threads()?)));
        let since = now.into_iter().zip(self.before.iter());
        since
            .map(|((name, now), (_, before))| (name.to_owned(), now.saturating_sub(*before)))
            .chain(threads.map(|ns| ("kernel_threads_ns".to_owned(), ns)))
            .collect()
    }
}

/// CPU time of each kernel thread in nanoseconds; `None` if the kernel does not report it. The time of a thread that ended in
/// between is lost; idle kernel workers live for five minutes.
fn kernel_threads() -> Option<BTreeMap<i32, u64>> {
    let is_kernels = |process: &Process| process.stat().is_ok_and(|stat| stat.flags & PF_KTHREAD != 0);
    let threads = all_processes().ok()?.filter_map(Result::ok).filter(is_kernels);
    let all: BTreeMap<i32, u64> =
        threads.filter_map(|thread| Some((thread.pid, thread.schedstat().ok()?.sum_exec_runtime))).collect();
    (!all.is_empty()).then_some(all)
}

/// CPU time of threads between two readings; threads that began in between count with all their time.
fn spent(before: &BTreeMap<i32, u64>, now: &BTreeMap<i32, u64>) -> u64 {
    sum(now.iter().map(|(pid, ns)| ns.saturating_sub(before.get(pid).copied().unwrap_or(0))))
}

type Reading = [(&'static str, u64); 7];

/// Processes that the agent inherited: daemons of FUSE filesystems, and the waiting worker, whose time is counted separately.
fn daemons() -> Vec<Process> {
    let is_worker =
        |process: &Process| process.cmdline().is_ok_and(|words| words.iter().any(|word| word == "worker"));
    let children = host::children().into_iter().filter_map(|pid| Process::new(pid).ok());
    children.filter(|process| !is_worker(process)).collect()
}

fn read(tick_ns: u64, daemons: &[Process]) -> Option<Reading> {
    let stat = KernelStats::current().ok()?;
    let now_ns = host::monotonic_ns();
    let all = &stat.total;
    let [iowait, irq, softirq, steal] =
        [all.iowait, all.irq, all.softirq, all.steal].map(Option::unwrap_or_default);
    let of_daemons = daemons.iter().filter_map(|process| process.stat().ok()).map(|s| s.utime + s.stime);
    Some([
        ("machine_cpus_ns", stat.cpu_time.len() as u64 * now_ns),
        ("machine_idle_ns", all.idle * tick_ns),
        ("machine_user_ns", (all.user + all.nice) * tick_ns),
        ("machine_sys_ns", (all.system + irq + softirq) * tick_ns),
        ("machine_iowait_ns", iowait * tick_ns),
        ("machine_steal_ns", steal * tick_ns),
        ("daemons_ns", of_daemons.sum::<u64>() * tick_ns),
    ])
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use fsderby_sys::process::own_usage;

    use crate::schema::event::Stepped;

    use super::super::Devices;
    use super::*;

    fn raw(counters: &[(&str, u64)]) -> Raw {
        counters.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect()
    }

    #[test]
    fn the_machines_time_is_what_its_cpus_were_not_idle() {
        let sampled = [("machine_user_ns", 30), ("machine_sys_ns", 40), ("machine_iowait_ns", 50)];
        let counted = [("machine_cpus_ns", 1000), ("machine_idle_ns", 600)];
        assert_eq!(machine_ns(&raw(&[sampled.as_slice(), &counted].concat())), Some(350));
        assert_eq!(machine_ns(&raw(&sampled)), Some(70), "as records of before it was counted have it");
        assert_eq!(machine_ns(&Raw::new()), None);
        let idle = idle_ns_most(&raw(&[sampled.as_slice(), &counted].concat()));
        assert_eq!(idle, Some(650 + 2 * TICK_NS));
        assert_eq!(idle_ns_most(&raw(&sampled)), None);
    }

    fn told(counters: &[(&str, u64)], work_ns: u64) -> Vec<String> {
        let step =
            Stepped { ns: 50_000_000, user_ns: work_ns / 4, sys_ns: work_ns * 3 / 4, ..Stepped::default() };
        let work = Work { step: &step, phases: &[], sync_ns: 1_000_000 };
        let all = Cpu.metrics(&raw(counters), &work);
        let last = all
            .iter()
            .filter(|metric| !["cpu.share", "cpu.time", "cpu.user", "cpu.system"].contains(&&*metric.name));
        last.map(|metric| format!("{} {:.3}", metric.name, metric.value)).collect()
    }

    #[test]
    fn what_is_below_the_resolution_of_its_clock_is_not_told() {
        let threads = ("kernel_threads_ns", 4_000_000);
        let machine = |busy: u64| {
            [
                ("machine_cpus_ns", 1_000_000_000),
                ("machine_idle_ns", 1_000_000_000 - busy),
                ("machine_iowait_ns", 0),
            ]
        };
        let both = |busy: u64| [machine(busy).as_slice(), &[threads]].concat();
        // 12 ms of short work, of which a machine's clock of ticks saw nothing, one tick, or more than there was.
        assert_eq!(told(&both(0), 12_000_000), ["cpu.work 0.017"]);
        assert_eq!(told(&both(10_000_000), 12_000_000), ["cpu.work 0.017"]);
        assert_eq!(told(&both(20_000_000), 12_000_000), ["cpu.work 0.017", "cpu.machine 0.020"]);
        assert_eq!(told(&both(30_000_000), 40_000_000), ["cpu.work 0.045"], "less than the work alone took");
        assert_eq!(
            told(&both(900_000_000), 800_000_000),
            ["cpu.work 0.805", "cpu.machine 0.900", "cpu.rest 0.100"]
        );
        assert_eq!(told(&machine(30_000_000), 12_000_000), ["cpu.machine 0.030"], "older records");
        let daemons = |ns: u64| told(&[threads, ("daemons_ns", ns)], 12_000_000);
        assert_eq!(daemons(90_000_000), Vec::<String>::new());
        assert_eq!(daemons(100_000_000), ["cpu.work 0.117"]);
    }

    #[test]
    fn threads_that_began_meanwhile_count_with_all_their_time_and_others_with_what_they_ran_since() {
        let before = BTreeMap::from([(2, 100), (7, 50)]);
        assert_eq!(spent(&before, &BTreeMap::from([(2, 130), (9, 5)])), 35);
    }

    /// In bursts far shorter than a tick, which samples see by chance.
    #[test]
    fn no_process_takes_more_than_the_machine() {
        let devices = Devices::default();
        let mut running = Cpu.open(&Site::new(&devices)).expect("Linux has /proc/stat");
        running.start();
        let (before, begin) = (own_usage(), Instant::now());
        while begin.elapsed() < Duration::from_millis(500) {
            let burst = Instant::now();
            while burst.elapsed() < Duration::from_micros(300) {}
            std::thread::sleep(Duration::from_micros(300));
        }
        let used = own_usage().since(before);
        let raw = running.stop();
        let machine = machine_ns(&raw).expect("it is counted");
        // Idle time and waiting are each rounded to 10 ms.
        assert!(used.user_ns + used.sys_ns <= machine + 20_000_000, "{used:?} of {raw:?}");
        assert!(machine <= raw["machine_cpus_ns"], "{raw:?}");
    }
}
