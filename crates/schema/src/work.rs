//! A workload's statements about itself before and after a run.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Amount {
    pub files_peak: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Maximum live bytes at any time: must fit into the filesystem, and is compared with the memory.
    pub bytes_peak: u64,
}

/// A file, link or directory, as expected by the engine or as found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize)]
pub struct LiveFile {
    pub path: PathBuf,
    /// Length of the target for a link, 0 for a directory.
    pub bytes: u64,
    /// CRC-32 (IEEE) of the content, of the target for a link. Holes count as zeros.
    pub crc32: u32,
    #[serde(default, skip_serializing_if = "Kind::is_file")]
    pub kind: Kind,
    /// Permissions, if the engine set them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// Number of hard links, if the engine made more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<u64>,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    File,
    /// A directory; checked only if the engine names directories.
    Folder,
    Symlink,
}

impl Kind {
    fn is_file(&self) -> bool {
        *self == Kind::File
    }
}

impl LiveFile {
    pub fn file(path: impl Into<PathBuf>, bytes: u64, crc32: u32) -> Self {
        LiveFile { path: path.into(), bytes, crc32, kind: Kind::File, mode: None, links: None }
    }

    pub fn folder(path: impl Into<PathBuf>) -> Self {
        LiveFile { kind: Kind::Folder, ..LiveFile::file(path, 0, 0) }
    }

    /// `crc32` and `bytes` are those of the target.
    pub fn symlink(path: impl Into<PathBuf>, bytes: u64, crc32: u32) -> Self {
        LiveFile { kind: Kind::Symlink, ..LiveFile::file(path, bytes, crc32) }
    }

    pub fn with_mode(self, mode: u32) -> Self {
        LiveFile { mode: Some(mode), ..self }
    }

    pub fn with_links(self, links: u64) -> Self {
        LiveFile { links: Some(links), ..self }
    }

    /// Drops the attributes that the engine does not state.
    pub fn leave_what_is_said(&mut self, said: Option<&LiveFile>) {
        self.mode = said.and_then(|said| said.mode).and(self.mode);
        self.links = said.and_then(|said| said.links).and(self.links);
    }
}

/// The line that is hashed: path, size and checksum for a plain file.
impl fmt::Display for LiveFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:08x}", self.path.display(), self.bytes, self.crc32)?;
        match self.kind {
            Kind::File => {}
            Kind::Folder => f.write_str(" folder")?,
            Kind::Symlink => f.write_str(" symlink")?,
        }
        if let Some(mode) = self.mode {
            write!(f, " mode {mode:o}")?;
        }
        self.links.map_or(Ok(()), |links| write!(f, " links {links}"))
    }
}
