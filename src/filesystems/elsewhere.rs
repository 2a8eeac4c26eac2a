//! Filesystems that users ask for by name but that fsderby cannot make: the reason, and what to do instead.

use super::TABLE;
use crate::text::names;

/// Another name of a filesystem, and the kinds that this name may stand for.
const OTHER_NAMES: [(&str, &[&str]); 5] = [
    ("vfat", &["fat32", "fat16"]),
    ("fat", &["fat32", "fat16"]),
    ("msdos", &["fat32", "fat16"]),
    ("ntfs3", &["ntfs"]),
    ("nilfs", &["nilfs2"]),
];

/// A filesystem that fsderby cannot make, and the reason.
const NOT_MADE: [(&str, &str); 13] = [
    (
        "zfs",
        "OpenZFS is not part of Linux, and zpool makes and mounts its pools on whole disks, without mkfs and mount",
    ),
    ("openzfs", "OpenZFS is not part of Linux, and zpool makes and mounts its pools, without mkfs and mount"),
    (
        "bcachefs",
        "Linux contains bcachefs only from 6.7 to 6.17; since then driver and tools come from its authors and must match",
    ),
    ("reiser4", "no release of Linux contains this filesystem, only patches do"),
    ("hammer2", "Linux has no driver for this filesystem"),
    ("ufs", "Linux can write UFS only with an option marked dangerous, and has no mkfs for UFS"),
    ("apfs", "Linux has no driver for this filesystem"),
    ("hfsplus", "fsderby has no mkfs and mount options for this filesystem yet"),
    ("udf", "fsderby has no mkfs and mount options for this filesystem yet"),
    ("tmpfs", "tmpfs is in memory and cannot be made on a disk"),
    ("overlay", "overlay joins directories of other filesystems and has no mkfs"),
    ("nfs", "a network filesystem is exported by a server and has no mkfs"),
    ("cifs", "a network filesystem is exported by a server and has no mkfs"),
];

/// The message about a name that is not the name of a kind.
pub fn unknown(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    if let Some((_, why)) = NOT_MADE.iter().find(|(known, _)| *known == lower) {
        return format!(
            "fsderby cannot make {name}: {why}\n  try: mount it and run fsderby run --on directory:/PATH, without \
             --filesystems; repeat --on to compare several mounted filesystems"
        );
    }
    if let Some((_, kinds)) = OTHER_NAMES.iter().find(|(known, _)| *known == lower) {
        return format!("unknown filesystem '{name}'; did you mean {}?", names::listing(kinds, "or"));
    }
    names::unknown("filesystem", name, TABLE.iter().map(|kind| kind.name()))
}

/// Whether [`unknown`] has more to say about this name than that the name is unknown.
pub fn is_known(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let others = OTHER_NAMES.iter().map(|(known, _)| *known);
    NOT_MADE.iter().map(|(known, _)| *known).chain(others).any(|known| known == lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filesystem_that_cannot_be_made_has_a_reason_and_a_way() {
        for (name, why) in NOT_MADE {
            let said = unknown(name);
            assert!(said.contains(why) && said.contains("--on directory:/PATH"), "{said}");
            assert!(super::super::find(name).is_none(), "{name} is a kind now");
        }
        assert!(unknown("ZFS").contains("cannot make ZFS: OpenZFS"));
    }

    #[test]
    fn another_name_leads_to_kinds_that_there_are() {
        for (name, kinds) in OTHER_NAMES {
            assert!(super::super::find(name).is_none(), "{name} is a kind now");
            for kind in kinds {
                assert!(super::super::find(kind).is_some(), "{kind} is no kind");
                assert!(unknown(name).contains(&format!("'{kind}'")));
            }
        }
        assert!(unknown("ext5").starts_with("unknown filesystem 'ext5'; did you mean 'ext2' or 'ext4'?"));
    }
}
