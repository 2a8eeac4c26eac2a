//! Memory map of a guest with modelled disks: regions that the guest's kernel does not use. The host maps one file as the
//! guest's memory.
//!
//! ```text
//! address 0          the kernel's own memory
//!         4 GiB      events, requests, the job, and each disk's sectors; with a power cut also the sectors that survive it.
//!                    Pages that are not written take no memory.
//! ```

use super::store;
use crate::schema::job::Job;
use crate::schema::setup::Modelled;
use crate::schema::units::{Bytes, GIB, MIB};

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// Address at which the guest's memory continues above the device hole below 4 GiB.
const HIGH: u64 = 4 * GIB;
/// Memory below that hole in a guest that has more.
pub const LOW: u64 = 3 * GIB;
/// The guest's CPU has 40-bit addresses.
pub const ADDRESSES: u64 = 1 << 40;

/// Memory for events. The range is the same in every guest, so that it is known without a job.
pub const EVENTS: Range = Range { address: HIGH, length: (64 * MIB) as usize };
pub const REQUESTS: Range = Range { address: HIGH + 64 * MIB, length: GIB as usize };
/// Files handed to a guest after boot.
pub const JOB: Range = Range { address: HIGH + 64 * MIB + GIB, length: (64 * MIB) as usize };
const STORES: u64 = HIGH + 64 * MIB + GIB + 64 * MIB;

/// A range of physical addresses in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub address: u64,
    pub length: usize,
}

impl Range {
    /// Offset of this range in the host's file.
    pub fn in_file(self) -> u64 {
        self.address - HIGH + LOW
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of each disk, in whole MiB.
    volume: u64,
    pub disks: u32,
    loses_power: bool,
}

impl Layout {
    /// The layout for this volume size on each disk.
    pub fn new(volume: Bytes, disks: u32, loses_power: bool) -> Self {
        Layout { volume: volume.0.next_multiple_of(MIB), disks, loses_power }
    }

    pub fn of(job: &Job, modelled: &Modelled) -> Self {
        Layout::new(job.volume.size, modelled.all_disks(), job.loses_power())
    }

    /// The sectors of this disk, as reads see them.
    pub fn store(&self, disk: u32) -> Range {
        self.image(disk)
    }

    /// The sectors of this disk that survive a power cut.
    pub fn medium(&self, disk: u32) -> Option<Range> {
        self.loses_power.then(|| self.image(self.disks + disk))
    }

    fn image(&self, number: u32) -> Range {
        let length = store::length(self.volume);
        Range { address: STORES + u64::from(number) * length, length: length as usize }
    }

    /// Bytes of each disk.
    pub fn volume(&self) -> u64 {
        self.volume
    }

    /// Bytes of the sector images that the guest maps at the same time.
    pub fn mapped(&self) -> Bytes {
        Bytes(store::mapped(self.volume).saturating_mul(self.number_of_images()))
    }

    /// Bytes of each disk that can hold non-zero data.
    pub fn room(&self) -> Bytes {
        Bytes(store::room(self.volume))
    }

    /// Total length of all sector images.
    pub fn images(&self) -> Bytes {
        Bytes(store::length(self.volume).saturating_mul(self.number_of_images()))
    }

    fn number_of_images(&self) -> u64 {
        let each = if self.loses_power { 2 } else { 1 };
        u64::from(self.disks) * each
    }

    /// Length of the host's file, which is the guest's memory.
    pub fn file(&self) -> Bytes {
        Bytes((STORES - HIGH + LOW).saturating_add(self.images().0))
    }

    /// Whether the guest's CPU can address all of this memory.
    pub fn is_addressable(&self) -> bool {
        self.file().0.saturating_add(HIGH - LOW) <= ADDRESSES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_images_lie_side_by_side_and_end_with_the_file() {
        let one = Layout::new(Bytes(512 * MIB), 1, false);
        assert_eq!(one.store(0), Range { address: STORES, length: 512 << 20 });
        assert_eq!((one.medium(0), one.file()), (None, Bytes(one.store(0).in_file() + 512 * MIB)));
        let five = Layout::new(Bytes(512 * MIB - 7), 5, true);
        let media = (0..5).filter_map(|disk| five.medium(disk));
        let all: Vec<Range> = (0..5).map(|disk| five.store(disk)).chain(media).collect();
        assert_eq!(all.len(), 10);
        assert!(all.windows(2).all(|pair| pair[0].address + pair[0].length as u64 == pair[1].address));
        assert_eq!(five.file(), Bytes(all[9].in_file() + 512 * MIB));
        assert!(five.is_addressable());
        assert!(!Layout::new(Bytes(100 * GIB), 16, false).is_addressable());
        // Of which only what is written is kept.
        let largest = Layout::new(Bytes(16 << 40), 2, true);
        assert!(largest.is_addressable() && largest.file().0 < 600 * GIB);
        assert_eq!(largest.mapped(), Bytes(4 * GIB));
        assert!(!Layout::new(Bytes(u64::MAX - MIB), 16, true).is_addressable());
    }
}
