//! The modelled disks, as data: one file each.

use super::files;

/// Every disk by its name, with its file.
pub use fsderby_diskmodel::{SHIPPED as TABLE, Spec};

/// The text of a disk's file, by the disk's name or the file's path.
pub fn text(disk: &str) -> Result<String, String> {
    files::text("disk", TABLE, disk)
}
