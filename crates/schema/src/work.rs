//! What a workload says of itself before and after it runs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    pub files_peak: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Most that is live at one time: what must fit into the filesystem, and what is compared with the memory.
    pub bytes_peak: u64,
}

/// A file as the engine knows it to be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LiveFile {
    pub path: PathBuf,
    pub bytes: u64,
    /// CRC-32 (IEEE) of the content.
    pub crc32: u32,
}
