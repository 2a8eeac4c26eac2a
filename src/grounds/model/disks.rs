//! The disks that are modelled, as data: one file each.

use std::fs;

/// Larger than any file that describes a disk.
const LARGEST: u64 = 1 << 20;

macro_rules! disks {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../disks/", $name, ".toml")))),*]
    };
}

/// Every disk by its name, with its file.
pub static TABLE: &[(&str, &str)] = disks![
    "3ware-raid5",
    "arena-ide-raid5",
    "cloud-volume",
    "diamondmax-plus-8",
    "fujitsu-mpd3064at",
    "hdd-16tb",
    "hdd-smr",
    "sd-card",
    "ssd-nvme",
    "ssd-sata",
    "wd-caviar-se-160",
    "zero",
];

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
