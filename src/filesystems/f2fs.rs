//! F2FS, the flash-friendly filesystem.

use std::ops::RangeInclusive;

use super::capabilities::{fact, linux, no, yes};
use super::lines::{argv, full_check, mkfs, replay_on_mount, syscall};
use super::{
    Algorithms, Argv, Capabilities, Check, DEVICE, Depth, Fact, Filesystem, Journal, KernelNeed, Mount,
    Recovery, Resize, Variant,
};
use crate::schema::description::Description;
use crate::schema::units::{Bytes, MIB};

pub struct F2fs;

/// mkfs.f2fs 1.15.0 makes a volume of 52 MiB and fails if the device is one page smaller.
const SMALLEST: u64 = 52 * MIB;
/// 32-bit block numbers: (2^32 - 1) blocks of 4 KiB.
const LARGEST: u64 = ((1 << 32) - 1) * 4096;
/// About 3.94 TiB: an inode refers to two direct nodes, two indirect nodes and one double indirect node; each node holds 1018
/// addresses of blocks of 4 KiB or of other nodes.
const LARGEST_FILE: u64 = (2 * 1018 + 2 * 1018 * 1018 + 1018 * 1018 * 1018) * 4096;

impl Filesystem for F2fs {
    fn name(&self) -> &'static str {
        "f2fs"
    }

    fn description(&self) -> Description {
        Description {
            what: "A log-structured filesystem for flash memory: several logs for hot and cold data, cleaned in the background.",
            origin: "Written by Jaegeuk Kim at Samsung, in Linux since 3.8 of 2013. F2FS is described in 'F2FS, a New File \
                     System for \
                Flash Storage' (FAST 2015) and Documentation/filesystems/f2fs.rst.",
            limits: "F2FS is designed for flash, not for disks that seek. fsderby mounts F2FS with nodiscard, which is \
                not the default. F2FS continues to clean its logs while it is idle.",
        }
    }

    fn package(&self) -> &'static str {
        "f2fs-tools"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &["f2fs"], modules: &["crypto-crc32", "f2fs"] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(SMALLEST)..=Bytes(LARGEST)
    }

    fn can(&self) -> Capabilities {
        const DOC: &str = "Documentation/filesystems/f2fs.rst";
        const DRIVER: &str = "fs/f2fs/namei.c";
        Capabilities {
            journal: fact(Journal::CopyOnWrite, DOC),
            data_checksums: no(DOC),
            metadata_checksums: no(
                "mkfs.f2fs(8): only the checkpoint has a checksum; inode_checksum is an optional feature",
            ),
            snapshots: no(DOC),
            compression: no("mkfs.f2fs(8): compression is an optional feature, -O extra_attr,compression"),
            reflinks: no("ioctl_ficlonerange(2): EOPNOTSUPP"),
            quotas: yes("Documentation/filesystems/f2fs.rst: usrquota, grpquota"),
            hard_links: yes(DRIVER),
            symlinks: yes(DRIVER),
            modes: yes(DRIVER),
            acl: yes("CONFIG_F2FS_FS_POSIX_ACL"),
            xattr: yes("CONFIG_F2FS_FS_XATTR"),
            sparse_files: yes("fs/f2fs/file.c"),
            preallocation: yes("fallocate succeeds, as measured on Linux 6.12"),
            case_sensitive: yes("mkfs.f2fs(8): casefold is an optional feature"),
            grow: fact(Resize::Unmounted, "resize.f2fs(8)"),
            shrink: fact(Resize::No, "resize.f2fs(8): only supports expanding"),
            check: fact(Some(Depth::Full), "fsck.f2fs(8)"),
            largest_file: fact(Bytes(LARGEST_FILE), "fs/f2fs/super.c: max_file_blocks"),
            root_entries: fact(None, DOC),
            conversion: no("mkfs.f2fs(8)"),
            linux: linux("3.8", "f2fs", "fs/f2fs"),
        }
    }

    fn algorithms(&self) -> Algorithms {
        Algorithms {
            features: &["compression"],
            mkfs: &[],
            mount: &["compress_algorithm", "mode", "alloc_mode"],
        }
    }

    /// `-t 0` turns discarding off.
    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkfs.f2fs", "-q", "-f", "-t", "0"], variant)]
    }

    fn check(&self) -> Option<Check> {
        full_check(["fsck.f2fs", "--dry-run", DEVICE])
    }

    /// F2FS compresses only files with one of the given extensions (`*` means all files), and files with the attribute `c`.
    fn compresses<'o>(&self, mount: &'o [String]) -> Option<&'o str> {
        let mut options = mount.iter().flat_map(|option| option.split(','));
        options.rfind(|option| option.starts_with("compress_extension="))
    }

    fn commits_after(&self) -> Fact<u64> {
        fact(60, "Documentation/ABI/testing/sysfs-fs-f2fs: cp_interval")
    }

    fn acts_after(&self, key: &str) -> Option<Fact<u64>> {
        (key == "background_gc").then(|| fact(30, "fs/f2fs/gc.h: DEF_GC_THREAD_MIN_SLEEP_TIME"))
    }

    fn recover(&self) -> Recovery {
        replay_on_mount()
    }

    fn version(&self) -> Argv {
        argv(["mkfs.f2fs", "-V"])
    }

    /// By default F2FS discards freed blocks on any device that supports discards. Other filesystems do not discard by default, and
    /// discards would change the image for later trials, so they are off. A user's `discard` turns them on.
    fn mount(&self, variant: &Variant) -> Mount {
        syscall("f2fs", &["nodiscard"], variant)
    }
}

#[cfg(test)]
mod tests {
    use super::super::confirm::tests::mounted;
    use super::*;

    #[test]
    fn discarding_is_seen() {
        let asked = F2fs.mount(&Variant::default());
        let with = |option| {
            mounted(&format!("42 27 7:0 / /m rw,relatime - f2fs /dev/loop0 rw,lazytime,{option},acl"))
        };
        assert_eq!(F2fs.confirm(&asked, &with("nodiscard")), Ok(()));
        assert!(F2fs.confirm(&asked, &with("discard")).is_err());
    }
}
