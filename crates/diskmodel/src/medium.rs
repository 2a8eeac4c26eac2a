//! The medium: the part of a disk behind queue and cache that stores the data.

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

/// The pending operations from which the medium chooses.
pub(crate) struct Work<'a> {
    pub reads: &'a mut Vec<Read>,
    pub dirty: &'a mut Dirty,
    /// The writes that requests wait for, and the time since which a request has waited.
    pub awaited: Option<(Choice, u64)>,
}

/// A medium operation's time by component.
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

/// The kind of operation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Read {
        slot: usize,
    },
    /// A flight has landed: its sectors are on the medium.
    Written {
        flight: u64,
    },
    /// A flush for which the medium had further work.
    Flushed {
        slot: usize,
    },
    /// Background work that the medium started itself.
    Background,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    pub what: What,
    pub began_ns: u64,
    pub motion: Motion,
    /// How long data has been leaving the medium; during this time the interface can already transfer the data.
    pub streamed_ns: u64,
}

/// Calls come in time order. A medium never looks beyond `now_ns`, so its behaviour depends on the requests alone and not on
/// how often it is called.
pub(crate) trait Medium {
    /// Whether the medium's own buffer holds these sectors.
    fn is_buffered(&mut self, now_ns: u64, sector: u64, sectors: u32) -> bool;

    /// Invalidates buffers that hold these sectors, because they are being overwritten.
    fn overwrite(&mut self, now_ns: u64, sector: u64, sectors: u32);

    fn discard(&mut self, now_ns: u64, sector: u64, sectors: u32);

    /// Starts operations: takes reads out of `work` and launches extents.
    fn start(&mut self, now_ns: u64, work: &mut Work<'_>);

    /// Called once all launched extents have landed. True if the flush is complete; otherwise [`What::Flushed`] follows.
    fn flush(&mut self, now_ns: u64, slot: usize) -> bool;

    fn next_event_ns(&self) -> Option<u64>;

    /// Returns one operation that has ended by now.
    fn finish(&mut self, now_ns: u64) -> Option<Done>;

    /// Whether a power failure would lose landed sectors.
    fn is_volatile(&self, _start: u64, _end: u64) -> bool {
        false
    }

    /// Starts logging in the medium's own caches. False if it has none: landed data is then on the medium.
    fn watch(&mut self) -> bool {
        false
    }

    /// Appends what its own caches logged since the last call, in sectors of the whole disk.
    fn passages(&mut self, _passages: &mut Vec<Passage>) {}

    /// The flight being written, and how many of its sectors, in order from its start, are already on the medium.
    fn written_by(&self, _now_ns: u64) -> Option<(u64, u64)> {
        None
    }

    /// Appends the sectors of its own caches' flights that are already on the medium.
    fn torn(&self, _now_ns: u64, _torn: &mut Vec<Passage>) {}

    /// Whether the medium copies or erases in the background now, or has since [`Medium::forget_copies`].
    fn has_copied(&self) -> bool {
        false
    }

    /// Resets [`Medium::has_copied`] for finished copies and erases; one under way still counts.
    fn forget_copies(&mut self) {}

    fn count(&self, now_ns: u64, counters: &mut Counters);
}
