//! One trial as an agent carries it out: what goes in, read once.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml::{Table, Value};

use crate::setup::{Argv, Check, Mount, Named, Privileges, Volume};
use crate::units::Bytes;

/// Counted up with every change of a job or an event that an older agent would misread.
pub const PROTOCOL: u32 = 2;

/// One trial, ready to be carried out: nothing in it must be looked up, and nothing answers while it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub protocol: u32,
    /// Names all that the agent makes on the host (memory group, folder), so that it can be found and removed.
    pub token: String,
    /// `r03/WORKLOAD/LABEL`; a guest is told none, as nothing of it may decide a figure.
    pub trial: String,
    pub attempt: u32,
    pub purpose: Purpose,
    /// Whether it is for a machine of its own.
    pub guest: bool,
    pub storage: Named,
    pub volume: Volume,
    /// Page cache and workload together; absent = the machine's.
    pub memory: Option<Bytes>,
    /// Of the machine of its own; absent = as its testbed has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Modules that a guest's kernel must have loaded, by name or alias; another machine's loads them by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    /// What the tools need, where they run on this machine's own kernel.
    #[serde(default, skip_serializing_if = "Privileges::is_empty")]
    pub privileges: Privileges,
    pub steps: Vec<Step>,
    /// How long each step may take before it has failed, in seconds.
    pub limits_seconds: BTreeMap<StepName, u64>,
    pub work: WorkSpec,
    pub workload_seed: u64,
    /// Between two signs of life; `None` in virtual time, where nothing may be said that is not part of the trial.
    pub alive_every_ms: Option<u64>,
}

impl Job {
    /// The job up to a power cut, and what is to be done after it, where the job has one.
    pub fn lives(&self) -> (Job, Option<Job>) {
        let part = |steps: &[Step]| Job { steps: steps.to_vec(), ..self.clone() };
        match self.steps.iter().position(|step| *step == Step::PowerCut) {
            None => (self.clone(), None),
            Some(cut) => (part(&self.steps[..=cut]), Some(part(&self.steps[cut + 1..]))),
        }
    }

    /// As a guest gets it: without what only the host knows it by.
    pub fn for_guest(&self) -> Job {
        Job { token: "guest".into(), trial: "guest".into(), attempt: 1, ..self.clone() }
    }

    pub fn limit(&self, step: StepName) -> Duration {
        self.limits_seconds.get(&step).map_or(LIMIT, |seconds| Duration::from_secs(*seconds))
    }
}

/// How long a step may take if nothing about it asks for more.
pub const LIMIT: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Counts.
    Measure,
    /// Shows once per cell that what is read back is what was written; never in the statistics.
    Integrity,
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
    ProbesOn,
    Work {
        until: Until,
    },
    Sync,
    ProbesOff,
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
    /// Look for every file that had been synced before the cut, which came after so many operations.
    Survivors {
        operations: u64,
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
            Step::ProbesOn => StepName::ProbesOn,
            Step::Work { .. } => StepName::Work,
            Step::Sync => StepName::Sync,
            Step::ProbesOff => StepName::ProbesOff,
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
}

/// The names that stand alone; the others are followed by a moment.
const ALONE: [(StepName, &str); 19] = [
    (StepName::Boot, "boot"),
    (StepName::Reset, "reset"),
    (StepName::Make, "make"),
    (StepName::Mount, "mount"),
    (StepName::Settle, "settle"),
    (StepName::Cool, "cool"),
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
    pub const ALL: [At; 5] = [At::Fresh, At::Filled, At::Remounted, At::Emptied, At::Recovered];

    pub fn name(self) -> &'static str {
        match self {
            At::Fresh => "fresh",
            At::Filled => "filled",
            At::Remounted => "remounted",
            At::Emptied => "emptied",
            At::Recovered => "recovered",
        }
    }
}

/// How far the work goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// To its end.
    End,
    /// Only until its files are there, for an integrity check that they are what was written.
    Live,
    /// Until so many operations are done, and not one more: as its engine counts them.
    Operation(u64),
    /// This part alone, counted from 0, where those before it are done, as its engine divides it.
    Part(u32),
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
    fn work_is_the_same_in_whatever_order_it_was_written() {
        let spec =
            |text: &str| WorkSpec { engine: "e".into(), parameters: toml::from_str(text).expect("toml") };
        let one = spec("b = 1\na = [{ y = 1, x = 2 }]\n[c]\nq = 1\np = 2\n");
        let other = spec("a = [{ x = 2, y = 1 }]\nb = 1\n[c]\np = 2\nq = 1\n");
        assert_eq!(one.hash(), other.hash());
        assert_ne!(one.hash(), spec("b = 2").hash());
    }
}
