//! Events that an agent sends while it executes a job. Events are the agent's only output, and nobody answers them.
//!
//! An event is one line of text, `SEQUENCE CRC32 JSON\n`: a sequence number from 0, the CRC-32 (IEEE) of the JSON in eight hex
//! digits, and the event as JSON. A gap or a wrong checksum voids the trial.

use serde::{Deserialize, Serialize};

use crate::job::{At, StepName};
use crate::reason::Blame;
use crate::setup::{Identity, Mounted, Sandbox};
use crate::shared::Keyed;
use crate::units::Bytes;

/// An agent's event. `clock_ns` is the agent's monotonic clock.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    Hello {
        protocol: u32,
        build: String,
        kernel: String,
        clock_ns: u64,
    },
    Step {
        step: StepName,
        clock_ns: u64,
    },
    /// A step succeeded.
    Stepped(Stepped),
    /// The device created by a reset and given to mkfs; with layers, also the disks below them all.
    Device {
        path: String,
        bytes: Bytes,
        direct: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        leaves: Vec<String>,
    },
    /// The restrictions of the tools.
    Sandbox(Sandbox),
    /// The worker's identity, if it dropped root.
    Worker(Identity),
    Mounted(Mounted),
    Space(Space),
    /// Heartbeat with the progress of the work. Not sent in virtual time.
    Alive {
        done: u64,
        total: u64,
        clock_ns: u64,
    },
    /// The counts of the phase; with several clients, the totals over all clients.
    Phase(Phase),
    Histogram(Buckets),
    /// The result of one of several clients.
    Client(Client),
    Probe {
        name: String,
        raw: Keyed<u64>,
    },
    /// Changes that a probe recorded during the work.
    Series {
        name: String,
        points: Series,
    },
    NotAvailable {
        name: String,
        reason: String,
    },
    Seen(Seen),
    Tree(Tree),
    /// The power may be cut now. `work` and `phases` cover everything before.
    PowerCut {
        work: Stepped,
        phases: Vec<Phase>,
        clock_ns: u64,
    },
    Survivors(Survivors),
    /// The storage below the trial failed: the step that fails next is no fault of the filesystem.
    HostFault {
        text: String,
    },
    /// A step failed, and the trial with it; only cleanup follows.
    Failed {
        step: StepName,
        operation: String,
        path: String,
        errno: i32,
        text: String,
        #[serde(default, skip_serializing_if = "Blame::is_filesystem")]
        blame: Blame,
    },
    Done {
        clock_ns: u64,
    },
    Bye {
        events: u64,
        clock_ns: u64,
    },
}

/// The agent's observation for a validity check; the host judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// After dropping the caches, a formerly cached file was read; this number of bytes came from the device.
    Cold { asked_bytes: u64, device_bytes_read: Option<u64> },
    /// A cold start without a mount: the number of files whose pages were dropped, and whether names and inodes were dropped too.
    ColdStart { files: u64, all_caches: bool },
    /// Processes of the trial were kept from running by a signal, a freezer or the machine's sleep. Sent only where that happened.
    /// `asleep_ns`: the longest time by which a thread that wakes twice a second overslept. `suspended_ns`: the machine's sleep,
    /// which no other time includes. `continued`: a client was stopped and continued.
    Halted { asleep_ns: u64, suspended_ns: u64, continued: bool },
    /// Before each trial on a preconditioned real drive: mean time of a random write at the end of a fixed number of them, beside
    /// the mean of the steady state.
    Washed { writes: u64, write_ns: u64, steady: Steady },
    /// Time of a 4 KiB read on a modelled disk, and the time of the same read when the disk takes no time.
    Floor { floor_ns: u64, service_ns: u64 },
}

/// A real drive that was written twice in order, and then at random for so many rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Steady {
    pub rounds: u32,
    /// Whether the last five rounds were steady.
    pub is_steady: bool,
    /// Mean time of a write in them.
    pub write_ns: u64,
}

/// A machine's sleep up to this length is the tolerance between its two clocks, which cannot be read at the same instant.
pub const SUSPENDED_NS: u64 = 1_000_000;

/// Points relative to the previous one: milliseconds, and operations of the work in that time.
pub type Series = Vec<[u64; 2]>;

/// A finished step with its cost. CPU time and faults are those of its command, by wait4, or of the agent's thread if it made the
/// system calls itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Stepped {
    pub step: StepName,
    pub ns: u64,
    pub user_ns: u64,
    pub sys_ns: u64,
    pub minflt: u64,
    pub majflt: u64,
    /// Exit code of the command, 0 for a system call.
    pub status: i32,
    /// Index of the work that the step belongs to; set when the step is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<usize>,
    /// Context switches of the process; counted for steps of work only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
    /// For steps of work only: how long the process was runnable without a free CPU; absent if the kernel does not report this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
}

/// Context switches of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Switches {
    /// The process gave up the CPU to wait.
    pub voluntary: u64,
    /// The process was preempted while runnable.
    pub involuntary: u64,
}

impl Switches {
    pub fn plus(self, other: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.saturating_add(other.voluntary),
            involuntary: self.involuntary.saturating_add(other.involuntary),
        }
    }
}

/// statvfs at a moment, in bytes and inodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Space {
    pub at: At,
    pub total: Bytes,
    pub free: Bytes,
    /// Space available to an ordinary user.
    pub usable: Bytes,
    /// Number of inodes; 0 if the filesystem allocates inodes dynamically.
    pub inodes: u64,
}

/// State, after a power cut, of the files that had been synced and not deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Survivors {
    /// Number of these files, and their bytes.
    pub files: u64,
    pub bytes: u64,
    /// Whether their directories had been synced too; otherwise no filesystem promises that a name survives.
    pub names_promised: bool,
    /// Files that do not exist any more.
    pub missing: u64,
    /// Files under another name or in another directory, where a repair puts nameless files.
    pub nameless: u64,
    /// Files with changed content.
    pub altered: u64,
    /// The first missing, moved or changed files, one sentence for each file.
    pub lost: Vec<String>,
}

/// A latency histogram at full resolution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Buckets {
    /// Index of its workload in the record, if there are several; set when recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
    pub phase: String,
    pub operation: String,
    pub unit: String,
    /// (highest value of the bucket, count), rising.
    pub buckets: Vec<(u64, u64)>,
}

impl Buckets {
    /// Parses a line of a histogram file. These are most of a run's bytes, and nearly all of their bytes are number pairs.
    /// Pairs in serde_json's own format are parsed here, all others by serde_json.
    pub fn from_line(line: &[u8]) -> serde_json::Result<Buckets> {
        const KEY: &[u8] = b",\"buckets\":[";
        let at = line.windows(KEY.len()).position(|window| window == KEY).map(|at| at + KEY.len());
        let split = at.and_then(|at| Some((&line[..at], pairs(line[at..].strip_suffix(b"]}")?)?)));
        let Some((head, buckets)) = split else { return serde_json::from_slice(line) };
        let others: Buckets = serde_json::from_slice(&[head, b"]}"].concat())?;
        Ok(Buckets { buckets, ..others })
    }
}

/// `[1,2],[3,4]`: no blanks, signs or leading zeros, and at most 19 digits, which always fit.
fn pairs(mut text: &[u8]) -> Option<Vec<(u64, u64)>> {
    let mut pairs = Vec::with_capacity(text.len() / "[123456,1],".len());
    while !text.is_empty() {
        if !pairs.is_empty() {
            text = text.strip_prefix(b",")?;
        }
        let (value, rest) = number(text.strip_prefix(b"[")?)?;
        let (count, rest) = number(rest.strip_prefix(b",")?)?;
        pairs.push((value, count));
        text = rest.strip_prefix(b"]")?;
    }
    Some(pairs)
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_plain = (1..=19).contains(&digits) && (digits == 1 || text[0] != b'0');
    if !is_plain {
        return None;
    }
    let (number, rest) = text.split_at(digits);
    let value = number.iter().fold(0, |value: u64, digit| 10 * value + u64::from(digit - b'0'));
    Some((value, rest))
}

/// The hash of a live tree, and its stored size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Tree {
    pub at: At,
    pub files: u64,
    pub bytes: u64,
    /// Bytes that the files occupy on the device: by their extents on Btrfs, by `st_blocks` less saved blocks on F2FS, otherwise
    /// by `st_blocks`. Records of older versions have `st_blocks` for all.
    pub stored: u64,
    /// Absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// BLAKE3 over the sorted list of paths, sizes and checksums found on the filesystem.
    pub hash: String,
    /// The same hash over the engine's list of expected files, if the engine has such a list.
    pub expected: Option<String>,
    /// Free space, if the trial made the filesystem; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Bytes>,
}

/// Whether a filesystem compressed the content of some files, and how their size on the device was found.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// No file is compressed, as far as the filesystem tells.
    Plain,
    /// Some file is compressed and counted with its compressed size.
    Compressed,
    /// Some file is compressed and counted uncompressed, because the filesystem does not tell its compressed size.
    Uncounted,
}

/// One part of a workload, in raw integers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Phase {
    pub name: String,
    pub ns: u64,
    /// Operations and bytes by name: `created`, `read`, `bytes_written`, `fsyncs`.
    pub counts: Keyed<u64>,
}

/// One of several clients of a work, in raw integers. Times are those of the agent's monotonic clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Client {
    /// Number of the client, from 0.
    pub client: u32,
    /// Time at which the client passed the gate, and time at which its work ended.
    pub began_ns: u64,
    pub ended_ns: u64,
    pub phases: Vec<ClientPhase>,
    pub cost: Stepped,
}

/// A phase of one client, and the time at which the phase ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct ClientPhase {
    pub ended_ns: u64,
    #[serde(flatten)]
    pub phase: Phase,
}

impl ClientPhase {
    pub fn began_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.phase.ns)
    }
}

impl Phase {
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_histograms_is_read_as_serde_json_reads_it() {
        let of = |buckets: &str| {
            format!(r#"{{"phase":"a,\"buckets\":[","operation":"create","unit":"ns","buckets":[{buckets}]}}"#)
        };
        let plain = |buckets: &str| of(buckets).replacen(r#"a,\"buckets\":["#, "work", 1);
        let pairs = [
            "",
            "[1,2]",
            "[0,1],[10,20],[3600000000000,7]",
            "[9999999999999999999,18446744073709551615]",
            "[18446744073709551616,1]",
            "[1, 2]",
            "[01,2]",
            "[-1,2]",
            "[1.0,2]",
            "[1,2],",
            ",[1,2]",
            "[1,2][3,4]",
            "[1]",
            "[1,2,3]",
            "[,2]",
            "[1,2",
            "1,2",
        ];
        for line in pairs.iter().flat_map(|pairs| [of(pairs), plain(pairs)]) {
            let theirs: Result<Buckets, String> = serde_json::from_str(&line).map_err(|e| e.to_string());
            let ours = Buckets::from_line(line.as_bytes()).map_err(|e| e.to_string());
            assert_eq!(ours, theirs, "{line}");
        }
        assert!(Buckets::from_line(br#"{"phase":"work","buckets":[[1,2]]}"#).is_err(), "it lacks the rest");
        assert!(Buckets::from_line(b"").is_err());
    }
}
