//! exFAT with Linux's own driver.

use std::ops::RangeInclusive;

use super::capabilities::{fact, linux, no};
use super::lines::{argv, full_check, mkfs, repair_first, syscall};
use super::{
    Argv, Capabilities, Check, DEVICE, Depth, Filesystem, Journal, KernelNeed, Mount, Recovery, Resize,
    Variant,
};
use crate::schema::description::Description;
use crate::schema::units::{Bytes, MIB};

pub struct ExFat;

/// mkfs.exfat 1.2.0 succeeds from 2101248 bytes on, but below 2113536 fsck.exfat reports a wrong root directory. A directory
/// and a few files fit from 2138112 bytes on.
const SMALLEST: u64 = 2_113_536;
/// 2^32 - 11 clusters of 32 MiB, the maximum of the specification.
const LARGEST: u64 = ((1 << 32) - 11) * 32 * MIB;

impl Filesystem for ExFat {
    fn name(&self) -> &'static str {
        "exfat"
    }

    fn description(&self) -> Description {
        Description {
            what: "The extended File Allocation Table: an allocation bitmap and files beyond 4 GiB, designed for \
                memory cards.",
            origin: "Designed by Microsoft, 2006, published in 2019 (exFAT file system specification); the Linux driver comes \
                     from Samsung.",
            limits: "A run measures the Linux driver and says nothing about Windows or a camera.",
        }
    }

    fn package(&self) -> &'static str {
        "exfatprogs"
    }

    /// The default character set is utf8, which is built into the driver.
    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &["exfat"], modules: &["exfat"] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(SMALLEST)..=Bytes(LARGEST)
    }

    fn can(&self) -> Capabilities {
        const FORMAT: &str =
            "exFAT file system specification: directory entries have no field for this feature";
        Capabilities {
            journal: fact(
                Journal::None,
                "exFAT file system specification, which does not include TexFAT, the transactional extension",
            ),
            data_checksums: no(FORMAT),
            metadata_checksums: no(
                "exFAT file system specification: only the boot region and directory entry sets have a checksum",
            ),
            snapshots: no(FORMAT),
            compression: no(FORMAT),
            reflinks: no("ioctl_ficlonerange(2): EOPNOTSUPP"),
            quotas: no(FORMAT),
            hard_links: no("fs/exfat/namei.c has no link operation"),
            symlinks: no("fs/exfat/namei.c has no symlink operation"),
            modes: no("fs/exfat/super.c: the mount options uid=, gid= and umask= apply to all files"),
            acl: no(FORMAT),
            xattr: no(FORMAT),
            sparse_files: no(
                "exFAT file system specification: ValidDataLength can only leave the end of a file \
                unwritten",
            ),
            preallocation: no("measured with fallocate on Linux 6.12: EOPNOTSUPP"),
            case_sensitive: no("exFAT file system specification: names are compared by the up-case table"),
            grow: fact(Resize::No, "exfatprogs has no resize tool"),
            shrink: fact(Resize::No, "exfatprogs has no resize tool"),
            check: fact(Some(Depth::Full), "fsck.exfat(8)"),
            largest_file: fact(Bytes(LARGEST), "fs/exfat/super.c: limited by the volume"),
            root_entries: fact(
                None,
                "exFAT file system specification: the root directory is a chain of clusters",
            ),
            conversion: no("mkfs.exfat(8)"),
            linux: linux("5.7", "exfat", "fs/exfat; a staging driver in 5.4 to 5.6"),
        }
    }

    /// mkfs.exfat has no quiet and no force option, and never discards.
    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkfs.exfat"], variant)]
    }

    fn check(&self) -> Option<Check> {
        full_check(["fsck.exfat", "-n", DEVICE])
    }

    fn recover(&self) -> Recovery {
        repair_first(["fsck.exfat", "-y", DEVICE])
    }

    /// mkfs.exfat 1.2.0 prints its version but returns exit code 1.
    fn version(&self) -> Argv {
        argv(["mkfs.exfat", "-V"])
    }

    fn mount(&self, variant: &Variant) -> Mount {
        syscall("exfat", &[], variant)
    }
}
