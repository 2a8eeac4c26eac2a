//! What a disk is asked, and what it answers.

use serde::{Deserialize, Serialize};

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    Read,
    Write,
    /// All writes that were completed before it was submitted are on the medium when it completes.
    Flush,
    /// The sectors' contents are of no use any more.
    Discard,
}

/// One request. Sectors are of 512 bytes and counted on the whole disk; whoever submits adds a partition's offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Comes back with the completion; the disk gives it no meaning.
    pub tag: u64,
    pub op: Op,
    /// The write is on the medium when it completes ("force unit access").
    pub fua: bool,
    pub sector: u64,
    pub sectors: u32,
}

/// A request is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub tag: u64,
    pub at_ns: u64,
    pub cost: Cost,
}

/// Where a request's time went. The parts add up to the time from its submission to its completion.
///
/// A flush, a FUA write and a write that waits for room in the cache carry the movements that they waited for; what was
/// under way before them counts as queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Waiting for its turn, for others' use of interface and medium.
    pub queue_ns: u64,
    /// The controller's work on the command; on a cloud volume the network's and the service's.
    pub overhead_ns: u64,
    pub seek_ns: u64,
    pub rotation_ns: u64,
    /// The medium: sectors passing under the head; pages of flash read, programmed, erased.
    pub transfer_ns: u64,
    /// The interface between host and disk, where it does not overlap the medium.
    pub interface_ns: u64,
    /// The medium had no part in it: read from a buffer, or written to the cache alone.
    pub from_cache: bool,
}

impl Cost {
    /// From submission to completion.
    pub fn total_ns(&self) -> u64 {
        self.queue_ns + self.service_ns()
    }

    /// Everything but waiting.
    pub(crate) fn service_ns(&self) -> u64 {
        self.overhead_ns + self.seek_ns + self.rotation_ns + self.transfer_ns + self.interface_ns
    }
}

/// The time of sectors at a rate of thousands of bytes a second.
pub(crate) fn wire_ns(sectors: u64, kbps: u64) -> u64 {
    sectors * 512 * 1_000_000 / kbps
}
