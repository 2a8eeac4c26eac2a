//! FAT16 and FAT32 with long names, mounted with Linux's vfat driver.

use std::ops::RangeInclusive;

use super::capabilities::{fact, linux, no};
use super::lines::{argv, full_check, mkfs, repair_first, syscall};
use super::{
    Argv, Capabilities, Check, DEVICE, Depth, Filesystem, Fixed, Journal, KernelNeed, Mount, Recovery,
    Resize, Variant,
};
use crate::schema::description::Description;
use crate::schema::units::{Bytes, GIB};

pub struct Fat {
    name: &'static str,
    bits: &'static str,
    /// Smallest and largest volume, in bytes.
    smallest: u64,
    largest: u64,
    root_entries: Option<u64>,
    since: &'static str,
    story: Description,
}

pub static FAT16: Fat = Fat {
    name: "fat16",
    bits: "16",
    // mkfs.fat 4.2 makes a volume of 8404992 bytes and calls 8400896 bytes "too small".
    smallest: 8_404_992,
    // About 65524 clusters of 64 KiB: mkfs.fat 4.2 makes a volume of 4294660096 bytes and calls 4294664192 bytes "too large".
    largest: 4_294_660_096,
    // mkfs.fat rounds the number of entries up to a whole cluster: 1024 entries above 1 GiB, 2048 above 2 GiB.
    root_entries: Some(512),
    since: "1.3.60",
    story: Description {
        what: "The File Allocation Table with 16-bit cluster numbers, and long names.",
        origin: "Designed by Microsoft and Compaq, 1984 to 1987; long names came with Windows 95; ECMA-107 and Microsoft's \
                 fatgen103 \
            describe it.",
        limits: "A run measures the Linux vfat driver and says nothing about DOS or Windows. A volume above 2147474944 \
            bytes has clusters of 64 KiB, which DOS and Windows 95 cannot read; smaller volumes have clusters of at \
            most 32 KiB. The root directory of FAT16 holds about 512 entries, and a long name takes several of them.",
    },
};

pub static FAT32: Fat = Fat {
    name: "fat32",
    bits: "32",
    // Drivers expect FAT32 to have at least 65525 clusters, which are 512 bytes long in a small volume. mkfs.fat 4.2 makes a
    // volume of 34095104 bytes without a warning, and for smaller volumes warns of "less than suggested minimum".
    smallest: 34_095_104,
    // 2^32 - 1 sectors of 512 bytes; mkfs.fat leaves any further sectors unused.
    largest: 2048 * GIB - 512,
    root_entries: None,
    since: "2.0.34",
    story: Description {
        what: "The File Allocation Table with 28-bit cluster numbers, and long names.",
        origin: "Designed by Microsoft, 1996, for Windows 95 OSR2; Microsoft's fatgen103 describes it.",
        limits: "A run measures the Linux vfat driver and says nothing about Windows. Files are limited to 4 GiB.",
    },
};

impl Filesystem for Fat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> Description {
        self.story.clone()
    }

    fn package(&self) -> &'static str {
        "dosfstools"
    }

    /// The default code page (437) and character set (`ascii` in Debian, `iso8859-1` upstream) are separate modules.
    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &["vfat"], modules: &["nls_cp437", "nls_ascii", "nls_iso8859-1", "vfat"] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(self.smallest)..=Bytes(self.largest)
    }

    fn can(&self) -> Capabilities {
        const FORMAT: &str = "fatgen103: directory entries have no field for this feature";
        const DRIVER: &str = "Documentation/filesystems/vfat.rst";
        Capabilities {
            journal: fact(Journal::None, "fatgen103"),
            data_checksums: no(FORMAT),
            metadata_checksums: no(FORMAT),
            snapshots: no("fatgen103"),
            compression: no(FORMAT),
            reflinks: no("ioctl_ficlonerange(2): EOPNOTSUPP"),
            quotas: no(FORMAT),
            hard_links: no("link(2): EPERM"),
            symlinks: no("symlink(2): EPERM"),
            modes: no(
                "Documentation/filesystems/vfat.rst: the mount options uid=, gid= and umask= apply to all files",
            ),
            acl: no(FORMAT),
            xattr: no(FORMAT),
            sparse_files: no("fatgen103: a chain of clusters has no holes"),
            preallocation: no("fs/fat/file.c: extending a file writes zeros"),
            case_sensitive: no("Documentation/filesystems/vfat.rst: check="),
            grow: fact(Resize::No, "dosfstools has no resize tool; fatresize is a separate package"),
            shrink: fact(Resize::No, "dosfstools has no resize tool; fatresize is a separate package"),
            check: fact(Some(Depth::Full), "fsck.fat(8)"),
            largest_file: fact(Bytes(4 * GIB - 1), "fatgen103: DIR_FileSize has 32 bits"),
            root_entries: fact(self.root_entries, "mkfs.fat(8): -r"),
            conversion: no("mkfs.fat(8)"),
            linux: linux(self.since, "vfat", DRIVER),
        }
    }

    fn fixed(&self) -> Fixed {
        Fixed { mkfs: &["-F"], mount: &[] }
    }

    /// `-I` permits whole disks and mapped devices (mkfs.fat still refuses a mounted device). `--mbr=n` prevents the partition
    /// table that mkfs.fat would write on a whole disk, but not on a partition.
    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkfs.fat", "-I", "--mbr=n", "-F", self.bits], variant)]
    }

    fn check(&self) -> Option<Check> {
        full_check(["fsck.fat", "-n", DEVICE])
    }

    fn recover(&self) -> Recovery {
        repair_first(["fsck.fat", "-a", DEVICE])
    }

    fn version(&self) -> Argv {
        argv(["mkfs.fat", "--help"])
    }

    fn mount(&self, variant: &Variant) -> Mount {
        syscall("vfat", &[], variant)
    }
}

#[cfg(test)]
mod tests {
    use super::super::confirm::tests::mounted;
    use super::*;

    #[test]
    fn the_option_that_makes_it_fat16_is_not_the_users() {
        let variant = Variant { mkfs: vec!["-F32".into()], ..Variant::default() };
        assert!(super::super::accept(&FAT16, &variant).is_err());
    }

    #[test]
    fn masks_are_compared_as_numbers() {
        let seen = mounted(
            "42 27 7:0 / /m rw,relatime - vfat /dev/loop0 \
             rw,fmask=0022,dmask=0022,codepage=437,iocharset=ascii,shortname=mixed,utf8,errors=remount-ro",
        );
        let confirm = |option: &str| {
            let variant = Variant { mount: vec![option.into()], ..Variant::default() };
            FAT32.confirm(&FAT32.mount(&variant), &seen)
        };
        assert_eq!(confirm("fmask=022"), Ok(()));
        assert!(confirm("fmask=077").is_err());
        assert!(confirm("errors=continue").is_err());
    }
}
