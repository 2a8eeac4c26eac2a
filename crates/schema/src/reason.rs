//! The outcome of a trial, and the reason if it was not done. Code decides by the types; the sentences are for people.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::StepName;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Done,
    /// The filesystem, its kernel, a tool or the workload failed. Not repeated.
    Failed,
    /// The filesystem is absent on this machine, or cannot do this work.
    Skipped,
    /// The conditions did not hold, or agent or machine were lost. Says nothing about the filesystem; repeated at most twice.
    Void,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Failed => "failed",
            Outcome::Skipped => "skipped",
            Outcome::Void => "void",
        }
    }
}

/// The subject of a validity check.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// The filesystem is mounted as requested.
    Mount,
    /// Page cache and workload stayed within their limit.
    Memory,
    /// The trial started with empty caches.
    Cold,
    /// Caches were empty before a later part of the work.
    ColdStart,
    /// An fsync reached the device.
    Flush,
    /// The agent's clock agrees with the host's.
    Clock,
    /// The host's page cache holds nothing of a guest's image.
    HostCache,
    /// I/O counted in a guest reaches its disk.
    HostCounters,
    /// Every byte is stored in full.
    Stored,
    /// Data read back equals the data written.
    ReadBack,
    /// Synced data survived the power cut.
    Survivors,
    /// At least half of the data written reached the device.
    Device,
    /// The machine's resources were available to the trial.
    Interference,
    /// The drive below the trial was neither throttled nor reset, and kept its settings.
    Drive,
    /// The work wrote enough and lasted long enough for its figures to be those of a longer one.
    Stationary,
}

impl Condition {
    pub fn title(self) -> &'static str {
        match self {
            Condition::Mount => "mount",
            Condition::Memory => "memory",
            Condition::Cold => "cold",
            Condition::ColdStart => "cold start",
            Condition::Flush => "flush",
            Condition::Clock => "clock",
            Condition::HostCache => "host cache",
            Condition::HostCounters => "host counters",
            Condition::Stored => "stored",
            Condition::ReadBack => "read-back",
            Condition::Survivors => "survivors",
            Condition::Device => "device",
            Condition::Interference => "interference",
            Condition::Drive => "drive",
            Condition::Stationary => "stationary",
        }
    }

    /// Whether a violation means damaged data: a failure of the filesystem, while any other says nothing about it.
    pub fn is_integrity(self) -> bool {
        matches!(self, Condition::ReadBack | Condition::Survivors)
    }
}

/// A condition of the trial, checked by its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct ValidityCheck {
    pub name: Condition,
    pub asked: String,
    pub seen: String,
    pub held: Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    Yes,
    /// The condition does not hold, which voids the trial.
    No,
    /// The condition does not hold, which every report states, but the trial stays valid: data is compressed, packed, or only in the
    /// page cache.
    Label,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Reason {
    /// Ctrl-C or another signal ended the trial.
    Interrupted,
    /// A line from the agent was damaged, missing or out of order.
    DamagedEvent { what: String },
    /// No agent could be started: no space, memory or program.
    Launch { why: String },
    /// The agent or its machine was silent or idle for too long.
    Hung(Loss),
    /// The agent or its machine ended for an unknown reason.
    LostAgent(Loss),
    /// The guest booted another kernel than its candidate's.
    OtherKernel { asked: String, seen: String },
    /// The mount of a directory changed since the run began.
    OtherMount { began: String, now: String },
    /// The claimed disk is no longer as it was claimed.
    OtherDisk { why: String },
    /// The host's disk below the trial is full or fails.
    HostFault { text: String },
    /// A condition of the trial did not hold.
    Validity(ValidityCheck),
    /// The kernel that serves the filesystem panicked.
    Panic(Loss),
    /// A step failed.
    Failed {
        step: StepName,
        operation: String,
        path: String,
        errno: i32,
        text: String,
        #[serde(default, skip_serializing_if = "Blame::is_filesystem")]
        blame: Blame,
    },
    /// Data differs from the data written.
    Integrity(ValidityCheck),
    /// The filesystem is absent or impossible on this machine; the text says what to try.
    Skipped { text: String },
}

/// Whose fault a failed step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// The filesystem's, or that of a tool or workload that used it.
    #[default]
    Filesystem,
    /// The filesystem's: what was read is not what was written.
    Content,
    /// The agent's machine: it has no memory, process or control group for the work, or a part of fsderby there failed.
    Machine,
}

impl Blame {
    pub fn is_filesystem(&self) -> bool {
        *self == Blame::Filesystem
    }
}

/// How a trial lost its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Loss {
    /// The step that had begun and not ended.
    pub during: Option<StepName>,
    pub how: String,
    /// The last lines of the agent's console.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub console: Vec<String>,
}

impl Reason {
    /// A failure of the filesystem gives `Failed`; a failure of machine, agent or conditions gives `Void`.
    pub fn outcome(&self) -> Outcome {
        match self {
            Reason::Interrupted
            | Reason::DamagedEvent { .. }
            | Reason::Launch { .. }
            | Reason::Hung(_)
            | Reason::LostAgent(_)
            | Reason::OtherKernel { .. }
            | Reason::OtherMount { .. }
            | Reason::OtherDisk { .. }
            | Reason::HostFault { .. }
            | Reason::Failed { blame: Blame::Machine, .. }
            | Reason::Validity(_) => Outcome::Void,
            Reason::Panic(_) | Reason::Failed { .. } | Reason::Integrity(_) => Outcome::Failed,
            Reason::Skipped { .. } => Outcome::Skipped,
        }
    }

    /// Whether data read back differs from data written, or synced data is lost.
    pub fn is_integrity(&self) -> bool {
        matches!(self, Reason::Integrity(_) | Reason::Failed { blame: Blame::Content, .. })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Interrupted => write!(f, "interrupted"),
            Reason::DamagedEvent { what } => write!(f, "an event was lost: {what}"),
            Reason::Launch { why } => write!(f, "the trial could not be launched: {why}"),
            Reason::Hung(loss) | Reason::LostAgent(loss) | Reason::Panic(loss) => write!(f, "{loss}"),
            Reason::OtherKernel { asked, seen } => {
                write!(f, "the trial ran on kernel {seen}, but its candidate must run on kernel {asked}")
            }
            Reason::HostFault { text } => {
                write!(
                    f,
                    "a disk of the host failed during the trial, which is no fault of the filesystem: {text}"
                )
            }
            Reason::OtherMount { began, now } => {
                write!(f, "the trial's directory was {began} when the run began, but is {now} now")
            }
            Reason::OtherDisk { why } => write!(f, "the claimed disk may not be used any more: {why}"),
            Reason::Validity(check) | Reason::Integrity(check) => {
                let (name, asked, seen) = (check.name.title(), &check.asked, in_words(&check.seen));
                write!(f, "validity check {name}: required {asked}; observed {seen}")
            }
            Reason::Failed { step, operation, path, text, .. } => {
                write!(f, "{step}: {operation} of {path} failed: {text}")
            }
            Reason::Skipped { text } => write!(f, "{text}"),
        }
    }
}

/// What a check saw, in the words of today: records keep those in which they were written.
pub fn in_words(seen: &str) -> String {
    seen.replace("others had ", "other processes used ")
        .replace("somebody waited ", "a process waited ")
        .replace(", load ", ", load average ")
        .replace(" before it", " before the trial")
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let during = self.during.as_ref().map_or(String::new(), |step| format!(" during {step}"));
        write!(f, "the agent ended{during}: {}", self.how)?;
        match self.console.as_slice() {
            [] => Ok(()),
            lines => write!(f, ": {}", lines.join(" | ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_machine_voids_a_trial_and_other_content_is_damage() {
        let failed = |blame| Reason::Failed {
            step: StepName::Work,
            operation: "read".into(),
            path: "s0/17".into(),
            errno: 0,
            text: "at byte 7, the content differs".into(),
            blame,
        };
        let all = [Blame::Filesystem, Blame::Content, Blame::Machine];
        assert_eq!(
            all.map(|blame| failed(blame).outcome()),
            [Outcome::Failed, Outcome::Failed, Outcome::Void]
        );
        assert_eq!(all.map(|blame| failed(blame).is_integrity()), [false, true, false]);
        // Older records say nothing, and mean the filesystem.
        let said = |blame| serde_json::to_value(failed(blame)).unwrap_or_default()["blame"].clone();
        assert_eq!(all.map(said), [serde_json::Value::Null, "content".into(), "machine".into()]);
    }
}
