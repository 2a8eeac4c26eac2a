//! XFS.

use std::ops::RangeInclusive;

use super::asked;
use super::capabilities::{fact, linux, no, yes};
use super::lines::{argv, full_check, mkfs, replay_on_mount, syscall};
use super::{
    Argv, Capabilities, Capability, Check, DEVICE, Depth, Fact, Filesystem, Journal, KernelNeed, Mount,
    Privileges, Recovery, Resize, Variant,
};
use crate::schema::description::Description;
use crate::schema::units::{Bytes, MIB};

pub struct Xfs;

/// mkfs.xfs 6.1.0: "Filesystem must be larger than 300MB"; it accepts exactly 300 MiB. Older versions accepted less.
const SMALLEST: u64 = 300 * MIB;
/// The largest block device and file that Linux can address.
const LARGEST: u64 = i64::MAX as u64;

impl Filesystem for Xfs {
    fn name(&self) -> &'static str {
        "xfs"
    }

    fn description(&self) -> Description {
        Description {
            what: "A journaling filesystem: allocation groups with B+ trees of extents, delayed allocation and a log of \
                metadata.",
            origin: "Written by Silicon Graphics, 1993 (Scalability in the XFS File System, USENIX 1996), in Linux since \
                2.5.36 of 2002; xfs(5) describes it.",
            limits: "The log of XFS takes 64 MiB of a volume of 1 GiB (xfsprogs 6.1.0). On a single device \
                mkfs.xfs makes only few allocation groups. XFS is made for larger volumes than a test image.",
        }
    }

    fn package(&self) -> &'static str {
        "xfsprogs"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &["xfs"], modules: &["crypto-crc32c", "xfs"] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(SMALLEST)..=Bytes(LARGEST)
    }

    fn can(&self) -> Capabilities {
        const DRIVER: &str = "fs/xfs/xfs_iops.c";
        Capabilities {
            journal: fact(Journal::Metadata, "Documentation/filesystems/xfs/xfs-delayed-logging-design.rst"),
            data_checksums: no("mkfs.xfs(8): crc covers only metadata"),
            metadata_checksums: yes("mkfs.xfs(8): crc=1 is the default"),
            snapshots: no("mkfs.xfs(8): reflink shares extents of files, not of a tree"),
            compression: no("xfs(5)"),
            reflinks: yes("mkfs.xfs(8): reflink=1 is the default"),
            quotas: yes("xfs(5): uquota, gquota"),
            hard_links: yes(DRIVER),
            symlinks: yes(DRIVER),
            modes: yes(DRIVER),
            acl: yes("CONFIG_XFS_POSIX_ACL"),
            xattr: yes("attr(1)"),
            sparse_files: yes("xfs_io(8): fpunch"),
            preallocation: yes("xfs_io(8): falloc"),
            case_sensitive: yes("mkfs.xfs(8): names are case-sensitive unless made with -n version=ci"),
            grow: fact(Resize::Mounted, "xfs_growfs(8)"),
            shrink: fact(
                Resize::No,
                "xfs_growfs(8): can only cut off an empty end, and this is experimental",
            ),
            check: fact(Some(Depth::Full), "xfs_repair(8): -n"),
            largest_file: fact(Bytes(LARGEST), "measured with ftruncate on Linux 6.18"),
            root_entries: fact(None, "Documentation/filesystems/xfs: directories are B+ trees"),
            conversion: no("mkfs.xfs(8)"),
            linux: linux("2.5.36", "xfs", "fs/xfs; in the 2.4 series since 2.4.25"),
        }
    }

    fn can_with(&self, variant: &Variant) -> Capabilities {
        const METADATA: &str = "mkfs.xfs(8): -m, by the candidate's options";
        let mut can = self.can();
        let metadata = |name: &str| asked::setting(&variant.mkfs, "-m", name);
        let has_crc = metadata("crc") != Some("0");
        if !has_crc {
            can.metadata_checksums = no(METADATA);
        }
        if !has_crc || metadata("reflink") == Some("0") {
            can.reflinks = no(METADATA);
        }
        can
    }

    /// mkfs.xfs sets the block size of the device (BLKBSZSET), which needs a privilege.
    fn privileges(&self) -> Privileges {
        Privileges { capabilities: vec![Capability::SysAdmin], ..Privileges::default() }
    }
    /// fs/xfs/xfs_super.c has no option that makes the kernel panic; the sysctl fs.xfs.panic_mask is for the administrator to set.
    fn panics(&self) -> &'static [&'static str] {
        &[]
    }

    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkfs.xfs", "-q", "-f", "-K"], variant)]
    }

    fn only_checks(&self) -> Option<&'static str> {
        Some("-N")
    }

    fn check(&self) -> Option<Check> {
        full_check(["xfs_repair", "-n", DEVICE])
    }

    fn commits_after(&self) -> Fact<u64> {
        fact(30, "Documentation/admin-guide/xfs.rst: fs.xfs.xfssyncd_centisecs")
    }

    fn recover(&self) -> Recovery {
        replay_on_mount()
    }

    fn version(&self) -> Argv {
        argv(["mkfs.xfs", "-V"])
    }

    fn mount(&self, variant: &Variant) -> Mount {
        syscall("xfs", &[], variant)
    }
}
