//! Where a guest with a modelled disk finds what its kernel does not know of: one file of the host's, mapped as its memory.
//!
//! ```text
//! address 0          the kernel's own memory, far less than it could have
//!         4 GiB      events, requests, the disk's sectors; each written from its beginning, so only what is used costs
//! ```

use crate::schema::units::{Bytes, GIB, MIB};

/// Where the machine's memory goes on above the hole that devices have below 4 GiB.
const HIGH: u64 = 4 * GIB;
/// How much of the machine's memory lies below that hole, in a machine that has more.
pub const LOW: u64 = 3 * GIB;
const EVENTS: u64 = 64 * MIB;
const REQUESTS: u64 = GIB;

/// Physical addresses in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub address: u64,
    pub length: usize,
}

impl Range {
    /// Where it begins in the host's file.
    pub fn in_file(self) -> u64 {
        self.address - HIGH + LOW
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub events: Range,
    pub requests: Range,
    pub store: Range,
}

impl Layout {
    /// For a volume of so many bytes of the disk.
    pub fn new(volume: Bytes) -> Self {
        let range = |address, length| Range { address, length: length as usize };
        Layout {
            events: range(HIGH, EVENTS),
            requests: range(HIGH + EVENTS, REQUESTS),
            store: range(HIGH + EVENTS + REQUESTS, volume.0.next_multiple_of(MIB)),
        }
    }

    /// The length of the host's file, and with it the machine's memory.
    pub fn file(&self) -> Bytes {
        Bytes(self.store.in_file() + self.store.length as u64)
    }
}
