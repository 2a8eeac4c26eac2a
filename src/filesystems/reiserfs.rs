//! ReiserFS 3.6, which was removed in Linux 6.13.

use std::ops::RangeInclusive;

use super::capabilities::{fact, no, yes};
use super::lines::{argv, full_check, mkfs, replay_on_mount, syscall};
use super::{
    Algorithms, Argv, Capabilities, Check, DEVICE, Depth, Fact, Filesystem, Journal, KernelNeed, Linux,
    Mount, Recovery, Resize, Variant,
};
use crate::schema::description::Description;
use crate::schema::units::Bytes;

pub struct ReiserFs;

/// mkreiserfs 3.6.27 makes a volume of 33636352 bytes (the journal alone has 8193 blocks of 4 KiB) and fails at 33632256 bytes. A
/// directory and a few files fit from 33652736 bytes on.
const SMALLEST: u64 = 33_636_352;
/// mkreiserfs 3.6.27: "Up to 4294967295 blocks", each of 4 KiB.
const LARGEST: u64 = ((1 << 32) - 1) * 4096;

impl Filesystem for ReiserFs {
    fn name(&self) -> &'static str {
        "reiserfs"
    }

    fn description(&self) -> Description {
        Description {
            what: "One balanced tree for all data and metadata; small files are packed into its leaves; a \
                metadata journal.",
            origin: "Written by Hans Reiser and Namesys, in Linux from 2.4.1 of 2001 until 6.12; mkreiserfs(8).",
            limits: "Linux 6.13 removed ReiserFS, so an older kernel is needed. A mount reads about 8200 blocks one by \
                one, so mount time depends on the disk's read-ahead.",
        }
    }

    fn package(&self) -> &'static str {
        "reiserfsprogs"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &["reiserfs"], modules: &["reiserfs"] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(SMALLEST)..=Bytes(LARGEST)
    }

    fn can(&self) -> Capabilities {
        const FORMAT: &str = "fs/reiserfs/reiserfs.h: no structure has a checksum";
        const DRIVER: &str = "fs/reiserfs/namei.c";
        Capabilities {
            journal: fact(Journal::Metadata, "fs/reiserfs/super.c: data=ordered is the default"),
            data_checksums: no(FORMAT),
            metadata_checksums: no(FORMAT),
            snapshots: no("fs/reiserfs: no structure or option for them"),
            compression: no("fs/reiserfs: no structure or option for it"),
            reflinks: no("ioctl_ficlonerange(2): EOPNOTSUPP"),
            quotas: yes("fs/reiserfs/super.c: usrquota, grpquota"),
            hard_links: yes(DRIVER),
            symlinks: yes(DRIVER),
            modes: yes(DRIVER),
            acl: yes("CONFIG_REISERFS_FS_POSIX_ACL, and the mount option acl"),
            xattr: yes("CONFIG_REISERFS_FS_XATTR, and the mount option user_xattr"),
            sparse_files: yes("fs/reiserfs/inode.c"),
            preallocation: no("measured with fallocate on Linux 6.12: EOPNOTSUPP"),
            case_sensitive: yes(DRIVER),
            grow: fact(Resize::Mounted, "resize_reiserfs(8)"),
            shrink: fact(Resize::Unmounted, "resize_reiserfs(8)"),
            check: fact(Some(Depth::Full), "reiserfsck(8)"),
            largest_file: fact(Bytes((512 << 32) - 4096), "fs/reiserfs/super.c: 2^32 sectors less one block"),
            root_entries: fact(None, DRIVER),
            conversion: no("mkreiserfs(8)"),
            linux: fact(
                Linux { since: "2.4.1", until: Some("6.13"), driver: "reiserfs" },
                "fs/reiserfs was removed in Linux 6.13",
            ),
        }
    }

    fn algorithms(&self) -> Algorithms {
        Algorithms { features: &[], mkfs: &["-h", "--hash", "--format"], mount: &["hash", "data"] }
    }

    /// If the force option is given twice, mkreiserfs asks no questions. mkreiserfs never discards the device.
    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkreiserfs", "-q", "-f", "-f"], variant)]
    }

    /// `-y` answers the only question of reiserfsck, whether to begin.
    fn check(&self) -> Option<Check> {
        full_check(["reiserfsck", "--check", "-q", "-y", DEVICE])
    }

    fn commits_after(&self) -> Fact<u64> {
        fact(30, "fs/reiserfs/reiserfs.h: JOURNAL_MAX_COMMIT_AGE")
    }

    fn recover(&self) -> Recovery {
        replay_on_mount()
    }

    fn version(&self) -> Argv {
        argv(["mkreiserfs", "-V"])
    }

    fn mount(&self, variant: &Variant) -> Mount {
        syscall("reiserfs", &[], variant)
    }
}
