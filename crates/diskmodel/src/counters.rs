//! Activity totals of a disk.

use serde::{Deserialize, Serialize};

use crate::evidence::Access;
use crate::request::{Op, Request};

/// Totals since the drive was created. Times are the mechanism's, background work included. They are sums over members for a
/// RAID and over dies for flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Counters {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    pub discards: u64,
    pub sectors_read: u64,
    pub sectors_written: u64,
    /// Reads served without the medium.
    pub read_hits: u64,
    /// Reads that joined a read-ahead under way and so needed no seek.
    pub stream_hits: u64,
    /// Writes that completed in the cache.
    pub writes_cached: u64,

    pub seek_ns: u64,
    pub rotation_ns: u64,
    pub transfer_ns: u64,
    pub overhead_ns: u64,
    /// Idle time of the mechanism from creation up to the last event.
    pub idle_ns: u64,
    /// Number of the mechanism's operations, and number of sectors that they transferred.
    pub media_reads: u64,
    pub media_writes: u64,
    pub media_sectors_read: u64,
    pub media_sectors_written: u64,
    pub sectors_read_ahead: u64,
    /// Sectors from the write cache to the medium.
    pub sectors_destaged: u64,

    /// RAID: requests from the controller to its members.
    pub member_reads: u64,
    pub member_writes: u64,
    pub stripes_whole: u64,
    pub stripes_patched: u64,

    /// Shingled disks: bands rewritten.
    pub bands_rewritten: u64,

    /// Counters of flash disks. Write amplification is `units_programmed` ÷ `units_written`.
    pub units_written: u64,
    pub units_programmed: u64,
    pub units_copied: u64,
    pub erases: u64,
    /// The part of `transfer_ns` that background copying and erasing took.
    pub copy_ns: u64,

    /// Time with outstanding requests, each nanosecond once, split by access (see `waits.rs`). Absent in older records.
    #[serde(default)]
    pub waited_reads_ns: u64,
    #[serde(default)]
    pub waited_queued_ns: u64,
    #[serde(default)]
    pub waited_streams_ns: u64,
    #[serde(default)]
    pub waited_flushes_ns: u64,
    #[serde(default)]
    pub waited_copying_ns: u64,
}

impl Counters {
    /// Time attributed to this access.
    pub fn waited_ns(&self, access: Access) -> u64 {
        match access {
            Access::Reads => self.waited_reads_ns,
            Access::Queued => self.waited_queued_ns,
            Access::Streams => self.waited_streams_ns,
            Access::Flushes => self.waited_flushes_ns,
            Access::Copying => self.waited_copying_ns,
        }
    }

    pub(crate) fn waited_mut(&mut self, access: Access) -> &mut u64 {
        match access {
            Access::Reads => &mut self.waited_reads_ns,
            Access::Queued => &mut self.waited_queued_ns,
            Access::Streams => &mut self.waited_streams_ns,
            Access::Flushes => &mut self.waited_flushes_ns,
            Access::Copying => &mut self.waited_copying_ns,
        }
    }

    /// Requests of all kinds.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes + self.flushes + self.discards
    }

    pub(crate) fn count_request(&mut self, request: &Request) {
        match request.op {
            Op::Read => {
                self.reads += 1;
                self.sectors_read += u64::from(request.sectors);
            }
            Op::Write => {
                self.writes += 1;
                self.sectors_written += u64::from(request.sectors);
            }
            Op::Flush => self.flushes += 1,
            Op::Discard => self.discards += 1,
        }
    }

    /// Adds the mechanism's counters of a RAID member.
    pub(crate) fn add_mechanism(&mut self, other: &Counters) {
        self.seek_ns += other.seek_ns;
        self.rotation_ns += other.rotation_ns;
        self.transfer_ns += other.transfer_ns;
        self.idle_ns += other.idle_ns;
        self.media_reads += other.media_reads;
        self.media_writes += other.media_writes;
        self.media_sectors_read += other.media_sectors_read;
        self.media_sectors_written += other.media_sectors_written;
        self.sectors_read_ahead += other.sectors_read_ahead;
        self.bands_rewritten += other.bands_rewritten;
    }

    pub(crate) fn add_flash(&mut self, other: &Counters) {
        self.units_written += other.units_written;
        self.units_programmed += other.units_programmed;
        self.units_copied += other.units_copied;
        self.erases += other.erases;
        self.copy_ns += other.copy_ns;
    }
}
