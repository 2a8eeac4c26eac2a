//! JFS, IBM's journaled filesystem.

use std::ops::RangeInclusive;

use super::capabilities::{fact, linux, no, yes};
use super::lines::{argv, full_check, mkfs, repair_first, syscall};
use super::{
    Argv, Capabilities, Check, DEVICE, Depth, Filesystem, Journal, KernelNeed, Mount, Recovery, Resize,
    Variant,
};
use crate::schema::description::Description;
use crate::schema::units::{Bytes, MIB};

pub struct Jfs;

/// mkfs.jfs 1.1.15: "Partition must be at least 16 megabytes."
const SMALLEST: u64 = 16 * MIB;
/// 40-bit block numbers and blocks of 4 KiB limit volumes and files to 4 PiB.
const LARGEST: u64 = 4096 << 40;

impl Filesystem for Jfs {
    fn name(&self) -> &'static str {
        "jfs"
    }

    fn description(&self) -> Description {
        Description {
            what: "IBM's journaled filesystem: extents in B+ trees, dynamically allocated inodes, a metadata \
                journal.",
            origin: "Written by IBM for OS/2 Warp Server of 1999, in Linux since 2.5.6 of 2002; Documentation/admin-guide/jfs.rst.",
            limits: "The JFS driver does not replay the log: after a power cut fsck.jfs must run before the mount, and \
                the time of fsck.jfs is part of the recovery time. The fsck.jfs of Debian 12 (1.1.15-5) fails to \
                replay the log and drops every file that only the log had; the same release rebuilt from source \
                recovers these files.",
        }
    }

    fn package(&self) -> &'static str {
        "jfsutils"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &["jfs"], modules: &["jfs"] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(SMALLEST)..=Bytes(LARGEST)
    }

    fn can(&self) -> Capabilities {
        const FORMAT: &str = "fs/jfs/jfs_superblock.h: the superblock has no flag for this feature";
        const DRIVER: &str = "fs/jfs/namei.c";
        Capabilities {
            journal: fact(Journal::Metadata, "Documentation/admin-guide/jfs.rst"),
            data_checksums: no(FORMAT),
            metadata_checksums: no(FORMAT),
            snapshots: no(FORMAT),
            compression: no(FORMAT),
            reflinks: no("ioctl_ficlonerange(2): EOPNOTSUPP"),
            quotas: yes("Documentation/admin-guide/jfs.rst: usrquota, grpquota"),
            hard_links: yes(DRIVER),
            symlinks: yes(DRIVER),
            modes: yes(DRIVER),
            acl: yes("CONFIG_JFS_POSIX_ACL"),
            xattr: yes("fs/jfs/xattr.c"),
            sparse_files: yes("fs/jfs/inode.c"),
            preallocation: no("measured with fallocate on Linux 6.12: EOPNOTSUPP"),
            case_sensitive: yes("mkfs.jfs(8): names are case-sensitive unless made with -O"),
            grow: fact(Resize::Mounted, "Documentation/admin-guide/jfs.rst: remount with resize"),
            shrink: fact(Resize::No, "Documentation/admin-guide/jfs.rst"),
            check: fact(Some(Depth::Full), "jfs_fsck(8)"),
            largest_file: fact(Bytes(LARGEST), "fs/jfs/super.c: logical blocks have 40 bits"),
            root_entries: fact(None, DRIVER),
            conversion: no("mkfs.jfs(8)"),
            linux: linux("2.5.6", "jfs", "fs/jfs; in the 2.4 series since 2.4.20"),
        }
    }

    /// The quiet option suppresses questions; mkfs.jfs never discards.
    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkfs.jfs", "-q"], variant)]
    }

    /// An fsync sends no flush: lbmStartIO in fs/jfs/jfs_logmgr.c requests neither flush nor FUA, and jfs_fsync sends no flush.
    /// Measured on Linux 6.12: 25 fsyncs, no flush.
    fn flushes_on_fsync(&self) -> bool {
        false
    }

    fn check(&self) -> Option<Check> {
        full_check(["fsck.jfs", "-n", "-f", DEVICE])
    }

    /// The driver mounts a dirty volume at best read-only, so fsck.jfs must replay the log first.
    fn recover(&self) -> Recovery {
        repair_first(["fsck.jfs", "-a", DEVICE])
    }

    fn version(&self) -> Argv {
        argv(["mkfs.jfs", "-V"])
    }

    fn mount(&self, variant: &Variant) -> Mount {
        syscall("jfs", &[], variant)
    }
}
