//! The process that does the work, alone or as one of several clients: our binary in a hidden role, so that a crash or running
//! out of memory ends the trial and not the agent.
//!
//! A worker reads its orders, prepares, reports `ready`, waits for the gate to open for all, works, and reports its result; before that
//! `over`, if the power is cut after its last operation. Between the gate and the end of the work the worker writes only the workload's
//! files; no worker reports while another still works.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fsderby_sys::gate::SharedGate;
use fsderby_sys::process::{children_usage, die_with_parent, own_usage};
use fsderby_sys::sandbox::{confine, renounce};
use fsderby_sys::shared::SharedProgress;
use serde::{Deserialize, Serialize};

use super::monotonic_ns;
use crate::schema::event::{Buckets, ClientPhase, Phase, Stepped, Switches};
use crate::schema::job::{StepName, WorkJob};
use crate::schema::reason::Blame;
use crate::schema::setup::Identity;
use crate::schema::work::LiveFile;
use crate::workloads::{self, Cause, Clock, Histogram, Log, OpError, Progress};

/// A worker's orders, one line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    pub work: WorkJob,
    /// The identity that the worker takes, without root's rights; `None` to keep its own identity.
    pub identity: Option<Identity>,
    /// The root directory to which the worker is confined, in addition to its working folder.
    pub root: Option<PathBuf>,
    /// The progress counters shared with the agent.
    pub progress: PathBuf,
    /// The seed of this worker among all clients.
    pub seed: u64,
    /// The gate of all clients.
    pub gate: PathBuf,
    /// Whether the worker reports its last operation at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub says_over: bool,
    /// The mount point of the disk from which the work copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
}

/// The worker's report at the end of its work, one line.
#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerReport {
    Done {
        began_ns: u64,
        ended_ns: u64,
        cost: Stepped,
        phases: Vec<ClientPhase>,
        histograms: Vec<Buckets>,
        live: Vec<LiveFile>,
    },
    Failed {
        operation: String,
        path: String,
        errno: i32,
        text: String,
        blame: Blame,
    },
}

/// The first output of a worker that can start.
pub const READY: &str = "ready";
/// The worker's output after its last operation, before the final computations.
pub const OVER: &str = "over";

/// The hidden role `worker`; standard input and output are the agent's.
pub fn main() -> anyhow::Result<u8> {
    die_with_parent()?;
    let mut lines = io::stdin().lock().lines();
    let orders = lines.next().context("the agent sent no orders")??;
    let orders: Orders = serde_json::from_str(&orders).context("could not parse the orders")?;
    let shared = |path: &PathBuf| OpenOptions::new().read(true).write(true).open(path);
    let progress = shared(&orders.progress).and_then(SharedProgress::inherited);
    let progress = progress.context("could not share progress")?;
    let gate = shared(&orders.gate).and_then(SharedGate::inherited).context("could not share the gate")?;
    let schedule = Schedule::open();
    let source = orders
        .source
        .as_ref()
        .map(File::open)
        .transpose()
        .context("could not open the second disk of the workload")?;
    give_up_rights(&orders).context("could not drop root privileges")?;
    let WorkJob { work, portion, .. } = &orders.work;
    let engine =
        workloads::engine(&work.engine).context("this build of fsderby does not have this workload")?;
    let work = engine.parse(&work.parameters).map_err(anyhow::Error::msg)?;
    if work.needs().programs && orders.root.is_none() {
        confine_programs().context("could not confine the programs")?;
    }
    let mut ready = work.prepare(orders.seed, portion).map_err(anyhow::Error::msg)?;
    if let Some(source) = source {
        ready.take_source(source.into());
    }
    println!("{READY}");
    let clock = Monotonic::default();
    let says_over = orders.says_over;
    let (phases, histograms) = (Vec::new(), Vec::new());
    let mut log = Notes { progress: &progress, clock: &clock, phases, histograms, says_over };
    gate.pass().context("could not wait for the other clients")?;
    let waited_ns = schedule.waited_ns();
    // Programs that a work starts are part of it.
    let all_usage = || own_usage().plus(children_usage());
    let (before, began_ns) = (all_usage(), monotonic_ns());
    let outcome = ready.run(&clock, &mut log);
    // An engine that has not reported it has not yet begun a long computation.
    log.finished();
    let (ended_ns, used) = (monotonic_ns(), all_usage().since(before));
    let waited_ns = waited_ns.zip(schedule.waited_ns()).map(|(was, is)| is.saturating_sub(was));
    let Notes { phases, histograms, .. } = log;
    let told = match outcome {
        Err(e) => failed(&e),
        Ok(()) => {
            // A client's report takes CPU time, which must not disturb a client that still works.
            gate.leave_with(orders.work.clients).context("could not wait for the other clients")?;
            WorkerReport::Done {
                began_ns,
                ended_ns,
                cost: Stepped {
                    step: StepName::Work,
                    ns: ended_ns - began_ns,
                    user_ns: used.user_ns,
                    sys_ns: used.sys_ns,
                    minflt: used.minflt,
                    majflt: used.majflt,
                    status: 0,
                    work: None,
                    switches: Some(Switches { voluntary: used.voluntary, involuntary: used.involuntary }),
                    waited_ns,
                },
                phases,
                histograms,
                live: if portion.keep_files { ready.live() } else { Vec::new() },
            }
        }
    };
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &told)?;
    writeln!(out)?;
    Ok(0)
}

fn give_up_rights(orders: &Orders) -> io::Result<()> {
    if let Some(root) = &orders.root {
        // The working folder is within it and stays.
        rustix::process::chroot(root)?;
    }
    orders.identity.map_or(Ok(()), |Identity { uid, gid }| renounce(uid, gid))
}

/// Programs write into the filesystem under test and into memory alone. In a sandbox that is so already, without Landlock's cost.
pub(super) fn confine_programs() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let all = [".", "/tmp", "/dev"].map(Path::new);
    let there: Vec<&Path> = all.into_iter().filter(|folder| folder.is_dir()).collect();
    confine(&there)
}

/// The scheduler's statistics of this process, opened while its /proc is accessible (`Documentation/scheduler/sched-stats.rst`).
struct Schedule(Option<File>);

impl Schedule {
    fn open() -> Self {
        Schedule(File::open("/proc/self/schedstat").ok())
    }

    /// Time spent runnable but waiting for a CPU, so far: the second of three numbers.
    fn waited_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let n = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = str::from_utf8(&text[..n]).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    }
}

fn failed(error: &OpError) -> WorkerReport {
    WorkerReport::Failed {
        operation: error.operation.to_owned(),
        path: error.path.display().to_string(),
        errno: error.cause.errno().unwrap_or(0),
        text: error.cause.to_string(),
        blame: if matches!(error.cause, Cause::Differs(_)) { Blame::Content } else { Blame::Filesystem },
    }
}

/// A clock that keeps its last reading, because a phase ends at that reading.
#[derive(Default)]
struct Monotonic {
    last_ns: Cell<u64>,
}

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        let now = monotonic_ns();
        self.last_ns.set(now);
        now
    }
}

struct Notes<'a> {
    progress: &'a Progress,
    clock: &'a Monotonic,
    phases: Vec<ClientPhase>,
    histograms: Vec<Buckets>,
    says_over: bool,
}

impl Log for Notes<'_> {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(ClientPhase { ended_ns: self.clock.last_ns.get(), phase });
    }

    fn histogram(&mut self, phase: &'static str, operation: &str, latencies: &Histogram) {
        let buckets =
            latencies.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
        let (phase, operation, unit) = (phase.to_owned(), operation.to_owned(), "ns".to_owned());
        self.histograms.push(Buckets { of: None, phase, operation, unit, buckets });
    }

    fn progress(&self) -> &Progress {
        self.progress
    }

    fn finished(&mut self) {
        if std::mem::take(&mut self.says_over) {
            // Standard output writes whole lines at once. If the reader has ended, so will we.
            println!("{OVER}");
        }
    }
}
