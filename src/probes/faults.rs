//! Page faults of the whole machine.

use std::fs;

use super::{NotAvailable, Probe, Raw, Running, Site};
use crate::story::Story;

pub struct Faults;

impl Probe for Faults {
    fn name(&self) -> &'static str {
        "faults"
    }

    fn story(&self) -> Story {
        Story {
            what: "Page faults of the whole machine, and how many of them had to read from a device.",
            origin: "/proc/vmstat: pgfault and pgmajfault.",
            limits: "Everybody's faults are counted; the workload's own stand in the work step. read and write raise no major faults, \
                     so they say little about file I/O.",
        }
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

fn read() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/vmstat").ok()?;
    let value = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.trim().parse().ok());
    Some([value("pgfault ")?, value("pgmajfault ")?])
}
