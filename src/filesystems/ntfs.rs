//! NTFS with two drivers: the kernel's ntfs3 and the FUSE program ntfs-3g. The tools of ntfs-3g make and check both.

use std::ops::RangeInclusive;

use super::capabilities::{fact, linux, no, yes};
use super::lines::{argv, mkfs, options, syscall};
use super::{
    Argv, Capabilities, Capability, Check, DEVICE, Depth, Filesystem, Journal, KernelNeed, MOUNTPOINT, Mount,
    Privileges, Recovery, Resize, Variant,
};
use crate::schema::description::Description;
use crate::schema::units::Bytes;

pub struct Ntfs {
    name: &'static str,
    fuse: bool,
    story: Description,
}

pub static NTFS: Ntfs = Ntfs {
    name: "ntfs",
    fuse: false,
    story: Description {
        what: "The filesystem of Windows NT, through the Linux kernel driver ntfs3.",
        origin: "Designed by Microsoft, 1993; the Linux driver comes from Paragon, in Linux since 5.15 of 2021; \
                 Documentation/filesystems/ntfs3.rst.",
        limits: "A run measures the Linux driver and says nothing about Windows. The driver replays the journal \
            but never writes to it. The check is shallow: ntfsfix looks at a few structures, so a clean result \
            says little.",
    },
};

pub static NTFS_3G: Ntfs = Ntfs {
    name: "ntfs-3g",
    fuse: true,
    story: Description {
        what: "The filesystem of Windows NT, through the FUSE program ntfs-3g.",
        origin: "Written by Szabolcs Szakacsits and Jean-Pierre André, 2006, based on the Linux-NTFS project; ntfs-3g(8).",
        limits: "Each operation passes through FUSE to a user-space process, so a run measures FUSE and ntfs-3g rather \
            than the format. The filesystem's CPU time is spent in the ntfs-3g process, not in the kernel. ntfs-3g \
            runs with its defaults, without the options big_writes and permissions, and silently accepts unknown \
            options. The check is shallow: ntfsfix looks at a few structures, so a clean result says little.",
    },
};

/// mkntfs 2022.10.3 makes a volume of 1052672 bytes and fails at 1048576 bytes.
const SMALLEST: u64 = 1_052_672;
/// 2^32 - 1 clusters of 4 KiB, made by mkntfs 2022.10.3; larger volumes have larger clusters, so figures would not be
/// comparable.
const LARGEST: u64 = ((1 << 32) - 1) * 4096;

impl Filesystem for Ntfs {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> Description {
        self.story.clone()
    }

    fn package(&self) -> &'static str {
        "ntfs-3g"
    }

    fn kernel(&self) -> KernelNeed {
        if self.fuse {
            KernelNeed { types: &["fuseblk"], modules: &["fuse"] }
        } else {
            KernelNeed { types: &["ntfs3"], modules: &["ntfs3"] }
        }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(SMALLEST)..=Bytes(LARGEST)
    }

    fn can(&self) -> Capabilities {
        if self.fuse { ntfs_3g() } else { ntfs3() }
    }

    fn is_in_user_space(&self) -> bool {
        self.fuse
    }

    /// fs/ntfs3/super.c and fs/fuse/inode.c have no option that makes the kernel panic.
    fn panics(&self) -> &'static [&'static str] {
        &[]
    }

    /// `-Q` skips overwriting the data area. `-F` accepts whole disks and files, but also a mounted device, which mkntfs would then
    /// overwrite. So the testbed must first have exclusive access to the device.
    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkntfs", "-Q", "-F", "-q"], variant)]
    }

    fn check(&self) -> Option<Check> {
        Some(Check { argv: argv(["ntfsfix", "-n", DEVICE]), clean: vec![0], depth: Depth::Shallow })
    }

    /// ntfs3 refuses a dirty volume (EINVAL on Linux 6.12). ntfs-3g mounts a dirty volume and clears the log without reading it,
    /// but its manual recommends ntfsfix if damage is suspected. Only Windows's chkdsk makes a full repair.
    fn recover(&self) -> Recovery {
        let clear = Check { argv: argv(["ntfsfix", "-d", DEVICE]), clean: vec![0], depth: Depth::Shallow };
        Recovery { repair: vec![clear], replays_on_mount: false }
    }

    fn version(&self) -> Argv {
        argv([if self.fuse { "ntfs-3g" } else { "mkntfs" }, "--version"])
    }

    /// ntfs-3g mounts the filesystem itself, briefly takes its caller's identity, and then answers the kernel's requests.
    fn privileges(&self) -> Privileges {
        if !self.fuse {
            return Privileges::default();
        }
        let capabilities = vec![Capability::SysAdmin, Capability::SetUid, Capability::SetGid];
        Privileges { capabilities, devices: vec!["/dev/fuse".into()] }
    }

    /// The kernel shows type `fuseblk` and none of ntfs-3g's own options.
    fn mount(&self, variant: &Variant) -> Mount {
        if !self.fuse {
            return syscall("ntfs3", &[], variant);
        }
        let options = options(&[], variant);
        let mut argv = argv(["ntfs-3g", DEVICE, MOUNTPOINT]);
        if !options.is_empty() {
            argv.extend(["-o".to_owned(), options.join(",")]);
        }
        Mount::Command { argv, fstype: "fuseblk".into(), options }
    }
}

fn ntfs3() -> Capabilities {
    const DOC: &str = "Documentation/filesystems/ntfs3.rst";
    Capabilities {
        journal: fact(Journal::None, "Documentation/filesystems/ntfs3.rst: the driver only replays it"),
        data_checksums: no("fs/ntfs3/ntfs.h: no structure has a checksum"),
        metadata_checksums: no("fs/ntfs3/ntfs.h: update sequences detect torn records, not changed records"),
        snapshots: no(DOC),
        compression: yes(DOC),
        reflinks: no("ioctl_ficlonerange(2): EOPNOTSUPP"),
        quotas: no("fs/ntfs3/super.c: no quota operations"),
        hard_links: yes("fs/ntfs3/namei.c: ntfs_link"),
        symlinks: yes("fs/ntfs3/namei.c: ntfs_symlink"),
        modes: yes("fs/ntfs3/xattr.c: ntfs_save_wsl_perm"),
        acl: no(
            "needs CONFIG_NTFS3_FS_POSIX_ACL, which Debian 12's kernels leave out, and the mount option acl",
        ),
        xattr: yes(DOC),
        sparse_files: no(
            "Documentation/filesystems/ntfs3.rst: only with the mount option sparse; measured: holes take blocks",
        ),
        preallocation: yes("fallocate succeeds, as measured on Linux 6.12"),
        case_sensitive: yes("fs/ntfs3/super.c: unless mounted with nocase"),
        grow: fact(Resize::Unmounted, "ntfsresize(8)"),
        shrink: fact(Resize::Unmounted, "ntfsresize(8)"),
        check: fact(Some(Depth::Shallow), "ntfsfix(8): not a Linux version of chkdsk"),
        largest_file: fact(Bytes(LARGEST), "fs/ntfs3/super.c: 2^32 - 1 clusters, of 4 KiB"),
        root_entries: fact(None, "fs/ntfs3/index.c: directories are B-trees"),
        conversion: no("mkntfs(8)"),
        linux: linux("5.15", "ntfs3", "fs/ntfs3"),
    }
}

fn ntfs_3g() -> Capabilities {
    Capabilities {
        journal: fact(Journal::None, "ntfs-3g(8): the option recover clears the logfile"),
        snapshots: no("ntfs-3g(8)"),
        compression: yes("ntfs-3g(8): compression"),
        hard_links: yes("ntfs-3g(8); confirmed by a measurement"),
        symlinks: yes("measured with ntfs-3g 2022.10.3"),
        modes: no("ntfs-3g(8): only with the option permissions; measured: chmod has no effect without it"),
        acl: no("ntfs-3g(8): only with the option acl"),
        xattr: yes("measured with ntfs-3g 2022.10.3"),
        sparse_files: yes("ntfs-3g(8); confirmed by a measurement"),
        preallocation: no("measured with fallocate on Linux 6.12: EOPNOTSUPP"),
        case_sensitive: yes("ntfs-3g(8): only lowntfs-3g has the option ignore_case"),
        largest_file: fact(Bytes(LARGEST), "limited by the volume: 2^32 - 1 clusters of 4 KiB"),
        linux: linux("2.6.20", "fuse", "fuseblk in fs/fuse/inode.c"),
        ..ntfs3()
    }
}

#[cfg(test)]
mod tests {
    use super::super::confirm::tests::mounted;
    use super::*;

    const SEEN: &str =
        "42 27 7:0 / /m rw,noatime - fuseblk /dev/loop0 rw,user_id=0,group_id=0,allow_other,blksize=4096";

    #[test]
    fn ntfs_3g_shows_as_fuseblk_and_hides_its_own_options() {
        let variant = Variant { mount: vec!["noatime,compression".into()], ..Variant::default() };
        let asked = NTFS_3G.mount(&variant);
        let Mount::Command { argv, .. } = &asked else { panic!("{asked:?}") };
        assert_eq!(argv.join(" "), "ntfs-3g {device} {mountpoint} -o noatime,compression");
        assert_eq!(NTFS_3G.confirm(&asked, &mounted(SEEN)), Ok(()));
    }

    #[test]
    fn the_kernels_driver_is_not_the_program() {
        assert!(
            NTFS.confirm(&NTFS.mount(&Variant::default()), &mounted(SEEN)).unwrap_err().contains("ntfs3")
        );
    }
}
