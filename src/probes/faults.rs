//! Page faults of the whole machine.

use std::fs;

use super::{Counter, NotAvailable, Probe, Raw, Running, Site, Work};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::metric::Metric;

pub struct Faults;

static COUNTERS: [Counter; 2] = [Counter::difference("machine_minor"), Counter::difference("machine_major")];

const FAULTS: Declared =
    Declared { section: Section::Processor, over: Over::Work, drawn: false, ..Declared::count("faults") };

static MINOR: Declared = Declared {
    name: "faults.minor",
    title: "minor page faults",
    explained: "Page faults of the workload process that needed no I/O (counted by getrusage).",
    ..FAULTS
};

static MAJOR: Declared = Declared {
    name: "faults.major",
    title: "major page faults",
    explained: "Page faults of the workload process that read from a device (counted by getrusage). The system \
        calls read and write cause no major page faults.",
    ..FAULTS
};

impl Probe for Faults {
    fn name(&self) -> &'static str {
        "faults"
    }

    fn description(&self) -> Description {
        Description {
            what: "Page faults of the whole machine, and how many of them read from a device.",
            origin: "/proc/vmstat: pgfault and pgmajfault.",
            limits: "Page faults of all processes are counted; those of the workload alone are stored in the trial's \
                     record, under the step `work`. read and write calls cause no major faults, so page faults say \
                     little about file I/O.",
        }
    }

    fn counters(&self) -> &'static [Counter] {
        &COUNTERS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        vec![&MINOR, &MAJOR]
    }

    fn metrics(&self, _raw: &Raw, work: &Work<'_>) -> Vec<Metric> {
        vec![MINOR.metric(work.step.minflt as f64), MAJOR.metric(work.step.majflt as f64)]
    }

    fn open(&self, _site: &Site<'_>) -> Result<Box<dyn Running>, NotAvailable> {
        let before = read().ok_or_else(|| NotAvailable("no /proc/vmstat".into()))?;
        Ok(Box::new(Open(before)))
    }
}

struct Open([u64; 2]);

impl Running for Open {
    fn start(&mut self) {
        self.0 = read().unwrap_or(self.0);
    }

    fn stop(&mut self) -> Raw {
        let [all, major] = read().unwrap_or(self.0);
        let minor = (all - major).saturating_sub(self.0[0] - self.0[1]);
        [("machine_minor".to_owned(), minor), ("machine_major".to_owned(), major.saturating_sub(self.0[1]))]
            .into()
    }
}

/// Reads two of about two hundred lines. `procfs` would build a map of all lines, which takes 1.5 times as long and fifty times
/// the allocations.
fn read() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    let value = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.trim().parse().ok());
    Some([value("pgfault ")?, value("pgmajfault ")?])
}
