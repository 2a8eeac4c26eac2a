//! Context switches of the workload and of the whole machine, and the workload's waiting time for a CPU.

use procfs::{CurrentSI, KernelStats};

use super::{Counter, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::metric::Metric;

pub struct Scheduling;

static COUNTERS: [Counter; 1] = [Counter::difference("machine_switches")];

const SWITCHES: Declared = Declared {
    section: Section::Processor,
    over: Over::Work,
    drawn: false,
    ..Declared::count("context switches")
};

static VOLUNTARY: Declared = Declared {
    name: "scheduling.voluntary",
    title: "voluntary context switches",
    explained: "How often the workload process gave up its CPU to wait for the device, a lock or a daemon (counted \
        by getrusage).",
    ..SWITCHES
};

static INVOLUNTARY: Declared = Declared {
    name: "scheduling.involuntary",
    title: "involuntary context switches",
    explained: "How often the workload process lost its CPU although it could have continued (counted by \
                getrusage).",
    ..SWITCHES
};

static MACHINE: Declared = Declared {
    name: "scheduling.machine",
    title: "context switches (whole machine)",
    over: Over::WorkAndSync,
    explained: "Context switches on all CPUs of the machine, including kernel threads, daemons and other \
        processes.",
    ..SWITCHES
};

static WAITED: Declared = Declared {
    name: "scheduling.waited",
    title: "waiting for a CPU",
    section: Section::Processor,
    over: Over::Work,
    explained: "How long the workload process was ready to run, but waited for a busy CPU.",
    drawn: false,
    ..Declared::SECONDS
};

impl Probe for Scheduling {
    fn name(&self) -> &'static str {
        "scheduling"
    }

    fn description(&self) -> Description {
        Description {
            what: "Context switches of the workload and of the whole machine, and how long the workload waited \
                for a CPU.",
            origin: "getrusage, called by the worker before and after the workload; the second number of the worker's \
                     /proc/self/schedstat; ctxt of /proc/stat.",
            limits: "Values of the whole machine include all processes. A kernel without SCHED_INFO does not \
                report waiting time. A reading takes 13 µs.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&VOLUNTARY, &INVOLUNTARY, &MACHINE, &WAITED]
    }

    fn metrics(&self, raw: &Raw, work: &Work<'_>) -> Vec<Metric> {
        let own = work
            .step
            .switches
            .map(|own| [VOLUNTARY.metric(own.voluntary as f64), INVOLUNTARY.metric(own.involuntary as f64)]);
        let machine = raw.get("machine_switches").map(|count| MACHINE.metric(*count as f64));
        let waited = work.step.waited_ns.map(|ns| WAITED.metric(ns as f64 / 1e9));
        own.into_iter().flatten().chain(machine).chain(waited).collect()
    }

    fn open(&self, _site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let before = read().ok_or_else(|| NotAvailable("no /proc/stat".into()))?;
        Ok(Box::new(Open(before)))
    }
}

struct Open(u64);

impl Running for Open {
    fn start(&mut self) {
        self.0 = read().unwrap_or(self.0);
    }

    fn stop(&mut self) -> Raw {
        [("machine_switches".to_owned(), read().unwrap_or(self.0).saturating_sub(self.0))].into()
    }
}

fn read() -> Option<u64> {
    KernelStats::current().ok().map(|stats| stats.ctxt)
}
