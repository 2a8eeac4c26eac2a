//! One trial for an agent to execute: its only input, read once.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use fsderby_diskmodel::Point;
use fsderby_diskmodel::validation::asks::RawWork;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml::{Table, Value};

use crate::scenario::OtherStage;
use crate::setup::{Argv, Check, Mount, Named, Privileges, Volume};
use crate::units::Bytes;

/// Protocol version, raised with every change of a job or an event that an older agent or host would misread. Bundles contain
/// agents, so older ones occur. A new job field is omitted at its default, so that older jobs keep their bytes; an agent that
/// does not know a field refuses the job.
pub const PROTOCOL: u32 = 4;

/// One complete trial: it refers to nothing that must be looked up, and nothing answers while it runs.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub protocol: u32,
    /// Names everything that the agent creates on the host (cgroup, directory), so that it can be found and removed.
    pub token: String,
    /// `r03/SCENARIO/LABEL`; not sent to a guest, because it must not influence a figure.
    pub trial: String,
    pub attempt: u32,
    pub purpose: Purpose,
    /// Whether the trial runs in a guest.
    pub guest: bool,
    pub storage: Named,
    pub volume: Volume,
    /// Layers between the storage's disks and the filesystem, from the disks up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Named>,
    /// Limit for page cache and workload together; absent: the machine's memory.
    pub memory: Option<Bytes>,
    /// CPUs of the guest; absent: the testbed's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Kernel modules to load in a guest, by name or alias; another machine loads them by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    /// Programs that a guest needs besides those of its steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// Privileges of the tools on this machine's own kernel.
    #[serde(default, skip_serializing_if = "Privileges::is_empty")]
    pub privileges: Privileges,
    pub steps: Vec<Step>,
    /// Timeout of each step in seconds.
    pub limits_seconds: BTreeMap<StepName, u64>,
    /// Works of the stages, in order; steps refer to a work by its index.
    pub works: Vec<WorkJob>,
    /// Heartbeat interval; `None` in virtual time, where every message is part of the trial.
    pub alive_every_ms: Option<u64>,
    /// Number of power cuts before this part of the trial; the boot after a cut finds nothing in memory.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub life: u8,
    /// Whether the guest stops after these steps and waits for the whole job, of which they are the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pauses: bool,
}

fn is_zero(life: &u8) -> bool {
    *life == 0
}

impl Job {
    /// Splits the job at its first power cut into the part up to the cut and the part after it.
    pub fn lives(&self) -> (Job, Option<Job>) {
        let part = |steps: &[Step]| Job { steps: steps.to_vec(), ..self.clone() };
        match self.steps.iter().position(|step| *step == Step::PowerCut) {
            None => (self.clone(), None),
            Some(cut) => {
                let after = Job { life: self.life + 1, ..part(&self.steps[cut + 1..]) };
                (part(&self.steps[..=cut]), Some(after))
            }
        }
    }

    /// The part of the job that reaches its initial state, equal for all trials that begin in it on the same sample; afterwards
    /// the guest pauses. `None` for a fresh filesystem.
    pub fn until_state(&self) -> Option<Job> {
        let reached = self.steps.iter().position(|step| *step == Step::Space { at: At::Prepared })?;
        let settles = self.steps.get(reached + 1).filter(|step| step.name() == StepName::Settle);
        let steps = self.steps[..=reached + usize::from(settles.is_some())].to_vec();
        let works = steps.iter().filter(|step| step.name() == StepName::Work).count();
        let has = |name: &StepName| steps.iter().any(|step| step.name() == *name);
        let limits = self.limits_seconds.iter().filter(|(name, _)| has(name));
        Some(Job {
            limits_seconds: limits.map(|(name, seconds)| (*name, *seconds)).collect(),
            works: self.works[..works].to_vec(),
            purpose: Purpose::Measure,
            pauses: true,
            steps,
            ..self.clone()
        })
    }

    /// Whether this job does first what that one, which pauses, has done.
    pub fn begins_with(&self, first: &Job) -> bool {
        self.steps.starts_with(&first.steps) && self.works.starts_with(&first.works)
    }

    /// Whether the job contains a power cut.
    pub fn loses_power(&self) -> bool {
        self.steps.contains(&Step::PowerCut)
    }

    /// The job as sent to a guest, without the host's identifiers.
    pub fn for_guest(&self) -> Job {
        Job { token: "guest".into(), trial: "guest".into(), attempt: 1, ..self.clone() }
    }

    pub fn limit(&self, step: StepName) -> Duration {
        self.limits_seconds.get(&step).map_or(LIMIT, |seconds| Duration::from_secs(*seconds))
    }
}

/// Default number of clients.
pub(crate) fn one() -> u32 {
    1
}

pub(crate) fn is_one(n: &u32) -> bool {
    *n == 1
}

/// Default timeout of a step.
pub const LIMIT: Duration = Duration::from_secs(3600);

/// Written as one word: `measure`, `doubled`, `reseeded-2`, `corner+-+---+++-+`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub enum Purpose {
    /// A measured trial.
    Measure,
    /// Integrity check, once per cell: data read back equals the data written. Not in the statistics.
    Integrity,
    /// Measures the disk-model overhead, once per cell: a trial of the first round with the program's own work done twice.
    Doubled,
    /// Like `Doubled`, with the work done three times.
    Tripled,
    /// Measures sensitivity to details: a trial of the first round on its disk with another workload seed, numbered from 1.
    Reseeded(u8),
    /// Tests a finding at its worst expected corner: a trial of the first round with the disk at that corner.
    Corner(Point),
    /// Measures the effect of the cost of an instruction: a trial of the first round on a CPU that is slower per instruction.
    Dear,
    /// Like `Dear`, on a CPU that is faster per instruction.
    Cheap,
}

/// Number of further workload seeds; six with that of the first round.
pub const RESEEDED: u8 = 5;

impl Purpose {
    /// How many times the program that serves the disk does its work.
    pub fn server_work(self) -> u32 {
        match self {
            Purpose::Doubled => 2,
            Purpose::Tripled => 3,
            _ => 1,
        }
    }

    /// Cost of an instruction in such a trial.
    pub fn cost(self) -> Cost {
        match self {
            Purpose::Dear => Cost::Dear,
            Purpose::Cheap => Cost::Cheap,
            _ => Cost::Usual,
        }
    }

    /// Title of this purpose in reports.
    pub fn title(self) -> String {
        match self {
            Purpose::Doubled => "server's work ×2".to_owned(),
            Purpose::Tripled => "server's work ×3".to_owned(),
            Purpose::Reseeded(n) => format!("other seed {n}"),
            Purpose::Corner(point) => format!("corner {point}"),
            Purpose::Dear => "instructions dear".to_owned(),
            Purpose::Cheap => "instructions cheap".to_owned(),
            other => other.to_string(),
        }
    }

    /// Whether a trial with this purpose belongs neither to a round nor to the integrity checks.
    pub fn is_extra(self) -> bool {
        !matches!(self, Purpose::Measure | Purpose::Integrity)
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Purpose::Measure => f.write_str("measure"),
            Purpose::Integrity => f.write_str("integrity"),
            Purpose::Doubled => f.write_str("doubled"),
            Purpose::Tripled => f.write_str("tripled"),
            Purpose::Reseeded(n) => write!(f, "reseeded-{n}"),
            Purpose::Corner(point) => write!(f, "corner{point}"),
            Purpose::Dear => f.write_str("dear"),
            Purpose::Cheap => f.write_str("cheap"),
        }
    }
}

impl From<Purpose> for String {
    fn from(purpose: Purpose) -> String {
        purpose.to_string()
    }
}

impl TryFrom<String> for Purpose {
    type Error = String;

    fn try_from(text: String) -> Result<Purpose, String> {
        let plain = [Purpose::Measure, Purpose::Integrity, Purpose::Doubled, Purpose::Tripled];
        let plain = plain.into_iter().chain([Purpose::Dear, Purpose::Cheap]);
        let seeds = (1..=RESEEDED).map(Purpose::Reseeded);
        if let Some(known) = plain.chain(seeds).find(|purpose| purpose.to_string() == text) {
            return Ok(known);
        }
        let corner = text.strip_prefix("corner").and_then(|signs| Point::try_from(signs.to_owned()).ok());
        let corner = corner.filter(|point| !point.is_nominal()).map(Purpose::Corner);
        corner.ok_or_else(|| format!("'{text}' is not a known purpose of a trial"))
    }
}

/// Cost of an instruction relative to the machine's file. A CPU with caches takes longer for instructions that reach memory and
/// less for others, so a filesystem may pay more or less than the file's mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    #[default]
    Usual,
    /// 1.3 times the usual cost.
    Dear,
    /// 1 ÷ 1.3 of the usual cost.
    Cheap,
}

impl Cost {
    /// Million instructions per second at this cost, given the usual number.
    pub fn mips(self, usual: u32) -> u32 {
        let nearest = |times: u32, of: u32| usual.saturating_mul(times).saturating_add(of / 2) / of;
        match self {
            Cost::Usual => usual,
            Cost::Dear => nearest(10, 13),
            Cost::Cheap => nearest(13, 10),
        }
    }
}

/// The workload: an engine's name and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct WorkSpec {
    pub engine: String,
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub parameters: Table,
}

impl WorkSpec {
    /// The parameters with sorted keys, so that the same work has the same bytes in whatever order a user wrote the keys.
    pub fn canonical(&self) -> WorkSpec {
        WorkSpec { engine: self.engine.clone(), parameters: sorted(&self.parameters) }
    }

    /// BLAKE3 of the engine's name and parameters, as stored.
    pub fn hash(&self) -> String {
        let text =
            serde_json::to_string(&self.canonical()).unwrap_or_else(|e| panic!("TOML is JSON too: {e}"));
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }
}

fn sorted(table: &Table) -> Table {
    let mut entries: Vec<(String, Value)> =
        table.iter().map(|(key, value)| (key.clone(), sorted_within(value))).collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.into_iter().collect()
}

fn sorted_within(value: &Value) -> Value {
    match value {
        Value::Table(table) => Value::Table(sorted(table)),
        Value::Array(all) => Value::Array(all.iter().map(sorted_within).collect()),
        other => other.clone(),
    }
}

/// A stage's share of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkJob {
    /// Index of the work, from 0; parts of one work in several stages share it.
    pub of: usize,
    pub work: WorkSpec,
    pub seed: u64,
    /// Directory of the workload, if a trial has several workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub portion: Portion,
    /// Number of concurrent client processes, each in a separate directory if there are several.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub clients: u32,
}

impl WorkJob {
    /// Path of a file of this work, relative to the directory of all works.
    pub fn below(&self, path: &Path) -> PathBuf {
        self.folder.as_deref().map_or_else(|| path.to_owned(), |folder| Path::new(folder).join(path))
    }
}

/// The part of a work to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Portion {
    /// Only this part, by the engine's name, given that those before it are done; absent: all parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Stops after this many operations, as the engine counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_after: Option<u64>,
    /// Whether the work stops when all its files exist, as an integrity check needs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_files: bool,
}

impl Portion {
    pub const WHOLE: Portion = Portion { part: None, stop_after: None, keep_files: false };
    pub const KEEP_FILES: Portion = Portion { keep_files: true, ..Portion::WHOLE };

    pub fn part(name: &str) -> Self {
        Portion { part: Some(name.to_owned()), ..Portion::WHOLE }
    }

    pub fn stop_after(operations: u64) -> Self {
        Portion { stop_after: Some(operations), ..Portion::WHOLE }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One step of an agent. The same list is executed, printed by `--dry-run` and read by the order test.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Restores the storage to its state before the first trial.
    Reset,
    /// mkfs, or one command of a conversion.
    Make {
        argv: Argv,
    },
    Mount {
        mount: Mount,
    },
    Space {
        at: At,
    },
    /// Sync, drop caches, wait until the device is idle. With `cold`, a witness file shows that the caches were empty.
    Settle {
        cold: bool,
    },
    /// Cold start: unmount and mount, which drops pages, names and inodes. Without a mount, writes back every file and drops
    /// its pages; as root, drops all caches.
    Cool {
        mount: Option<Mount>,
    },
    /// The filesystem's full check during a trial: unmount, check (only this is timed), mount.
    ForcedCheck {
        check: Check,
        mount: Mount,
    },
    /// The second disk, from which this work copies: formatted, filled by the work's engine, then mounted read-only with cold
    /// caches.
    Source {
        work: usize,
        make: Vec<Argv>,
        mount: Mount,
    },
    /// Prepares the work of this index and starts the probes.
    ProbesOn {
        work: usize,
    },
    Work {
        work: usize,
    },
    Sync {
        work: usize,
    },
    ProbesOff {
        work: usize,
    },
    /// Hashes the live tree, and compares it with the engine's list after a run that stopped with its files live.
    Verify {
        at: At,
    },
    /// Deletes everything in the work directory.
    Empty,
    Unmount,
    Check {
        check: Check,
        at: At,
    },
    /// One command of reverting a conversion.
    Revert {
        argv: Argv,
    },
    /// Cuts the power: the agent reports this and does nothing more, not even cleanup. Another agent does the following steps.
    PowerCut,
    /// Boots the machine again, with its disk as the cut left it.
    Restart,
    /// One repair command that an administrator runs before the mount.
    Repair {
        check: Check,
    },
    /// The mount after the cut, during which most filesystems replay a journal or log.
    MountAgain {
        mount: Mount,
    },
    /// Creates a first new file and syncs it with its name.
    FirstFile,
    /// Checks every file that had been synced before the cut, which ended the work of this index.
    Survivors {
        work: usize,
    },
    /// A step that only the stage of that name implements.
    Own {
        stage: OtherStage,
    },
    /// Requests to the raw device, without a filesystem.
    Raw {
        work: RawWork,
    },
}

impl Step {
    pub fn name(&self) -> StepName {
        match self {
            Step::Reset => StepName::Reset,
            Step::Make { .. } => StepName::Make,
            Step::Mount { .. } => StepName::Mount,
            Step::Space { at } => StepName::Space(*at),
            Step::Settle { .. } => StepName::Settle,
            Step::Cool { .. } => StepName::Cool,
            Step::ForcedCheck { .. } => StepName::ForcedCheck,
            Step::Source { .. } => StepName::Source,
            Step::ProbesOn { .. } => StepName::ProbesOn,
            Step::Work { .. } => StepName::Work,
            Step::Sync { .. } => StepName::Sync,
            Step::ProbesOff { .. } => StepName::ProbesOff,
            Step::Verify { at } => StepName::Verify(*at),
            Step::Empty => StepName::Empty,
            Step::Unmount => StepName::Unmount,
            Step::Check { at, .. } => StepName::Check(*at),
            Step::Revert { .. } => StepName::Revert,
            Step::PowerCut => StepName::PowerCut,
            Step::Restart => StepName::Restart,
            Step::Repair { .. } => StepName::Repair,
            Step::MountAgain { .. } => StepName::MountAgain,
            Step::FirstFile => StepName::FirstFile,
            Step::Survivors { .. } => StepName::Survivors,
            Step::Own { .. } => StepName::Own,
            Step::Raw { .. } => StepName::Raw,
        }
    }

    /// Index of the work that this step belongs to.
    pub fn work(&self) -> Option<usize> {
        match self {
            Step::ProbesOn { work }
            | Step::Work { work }
            | Step::Sync { work }
            | Step::ProbesOff { work } => Some(*work),
            _ => None,
        }
    }
}

/// The name of a step in events, records and metrics. Written `mount`, `check-emptied`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepName {
    /// The boot of the guest, before the first step.
    #[default]
    Boot,
    Reset,
    Make,
    Mount,
    Space(At),
    Settle,
    Cool,
    ForcedCheck,
    Source,
    ProbesOn,
    Work,
    Sync,
    ProbesOff,
    Verify(At),
    Empty,
    Unmount,
    Check(At),
    Revert,
    PowerCut,
    Restart,
    Repair,
    MountAgain,
    FirstFile,
    Survivors,
    Own,
    Raw,
}

/// Names of steps without a moment; each other name is followed by a moment.
const ALONE: [(StepName, &str); 23] = [
    (StepName::Boot, "boot"),
    (StepName::Reset, "reset"),
    (StepName::Make, "make"),
    (StepName::Mount, "mount"),
    (StepName::Settle, "settle"),
    (StepName::Cool, "cool"),
    (StepName::ForcedCheck, "forced-check"),
    (StepName::Source, "source"),
    (StepName::ProbesOn, "probes-on"),
    (StepName::Work, "work"),
    (StepName::Sync, "sync"),
    (StepName::ProbesOff, "probes-off"),
    (StepName::Empty, "empty"),
    (StepName::Unmount, "unmount"),
    (StepName::Revert, "revert"),
    (StepName::PowerCut, "power-cut"),
    (StepName::Restart, "restart"),
    (StepName::Repair, "repair"),
    (StepName::MountAgain, "mount-again"),
    (StepName::FirstFile, "first-file"),
    (StepName::Survivors, "survivors"),
    (StepName::Own, "own"),
    (StepName::Raw, "raw"),
];
type AtMoment = (fn(At) -> StepName, &'static str);
const AT_A_MOMENT: [AtMoment; 3] =
    [(StepName::Space, "space-"), (StepName::Verify, "verify-"), (StepName::Check, "check-")];

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, name)) = ALONE.iter().find(|(step, _)| step == self) {
            return f.pad(name);
        }
        let names = AT_A_MOMENT.iter().flat_map(|(step, name)| At::ALL.map(|at| (step(at), name, at)));
        let found = names.into_iter().find(|(step, ..)| step == self);
        found.map_or(Ok(()), |(_, name, at)| f.pad(&format!("{name}{}", at.name())))
    }
}

impl FromStr for StepName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((step, _)) = ALONE.iter().find(|(_, name)| *name == text) {
            return Ok(*step);
        }
        let at = |name: &str| At::ALL.into_iter().find(|at| text.strip_prefix(name) == Some(at.name()));
        let found = AT_A_MOMENT.iter().find_map(|(step, name)| at(name).map(step));
        found.ok_or_else(|| format!("there is no step '{text}'"))
    }
}

impl Serialize for StepName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// The moment in a filesystem's life at which it is examined.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// The filesystem after mkfs.
    Fresh,
    /// The filesystem in the requested state, before the work.
    Prepared,
    /// The filesystem with the workload's files.
    Filled,
    /// The filesystem with the workload's files, after unmount and mount.
    Remounted,
    /// The filesystem after the agent deleted all files.
    Emptied,
    /// The filesystem in service again after a power cut.
    Recovered,
}

impl At {
    pub const ALL: [At; 6] = [At::Fresh, At::Prepared, At::Filled, At::Remounted, At::Emptied, At::Recovered];

    pub fn name(self) -> &'static str {
        match self {
            At::Fresh => "fresh",
            At::Prepared => "prepared",
            At::Filled => "filled",
            At::Remounted => "remounted",
            At::Emptied => "emptied",
            At::Recovered => "recovered",
        }
    }
}

written_as!(StepName: "string");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_read_as_it_is_written() {
        let alone = ALONE.map(|(step, _)| step);
        let at = AT_A_MOMENT.iter().flat_map(|(step, _)| At::ALL.map(step));
        for step in alone.into_iter().chain(at) {
            assert_eq!(step.to_string().parse(), Ok(step));
        }
        assert_eq!("check-emptied".parse(), Ok(StepName::Check(At::Emptied)));
        assert!("check-".parse::<StepName>().is_err() && "".parse::<StepName>().is_err());
    }

    #[test]
    fn every_purpose_is_read_as_it_is_written() {
        let corner = Point::try_from("+-+-+-+-+-+".to_owned()).map(Purpose::Corner).expect("a corner");
        let plain = [Purpose::Measure, Purpose::Integrity, Purpose::Doubled, Purpose::Tripled];
        let seeds = (1..=RESEEDED).map(Purpose::Reseeded);
        for purpose in plain.into_iter().chain(seeds).chain([corner, Purpose::Dear, Purpose::Cheap]) {
            assert_eq!(Purpose::try_from(purpose.to_string()), Ok(purpose));
        }
        for wrong in ["", "dearer", "reseeded-6", "cornernominal"] {
            assert!(Purpose::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_dear_instruction_makes_a_slower_cpu_and_a_cheap_one_a_faster() {
        let all = |usual: u32| [Cost::Dear, Cost::Usual, Cost::Cheap].map(|cost| cost.mips(usual));
        assert_eq!(all(500), [385, 500, 650]);
        assert_eq!(all(100), [77, 100, 130]);
        assert_eq!(all(8000), [6154, 8000, 10_400]);
    }

    fn sample(work: &str) -> Job {
        serde_json::from_str(&format!(
            r#"{{"protocol": 4, "token": "t", "trial": "t", "attempt": 1, "purpose": "cheap", "guest": true,
                "storage": {{"name": "s"}}, "volume": {{"size": 1073741824, "offset": 0}}, "memory": null, "alive_every_ms": null,
                "limits_seconds": {{"reset": 1, "work": 2, "settle": 3, "space-prepared": 4, "empty": 5}},
                "steps": ["reset", {{"settle": {{"cold": false}}}}, {{"work": {{"work": 0}}}}, {{"space": {{"at": "prepared"}}}},
                          {{"settle": {{"cold": false}}}}, {{"work": {{"work": 1}}}}, "empty"],
                "works": [{{"of": 0, "work": {{"engine": "fill", "parameters": {{}}}}, "seed": 7}},
                          {{"of": 1, "work": {{"engine": "{work}", "parameters": {{}}}}, "seed": 7}}]}}"#
        ))
        .expect("a job")
    }

    #[test]
    fn the_way_to_a_state_is_the_same_whatever_work_follows_and_a_job_without_a_state_has_none() {
        let [one, other] = ["postmark", "untar"].map(sample);
        let text = |job: &Job| serde_json::to_string(job).expect("JSON");
        let first = one.until_state().expect("a state");
        assert_eq!(text(&first), text(&other.until_state().expect("a state")));
        assert_eq!((first.steps.len(), first.works.len(), first.limits_seconds.len()), (5, 1, 4));
        assert!(first.pauses && one.begins_with(&first) && other.begins_with(&first));
        let shorter = Job { steps: one.steps[1..].to_vec(), ..one.clone() };
        assert!(!shorter.begins_with(&first));
        let fresh = Job { steps: vec![Step::Reset, Step::Settle { cold: false }], ..one };
        assert!(fresh.until_state().is_none());
    }

    #[test]
    fn work_is_the_same_in_whatever_order_it_was_written() {
        let spec =
            |text: &str| WorkSpec { engine: "e".into(), parameters: toml::from_str(text).expect("toml") };
        let one = spec("b = 1\na = [{ y = 1, x = 2 }]\n[c]\nq = 1\np = 2\n");
        let other = spec("a = [{ x = 2, y = 1 }]\nb = 1\n[c]\np = 2\nq = 1\n");
        assert_eq!(one.hash(), other.hash());
        assert_ne!(one.hash(), spec("b = 2").hash());
    }
}
