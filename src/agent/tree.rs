//! What is really there: paths, sizes and checksums of a live tree, read back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::StepError;
use crate::schema::event::Tree;
use crate::schema::job::At;
use crate::schema::units::MIB;
use crate::schema::work::LiveFile;

/// `st_blocks` counts these, whatever the filesystem's own blocks are.
const STAT_BLOCK: u64 = 512;

/// Reads every file below `place`. `expected` is the engine's own list, where it gave one.
pub fn read_back(place: &Path, at: At, expected: Option<&[LiveFile]>) -> Result<Tree, StepError> {
    let (found, stored) = read_all(place)?;
    let bytes = found.iter().map(|f| f.bytes).sum();
    let files = found.len() as u64;
    Ok(Tree {
        at,
        files,
        bytes,
        stored,
        hash: hash(found),
        expected: expected.map(|list| hash(list.to_vec())),
        free: None,
    })
}

/// Every file below `place`, and the bytes of all blocks that they occupy.
pub fn read_all(place: &Path) -> Result<(Vec<LiveFile>, u64), StepError> {
    let mut found = Vec::new();
    let mut stored = 0;
    let mut folders = vec![place.to_owned()];
    while let Some(folder) = folders.pop() {
        let fault = |e: io::Error| StepError::io("read back", &folder, e);
        for entry in fs::read_dir(&folder).map_err(fault)? {
            let path = entry.map_err(fault)?.path();
            let fault = |e: io::Error| StepError::io("read back", &path, e);
            let about = fs::symlink_metadata(&path).map_err(fault)?;
            if about.is_dir() {
                folders.push(path);
            } else if about.is_file() {
                stored += about.blocks() * STAT_BLOCK;
                found.push(live_file(place, &path).map_err(fault)?);
            }
        }
    }
    Ok((found, stored))
}

/// A file as it is read back, under its path below `place`.
pub fn live_file(place: &Path, path: &Path) -> io::Result<LiveFile> {
    let mut file = open_regular(path)?;
    let mut buffer = vec![0; MIB as usize];
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => {
                sum.update(&buffer[..n]);
                bytes += n as u64;
            }
        }
    }
    let inside = path.strip_prefix(place).map(PathBuf::from).unwrap_or_else(|_| path.to_owned());
    Ok(LiveFile { path: inside, bytes, crc32: sum.finalize() })
}

/// Opens what was a regular file a moment ago: no link that has taken its place is followed, and no FIFO waited for.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// BLAKE3 over the sorted list, a line a file.
fn hash(mut files: Vec<LiveFile>) -> String {
    files.sort();
    let mut hash = blake3::Hasher::new();
    for file in files {
        hash.update(format!("{} {} {:08x}\n", file.path.display(), file.bytes, file.crc32).as_bytes());
    }
    hash.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flipped_byte_changes_the_hash() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("s0")).unwrap();
        fs::write(place.path().join("s0/1"), b"abc").unwrap();
        let known = [LiveFile { path: "s0/1".into(), bytes: 3, crc32: crc32fast::hash(b"abc") }];
        let tree = read_back(place.path(), At::Filled, Some(&known)).unwrap();
        assert_eq!((tree.files, tree.bytes, Some(&tree.hash)), (1, 3, tree.expected.as_ref()));
        fs::write(place.path().join("s0/1"), b"abd").unwrap();
        let tree = read_back(place.path(), At::Filled, Some(&known)).unwrap();
        assert_ne!(Some(&tree.hash), tree.expected.as_ref());
    }
}
