//! NILFS2, the log-structured filesystem with continuous snapshots.

use std::ops::RangeInclusive;

use super::capabilities::{fact, linux, no, yes};
use super::lines::{argv, mkfs, replay_on_mount, syscall};
use super::{
    Argv, Capabilities, Check, Fact, Filesystem, Journal, KernelNeed, Mount, Recovery, Resize, Variant,
};
use crate::schema::description::Description;
use crate::schema::units::Bytes;

pub struct Nilfs2;

/// mkfs.nilfs2 2.2.9: "required size=134221824 bytes", which is 128 MiB and one block.
const SMALLEST: u64 = 134_221_824;
/// The largest block device and file that Linux can address; the format has 64-bit block numbers.
const LARGEST: u64 = i64::MAX as u64;

impl Filesystem for Nilfs2 {
    fn name(&self) -> &'static str {
        "nilfs2"
    }

    fn description(&self) -> Description {
        Description {
            what: "A log-structured filesystem: one log that is never overwritten, with a checkpoint every few \
                seconds; a checkpoint can become a snapshot.",
            origin: "Written by Ryusuke Konishi at NTT, in Linux since 2.6.30 of 2009 (The Linux Implementation of a \
                     Log-Structured File \
                System, 2006); Documentation/filesystems/nilfs2.rst.",
            limits: "NILFS2 is mounted without its helper mount.nilfs2, so nilfs_cleanerd does not run and old \
                segments are never freed. In a test, a volume of 512 MiB was full after 410 MiB of writes, although \
                every file was deleted at once. So a workload fails once it has written as many bytes as the volume \
                holds. Even with nilfs_cleanerd and its default settings, a workload that writes this amount in less \
                than an hour would fail. NILFS2 has no check and keeps no access times.",
        }
    }

    fn package(&self) -> &'static str {
        "nilfs-tools"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &["nilfs2"], modules: &["nilfs2"] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(SMALLEST)..=Bytes(LARGEST)
    }

    fn can(&self) -> Capabilities {
        const DOC: &str = "Documentation/filesystems/nilfs2.rst";
        const MISSING: &str = "Documentation/filesystems/nilfs2.rst: not supported yet";
        const LOG: &str = "include/uapi/linux/nilfs2_ondisk.h: log checksums are verified only at recovery";
        const DRIVER: &str = "fs/nilfs2/namei.c";
        Capabilities {
            journal: fact(Journal::CopyOnWrite, DOC),
            data_checksums: no(LOG),
            metadata_checksums: no(LOG),
            snapshots: yes(DOC),
            compression: no("include/uapi/linux/nilfs2_ondisk.h"),
            reflinks: no("ioctl_ficlonerange(2): EOPNOTSUPP"),
            quotas: no("fs/nilfs2/super.c: no quota operations"),
            hard_links: yes(DRIVER),
            symlinks: yes(DRIVER),
            modes: yes(DRIVER),
            acl: no(MISSING),
            xattr: no(MISSING),
            sparse_files: yes("fs/nilfs2/inode.c"),
            preallocation: no("measured with fallocate on Linux 6.12: EOPNOTSUPP"),
            case_sensitive: yes(DRIVER),
            grow: fact(Resize::Mounted, "nilfs-resize(8)"),
            shrink: fact(Resize::Mounted, "nilfs-resize(8)"),
            check: fact(None, MISSING),
            largest_file: fact(Bytes(LARGEST), "fs/nilfs2/super.c: MAX_LFS_FILESIZE"),
            root_entries: fact(None, DOC),
            conversion: no("mkfs.nilfs2(8)"),
            linux: linux("2.6.30", "nilfs2", "fs/nilfs2"),
        }
    }

    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkfs.nilfs2", "-q", "-f", "-K"], variant)]
    }

    fn check(&self) -> Option<Check> {
        None
    }

    fn commits_after(&self) -> Fact<u64> {
        fact(5, "fs/nilfs2/segment.h: NILFS_SC_DEFAULT_TIMEOUT")
    }

    fn recover(&self) -> Recovery {
        replay_on_mount()
    }

    fn version(&self) -> Argv {
        argv(["mkfs.nilfs2", "-V"])
    }

    /// The mount does not use mount.nilfs2, which would start nilfs_cleanerd. The cleaner's wake-ups would disturb the measurement
    /// at random times, and umount(2) fails as busy until umount.nilfs2 stops the cleaner. By default the cleaner would not help a
    /// trial either: it cleans nothing younger than an hour.
    fn mount(&self, variant: &Variant) -> Mount {
        syscall("nilfs2", &[], variant)
    }
}
