//! Answers the kernel's requests: what they carry at once in the store, when they are done by the model.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fsderby_diskmodel::{Completion, Drive, Op, Request};
use fsderby_sys::physical::PhysicalMemory;
use fsderby_sys::schedule::run_first;
use fsderby_sys::ublk::{self, Ask, Queue, QueueOf};
use rustix::io::Errno;

use super::outbox::Outbox;
use super::totals::{LATE_NS, Totals, publish};
use crate::host::monotonic_ns;
use crate::schema::request::Served;

pub const SECTOR: u64 = 512;
/// Bytes of the largest request: what disks of 28-bit addresses take, and no more of any.
pub const LARGEST: u32 = 128 << 10;

pub struct Server {
    pub drive: Drive,
    /// The volume's first sector on the disk.
    pub offset: u64,
    pub store: PhysicalMemory,
    /// Where the host reads what was done; `None` where nobody will.
    pub requests: Option<Outbox>,
}

/// Set when the disk is to be lost.
pub static LOST: AtomicBool = AtomicBool::new(false);

/// A request that the drive has.
struct Open {
    kernels_tag: u16,
    request: Request,
    arrived_ns: u64,
    depth: usize,
}

impl Server {
    /// Until the device is taken away, which frees the store.
    pub fn serve(mut self, queue: QueueOf) -> PhysicalMemory {
        let served = prepare_thread().and_then(|()| {
            let (open, totals) = (BTreeMap::new(), Totals::default());
            // The kernel does not copy to and from memory that it does not know of.
            let hand = vec![0; LARGEST as usize];
            Session { server: &mut self, queue: queue.open()?, hand, open, next: 0, totals }.run()
        });
        match served {
            Err(e) if e.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {}
            Err(e) => complain(&format!("the modelled disk is lost: {e}")),
            Ok(never) => match never {},
        }
        self.store
    }
}

/// Says on the guest's console, in its kernel's log, why requests will fail from now on.
fn complain(what: &str) {
    let _ = std::fs::write("/dev/kmsg", format!("<3>fsderby: {what}\n"));
}

/// The disk comes before everything that waits for it, is woken at the nanosecond, and may be what memory is freed by.
fn prepare_thread() -> io::Result<()> {
    run_first()?;
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    Ok(rustix::process::configure_io_flusher_behavior(true)?)
}

struct Session<'a> {
    server: &'a mut Server,
    queue: Queue,
    /// What goes from the store to the kernel and back.
    hand: Vec<u8>,
    open: BTreeMap<u64, Open>,
    next: u64,
    totals: Totals,
}

impl Session<'_> {
    fn run(mut self) -> io::Result<Infallible> {
        let mut done = Vec::new();
        loop {
            if self.wait()? {
                while let Some(asked) = self.queue.asked()? {
                    self.take(asked)?;
                }
            }
            if LOST.load(Ordering::Relaxed) && self.server.requests.is_some() {
                return Err(io::Error::other("it was told to be"));
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
    fn wait(&mut self) -> io::Result<bool> {
        let next = self.server.drive.next_event_ns();
        self.queue.wait(next.map(|at| Duration::from_nanos(at.saturating_sub(monotonic_ns()))))
    }

    fn take(&mut self, asked: ublk::Request) -> io::Result<()> {
        let arrived_ns = monotonic_ns();
        let request = Request {
            tag: self.next,
            op: match asked.ask {
                Ask::Read => Op::Read,
                Ask::Write => Op::Write,
                Ask::Flush => Op::Flush,
                Ask::Discard => Op::Discard,
            },
            fua: asked.fua,
            // The kernel gives a flush the last sector that there is.
            sector: self.server.offset.wrapping_add(asked.sector),
            sectors: asked.sectors,
        };
        if asked.ask == Ask::Write {
            let place = self.place(&request);
            let hand = &mut self.hand[..place.len()];
            self.queue.fetch(asked.tag, hand)?;
            self.server.store.write_all_at(hand, place.start)?;
        }
        self.next += 1;
        self.server.drive.submit(arrived_ns, request);
        let depth = self.open.len() + 1;
        self.open.insert(request.tag, Open { kernels_tag: asked.tag, request, arrived_ns, depth });
        Ok(())
    }

    fn answer(&mut self, done: &Completion) -> io::Result<()> {
        let Some(Open { kernels_tag, request, arrived_ns, depth }) = self.open.remove(&done.tag) else {
            return Err(io::Error::other("the drive has done what nobody asked for"));
        };
        let late_ns = monotonic_ns().saturating_sub(done.at_ns);
        if late_ns > LATE_NS {
            self.totals.late += 1;
            self.totals.late_ns += late_ns;
        }
        if matches!(request.op, Op::Read) {
            let place = self.place(&request);
            let hand = &mut self.hand[..place.len()];
            self.server.store.read_exact_at(hand, place.start)?;
            self.queue.give(kernels_tag, hand)?;
        }
        self.queue.answer(kernels_tag, request.sectors * SECTOR as u32)?;
        let Some(requests) = &mut self.server.requests else { return Ok(()) };
        requests.write_all(&Served::new(request, arrived_ns, depth, done).to_bytes())
    }

    /// Of its data in the store.
    fn place(&self, request: &Request) -> Range<usize> {
        let begin = ((request.sector - self.server.offset) * SECTOR) as usize;
        begin..begin + (u64::from(request.sectors) * SECTOR) as usize
    }
}
