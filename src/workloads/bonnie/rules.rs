//! What a run does: the parameters of Bonnie++, with its own names in brackets.

use crate::schema::units::{GIB, KIB, MIB};

/// Which Bonnie++ is followed. What is timed and how differs, so figures of the two are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// 1.02 to 1.04: characters through a stream, over the whole size; nothing is synced unless asked for.
    Classic,
    /// 1.9x and 2.00: single bytes by system calls; each phase of data ends with an fsync, each that makes or deletes files with a sync.
    Second,
}

/// What the small files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Small {
    /// Files of min to max bytes.
    Files { min: u32, max: u32 },
    /// One empty file, and hard links to it.
    HardLinks,
    /// One empty file, and symbolic links to it.
    Symlinks,
}

/// What all data is written to the disk by at the end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// sync(2): every filesystem of the machine.
    All,
    /// syncfs(2): the one that is worked on, and no other.
    Own,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    pub semantics: Semantics,
    /// Chunks of the data file (-s); 0 leaves the data phases out.
    pub chunks: u64,
    /// Of the data file, in bytes.
    pub chunk: u32,
    /// Bytes that are written and read one by one (-f leaves them out).
    pub characters: u64,
    /// Random reads, of which a tenth is written again.
    pub seeks: u32,
    pub seekers: u32,
    /// Small files of each order (-n × 1024); 0 leaves their phases out.
    pub files: u32,
    pub small: Small,
    /// 1: no subdirectories.
    pub directories: u32,
    /// What is written or read of a small file in one call.
    pub piece: u32,
    /// -b.
    pub fsync: bool,
    /// -D: O_DIRECT where the data file is made.
    pub direct: bool,
    pub flush: Flush,
    pub seed: u32,
}

/// Characters of 1.9x and 2.00 where nothing else is asked for.
pub const CHARACTERS: u64 = 3 * MIB;
/// Of a chunk, in bytes: a power of two from one to the other.
pub const CHUNKS: [u32; 2] = [256, MIB as u32];
pub const CHUNK: u32 = 8 * KIB as u32;
pub const SEEKS: u32 = 8192;
/// More could not have names of five digits.
pub const MOST_DIRECTORIES: u32 = 100_000;
/// A ticket is a C int.
pub const MOST_CHUNKS: u64 = 1 << 31;
/// Names are kept in memory: about 40 bytes a file.
pub const MOST_FILES: u32 = 16 << 20;
/// Each has a thread and a descriptor.
pub const MOST_SEEKERS: u32 = 256;
/// Tickets are kept in memory.
pub const MOST_SEEKS: u32 = 16 << 20;

impl Semantics {
    /// Where nothing else is asked for.
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

    /// How many files the data lies in.
    pub fn data_files(&self) -> u64 {
        if self.chunks == 0 { 0 } else { self.bytes().div_ceil(self.bytes_of_a_file()) }
    }

    /// Where each phase of data ends with an fsync, within its time.
    pub fn syncs_data(&self) -> bool {
        self.semantics == Semantics::Second || self.fsync
    }

    /// Small files of a subdirectory: one more than their share, so the last one has fewer. That is the original's.
    pub fn files_of_a_directory(&self) -> u32 {
        if self.directories > 1 { self.files / self.directories + 1 } else { u32::MAX }
    }

    /// Whether a phase of small files ends with a sync, within its time.
    pub fn syncs_files(&self) -> bool {
        self.semantics == Semantics::Second
    }
}
