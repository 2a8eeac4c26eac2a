//! The disks that are modelled, as data: one file each.

use std::fs;

/// Larger than any file that describes a disk.
const LARGEST: u64 = 1 << 20;

/// Every disk by its name, with its file.
pub use fsderby_diskmodel::{SHIPPED as TABLE, Spec};

/// The text of a disk's file, by the disk's name or the file's path.
pub fn text(disk: &str) -> Result<String, String> {
    if let Some((_, text)) = TABLE.iter().find(|(name, _)| *name == disk) {
        return Ok((*text).to_owned());
    }
    if !disk.contains('/') {
        let known = TABLE.iter().map(|(name, _)| *name);
        return Err(
            crate::names::unknown("disk", disk, known) + "; a file is written with a /, as in ./disk.toml"
        );
    }
    match fs::metadata(disk) {
        Ok(about) if about.is_file() && about.len() <= LARGEST => {}
        Ok(_) => return Err(format!("{disk} is no file that could describe a disk")),
        Err(e) => return Err(format!("could not look at {disk}: {e}")),
    }
    fs::read_to_string(disk).map_err(|e| format!("could not read {disk}: {e}"))
}
