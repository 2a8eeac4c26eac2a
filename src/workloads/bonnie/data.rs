//! The phases of the data file: single characters, whole chunks, rewriting.
//!
//! | phase | 1.9x, 2.00 | 1.0x |
//! |---|---|---|
//! | char-write | one `write` per byte | each byte into a buffer, one `write` per 4096 bytes |
//! | block-write | one `write` per chunk | the same |
//! | rewrite | per chunk: `read`, `lseek` back, `write` | the same, with `lseek` to the chunk's offset |
//! | char-read | one `read` per byte | each byte out of a buffer, one `read` per 4096 bytes |
//! | block-read | one `read` per chunk | the same |
//!
//! The file is opened before a phase. The phase includes the close, and before it an fsync if the rules require one, even if
//! nothing was written.

use std::hint::black_box;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, SeekFrom, openat, seek};
use rustix::io::Errno;

use super::content::{Chunk, WHOLE_EVERY};
use super::rules::{Rules, Semantics};
use crate::workloads::OpError;
use crate::workloads::kit::files::{self, failed, wrong};
use crate::workloads::kit::{Counts, Under};

/// Operations with recorded latencies, in the engine's numbering.
pub const NAMES: [&str; 8] = ["characters", "write", "rewrite", "read", "seek", "create", "stat", "delete"];
pub const CHARACTERS: usize = 0;
pub const WRITE: usize = 1;
pub const REWRITE: usize = 2;
pub const READ: usize = 3;

const STREAM: usize = super::rules::STREAM as usize;
/// O_DIRECT needs a buffer aligned to a disk block.
const ALIGNED: usize = 4096;
const OPEN: OFlags = OFlags::RDWR.union(OFlags::CLOEXEC);

/// Memory for a chunk, aligned as O_DIRECT needs it.
pub struct Buffer {
    bytes: Vec<u8>,
    begin: usize,
    length: usize,
}

impl Buffer {
    pub fn new(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNED];
        let begin = bytes.as_ptr().align_offset(ALIGNED).min(ALIGNED);
        Buffer { bytes, begin, length }
    }

    pub fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..self.begin + self.length]
    }
}

/// The data file, which 1.0x splits into several.
pub struct DataFile {
    paths: Vec<String>,
    chunks_of_one: u64,
}

impl DataFile {
    pub fn new(rules: &Rules, name: &str) -> Self {
        let paths = match rules.semantics {
            Semantics::Second => vec![name.to_owned()],
            Semantics::Classic => {
                (0..rules.data_files()).map(|number| format!("{name}.{number:03}")).collect()
            }
        };
        DataFile { paths, chunks_of_one: rules.bytes_of_a_file() / u64::from(rules.chunk) }
    }

    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The range of chunks in this file.
    pub fn chunks_of(&self, file: usize, rules: &Rules) -> std::ops::Range<u64> {
        let first = file as u64 * self.chunks_of_one;
        first..rules.chunks.min(first.saturating_add(self.chunks_of_one))
    }

    /// Creates the data file, after deleting one left by another phase, like Bonnie++.
    pub fn create(&self, direct: bool) -> Result<Opened<'_>, OpError> {
        let direct = if direct { OFlags::DIRECT } else { OFlags::empty() };
        self.all(|path| {
            remove(path)?;
            let made =
                openat(CWD, path, OPEN | OFlags::CREATE | OFlags::EXCL | direct, Mode::from_raw_mode(0o600));
            made.map_err(|e| failed("create", path, e))
        })
    }

    pub fn open(&self) -> Result<Opened<'_>, OpError> {
        self.all(|path| files::open_with(path, OFlags::RDWR))
    }

    /// Opens the data file and seeks to the beginning.
    pub fn open_at_begin(&self) -> Result<Opened<'_>, OpError> {
        let opened = self.open()?;
        (0..opened.files.len()).try_for_each(|file| opened.seek(file, SeekFrom::Start(0)))?;
        Ok(opened)
    }

    fn all(&self, open: impl Fn(&str) -> Result<OwnedFd, OpError>) -> Result<Opened<'_>, OpError> {
        let files = self.paths.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
        Ok(Opened { of: self, files })
    }

    /// Deletes all files of the data file.
    pub fn remove(&self) -> Result<(), OpError> {
        self.paths.iter().try_for_each(|path| remove(path))
    }
}

/// Deletes the file if it exists.
fn remove(path: &str) -> Result<(), OpError> {
    match rustix::fs::unlinkat(CWD, path, rustix::fs::AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(e) => Err(failed("unlink", path, e)),
    }
}

/// The open data file.
pub struct Opened<'a> {
    of: &'a DataFile,
    files: Vec<OwnedFd>,
}

/// Frequent operations are inlined in the loop of each phase: on some CPUs the first return from a function after a system call
/// costs a tenth of the system call.
impl Opened<'_> {
    /// The file with this chunk, and its offset there.
    #[inline]
    pub fn place(&self, chunk: &Chunk) -> (usize, u64) {
        let file = (chunk.number / self.of.chunks_of_one) as usize;
        (file, chunk.number % self.of.chunks_of_one * chunk.bytes as u64)
    }

    #[inline(always)]
    pub fn write(&self, file: usize, bytes: &[u8]) -> Result<(), OpError> {
        match rustix::io::write(&self.files[file], bytes) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(written) => {
                let short = format!("only {written} of {} bytes were written", bytes.len());
                Err(failed("write", &self.of.paths[file], std::io::Error::other(short)))
            }
            Err(e) => Err(failed("write", &self.of.paths[file], e)),
        }
    }

    #[inline(always)]
    pub fn read(&self, file: usize, into: &mut [u8]) -> Result<(), OpError> {
        match rustix::io::read(&self.files[file], &mut *into) {
            Ok(came) if came == into.len() => Ok(()),
            Ok(came) => {
                let text = format!("read {came} bytes, but {asked} bytes were written", asked = into.len());
                Err(wrong(&self.of.paths[file], text))
            }
            Err(e) => Err(failed("read", &self.of.paths[file], e)),
        }
    }

    #[inline(always)]
    pub fn seek(&self, file: usize, to: SeekFrom) -> Result<(), OpError> {
        seek(&self.files[file], to).map(drop).map_err(|e| failed("seek in", &self.of.paths[file], e))
    }

    pub fn fsync(&self, file: usize) -> Result<(), OpError> {
        files::fsync(&self.files[file], &self.of.paths[file])
    }

    /// Ends a phase: closes the file, after an fsync if `synced`.
    pub fn close(self, synced: bool) -> Result<(), OpError> {
        let Opened { of, files } = self;
        for (file, path) in files.into_iter().zip(&of.paths) {
            if synced {
                files::fsync(&file, path)?;
            }
            files::close(file, path)?;
        }
        Ok(())
    }

    /// Checks a chunk that was read. A byte may be too low by up to `lowered`, which is only computed if needed.
    #[inline]
    pub fn check(&self, chunk: &Chunk, found: &[u8], lowered: impl FnOnce() -> u32) -> Result<(), OpError> {
        let whole = chunk.number.is_multiple_of(WHOLE_EVERY);
        match chunk.wrong(found, whole, 0).and_then(|_| chunk.wrong(found, whole, lowered())) {
            None => Ok(()),
            Some(at) => Err(self.other_content(chunk, at)),
        }
    }

    #[cold]
    fn other_content(&self, chunk: &Chunk, at: usize) -> OpError {
        let (file, begin) = self.place(chunk);
        wrong(
            &self.of.paths[file],
            format!(
                "at byte {offset}, the content differs from what was written",
                offset = begin + at as u64
            ),
        )
    }
}

/// State and buffers that the phases of the data file use.
pub struct Data<'a> {
    pub rules: &'a Rules,
    pub buffer: &'a mut [u8],
    pub opened: Opened<'a>,
}

impl Data<'_> {
    fn chunk(&self, number: u64, rewritten: bool) -> Chunk {
        Chunk::new(number, self.rules.chunk as usize, rewritten)
    }

    /// Closes the file and returns the phase's counts.
    fn end(self, counts: Counts) -> Result<Counts, OpError> {
        let synced = self.rules.syncs_data();
        let syncs = if synced { self.opened.files.len() as u64 } else { 0 };
        self.opened.close(synced)?;
        Ok(counts.into_iter().chain([("fsyncs", syncs)]).collect())
    }

    /// Writes the first `chunks` chunks.
    pub fn write(self, chunks: u64, under: &mut Under<'_>) -> Result<Counts, OpError> {
        for number in 0..chunks {
            let chunk = self.chunk(number, false);
            let (file, _) = self.opened.place(&chunk);
            let byte = &mut self.buffer[chunk.marked];
            *byte = byte.wrapping_add(1);
            under.time(WRITE, || self.opened.write(file, self.buffer))?;
        }
        let bytes = chunks * u64::from(self.rules.chunk);
        self.end(vec![("chunks", chunks), ("bytes_written", bytes)])
    }

    /// Rewrites the first `chunks` chunks.
    pub fn rewrite(self, chunks: u64, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let back = -i64::from(self.rules.chunk);
        let is_absolute = self.rules.semantics == Semantics::Classic;
        for number in 0..chunks {
            let chunk = self.chunk(number, false);
            let (file, begin) = self.opened.place(&chunk);
            let to = if is_absolute { SeekFrom::Start(begin) } else { SeekFrom::Current(back) };
            under.time(REWRITE, || {
                self.opened.read(file, self.buffer)?;
                self.opened.check(&chunk, self.buffer, || 0)?;
                let byte = &mut self.buffer[chunk.marked];
                *byte = byte.wrapping_add(1);
                self.opened.seek(file, to)?;
                self.opened.write(file, self.buffer)
            })?;
        }
        let bytes = chunks * u64::from(self.rules.chunk);
        self.end(vec![("chunks", chunks), ("bytes_read", bytes), ("bytes_written", bytes)])
    }

    pub fn read(self, under: &mut Under<'_>) -> Result<Counts, OpError> {
        for number in 0..self.rules.chunks {
            let chunk = self.chunk(number, true);
            let (file, _) = self.opened.place(&chunk);
            under.time(READ, || self.opened.read(file, self.buffer))?;
            self.opened.check(&chunk, self.buffer, || 0)?;
        }
        let (chunks, bytes) = (self.rules.chunks, self.rules.bytes());
        self.end(vec![("chunks", chunks), ("bytes_read", bytes)])
    }

    /// Spans of single characters as (offset, length); each span is one operation. The last span may be shorter.
    fn spans(&self) -> impl Iterator<Item = (u64, usize)> + use<> {
        let (all, span) = (self.rules.characters, self.rules.span());
        (0..all.div_ceil(span)).map(move |number| (number * span, (all - number * span).min(span) as usize))
    }

    /// The chunk at this offset, and the chunk's file.
    fn chunk_at(&self, place: u64) -> (Chunk, usize) {
        let chunk = self.chunk(place / u64::from(self.rules.chunk), true);
        (chunk, self.opened.place(&chunk).0)
    }

    /// Writes the values 0 to 127, repeated.
    pub fn write_characters(self, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let by_itself = self.rules.semantics == Semantics::Second;
        let mut calls = 0;
        for (place, length) in self.spans() {
            let (_, file) = self.chunk_at(place);
            under.time(CHARACTERS, || {
                if by_itself {
                    return (0..length).try_for_each(|at| self.opened.write(file, &[at as u8 & 0x7F]));
                }
                self.put(file, length)
            })?;
            calls += if by_itself { length as u64 } else { length.div_ceil(STREAM) as u64 };
        }
        let bytes = self.rules.characters;
        self.end(vec![("characters", bytes), ("calls", calls), ("bytes_written", bytes)])
    }

    /// Puts single bytes into the buffer, like putc. A span leaves the buffer empty.
    fn put(&self, file: usize, length: usize) -> Result<(), OpError> {
        let mut stream = [0; STREAM];
        let mut held = 0;
        for at in 0..length {
            stream[held] = black_box(at as u8 & 0x7F);
            held += 1;
            if held == STREAM {
                self.opened.write(file, &stream)?;
                held = 0;
            }
        }
        if held > 0 { self.opened.write(file, &stream[..held]) } else { Ok(()) }
    }

    pub fn read_characters(self, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let by_itself = self.rules.semantics == Semantics::Second;
        let size = if by_itself { 1 } else { STREAM };
        let mut written = vec![0; self.rules.span() as usize];
        let mut calls = 0;
        for (place, length) in self.spans() {
            let (first, file) = self.chunk_at(place);
            for (number, bytes) in (first.number..).zip(written.chunks_mut(first.bytes)) {
                self.chunk(number, true).fill(bytes);
            }
            under.time(CHARACTERS, || match self.get(file, &written[..length], size)? {
                None => Ok(()),
                Some(wrong) => Err(self.opened.other_content(&first, wrong)),
            })?;
            calls += length.div_ceil(size) as u64;
        }
        let bytes = self.rules.characters;
        self.end(vec![("characters", bytes), ("calls", calls), ("bytes_read", bytes)])
    }

    /// Takes single bytes out of a buffer of this size, like getc. Returns the position of the first wrong byte.
    fn get(&self, file: usize, written: &[u8], size: usize) -> Result<Option<usize>, OpError> {
        let mut stream = [0; STREAM];
        for (number, written) in written.chunks(size).enumerate() {
            let stream = &mut stream[..written.len()];
            self.opened.read(file, stream)?;
            let wrong = stream.iter().zip(written).position(|(byte, is)| black_box(*byte) != *is);
            if let Some(wrong) = wrong {
                return Ok(Some(number * size + wrong));
            }
        }
        Ok(None)
    }
}
