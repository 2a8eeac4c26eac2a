//! What stands behind queue and cache: the part of a disk that holds the data.

use crate::counters::Counters;
use crate::dirty::{Choice, Dirty};
use crate::passage::Passage;

/// A read that the medium must serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub slot: usize,
    pub sector: u64,
    pub sectors: u32,
    pub since_ns: u64,
}

impl Read {
    pub fn end(&self) -> u64 {
        self.sector + u64::from(self.sectors)
    }
}

/// What is to be done, out of which the medium chooses.
pub(crate) struct Work<'a> {
    pub reads: &'a mut Vec<Read>,
    pub dirty: &'a mut Dirty,
    /// Which writes somebody waits for, since when.
    pub awaited: Option<(Choice, u64)>,
}

/// Where a medium's operation spent its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Motion {
    pub seek_ns: u64,
    pub rotation_ns: u64,
    pub transfer_ns: u64,
}

impl Motion {
    pub fn total_ns(&self) -> u64 {
        self.seek_ns + self.rotation_ns + self.transfer_ns
    }

    pub fn plus(self, other: Motion) -> Motion {
        Motion {
            seek_ns: self.seek_ns + other.seek_ns,
            rotation_ns: self.rotation_ns + other.rotation_ns,
            transfer_ns: self.transfer_ns + other.transfer_ns,
        }
    }
}

/// What has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Read {
        slot: usize,
    },
    /// A flight has landed.
    Written {
        flight: u64,
    },
    /// A flush that the medium had more to do for.
    Flushed {
        slot: usize,
    },
    /// Work of its own accord.
    Background,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub what: What,
    pub began_ns: u64,
    pub motion: Motion,
    /// How long data has been leaving the medium: the interface can carry them meanwhile.
    pub streamed_ns: u64,
}

/// All calls come in the order of time. A medium never looks ahead of `now_ns`, so what it does depends on the requests
/// alone and not on how often it is asked.
pub(crate) trait Medium {
    /// Whether these sectors are in a buffer of the medium's own.
    fn is_buffered(&mut self, now_ns: u64, sector: u64, sectors: u32) -> bool;

    /// These sectors are written anew: buffers that hold them are out of date.
    fn overwrite(&mut self, now_ns: u64, sector: u64, sectors: u32);

    fn discard(&mut self, now_ns: u64, sector: u64, sectors: u32);

    /// Starts what can be started: takes reads out of `work`, launches extents.
    fn start(&mut self, now_ns: u64, work: &mut Work<'_>);

    /// All launched extents have landed: whether there is nothing further to wait for. Otherwise [`What::Flushed`] follows.
    fn flush(&mut self, now_ns: u64, slot: usize) -> bool;

    fn next_event_ns(&self) -> Option<u64>;

    /// One operation that has ended by now.
    fn finish(&mut self, now_ns: u64) -> Option<Done>;

    /// Whether sectors that have landed would be lost with the power.
    fn is_volatile(&self, _start: u64, _end: u64) -> bool {
        false
    }

    /// From now on its own caches note what passes them. Whether it has such: else what lands out of the cache before it is on
    /// the medium.
    fn watch(&mut self) -> bool {
        false
    }

    /// What its own caches have noted since the last call, in the sectors of the whole disk.
    fn passages(&mut self, _passages: &mut Vec<Passage>) {}

    /// The flight that is being written, and how many of its sectors are on the medium already, one after the other.
    fn written_by(&self, _now_ns: u64) -> Option<(u64, u64)> {
        None
    }

    /// Which sectors its own caches' flights have on the medium already.
    fn torn(&self, _now_ns: u64, _torn: &mut Vec<Passage>) {}

    /// Whether it copies or erases of its own accord, or has since [`Medium::forget_copies`].
    fn has_copied(&self) -> bool {
        false
    }

    /// What it has copied and erased by now is forgotten, what it is at is not.
    fn forget_copies(&mut self) {}

    fn count(&self, now_ns: u64, counters: &mut Counters);
}
