//! Before a mount on this machine's own kernel: whether an error of the filesystem would make it panic.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::StepError;
use crate::filesystems::{self, HEAD};

/// The options with which it is mounted here.
///
/// # Errors
/// If an option or its superblock makes the kernel panic at an error.
pub fn options(device: &Path, fstype: &str, options: &[String]) -> Result<Vec<String>, StepError> {
    let head = || read(device).map_err(|e| format!("could not read its superblock: {e}"));
    filesystems::harmless(fstype, options, head).map_err(|text| StepError::new("mount", device, text))
}

/// The device's first bytes, which stay as cached as they were: a mount after this one is as cold.
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
