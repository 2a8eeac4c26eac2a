//! Late: PostMark's work, later by a known share of the time that it takes. It plants a difference of a known size.
//!
//! It is no part of the program. `tests/pure/noise/measure.py` puts it into a copy of the project, as `src/workloads/late.rs` with its
//! row, and measures with that; the tests compile this very file to see that it delays by what it says.
//!
//! Which candidate is late is not its own to know, so the filesystem says it: made with the UUID
//! `6c617465-0000-0000-0000-0000000000PP` ("late") it is late by PP percent, a hexadecimal number; with any other by nothing.

use std::cell::Cell;

use toml::Table;

use super::postmark::PostMark;
use super::{Amount, Clock, LiveFile, Log, Needs, OpError, ParamSet, Phase, Portion, Ready, Work, Workload};
use crate::schema::declared::Declared;
use crate::schema::description::Description;
use crate::schema::metric::Metric;
use crate::schema::units::Scale;

pub struct Late;

static SETS: &[ParamSet] = &[ParamSet {
    name: "late-quick",
    toml: r#"
story = "The mails of postmark-quick, some transactions more or fewer."
source = "Ours, to see how large a difference is found."

[parameters]
number = 800
transactions = 2500
size = [1000, 60000]
read_block = 4096
write_block = 4096
"#,
}];

impl Workload for Late {
    fn name(&self) -> &'static str {
        "late"
    }

    fn description(&self) -> Description {
        Description {
            what: "PostMark's work, later by a share of the time that it takes.",
            origin: "Made up, to see how large a difference is found.",
            limits: "It is late by burning CPU time between two operations.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        PostMark.declared()
    }

    fn timed(&self, phase: &str) -> &'static [(&'static str, &'static str)] {
        PostMark.timed(phase)
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(LateWork(PostMark.parse(parameters)?)))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        PostMark.scale(parameters, by)
    }
}

struct LateWork(Box<dyn Work>);

impl Work for LateWork {
    fn needs(&self) -> Needs {
        self.0.needs()
    }

    fn amount(&self, seed: u64) -> Amount {
        self.0.amount(seed)
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        Ok(Box::new(LateReady(self.0.prepare(seed, portion)?)))
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        self.0.metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        self.0.metrics_version()
    }
}

struct LateReady(Box<dyn Ready>);

impl Ready for LateReady {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let here = rustix::fs::statvfs(".").map_err(|e| OpError {
            operation: "statvfs",
            path: ".".into(),
            cause: std::io::Error::from(e).into(),
        })?;
        self.0.run(&LateClock::new(clock, share(here.f_fsid)), log)
    }

    fn live(&self) -> Vec<LiveFile> {
        self.0.live()
    }
}

/// ext4 gives the first eight bytes of its UUID XOR the last eight as the filesystem's ID (`fs/ext4/super.c`, `ext4_statfs`).
pub fn share(fsid: u64) -> f64 {
    const MARK: u64 = u64::from_le_bytes(*b"late\0\0\0\0");
    let percent = fsid >> 56;
    if fsid == MARK | percent << 56 { percent as f64 / 100.0 } else { 0.0 }
}

/// Is late whenever it is asked, until all its delays are that share of all other time. Time that is lost while it burns, because
/// somebody else has the CPU, counts as burnt: so the whole is later by just that share, however busy the machine.
pub struct LateClock<'c> {
    clock: &'c dyn Clock,
    share: f64,
    last_ns: Cell<u64>,
    worked_ns: Cell<u64>,
    burnt_ns: Cell<u64>,
}

impl<'c> LateClock<'c> {
    pub fn new(clock: &'c dyn Clock, share: f64) -> Self {
        let [worked_ns, burnt_ns] = [0, 0].map(Cell::new);
        LateClock { clock, share, last_ns: Cell::new(clock.now_ns()), worked_ns, burnt_ns }
    }
}

impl Clock for LateClock<'_> {
    fn now_ns(&self) -> u64 {
        let asked_ns = self.clock.now_ns();
        self.worked_ns.set(self.worked_ns.get() + asked_ns - self.last_ns.get());
        let due_ns = (self.share * self.worked_ns.get() as f64) as u64;
        let mut now_ns = asked_ns;
        while self.burnt_ns.get() + (now_ns - asked_ns) < due_ns {
            now_ns = self.clock.now_ns();
        }
        self.burnt_ns.set(self.burnt_ns.get() + (now_ns - asked_ns));
        self.last_ns.set(now_ns);
        now_ns
    }
}
