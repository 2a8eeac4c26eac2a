//! The filesystems that can race: one trait, one table.
//!
//! A kind *returns* command lines, options and facts and runs nothing, so it is tested without root. No other part
//! of fsderby knows a kind by its name.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::story::Story;
use crate::units::Bytes;

/// Every kind, in the order in which `fsderby list filesystems` shows them.
pub static TABLE: &[&dyn Filesystem] = &[];

/// In a command line: the device, which the agent knows only when the ground is there.
pub const DEVICE: &str = "{device}";
/// In a command line: the folder to mount on.
pub const MOUNTPOINT: &str = "{mountpoint}";

/// A command and its arguments, not yet tied to a device: see [`DEVICE`] and [`MOUNTPOINT`].
pub type Argv = Vec<String>;

pub trait Filesystem: Sync {
    /// As the user types it: `ext3-journal`.
    fn name(&self) -> &'static str;
    fn story(&self) -> Story;
    /// The Debian package that brings its tools.
    fn package(&self) -> &'static str;
    fn kernel(&self) -> KernelNeed;
    /// The windows that mkfs accepts, smallest and largest.
    fn size(&self) -> RangeInclusive<Bytes>;
    fn can(&self) -> Capabilities;
    /// What makes it, in order: mkfs, and where `variant.conversion` asks for it, what converts it into this kind.
    fn make(&self, variant: &Variant) -> Vec<Argv>;
    /// What turns a converted one back; empty where nothing was converted.
    fn revert(&self, _variant: &Variant) -> Vec<Argv> {
        Vec::new()
    }
    /// Its own full check, read-only; `None` where none exists.
    fn check(&self) -> Option<Check>;
    /// What an administrator runs after the power was cut.
    fn recover(&self) -> Recovery;
    /// Prints the tools' version.
    fn version(&self) -> Argv;
    fn mount(&self, variant: &Variant) -> Mount;
    /// Whether what is mounted is what was asked for. The error says what differs.
    ///
    /// The kernel hides defaults and rewrites values, so each kind may know better than this comparison by name.
    fn confirm(&self, asked: &Mount, seen: &Mounted) -> Result<(), String> {
        confirm_type_and_options(asked, seen)
    }
}

/// How a kind is entered into an experiment, beyond its defaults. A user's variant is data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Further arguments of mkfs, after the kind's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mkfs: Vec<String>,
    /// Further mount options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mount: Vec<String>,
    /// Made as another kind first and then converted; only where [`Capabilities::conversion`] says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conversion: bool,
}

/// What the running kernel must bring: one of `types` in /proc/filesystems, from one of `modules`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KernelNeed {
    /// Any one of them serves.
    pub types: &'static [&'static str],
    /// All are loaded, in this order, where the type is not there yet.
    pub modules: &'static [&'static str],
}

/// How to mount it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mount {
    /// By the kernel's own call.
    Syscall { fstype: String, options: Vec<String> },
    /// By a program, with [`DEVICE`] and [`MOUNTPOINT`] in it; a FUSE daemon stays behind. `fstype` and `options` are
    /// what is asked for, to compare with what is seen.
    Command { argv: Argv, fstype: String, options: Vec<String> },
}

impl Mount {
    pub fn fstype(&self) -> &str {
        match self {
            Mount::Syscall { fstype, .. } | Mount::Command { fstype, .. } => fstype,
        }
    }

    pub fn options(&self) -> &[String] {
        match self {
            Mount::Syscall { options, .. } | Mount::Command { options, .. } => options,
        }
    }
}

/// What *was* mounted, from mountinfo, and who serves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mounted {
    pub source: String,
    pub fstype: String,
    /// The module or kernel driver that serves this type, as far as it can be seen.
    pub driver: String,
    /// Mount options and superblock options of mountinfo, joined.
    pub options: Vec<String>,
}

/// A check and what its exit codes mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub argv: Argv,
    /// Exit codes that say "consistent".
    pub clean: Vec<i32>,
    pub depth: Depth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Every structure is walked.
    Full,
    /// Only a few are looked at; a clean answer says little.
    Shallow,
}

/// What an administrator does after a power cut: `repair` first where it is not empty, then mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// Run in order before the mount.
    pub repair: Vec<Check>,
    /// Whether mounting replays a journal or log by itself.
    pub replays_on_mount: bool,
}

/// What a kind can do. Each fact names its source: a kernel document, a manual page, a header.
#[derive(Clone, Debug, Serialize)]
pub struct Capabilities {
    pub journal: Fact<Journal>,
    pub data_checksums: Fact<bool>,
    pub metadata_checksums: Fact<bool>,
    pub snapshots: Fact<bool>,
    pub compression: Fact<bool>,
    pub hard_links: Fact<bool>,
    pub symlinks: Fact<bool>,
    /// Owners and permission bits.
    pub modes: Fact<bool>,
    pub acl: Fact<bool>,
    pub xattr: Fact<bool>,
    pub sparse_files: Fact<bool>,
    pub case_sensitive: Fact<bool>,
    pub grow: Fact<Resize>,
    pub shrink: Fact<Resize>,
    /// `None`: a kind of check exists only in name; see [`Filesystem::check`].
    pub check: Fact<Option<Depth>>,
    pub largest_file: Fact<Bytes>,
    /// Most entries in the root folder, where there is a limit.
    pub root_entries: Fact<Option<u64>>,
    /// Can come about by converting another kind.
    pub conversion: Fact<bool>,
    /// In Linux since this version, and until that one.
    pub linux: Fact<Linux>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fact<T> {
    pub value: T,
    pub source: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Journal {
    None,
    Metadata,
    MetadataAndData,
    /// Never overwrites in place: copy on write or a log.
    CopyOnWrite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Resize {
    No,
    Unmounted,
    Mounted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Linux {
    /// First version with this filesystem (or, where `driver` differs, with the driver that serves it).
    pub since: &'static str,
    /// First version without it.
    pub until: Option<&'static str>,
    /// The driver that serves it today.
    pub driver: &'static str,
}

/// The kind of that name.
pub fn find(name: &str) -> Option<&'static dyn Filesystem> {
    TABLE.iter().copied().find(|kind| kind.name() == name)
}

/// Type and options compared by name; options that the kernel does not show pass.
pub fn confirm_type_and_options(asked: &Mount, seen: &Mounted) -> Result<(), String> {
    if asked.fstype() != seen.fstype {
        return Err(format!("asked for type {}, mounted is {}", asked.fstype(), seen.fstype));
    }
    for option in asked.options() {
        let Some((key, value)) = option.split_once('=') else { continue };
        let shown = seen.options.iter().find_map(|o| o.strip_prefix(key)?.strip_prefix('='));
        if let Some(shown) = shown
            && shown != value
        {
            return Err(format!("asked for {option}, mounted is {key}={shown}"));
        }
    }
    Ok(())
}

/// A command line from words; the kinds' files read better with it.
fn argv<const N: usize>(words: [&str; N]) -> Argv {
    words.map(str::to_owned).to_vec()
}
