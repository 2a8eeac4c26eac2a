//! What an agent says while it carries a job out: only events, only outward.
//!
//! An event travels as one line of text, `SEQUENCE CRC32 JSON\n`: a running number from 0, the CRC-32 (IEEE) of the JSON
//! in eight hex digits, and the event. A gap or a wrong sum voids the trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::job::{At, StepName};
use crate::setup::{Identity, Mounted, Sandbox};
use crate::units::Bytes;

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
    Step {
        step: StepName,
        clock_ns: u64,
    },
    /// A step has ended well.
    Stepped(Stepped),
    /// The device that a reset brought, and which mkfs is given; with layers, the disks below them all.
    Device {
        path: String,
        bytes: Bytes,
        direct: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        leaves: Vec<String>,
    },
    /// What bounds the tools.
    Sandbox(Sandbox),
    /// Who the worker is, where it gave root's rights up.
    Worker(Identity),
    Mounted(Mounted),
    Space(Space),
    /// The agent lives: how much of the work is done, of how much. None in virtual time.
    Alive {
        done: u64,
        total: u64,
        clock_ns: u64,
    },
    /// Of several clients, what all of them did in it.
    Phase(Phase),
    Histogram(Buckets),
    /// What one of several clients did.
    Client(Client),
    Probe {
        name: String,
        raw: BTreeMap<String, u64>,
    },
    /// What a probe saw change while the work went on.
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
    /// The power may go now. `work` and `phases` are what was done until then.
    PowerCut {
        work: Stepped,
        phases: Vec<Phase>,
        clock_ns: u64,
    },
    Survivors(Survivors),
    /// A step has failed, and with it the trial; what follows is cleaning up.
    Failed {
        step: StepName,
        operation: String,
        path: String,
        errno: i32,
        text: String,
    },
    Done {
        clock_ns: u64,
    },
    Bye {
        events: u64,
        clock_ns: u64,
    },
}

/// What the agent saw of a validity check; the host judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// After the caches were dropped, a file that had been in them was read; so much of it came from the device.
    Cold { asked_bytes: u64, device_bytes_read: Option<u64> },
    /// A cold start without a mount: so many files lost their pages, and whether names and inodes were forgotten too.
    ColdStart { files: u64, all_caches: bool },
    /// What a read of 4 KiB takes on a modelled disk, and what it costs there when the disk takes no time.
    Floor { floor_ns: u64, service_ns: u64 },
}

/// Each counted from the point before: milliseconds, and how many operations of the work were done in them.
pub type Series = Vec<[u64; 2]>;

/// A finished step with what it cost. CPU and faults are those of the command it ran, by wait4, or of the agent's own thread where
/// that made the system calls itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stepped {
    pub step: StepName,
    pub ns: u64,
    pub user_ns: u64,
    pub sys_ns: u64,
    pub minflt: u64,
    pub majflt: u64,
    /// Exit code of the command, 0 for a system call.
    pub status: i32,
    /// The index of the work that it belongs to: put in when it is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<usize>,
    /// Of the work alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Switches>,
    /// Of the work alone: how long it could have gone on and no CPU was free; absent where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
}

/// Context switches of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// It gave the CPU up by itself, to wait for something.
    pub voluntary: u64,
    /// Another was given the CPU while it could have gone on.
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
    /// The index of its workload in the record, where that has several: put in when it is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<usize>,
    pub phase: String,
    pub operation: String,
    pub unit: String,
    /// (highest value that the bucket stands for, how many), rising.
    pub buckets: Vec<(u64, u64)>,
}

impl Buckets {
    /// The line of a file of histograms. Those are most of a run's bytes, and nearly all of their bytes are pairs of numbers: so
    /// these are read here where they are as serde_json writes them, and by serde_json where they are not.
    pub fn from_line(line: &[u8]) -> serde_json::Result<Buckets> {
        const KEY: &[u8] = b",\"buckets\":[";
        let at = line.windows(KEY.len()).position(|window| window == KEY).map(|at| at + KEY.len());
        let split = at.and_then(|at| Some((&line[..at], pairs(line[at..].strip_suffix(b"]}")?)?)));
        let Some((head, buckets)) = split else { return serde_json::from_slice(line) };
        let others: Buckets = serde_json::from_slice(&[head, b"]}"].concat())?;
        Ok(Buckets { buckets, ..others })
    }
}

/// `[1,2],[3,4]`: no blanks, no signs, no leading zeros, at most 19 digits, which always fit.
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
    /// What is free beside them, where a filesystem of our own was asked; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Bytes>,
}

/// One part of a workload, in raw whole numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    pub ns: u64,
    /// Operations and bytes by name: `created`, `read`, `bytes_written`, `fsyncs`.
    pub counts: BTreeMap<String, u64>,
}

/// One of several clients of a work, in raw whole numbers. Times are those of the agent's monotonic clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// From 0.
    pub client: u32,
    /// When it had passed the gate, and when its work was done.
    pub began_ns: u64,
    pub ended_ns: u64,
    pub phases: Vec<ClientPhase>,
    pub cost: Stepped,
}

/// A phase of one client, and when it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
