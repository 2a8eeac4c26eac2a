//! The disk's record of each request, passed from a guest to the host: fixed length, little-endian.
//!
//! Requests are in order of completion. After a power cut the next boot has a new clock, so times are relative to a boot.

use fsderby_diskmodel::{Completion, Op, Request};

/// Bytes of one record.
pub const LENGTH: usize = 48;

/// One request and its latency by component, in nanoseconds of the guest's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    pub arrived_ns: u64,
    pub done_ns: u64,
    /// First sector of the request, counted from the start of the whole disk.
    pub sector: u64,
    pub sectors: u32,
    pub op: Op,
    pub fua: bool,
    /// Whether the disk served the request without the medium.
    pub from_cache: bool,
    /// Number of requests in the disk when this request arrived, itself included.
    pub depth: u8,
    pub seek_ns: u32,
    pub rotation_ns: u32,
    pub transfer_ns: u32,
    pub overhead_ns: u32,
    /// Index of the guest's disk, from 0.
    pub disk: u8,
    /// Number of earlier power cuts.
    pub life: u8,
}

/// Maximum number of distinguishable disks and boots.
pub const MOST: u8 = 16;

impl Served {
    pub fn new(request: Request, arrived_ns: u64, depth: usize, done: &Completion) -> Self {
        let short = |ns: u64| u32::try_from(ns).unwrap_or(u32::MAX);
        Served {
            arrived_ns,
            done_ns: done.at_ns,
            sector: request.sector,
            sectors: request.sectors,
            op: request.op,
            fua: request.fua,
            from_cache: done.cost.from_cache,
            depth: u8::try_from(depth).unwrap_or(u8::MAX),
            seek_ns: short(done.cost.seek_ns),
            rotation_ns: short(done.cost.rotation_ns),
            transfer_ns: short(done.cost.transfer_ns),
            overhead_ns: short(done.cost.overhead_ns),
            disk: 0,
            life: 0,
        }
    }

    pub fn to_bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0..8].copy_from_slice(&self.arrived_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.done_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sector.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.sectors.to_le_bytes());
        let op = match self.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Flush => 2,
            Op::Discard => 3,
        };
        // The low bit is the flag, the four high bits are the number.
        let [disk, life] = [self.disk, self.life].map(|n| n.min(MOST - 1) << 4);
        let (fua, from_cache) = (u8::from(self.fua) | disk, u8::from(self.from_cache) | life);
        bytes[28..32].copy_from_slice(&[op, fua, from_cache, self.depth]);
        let parts = [self.seek_ns, self.rotation_ns, self.transfer_ns, self.overhead_ns];
        for (place, part) in bytes[32..].chunks_exact_mut(4).zip(parts) {
            place.copy_from_slice(&part.to_le_bytes());
        }
        bytes
    }

    /// `None` if [`Served::to_bytes`] cannot have written these bytes.
    pub fn from_bytes(bytes: &[u8; LENGTH]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_le_bytes(bytes[at..at + 8].try_into().ok()?));
        let short = |at: usize| Some(u32::from_le_bytes(bytes[at..at + 4].try_into().ok()?));
        let op = match bytes[28] {
            0 => Op::Read,
            1 => Op::Write,
            2 => Op::Flush,
            3 => Op::Discard,
            _ => return None,
        };
        Some(Served {
            arrived_ns: long(0)?,
            done_ns: long(8)?,
            sector: long(16)?,
            sectors: short(24)?,
            op,
            fua: bytes[29] & 1 == 1,
            from_cache: bytes[30] & 1 == 1,
            depth: bytes[31],
            seek_ns: short(32)?,
            rotation_ns: short(36)?,
            transfer_ns: short(40)?,
            overhead_ns: short(44)?,
            disk: bytes[29] >> 4,
            life: bytes[30] >> 4,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_the_first_disk_of_the_first_life_has_only_its_flags() {
        let served = Served {
            arrived_ns: 1 << 40,
            done_ns: (1 << 40) + 7,
            sector: 1 << 33,
            sectors: 256,
            op: Op::Write,
            fua: true,
            from_cache: false,
            depth: 3,
            seek_ns: 1,
            rotation_ns: 2,
            transfer_ns: 3,
            overhead_ns: 4,
            disk: 0,
            life: 0,
        };
        assert_eq!(served.to_bytes()[28..32], [1, 1, 0, 3]);
        for (disk, life) in [(0, 0), (4, 0), (0, 1), (15, 15)] {
            let served = Served { disk, life, ..served };
            assert_eq!(Served::from_bytes(&served.to_bytes()), Some(served));
        }
        let mut other = served.to_bytes();
        other[28] = 9;
        assert_eq!(Served::from_bytes(&other), None);
    }
}
