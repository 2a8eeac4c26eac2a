//! One trial as an agent carries it out: what goes in, read once.

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

/// Counted up with every change of a job or an event that an older agent, or an older host, would misread. Agents live in bundles, so
/// an older one is met: what a job says anew in a field of its own is left out where it says nothing, so that older jobs stay the same
/// bytes, and is refused by an agent that does not know it.
pub const PROTOCOL: u32 = 4;

/// One trial, ready to be carried out: nothing in it must be looked up, and nothing answers while it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub protocol: u32,
    /// Names all that the agent makes on the host (memory group, folder), so that it can be found and removed.
    pub token: String,
    /// `r03/SCENARIO/LABEL`; a guest is told none, as nothing of it may decide a figure.
    pub trial: String,
    pub attempt: u32,
    pub purpose: Purpose,
    /// Whether it is for a machine of its own.
    pub guest: bool,
    pub storage: Named,
    pub volume: Volume,
    /// What lies between the storage's disks and the filesystem, from the disks up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Named>,
    /// Page cache and workload together; absent = the machine's.
    pub memory: Option<Bytes>,
    /// Of the machine of its own; absent = as its testbed has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Modules that a guest's kernel must have loaded, by name or alias; another machine's loads them by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    /// Programs that a guest must have, beside those that its steps name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// What the tools need, where they run on this machine's own kernel.
    #[serde(default, skip_serializing_if = "Privileges::is_empty")]
    pub privileges: Privileges,
    pub steps: Vec<Step>,
    /// How long each step may take before it has failed, in seconds.
    pub limits_seconds: BTreeMap<StepName, u64>,
    /// What the stages do, in their order; steps name them by their index.
    pub works: Vec<WorkJob>,
    /// Between two signs of life; `None` in virtual time, where nothing may be said that is not part of the trial.
    pub alive_every_ms: Option<u64>,
    /// How often its power was cut before: the machine that begins has none of what the one before it knew.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub life: u8,
}

fn is_zero(life: &u8) -> bool {
    *life == 0
}

impl Job {
    /// The job up to a power cut, and what is to be done after it, where the job has one.
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

    /// Whether the power is cut before it ends.
    pub fn loses_power(&self) -> bool {
        self.steps.contains(&Step::PowerCut)
    }

    /// As a guest gets it: without what only the host knows it by.
    pub fn for_guest(&self) -> Job {
        Job { token: "guest".into(), trial: "guest".into(), attempt: 1, ..self.clone() }
    }

    pub fn limit(&self, step: StepName) -> Duration {
        self.limits_seconds.get(&step).map_or(LIMIT, |seconds| Duration::from_secs(*seconds))
    }
}

/// As many clients as a work has unless it is told otherwise.
pub(crate) fn one() -> u32 {
    1
}

pub(crate) fn is_one(n: &u32) -> bool {
    *n == 1
}

/// How long a step may take if nothing about it asks for more.
pub const LIMIT: Duration = Duration::from_secs(3600);

/// Written as one word: `measure`, `doubled`, `reseeded-2`, `corner+-+---+++-+`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Purpose {
    /// Counts.
    Measure,
    /// Shows once per cell that what is read back is what was written; never in the statistics.
    Integrity,
    /// Shows once per cell what the program that plays a disk adds to the figures: a trial of the first round, with that program's
    /// own work done two times.
    Doubled,
    /// The same, with that work done three times.
    Tripled,
    /// Shows how much hangs on details: a trial of the first round on its disk, with another seed of the work, counted from 1.
    Reseeded(u8),
    /// Shows whether a finding holds where its ratio is expected to be worst: a trial of the first round on a disk at that corner of what
    /// is not known about it.
    Corner(Point),
    /// Shows what hangs on the cost of an instruction: a trial of the first round on a CPU that takes longer for each.
    Dear,
    /// The same on a CPU that takes less time for each.
    Cheap,
}

/// So many further seeds of the work are tried: with the first round's they are six.
pub const RESEEDED: u8 = 5;

impl Purpose {
    /// How often the program that plays a disk does its own work.
    pub fn server_work(self) -> u32 {
        match self {
            Purpose::Doubled => 2,
            Purpose::Tripled => 3,
            _ => 1,
        }
    }

    /// What an instruction costs there.
    pub fn cost(self) -> Cost {
        match self {
            Purpose::Dear => Cost::Dear,
            Purpose::Cheap => Cost::Cheap,
            _ => Cost::Usual,
        }
    }

    /// What a reader is told that it is for.
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

    /// Whether it is none of a round, and no integrity check.
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
        corner.ok_or_else(|| format!("'{text}' is no purpose of a trial"))
    }
}

/// What an instruction costs beside what the machine's file says. A CPU with caches takes longer for those that reach its memory, and less
/// time for others, so a filesystem may pay more or less than the mean that the file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    #[default]
    Usual,
    /// 1.3 times as much.
    Dear,
    /// 1 ÷ 1.3 of it.
    Cheap,
}

impl Cost {
    /// How many million instructions a second there are, where there usually are so many.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkSpec {
    pub engine: String,
    pub parameters: Table,
}

impl WorkSpec {
    /// With sorted keys: what is written one way and read another must be the same work to the byte.
    pub fn canonical(&self) -> WorkSpec {
        WorkSpec { engine: self.engine.clone(), parameters: sorted(&self.parameters) }
    }

    /// BLAKE3 of the engine's name and parameters, as they are stored.
    pub fn hash(&self) -> String {
        let text = serde_json::to_string(&self.canonical()).unwrap_or_default();
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

/// What one stage does of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkJob {
    /// Counted from 0: parts of one work, done in several stages, have the same.
    pub of: usize,
    pub work: WorkSpec,
    pub seed: u64,
    /// The folder of its own, where a trial has several workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub portion: Portion,
    /// How many processes do it at the same time, each in a folder of its own where they are several.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub clients: u32,
}

impl WorkJob {
    /// As a path of its files is seen from the folder in which all works have theirs.
    pub fn below(&self, path: &Path) -> PathBuf {
        self.folder.as_deref().map_or_else(|| path.to_owned(), |folder| Path::new(folder).join(path))
    }
}

/// How much of a work is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Portion {
    /// This part alone, where those before it are done, by the name that its engine gives it; absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Not one operation more, as its engine counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_after: Option<u64>,
    /// Only until all its files are there, for a check that they are what was written.
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

/// One thing the agent does. The list of a job is what is executed, what `--dry-run` prints and what the order test reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The storage as it was before the first trial.
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
    /// Sync, drop caches, wait until the device is idle. With `cold`, a witness shows that the caches were empty.
    Settle {
        cold: bool,
    },
    /// Nothing of the filesystem's stays in memory: it is unmounted and mounted again, so that pages, names and inodes are all
    /// gone. Where there is nothing to mount, every file is written out and its pages are dropped, as root all caches.
    Cool {
        mount: Option<Mount>,
    },
    /// The filesystem's own full check in the middle of a trial: unmounted, checked, which alone is timed, and mounted again.
    ForcedCheck {
        check: Check,
        mount: Mount,
    },
    /// The disk beside that this work copies from: formatted, filled by the work's own part, and mounted again, read-only and with
    /// nothing of it in memory.
    Source {
        work: usize,
        make: Vec<Argv>,
        mount: Mount,
    },
    /// The work of this index is prepared, and what is watched begins.
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
    /// Hash what is there; with the engine's own list beside it after a run until its files live.
    Verify {
        at: At,
    },
    /// Delete everything in the site.
    Empty,
    Unmount,
    Check {
        check: Check,
        at: At,
    },
    /// One command of the way back from a conversion.
    Revert {
        argv: Argv,
    },
    /// The power goes: the agent tells so and does nothing more, not even clean up. What follows is done by another.
    PowerCut,
    /// The machine starts again, with its disk as the cut left it.
    Restart,
    /// One command of what an administrator runs before the mount.
    Repair {
        check: Check,
    },
    /// The mount after the cut, on which most filesystems replay a journal or log.
    MountAgain {
        mount: Mount,
    },
    /// A first new file, synced with its name.
    FirstFile,
    /// Look for every file that had been synced before the cut, which ended the work of this index.
    Survivors {
        work: usize,
    },
    /// What only the stage of that name knows how to do.
    Own {
        stage: OtherStage,
    },
    /// Requests to the device itself, on which no filesystem is made.
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

    /// The work that it belongs to.
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

/// A step without what it needs: what events, records and metrics call it by. Written `mount`, `check-emptied`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepName {
    /// Before the first one: a guest comes up.
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

/// The names that stand alone; the others are followed by a moment.
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

/// The moment in a filesystem's life at which something is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// Just made.
    Fresh,
    /// In the state that was asked for, before the work.
    Prepared,
    /// With the workload's files in it.
    Filled,
    /// The same, after unmount and mount.
    Remounted,
    /// After everything was deleted.
    Emptied,
    /// In service again after a power cut.
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
