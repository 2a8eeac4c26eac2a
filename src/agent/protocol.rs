//! What goes into the agent and what comes out: one job, read once; then only events, outward.
//!
//! An event travels as one line of text, `SEQUENCE CRC32 JSON\n`: a running number from 0, the CRC-32 (IEEE) of the JSON
//! in eight hex digits, and the event. A gap or a wrong sum voids the trial.

use std::collections::BTreeMap;

use fsderby_diskmodel::Sample;
use serde::{Deserialize, Serialize};

use crate::filesystems::{Argv, Check, Mount};
use crate::units::Bytes;
use crate::workloads::{Phase, Until};

/// Counted up with every change of [`Job`] or [`Event`] that an older agent would misread.
pub const PROTOCOL: u32 = 1;

/// What [`Event::Seen`] calls a cold start without a mount: `all_caches` is 1 where names and inodes are forgotten too.
pub const COLD_START: &str = "cold-start";

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
    /// Between two [`Event::Tick`]s; `None` in virtual time.
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

/// The device in the agent's world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dev {
    /// A fresh image of ours in this folder, behind a loop device.
    Image { folder: String, state: ImageState },
    /// In a guest: the disk that its machine gave it, a fresh image of the host's in this folder. `direct`: the host's page cache
    /// is kept out.
    Block { path: String, folder: String, state: ImageState, direct: bool },
    /// In a guest: a part of a disk that is modelled there, in virtual time.
    Model(Modelled),
    /// No device: an existing folder, in which a site is made and removed.
    Folder { path: String },
}

impl Dev {
    /// Whether the job is for a machine of its own.
    pub fn is_guests(&self) -> bool {
        matches!(self, Dev::Block { .. } | Dev::Model(_))
    }
}

/// A part of a modelled disk, and the machine that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modelled {
    pub disk: String,
    /// Of the disk's file.
    pub blake3: String,
    /// Where the volume begins on the disk.
    pub offset: Bytes,
    /// Million instructions a second.
    pub mips: u32,
    /// What is taken of the ensemble.
    #[serde(rename = "draw")]
    pub sample: Sample,
    /// Of the guest's random numbers.
    pub guest_seed: u64,
}

/// In which state each trial finds its image; it shifts results up to 1.6 times, so it is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageState {
    /// Nothing allocated on the host.
    Sparse,
    /// All of it reserved on the host, nothing written: a full host cannot pass for a full filesystem.
    #[default]
    Allocated,
    /// All of it written once.
    Written,
}

impl ImageState {
    pub const ALL: [ImageState; 3] = [ImageState::Sparse, ImageState::Allocated, ImageState::Written];

    pub fn name(self) -> &'static str {
        match self {
            ImageState::Sparse => "sparse",
            ImageState::Allocated => "allocated",
            ImageState::Written => "written",
        }
    }
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

/// What the agent says. `clock_ns` is the agent's monotonic clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    Hello {
        protocol: u32,
        build: String,
        kernel: String,
        clock_ns: u64,
    },
    Trial {
        trial: String,
        attempt: u32,
        clock_ns: u64,
    },
    Step {
        step: String,
        clock_ns: u64,
    },
    /// A step has ended well.
    Stepped(Stepped),
    /// The device that a reset brought.
    Device {
        path: String,
        bytes: Bytes,
        direct: bool,
    },
    Mounted(crate::filesystems::Mounted),
    Space(Space),
    /// Progress and heartbeat; none in virtual time.
    Tick {
        done: u64,
        total: u64,
        clock_ns: u64,
    },
    Phase(Phase),
    Histogram(Buckets),
    Probe {
        name: String,
        raw: BTreeMap<String, u64>,
    },
    NotAvailable {
        name: String,
        reason: String,
    },
    /// What was seen of a validity check; the host judges it.
    Seen {
        check: String,
        raw: BTreeMap<String, u64>,
    },
    Tree(Tree),
    /// The power may go now. `work` and `phases` are what was done until then.
    PowerCut {
        work: Stepped,
        phases: Vec<Phase>,
        clock_ns: u64,
    },
    Survivors(Survivors),
    /// A step has failed, and with it the trial; what follows is cleaning up.
    Failed {
        step: String,
        operation: String,
        path: String,
        errno: i32,
        text: String,
    },
    Done {
        trial: String,
        clock_ns: u64,
    },
    Bye {
        events: u64,
        clock_ns: u64,
    },
}

/// A finished step with what it cost. CPU and faults are those of the command it ran, by wait4; 0 for a system call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stepped {
    pub step: String,
    pub ns: u64,
    pub user_ns: u64,
    pub sys_ns: u64,
    pub minflt: u64,
    pub majflt: u64,
    /// Exit code of the command, 0 for a system call.
    pub status: i32,
}

/// statvfs at a moment, in bytes and inodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    pub at: At,
    pub total: Bytes,
    pub free: Bytes,
    /// What an ordinary user may fill.
    pub usable: Bytes,
    /// 0 where inodes are made as they are needed.
    pub inodes: u64,
}

/// What is left, after a power cut, of the files that had been synced and not deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivors {
    /// How many there were, and their bytes.
    pub files: u64,
    pub bytes: u64,
    /// Whether their folders had been synced too, without which nobody promises that a name survives.
    pub names_promised: bool,
    /// Not there at all.
    pub missing: u64,
    /// There, under another name or in another folder, where a repair puts what it finds nameless.
    pub nameless: u64,
    /// There, with other content than was written.
    pub altered: u64,
    /// The first of all three, one sentence each.
    pub lost: Vec<String>,
}

/// A latency histogram at full resolution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buckets {
    pub phase: String,
    pub operation: String,
    pub unit: String,
    /// (highest value that the bucket stands for, how many), rising.
    pub buckets: Vec<(u64, u64)>,
}

/// The hash of a live tree, and how it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    pub at: At,
    pub files: u64,
    pub bytes: u64,
    /// Bytes of the blocks that the filesystem says the files occupy.
    pub stored: u64,
    /// BLAKE3 over the sorted list of paths, sizes and checksums as they are on the filesystem.
    pub hash: String,
    /// The same over what the engine says must be there, where it says so.
    pub expected: Option<String>,
}

#[cfg(test)]
mod tests {
    use fsderby_diskmodel::CachePolicy;

    use super::*;

    #[test]
    fn a_record_from_before_the_position_and_the_cpu_were_drawn_is_still_read() {
        let text = r#"{"model":{"disk":"diamondmax-plus-8","blake3":"","offset":38654705664,"mips":250,"draw":{"seek_permille":-12,
                       "cache":"small","segments_permille":40,"seed":9},"guest_seed":7}}"#;
        let Dev::Model(modelled) = serde_json::from_str(text).expect("it is read") else { panic!("a model") };
        let cache = CachePolicy::Small;
        let sample = Sample { seek_permille: -12, cache, segments_permille: 40, seed: 9, ..Sample::NOMINAL };
        assert_eq!((modelled.sample, modelled.mips), (sample, 250));
    }
}
