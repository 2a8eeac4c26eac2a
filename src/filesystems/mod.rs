//! The supported filesystems: one trait, one table.
//!
//! A kind *returns* command lines, options and facts and runs nothing, so it is tested without root. No other part of fsderby
//! names a kind.

mod asked;
mod btrfs;
mod capabilities;
mod confirm;
mod elsewhere;
mod exfat;
mod ext;
mod f2fs;
mod fat;
mod jfs;
mod lines;
mod needs;
mod nilfs;
mod ntfs;
mod panics;
mod reiserfs;
#[cfg(test)]
mod tests;
mod xfs;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::schema::description::Description;
use crate::schema::units::Bytes;

use capabilities::fact;
pub use capabilities::{Capabilities, Fact, Journal, Linux, Resize};
pub use confirm::{absences_not_shown, confirm_type_and_options, discards, give_up_flushes, key};
pub use elsewhere::{is_known as is_known_elsewhere, unknown};
pub use needs::{Answer, answer};
pub use panics::{HEAD, accept_on_host, adds_stored, harmless};

pub use crate::schema::setup::{
    Argv, Capability, Check, DEVICE, Depth, MOUNTPOINT, Mount, Mounted, Privileges, Variant,
};

/// Every kind, in the order in which `fsderby list filesystems` shows them.
pub static TABLE: &[&dyn Filesystem] = &[
    &fat::FAT16,
    &fat::FAT32,
    &exfat::ExFat,
    &ntfs::NTFS,
    &ntfs::NTFS_3G,
    &ext::EXT2,
    &ext::EXT3_JOURNAL,
    &ext::EXT3_ORDERED,
    &ext::EXT3_WRITEBACK,
    &ext::EXT4,
    &reiserfs::ReiserFs,
    &jfs::Jfs,
    &xfs::Xfs,
    &btrfs::Btrfs,
    &f2fs::F2fs,
    &nilfs::Nilfs2,
];

/// The filesystem of the second disk, from which workloads copy files. It is ext4 for every candidate, because every supported
/// kernel has ext4 and its tools need no privileges.
pub static BESIDE: &dyn Filesystem = &ext::EXT4;

pub trait Filesystem: Sync {
    /// The name that users type, such as `ext3-journal`.
    fn name(&self) -> &'static str;
    fn description(&self) -> Description;
    /// The Debian package with its tools.
    fn package(&self) -> &'static str;
    fn kernel(&self) -> KernelNeed;
    /// Smallest and largest volume that mkfs accepts and that the filesystem's check then reports clean.
    fn size(&self) -> RangeInclusive<Bytes>;
    fn can(&self) -> Capabilities;
    /// Capabilities of this kind. A user's mkfs and mount options can add or remove capabilities.
    fn can_with(&self, _variant: &Variant) -> Capabilities {
        self.can()
    }
    /// Options that define the kind, and that a user's variant must not replace: see [`accept`].
    fn fixed(&self) -> Fixed {
        Fixed::default()
    }
    /// Whether a program outside the kernel serves the filesystem, by FUSE.
    fn is_in_user_space(&self) -> bool {
        false
    }
    /// Options that replace one algorithm by another: see [`algorithms`].
    fn algorithms(&self) -> Algorithms {
        Algorithms::default()
    }
    /// Mount options that make the kernel panic at an error.
    fn panics(&self) -> &'static [&'static str] {
        &["errors=panic"]
    }
    /// Those of these mkfs arguments, if any, that store in the volume that the kernel must panic at an error.
    fn makes_panic(&self, _mkfs: &[String]) -> Option<String> {
        None
    }
    /// Whether a volume stores what its driver does at an error: see [`Filesystem::stored_errors`].
    fn stores_errors(&self) -> bool {
        false
    }
    /// The error behaviour in the first [`HEAD`] bytes of a volume, as the mount option that states it.
    fn stored_errors(&self, _head: &[u8]) -> Option<&'static str> {
        None
    }
    /// Command lines that make the filesystem, in order: mkfs, and if `variant.conversion` is set, the conversion into this
    /// kind.
    fn make(&self, variant: &Variant) -> Vec<Argv>;
    /// The flag with which the first of these programs only checks its arguments, if it has one. Files that other arguments name may
    /// still be created, so the program needs a sandbox.
    fn only_checks(&self) -> Option<&'static str> {
        None
    }
    /// Command lines that undo the conversion; empty without a conversion.
    fn revert(&self, _variant: &Variant) -> Vec<Argv> {
        Vec::new()
    }
    /// Command line of the full read-only check; `None` if the filesystem has no check.
    fn check(&self) -> Option<Check>;
    /// Whether an fsync flushes the device's volatile cache. If not, reports say so next to the filesystem's speed.
    fn flushes_on_fsync(&self) -> bool {
        true
    }
    /// Seconds after which data becomes durable without a sync: the commit interval of the journal or log, or without these the age
    /// at which the kernel writes dirty pages.
    fn commits_after(&self) -> Fact<u64> {
        fact(30, "Documentation/admin-guide/sysctl/vm.rst: dirty_expire_centisecs")
    }
    /// Memory that data pins until the next commit on a volume of this size, because the kernel cannot free it before: below it, the
    /// work runs out of memory.
    fn pins(&self, _variant: &Variant, _volume: Bytes) -> Bytes {
        Bytes(0)
    }
    /// Seconds of work after which a mount option with this key (`background_gc`) first does something; `None` if it acts at once.
    /// Omits the commit interval, whose seconds the user chooses: see [`commit_seconds`].
    fn acts_after(&self, _key: &str) -> Option<Fact<u64>> {
        None
    }
    /// What an administrator runs after a power cut.
    fn recover(&self) -> Recovery;
    /// The command line that prints the version of the tools, on standard output or standard error; some tools then return an
    /// exit code other than 0.
    fn version(&self) -> Argv;
    fn mount(&self, variant: &Variant) -> Mount;
    /// Privileges that the tools need in addition to access to the device.
    fn privileges(&self) -> Privileges {
        Privileges::default()
    }
    /// What these options make mkfs leave to be written after the mount, which would disturb the workload; `None` if nothing.
    fn defers(&self, _variant: &Variant) -> Option<String> {
        None
    }
    /// The one of these mount options that makes the filesystem compress new files; `None` if it does not compress them. If options
    /// contradict each other, the last one counts.
    fn compresses<'o>(&self, _mount: &'o [String]) -> Option<&'o str> {
        None
    }
    /// Checks that the mount matches the request. The error says what differs.
    ///
    /// The kernel hides defaults and rewrites values, so a kind may replace this comparison by name.
    fn confirm(&self, asked: &Mount, seen: &Mounted) -> Result<(), String> {
        confirm_type_and_options(asked, seen)
    }
}

/// The mkfs and mount options that define a kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed {
    /// First words of mkfs arguments, such as `-t`.
    pub mkfs: &'static [&'static str],
    /// Keys of mount options, such as `data`.
    pub mount: &'static [&'static str],
}

/// The mkfs and mount options that choose between algorithms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Algorithms {
    /// Features of `mkfs -O`.
    pub features: &'static [&'static str],
    /// mkfs flags with a value, such as `--csum`.
    pub mkfs: &'static [&'static str],
    /// Keys of mount options, such as `compress`.
    pub mount: &'static [&'static str],
}

/// What a kind needs from the kernel: one of `types` in /proc/filesystems, from `modules`.
#[derive(Clone, Copy, Debug, Serialize, schemars::JsonSchema)]
pub struct KernelNeed {
    /// Names in /proc/filesystems; one of them is enough.
    pub types: &'static [&'static str],
    /// Names or aliases for modprobe. If the type is missing, all of these modules are loaded in this order; a module that does not
    /// exist is built into the kernel. The list has the driver and the modules that the driver requests by alias at run time:
    /// modules.dep does not list these, so a guest without modprobe would lack them.
    pub modules: &'static [&'static str],
}

/// The steps of an administrator after a power cut: the `repair` commands, if any, then a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Recovery {
    /// Repair commands, run in order before the mount.
    pub repair: Vec<Check>,
    /// Whether the mount replays a journal or log.
    pub replays_on_mount: bool,
}

/// The kind with this name.
pub fn find(name: &str) -> Option<&'static dyn Filesystem> {
    TABLE.iter().copied().find(|kind| kind.name() == name)
}

/// The options of a variant that replace one algorithm by another, such as a compression, a checksum or a method to map blocks.
/// Two candidates of one kind with the same algorithms run the same code in all parts that both use. An option that adds or
/// removes a part (`noatime`, `^has_journal`) or sets a quantity (`commit=30`) is not included.
pub fn algorithms(kind: &dyn Filesystem, variant: &Variant) -> BTreeSet<String> {
    let Algorithms { features, mkfs, mount } = kind.algorithms();
    let options = variant.mount.iter().flat_map(|option| option.split(','));
    let mounted = options.filter(|option| mount.contains(&key(option))).map(str::to_owned);
    let flagged = mkfs.iter().flat_map(|flag| {
        asked::values(&variant.mkfs, flag).into_iter().map(move |value| format!("{flag} {value}"))
    });
    let featured = features
        .iter()
        .filter_map(|name| asked::feature(&variant.mkfs, name).map(|is_on| format!("-O {name} {is_on}")));
    mounted.chain(flagged).chain(featured).collect()
}

/// The commit interval of this variant in seconds. Kinds that allow a choice have the mount option `commit`.
pub fn commit_seconds(kind: &dyn Filesystem, variant: &Variant) -> u64 {
    let options = variant.mount.iter().flat_map(|option| option.split(','));
    let chosen = options.filter_map(|option| option.strip_prefix("commit=")?.parse().ok()).next_back();
    // `commit=0` means the default interval.
    chosen.filter(|seconds| *seconds > 0).unwrap_or_else(|| kind.commits_after().value)
}

/// Whether the kind can be used with this variant. The error says what to write instead.
pub fn accept(kind: &dyn Filesystem, variant: &Variant) -> Result<(), String> {
    let options = || variant.mount.iter().flat_map(|option| option.split(','));
    if options().chain(variant.mkfs.iter().map(String::as_str)).any(str::is_empty) {
        return Err(format!(
            "an option of {} is empty; write an option such as mount=noatime, or leave it out",
            kind.name()
        ));
    }
    if variant.conversion && !kind.can().conversion.value {
        let others: Vec<_> = TABLE.iter().filter(|k| k.can().conversion.value).map(|k| k.name()).collect();
        return Err(format!(
            "{filesystem} cannot be made by conversion; remove 'conversion' or use one of {others}",
            filesystem = kind.name(),
            others = others.join(", ")
        ));
    }
    let fixed = kind.fixed();
    let flag = fixed.mkfs.iter().find_map(|flag| other_flag(kind, &variant.mkfs, flag));
    let own = kind.mount(&Variant::default());
    // An option that the kind gives anyway does not turn it into another kind.
    let is_own = |option: &str| own.options().iter().any(|own| own == option);
    let option = options().find(|option| fixed.mount.contains(&key(option)) && !is_own(option));
    match flag.or(option) {
        None => Ok(()),
        Some(word) => Err(format!(
            "'{word}' would turn {filesystem} into another kind; remove it, or use that kind (see: fsderby list filesystems)",
            filesystem = kind.name()
        )),
    }
}

/// The user's argument that gives this mkfs flag a value other than the kind's own value.
fn other_flag<'m>(kind: &dyn Filesystem, mkfs: &'m [String], flag: &str) -> Option<&'m str> {
    let own = kind.make(&Variant::default());
    let own = asked::valued(own.first().map(Vec::as_slice).unwrap_or_default(), flag);
    let others = asked::valued(mkfs, flag).into_iter();
    others.into_iter().find(|(_, value)| !own.iter().any(|(_, own)| own == value)).map(|(word, _)| word)
}

/// The programs in the command lines of a kind: `doctor` looks for these programs, and a guest must contain them.
pub fn tools(kind: &dyn Filesystem) -> Vec<String> {
    let plain = Variant::default();
    let converted = Variant { conversion: true, ..Variant::default() };
    let mut lines = Vec::new();
    for variant in [plain, converted] {
        if accept(kind, &variant).is_err() {
            continue;
        }
        lines.extend(kind.make(&variant));
        lines.extend(kind.revert(&variant));
        if let Mount::Command { argv, .. } = kind.mount(&variant) {
            lines.push(argv);
        }
    }
    lines.extend(kind.check().map(|check| check.argv));
    lines.extend(kind.recover().repair.into_iter().map(|repair| repair.argv));
    lines.push(kind.version());
    let mut names: Vec<String> = Vec::new();
    for name in lines.into_iter().filter_map(|line| line.into_iter().next()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
