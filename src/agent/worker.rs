//! The process that does the work: our own binary in a hidden role, so that running out of memory or a crash ends the
//! trial and not the agent.
//!
//! It reads its orders, prepares, says `ready`, waits for `go`, works, and then says what it did, and before that `over` where the
//! power goes with the last operation. Between `go` and the end of the work it writes nothing but the workload's own files.

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use anyhow::Context;
use fsderby_sys::process::{die_with_parent, own_usage};
use fsderby_sys::sandbox::renounce;
use fsderby_sys::shared::SharedProgress;
use serde::{Deserialize, Serialize};

use super::monotonic_ns;
use crate::schema::event::{Buckets, Phase, Stepped};
use crate::schema::job::{StepName, WorkJob};
use crate::schema::setup::Identity;
use crate::schema::work::LiveFile;
use crate::workloads::{self, Clock, Histogram, Log, OpError, Progress};

/// What the worker is told, one line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    pub work: WorkJob,
    /// Who it becomes, without any rights of root's; `None` where it stays who it is.
    pub identity: Option<Identity>,
    /// What it is confined to beside its working folder.
    pub root: Option<PathBuf>,
    /// The counters that agent and worker share.
    pub progress: PathBuf,
    /// Whether it says at once that its last operation is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub says_over: bool,
}

/// What it says after `ready` and the work, one line.
#[derive(Debug, Serialize, Deserialize)]
pub enum Told {
    Done { cost: Stepped, phases: Vec<Phase>, histograms: Vec<Buckets>, live: Vec<LiveFile> },
    Failed { operation: String, path: String, errno: i32, text: String },
}

/// The first word of a worker that can start.
pub const READY: &str = "ready";
/// What it then waits for.
pub const GO: &str = "go";
/// What it says before it reckons.
pub const OVER: &str = "over";

/// The hidden role `worker`; standard input and output are the agent's.
pub fn main() -> anyhow::Result<u8> {
    die_with_parent()?;
    let mut lines = io::stdin().lock().lines();
    let orders = lines.next().context("the agent gave no orders")??;
    let orders: Orders = serde_json::from_str(&orders).context("could not understand the orders")?;
    let progress = OpenOptions::new().read(true).write(true).open(&orders.progress);
    let progress = progress.and_then(SharedProgress::inherited).context("could not share progress")?;
    give_up_rights(&orders).context("could not give up the rights of root")?;
    let WorkJob { work, seed, portion, .. } = &orders.work;
    let engine = workloads::engine(&work.engine).context("this build has no such workload")?;
    let work = engine.parse(&work.parameters).map_err(anyhow::Error::msg)?;
    let mut ready = work.prepare(*seed, portion).map_err(anyhow::Error::msg)?;
    println!("{READY}");
    anyhow::ensure!(
        lines.next().context("the agent never said go")?? == GO,
        "the agent said something else than go"
    );
    let says_over = orders.says_over;
    let mut log = Notes { progress: &progress, phases: Vec::new(), histograms: Vec::new(), says_over };
    let (before, begin) = (own_usage(), monotonic_ns());
    let outcome = ready.run(&Monotonic, &mut log);
    // An engine that has not said so has reckoned nothing yet that would take long.
    log.finished();
    let (end, used) = (monotonic_ns(), own_usage().since(before));
    let told = match outcome {
        Err(e) => failed(&e),
        Ok(()) => Told::Done {
            cost: Stepped {
                step: StepName::Work,
                ns: end - begin,
                user_ns: used.user_ns,
                sys_ns: used.sys_ns,
                minflt: used.minflt,
                majflt: used.majflt,
                status: 0,
                work: None,
            },
            phases: log.phases,
            histograms: log.histograms,
            live: if portion.keep_files { ready.live() } else { Vec::new() },
        },
    };
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &told)?;
    writeln!(out)?;
    Ok(0)
}

fn give_up_rights(orders: &Orders) -> io::Result<()> {
    if let Some(root) = &orders.root {
        // The working folder lies in it and stays.
        rustix::process::chroot(root)?;
    }
    orders.identity.map_or(Ok(()), |Identity { uid, gid }| renounce(uid, gid))
}

fn failed(error: &OpError) -> Told {
    Told::Failed {
        operation: error.operation.to_owned(),
        path: error.path.display().to_string(),
        errno: error.error.raw_os_error().unwrap_or(0),
        text: error.error.to_string(),
    }
}

struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }
}

struct Notes<'a> {
    progress: &'a Progress,
    phases: Vec<Phase>,
    histograms: Vec<Buckets>,
    says_over: bool,
}

impl Log for Notes<'_> {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(phase);
    }

    fn histogram(&mut self, phase: &'static str, operation: &'static str, latencies: &Histogram) {
        let buckets =
            latencies.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
        let (phase, operation, unit) = (phase.to_owned(), operation.to_owned(), "ns".to_owned());
        self.histograms.push(Buckets { phase, operation, unit, buckets });
    }

    fn progress(&self) -> &Progress {
        self.progress
    }

    fn finished(&mut self) {
        if std::mem::take(&mut self.says_over) {
            // Standard output writes whole lines at once. Who does not hear it has ended, and then so do we.
            println!("{OVER}");
        }
    }
}
