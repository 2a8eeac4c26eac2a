//! One trial as an agent carries it out: what goes in, read once.

use serde::{Deserialize, Serialize};

use crate::setup::{Argv, Check, Dev, Mount};
use crate::units::Bytes;

/// Counted up with every change of a job or an event that an older agent would misread.
pub const PROTOCOL: u32 = 1;

/// One trial, ready to be carried out: nothing in it must be looked up, and nothing answers while it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    pub protocol: u32,
    /// Names all that the agent makes on the host (memory group, site folder), so that it can be found and removed.
    pub token: String,
    /// `r03/WORKLOAD/LABEL`
    pub trial: String,
    pub attempt: u32,
    #[serde(rename = "role")]
    pub purpose: Purpose,
    pub device: Dev,
    /// The volume given to mkfs.
    pub size: Bytes,
    /// Page cache and workload together; absent = the machine's.
    pub memory: Option<Bytes>,
    /// Modules that a guest's kernel must have loaded, by name or alias; another machine's loads them by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<String>,
    pub steps: Vec<Step>,
    pub work: WorkSpec,
    pub workload_seed: u64,
    /// Between two progress reports; `None` in virtual time.
    pub progress_every_ms: Option<u64>,
    /// The trial fails when its work takes longer.
    pub limit_seconds: u64,
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Counts.
    Measure,
    /// Shows once per cell that what is read back is what was written; never in the statistics.
    #[serde(rename = "proof")]
    Integrity,
}

/// The workload: an engine's name and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkSpec {
    pub engine: String,
    pub parameters: toml::Table,
}

impl WorkSpec {
    /// BLAKE3 of the engine's name and parameters, as they are stored.
    pub fn hash(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }
}

/// One thing the agent does. The list of a job is what is executed, what `--dry-run` prints and what the order test reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// A fresh testbed.
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
    /// The name under which records, reports and messages show it.
    pub fn name(&self) -> String {
        match self {
            Step::Reset => "reset".into(),
            Step::Make { .. } => "make".into(),
            Step::Mount { .. } => "mount".into(),
            Step::Space { at } => format!("space-{}", at.name()),
            Step::Settle { .. } => "settle".into(),
            Step::Cool { .. } => "cool".into(),
            Step::ProbesOn => "probes-on".into(),
            Step::Work { .. } => "work".into(),
            Step::Sync => "sync".into(),
            Step::ProbesOff => "probes-off".into(),
            Step::Verify { at } => format!("verify-{}", at.name()),
            Step::Empty => "empty".into(),
            Step::Unmount => "unmount".into(),
            Step::Check { at, .. } => format!("check-{}", at.name()),
            Step::Revert { .. } => "revert".into(),
            Step::PowerCut => "power-cut".into(),
            Step::Restart => "restart".into(),
            Step::Repair { .. } => "repair".into(),
            Step::MountAgain { .. } => "mount-again".into(),
            Step::FirstFile => "first-file".into(),
            Step::Survivors { .. } => "survivors".into(),
        }
    }
}

/// The moment in a filesystem's life at which something is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
