//! Whether O_DIRECT has its effect in the current folder: tried, because a filesystem may accept the flag and use its page cache.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use fsderby_sys::page_cache::cached_bytes;
use rustix::fs::{Advice, OFlags, fadvise};
use rustix::pipe::{SpliceFlags, pipe, splice};

use crate::schema::units::KIB;

const NAME: &str = ".fsderby-direct";
const PAGE: usize = 4 * KIB as usize;
/// As many as a pipe holds.
const LENGTH: usize = 16 * PAGE;

/// Pages that were written and read with O_DIRECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bypass {
    pub pages: u64,
    /// Those that went through the page cache.
    pub cached: u64,
}

/// `None` if the filesystem refuses O_DIRECT.
///
/// # Errors
/// If the file cannot be made, written, read or removed.
pub fn tried() -> io::Result<Option<Bypass>> {
    let tried = try_on(NAME);
    match fs::remove_file(NAME) {
        Err(e) if tried.is_ok() => Err(e),
        _ => tried,
    }
}

/// A direct write removes the file's pages from the cache, even those in use. A buffered write leaves pages in use where they
/// are, even if it removes the others afterwards. A pipe uses them here.
fn try_on(name: &str) -> io::Result<Option<Bypass>> {
    let plain = OpenOptions::new().read(true).write(true).create_new(true).open(name)?;
    plain.write_all_at(&[1; LENGTH], 0)?;
    plain.sync_all()?;
    let flags = OFlags::DIRECT.bits().cast_signed();
    let direct = match OpenOptions::new().read(true).write(true).custom_flags(flags).open(name) {
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => return Ok(None),
        opened => opened?,
    };
    let (_end, begin) = pipe()?;
    let mut from = 0;
    let used = splice(&plain, Some(&mut from), &begin, None, LENGTH, SpliceFlags::NONBLOCK)?;
    // Direct I/O needs aligned memory, which is somewhere in twice the room.
    let mut memory = vec![2; 2 * LENGTH];
    let at = memory.as_ptr().align_offset(LENGTH);
    let aligned = &mut memory[at..at + LENGTH];
    direct.write_all_at(&aligned[..used], 0)?;
    let written = cached_bytes(&plain)?.min(used as u64);
    drop((_end, begin));
    plain.sync_all()?;
    fadvise(&plain, 0, None, Advice::DontNeed)?;
    let before = cached_bytes(&plain)?;
    direct.read_exact_at(aligned, 0)?;
    let read = cached_bytes(&plain)?.saturating_sub(before);
    let pages = |bytes: u64| bytes / PAGE as u64;
    Ok(Some(Bypass { pages: pages(used as u64 + LENGTH as u64), cached: pages(written + read) }))
}
