//! A stored trial: one line of `trials.jsonl`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Phase, Seen, Space, Stepped, Survivors, Tree};
use crate::job::{Purpose, StepName, WorkSpec};
use crate::metric::Metric;
use crate::reason::{Outcome, Reason, ValidityCheck};
use crate::setup::{
    ClockKind, Fidelity, Identity, Modelled, Mounted, Named, Sampled, Sandbox, Variant, Volume,
};
use crate::units::{Bytes, sum};
use crate::work::Amount;

/// The shape of a record. Counted up when a reader of the old shape would misread the new one.
pub const SCHEMA: u32 = 3;

/// One trial, whatever came of it. All raw values are whole numbers; `metrics` is a pure function of them.
///
/// What is measured and what is circumstance stand apart: in virtual time everything but `circumstances` is the same
/// from run to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub schema: u32,
    /// `r03/postmark-quick/no atime`: round, workload, label.
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
    /// The workload's label: the set's name, unless the experiment gives another.
    pub workload: String,
    pub work: WorkSpec,
    /// BLAKE3 of the engine's name and parameters.
    pub params_hash: String,
    /// What the parameters say about the work's size.
    pub amount: Amount,
    pub testbed: String,
    /// The name of its setup in `machine.json`.
    pub setup: String,
    /// The release of the kernel that it was made on, as its agent said; empty where no agent said anything.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kernel: String,
    pub storage: Named,
    pub volume: Volume,
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
    /// From the start of the work to the end of the sync, by the agent's clock, which a modelled disk's requests are stamped with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_window_ns: Option<[u64; 2]>,
    pub space: Vec<Space>,
    pub phases: Vec<Phase>,
    /// Counter differences by probe and counter, from the start of the work to the end of the sync.
    pub probes: BTreeMap<String, BTreeMap<String, u64>>,
    /// The same for each part of the work, where it has several: `probes` is then their sum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
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

/// A part of the work, from its start to the end of its sync.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The phases that it had, by name.
    pub phases: Vec<String>,
    pub probes: BTreeMap<String, BTreeMap<String, u64>>,
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
}

impl Record {
    /// Why it is not `done`: one sentence or two, with what to try; empty where it is.
    pub fn why(&self) -> String {
        self.reason.as_ref().map_or(String::new(), Reason::to_string)
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
        let Modelled { disk, mips, sample, ensemble, .. } = self.storage.settings().ok()?;
        Some(Sampled { disk, mips, sample, ensemble, offset: self.volume.offset })
    }

    /// The nanoseconds of a step, over all commands of that name.
    pub fn step_ns(&self, step: StepName) -> Option<u64> {
        let mut all = self.steps.iter().filter(|s| s.step == step).map(|s| s.ns).peekable();
        all.peek()?;
        Some(sum(all))
    }

    /// The sum of a count over the phases of a part.
    pub fn count_of(&self, part: &Part, count: &str) -> u64 {
        sum(self.phases.iter().filter(|p| part.phases.contains(&p.name)).map(|p| p.count(count)))
    }

    pub fn probe(&self, probe: &str, counter: &str) -> Option<u64> {
        self.probes.get(probe)?.get(counter).copied()
    }

    /// Whether this figure says anything where it was measured: where times do not count, no share of one does either.
    pub fn says(&self, metric: &Metric) -> bool {
        self.fidelity.times_count() || !metric.of.is_time()
    }

    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|m| m.name == name)
    }
}
