//! Btrfs.

use std::ops::RangeInclusive;

use super::asked;
use super::capabilities::{fact, linux, no, yes};
use super::lines::{argv, full_check, mkfs, replay_on_mount, syscall};
use super::{
    Algorithms, Argv, Capabilities, Check, DEVICE, Depth, Fact, Filesystem, Journal, KernelNeed, Mount,
    Mounted, Recovery, Resize, Variant, confirm_type_and_options,
};
use crate::schema::description::Description;
use crate::schema::units::{Bytes, MIB};

pub struct Btrfs;

/// mkfs.btrfs 6.2: "minimum size for each btrfs device is 114294784", which is 109 MiB.
const SMALLEST: u64 = 109 * MIB;
/// The format allows 16 EiB, but files and block devices of Linux only 8 EiB.
const LARGEST: u64 = i64::MAX as u64;

impl Filesystem for Btrfs {
    fn name(&self) -> &'static str {
        "btrfs"
    }

    fn description(&self) -> Description {
        Description {
            what: "A copy-on-write filesystem: B-trees, checksums of data and metadata, snapshots and compression.",
            origin: "Written by Chris Mason at Oracle, in Linux since 2.6.29 of 2009. Btrfs is described in 'BTRFS, the Linux \
                     B-Tree \
                Filesystem' (ACM TOS 2013) and btrfs(5).",
            limits: "Btrfs checksums all data and keeps two copies of metadata (profile DUP); most other \
                filesystems of fsderby do neither, so Btrfs does more work. fsderby mounts Btrfs with \
                nodiscard, which is not the default. btrfs check reads all metadata but does not verify the \
                data checksums.",
        }
    }

    fn package(&self) -> &'static str {
        "btrfs-progs"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed {
            types: &["btrfs"],
            modules: &["crypto-crc32c", "xxhash64", "sha256", "blake2b-256", "btrfs"],
        }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(SMALLEST)..=Bytes(LARGEST)
    }

    fn can(&self) -> Capabilities {
        const MAN: &str = "btrfs(5)";
        Capabilities {
            journal: fact(Journal::CopyOnWrite, "btrfs(5); fsyncs go to a log tree"),
            data_checksums: yes("btrfs(5): checksum algorithms"),
            metadata_checksums: yes("btrfs(5): checksum algorithms"),
            snapshots: yes("btrfs-subvolume(8)"),
            compression: yes("btrfs(5): compress"),
            reflinks: yes("ioctl_ficlonerange(2)"),
            quotas: no("btrfs-quota(8): quotas are for subvolumes, not for users"),
            hard_links: yes("btrfs(5): filesystem limits"),
            symlinks: yes("btrfs(5): filesystem limits"),
            modes: yes(MAN),
            acl: yes("btrfs(5): acl"),
            xattr: yes("fs/btrfs/xattr.c"),
            sparse_files: yes("btrfs(5): no-holes"),
            preallocation: yes("fallocate succeeds, as measured on Linux 6.12"),
            case_sensitive: yes(MAN),
            grow: fact(Resize::Mounted, "btrfs-filesystem(8): resize"),
            shrink: fact(Resize::Mounted, "btrfs-filesystem(8): resize"),
            check: fact(Some(Depth::Full), "btrfs-check(8)"),
            largest_file: fact(
                Bytes(LARGEST),
                "btrfs(5): filesystem limits; measured with ftruncate on Linux 6.18",
            ),
            root_entries: fact(None, MAN),
            conversion: no("btrfs-convert(8) converts ext4 to Btrfs, but fsderby does not support that"),
            linux: linux("2.6.29", "btrfs", "fs/btrfs"),
        }
    }

    /// Source: btrfs(5), fatal_errors.
    fn panics(&self) -> &'static [&'static str] {
        &["fatal_errors=panic"]
    }

    fn algorithms(&self) -> Algorithms {
        Algorithms {
            features: &[],
            mkfs: &["--csum", "--checksum"],
            mount: &["compress", "compress-force", "datacow", "space_cache"],
        }
    }

    fn can_with(&self, variant: &Variant) -> Capabilities {
        const MOUNT: &str = "btrfs(5): the mount options nodatasum and nodatacow";
        let mut can = self.can();
        let is_on = |option: &str| asked::is_on(&variant.mount, option).unwrap_or(true);
        if !is_on("datasum") || !is_on("datacow") {
            can.data_checksums = no(MOUNT);
        }
        if !is_on("datacow") {
            can.compression = no(MOUNT);
        }
        can
    }

    fn make(&self, variant: &Variant) -> Vec<Argv> {
        vec![mkfs(["mkfs.btrfs", "-q", "-f", "-K"], variant)]
    }

    fn check(&self) -> Option<Check> {
        full_check(["btrfs", "check", "--readonly", DEVICE])
    }

    fn commits_after(&self) -> Fact<u64> {
        fact(30, "btrfs(5): commit")
    }

    fn recover(&self) -> Recovery {
        replay_on_mount()
    }

    fn version(&self) -> Argv {
        argv(["mkfs.btrfs", "-V"])
    }

    /// Since Linux 6.2, Btrfs discards freed blocks by default (`discard=async`) on any device that supports discards, even a loop
    /// device. Other filesystems do not discard by default, and discards would change the image for later trials, so they are
    /// off. A user's `discard` turns them on.
    fn mount(&self, variant: &Variant) -> Mount {
        syscall("btrfs", &["nodiscard"], variant)
    }

    /// Btrfs compresses nothing if checksums or copy-on-write of data are off: btrfs(5).
    fn compresses<'o>(&self, mount: &'o [String]) -> Option<&'o str> {
        let is_plain = |name| asked::is_on(mount, name) == Some(false);
        let is_it = |option: &&str| matches!(super::confirm::key(option), "compress" | "compress-force");
        let last = mount.iter().flat_map(|option| option.split(',')).rfind(is_it)?;
        let is_off = matches!(last.split_once('='), Some((_, "no" | "none")));
        (!is_off && !is_plain("datacow") && !is_plain("datasum")).then_some(last)
    }

    /// The kernel shows the default compression level even if none was given: `zstd` as `zstd:3`.
    fn confirm(&self, asked: &Mount, seen: &Mounted) -> Result<(), String> {
        let plain = |option: &String| match option.split_once(':') {
            Some((compression, _)) if asked.options().iter().any(|asked| asked == compression) => {
                compression.to_owned()
            }
            _ => option.clone(),
        };
        let seen = Mounted { options: seen.options.iter().map(plain).collect(), ..seen.clone() };
        confirm_type_and_options(asked, &seen)
    }
}

#[cfg(test)]
mod tests {
    use super::super::confirm::tests::mounted;
    use super::*;

    fn confirm(options: &[&str], seen: &str) -> Result<(), String> {
        let mount = options.iter().map(|option| (*option).to_owned()).collect();
        let line = format!(
            "43 27 0:39 / /m rw,relatime - btrfs /dev/loop0 rw,{seen}space_cache=v2,subvolid=5,subvol=/"
        );
        Btrfs.confirm(&Btrfs.mount(&Variant { mount, ..Variant::default() }), &mounted(&line))
    }

    #[test]
    fn a_level_that_was_not_asked_for_is_not_a_difference() {
        assert_eq!(confirm(&["compress=zstd"], "compress=zstd:3,"), Ok(()));
        assert_eq!(confirm(&["compress=zstd:5"], "compress=zstd:5,"), Ok(()));
        assert!(confirm(&["compress=zstd:5"], "compress=zstd:3,").is_err());
        assert!(confirm(&["compress=zstd"], "compress=lzo,").is_err());
    }

    #[test]
    fn the_last_option_tells_whether_it_compresses() {
        let by = |options: &str| Btrfs.compresses(&[options.to_owned()]).map(str::to_owned);
        for option in ["compress", "compress=zstd:3", "compress-force=lzo", "compress=zlib"] {
            assert_eq!(by(&format!("rw,{option},noatime")).as_deref(), Some(option));
        }
        for options in ["rw,noatime", "compress=zstd,compress=no", "compress=none", "compress=zstd,nodatacow"]
        {
            assert_eq!(by(options), None, "{options}");
        }
    }

    #[test]
    fn discarding_by_default_is_seen_and_a_users_discard_wins() {
        assert_eq!(confirm(&[], ""), Ok(()));
        assert!(confirm(&[], "discard=async,").unwrap_err().contains("discard=async"));
        assert_eq!(confirm(&["discard=async"], "discard=async,"), Ok(()));
        assert_eq!(confirm(&["nodatacow"], "nodatasum,nodatacow,"), Ok(()));
    }
}
