//! Bytes that files occupy on their device. `st_blocks` is not that number where a filesystem compresses: Btrfs counts uncompressed
//! bytes there, and F2FS counts the blocks that it saved until they are released.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use crate::btrfs::{self, Extent};
use crate::extents;
use crate::file::filesystem;

/// The unit of `st_blocks`, whatever the filesystem's block size.
const STAT_BLOCK: u64 = 512;
/// `f_type` of F2FS, whose blocks have 4 KiB: `linux/magic.h`.
const F2FS: libc::__fsword_t = 0xF2F5_2010;
const F2FS_BLOCK: u64 = 4096;
/// `_IOR(0xf5, 17, __u64)`: `linux/f2fs.h`.
const F2FS_IOC_GET_COMPRESS_BLOCKS: libc::c_ulong = (2 << 30) | (8 << 16) | (0xf5 << 8) | 17;

/// Bytes that several files occupy together. An extent that several files share counts once.
#[derive(Debug, Default)]
pub struct Occupied {
    bytes: u64,
    shared: HashSet<u64>,
    has_compressed: bool,
    has_uncounted: bool,
}

impl Occupied {
    /// Adds a regular file, whose content must have been synced.
    ///
    /// # Errors
    /// If the file cannot be examined.
    pub fn add(&mut self, file: &File) -> io::Result<()> {
        let blocks = file.metadata()?.blocks() * STAT_BLOCK;
        match filesystem(file)? {
            btrfs::MAGIC => match btrfs::extents(file) {
                Ok(extents) => extents.into_iter().for_each(|extent| self.add_extent(extent)),
                // Without CAP_SYS_ADMIN.
                Err(_) => self.add_blocks(file, blocks),
            },
            F2FS => {
                // An error means that it was made without compression.
                let saved = f2fs_saved(file).unwrap_or(0);
                self.bytes += blocks.saturating_sub(saved * F2FS_BLOCK);
                self.has_compressed |= saved > 0;
            }
            _ => self.add_blocks(file, blocks),
        }
        Ok(())
    }

    fn add_extent(&mut self, extent: Extent) {
        match extent {
            Extent::Inline { bytes, is_compressed, .. } => {
                self.bytes += bytes;
                self.has_compressed |= is_compressed;
            }
            Extent::Regular { begin, bytes, is_compressed, .. } => {
                self.bytes += if self.shared.insert(begin) { bytes } else { 0 };
                self.has_compressed |= is_compressed;
            }
        }
    }

    /// Bytes by `st_blocks`. Compressed files that have a block for each uncompressed block are counted uncompressed.
    fn add_blocks(&mut self, file: &File, blocks: u64) {
        self.bytes += blocks;
        if extents::has_encoded(file).unwrap_or(false) {
            let length = file.metadata().map_or(0, |about| about.len());
            self.has_compressed |= blocks < length;
            self.has_uncounted |= blocks >= length;
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the filesystem compressed some of the content.
    pub fn has_compressed(&self) -> bool {
        self.has_compressed
    }

    /// Whether compressed content was counted uncompressed, because the filesystem does not tell its size to this process.
    pub fn has_uncounted(&self) -> bool {
        self.has_uncounted
    }
}

/// Blocks that compression saved and that `st_blocks` still counts; 0 after their release.
fn f2fs_saved(file: &File) -> io::Result<u64> {
    let mut saved: u64 = 0;
    // SAFETY: the kernel writes one u64 and keeps no pointer.
    match unsafe { libc::ioctl(file.as_raw_fd(), F2FS_IOC_GET_COMPRESS_BLOCKS, &raw mut saved) } {
        0 => Ok(saved),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_that_two_files_share_counts_once() {
        assert_eq!(F2FS_IOC_GET_COMPRESS_BLOCKS, 0x8008_F511);
        let mut occupied = Occupied::default();
        let regular = |begin| Extent::Regular {
            logical: 0,
            begin,
            bytes: 4096,
            offset: 0,
            length: 131_072,
            is_compressed: true,
        };
        let inline = Extent::Inline { logical: 0, bytes: 100, is_compressed: false };
        occupied.add_extent(inline);
        assert!(!occupied.has_compressed());
        [regular(1 << 20), regular(1 << 20), regular(2 << 20)]
            .into_iter()
            .for_each(|extent| occupied.add_extent(extent));
        assert_eq!(occupied.bytes(), 2 * 4096 + 100);
        assert!(occupied.has_compressed() && !occupied.has_uncounted());
    }

    #[test]
    fn a_plain_file_occupies_its_blocks() {
        let path = format!("/var/tmp/fsderby-occupied-{}", std::process::id());
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("its name");
        io::Write::write_all(&mut &file, &[1; 100_000]).expect("room");
        file.sync_all().expect("it is written");
        let mut occupied = Occupied::default();
        occupied.add(&file).expect("it is there");
        assert!((1..=2 * 100_000).contains(&occupied.bytes()), "{occupied:?}");
    }
}
