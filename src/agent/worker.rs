//! A process that does the work, alone or as one of several clients: our own binary in a hidden role, so that running out of
//! memory or a crash ends the trial and not the agent.
//!
//! It reads its orders, prepares, says `ready`, waits at the gate until it opens for all, works, and then says what it did.
//! Between the gate and the end of the work it writes nothing but the workload's own files; nobody says anything while another
//! still works.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use anyhow::Context;
use fsderby_sys::gate::SharedGate;
use fsderby_sys::process::{die_with_parent, own_usage};
use fsderby_sys::sandbox::renounce;
use fsderby_sys::shared::SharedProgress;
use serde::{Deserialize, Serialize};

use super::monotonic_ns;
use crate::schema::event::{Buckets, ClientPhase, Phase, Stepped};
use crate::schema::job::{StepName, Until, WorkSpec};
use crate::schema::setup::Identity;
use crate::schema::work::LiveFile;
use crate::workloads::{self, Clock, Histogram, Log, OpError, Progress};

/// What the worker is told, one line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Orders {
    pub work: WorkSpec,
    pub seed: u64,
    pub until: Until,
    /// Who it becomes, without any rights of root's; `None` where it stays who it is.
    pub identity: Option<Identity>,
    /// What it is confined to beside its working folder.
    pub root: Option<PathBuf>,
    /// The counters that agent and worker share.
    pub progress: PathBuf,
    /// Where all clients wait for each other, and how many they are.
    pub gate: PathBuf,
    pub clients: u32,
}

/// What it says after `ready` and the work, one line.
#[derive(Debug, Serialize, Deserialize)]
pub enum Told {
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
    },
}

/// The first word of a worker that can start.
pub const READY: &str = "ready";

/// The hidden role `worker`; standard input and output are the agent's.
pub fn main() -> anyhow::Result<u8> {
    die_with_parent()?;
    let mut lines = io::stdin().lock().lines();
    let orders = lines.next().context("the agent gave no orders")??;
    let orders: Orders = serde_json::from_str(&orders).context("could not understand the orders")?;
    let shared = |path: &PathBuf| OpenOptions::new().read(true).write(true).open(path);
    let progress = shared(&orders.progress).and_then(SharedProgress::inherited);
    let progress = progress.context("could not share progress")?;
    let gate = shared(&orders.gate).and_then(SharedGate::inherited).context("could not share the gate")?;
    give_up_rights(&orders).context("could not give up the rights of root")?;
    let engine = workloads::engine(&orders.work.engine).context("this build has no such workload")?;
    let work = engine.parse(&orders.work.parameters).map_err(anyhow::Error::msg)?;
    let mut ready = work.prepare(orders.seed, orders.until).map_err(anyhow::Error::msg)?;
    println!("{READY}");
    let clock = Monotonic::default();
    let mut log = Notes { progress: &progress, clock: &clock, phases: Vec::new(), histograms: Vec::new() };
    gate.pass().context("could not wait for the others")?;
    let (before, began_ns) = (own_usage(), monotonic_ns());
    let outcome = ready.run(&clock, &mut log);
    let (ended_ns, used) = (monotonic_ns(), own_usage().since(before));
    let Notes { phases, histograms, .. } = log;
    let told = match outcome {
        Err(e) => failed(&e),
        Ok(()) => {
            // What a client has to say takes CPU time, which must not be that of one who still works.
            gate.leave_with(orders.clients).context("could not wait for the others")?;
            Told::Done {
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
                },
                phases,
                histograms,
                live: if orders.until == Until::Live { ready.live() } else { Vec::new() },
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

/// Remembers its last reading, with which a phase ends.
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
}

impl Log for Notes<'_> {
    fn phase(&mut self, phase: Phase) {
        self.phases.push(ClientPhase { ended_ns: self.clock.last_ns.get(), phase });
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
}
