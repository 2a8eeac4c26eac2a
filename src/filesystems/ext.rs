//! ext2, ext3 in its three journaling modes, and ext4. mke2fs makes them, and the ext4 driver mounts them.

use std::ops::RangeInclusive;

use super::asked;
use super::capabilities::{fact, linux, no, yes};
use super::lines::{argv, full_check, repair_first, replay_on_mount, syscall};
use super::{
    Algorithms, Argv, Capabilities, Check, DEVICE, Depth, Fact, Filesystem, Fixed, Journal, KernelNeed,
    Mount, Mounted, Recovery, Resize, Variant, confirm_type_and_options,
};
use crate::schema::description::Description;
use crate::schema::units::{Bytes, MIB};

pub struct Ext {
    name: &'static str,
    /// The type given to mke2fs `-t` and to mount; the list has exactly one entry.
    types: &'static [&'static str],
    /// The kind's mount option for the journaling mode.
    data: &'static [&'static str],
    fixed: Fixed,
    can: fn(&Ext) -> Capabilities,
    /// Bytes of the smallest volume, the largest volume and the largest file.
    smallest: u64,
    largest: u64,
    largest_file: u64,
    story: Description,
}

/// With these options mkfs writes inode tables and journal, so that no kernel thread writes inode tables during the workload. mkfs
/// does not discard the device, because the reset between trials does.
const EXTENDED: &str = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";

/// With fewer than 2048 blocks of 1 KiB, mke2fs 1.47.0 reports "too small for a journal", returns 0 and makes no journal.
const SMALLEST_WITH_JOURNAL: u64 = 2 * MIB;
/// 32-bit block numbers: (2^32 - 1) blocks of 4 KiB.
const LARGEST_32_BIT: u64 = ((1 << 32) - 1) * 4096;
/// Measured with ftruncate on Linux 6.18 and 4 KiB blocks: a file's number of 512-byte sectors, including its block map, has 32
/// bits.
const LARGEST_FILE_MAPPED: u64 = 2_196_873_666_560;

const EXT3_ORIGIN: &str = "Stephen Tweedie described the journal of ext3 in 1998 (Journaling the Linux ext2fs Filesystem, \
    LinuxExpo); ext3 is in Linux since 2.4.15 of 2001.";
const EXT3_LIMITS: &str = "Since Linux 4.3 the ext4 driver mounts ext3, so results say nothing about the old ext3 \
    code. Defaults come from /etc/mke2fs.conf of the machine that runs mke2fs. Volumes below 512 MiB have blocks \
    of 1 KiB.";

pub static EXT2: Ext = Ext {
    name: "ext2",
    types: &["ext2"],
    data: &[],
    // -j and -J would add a journal and so turn ext2 into another kind.
    fixed: Fixed { mkfs: &["-t", "-j", "-J"], mount: &["data"] },
    can: ext2,
    // mke2fs 1.47.0 makes a volume of 106496 bytes and fails at 102400 bytes.
    smallest: 106_496,
    largest: LARGEST_32_BIT,
    largest_file: LARGEST_FILE_MAPPED,
    story: Description {
        what: "The second extended filesystem: block groups, bitmaps and block maps, without a journal.",
        origin: "Written by Rémy Card, Theodore Ts'o and Stephen Tweedie, 1993 (Design and Implementation of the Second Extended \
            Filesystem); Documentation/filesystems/ext2.rst describes it.",
        limits: "On most kernels the ext4 driver mounts ext2, so results say little about the old ext2 driver. \
            ext2 has no journal and guarantees no order of writes in a power cut, so its speed is not \
            comparable with that of a journaling filesystem. Defaults come from /etc/mke2fs.conf of the \
            machine that runs mke2fs. Volumes below 512 MiB have blocks of 1 KiB.",
    },
};

pub static EXT3_JOURNAL: Ext = Ext {
    name: "ext3-journal",
    types: &["ext3"],
    data: &["data=journal"],
    fixed: Fixed { mkfs: &["-t"], mount: &["data"] },
    can: ext3,
    smallest: SMALLEST_WITH_JOURNAL,
    largest: LARGEST_32_BIT,
    largest_file: LARGEST_FILE_MAPPED,
    story: Description {
        what: "ext3 with data=journal: data and metadata are both written to the journal first.",
        origin: EXT3_ORIGIN,
        limits: EXT3_LIMITS,
    },
};

pub static EXT3_ORDERED: Ext = Ext {
    name: "ext3-ordered",
    data: &["data=ordered"],
    story: Description {
        what: "ext3 with data=ordered: the journal holds metadata; data is written before the commit of the metadata \
            that refers to it.",
        origin: EXT3_ORIGIN,
        limits: EXT3_LIMITS,
    },
    ..EXT3_JOURNAL
};

pub static EXT3_WRITEBACK: Ext = Ext {
    name: "ext3-writeback",
    data: &["data=writeback"],
    story: Description {
        what: "ext3 with data=writeback: the journal holds metadata; data and metadata are written in any order.",
        origin: EXT3_ORIGIN,
        limits: EXT3_LIMITS,
    },
    ..EXT3_JOURNAL
};

pub static EXT4: Ext = Ext {
    name: "ext4",
    types: &["ext4"],
    data: &[],
    fixed: Fixed { mkfs: &["-t"], mount: &[] },
    can: ext4,
    smallest: SMALLEST_WITH_JOURNAL,
    // 48-bit block numbers in extents: 2^48 blocks of 4 KiB.
    largest: 1 << 60,
    // 2^32 - 1 logical blocks of 4 KiB, as measured by ftruncate on Linux 6.18.
    largest_file: 17_592_186_040_320,
    story: Description {
        what: "The fourth extended filesystem: extents, delayed allocation and a checksummed journal of metadata.",
        origin: "Written by Mingming Cao, Andreas Dilger, Theodore Ts'o and others, stable since Linux 2.6.28 of 2008; \
            Documentation/filesystems/ext4 describes it.",
        limits: "fsderby turns lazy initialisation off: mkfs writes the inode tables and the journal. With \
            default options, a kernel thread writes the inode tables after the mount. So here mkfs is slower, \
            and the first minutes after the mount are faster, than with default options. Other defaults of mkfs come from \
            /etc/mke2fs.conf of the machine that runs mke2fs. Volumes below 512 MiB have blocks of 1 KiB.",
    },
};

impl Filesystem for Ext {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> Description {
        self.story.clone()
    }

    fn package(&self) -> &'static str {
        "e2fsprogs"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: self.types, modules: &["crypto-crc32c", "ext4"] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(self.smallest)..=Bytes(self.largest)
    }

    fn can(&self) -> Capabilities {
        (self.can)(self)
    }

    fn fixed(&self) -> Fixed {
        self.fixed
    }

    fn makes_panic(&self, mkfs: &[String]) -> Option<String> {
        let [.., last] = behaviours(mkfs)[..] else { return None };
        (last == "panic").then(|| "-e panic".to_owned())
    }

    fn stores_errors(&self) -> bool {
        true
    }

    /// From `struct ext4_super_block` in fs/ext4/ext4.h (s_magic, s_errors, s_mount_opts, of which s_mount_opts takes
    /// precedence), and ext4_set_def_opts, which treats an unknown number as remount-ro.
    fn stored_errors(&self, head: &[u8]) -> Option<&'static str> {
        const SUPERBLOCK: usize = 1024;
        const MAGIC: [u8; 2] = 0xef53_u16.to_le_bytes();
        let field = |at: usize, length: usize| head.get(SUPERBLOCK + at..SUPERBLOCK + at + length);
        let errors = field(0x3c, 2).filter(|_| field(0x38, 2) == Some(&MAGIC))?;
        let options = String::from_utf8_lossy(field(0x200, 64)?);
        let options = [options.trim_end_matches('\0').to_owned()];
        let by_number = match *errors {
            [1, 0] => "continue",
            [3, 0] => "panic",
            _ => "remount-ro",
        };
        Some(match asked::option(&options, "errors").unwrap_or(by_number) {
            "continue" => "errors=continue",
            "panic" => "errors=panic",
            _ => "errors=remount-ro",
        })
    }

    /// The options that choose block maps or extents, and journaling of data or only of metadata.
    fn algorithms(&self) -> Algorithms {
        Algorithms { features: &["extent", "extents"], mkfs: &[], mount: &["data"] }
    }

    /// If `-O` and other options are repeated, mke2fs uses the last; only `-E` needs special treatment.
    fn can_with(&self, variant: &Variant) -> Capabilities {
        const FEATURES: &str = "mke2fs(8): -O, by the candidate's options";
        let mut can = self.can();
        let feature = |name: &str| asked::feature(&variant.mkfs, name);
        let has_journal = feature("has_journal").unwrap_or(can.journal.value != Journal::None);
        if !has_journal {
            can.journal = fact(Journal::None, FEATURES);
        } else if asked::option(&variant.mount, "data") == Some("journal") {
            can.journal = fact(Journal::MetadataAndData, "ext4(5): data=journal");
        }
        if let Some(has) = feature("extent") {
            can.preallocation = fact(has, FEATURES);
        }
        if let Some(has) = feature("metadata_csum") {
            can.metadata_checksums = fact(has, FEATURES);
        }
        can
    }

    fn make(&self, variant: &Variant) -> Vec<Argv> {
        if variant.conversion {
            return vec![mke2fs("ext2", variant), argv(["tune2fs", "-j", DEVICE])];
        }
        vec![mke2fs(self.types[0], variant)]
    }

    /// With data=journal, all data of a transaction. A transaction takes at most a third of the journal (fs/jbd2/journal.c). Measured:
    /// with 20 MiB, writes end with a journal of 32 MiB, and run out of memory with one of 128 MiB.
    fn pins(&self, variant: &Variant, volume: Bytes) -> Bytes {
        let data = asked::option(&variant.mount, "data").map(|mode| format!("data={mode}"));
        let is_journaled = data.as_deref().or(self.data.first().copied()) == Some("data=journal");
        if is_journaled { Bytes(journal(variant, volume).0 / 3) } else { Bytes(0) }
    }

    fn only_checks(&self) -> Option<&'static str> {
        Some("-n")
    }

    /// With lazy initialisation, a kernel thread writes the inode tables after the mount, unless the mount option noinit_itable is
    /// given, and the journal is written on first use (mke2fs(8), ext4(5)). Within `-E` the last value counts.
    fn defers(&self, variant: &Variant) -> Option<String> {
        let last = |name: &str| {
            let values = asked::values(&variant.mkfs, "-E").into_iter().rev();
            let mut own = values.filter(|value| value.split('=').next() == Some(name));
            own.next().filter(|value| !value.ends_with("=0"))
        };
        let is_kept = asked::is_on(&variant.mount, "init_itable") == Some(false);
        // Only checksums of block groups can mark a group as not written yet.
        let feature = |name: &str| asked::feature(&variant.mkfs, name);
        let can_be_lazy = feature("metadata_csum").unwrap_or(self.types[0] == "ext4")
            || feature("uninit_bg").or_else(|| feature("gdt_csum")).unwrap_or(false);
        let tables = last("lazy_itable_init").filter(|_| can_be_lazy && !is_kept);
        let tables = tables
            .map(|asked| format!("{asked}: a kernel thread writes the inode tables during the workload"));
        let has_journal = self.can_with(variant).journal.value != Journal::None;
        let journal = last("lazy_journal_init").filter(|_| has_journal);
        let journal = journal.map(|asked| format!("{asked}: mkfs leaves the journal's blocks unwritten"));
        let said: Vec<String> = tables.into_iter().chain(journal).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn revert(&self, variant: &Variant) -> Vec<Argv> {
        if !variant.conversion {
            return Vec::new();
        }
        vec![argv(["tune2fs", "-O", "^has_journal", DEVICE]), argv(["e2fsck", "-f", "-y", DEVICE])]
    }

    fn check(&self) -> Option<Check> {
        full_check(["e2fsck", "-f", "-n", DEVICE])
    }

    fn commits_after(&self) -> Fact<u64> {
        match self.can().journal.value {
            Journal::None => fact(30, "Documentation/admin-guide/sysctl/vm.rst: dirty_expire_centisecs"),
            _ => fact(5, "Documentation/admin-guide/ext4.rst: commit"),
        }
    }

    fn recover(&self) -> Recovery {
        match self.can().journal.value {
            Journal::None => repair_first(["e2fsck", "-y", DEVICE]),
            _ => replay_on_mount(),
        }
    }

    fn version(&self) -> Argv {
        argv(["mke2fs", "-V"])
    }

    fn mount(&self, variant: &Variant) -> Mount {
        syscall(self.types[0], self.data, variant)
    }

    /// The kernel hides the default `data=ordered`; any other mode must be shown.
    fn confirm(&self, asked: &Mount, seen: &Mounted) -> Result<(), String> {
        confirm_type_and_options(asked, seen)?;
        let data = asked.options().iter().rev().find(|option| option.starts_with("data="));
        match data {
            Some(data) if data != "data=ordered" && !seen.options.contains(data) => {
                Err(format!("asked for {data}, but the mount has the default, data=ordered"))
            }
            _ => Ok(()),
        }
    }
}

fn mke2fs(generation: &str, variant: &Variant) -> Argv {
    let (extended, others) = with_one_extended(&variant.mkfs);
    let mut line = argv(["mke2fs", "-q", "-F", "-t", generation, "-E", &extended]);
    line.extend(others);
    line.push(DEVICE.into());
    line
}

/// The values of `-e`. The letter `e` may follow letters without a value, as in `-qepanic` (the getopt string of mke2fs 1.47.0).
fn behaviours(mkfs: &[String]) -> Vec<&str> {
    const WITHOUT_VALUE: &str = "cjnqvDFKSV";
    let mut found = Vec::new();
    let mut words = mkfs.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-') else { continue };
        let rest = letters.trim_start_matches(|letter| WITHOUT_VALUE.contains(letter));
        let mut rest = rest.chars();
        let Some(letter) = rest.next() else { continue };
        let value = match rest.as_str() {
            "" => words.next().map_or("", String::as_str),
            value => value,
        };
        if letter == 'e' {
            found.push(value);
        }
    }
    found
}

/// mke2fs ignores the first of two `-E`, so the user's list is appended to fsderby's list; within a list the last value counts.
fn with_one_extended(users: &[String]) -> (String, Vec<String>) {
    let mut extended = EXTENDED.to_owned();
    let mut others = Vec::new();
    let mut words = users.iter();
    while let Some(word) = words.next() {
        let more = match word.strip_prefix("-E") {
            Some("") => words.next().map_or("", String::as_str),
            Some(more) => more,
            None => {
                others.push(word.clone());
                continue;
            }
        };
        extended.extend([",", more]);
    }
    (extended, others)
}

const MAN: &str = "ext4(5)";
const MKE2FS: &str = "mke2fs.conf(5) of e2fsprogs 1.47.0: not among the features of this kind";

fn ext2(kind: &Ext) -> Capabilities {
    Capabilities {
        journal: fact(Journal::None, "Documentation/filesystems/ext2.rst"),
        data_checksums: no(MKE2FS),
        metadata_checksums: no(MKE2FS),
        snapshots: no(MAN),
        compression: no("Documentation/filesystems/ext2.rst: compression was never merged"),
        reflinks: no("ioctl_ficlonerange(2): EOPNOTSUPP"),
        quotas: yes("ext4(5): quota, usrquota, grpquota"),
        hard_links: yes("Documentation/filesystems/ext2.rst"),
        symlinks: yes("Documentation/filesystems/ext2.rst"),
        modes: yes("Documentation/filesystems/ext2.rst"),
        acl: yes("ext4(5): acl"),
        xattr: yes("ext4(5): user_xattr"),
        sparse_files: yes("Documentation/filesystems/ext2.rst"),
        preallocation: no("measured with fallocate on Linux 6.12: EOPNOTSUPP"),
        case_sensitive: yes("ext4(5): only the ext4 feature casefold, off by default, ignores case"),
        grow: fact(Resize::Unmounted, "resize2fs(8): only ext3 and ext4 can grow while mounted"),
        shrink: fact(Resize::Unmounted, "resize2fs(8)"),
        check: fact(Some(Depth::Full), "e2fsck(8)"),
        largest_file: fact(Bytes(kind.largest_file), "measured with ftruncate on Linux 6.18, 4 KiB blocks"),
        root_entries: fact(None, "Documentation/filesystems/ext2.rst"),
        conversion: no("tune2fs(8) can convert ext3 to ext2, but fsderby does not support that"),
        linux: linux("0.99.7", "ext4", "CONFIG_EXT4_USE_FOR_EXT2 in fs/ext4/Kconfig"),
    }
}

fn ext3(kind: &Ext) -> Capabilities {
    let all = kind.data == ["data=journal"];
    Capabilities {
        journal: fact(
            if all { Journal::MetadataAndData } else { Journal::Metadata },
            "ext4(5): data={journal|ordered|writeback}",
        ),
        grow: fact(Resize::Mounted, "resize2fs(8): with the feature resize_inode, a default of mke2fs"),
        conversion: yes("tune2fs(8): -j converts ext2 to ext3, and -O ^has_journal converts it back"),
        linux: linux(
            "2.4.15",
            "ext4",
            "fs/ext4/super.c registers ext3; the separate ext3 driver was removed in Linux 4.3",
        ),
        ..ext2(kind)
    }
}

fn ext4(kind: &Ext) -> Capabilities {
    Capabilities {
        journal: fact(Journal::Metadata, "ext4(5): data=ordered is the default"),
        metadata_checksums: yes("ext4(5): metadata_csum, a default of e2fsprogs 1.47.0"),
        preallocation: yes("ext4(5): extent; confirmed by a measurement"),
        compression: no("ext4(5)"),
        grow: fact(Resize::Mounted, "resize2fs(8)"),
        conversion: no("tune2fs(8) converts ext3 to ext4, but fsderby does not support that"),
        linux: linux("2.6.28", "ext4", "fs/ext4; named ext4dev from 2.6.19 to 2.6.27"),
        ..ext2(kind)
    }
}

/// The size of the journal: that of `-J size=`, or mke2fs's default for blocks of 4 KiB (ext2fs_default_journal_size of e2fsprogs 1.47,
/// and dumpe2fs on volumes of 256 MiB to 256 GiB).
fn journal(variant: &Variant, volume: Bytes) -> Bytes {
    let asked = asked::setting(&variant.mkfs, "-J", "size").and_then(|size| size.parse().ok());
    let mib: u64 = asked.unwrap_or(match volume.0 / MIB {
        ..256 => 4,
        256..512 => 8,
        512..1024 => 16,
        1024..2048 => 32,
        2048..16_384 => 64,
        16_384..32_768 => 128,
        32_768..65_536 => 256,
        65_536..131_072 => 512,
        _ => 1024,
    });
    Bytes(mib.saturating_mul(MIB))
}

#[cfg(test)]
mod tests {
    use super::super::confirm::tests::mounted;
    use super::*;

    fn variant(mkfs: &[&str], mount: &[&str]) -> Variant {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Variant { mkfs: owned(mkfs), mount: owned(mount), conversion: false }
    }

    #[test]
    fn journaled_data_pins_a_third_of_the_journal() {
        let pins = |kind: &Ext, mkfs: &[&str], mount: &[&str]| {
            kind.pins(&variant(mkfs, mount), Bytes(16 << 30)).0 / MIB
        };
        assert_eq!(pins(&EXT3_JOURNAL, &[], &[]), 42);
        assert_eq!(pins(&EXT3_JOURNAL, &["-J", "size=64"], &[]), 21);
        assert_eq!(pins(&EXT4, &[], &["noatime,data=journal"]), 42);
        assert_eq!(pins(&EXT4, &[], &[]), 0);
        assert_eq!(pins(&EXT3_ORDERED, &[], &[]), 0);
    }

    #[test]
    fn a_second_list_of_extended_options_joins_the_first() {
        let line =
            EXT4.make(&variant(&["-b", "1024", "-E", "stride=16", "-Eresize=4g", "-O", "^has_journal"], &[]));
        let line = line[0].join(" ");
        assert!(line.contains(" -E nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=16,resize=4g -b 1024 -O ^has_journal "));
        assert_eq!(line.matches("-E").count(), 1);
    }

    #[test]
    fn a_data_mode_that_is_not_the_default_must_be_seen() {
        let journal =
            mounted("42 27 7:0 / /m rw,relatime - ext3 /dev/loop0 rw,nodioread_nolock,data=journal");
        let ordered = mounted("42 27 7:0 / /m rw,relatime - ext3 /dev/loop0 rw,data=ordered");
        let hidden = mounted("42 27 7:0 / /m rw,relatime - ext3 /dev/loop0 rw");
        let confirm = |kind: &Ext, seen| kind.confirm(&kind.mount(&Variant::default()), seen);
        assert_eq!(confirm(&EXT3_JOURNAL, &journal), Ok(()));
        assert_eq!(confirm(&EXT3_ORDERED, &ordered), Ok(()));
        assert_eq!(confirm(&EXT3_ORDERED, &hidden), Ok(()), "older kernels hide the default");
        assert!(confirm(&EXT3_ORDERED, &journal).unwrap_err().contains("data=journal"));
        assert!(confirm(&EXT3_JOURNAL, &hidden).unwrap_err().contains("data=ordered"));
        assert!(confirm(&EXT3_WRITEBACK, &ordered).is_err());
    }

    #[test]
    fn ext2_is_shown_as_ext2_whichever_driver_serves_it() {
        let seen = mounted("42 27 7:0 / /m rw,relatime - ext2 /dev/loop0 rw");
        assert_eq!(EXT2.confirm(&EXT2.mount(&Variant::default()), &seen), Ok(()));
    }

    #[test]
    fn ext4_may_change_its_data_mode_and_ext3_may_not() {
        let other = variant(&[], &["noatime,data=journal"]);
        assert_eq!(super::super::accept(&EXT4, &other), Ok(()));
        assert!(super::super::accept(&EXT3_ORDERED, &other).unwrap_err().contains("'data=journal'"));
        let hidden = mounted("42 27 7:0 / /m rw,noatime - ext4 /dev/loop0 rw");
        assert!(EXT4.confirm(&EXT4.mount(&other), &hidden).is_err());
    }
}
