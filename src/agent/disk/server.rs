//! Answers the kernel's requests: what they carry at once in the store, when they are done by the model.
//!
//! The protocol is that of `include/uapi/linux/nbd.h`: a request is 28 bytes, big-endian (magic, flags and type, handle, offset,
//! length), with the data behind it where it is a write; an answer is 16 bytes (magic, error, handle), with the data behind it
//! where it was a read.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use fsderby_diskmodel::{Completion, Drive, Op, Request};
use fsderby_sys::physical::PhysicalMemory;
use fsderby_sys::schedule::run_first;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::outbox::Outbox;
use super::request::Served;
use super::{LATE_NS, SECTOR, Totals, complain, publish};
use crate::agent::monotonic_ns;

const REQUEST_MAGIC: u32 = 0x2560_9513;
const ANSWER_MAGIC: u32 = 0x6744_6698;
const FUA: u32 = 1 << 16;
const DISCONNECT: u32 = 2;

pub struct Server {
    pub drive: Drive,
    /// The window's first sector on the disk.
    pub offset: u64,
    pub store: PhysicalMemory,
    /// Where the host reads what was done; `None` where nobody will.
    pub requests: Option<Outbox>,
}

/// A request that the drive has.
struct Open {
    handle: [u8; 8],
    request: Request,
    arrived_ns: u64,
    depth: usize,
}

impl Server {
    /// Until the kernel hangs up.
    pub fn serve(self, socket: UnixStream) {
        let served = prepare_thread().and_then(|()| {
            Session { server: self, socket, open: BTreeMap::new(), next: 0, totals: Totals::default() }.run()
        });
        if let Err(e) = served {
            complain(&format!("the modelled disk is lost: {e}"));
        }
    }
}

/// The disk comes before everything that waits for it, is woken at the nanosecond, and may be what memory is freed by.
fn prepare_thread() -> io::Result<()> {
    run_first()?;
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    Ok(rustix::process::configure_io_flusher_behavior(true)?)
}

struct Session {
    server: Server,
    socket: UnixStream,
    open: BTreeMap<u64, Open>,
    next: u64,
    totals: Totals,
}

impl Session {
    fn run(mut self) -> io::Result<()> {
        let mut done = Vec::new();
        loop {
            if self.wait()? && !self.take()? {
                return Ok(());
            }
            self.server.drive.advance(monotonic_ns(), &mut done);
            for completion in done.drain(..) {
                self.answer(&completion)?;
            }
            self.totals.drive = self.server.drive.counters();
            if self.server.requests.is_some() {
                publish(self.totals);
            }
        }
    }

    /// Until a request is there or the drive has something to do; says whether it is a request.
    fn wait(&self) -> io::Result<bool> {
        let timeout = self.server.drive.next_event_ns().map(|at| {
            let ns = at.saturating_sub(monotonic_ns());
            Timespec {
                tv_sec: (ns / 1_000_000_000).cast_signed(),
                tv_nsec: (ns % 1_000_000_000).cast_signed(),
            }
        });
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], timeout.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// One request; `false` when the kernel has hung up.
    fn take(&mut self) -> io::Result<bool> {
        let mut header = [0; 28];
        match self.socket.read_exact(&mut header) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        let arrived_ns = monotonic_ns();
        let word =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        if word(0) != REQUEST_MAGIC {
            return Err(io::Error::other("the kernel sent something that is no request"));
        }
        let (command, length) = (word(4), word(24));
        let handle = [0, 1, 2, 3, 4, 5, 6, 7].map(|at| header[8 + at]);
        let begin = u64::from(word(16)) << 32 | u64::from(word(20));
        let op = match command & 0xffff {
            0 => Op::Read,
            1 => Op::Write,
            DISCONNECT => return Ok(false),
            3 => Op::Flush,
            4 => Op::Discard,
            other => return Err(io::Error::other(format!("the kernel asked for {other}"))),
        };
        if matches!(op, Op::Write) {
            let place = part(begin, length);
            self.socket.read_exact(&mut self.server.store.bytes_mut()[place])?;
        }
        let request = Request {
            tag: self.next,
            op,
            fua: command & FUA != 0,
            sector: self.server.offset + begin / SECTOR,
            sectors: length / SECTOR as u32,
        };
        self.next += 1;
        self.server.drive.submit(arrived_ns, request);
        let depth = self.open.len() + 1;
        self.open.insert(request.tag, Open { handle, request, arrived_ns, depth });
        Ok(true)
    }

    fn answer(&mut self, done: &Completion) -> io::Result<()> {
        let Some(Open { handle, request, arrived_ns, depth }) = self.open.remove(&done.tag) else {
            return Err(io::Error::other("the drive has done what nobody asked for"));
        };
        let late_ns = monotonic_ns().saturating_sub(done.at_ns);
        if late_ns > LATE_NS {
            self.totals.late += 1;
            self.totals.late_ns += late_ns;
        }
        let mut header = [0; 16];
        header[0..4].copy_from_slice(&ANSWER_MAGIC.to_be_bytes());
        header[8..16].copy_from_slice(&handle);
        self.socket.write_all(&header)?;
        if matches!(request.op, Op::Read) {
            let begin = (request.sector - self.server.offset) * SECTOR;
            let data = part(begin, request.sectors * SECTOR as u32);
            self.socket.write_all(&self.server.store.bytes()[data])?;
        }
        let Some(requests) = &mut self.server.requests else { return Ok(()) };
        requests.write_all(&Served::new(request, arrived_ns, depth, done).to_bytes())
    }
}

fn part(begin: u64, length: u32) -> std::ops::Range<usize> {
    let begin = begin as usize;
    begin..begin + length as usize
}
