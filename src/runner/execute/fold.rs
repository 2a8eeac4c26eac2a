//! Turns a launch's events into a record. Pure, and the same for every testbed.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::analysis::metrics;
use crate::analysis::validity::{self, Witness};
use crate::probes;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::scenarios::LaidWork;
use crate::schema::candidate::setup_name;
use crate::schema::event::{Buckets, Event, Stepped};
use crate::schema::job::{Job, Purpose, Step, StepName};
use crate::schema::plan::Trial;
use crate::schema::reason::{Held, Loss, Outcome, Reason, ValidityCheck};
use crate::schema::record::{Circumstances, Record, RecordedWork, SCHEMA, StageRecord, Top};
use crate::schema::setup::ClockKind;
use crate::schema::shared::Keyed;
use crate::store::Attached;
use crate::testbeds::{Ended, Fault, Stamped, TestbedTraits};
use crate::workloads::{self, clients};

/// A trial in progress.
pub struct Fold<'a> {
    job: &'a Job,
    record: Record,
    histograms: Vec<Buckets>,
    /// Index of the job's step that may begin next.
    next: usize,
    /// The current work, from its probes' start to their end.
    work: Option<usize>,
    /// Time at which that work began, by the agent's clock.
    began_ns: Option<u64>,
    direct: Option<bool>,
    /// The release of the testbed's kernel, if it is not this machine's.
    kernel: Option<String>,
    /// The step in progress.
    step: Option<StepName>,
    /// For each event with a clock: host time at arrival − agent time, in nanoseconds.
    offsets_ns: Vec<i64>,
    /// Drift of earlier machines of this launch.
    drift_before_ns: i64,
    done: bool,
    /// Why the trial is void or has failed, as far as known before its end.
    void: Option<Reason>,
    failed: Option<Reason>,
}

/// A finished trial: its record, without the previous line's hash, and the files beside it.
#[derive(Clone, Debug)]
pub struct Folded {
    pub record: Record,
    pub attached: Attached,
}

impl<'a> Fold<'a> {
    pub fn new(
        plan: &Resolved<'_>,
        trial: &Trial<'_>,
        job: &'a Job,
        testbed: String,
        traits: TestbedTraits,
    ) -> Self {
        let mut record = blank(plan, trial, job, testbed, traits);
        for (recorded, laid) in record.works.iter_mut().zip(&plan.laid_of(trial).works) {
            recorded.amount = clients::amount(&*laid.work, record.workload_seed, laid.clients);
        }
        Fold {
            job,
            record,
            histograms: Vec::new(),
            next: 0,
            work: None,
            began_ns: None,
            direct: None,
            kernel: None,
            step: None,
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
            Event::Hello { kernel, clock_ns, .. } => {
                self.clock(clock_ns, host_ns);
                self.hello(kernel);
            }
            Event::Alive { clock_ns, .. } => self.clock(clock_ns, host_ns),
            Event::Step { step, clock_ns } => {
                self.clock(clock_ns, host_ns);
                self.begins(step, clock_ns);
                self.step = Some(step);
            }
            Event::Stepped(stepped) => {
                self.step = None;
                let work = self.work;
                self.work = work.filter(|_| stepped.step != StepName::ProbesOff);
                self.record.steps.push(Stepped { work, ..stepped });
            }
            Event::Device { direct, bytes, leaves, .. } => {
                self.direct = Some(direct);
                self.record.top = (!self.job.layers.is_empty()).then_some(Top { bytes, leaves });
            }
            Event::Sandbox(sandbox) => self.record.sandbox = Some(sandbox.into()),
            Event::Worker(identity) => self.record.worker = Some(identity),
            Event::Mounted(mounted) => self.record.mounted = Some(mounted.into()),
            Event::Space(space) => self.record.space.push(space),
            Event::Phase(phase) => self.in_stage(|stage| stage.phases.push(phase)),
            Event::Histogram(buckets) => self.histogram(buckets),
            Event::Client(client) => self.in_stage(|stage| stage.by_client.push(client)),
            Event::Probe { name, raw } => {
                if probes::is_of_host(&name) {
                    self.record.host_probes.insert(name, raw);
                } else {
                    self.in_stage(|stage| stage.probes.insert(name, raw));
                }
            }
            Event::Series { name, points } => self.in_stage(|stage| drop(stage.series.insert(name, points))),
            Event::NotAvailable { name, reason } => {
                self.record.not_available.insert(name, reason);
            }
            Event::Seen(seen) => self.record.seen.push(seen),
            Event::Tree(tree) => self.record.trees.push(tree),
            Event::PowerCut { work, phases, clock_ns } => {
                self.clock(clock_ns, host_ns);
                self.clock_ends();
                self.step = None;
                self.in_stage(|stage| stage.phases = phases);
                self.record.steps.push(Stepped { step: StepName::Work, work: self.work.take(), ..work });
            }
            Event::Survivors(survivors) => self.record.survivors = Some(survivors),
            Event::HostFault { text } => self.is(Reason::HostFault { text }),
            Event::Failed { step, operation, path, errno, text, blame } => {
                self.is(Reason::Failed { step, operation, path, errno, text, blame });
            }
            Event::Done { clock_ns, .. } => {
                self.clock(clock_ns, host_ns);
                self.done = true;
            }
            Event::Bye { clock_ns, .. } => self.clock(clock_ns, host_ns),
        }
    }

    /// The provenance of the agent's machine, and its kernel's release if it has its own.
    pub fn launched(&mut self, provenance: BTreeMap<String, String>, kernel: Option<String>) {
        self.record.provenance = provenance.into();
        self.kernel = kernel;
    }

    /// Notes the agent's kernel. A trial on another kernel than the candidate's is void: it would measure another candidate.
    fn hello(&mut self, kernel: String) {
        if let Some(asked) = self.kernel.clone().filter(|asked| *asked != kernel) {
            self.is(Reason::OtherKernel { asked, seen: kernel.clone() });
        }
        self.record.kernel = kernel;
    }

    /// Notes why the trial is void or has failed. The first reason of each kind counts.
    pub fn is(&mut self, reason: Reason) {
        match reason.outcome() {
            Outcome::Failed => self.failed.get_or_insert(reason),
            _ => self.void.get_or_insert(reason),
        };
    }

    /// Whether no further event matters.
    pub fn is_over(&self) -> bool {
        self.done || self.failed.is_some()
    }

    /// Notes that the agent was silent for so long that it must have hung.
    pub fn hung(&mut self, silence: Duration) {
        let how = format!("the agent sent no event for {} s", silence.as_secs());
        self.is(Reason::Hung(Loss { during: self.step, how, console: Vec::new() }));
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
        let witness = Witness { asked, direct: self.direct, labels_own: false };
        self.record.validity = validity::judge(&self.record, &self.job.steps, witness);
        self.record.reason = self.reason(&ended);
        self.record.outcome = self.record.reason.as_ref().map_or(Outcome::Done, Reason::outcome);
        if let Ok(works) = metrics::parsed(&self.record) {
            self.record.metrics = metrics::all(&self.record, &works);
            self.record.metrics_version = metrics::version(&works);
        }
        let console = ended.console.iter().map(|line| format!("{line}\n")).collect();
        let attached = Attached { histograms: self.histograms, console, requests: ended.requests };
        Folded { record: self.record, attached }
    }

    /// The job tells to which work a step belongs. A stage begins with its probes and its window with its work; both end,
    /// including the sync, when the probes stop.
    fn begins(&mut self, step: StepName, clock_ns: u64) {
        let rest = self.job.steps.get(self.next..).unwrap_or_default();
        let Some(at) = rest.iter().position(|planned| planned.name() == step) else { return };
        let work = rest[at].work();
        self.next += at + 1;
        match (step, work) {
            (StepName::ProbesOn, Some(work)) => {
                self.work = Some(work);
                let job = &self.job.works[work];
                let (of, part) = (job.of, job.portion.part.clone());
                self.record.stages.push(StageRecord { of, part, ..StageRecord::default() });
            }
            (StepName::Work, Some(_)) => self.began_ns = Some(clock_ns),
            (StepName::ProbesOff, Some(_)) => {
                let window = self.began_ns.take().map(|began| [began, clock_ns]);
                self.in_stage(|stage| stage.window_ns = window);
            }
            _ => {}
        }
    }

    /// Stores a histogram with the number of its work, because two works may have phases of the same name.
    fn histogram(&mut self, buckets: Buckets) {
        let several = self.record.works.len() > 1;
        let of = self.record.stages.last().filter(|_| several && self.work.is_some()).map(|stage| stage.of);
        self.histograms.push(Buckets { of, ..buckets });
    }

    /// Applies this to the current stage; an event outside every stage changes no stage.
    fn in_stage(&mut self, does: impl FnOnce(&mut StageRecord)) {
        if let (Some(_), Some(stage)) = (self.work, self.record.stages.last_mut()) {
            does(stage);
        }
    }

    fn clock(&mut self, agent_ns: u64, host_ns: u64) {
        // An agent may send any number; saturate the difference.
        let apart = i128::from(host_ns) - i128::from(agent_ns);
        self.offsets_ns.push(i64::try_from(apart).unwrap_or(i64::MIN));
    }

    /// Ends the measurement of clock drift on one machine: a restarted machine has another clock. The largest drift of all counts.
    fn clock_ends(&mut self) {
        let drift = drift_ns(&std::mem::take(&mut self.offsets_ns));
        if drift.unsigned_abs() > self.drift_before_ns.unsigned_abs() {
            self.drift_before_ns = drift;
        }
    }

    /// The trial's reason. A reason that voids the trial comes first, because then no observation of the trial is reliable.
    fn reason(&self, ended: &Ended) -> Option<Reason> {
        let broken = || self.record.validity.iter().find(|check| check.held == Held::No).cloned();
        let told = self.void.clone().or_else(|| self.failed.clone());
        told.or_else(|| (!self.done).then(|| self.lost(ended))).or_else(|| broken().map(not_held))
    }

    /// The agent ended without reporting the trial's outcome.
    fn lost(&self, ended: &Ended) -> Reason {
        let loss =
            |how: &str| Loss { during: self.step, how: how.to_owned(), console: ended.last_lines().to_vec() };
        match &ended.fault {
            None => Reason::LostAgent(loss("without a message")),
            Some(Fault::Lost(how)) => Reason::LostAgent(loss(how)),
            Some(Fault::Hung(how)) => Reason::Hung(loss(how)),
            Some(Fault::Panic(how)) => Reason::Panic(loss(how)),
            Some(Fault::Launch(why)) => Reason::Launch { why: why.clone() },
        }
    }
}

/// Wrong data is the filesystem's failure; other broken validity checks say nothing about it.
pub fn not_held(check: ValidityCheck) -> Reason {
    let is_integrity = check.name.is_integrity();
    if is_integrity { Reason::Integrity(check) } else { Reason::Validity(check) }
}

/// How far the agent's clock ran ahead of the host's over the launch. An event may arrive late but never early, so the least
/// offsets of the first and last third represent the clocks: a busy host does not look like a wrong clock.
fn drift_ns(offsets_ns: &[i64]) -> i64 {
    let third = offsets_ns.len().div_ceil(3);
    let first = offsets_ns.iter().take(third).min();
    let last = offsets_ns.iter().rev().take(third).min();
    first.zip(last).map_or(0, |(first, last)| first.saturating_sub(*last))
}

/// A record with only the planned values.
pub fn blank(
    plan: &Resolved<'_>,
    trial: &Trial<'_>,
    job: &Job,
    testbed: String,
    traits: TestbedTraits,
) -> Record {
    let work = |laid: &LaidWork<'_>| {
        let work = laid.planned.work.canonical();
        RecordedWork {
            name: laid.name.clone(),
            params_hash: work.hash(),
            work,
            amount: workloads::Amount::default(),
            measured: laid.measured,
            clients: laid.clients,
        }
    };
    Record {
        schema: SCHEMA,
        trial: job.trial.clone(),
        attempt: job.attempt,
        purpose: trial.purpose,
        round: if trial.purpose == Purpose::Integrity { 0 } else { trial.round },
        order: trial.order,
        filesystem: trial.candidate.label.clone(),
        kind: trial.candidate.kind.clone(),
        variant: trial.candidate.variant.clone().into(),
        scenario: trial.scenario.label.clone(),
        works: plan.laid_of(trial).works.iter().map(work).collect::<Vec<_>>().into(),
        setup: setup_name(&testbed, job.cpus),
        testbed,
        kernel: String::new(),
        storage: job.storage.clone().into(),
        volume: job.volume,
        layers: job.layers.clone(),
        state: plan.setup(trial.candidate).state.map(str::to_owned),
        top: None,
        memory: job.memory,
        cpus: job.cpus,
        workload_seed: plan.seed_of(trial),
        provenance: BTreeMap::new().into(),
        clock: traits.clock,
        fidelity: traits.fidelity,
        outcome: Outcome::Skipped,
        reason: None,
        mounted: None,
        sandbox: None,
        worker: None,
        steps: Vec::new(),
        space: Vec::new(),
        stages: Vec::new(),
        host_probes: Keyed::new(),
        not_available: BTreeMap::new().into(),
        seen: Vec::new(),
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
