//! Before a mount on this machine's own kernel: checks whether an error of the filesystem would make the kernel panic.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::StepError;
use crate::filesystems::{self, HEAD};

/// The options with which this machine mounts the filesystem.
///
/// # Errors
/// If an option or the superblock of the filesystem makes the kernel panic at an error.
pub fn options(device: &Path, fstype: &str, options: &[String]) -> Result<Vec<String>, StepError> {
    let head = || read(device).map_err(|e| format!("could not read its superblock: {e}"));
    filesystems::harmless(fstype, options, head).map_err(|text| StepError::new("mount", device, text))
}

/// Reads the device's first bytes without adding them to the page cache, so a later mount is as cold as without this read.
fn read(device: &Path) -> io::Result<Vec<u8>> {
    let direct = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(device);
    match direct {
        Ok(file) => head(file),
        Err(_) => head(File::open(device)?),
    }
}

fn head(file: File) -> io::Result<Vec<u8>> {
    // Direct I/O needs aligned memory, which is somewhere in twice the room.
    let mut memory = vec![0_u8; 2 * HEAD];
    let at = memory.as_ptr().align_offset(HEAD);
    let part = &mut memory[at..at + HEAD];
    let length = file.read_at(part, 0)?;
    Ok(part[..length].to_vec())
}
