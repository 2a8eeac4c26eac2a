//! From a launch's events to a record. Pure: whatever testbed the events came from, they fold the same way.

use std::collections::BTreeMap;
use std::time::Duration;

use super::jobs::Trial;
use crate::agent::protocol::{Buckets, COLD_START, Event, Job, Purpose, Step, Stepped};
use crate::analysis::metrics;
use crate::analysis::validity::{self, Witness};
use crate::probes::{self, Raw};
use crate::store::Attached;
use crate::store::record::{
    Circumstances, ClockKind, Fidelity, Held, Outcome, Part, Record, SCHEMA, ValidityCheck,
};
use crate::testbeds::{Ended, Stamped, TestbedTraits};
use crate::workloads;

/// A trial whose events are still coming.
pub struct Fold<'a> {
    job: &'a Job,
    record: Record,
    histograms: Vec<Buckets>,
    cold: Option<Raw>,
    /// What a request costs where the disk is modelled.
    floor: Option<Raw>,
    cold_start: Option<Raw>,
    /// The part of the work that is not over.
    part: Part,
    direct: Option<bool>,
    /// The step that has begun and not ended.
    step: Option<String>,
    work_began_ns: Option<u64>,
    /// For each event with a clock: the host's at its arrival minus the agent's, in nanoseconds.
    offsets_ns: Vec<i64>,
    /// Of machines that ran before this one, in the same launch.
    drift_before_ns: i64,
    done: bool,
    void: Option<String>,
    failed: Option<String>,
}

/// A finished trial: its record, without the line before it, and what is stored beside it.
#[derive(Clone, Debug)]
pub struct Folded {
    pub record: Record,
    pub attached: Attached,
}

impl<'a> Fold<'a> {
    pub fn new(trial: &Trial<'_>, job: &'a Job, testbed: String, traits: TestbedTraits) -> Self {
        let mut record = blank(trial, job, testbed, traits);
        if let Some(engine) = workloads::engine(&job.work.engine)
            && let Ok(work) = engine.parse(&job.work.parameters)
        {
            record.amount = work.amount(job.workload_seed);
        }
        Fold {
            job,
            record,
            histograms: Vec::new(),
            cold: None,
            floor: None,
            cold_start: None,
            part: Part::default(),
            direct: None,
            step: None,
            work_began_ns: None,
            offsets_ns: Vec::new(),
            drift_before_ns: 0,
            done: false,
            void: None,
            failed: None,
        }
    }

    pub fn event(&mut self, stamped: Stamped) {
        let Stamped { host_ns, event } = stamped;
        match event {
            Event::Hello { clock_ns, .. } | Event::Trial { clock_ns, .. } | Event::Tick { clock_ns, .. } => {
                self.clock(clock_ns, host_ns);
            }
            Event::Step { step, clock_ns } => {
                self.clock(clock_ns, host_ns);
                self.window(&step, clock_ns);
                self.step = Some(step);
            }
            Event::Stepped(stepped) => {
                self.step = None;
                if stepped.step == Step::ProbesOff.name() {
                    self.record.parts.push(std::mem::take(&mut self.part));
                }
                self.record.steps.push(stepped);
            }
            Event::Device { direct, .. } => self.direct = Some(direct),
            Event::Mounted(mounted) => self.record.mounted = Some(mounted),
            Event::Space(space) => self.record.space.push(space),
            Event::Phase(phase) => {
                self.part.phases.push(phase.name.clone());
                self.record.phases.push(phase);
            }
            Event::Histogram(buckets) => self.histograms.push(buckets),
            Event::Probe { name, raw } => {
                probes::add(&name, self.record.probes.entry(name.clone()).or_default(), &raw);
                self.part.probes.insert(name, raw);
            }
            Event::NotAvailable { name, reason } => {
                self.record.not_available.insert(name, reason);
            }
            Event::Seen { check, raw } if check == "floor" => self.floor = Some(raw),
            Event::Seen { check, raw } if check == COLD_START => self.cold_start = Some(raw),
            Event::Seen { raw, .. } => self.cold = Some(raw),
            Event::Tree(tree) => self.record.trees.push(tree),
            Event::PowerCut { work, phases, clock_ns } => {
                self.clock(clock_ns, host_ns);
                self.clock_ends();
                self.step = None;
                self.record.steps.push(Stepped { step: "work".into(), ..work });
                self.record.phases = phases;
            }
            Event::Survivors(survivors) => self.record.survivors = Some(survivors),
            Event::Failed { step, operation, path, text, .. } => {
                self.failed = Some(format!("{step}: {operation} of {path} failed: {text}"));
            }
            Event::Done { clock_ns, .. } => {
                self.clock(clock_ns, host_ns);
                self.done = true;
            }
            Event::Bye { clock_ns, .. } => self.clock(clock_ns, host_ns),
        }
    }

    /// What the agent's machine was started from.
    pub fn launched(&mut self, provenance: BTreeMap<String, String>) {
        self.record.provenance = provenance;
    }

    /// The figures say nothing, for this reason.
    pub fn void(&mut self, reason: impl Into<String>) {
        self.void.get_or_insert(reason.into());
    }

    /// The trial has failed, for this reason.
    pub fn fail(&mut self, reason: String) {
        self.failed.get_or_insert(reason);
    }

    /// Whether the agent has carried out all of it.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether nothing more of it can come.
    pub fn is_over(&self) -> bool {
        self.done || self.failed.is_some()
    }

    /// The agent said nothing for so long that it must have hung.
    pub fn hung(&mut self, silence: Duration) {
        let during = self.step.as_deref().unwrap_or("the start");
        self.failed
            .get_or_insert(format!("{during}: nothing was heard from the agent for {} s", silence.as_secs()));
    }

    pub fn finish(mut self, ended: Ended, circumstances: Circumstances) -> Folded {
        self.record.circumstances = circumstances;
        self.clock_ends();
        if self.record.clock != ClockKind::Virtual {
            self.record.circumstances.clock_drift_ns = self.drift_before_ns;
        }
        let asked = self
            .job
            .steps
            .iter()
            .find_map(|s| if let Step::Mount { mount } = s { Some(mount) } else { None });
        if self.record.parts.len() < 2 {
            self.record.parts.clear();
        }
        let (cold, cold_start, floor) = (self.cold.as_ref(), self.cold_start.as_ref(), self.floor.as_ref());
        let witness = Witness { asked, cold, cold_start, floor, direct: self.direct };
        self.record.validity = validity::judge(&self.record, self.job, witness);
        if self.record.validity.iter().any(|c| c.name == validity::FLOOR && c.held == Held::Label) {
            self.record.fidelity = Fidelity::FloorBound;
        }
        (self.record.outcome, self.record.reason) = self.outcome(&ended);
        if let Some(engine) = workloads::engine(&self.job.work.engine)
            && let Ok(work) = engine.parse(&self.job.work.parameters)
        {
            self.record.metrics = metrics::all(&self.record, &*work);
            self.record.metrics_version = metrics::version(&*work);
        }
        let console = ended.console.iter().map(|line| format!("{line}\n")).collect();
        let attached = Attached { histograms: self.histograms, console, requests: ended.requests };
        Folded { record: self.record, attached }
    }

    /// The work begins with its step and ends, sync included, where the probes stop.
    fn window(&mut self, step: &str, clock_ns: u64) {
        match step {
            "work" => self.work_began_ns = Some(clock_ns),
            "probes-off" => self.record.work_window_ns = self.work_began_ns.map(|began| [began, clock_ns]),
            _ => {}
        }
    }

    fn clock(&mut self, agent_ns: u64, host_ns: u64) {
        self.offsets_ns.push(host_ns.cast_signed() - agent_ns.cast_signed());
    }

    /// A machine that starts again has a clock of its own. The one that ran worst stands for all.
    fn clock_ends(&mut self) {
        let drift = drift_ns(&std::mem::take(&mut self.offsets_ns));
        if drift.abs() > self.drift_before_ns.abs() {
            self.drift_before_ns = drift;
        }
    }

    fn outcome(&self, ended: &Ended) -> (Outcome, Option<String>) {
        let broken = self.record.validity.iter().find(|c| c.held == Held::No);
        match (&self.void, &self.failed, broken) {
            (Some(reason), _, _) => (Outcome::Void, Some(reason.clone())),
            (None, Some(reason), _) => (Outcome::Failed, Some(reason.clone())),
            (None, None, _) if !self.done => (Outcome::Failed, Some(self.lost(ended))),
            (None, None, Some(check)) => (broken_outcome(check), Some(sentence(check))),
            (None, None, None) => (Outcome::Done, None),
        }
    }

    fn lost(&self, ended: &Ended) -> String {
        let during = self.step.as_deref().map_or(String::new(), |s| format!(" during {s}"));
        let how = if ended.fault.is_empty() { "without a word" } else { &ended.fault };
        let console = ended.last_lines().join(" | ");
        format!("the agent ended{during}: {how}{}{console}", if console.is_empty() { "" } else { ": " })
    }
}

/// Data that is not what was written is the filesystem's failure; any other broken validity check says nothing about it.
fn broken_outcome(check: &ValidityCheck) -> Outcome {
    if validity::INTEGRITY.contains(&check.name.as_str()) { Outcome::Failed } else { Outcome::Void }
}

fn sentence(check: &ValidityCheck) -> String {
    format!("validity check {}: asked {}; seen {}", check.name, check.asked, check.seen)
}

/// How far the agent's clock ran ahead of the host's over the launch. An event may arrive late and never early, so the
/// least offset of the first and of the last third stand for the two clocks: a busy host does not look like a wrong one.
fn drift_ns(offsets_ns: &[i64]) -> i64 {
    let third = offsets_ns.len().div_ceil(3);
    let first = offsets_ns.iter().take(third).min();
    let last = offsets_ns.iter().rev().take(third).min();
    first.zip(last).map_or(0, |(first, last)| first - last)
}

/// A record of which nothing is known yet but what was planned.
pub fn blank(trial: &Trial<'_>, job: &Job, testbed: String, traits: TestbedTraits) -> Record {
    Record {
        schema: SCHEMA,
        trial: job.trial.clone(),
        attempt: job.attempt,
        purpose: trial.purpose,
        round: if trial.purpose == Purpose::Integrity { 0 } else { trial.round },
        order: trial.order,
        filesystem: trial.candidate.label.clone(),
        kind: trial.candidate.kind.clone(),
        variant: trial.candidate.variant.clone(),
        workload: trial.work.label.clone(),
        work: job.work.clone(),
        params_hash: job.work.hash(),
        amount: workloads::Amount::default(),
        testbed,
        device: job.device.clone(),
        size: job.size,
        memory: job.memory,
        workload_seed: job.workload_seed,
        provenance: BTreeMap::new(),
        clock: traits.clock,
        fidelity: traits.fidelity,
        outcome: Outcome::Skipped,
        reason: None,
        mounted: None,
        steps: Vec::new(),
        work_window_ns: None,
        space: Vec::new(),
        phases: Vec::new(),
        probes: BTreeMap::new(),
        parts: Vec::new(),
        not_available: BTreeMap::new(),
        validity: Vec::new(),
        trees: Vec::new(),
        survivors: None,
        histograms: Vec::new(),
        console: None,
        requests: None,
        metrics: Vec::new(),
        metrics_version: 0,
        circumstances: Circumstances::default(),
        previous: String::new(),
    }
}
