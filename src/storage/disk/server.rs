//! Answers the kernel's block requests: the store moves the data at once, and the model sets the completion time.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fsderby_diskmodel::{Completion, Drive, Op, Request};
use fsderby_sys::schedule::run_first;
use fsderby_sys::ublk::{self, Ask, Queue, QueueOf};
use rustix::io::Errno;

use super::again::Again;
use super::layout::SECTOR;
use super::medium::Medium;
use super::outbox::Outbox;
use super::store::{Image, Store};
use super::totals::{LATE_NS, Totals, publish, serves};
use crate::host::monotonic_ns;
use crate::schema::request::Served;

pub struct Server {
    pub drive: Drive,
    /// First sector of the volume on the disk.
    pub offset: u64,
    pub store: Store,
    /// The sectors that survive a power cut; `None` if none is planned.
    pub medium: Option<Medium>,
    /// Where the host reads the served requests; `None` if they are not recorded.
    pub requests: Option<Requests>,
    /// Whether the power is off.
    pub is_dark: bool,
}

/// The list of requests that all disks of a machine share, and the numbers of disk and boot for its entries.
#[derive(Clone)]
pub struct Requests {
    pub list: Arc<Mutex<Outbox>>,
    pub disk: u8,
    pub life: u8,
}

/// A server whose power can be cut by another thread.
pub type Shared = Arc<Mutex<Server>>;

/// Set when the disks must fail.
pub static LOST: AtomicBool = AtomicBool::new(false);

/// Set when the disks must answer no more.
pub static STALLED: AtomicBool = AtomicBool::new(false);

/// A request in progress.
struct Open {
    kernels_tag: u16,
    request: Request,
    arrived_ns: u64,
    depth: usize,
}

pub fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves requests until the device is removed. `largest` is the size of the largest request in bytes; the server's work is
/// done `times` times.
pub fn serve(server: &Shared, queue: QueueOf, largest: u32, times: u32) {
    let served = prepare_thread().and_then(|()| {
        if let Some(requests) = &lock(server).requests {
            serves(requests.disk);
        }
        let (open, totals) = (BTreeMap::new(), Totals::default());
        // A buffer, because the kernel cannot copy to or from the memory that it does not know.
        let hand = vec![0; largest as usize];
        let (queue, again) = (queue.open()?, Again::new(times));
        Session { queue, hand, open, next: 0, totals, again }.run(server)
    });
    match served {
        Err(e) if e.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => {}
        Err(e) => complain(&format!("the modelled disk failed: {e}")),
        Ok(never) => match never {},
    }
}

/// Writes an error to the guest's kernel log, because requests will fail from now on.
fn complain(what: &str) {
    let _ = std::fs::write("/dev/kmsg", format!("<3>fsderby: {what}\n"));
}

/// The disk has priority over all tasks that wait for it, wakes at the exact nanosecond, and is allowed memory reserves,
/// because memory may be freed through it.
fn prepare_thread() -> io::Result<()> {
    run_first()?;
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    Ok(rustix::process::configure_io_flusher_behavior(true)?)
}

impl Server {
    /// Position of the request's data in the store.
    fn place(&self, request: &Request) -> Range<usize> {
        let begin = ((request.sector - self.offset) * SECTOR) as usize;
        begin..begin + (u64::from(request.sectors) * SECTOR) as usize
    }

    /// Must be called before a write changes the store: brings the medium up to date with the old content.
    fn before_write(&mut self, now_ns: u64, request: &Request, done: &mut Vec<Completion>) -> io::Result<()> {
        let Some(medium) = &mut self.medium else { return Ok(()) };
        self.drive.advance(now_ns, done);
        medium.follow(&mut self.drive, &self.store)?;
        medium.before_write(&self.store, request.sector..request.sector + u64::from(request.sectors))
    }

    fn advance(&mut self, now_ns: u64, done: &mut Vec<Completion>) -> io::Result<()> {
        self.drive.advance(now_ns, done);
        match &mut self.medium {
            Some(medium) => medium.follow(&mut self.drive, &self.store),
            None => Ok(()),
        }
    }

    /// From now on no request is answered and no data reaches the medium.
    pub fn lose_power(&mut self, now_ns: u64) -> io::Result<()> {
        self.is_dark = true;
        // Completions are dropped, because nobody receives them any more.
        self.advance(now_ns, &mut Vec::new())?;
        match &mut self.medium {
            Some(medium) => medium.take_torn(&self.drive, &self.store),
            None => Ok(()),
        }
    }
}

struct Session {
    queue: Queue,
    /// Buffer for data between store and kernel.
    hand: Vec<u8>,
    open: BTreeMap<u64, Open>,
    next: u64,
    totals: Totals,
    again: Again,
}

impl Session {
    fn run(mut self, shared: &Shared) -> io::Result<Infallible> {
        let mut done = Vec::new();
        let mut next_ns = lock(shared).drive.next_event_ns();
        loop {
            let has_asked = self.queue.wait(next_ns)?;
            self.again.pass();
            // All requests in the queue arrived by now; none arrived during the copying for an earlier one.
            let arrived_ns = monotonic_ns();
            let mut server = lock(shared);
            if server.is_dark {
                drop(server);
                rest();
            }
            if has_asked {
                while let Some(asked) = self.queue.asked()? {
                    self.take(&mut server, asked, arrived_ns, &mut done)?;
                }
                self.again.pass();
            }
            if STALLED.load(Ordering::Relaxed) {
                drop(server);
                rest();
            }
            if LOST.load(Ordering::Relaxed) && server.requests.is_some() {
                return Err(io::Error::other("it was stopped"));
            }
            server.advance(monotonic_ns(), &mut done)?;
            for completion in done.drain(..) {
                self.answer(&mut server, &completion)?;
            }
            self.totals.drive = server.drive.counters();
            if let Some(requests) = &server.requests {
                publish(requests.disk, self.totals);
            }
            next_ns = server.drive.next_event_ns();
            drop(server);
            if self.again.is_on() {
                // The kernel's work on the answers counts as part of the work.
                self.queue.submit()?;
                self.again.pass();
            }
        }
    }

    fn take(
        &mut self,
        server: &mut Server,
        asked: ublk::Request,
        arrived_ns: u64,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let request = Request {
            tag: self.next,
            op: match asked.ask {
                Ask::Read => Op::Read,
                Ask::Write => Op::Write,
                Ask::Flush => Op::Flush,
                Ask::Discard => Op::Discard,
            },
            fua: asked.fua,
            // The kernel sends a flush with the largest possible sector number.
            sector: server.offset.wrapping_add(asked.sector),
            sectors: asked.sectors,
        };
        match asked.ask {
            Ask::Write => {
                server.before_write(arrived_ns, &request, done)?;
                let place = server.place(&request);
                let hand = &mut self.hand[..place.len()];
                self.queue.fetch(asked.tag, hand)?;
                server.store.write(hand, place.start)?;
            }
            // Data of earlier writes is in the store, and later ones cannot change this read. So the data is copied while the
            // disk works, and not after it.
            Ask::Read => {
                let place = server.place(&request);
                let hand = &mut self.hand[..place.len()];
                server.store.read(hand, place.start)?;
                self.queue.give(asked.tag, hand)?;
            }
            Ask::Flush | Ask::Discard => {}
        }
        self.next += 1;
        server.drive.submit(arrived_ns, request);
        let depth = self.open.len() + 1;
        self.open.insert(request.tag, Open { kernels_tag: asked.tag, request, arrived_ns, depth });
        Ok(())
    }

    fn answer(&mut self, server: &mut Server, done: &Completion) -> io::Result<()> {
        let Some(Open { kernels_tag, request, arrived_ns, depth }) = self.open.remove(&done.tag) else {
            return Err(io::Error::other("the modelled drive completed a request that it had not received"));
        };
        let late_ns = monotonic_ns().saturating_sub(done.at_ns);
        if late_ns > LATE_NS {
            self.totals.late += 1;
            self.totals.late_ns += late_ns;
        }
        self.queue.answer(kernels_tag, request.sectors * SECTOR as u32)?;
        let Some(Requests { list, disk, life }) = &server.requests else { return Ok(()) };
        let served = Served { disk: *disk, life: *life, ..Served::new(request, arrived_ns, depth, done) };
        lock(list).write_all(&served.to_bytes())
    }
}

/// Waits for ever. Without power no request is done and no error is returned: the kernel must not notice the cut.
fn rest() -> ! {
    loop {
        std::thread::park();
    }
}
