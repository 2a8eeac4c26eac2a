//! Capabilities of a kind, each with its source: a kernel document, a manual page, a header or a measurement.

use serde::Serialize;

use super::Depth;
use crate::schema::units::Bytes;

/// Capabilities of a kind with its mount options.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Capabilities {
    pub journal: Fact<Journal>,
    pub data_checksums: Fact<bool>,
    /// Whether checksums cover all metadata and are verified at every read; checksums of only some structures do not count.
    pub metadata_checksums: Fact<bool>,
    pub snapshots: Fact<bool>,
    pub compression: Fact<bool>,
    /// Whether copies of files can share blocks until one copy is changed.
    pub reflinks: Fact<bool>,
    /// Whether there are quotas per user and group.
    pub quotas: Fact<bool>,
    pub hard_links: Fact<bool>,
    pub symlinks: Fact<bool>,
    /// Whether files have owners and permission bits.
    pub modes: Fact<bool>,
    pub acl: Fact<bool>,
    pub xattr: Fact<bool>,
    pub sparse_files: Fact<bool>,
    /// Whether fallocate(2) allocates space without writing.
    pub preallocation: Fact<bool>,
    pub case_sensitive: Fact<bool>,
    pub grow: Fact<Resize>,
    pub shrink: Fact<Resize>,
    /// How thorough the check is; `None` if the kind's check does nothing: see [`super::Filesystem::check`].
    pub check: Fact<Option<Depth>>,
    pub largest_file: Fact<Bytes>,
    /// The largest number of entries in the root directory, if this number is limited.
    pub root_entries: Fact<Option<u64>>,
    /// Whether fsderby can make this kind by converting another kind.
    pub conversion: Fact<bool>,
    /// The versions of Linux that have this kind.
    pub linux: Fact<Linux>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Fact<T> {
    pub value: T,
    pub source: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Journal {
    None,
    Metadata,
    MetadataAndData,
    /// The filesystem never overwrites in place: it is copy-on-write or log-structured.
    CopyOnWrite,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Resize {
    No,
    Unmounted,
    Mounted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Linux {
    /// First version of Linux with this kind, with any driver.
    pub since: &'static str,
    /// First version of Linux without this kind.
    pub until: Option<&'static str>,
    /// The current driver in Linux.
    pub driver: &'static str,
}

pub(super) const fn fact<T>(value: T, source: &'static str) -> Fact<T> {
    Fact { value, source }
}

pub(super) const fn yes(source: &'static str) -> Fact<bool> {
    fact(true, source)
}

pub(super) const fn no(source: &'static str) -> Fact<bool> {
    fact(false, source)
}

/// The versions of Linux for a filesystem that Linux still has.
pub(super) const fn linux(since: &'static str, driver: &'static str, source: &'static str) -> Fact<Linux> {
    fact(Linux { since, until: None, driver }, source)
}
