//! A stored trial: one line of `trials.jsonl`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Client, Phase, Seen, Series, Space, Stepped, Survivors, Tree};
use crate::job::{Purpose, StepName, WorkSpec, is_one, one};
use crate::metric::Metric;
use crate::reason::{Outcome, Reason, ValidityCheck};
use crate::setup::{
    ClockKind, Fidelity, Identity, Modelled, Mounted, Named, Sampled, Sandbox, Variant, Volume,
};
use crate::units::{Bytes, sum};
use crate::work::Amount;

/// The shape of a record. Counted up when a reader of the old shape would misread the new one.
pub const SCHEMA: u32 = 4;

/// One trial, whatever came of it. All raw values are whole numbers; `metrics` is a pure function of them.
///
/// What is measured and what is circumstance stand apart: in virtual time everything but `circumstances` is the same
/// from run to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub schema: u32,
    /// `r03/postmark-quick/no atime`: round, scenario, label.
    pub trial: String,
    /// From 1; with `trial` the key of a record.
    pub attempt: u32,
    pub purpose: Purpose,
    /// 0 for an integrity check, else from 1.
    pub round: u32,
    /// The place in the round's random order of filesystems, from 1.
    pub order: u32,
    /// The label.
    pub filesystem: String,
    pub kind: String,
    pub variant: Variant,
    /// The scenario's label: the workload's, unless the experiment gives stages.
    pub scenario: String,
    /// The workloads of the scenario.
    pub works: Vec<RecordedWork>,
    pub testbed: String,
    /// The name of its setup in `machine.json`.
    pub setup: String,
    /// The release of the kernel that it was made on, as its agent said; empty where no agent said anything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    pub storage: Named,
    pub volume: Volume,
    /// What lay between the storage's disks and the filesystem, from the disks up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Named>,
    /// What the layers made of the disks; absent without layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<Top>,
    /// What was on the filesystem before the work; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub memory: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    pub workload_seed: u64,
    /// BLAKE3 of what the guest was started from: `kernel`, `initramfs`. Of what decides a figure, what stands nowhere else in
    /// the record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provenance: BTreeMap<String, String>,
    pub clock: ClockKind,
    /// How far a figure may be believed on this testbed.
    pub fidelity: Fidelity,
    pub outcome: Outcome,
    /// Why it is not `done`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounted: Option<Mounted>,
    /// What bounded the tools; absent where no tool ran, and in a guest, which bounds them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// Who the worker was, where it gave root's rights up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<Identity>,
    /// In the order in which they ended.
    pub steps: Vec<Stepped>,
    pub space: Vec<Space>,
    /// The stages that did work, in their order.
    pub stages: Vec<StageRecord>,
    /// What the host's probes counted over the whole trial, by probe and counter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub host_probes: Counters,
    /// Probes that could not be opened, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_available: BTreeMap<String, String>,
    /// What the agent saw of validity checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Seen>,
    pub validity: Vec<ValidityCheck>,
    pub trees: Vec<Tree>,
    /// What was left of the synced files, where the power was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survivors: Option<Survivors>,
    pub histograms: Vec<FileRef>,
    /// All that stood on the agent's console, where anything did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<FileRef>,
    /// Everything that a modelled disk did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<FileRef>,
    pub metrics: Vec<Metric>,
    pub metrics_version: u32,
    pub circumstances: Circumstances,
    /// The checksum of the line before this one; in the first, of `plan.toml` and `machine.json`, one after the other.
    pub previous: String,
    // `crc32`, over all bytes of the line before it, is put in as the last key when the line is written.
}

/// The device that mkfs was given, where layers lay below it: without them it is the volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Top {
    pub bytes: Bytes,
    /// The disks below all layers.
    pub leaves: Vec<String>,
}

/// Raw values by probe and counter.
pub type Counters = BTreeMap<String, BTreeMap<String, u64>>;

/// A workload of the trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedWork {
    /// Its label; with a number behind it where the scenario has it more than once.
    pub name: String,
    pub work: WorkSpec,
    /// BLAKE3 of the engine's name and parameters.
    pub params_hash: String,
    /// What the parameters say about the work's size.
    pub amount: Amount,
    /// Whether its figures count.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub measured: bool,
    /// How many processes did it at the same time.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub clients: u32,
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// A stage that did work, from its start to the end of its sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRecord {
    /// The index of its workload in the record's list.
    pub of: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// From the start of the work to the end of the sync, by the agent's clock, which a modelled disk's requests are stamped with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<[u64; 2]>,
    /// Of several clients, each from the first one's begin to the last one's end, with the sums of what they counted.
    pub phases: Vec<Phase>,
    /// Each client, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_client: Vec<Client>,
    /// Counter differences, from the start of the work to the end of the sync.
    pub probes: Counters,
    /// What changed while the work went on, by probe; none in virtual time, where nobody looks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Series>,
}

/// A file of the run's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    pub path: String,
    pub blake3: String,
    /// What is in it: `work/create`.
    pub what: String,
}

/// What the machine was doing meanwhile. Never compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Circumstances {
    /// RFC 3339, UTC.
    pub started: String,
    /// Host nanoseconds of the launch.
    pub host_ns: u64,
    /// Host nanoseconds from the launch to the agent's first word: in a guest, its boot.
    #[serde(default)]
    pub launch_ns: u64,
    /// Load average over one minute when it started.
    pub load: f64,
    /// CPU time that a hypervisor took away, in nanoseconds.
    pub steal_ns: u64,
    /// Guest minus host nanoseconds over the launch.
    pub clock_drift_ns: i64,
    /// What else the machine did, and what it was kept from; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference: Option<Interference>,
}

/// What of the machine that runs us was not there for the trial, over the launch. What its kernel does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interference {
    /// As many as the machine has.
    pub cpus: u64,
    /// CPU time of processes that are not ours, kernel threads left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_ns: Option<u64>,
    /// How long some process of the machine, ours included, waited for a CPU, for a disk, for memory (`/proc/pressure`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_cpu_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_io_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_memory_ns: Option<u64>,
    /// How long a quota of CPU time, such as a container's, kept our processes from running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_ns: Option<u64>,
    /// How often a core was slowed because of its heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<u64>,
    /// The lowest and the highest clock of any CPU, in kHz, at the launch's begin and end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub khz: Option<[u64; 2]>,
}

impl StageRecord {
    /// The sum of a count over its phases.
    pub fn count(&self, count: &str) -> u64 {
        sum(self.phases.iter().map(|phase| phase.count(count)))
    }

    pub fn probe(&self, probe: &str, counter: &str) -> Option<u64> {
        self.probes.get(probe)?.get(counter).copied()
    }
}

impl Record {
    /// Why it is not `done`: one sentence or two, with what to try; empty where it is.
    pub fn why(&self) -> String {
        self.reason.as_ref().map_or(String::new(), Reason::to_string)
    }

    /// Gives back the room that lists had to grow into: up to half of a record, of which a report holds all.
    pub fn shrink(&mut self) {
        self.metrics.shrink_to_fit();
        self.steps.shrink_to_fit();
        self.space.shrink_to_fit();
        self.validity.shrink_to_fit();
        for stage in &mut self.stages {
            stage.phases.shrink_to_fit();
            stage.series.values_mut().for_each(Vec::shrink_to_fit);
        }
        self.stages.shrink_to_fit();
    }

    /// A hash of all that decides the figures, in virtual time, where nothing else does.
    pub fn fingerprint(&self) -> Option<String> {
        if self.clock != ClockKind::Virtual || self.provenance.is_empty() {
            return None;
        }
        let text: String = self.provenance.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
        Some(blake3::hash(text.as_bytes()).to_hex().to_string())
    }

    /// The modelled disk that it was made on; `None` where no disk was modelled.
    pub fn sampled(&self) -> Option<Sampled> {
        let Modelled { disk, mips, sample, ensemble, disks, machine, .. } = self.storage.settings().ok()?;
        Some(Sampled { disk, mips, sample, ensemble, disks, offset: self.volume.offset, machine })
    }

    /// The size of the device that mkfs was given.
    pub fn device_bytes(&self) -> Bytes {
        self.top.as_ref().map_or(self.volume.size, |top| top.bytes)
    }

    /// The nanoseconds of a step, over all commands of that name.
    pub fn step_ns(&self, step: StepName) -> Option<u64> {
        let mut all = self.steps.iter().filter(|s| s.step == step).map(|s| s.ns).peekable();
        all.peek()?;
        Some(sum(all))
    }

    /// The stages whose figures count.
    pub fn measured(&self) -> impl Iterator<Item = &StageRecord> {
        self.stages.iter().filter(|stage| self.works.get(stage.of).is_some_and(|work| work.measured))
    }

    /// Their phases.
    pub fn phases(&self) -> impl Iterator<Item = &Phase> {
        self.measured().flat_map(|stage| &stage.phases)
    }

    /// From the start of the first of them to the end of the last one's sync, by the agent's clock.
    pub fn window_ns(&self) -> Option<[u64; 2]> {
        let windows = || self.measured().filter_map(|stage| stage.window_ns);
        Some([windows().map(|[begin, _]| begin).min()?, windows().map(|[_, end]| end).max()?])
    }

    /// Whether this figure says anything where it was measured: where times do not count, no share of one does either.
    pub fn says(&self, metric: &Metric) -> bool {
        self.fidelity.times_count() || !metric.of.is_time()
    }

    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|m| m.name == name)
    }
}
