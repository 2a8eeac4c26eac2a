//! The memory of a guest in virtual time, which also holds its disks.

use crate::schema::units::{Bytes, MIB};
use crate::storage::disk::layout::Layout;
use crate::testbeds::{Missing, vm};

/// Whether this machine's memory can hold the filesystem's content.
pub fn has_room(content: Bytes, layout: Layout, available: Bytes) -> Result<(), Missing> {
    let whose = if available < layout.room() {
        "is free in this machine's memory"
    } else {
        "a modelled disk can hold"
    };
    let room = available.min(layout.room());
    if content <= room {
        return Ok(());
    }
    Err(Missing {
        what: format!(
            "a filesystem filled with {content} needs as much memory, more than the {room} that {whose}"
        ),
        try_this:
            "a smaller --size, or --state 'allocated 80%', whose files are allocated but have no content"
                .into(),
    })
}

/// The memory that the guest's kernel is told. With a limit its init takes the surplus.
pub fn memory(limit: Option<Bytes>, layout: Layout) -> Bytes {
    /// Page tables for the mapped pages: eight bytes each.
    const PAGE_TABLES: u64 = 512;
    Bytes((vm::memory(limit).0 + layout.mapped().0 / PAGE_TABLES).next_multiple_of(MIB))
}
