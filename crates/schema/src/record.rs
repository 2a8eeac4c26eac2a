//! A stored trial: one line of `trials.jsonl`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::drive::Drive;
use crate::event::{Client, Phase, Seen, Series, Space, Stepped, Survivors, Tree};
use crate::job::{Purpose, StepName, WorkSpec, is_one, one};
use crate::metric::{Metric, Quantity};
use crate::reason::{Outcome, Reason, ValidityCheck};
use crate::setup::{
    ClockKind, Fidelity, Identity, Modelled, Mounted, Named, Sampled, Sandbox, Variant, Volume,
};
use crate::shared::{Keyed, Known, Shared};
use crate::units::{Bytes, sum};
use crate::work::Amount;

/// Schema version of a record. Raised when a reader of the old version would misread the new one.
pub const SCHEMA: u32 = 4;

/// One trial, whatever its outcome. All raw values are integers; `metrics` is a pure function of them.
///
/// Measurements and circumstances are separate: in virtual time everything except `circumstances` is identical from run to
/// run.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Record {
    pub schema: u32,
    /// `r03/postmark-quick/no atime`: round, scenario, label.
    pub trial: String,
    /// Number of the attempt, from 1; `attempt` and `trial` together are the key of a record.
    pub attempt: u32,
    pub purpose: Purpose,
    /// Number of the round, from 1; 0 for an integrity check.
    pub round: u32,
    /// Position in the round's random order of filesystems, from 1.
    pub order: u32,
    /// The label of the candidate.
    pub filesystem: String,
    pub kind: String,
    pub variant: Shared<Variant>,
    /// The scenario's label: the workload's, unless the experiment gives stages.
    pub scenario: String,
    /// The workloads of the scenario.
    pub works: Shared<Vec<RecordedWork>>,
    pub testbed: String,
    /// The name of the trial's setup in `machine.json`.
    pub setup: String,
    /// Kernel release reported by the agent; empty if the agent reported nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    pub storage: Shared<Named>,
    pub volume: Volume,
    /// Layers between the storage's disks and the filesystem, from the disks up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Named>,
    /// The device that the layers made of the disks; absent without layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<Top>,
    /// State of the filesystem before the work; absent: fresh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub memory: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    pub workload_seed: u64,
    /// BLAKE3 of the guest's boot files, such as `kernel` and `tools`, and of the copied files of each package, such as
    /// `sqlite3 3.40.1-2+deb12u2`. Lists only what decides a figure and is not elsewhere in the record.
    #[serde(default, skip_serializing_if = "no_texts")]
    pub provenance: Shared<BTreeMap<String, String>>,
    pub clock: ClockKind,
    /// How much figures from this testbed may be trusted.
    pub fidelity: Fidelity,
    pub outcome: Outcome,
    /// Why the trial is not `done`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounted: Option<Shared<Mounted>>,
    /// The tools' restrictions; absent if no tool ran, and in a guest, which itself restricts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Shared<Sandbox>>,
    /// The worker's identity, if it dropped root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<Identity>,
    /// The finished steps, in order of completion.
    pub steps: Vec<Stepped>,
    pub space: Vec<Space>,
    /// The stages with work, in order.
    pub stages: Vec<StageRecord>,
    /// Counts of the host's probes over the whole trial, by probe and counter.
    #[serde(default, skip_serializing_if = "Keyed::is_empty")]
    pub host_probes: Counters,
    /// Probes that could not be opened, and why.
    #[serde(default, skip_serializing_if = "no_texts")]
    pub not_available: Shared<BTreeMap<String, String>>,
    /// The agent's observations for validity checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Seen>,
    pub validity: Vec<ValidityCheck>,
    pub trees: Vec<Tree>,
    /// What became of the synced files after a power cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub survivors: Option<Survivors>,
    pub histograms: Vec<FileRef>,
    /// The agent's console output, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<FileRef>,
    /// All requests of a modelled disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<FileRef>,
    pub metrics: Vec<Metric>,
    pub metrics_version: u32,
    pub circumstances: Circumstances,
    /// Checksum of the previous line; in the first line, of `plan.toml` followed by `machine.json`.
    pub previous: String,
    // `crc32`, over all previous bytes of the line, is appended as the last key when the line is written.
}

/// The values that records read so far have in common.
#[derive(Debug, Default)]
pub struct Common {
    quantities: Known<Quantity>,
    works: Known<Vec<RecordedWork>>,
    variants: Known<Variant>,
    storages: Known<Named>,
    texts: Known<BTreeMap<String, String>>,
    mounts: Known<Mounted>,
    sandboxes: Known<Sandbox>,
    keys: Known<Vec<String>>,
}

/// The device given to mkfs if layers lie below it. Without layers that is the volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Top {
    pub bytes: Bytes,
    /// The disks below all layers.
    pub leaves: Vec<String>,
}

/// Raw values by probe and counter.
pub type Counters = Keyed<Keyed<u64>>;

/// A workload of the trial.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct RecordedWork {
    /// The workload's label, with a number appended if the scenario has the workload more than once.
    pub name: String,
    pub work: WorkSpec,
    /// BLAKE3 of the engine's name and parameters.
    pub params_hash: String,
    /// Size of the work according to its parameters.
    pub amount: Amount,
    /// Whether the workload's figures count.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub measured: bool,
    /// Number of concurrent client processes.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub clients: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none_there(number: &u32) -> bool {
    *number == 0
}

fn no_texts(texts: &BTreeMap<String, String>) -> bool {
    texts.is_empty()
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

/// A stage with work, from its start to the end of its sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct StageRecord {
    /// Index of its workload in the record's list.
    pub of: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Start of the work and end of the sync, by the agent's clock, which also stamps a modelled disk's requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ns: Option<[u64; 2]>,
    /// With several clients, each phase lasts from the first client's start to the last one's end and holds the sums of their
    /// counts.
    pub phases: Vec<Phase>,
    /// Each client, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_client: Vec<Client>,
    /// Counter differences, from the start of the work to the end of the sync.
    pub probes: Counters,
    /// Changes during the work, by probe; empty in virtual time, where nothing is sampled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Series>,
}

/// A file of the run's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct FileRef {
    pub path: String,
    pub blake3: String,
    /// What the file contains: `work/create`.
    pub what: String,
}

/// State of the machine during the trial. Never compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Circumstances {
    /// Time at which the trial began, by RFC 3339 in UTC.
    pub started: String,
    /// Name of the machine, if several share a plan.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
    /// Host nanoseconds of the launch.
    pub host_ns: u64,
    /// Host nanoseconds from the launch to the agent's first message: in a guest, its boot time.
    #[serde(default)]
    pub launch_ns: u64,
    /// Whether the trial began in a kept guest whose filesystem was in its initial state, so that `host_ns` is without making it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_state: bool,
    /// Load average over one minute at the start.
    pub load: f64,
    /// Number of other fsderby runs on the machine, at the start or the end, whichever is larger; in virtual time, where they do
    /// not disturb, 0.
    #[serde(default, skip_serializing_if = "is_none_there")]
    pub other_runs: u32,
    /// CPU time stolen by a hypervisor, in nanoseconds.
    pub steal_ns: u64,
    /// By how many nanoseconds the launch took longer by the agent's clock than by the host's.
    pub clock_drift_ns: i64,
    /// Other activity on the machine, and its effects; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference: Option<Interference>,
    /// The claimed disks below the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<Drive>,
}

/// Resources of the machine that the trial lacked, over the launch. Values that its kernel does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Interference {
    /// Number of CPUs.
    pub cpus: u64,
    /// CPU time of processes that are not ours, without kernel threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_ns: Option<u64>,
    /// Time during which some process, ours included, waited for CPU, disk or memory (`/proc/pressure`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_cpu_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_io_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressure_memory_ns: Option<u64>,
    /// Time during which a CPU quota, for example of a container, throttled our processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_ns: Option<u64>,
    /// Number of times a core was throttled because of heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<u64>,
    /// Lowest and highest clock of any CPU, in kHz, at start and end of the launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub khz: Option<[u64; 2]>,
}

impl StageRecord {
    /// Sum of a count over its phases.
    pub fn count(&self, count: &str) -> u64 {
        sum(self.phases.iter().map(|phase| phase.count(count)))
    }

    pub fn probe(&self, probe: &str, counter: &str) -> Option<u64> {
        self.probes.get(probe)?.get(counter).copied()
    }
}

impl Record {
    /// Why the trial is not `done`, in one or two sentences with advice; empty if the trial is `done`.
    pub fn why(&self) -> String {
        self.reason.as_ref().map_or(String::new(), Reason::to_string)
    }

    /// Holds values that it has in common with earlier records once: see [`crate::shared`].
    pub fn share(&mut self, known: &mut Common) {
        let Common { quantities, works, variants, storages, texts, mounts, sandboxes, keys } = known;
        self.metrics.iter_mut().for_each(|metric| quantities.share(&mut metric.quantity));
        works.share(&mut self.works);
        variants.share(&mut self.variant);
        storages.share(&mut self.storage);
        texts.share(&mut self.provenance);
        texts.share(&mut self.not_available);
        self.mounted.iter_mut().for_each(|mounted| mounts.share(mounted));
        self.sandbox.iter_mut().for_each(|sandbox| sandboxes.share(sandbox));
        let counters = self.stages.iter_mut().map(|stage| &mut stage.probes).chain([&mut self.host_probes]);
        for counters in counters {
            counters.share(keys);
            counters.values_mut().for_each(|counts| counts.share(keys));
        }
        for phase in self.stages.iter_mut().flat_map(|stage| &mut stage.phases) {
            phase.counts.share(keys);
        }
    }

    /// Releases the spare capacity of lists: up to half of a record, and a report holds all records.
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

    /// Hash of everything that decides the figures; only in virtual time, where nothing else does.
    pub fn fingerprint(&self) -> Option<String> {
        if self.clock != ClockKind::Virtual || self.provenance.is_empty() {
            return None;
        }
        let text: String = self.provenance.iter().map(|(name, hash)| format!("{name} {hash}\n")).collect();
        Some(blake3::hash(text.as_bytes()).to_hex().to_string())
    }

    /// The modelled disk of the trial; `None` without one.
    pub fn sampled(&self) -> Option<Sampled> {
        let Modelled { disk, mips, sample, ensemble, disks, machine, .. } = self.storage.settings().ok()?;
        Some(Sampled { disk, mips, sample, ensemble, disks, offset: self.volume.offset, machine })
    }

    /// Size of the device given to mkfs.
    pub fn device_bytes(&self) -> Bytes {
        self.top.as_ref().map_or(self.volume.size, |top| top.bytes)
    }

    /// Duration of a step in nanoseconds, over all its commands.
    pub fn step_ns(&self, step: StepName) -> Option<u64> {
        let mut all = self.steps.iter().filter(|s| s.step == step).map(|s| s.ns).peekable();
        all.peek()?;
        Some(sum(all))
    }

    /// The stages whose figures count.
    pub fn measured(&self) -> impl Iterator<Item = &StageRecord> {
        self.stages.iter().filter(|stage| self.works.get(stage.of).is_some_and(|work| work.measured))
    }

    /// The phases of the stages whose figures count.
    pub fn phases(&self) -> impl Iterator<Item = &Phase> {
        self.measured().flat_map(|stage| &stage.phases)
    }

    /// The start of the first stage whose figures count, and the end of the last such stage's sync, by the agent's clock.
    pub fn window_ns(&self) -> Option<[u64; 2]> {
        let windows = || self.measured().filter_map(|stage| stage.window_ns);
        Some([windows().map(|[begin, _]| begin).min()?, windows().map(|[_, end]| end).max()?])
    }

    /// Whether this figure is meaningful on its testbed: where times do not count, shares of times do not either.
    pub fn says(&self, metric: &Metric) -> bool {
        self.fidelity.times_count() || !metric.of.is_time()
    }

    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|m| m.name == name)
    }
}
