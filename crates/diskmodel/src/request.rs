//! Requests and their completions.

use serde::{Deserialize, Serialize};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    Read,
    Write,
    /// Completes when all writes completed before its submission are on the medium.
    Flush,
    /// The contents of the sectors are no longer needed.
    Discard,
}

/// One request. Sectors are 512 bytes and count from the start of the disk; the submitter adds any partition offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Returned unchanged with the completion.
    pub tag: u64,
    pub op: Op,
    /// Force unit access: the write completes only when it is on the medium.
    pub fua: bool,
    pub sector: u64,
    pub sectors: u32,
}

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub tag: u64,
    pub at_ns: u64,
    pub cost: Cost,
}

/// Latency of a request by component. The components add up to the time from submission to completion.
///
/// A flush, a FUA write and a write that waits for cache space include the medium operations they wait for. Operations that
/// began earlier count as queue time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Cost {
    /// Waiting while other requests use the interface or the medium.
    pub queue_ns: u64,
    /// The controller's command processing; on a cloud volume, network and service.
    pub overhead_ns: u64,
    pub seek_ns: u64,
    pub rotation_ns: u64,
    /// Medium transfer: sectors passing under the head, or flash pages read, programmed and erased.
    pub transfer_ns: u64,
    /// Transfer between host and disk, as far as it does not overlap the medium.
    pub interface_ns: u64,
    /// Served without the medium: read from a buffer or written to the cache only.
    pub from_cache: bool,
}

impl Cost {
    /// Time from submission to completion.
    pub fn total_ns(&self) -> u64 {
        self.queue_ns + self.service_ns()
    }

    /// The total without queue time.
    pub(crate) fn service_ns(&self) -> u64 {
        self.overhead_ns + self.seek_ns + self.rotation_ns + self.transfer_ns + self.interface_ns
    }
}

/// Transfer time of `sectors` in nanoseconds, at `kbps` thousand bytes a second.
pub(crate) fn wire_ns(sectors: u64, kbps: u64) -> u64 {
    sectors * 512 * 1_000_000 / kbps
}
