//! The system calls of each pass; the calls between the two bars are timed.
//!
//! ```text
//! write, rewrite          open, fsync        │ n × write                  │ fsync, close
//! read, reread            open, fsync, read, lseek 0 │ n × read           │ fsync, close
//! random read             open               │ n × (lseek, read)          │ fsync, close
//! random write            open               │ n × (lseek, write)         │ fsync, close
//! backward read           open               │ lseek −R from the end, n × (read, lseek −2R) │ fsync, close
//! record rewrite          open               │ n × (write, lseek 0)       │ fsync, close
//! strided read            open               │ n × (read, lseek)          │ fsync, close
//! fwrite, frewrite        open, fsync        │ n × write, half of them of a buffer │ write, fsync, close
//! fread, freread          open, fsync        │ n × read                   │ close
//! mixed                   open               │ n × (lseek, read or write) │ fsync, close
//! ```
//! With `fsync` the time of a writing pass includes one more fsync; with `close` each pass's time includes the close.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use fsderby_sys::pages::Pages;
use rustix::fs::{CWD, Mode, OFlags, SeekFrom, fsync, ftruncate, openat, seek, unlink};
use rustix::io::{Errno, read};

use super::content::{Content, Written};
use super::matrix::Pair;
use super::orders::{self, Strided};
use super::stream::{Stream, write_all};
use super::table::Pass;
use crate::workloads::kit::files::{failed, wrong};
use crate::workloads::{Clock, OpError, Progress};

/// Options of all passes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// `-e`: the time of a pass that writes ends with an fsync.
    pub fsync: bool,
    /// `-c`: the time of a pass ends with the close.
    pub close: bool,
    /// `-I`: O_DIRECT, except for streams.
    pub direct: bool,
    /// `-o`: O_SYNC for writing, except for streams.
    pub o_sync: bool,
    /// `-j`: the stride in records.
    pub stride: u32,
}

impl Default for Ways {
    fn default() -> Self {
        Ways { fsync: false, close: false, direct: false, o_sync: false, stride: 17 }
    }
}

/// Time and operations of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    pub ns: u64,
    pub operations: u64,
}

/// The number of operations that remain, and the progress to update.
pub struct Turns<'a> {
    pub left: u64,
    pub progress: Option<&'a Progress>,
}

impl Turns<'_> {
    fn step(&mut self) {
        self.left -= 1;
        if let Some(progress) = self.progress {
            progress.step();
        }
    }

    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}

/// Runs passes on one file with one record size.
pub struct Passes {
    path: PathBuf,
    pair: Pair,
    ways: Ways,
    content: Content,
    /// The file's content; `None` if another program wrote it.
    written: Option<Written>,
    /// The buffer of a record, page-aligned for direct I/O; empty while a stream is open.
    buffer: Pages,
    stream: Option<Stream>,
    order: Vec<u32>,
}

impl Passes {
    pub fn new(path: PathBuf, pair: Pair, ways: Ways, seed: u64, written: Option<Written>) -> Self {
        let record = pair.record as usize;
        Passes {
            path,
            pair,
            ways,
            content: Content::new(seed, record),
            written,
            buffer: Pages::new(0),
            stream: None,
            order: Vec::new(),
        }
    }

    pub fn written(&self) -> Option<Written> {
        self.written
    }

    /// Prepares a pass; not timed.
    pub fn prepare(&mut self, pass: Pass) {
        let record = self.pair.record as usize;
        // Reads need one buffer and streams another; no pass needs both. With 64 MiB of memory and records of 16 MiB both would
        // leave the page cache no room for journal pages. Touched here, so that no pass is timed with page faults.
        if !matches!(pass, Pass::Fwrite | Pass::Frewrite) && self.buffer.bytes().len() < record {
            self.stream = None;
            self.buffer = Pages::new(record);
            self.buffer.bytes_mut().fill(1);
        }
        match pass {
            pass if pass.is_random() && self.order.is_empty() => {
                self.order = orders::random(self.pair.records() as u32);
            }
            Pass::Fwrite | Pass::Frewrite => {
                (self.buffer, self.order) = (Pages::new(0), Vec::new());
                self.stream.get_or_insert_with(|| Stream::new(record));
            }
            // The random order of a file with tiny records takes a large part of the file's size in memory, so it is freed.
            pass if !pass.is_random() => self.order = Vec::new(),
            _ => {}
        }
    }

    /// Runs one pass. Stops if the operations run out within it or at its end.
    pub fn run(&mut self, pass: Pass, clock: &dyn Clock, turns: &mut Turns<'_>) -> Result<Took, OpError> {
        self.prepare(pass);
        if pass.writes() {
            self.written = self.written.or(matches!(pass, Pass::Write | Pass::Fwrite).then(Written::default));
        }
        let after = self.written.map(|before| written_by(pass, before));
        let took = match pass {
            Pass::Write | Pass::Rewrite => self.write(after, clock, turns),
            Pass::Read | Pass::Reread => self.read(clock, turns),
            Pass::RandomRead => self.random_read(clock, turns),
            Pass::RandomWrite => self.random_write(after, clock, turns),
            Pass::BackwardRead | Pass::BackwardReread => self.backward_read(clock, turns),
            Pass::RecordRewrite => self.record_rewrite(after, clock, turns),
            Pass::StrideRead => self.stride_read(clock, turns),
            Pass::Fwrite | Pass::Frewrite => self.fwrite(pass, after, clock, turns),
            Pass::Fread | Pass::Freread => self.fread(clock, turns),
            Pass::Mixed => self.mixed(clock, turns),
        }?;
        self.written = after;
        Ok(took)
    }

    fn write(
        &mut self,
        after: Option<Written>,
        clock: &dyn Clock,
        turns: &mut Turns<'_>,
    ) -> Result<Took, OpError> {
        let file = self.open(OFlags::RDWR)?;
        self.synced(&file)?;
        let records = self.pair.records();
        self.timed(file, clock, turns, true, |own, file, turns| {
            each(0..records, turns, |number| own.put(file, number, after))
        })
    }

    fn read(&mut self, clock: &dyn Clock, turns: &mut Turns<'_>) -> Result<Took, OpError> {
        let file = self.open(OFlags::RDONLY)?;
        self.synced(&file)?;
        self.get(&file, 0)?;
        self.seek(&file, SeekFrom::Start(0))?;
        let records = self.pair.records();
        self.timed(file, clock, turns, false, |own, file, turns| {
            each(0..records, turns, |number| own.get(file, number))
        })
    }

    fn random_read(&mut self, clock: &dyn Clock, turns: &mut Turns<'_>) -> Result<Took, OpError> {
        let file = self.open(OFlags::RDWR | OFlags::CREATE)?;
        let order = std::mem::take(&mut self.order);
        let took = self.timed(file, clock, turns, false, |own, file, turns| {
            each(order.iter().map(|n| u64::from(*n)), turns, |number| {
                own.seek(file, own.at(number))?;
                own.get(file, number)
            })
        });
        self.order = order;
        took
    }

    fn random_write(
        &mut self,
        after: Option<Written>,
        clock: &dyn Clock,
        turns: &mut Turns<'_>,
    ) -> Result<Took, OpError> {
        let file = self.open(OFlags::RDWR | OFlags::CREATE)?;
        let order = std::mem::take(&mut self.order);
        let took = self.timed(file, clock, turns, true, |own, file, turns| {
            each(order.iter().map(|n| u64::from(*n)), turns, |number| {
                own.seek(file, own.at(number))?;
                own.put(file, number, after)
            })
        });
        self.order = order;
        took
    }

    fn backward_read(&mut self, clock: &dyn Clock, turns: &mut Turns<'_>) -> Result<Took, OpError> {
        let file = self.open(OFlags::RDONLY)?;
        let (records, record) = (self.pair.records(), self.pair.record as i64);
        self.timed(file, clock, turns, false, |own, file, turns| {
            own.seek(file, SeekFrom::End(-record))?;
            each((0..records).rev(), turns, |number| {
                own.get(file, number)?;
                if number > 0 { own.seek(file, SeekFrom::Current(-2 * record)) } else { Ok(()) }
            })
        })
    }

    fn record_rewrite(
        &mut self,
        after: Option<Written>,
        clock: &dyn Clock,
        turns: &mut Turns<'_>,
    ) -> Result<Took, OpError> {
        let file = self.open(OFlags::RDWR)?;
        let records = self.pair.records();
        self.timed(file, clock, turns, true, |own, file, turns| {
            each(0..records, turns, |_| {
                own.put(file, 0, after)?;
                own.seek(file, SeekFrom::Start(0))
            })
        })
    }

    fn stride_read(&mut self, clock: &dyn Clock, turns: &mut Turns<'_>) -> Result<Took, OpError> {
        let file = self.open(OFlags::RDONLY)?;
        let records = self.pair.records();
        let mut order = Strided::new(records as u32, self.ways.stride);
        let mut number = 0;
        self.timed(file, clock, turns, false, |own, file, turns| {
            each(0..records, turns, |_| {
                own.get(file, number)?;
                number = order.advance();
                own.seek(file, own.at(number))
            })
        })
    }

    fn fwrite(
        &mut self,
        pass: Pass,
        after: Option<Written>,
        clock: &dyn Clock,
        turns: &mut Turns<'_>,
    ) -> Result<Took, OpError> {
        let file = self.fopen(pass)?;
        self.synced(&file)?;
        let mut stream = self.stream.take().unwrap_or_else(|| Stream::new(self.pair.record as usize));
        stream.reopened();
        let (records, ways) = (self.pair.records(), self.ways);
        let start = clock.now_ns();
        let done = each(0..records, turns, |number| {
            let record = self.content.record(number, after.unwrap_or_default());
            stream.put(&file, record).map_err(|e| failed("fwrite", &self.path, e))
        })?;
        if turns.is_over() {
            return Ok(Took { ns: clock.now_ns() - start, operations: done });
        }
        let mut open = Some(file);
        let flushed = |own: &Self, stream: &mut Stream, open: &Option<OwnedFd>, sync: bool| {
            let Some(file) = open else { return Ok(()) };
            stream.flush(file).map_err(|e| failed("fflush", &own.path, e))?;
            if sync { own.synced(file) } else { Ok(()) }
        };
        if ways.fsync || ways.close {
            flushed(self, &mut stream, &open, ways.fsync)?;
        }
        if ways.close {
            self.closed(open.take())?;
        }
        let ns = clock.now_ns() - start;
        flushed(self, &mut stream, &open, true)?;
        self.closed(open.take())?;
        self.stream = Some(stream);
        Ok(Took { ns, operations: done })
    }

    fn fread(&mut self, clock: &dyn Clock, turns: &mut Turns<'_>) -> Result<Took, OpError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(CWD, &self.path, flags, Mode::empty());
        let file = file.map_err(|e| failed("fopen", &self.path, e))?;
        self.synced(&file)?;
        let records = self.pair.records();
        self.timed(file, clock, turns, false, |own, file, turns| {
            each(0..records, turns, |number| own.get(file, number))
        })
    }

    /// Reads the odd records of the random order and writes the even ones.
    fn mixed(&mut self, clock: &dyn Clock, turns: &mut Turns<'_>) -> Result<Took, OpError> {
        let file = self.open(OFlags::RDWR | OFlags::CREATE)?;
        let order = std::mem::take(&mut self.order);
        let written = self.written;
        let mut reads = false;
        let took = self.timed(file, clock, turns, true, |own, file, turns| {
            each(order.iter().map(|n| u64::from(*n)), turns, |number| {
                own.seek(file, own.at(number))?;
                reads = !reads;
                if reads { own.get(file, number) } else { own.put(file, number, written) }
            })
        });
        self.order = order;
        took
    }

    /// The time of a pass, including the fsync and the close if `fsync` and `close` ask for them.
    fn timed(
        &mut self,
        file: OwnedFd,
        clock: &dyn Clock,
        turns: &mut Turns<'_>,
        writes: bool,
        work: impl FnOnce(&mut Self, &OwnedFd, &mut Turns<'_>) -> Result<u64, OpError>,
    ) -> Result<Took, OpError> {
        let start = clock.now_ns();
        let operations = work(self, &file, turns)?;
        let mut open = Some(file);
        let is_over = turns.is_over();
        if let (Some(file), true, false) = (&open, writes && self.ways.fsync, is_over) {
            self.synced(file)?;
        }
        if self.ways.close && !is_over {
            self.closed(open.take())?;
        }
        let ns = clock.now_ns() - start;
        if let (Some(file), false) = (&open, is_over) {
            self.synced(file)?;
        }
        if !is_over {
            self.closed(open.take())?;
        }
        Ok(Took { ns, operations })
    }

    #[inline]
    fn put(&mut self, file: &OwnedFd, number: u64, written: Option<Written>) -> Result<(), OpError> {
        let record = self.content.record(number, written.unwrap_or_default());
        write_all(file, record).map_err(|e| failed("write", &self.path, e))
    }

    #[inline]
    fn get(&mut self, file: &OwnedFd, number: u64) -> Result<(), OpError> {
        let Passes { path, pair, content, written, buffer, .. } = self;
        let at = number * pair.record;
        let came = read_whole(file, buffer.bytes_mut()).map_err(|e| failed("read", &*path, e))?;
        if came as u64 != pair.record {
            return Err(wrong(
                path,
                format!("read {came} bytes at {at}, but {asked} bytes were written", asked = pair.record),
            ));
        }
        match written.and_then(|written| content.wrong_at(number, written, buffer.bytes())) {
            None => Ok(()),
            Some(within) => {
                let at = at + within as u64;
                Err(wrong(path, format!("at byte {at}, the content differs from what was written")))
            }
        }
    }

    fn at(&self, number: u64) -> SeekFrom {
        SeekFrom::Start(number * self.pair.record)
    }

    #[inline]
    fn seek(&self, file: &OwnedFd, to: SeekFrom) -> Result<(), OpError> {
        seek(file, to).map(drop).map_err(|e| failed("lseek", &self.path, e))
    }

    fn synced(&self, file: &OwnedFd) -> Result<(), OpError> {
        fsync(file).map_err(|e| failed("fsync", &self.path, e))
    }

    fn closed(&self, file: Option<OwnedFd>) -> Result<(), OpError> {
        let close = |file| fsderby_sys::file::close(file).map_err(|e| failed("close", &self.path, e));
        file.map_or(Ok(()), close)
    }

    fn open(&self, flags: OFlags) -> Result<OwnedFd, OpError> {
        let writes = !flags.intersection(OFlags::RDWR).is_empty();
        let mut flags = flags | OFlags::CLOEXEC;
        flags.set(OFlags::DIRECT, self.ways.direct);
        flags.set(OFlags::SYNC, self.ways.o_sync && writes);
        openat(CWD, &self.path, flags, MODE).map_err(|e| failed("open", &self.path, e))
    }

    /// Opens the file like fopen: creates it if it is missing, and does not truncate an existing file.
    fn fopen(&self, pass: Pass) -> Result<OwnedFd, OpError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let opened = match openat(CWD, &self.path, flags, MODE) {
            Err(Errno::NOENT) if pass == Pass::Fwrite => {
                openat(CWD, &self.path, flags | OFlags::CREATE | OFlags::TRUNC, MODE)
            }
            opened => opened,
        };
        opened.map_err(|e| failed("fopen", &self.path, e))
    }

    /// The CRC-32 of the current file; `None` if another program wrote it.
    pub fn crc32(&mut self) -> Option<u32> {
        self.written.map(|written| self.content.crc32(self.pair.records(), written))
    }
}

const MODE: Mode = Mode::from_raw_mode(0o640);

/// The file's content after that pass.
pub fn written_by(pass: Pass, before: Written) -> Written {
    match pass {
        Pass::RecordRewrite => before.first_again(),
        // Which records the pass wrote depends on the order, so each record would need separate tracking.
        Pass::Mixed => before,
        pass if pass.writes() => before.all_again(),
        _ => before,
    }
}

#[inline]
fn each(
    numbers: impl Iterator<Item = u64>,
    turns: &mut Turns<'_>,
    mut act: impl FnMut(u64) -> Result<(), OpError>,
) -> Result<u64, OpError> {
    let mut done = 0;
    for number in numbers {
        act(number)?;
        done += 1;
        turns.step();
        if turns.is_over() {
            break;
        }
    }
    Ok(done)
}

#[inline]
fn read_whole(file: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut came = 0;
    while came < buffer.len() {
        match read(file, &mut buffer[came..]) {
            Ok(0) => break,
            Ok(n) => came += n,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(came)
}

/// Creates the file for test 0, after checking that a file can be created and truncated there. Keeps existing content.
pub fn create(path: &Path) -> Result<(), OpError> {
    let close = |file| fsderby_sys::file::close(file).map_err(|e| failed("close", path, e));
    let made = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    let tried = openat(CWD, path, made | OFlags::EXCL, Mode::empty());
    let tried = tried.map_err(|e| failed("create", path, e))?;
    ftruncate(&tried, 0).map_err(|e| failed("truncate", path, e))?;
    close(tried)?;
    remove(path)?;
    let file = openat(CWD, path, made | OFlags::TRUNC, MODE).map_err(|e| failed("create", path, e))?;
    close(file)
}

pub fn remove(path: &Path) -> Result<(), OpError> {
    unlink(path).map_err(|e| failed("unlink", path, e))
}
