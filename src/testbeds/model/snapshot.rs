//! A cached machine after boot, from which every trial with the same boot continues.
//!
//! ```text
//! "fsderby snapshot" + version     16 bytes
//! length, state                    QEMU's state of CPU and devices
//! count, (address, length)…        the non-zero pages of the guest's memory
//! pages
//! BLAKE3 of all that               32 bytes
//! ```
//! Numbers are eight bytes, little-endian. A snapshot is a function of its inputs: two snapshots differ only in a firmware page
//! with leftovers of QEMU's stack, and in the host's clock within its state, which guests in virtual time do not read.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, ensure};
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::guest::cache;
use crate::schema::units::{GIB, MIB};

const MAGIC: &[u8; 16] = b"fsderby snapsh 1";
const HASH: usize = 32;
const PAGE: usize = 4096;
/// Name of the snapshots' folder in the cache of kernels.
const FOLDER: &str = "snapshots";
/// Limit of all snapshots together; the least recently used is removed first.
const MOST: u64 = 4 * GIB;

/// The stored bytes, and the positions of their parts.
pub struct Snapshot {
    bytes: Vec<u8>,
    state: std::ops::Range<usize>,
    /// Address in the guest's memory, and range in the bytes.
    pages: Vec<(u64, std::ops::Range<usize>)>,
}

impl Snapshot {
    /// Makes a snapshot of a machine that has ended: its memory up to `end`, and QEMU's state.
    ///
    /// # Errors
    /// If either cannot be read.
    pub fn of(memory: &File, end: u64, state: &mut File) -> anyhow::Result<Self> {
        let mut bytes = MAGIC.to_vec();
        let mut told = Vec::new();
        io::Seek::rewind(state)?;
        state.read_to_end(&mut told).context("could not read the guest's device state")?;
        ensure!(!told.is_empty(), "QEMU wrote no device state");
        put(&mut bytes, told.len() as u64);
        bytes.extend_from_slice(&told);
        let (mut table, mut pages) = (Vec::new(), Vec::new());
        written_pages(memory, end, &mut table, &mut pages).context("could not read the guest's memory")?;
        put(&mut bytes, table.len() as u64);
        for (at, length) in &table {
            put(&mut bytes, *at);
            put(&mut bytes, *length);
        }
        bytes.append(&mut pages);
        let hash = blake3::hash(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
        Self::read(bytes)
    }

    /// Reads a snapshot from stored bytes.
    ///
    /// # Errors
    /// If the snapshot is damaged, or of another version.
    fn read(bytes: Vec<u8>) -> anyhow::Result<Self> {
        let body = bytes.len().checked_sub(HASH).context("it is truncated")?;
        ensure!(bytes.starts_with(MAGIC), "it has another version");
        ensure!(blake3::hash(&bytes[..body]).as_bytes() == &bytes[body..], "it is damaged");
        let mut at = MAGIC.len();
        let state_length = take(&bytes, &mut at)?;
        let state = at..end(at, usize::try_from(state_length)?)?;
        at = state.end;
        let count = take(&bytes, &mut at)?;
        let mut table = Vec::new();
        for _ in 0..count {
            table.push((take(&bytes, &mut at)?, usize::try_from(take(&bytes, &mut at)?)?));
        }
        let mut pages = Vec::new();
        for (address, length) in table {
            pages.push((address, at..end(at, length)?));
            at = end(at, length)?;
        }
        ensure!(at == body, "its lengths do not match");
        Ok(Snapshot { bytes, state, pages })
    }

    /// The state, from its start.
    pub fn state(&self) -> &[u8] {
        &self.bytes[self.state.clone()]
    }

    /// Fills a new machine's memory.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn fill(&self, memory: &File) -> io::Result<()> {
        self.pages.iter().try_for_each(|(at, range)| memory.write_all_at(&self.bytes[range.clone()], *at))
    }

    /// The cached snapshot of that name. A damaged one is ignored.
    pub fn find(name: &str) -> Option<Self> {
        let path = cache::folder(FOLDER).ok()?.join(name);
        let snapshot = Self::read(fs::read(&path).ok()?).ok()?;
        // Marks it as used; a read-only cache stays unchanged.
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(snapshot)
    }

    /// Stores the snapshot under that name.
    ///
    /// # Errors
    /// If there is no cache, or no space.
    pub fn keep(&self, name: &str) -> anyhow::Result<()> {
        let folder = cache::made(FOLDER)?;
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        file.write_all(&self.bytes)?;
        file.persist(folder.join(name))?;
        Ok(make_room(&folder, MOST)?)
    }
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

fn end(begin: usize, length: usize) -> anyhow::Result<usize> {
    begin.checked_add(length).context("its lengths do not match")
}

fn take(bytes: &[u8], at: &mut usize) -> anyhow::Result<u64> {
    let number = bytes.get(*at..*at + 8).context("it is truncated")?;
    *at += 8;
    Ok(u64::from_le_bytes(number.try_into()?))
}

/// Non-zero pages before `end`; adjacent ones are merged.
fn written_pages(
    memory: &File,
    end: u64,
    table: &mut Vec<(u64, u64)>,
    pages: &mut Vec<u8>,
) -> io::Result<()> {
    let mut piece = vec![0; MIB as usize];
    let mut at = 0;
    while at < end {
        at = match rustix::fs::seek(memory, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(()),
            Err(e) => return Err(e.into()),
        };
        let hole = rustix::fs::seek(memory, SeekFrom::Hole(at))?.min(end);
        while at < hole {
            let piece = &mut piece[..(hole - at).min(MIB) as usize];
            memory.read_exact_at(piece, at)?;
            for (page, number) in piece.chunks(PAGE).zip(0..) {
                if page.iter().all(|byte| *byte == 0) {
                    continue;
                }
                let address = at + number * PAGE as u64;
                match table.last_mut() {
                    Some((begin, length)) if *begin + *length == address => *length += page.len() as u64,
                    _ => table.push((address, page.len() as u64)),
                }
                pages.extend_from_slice(page);
            }
            at += piece.len() as u64;
        }
    }
    Ok(())
}

/// Removes the least recently used until the rest has at most this many bytes.
fn make_room(folder: &Path, most: u64) -> io::Result<()> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        all.push((about.modified()?, about.len(), entry.path()));
    }
    all.sort();
    let mut total: u64 = all.iter().map(|(_, length, _)| length).sum();
    for (_, length, path) in all {
        if total <= most {
            break;
        }
        // Another run may have removed it.
        let _ = fs::remove_file(path);
        total -= length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testbeds::vm::machine::in_memory;

    fn sample() -> (File, Snapshot) {
        let memory = in_memory("memory").unwrap();
        memory.set_len(16 * MIB).unwrap();
        for (at, byte) in [(5, 1), (4096, 2), (3 * MIB + 7, 3), (12 * MIB, 4)] {
            memory.write_all_at(&[byte; 10], at).unwrap();
        }
        let mut state = in_memory("state").unwrap();
        state.write_all(b"the CPU").unwrap();
        let snapshot = Snapshot::of(&memory, 8 * MIB, &mut state).unwrap();
        (memory, snapshot)
    }

    #[test]
    fn a_machine_is_filled_with_what_was_in_the_other_before_the_end() {
        let (memory, snapshot) = sample();
        let other = in_memory("other").unwrap();
        other.set_len(16 * MIB).unwrap();
        snapshot.fill(&other).unwrap();
        let read = |file: &File, from: u64| {
            let mut bytes = vec![0; 8 * MIB as usize];
            file.read_exact_at(&mut bytes, from).unwrap();
            bytes
        };
        assert!(read(&memory, 0) == read(&other, 0));
        assert!(read(&other, 8 * MIB).iter().all(|byte| *byte == 0));
        assert_eq!(snapshot.state(), b"the CPU");
        assert_eq!(snapshot.pages.len(), 2, "pages side by side are one");
    }

    #[test]
    fn one_that_is_altered_or_cut_off_anywhere_is_refused() {
        let (_, snapshot) = sample();
        assert!(Snapshot::read(snapshot.bytes.clone()).is_ok());
        for at in (0..snapshot.bytes.len()).step_by(97) {
            let mut altered = snapshot.bytes.clone();
            altered[at] ^= 1;
            assert!(Snapshot::read(altered).is_err(), "byte {at}");
            assert!(Snapshot::read(snapshot.bytes[..at].to_vec()).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        for (name, age) in [("old", 300), ("older", 400), ("new", 0)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_len(10).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        }
        make_room(folder.path(), 20).unwrap();
        assert!(!folder.path().join("older").exists());
        assert!(folder.path().join("old").exists() && folder.path().join("new").exists());
    }
}
