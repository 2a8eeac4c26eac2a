//! The parameters of Bonnie++, with Bonnie++'s own option in brackets.

use crate::schema::units::{GIB, KIB, MIB};

/// The emulated version. Versions time different things, so their figures are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// Bonnie++ 1.02 to 1.04: single characters go through a C stream, over the whole size; no sync unless requested.
    Classic,
    /// Bonnie++ 1.9x and 2.00: one system call per single byte; data phases end with an fsync, create and delete phases with a sync.
    Second,
}

/// The type of the small files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Small {
    /// Files of min to max bytes.
    Files { min: u32, max: u32 },
    /// One empty file, and hard links to it.
    HardLinks,
    /// One empty file, and symbolic links to it.
    Symlinks,
}

/// The call that writes all data to the disk at the end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// sync(2), which syncs every filesystem of the machine.
    All,
    /// syncfs(2), which syncs only the tested filesystem.
    Own,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    pub semantics: Semantics,
    /// Chunks of the data file (-s); 0 leaves the data phases out.
    pub chunks: u64,
    /// Bytes of a chunk.
    pub chunk: u32,
    /// Bytes written and read one by one (-f leaves them out).
    pub characters: u64,
    /// Random reads; a tenth of the chunks read are rewritten.
    pub seeks: u32,
    pub seekers: u32,
    /// Small files of each order (-n × 1024); 0 leaves their phases out.
    pub files: u32,
    pub small: Small,
    /// The number of directories; 1 means no subdirectories.
    pub directories: u32,
    /// Bytes of a small file that one call reads or writes.
    pub piece: u32,
    /// Whether each creation and deletion is synced (-b).
    pub fsync: bool,
    /// Whether the data file is created with O_DIRECT (-D).
    pub direct: bool,
    pub flush: Flush,
    pub seed: u32,
}

/// Default number of single characters in 1.9x and 2.00.
pub const CHARACTERS: u64 = 3 * MIB;
/// Bytes of a chunk: a power of two in this range.
pub const CHUNKS: [u32; 2] = [256, MIB as u32];
pub const CHUNK: u32 = 8 * KIB as u32;
pub const SEEKS: u32 = 8192;
/// Bytes of the buffer of a C stream: `st_blksize` of all filesystems in fsderby.
pub const STREAM: u32 = 4096;
/// Directory names have five digits.
pub const MOST_DIRECTORIES: u32 = 100_000;
/// A chunk's position must fit into a ticket, which is a C int.
pub const MOST_CHUNKS: u64 = 1 << 31;
/// File names are kept in memory: about 40 bytes per file.
pub const MOST_FILES: u32 = 16 << 20;
/// Each seeker takes a thread and a descriptor.
pub const MOST_SEEKERS: u32 = 256;
/// Tickets are kept in memory.
pub const MOST_SEEKS: u32 = 16 << 20;

impl Semantics {
    /// The default number of seekers.
    pub fn seekers(self) -> u32 {
        match self {
            Semantics::Classic => 3,
            Semantics::Second => 5,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Semantics::Classic => "classic",
            Semantics::Second => "2.00",
        }
    }
}

impl Rules {
    pub fn bytes(&self) -> u64 {
        self.chunks * u64::from(self.chunk)
    }

    /// 1.0x keeps the data in files of 1 GiB.
    pub fn bytes_of_a_file(&self) -> u64 {
        match self.semantics {
            Semantics::Classic => GIB,
            Semantics::Second => u64::MAX,
        }
    }

    /// The number of single characters that count as one operation: a chunk, or a whole buffer where 1.0x buffers.
    pub fn span(&self) -> u64 {
        match self.semantics {
            Semantics::Classic => self.chunk.max(STREAM).into(),
            Semantics::Second => self.chunk.into(),
        }
    }

    /// The number of data files.
    pub fn data_files(&self) -> u64 {
        if self.chunks == 0 { 0 } else { self.bytes().div_ceil(self.bytes_of_a_file()) }
    }

    /// Whether each data phase ends with an fsync, which is timed.
    pub fn syncs_data(&self) -> bool {
        self.semantics == Semantics::Second || self.fsync
    }

    /// Small files per subdirectory: one more than an equal share, so the last subdirectory has fewer, like in the original.
    pub fn files_of_a_directory(&self) -> u32 {
        if self.directories > 1 { self.files / self.directories + 1 } else { u32::MAX }
    }

    /// Whether a phase of small files ends with a sync, which is timed.
    pub fn syncs_files(&self) -> bool {
        self.semantics == Semantics::Second
    }
}
