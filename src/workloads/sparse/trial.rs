//! The phases of a trial.

use std::os::fd::{AsFd, OwnedFd};

use fsderby_sys::occupied::Occupied;
use rustix::fs::{Advice, SeekFrom, fadvise, ftruncate, seek};
use rustix::io::{Errno, pread, pwrite};

use super::parameters::Parameters;
use super::places::{self, Zeros};
use super::{VERSION, metrics};
use crate::schema::metric::Metric;
use crate::schema::units::Bytes;
use crate::workloads::kit::files::{self, CHUNK, failed, wrong};
use crate::workloads::kit::noise::{self, other_content};
use crate::workloads::kit::{Latencies, Noise, Phases, random};
use crate::workloads::{Amount, Clock, Durable, LiveFile, Log, Needs, OpError, Phase, Portion, Ready, Work};

/// One of this many chunks is checked in full.
const WHOLE_EVERY: u64 = 16;
const PAGE: usize = noise::PAGE as usize;
/// In all other chunks, this many bytes of each page are checked.
const LOOKED: usize = 16;
/// The operations with recorded latencies, with their numbers.
const OPERATIONS: &[&str] = &["write", "read", "copy"];
const WRITE: usize = 0;
const READ: usize = 1;
const COPY: usize = 2;

impl Work for Parameters {
    fn needs(&self) -> Needs {
        Needs { largest_file: Bytes(self.length), ..Needs::default() }
    }

    /// The amount of work if holes take no space. A filesystem without sparse files needs the full length twice; if it has less
    /// space, a write fails.
    fn amount(&self, _seed: u64) -> Amount {
        let files = u64::from(self.files);
        let written = 2 * files * self.written();
        Amount {
            files_peak: 2 * files,
            bytes_read: files * (self.length + self.written()),
            bytes_written: written,
            bytes_peak: written,
        }
    }

    fn most_clients(&self) -> u64 {
        self.files.into()
    }

    fn operations(&self) -> u64 {
        3 * u64::from(self.files)
    }

    /// Of each file, of its copy, and of their names.
    fn syncs(&self) -> u64 {
        if self.fsync { 4 * u64::from(self.files) } else { 0 }
    }

    fn prepare(&self, seed: u64, portion: &Portion) -> Result<Box<dyn Ready>, String> {
        if portion.part.is_some() {
            return Err("the workload has only one part".into());
        }
        let executor =
            Executor { parameters: self.clone(), seed, noise: noise(seed), buffer: vec![0; CHUNK] };
        let latencies = Latencies::new(OPERATIONS);
        Ok(Box::new(Trial { executor, latencies, stop_after: portion.stop_after }))
    }

    /// With `fsync = true`, every file and copy, with its name, is durable before the next file or copy.
    fn durable(&self, seed: u64, operations: u64) -> Durable {
        if !self.fsync {
            return Durable::default();
        }
        let all = u64::from(self.files);
        let copies = operations.saturating_sub(2 * all);
        let [files, copies] = [operations, copies].map(|n| n.min(all) as u32);
        Durable { files: live(self, seed, files, copies), named: true }
    }

    fn metrics(&self, phases: &[Phase]) -> Vec<Metric> {
        metrics(phases)
    }

    fn metrics_version(&self) -> u32 {
        VERSION
    }
}

fn noise(seed: u64) -> Noise {
    Noise::new(seed, random(&["sparse", "content"], seed))
}

fn name(file: u32) -> String {
    format!("f{file}")
}

fn copy_of(file: u32) -> String {
    format!("f{file}.copy")
}

/// The first `files` files, and copies of the first `copies` files.
fn live(parameters: &Parameters, seed: u64, files: u32, copies: u32) -> Vec<LiveFile> {
    let (mut noise, zeros) = (noise(seed), Zeros::new(parameters.piece));
    let mut live = Vec::new();
    for file in 0..files {
        let places = places::of(parameters, file, seed);
        let crc32 = zeros.crc32(parameters.length, &places, |at, sum| {
            noise.piece(file, at, parameters.piece as usize, |bytes| sum.update(bytes));
        });
        live.push(LiveFile::file(name(file), parameters.length, crc32));
        if file < copies {
            live.push(LiveFile::file(copy_of(file), parameters.length, crc32));
        }
    }
    live
}

struct Trial {
    executor: Executor,
    latencies: Latencies,
    stop_after: Option<u64>,
}

/// State and buffers that the operations use.
struct Executor {
    parameters: Parameters,
    seed: u64,
    noise: Noise,
    buffer: Vec<u8>,
}

impl Ready for Trial {
    fn run(&mut self, clock: &dyn Clock, log: &mut dyn Log) -> Result<(), OpError> {
        let Trial { executor, latencies, stop_after } = self;
        let Parameters { files, length, pieces, .. } = executor.parameters;
        let all = u64::from(files);
        let written = all * executor.parameters.written();
        let mut phases = Phases::new(clock, log, latencies, 3 * all).stop_after(*stop_after);
        phases.run("write", |under| {
            for file in 0..files {
                let places = places::of(&executor.parameters, file, executor.seed);
                under.time(WRITE, || executor.write(file, &places))?;
            }
            Ok(vec![("files", all), ("pieces", all * u64::from(pieces)), ("bytes_written", written)])
        })?;
        phases.between(|| forget(files))?;
        phases.run("read", |under| {
            for file in 0..files {
                let places = places::of(&executor.parameters, file, executor.seed);
                under.time(READ, || executor.read(file, &places))?;
            }
            Ok(vec![("files", all), ("bytes_read", all * length)])
        })?;
        phases.between(|| forget(files))?;
        phases.run("copy", |under| {
            let mut copied = 0;
            for file in 0..files {
                copied += under.time(COPY, || executor.copy(file))?;
            }
            Ok(vec![("files", all), ("bytes_length", all * length), ("bytes_written", copied)])
        })?;
        phases.run("stored", |_| {
            files::sync_all()?;
            let [files, copies] = [stored(files, name)?, stored(files, copy_of)?];
            Ok(vec![("bytes_stored", files), ("bytes_stored_copies", copies)])
        })
    }

    fn live(&self) -> Vec<LiveFile> {
        let Executor { parameters, seed, .. } = &self.executor;
        live(parameters, *seed, parameters.files, parameters.files)
    }
}

/// Syncs all data and drops the cached pages; only clean pages can be dropped.
fn forget(files: u32) -> Result<(), OpError> {
    files::sync_all()?;
    for path in (0..files).map(name) {
        let file = files::open(&path)?;
        fadvise(&file, 0, None, Advice::DontNeed).map_err(|e| failed("drop the pages", &path, e))?;
    }
    Ok(())
}

/// The number of bytes that the files take on the device. The files must be synced before.
fn stored(files: u32, path: fn(u32) -> String) -> Result<u64, OpError> {
    let mut occupied = Occupied::default();
    for path in (0..files).map(path) {
        let file = files::open(&path)?.into();
        occupied.add(&file).map_err(|error| OpError {
            operation: "examine",
            path: path.into(),
            cause: error.into(),
        })?;
    }
    Ok(occupied.bytes())
}

impl Executor {
    fn write(&mut self, file: u32, places: &[u64]) -> Result<(), OpError> {
        let path = name(file);
        let opened = self.make(&path)?;
        for at in places {
            let length = self.parameters.piece as usize;
            self.noise.piece(file, *at, length, |bytes| write_at(&opened, &path, bytes, *at))?;
        }
        self.close(opened, &path)
    }

    /// Creates a file with its full length.
    fn make(&self, path: &str) -> Result<OwnedFd, OpError> {
        let opened = files::create(path)?;
        ftruncate(&opened, self.parameters.length).map_err(|e| failed("ftruncate", path, e))?;
        Ok(opened)
    }

    fn close(&self, opened: OwnedFd, path: &str) -> Result<(), OpError> {
        if self.parameters.fsync {
            files::fsync(&opened, path)?;
        }
        files::close(opened, path)?;
        if self.parameters.fsync { files::sync_folder(".") } else { Ok(()) }
    }

    /// Reads a whole file and checks it: pieces must be as written, with zeros between them.
    fn read(&mut self, file: u32, places: &[u64]) -> Result<(), OpError> {
        let path = name(file);
        let opened = files::open(&path)?;
        let Executor { noise, buffer, parameters, .. } = self;
        let mut places = places.iter().copied().peekable();
        for at in (0..parameters.length).step_by(CHUNK) {
            read_at(&opened, &path, buffer, at)?;
            let written = if places.next_if_eq(&at).is_some() { parameters.piece as usize } else { 0 };
            let is_right = written == 0 || noise.is_right(file, at, &buffer[..written]);
            if !is_right || !is_hole(at, &buffer[written..]) {
                return Err(wrong(&path, other_content(at)));
            }
        }
        files::close(opened, &path)
    }

    /// Copies the written extents between holes. Returns the number of bytes copied.
    fn copy(&mut self, file: u32) -> Result<u64, OpError> {
        let (from, to) = (name(file), copy_of(file));
        let opened = files::open(&from)?;
        let copy = self.make(&to)?;
        let (mut at, mut copied) = (0, 0);
        while let Some(begin) = sought(&opened, &from, SeekFrom::Data(at))? {
            let end = sought(&opened, &from, SeekFrom::Hole(begin))?.unwrap_or(self.parameters.length);
            at = begin;
            while at < end {
                let length = (end - at).min(CHUNK as u64) as usize;
                read_at(&opened, &from, &mut self.buffer[..length], at)?;
                write_at(&copy, &to, &self.buffer[..length], at)?;
                at += length as u64;
            }
            copied += end - begin;
        }
        files::close(opened, &from)?;
        self.close(copy, &to)?;
        Ok(copied)
    }
}

/// Whether these bytes of a chunk are zeros. Checks only the beginning of each page, as for written data, and some chunks in full,
/// because checking every byte would take as long as reading.
fn is_hole(chunk_at: u64, bytes: &[u8]) -> bool {
    let looked = if (chunk_at / CHUNK as u64).is_multiple_of(WHOLE_EVERY) { PAGE } else { LOOKED };
    bytes.chunks(PAGE).all(|page| page.iter().take(looked).fold(0, |all, byte| all | byte) == 0)
}

/// The next data or hole in the file; `None` if there is none up to the file's end.
fn sought(file: &OwnedFd, path: &str, to: SeekFrom) -> Result<Option<u64>, OpError> {
    match seek(file, to) {
        Ok(at) => Ok(Some(at)),
        Err(Errno::NXIO) => Ok(None),
        Err(e) => Err(failed("lseek", path, e)),
    }
}

fn read_at(file: impl AsFd, path: &str, buffer: &mut [u8], at: u64) -> Result<(), OpError> {
    let mut come = 0;
    while come < buffer.len() {
        match pread(&file, &mut buffer[come..], at + come as u64) {
            Ok(0) => return Err(wrong(path, format!("it ends at {}", at + come as u64))),
            Ok(n) => come += n,
            Err(e) => return Err(failed("pread", path, e)),
        }
    }
    Ok(())
}

fn write_at(file: impl AsFd, path: &str, bytes: &[u8], at: u64) -> Result<(), OpError> {
    let mut gone = 0;
    while gone < bytes.len() {
        let n = pwrite(&file, &bytes[gone..], at + gone as u64).map_err(|e| failed("pwrite", path, e))?;
        gone += n;
    }
    Ok(())
}
