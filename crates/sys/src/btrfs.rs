//! The extents of a file on Btrfs, as its own trees describe them. FIEMAP gives the uncompressed length of compressed extents, and
//! `st_blocks` counts uncompressed bytes, so neither tells how much of the device a file occupies.
//!
//! ```text
//! BTRFS_IOC_TREE_SEARCH_V2, subvolume of the file, items (inode, EXTENT_DATA, offset in the file)
//!   answer: [header: transid u64, objectid u64, offset u64, type u32, len u32][item of `len` bytes] …
//!   item:   generation u64, ram_bytes u64, compression u8, encryption u8, other u16, type u8,
//!           then inline data, or disk_bytenr u64, disk_num_bytes u64, offset u64, num_bytes u64
//! ```
//! (`include/uapi/linux/btrfs.h` and `btrfs_tree.h`; little-endian as on the device.)

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// `f_type` of statfs(2): `linux/magic.h`.
pub const MAGIC: libc::__fsword_t = 0x9123_683E;

/// `struct btrfs_ioctl_search_key` and the size of the buffer.
const HEAD: usize = 104 + 8;
/// `_IOWR(0x94, 17, struct btrfs_ioctl_search_args_v2)`.
const TREE_SEARCH_V2: libc::c_ulong = (3 << 30) | ((HEAD as libc::c_ulong) << 16) | (0x94 << 8) | 17;
const EXTENT_DATA: u32 = 108;
/// A leaf has at most 64 KiB, so at least one item always fits.
const BUFFER: usize = 1 << 16;
/// Bytes of an item before inline data or the place on the device.
const FIXED: usize = 21;

/// One extent of a file, or the part of one that the file still refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Content in a leaf of the tree.
    Inline { logical: u64, bytes: u64, is_compressed: bool },
    /// `begin` and `bytes`: the whole extent on the device. `offset` and `length`: the part of its uncompressed content that stands
    /// at `logical` in the file.
    Regular { logical: u64, begin: u64, bytes: u64, offset: u64, length: u64, is_compressed: bool },
}

/// All extents of a file, without holes, by their place in the file.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN; `ENOTTY` if the file is on another filesystem.
pub fn extents(file: &File) -> io::Result<Vec<Extent>> {
    let inode = file.metadata()?.ino();
    let mut found = Vec::new();
    let mut from = 0;
    let mut search = vec![0; HEAD + BUFFER];
    loop {
        ask(&mut search, inode, from);
        // SAFETY: the kernel reads the key and the buffer's size, writes at most that many bytes behind them, and keeps no pointer.
        if unsafe { libc::ioctl(file.as_raw_fd(), TREE_SEARCH_V2, search.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let items = u32_at(&search, 64).unwrap_or(0);
        let last = answer(&search[HEAD..], items, inode, &mut found)?;
        match last.and_then(|last: u64| last.checked_add(1)) {
            Some(next) if items > 0 => from = next,
            _ => return Ok(found),
        }
    }
}

/// Writes the key: this subvolume (tree 0), these items from this offset on, as many as fit.
fn ask(search: &mut [u8], inode: u64, from: u64) {
    let mut words = [0, inode, inode, from, u64::MAX, 0, u64::MAX].to_vec();
    words.push(u64::from(EXTENT_DATA) << 32 | u64::from(EXTENT_DATA));
    words.push(u64::from(u32::MAX));
    words.extend([0; 4]);
    words.push(BUFFER as u64);
    for (place, word) in search.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
}

/// Appends the extents of these items. Returns the offset of the last item.
fn answer(mut bytes: &[u8], items: u32, inode: u64, found: &mut Vec<Extent>) -> io::Result<Option<u64>> {
    let short =
        || io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer about extents is too short");
    let mut last = None;
    for _ in 0..items {
        let head = bytes.get(..32).ok_or_else(short)?;
        let [objectid, offset] = [8, 16].map(|at| u64::from_ne_bytes(eight(head, at)));
        let kind = u32_at(head, 24).ok_or_else(short)?;
        let length = u32_at(head, 28).ok_or_else(short)? as usize;
        let item = bytes.get(32..32 + length).ok_or_else(short)?;
        bytes = &bytes[32 + length..];
        last = Some(offset);
        if objectid == inode && kind == EXTENT_DATA {
            found.extend(extent(offset, item).ok_or_else(short)?);
        }
    }
    Ok(last)
}

/// Parses an item; `Some(None)` stands for a hole.
fn extent(logical: u64, item: &[u8]) -> Option<Option<Extent>> {
    const INLINE: u8 = 0;
    let (fixed, rest) = item.split_at_checked(FIXED)?;
    let is_compressed = fixed[16] != 0;
    if fixed[20] == INLINE {
        return Some(Some(Extent::Inline { logical, bytes: rest.len() as u64, is_compressed }));
    }
    let rest = rest.get(..32)?;
    let [begin, bytes, offset, length] = [0, 8, 16, 24].map(|at| u64::from_le_bytes(eight(rest, at)));
    Some((begin != 0).then_some(Extent::Regular { logical, begin, bytes, offset, length, is_compressed }))
}

fn eight(bytes: &[u8], at: usize) -> [u8; 8] {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    word
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(compression: u8, kind: u8, rest: &[u64]) -> Vec<u8> {
        let mut item = vec![0; FIXED];
        item[16] = compression;
        item[20] = kind;
        item.extend(rest.iter().flat_map(|word| word.to_le_bytes()));
        item
    }

    #[test]
    fn inline_data_holes_and_compressed_extents_are_told_apart() {
        assert_eq!((TREE_SEARCH_V2, HEAD), (0xC070_9411, 112));
        let inline = extent(0, &item(1, 0, &[7, 7]));
        assert_eq!(inline, Some(Some(Extent::Inline { logical: 0, bytes: 16, is_compressed: true })));
        assert_eq!(extent(8, &item(0, 1, &[0, 0, 0, 4096])), Some(None), "a hole");
        let regular = |compression| extent(4096, &item(compression, 1, &[1 << 20, 4096, 0, 131_072]));
        for (compression, is_compressed) in [(0, false), (1, true), (2, true), (3, true)] {
            let Some(Some(Extent::Regular { logical, begin, bytes, length, is_compressed: is, .. })) =
                regular(compression)
            else {
                panic!("a regular extent");
            };
            assert_eq!((logical, begin, bytes, length, is), (4096, 1 << 20, 4096, 131_072, is_compressed));
        }
        assert_eq!(extent(0, &[0; 10]), None, "too short");
        assert_eq!(extent(0, &item(0, 1, &[1])), None, "too short");
    }

    #[test]
    fn an_answer_that_ends_early_is_an_error_and_other_items_are_left_out() {
        let one = |objectid: u64, kind: u32, body: &[u8]| {
            let words = [1, objectid, 4096].into_iter().flat_map(u64::to_ne_bytes);
            let ends = [kind, body.len() as u32].into_iter().flat_map(u32::to_ne_bytes);
            words.chain(ends).chain(body.iter().copied()).collect::<Vec<u8>>()
        };
        let body = item(0, 1, &[1 << 20, 4096, 0, 4096]);
        let bytes =
            [one(257, EXTENT_DATA, &body), one(257, 1, &[1; 3]), one(258, EXTENT_DATA, &body)].concat();
        let mut found = Vec::new();
        assert_eq!(answer(&bytes, 3, 257, &mut found).expect("whole"), Some(4096));
        assert_eq!(found.len(), 1);
        assert!(answer(&bytes, 4, 257, &mut found).is_err());
        assert!(answer(&bytes[..40], 1, 257, &mut found).is_err());
    }
}
