//! A cached machine from which trials continue: after its boot, or with a filesystem in its initial state.
//!
//! ```text
//! "fsderby snapshot" + version     16 bytes
//! length, state                    QEMU's state of CPU and devices
//! length, console                  what the guest's kernel said, if trials begin later than after the boot
//! (address, length, pages)…        the non-zero pages of the guest's memory
//! END
//! BLAKE3 of all that               32 bytes
//! ```
//! Numbers are eight bytes, little-endian. A snapshot is a function of its inputs: two snapshots differ only in a firmware page
//! with leftovers of QEMU's stack, and in the host's clock within its state, which guests in virtual time do not read.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, ensure};
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::guest::cache;
use crate::schema::units::{GIB, MIB};

const MAGIC: &[u8; 16] = b"fsderby snapsh 2";
/// In place of the address of another piece.
const END: u64 = u64::MAX;
const HASH: usize = 32;
const PAGE: usize = 4096;
const ZEROS: [u8; PAGE] = [0; PAGE];
/// Larger than any state of CPU and devices, or console.
const LONGEST: u64 = 64 * MIB;

/// A folder of snapshots in the cache of kernels.
pub struct Shelf {
    folder: &'static str,
    /// Limit of all its snapshots together; the least recently used is removed first.
    most: u64,
}

/// Machines after their boot.
pub const BOOTS: Shelf = Shelf { folder: "snapshots", most: 4 * GIB };
/// Machines with a filesystem in its initial state.
pub const STATES: Shelf = Shelf { folder: "states", most: 16 * GIB };

/// A machine that has ended, without its memory.
#[derive(Debug, PartialEq)]
pub struct Stopped {
    /// QEMU's state of CPU and devices.
    pub state: Vec<u8>,
    /// What the guest's kernel said.
    pub console: Vec<u8>,
}

/// A machine after its boot, as stored bytes.
pub struct Snapshot(Vec<u8>);

impl Snapshot {
    /// Makes a snapshot of a machine that has ended, with its memory up to `end`.
    ///
    /// # Errors
    /// If the memory cannot be read.
    pub fn of(memory: &File, end: u64, stopped: &Stopped) -> anyhow::Result<Self> {
        let mut bytes = Vec::new();
        write(memory, end, stopped, &mut bytes)?;
        Ok(Snapshot(bytes))
    }

    /// Fills a new machine's memory, and returns the rest of it.
    ///
    /// # Errors
    /// If there is too little memory, or the snapshot is damaged.
    pub fn fill(&self, memory: &File) -> anyhow::Result<Stopped> {
        fill(self.0.as_slice(), memory)
    }

    /// The cached snapshot of that name. A damaged one is ignored.
    pub fn find(name: &str) -> Option<Self> {
        let bytes = fs::read(BOOTS.used(name)?.0).ok()?;
        let body = bytes.len().checked_sub(HASH)?;
        let is_whole = bytes.starts_with(MAGIC) && blake3::hash(&bytes[..body]).as_bytes() == &bytes[body..];
        is_whole.then_some(Snapshot(bytes))
    }

    /// Stores the snapshot under that name.
    ///
    /// # Errors
    /// If there is no cache, or no space.
    pub fn keep(&self, name: &str) -> anyhow::Result<()> {
        BOOTS.add(name, |file| Ok(file.write_all(&self.0)?))
    }
}

impl Shelf {
    /// The file of that name, and its path; it counts as used now.
    fn used(&self, name: &str) -> Option<(std::path::PathBuf, File)> {
        let path = cache::folder(self.folder).ok()?.join(name);
        let file = File::open(&path).ok()?;
        // A read-only cache stays unchanged.
        let _ = file.set_modified(SystemTime::now());
        Some((path, file))
    }

    fn add(&self, name: &str, write: impl FnOnce(&mut File) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let folder = cache::made(self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        write(file.as_file_mut())?;
        file.persist(folder.join(name))?;
        Ok(make_room(&folder, self.most)?)
    }

    /// Fills a new machine's memory from the snapshot of that name, and returns the rest of it; `None` if there is none. After an
    /// error the memory holds parts of it.
    ///
    /// # Errors
    /// If there is too little memory, or the snapshot is damaged.
    pub fn fill(&self, name: &str, memory: &File) -> anyhow::Result<Option<Stopped>> {
        let file = self.used(name).map(|(_, file)| BufReader::with_capacity(MIB as usize, file));
        file.map(|file| fill(file, memory)).transpose()
    }

    /// Stores a machine that has ended under that name, if it and as much again fit into the free space.
    ///
    /// # Errors
    /// If there is no cache, or no space.
    pub fn keep(&self, name: &str, memory: &File, stopped: &Stopped) -> anyhow::Result<()> {
        use std::os::unix::fs::MetadataExt;
        let about = memory.metadata()?;
        let bytes = about.blocks() * 512;
        let free = rustix::fs::statvfs(&cache::made(self.folder)?)?;
        ensure!(
            bytes <= self.most / 2 && 2 * bytes <= free.f_bavail * free.f_frsize,
            "it is too large to keep"
        );
        self.add(name, |file| {
            let mut out = BufWriter::with_capacity(MIB as usize, file);
            write(memory, about.len(), stopped, &mut out)?;
            Ok(out.flush()?)
        })
    }
}

/// Writes a snapshot of the memory up to `end` and the rest of the machine.
fn write(memory: &File, end: u64, stopped: &Stopped, to: &mut impl Write) -> anyhow::Result<()> {
    ensure!(!stopped.state.is_empty(), "QEMU wrote no device state");
    let mut to = Hashing { inner: to, hasher: blake3::Hasher::new() };
    to.write_all(MAGIC)?;
    for part in [&stopped.state, &stopped.console] {
        to.number(part.len() as u64)?;
        to.write_all(part)?;
    }
    written_pages(memory, end, |at, pages| {
        to.number(at)?;
        to.number(pages.len() as u64)?;
        to.write_all(pages)
    })
    .context("the guest's memory could not be stored")?;
    to.number(END)?;
    let hash = to.hasher.finalize();
    Ok(to.inner.write_all(hash.as_bytes())?)
}

/// Reads a snapshot: its pages into the memory; returns the rest.
fn fill(from: impl Read, memory: &File) -> anyhow::Result<Stopped> {
    let mut from = Hashing { inner: from, hasher: blake3::Hasher::new() };
    let mut magic = [0; MAGIC.len()];
    from.read_exact(&mut magic).context("the snapshot is truncated")?;
    ensure!(&magic == MAGIC, "the snapshot has another version");
    let [state, console] = [from.part()?, from.part()?];
    let mut piece = vec![0; MIB as usize];
    loop {
        let at = from.take()?;
        if at == END {
            break;
        }
        let length = usize::try_from(from.take()?)?;
        let piece = piece.get_mut(..length).context("the snapshot is damaged")?;
        from.read_exact(piece)?;
        memory.write_all_at(piece, at).context("not enough memory")?;
    }
    let (hash, mut stated) = (from.hasher.finalize(), [0; HASH]);
    from.inner.read_exact(&mut stated)?;
    ensure!(hash.as_bytes() == &stated, "the snapshot is damaged");
    Ok(Stopped { state, console })
}

/// What passes through is hashed.
struct Hashing<I> {
    inner: I,
    hasher: blake3::Hasher,
}

impl<W: Write> Hashing<W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.inner.write_all(bytes)
    }

    fn number(&mut self, number: u64) -> io::Result<()> {
        self.write_all(&number.to_le_bytes())
    }
}

impl<R: Read> Hashing<R> {
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.hasher.update(bytes);
        Ok(())
    }

    fn part(&mut self) -> anyhow::Result<Vec<u8>> {
        let length = self.take()?;
        ensure!(length <= LONGEST, "the snapshot is damaged");
        let mut part = vec![0; usize::try_from(length)?];
        self.read_exact(&mut part)?;
        Ok(part)
    }

    fn take(&mut self) -> io::Result<u64> {
        let mut number = [0; 8];
        self.read_exact(&mut number)?;
        Ok(u64::from_le_bytes(number))
    }
}

/// Non-zero pages before `end`, adjacent ones in pieces of at most a mebibyte.
fn written_pages(
    memory: &File,
    end: u64,
    mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
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
            for pages in pieces(piece) {
                each(at + pages.start as u64, &piece[pages])?;
            }
            at += piece.len() as u64;
        }
    }
    Ok(())
}

/// The ranges of adjacent non-zero pages.
fn pieces(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut all: Vec<std::ops::Range<usize>> = Vec::new();
    for (page, number) in bytes.chunks(PAGE).zip(0..) {
        let begin = number * PAGE;
        if page == &ZEROS[..page.len()] {
            continue;
        }
        match all.last_mut() {
            Some(last) if last.end == begin => last.end += page.len(),
            _ => all.push(begin..begin + page.len()),
        }
    }
    all
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

    fn stopped() -> Stopped {
        Stopped { state: b"the CPU".to_vec(), console: b"it boots".to_vec() }
    }

    fn sample() -> (File, Snapshot) {
        let memory = in_memory("memory").unwrap();
        memory.set_len(16 * MIB).unwrap();
        for (at, byte) in [(5, 1), (4096, 2), (3 * MIB + 7, 3), (12 * MIB, 4)] {
            memory.write_all_at(&[byte; 10], at).unwrap();
        }
        let snapshot = Snapshot::of(&memory, 8 * MIB, &stopped()).unwrap();
        (memory, snapshot)
    }

    fn blank() -> File {
        let memory = in_memory("other").unwrap();
        memory.set_len(16 * MIB).unwrap();
        memory
    }

    #[test]
    fn a_machine_is_filled_with_what_was_in_the_other_before_the_end() {
        let (memory, snapshot) = sample();
        let other = blank();
        let rest = snapshot.fill(&other).unwrap();
        let read = |file: &File, from: u64| {
            let mut bytes = vec![0; 8 * MIB as usize];
            file.read_exact_at(&mut bytes, from).unwrap();
            bytes
        };
        assert!(read(&memory, 0) == read(&other, 0));
        assert!(read(&other, 8 * MIB).iter().all(|byte| *byte == 0));
        assert_eq!(rest, stopped());
        let pages = 3 * PAGE;
        let numbers = 8 * (2 + 2 * 2 + 1);
        assert_eq!(snapshot.0.len(), 16 + numbers + 7 + 8 + pages + HASH, "pages side by side are one piece");
    }

    #[test]
    fn one_that_is_altered_or_cut_off_anywhere_is_refused() {
        let (_, snapshot) = sample();
        let other = blank();
        for at in (0..snapshot.0.len()).step_by(97) {
            let mut altered = snapshot.0.clone();
            altered[at] ^= 1;
            assert!(fill(altered.as_slice(), &other).is_err(), "byte {at}");
            assert!(fill(&snapshot.0[..at], &other).is_err(), "cut at {at}");
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
