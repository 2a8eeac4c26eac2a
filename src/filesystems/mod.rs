//! The filesystems that can take part: one trait, one table.
//!
//! A kind *returns* command lines, options and facts and runs nothing, so it is tested without root. No other part
//! of fsderby knows a kind by its name.

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
mod reiserfs;
#[cfg(test)]
mod tests;
mod xfs;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::schema::story::Story;
use crate::schema::units::Bytes;

use capabilities::fact;
pub use capabilities::{Capabilities, Fact, Journal, Linux, Resize};
pub use confirm::{absences_not_shown, confirm_type_and_options, give_up_flushes};
pub use elsewhere::{is_known as is_known_elsewhere, unknown};
pub use needs::{Answer, answer};

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

/// What lies on a disk beside that work copies from: it is the same for every candidate, every kernel here has it, and its tools
/// need no rights.
pub static BESIDE: &dyn Filesystem = &ext::EXT4;

pub trait Filesystem: Sync {
    /// As the user types it: `ext3-journal`.
    fn name(&self) -> &'static str;
    fn story(&self) -> Story;
    /// The Debian package that brings its tools.
    fn package(&self) -> &'static str;
    fn kernel(&self) -> KernelNeed;
    /// The volumes that mkfs accepts and the check then calls clean, smallest and largest.
    fn size(&self) -> RangeInclusive<Bytes>;
    fn can(&self) -> Capabilities;
    /// The same, made and mounted with a user's own options, which can take an ability away or add one.
    fn can_with(&self, _variant: &Variant) -> Capabilities {
        self.can()
    }
    /// What makes it this kind and no other, so that a user's variant may not replace it: see [`accept`].
    fn fixed(&self) -> Fixed {
        Fixed::default()
    }
    /// The options that put one algorithm in the place of another: see [`algorithms`].
    fn algorithms(&self) -> Algorithms {
        Algorithms::default()
    }
    /// What makes it, in order: mkfs, and where `variant.conversion` asks for it, what converts it into this kind.
    fn make(&self, variant: &Variant) -> Vec<Argv>;
    /// What turns a converted one back; empty where nothing was converted.
    fn revert(&self, _variant: &Variant) -> Vec<Argv> {
        Vec::new()
    }
    /// Its own full check, read-only; `None` where none exists.
    fn check(&self) -> Option<Check>;
    /// Whether its fsync has the device empty its volatile cache. Where it does not, reports must say so beside its speed.
    fn flushes_on_fsync(&self) -> bool {
        true
    }
    /// After how many seconds it makes durable by itself what nobody asked for: the commit interval of its journal or log, or where it has
    /// none of its own the age at which the kernel writes dirty pages out.
    fn commits_after(&self) -> Fact<u64> {
        fact(30, "Documentation/admin-guide/sysctl/vm.rst: dirty_expire_centisecs")
    }
    /// What an administrator runs after the power was cut.
    fn recover(&self) -> Recovery;
    /// Prints the tools' version, on whichever of its two outputs; some tools end it with an exit code that is not 0.
    fn version(&self) -> Argv;
    fn mount(&self, variant: &Variant) -> Mount;
    /// What its tools need beside the device that they are given.
    fn privileges(&self) -> Privileges {
        Privileges::default()
    }
    /// Whether what is mounted is what was asked for. The error says what differs.
    ///
    /// The kernel hides defaults and rewrites values, so each kind may know better than this comparison by name.
    fn confirm(&self, asked: &Mount, seen: &Mounted) -> Result<(), String> {
        confirm_type_and_options(asked, seen)
    }
}

/// What of mkfs and mount belongs to the kind itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed {
    /// Beginnings of mkfs arguments: `-t`.
    pub mkfs: &'static [&'static str],
    /// Keys of mount options: `data`.
    pub mount: &'static [&'static str],
}

/// What of mkfs and mount chooses between algorithms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Algorithms {
    /// Features of `mkfs -O`.
    pub features: &'static [&'static str],
    /// Flags of mkfs that a value follows: `--csum`.
    pub mkfs: &'static [&'static str],
    /// Keys of mount options: `compress`.
    pub mount: &'static [&'static str],
}

/// What the running kernel must bring: one of `types` in /proc/filesystems, from `modules`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KernelNeed {
    /// Any one of them serves.
    pub types: &'static [&'static str],
    /// Names or aliases as modprobe takes them. All are loaded, in this order, where the type is not there yet; what a kernel
    /// does not have as a module is built in. Beside the driver they are what it asks for by alias at run time, which
    /// modules.dep does not list and a guest without modprobe would miss.
    pub modules: &'static [&'static str],
}

/// What an administrator does after a power cut: `repair` first where it is not empty, then mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// Run in order before the mount.
    pub repair: Vec<Check>,
    /// Whether mounting replays a journal or log by itself.
    pub replays_on_mount: bool,
}

/// The kind of that name.
pub fn find(name: &str) -> Option<&'static dyn Filesystem> {
    TABLE.iter().copied().find(|kind| kind.name() == name)
}

/// Those options of a variant that put one algorithm in the place of another: a compression, a checksum, another way to map blocks. Two
/// candidates of one kind with the same ones run the same code, as far as both run it. An option that adds or leaves out a part
/// (`noatime`, `^has_journal`), and one that sets a quantity (`commit=30`), is none.
pub fn algorithms(kind: &dyn Filesystem, variant: &Variant) -> BTreeSet<String> {
    let Algorithms { features, mkfs, mount } = kind.algorithms();
    let options = variant.mount.iter().flat_map(|option| option.split(','));
    let mounted = options.filter(|option| mount.contains(&confirm::key(option))).map(str::to_owned);
    let flagged = mkfs.iter().flat_map(|flag| {
        asked::values(&variant.mkfs, flag).into_iter().map(move |value| format!("{flag} {value}"))
    });
    let featured = features
        .iter()
        .filter_map(|name| asked::feature(&variant.mkfs, name).map(|is_on| format!("-O {name} {is_on}")));
    mounted.chain(flagged).chain(featured).collect()
}

/// The commit interval of this variant: kinds that let it be chosen call the mount option `commit`.
pub fn commit_seconds(kind: &dyn Filesystem, variant: &Variant) -> u64 {
    let options = variant.mount.iter().flat_map(|option| option.split(','));
    let chosen = options.filter_map(|option| option.strip_prefix("commit=")?.parse().ok()).next_back();
    // 0 is the default, whatever that is.
    chosen.filter(|seconds| *seconds > 0).unwrap_or_else(|| kind.commits_after().value)
}

/// Whether the kind can be entered like that. The error says what to write instead.
pub fn accept(kind: &dyn Filesystem, variant: &Variant) -> Result<(), String> {
    let options = || variant.mount.iter().flat_map(|option| option.split(','));
    if options().chain(variant.mkfs.iter().map(String::as_str)).any(str::is_empty) {
        return Err(format!("an empty option of {}; write mount=noatime, or leave it out", kind.name()));
    }
    if variant.conversion && !kind.can().conversion.value {
        let others: Vec<_> = TABLE.iter().filter(|k| k.can().conversion.value).map(|k| k.name()).collect();
        return Err(format!(
            "{} cannot be made by conversion; remove 'conversion' or use one of {}",
            kind.name(),
            others.join(", ")
        ));
    }
    let fixed = kind.fixed();
    let flag = variant.mkfs.iter().find(|word| fixed.mkfs.iter().any(|flag| word.starts_with(flag)));
    let option = options().find(|option| fixed.mount.contains(&confirm::key(option)));
    match flag.map(String::as_str).or(option) {
        None => Ok(()),
        Some(word) => Err(format!(
            "'{word}' would turn {} into another kind; remove it, or use that kind (see: fsderby list filesystems)",
            kind.name()
        )),
    }
}

/// The programs that a kind needs, from its own command lines: what `doctor` looks for and a guest must hold.
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
