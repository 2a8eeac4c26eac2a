//! What a kind can do, each fact with its source: a kernel document, a manual page, a header, a measurement.

use serde::Serialize;

use super::Depth;
use crate::schema::units::Bytes;

/// What a kind can do, mounted as this kind mounts it.
#[derive(Clone, Debug, Serialize)]
pub struct Capabilities {
    pub journal: Fact<Journal>,
    pub data_checksums: Fact<bool>,
    /// All metadata, verified whenever it is read; a checksum of some structures does not count.
    pub metadata_checksums: Fact<bool>,
    pub snapshots: Fact<bool>,
    pub compression: Fact<bool>,
    /// Copies of files that share their blocks until one is changed.
    pub reflinks: Fact<bool>,
    /// For each user and group.
    pub quotas: Fact<bool>,
    pub hard_links: Fact<bool>,
    pub symlinks: Fact<bool>,
    /// Owners and permission bits.
    pub modes: Fact<bool>,
    pub acl: Fact<bool>,
    pub xattr: Fact<bool>,
    pub sparse_files: Fact<bool>,
    /// fallocate(2) gives a file space without writing to it.
    pub preallocation: Fact<bool>,
    pub case_sensitive: Fact<bool>,
    pub grow: Fact<Resize>,
    pub shrink: Fact<Resize>,
    /// `None`: a kind of check exists only in name; see [`super::Filesystem::check`].
    pub check: Fact<Option<Depth>>,
    pub largest_file: Fact<Bytes>,
    /// Most entries in the root folder, where there is a limit.
    pub root_entries: Fact<Option<u64>>,
    /// Can come about by converting another kind, and fsderby does it.
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
    /// First version with this kind, whichever driver served it then.
    pub since: &'static str,
    /// First version without it.
    pub until: Option<&'static str>,
    /// The driver that serves it today.
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

/// Still in Linux.
pub(super) const fn linux(since: &'static str, driver: &'static str, source: &'static str) -> Fact<Linux> {
    fact(Linux { since, until: None, driver }, source)
}
