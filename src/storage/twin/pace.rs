//! Runs the model in real time: each request is answered when the model's time for it has come.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fsderby_diskmodel::{Completion, Drive, Op, Request};
use fsderby_sys::schedule::run_first;
use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};

use crate::host::monotonic_ns;
use crate::storage::disk::Totals;
use crate::storage::disk::layout::SECTOR;
use crate::storage::disk::totals::LATE_NS;

/// How long before the due time the thread wakes up, because a wake-up can be late; the thread spins until the due time.
const SPIN_NS: u64 = 50_000;

/// A request of the kernel and how to answer it.
pub struct Asked {
    pub at_ns: u64,
    pub what: What,
}

pub enum What {
    Read { at: u64, length: u32, reply: ReplyData },
    Write { at: u64, data: Vec<u8>, reply: ReplyWrite },
    Flush { reply: ReplyEmpty },
    Discard { at: u64, length: u64, reply: ReplyEmpty },
}

/// The answer to give when the drive has completed the request.
enum Answer {
    Read { at: u64, length: u32, reply: ReplyData },
    Written { length: u32, reply: ReplyWrite },
    Done { reply: ReplyEmpty },
}

pub struct Pace {
    drive: Drive,
    /// First sector of the volume on the disk.
    offset: u64,
    image: File,
    asked: Receiver<Asked>,
    open: BTreeMap<u64, Answer>,
    next: u64,
    /// Time to which the drive was advanced.
    now_ns: u64,
    totals: Arc<Mutex<Totals>>,
}

/// The disk has priority over all tasks that wait for it. A root user in a container may lack the right to mark the thread as
/// one that frees memory; this matters only when the whole machine is out of memory.
pub fn prepare_thread() -> io::Result<()> {
    // A cgroup may have no right to real-time scheduling; the highest normal priority is the next best.
    run_first().or_else(|_| rustix::process::setpriority_process(None, -20).map_err(io::Error::from))?;
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    let _ = rustix::process::configure_io_flusher_behavior(true);
    Ok(())
}

impl Pace {
    pub fn new(
        drive: Drive,
        offset: u64,
        image: File,
        asked: Receiver<Asked>,
        totals: Arc<Mutex<Totals>>,
    ) -> Self {
        Pace { drive, offset, image, asked, open: BTreeMap::new(), next: 0, now_ns: monotonic_ns(), totals }
    }

    /// Runs until no more requests can arrive. If the disk fails, the process ends and with it the connection to the kernel.
    pub fn run(mut self) {
        let mut done = Vec::new();
        let mut go_on = || -> io::Result<bool> {
            let Some(first) = self.wait() else { return Ok(false) };
            let asked: Vec<Asked> = first.into_iter().chain(self.asked.try_iter()).collect();
            for asked in asked {
                self.take(asked)?;
            }
            self.now_ns = monotonic_ns().max(self.now_ns);
            self.drive.advance(self.now_ns, &mut done);
            self.answer(&mut done);
            Ok(true)
        };
        if let Err(e) = prepare_thread() {
            return fail(&e);
        }
        loop {
            match go_on() {
                Ok(true) => {}
                Ok(false) => return,
                Err(e) => return fail(&e),
            }
        }
    }

    /// Waits until a request arrives or the drive has something to do; `None` if no more requests can arrive.
    fn wait(&self) -> Option<Option<Asked>> {
        let Some(at_ns) = self.drive.next_event_ns() else { return self.asked.recv().ok().map(Some) };
        loop {
            let left_ns = at_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Some(None);
            }
            if left_ns > SPIN_NS {
                match self.asked.recv_timeout(Duration::from_nanos(left_ns - SPIN_NS)) {
                    Ok(asked) => return Some(Some(asked)),
                    Err(RecvTimeoutError::Timeout) => continue,
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
            match self.asked.try_recv() {
                Ok(asked) => return Some(Some(asked)),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
                Err(TryRecvError::Disconnected) => return None,
            }
        }
    }

    fn take(&mut self, Asked { at_ns, what }: Asked) -> io::Result<()> {
        let (op, at, length, answer) = match what {
            What::Read { at, length, reply } => {
                (Op::Read, at, length.into(), Answer::Read { at, length, reply })
            }
            What::Write { at, data, reply } => {
                self.image.write_all_at(&data, at)?;
                let length = data.len() as u32;
                (Op::Write, at, length.into(), Answer::Written { length, reply })
            }
            What::Flush { reply } => (Op::Flush, 0, 0, Answer::Done { reply }),
            What::Discard { at, length, reply } => (Op::Discard, at, length, Answer::Done { reply }),
        };
        let sectors = (length / SECTOR) as u32;
        let request = Request { tag: self.next, op, fua: false, sector: self.offset + at / SECTOR, sectors };
        // A request may have arrived while the drive was advanced.
        self.now_ns = at_ns.max(self.now_ns);
        self.drive.submit(self.now_ns, request);
        self.open.insert(self.next, answer);
        self.next += 1;
        Ok(())
    }

    fn answer(&mut self, done: &mut Vec<Completion>) {
        for Completion { tag, at_ns, .. } in done.drain(..) {
            let Some(answer) = self.open.remove(&tag) else { continue };
            let late_ns = monotonic_ns().saturating_sub(at_ns);
            if late_ns > LATE_NS {
                let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
                totals.late += 1;
                totals.late_ns += late_ns;
            }
            match answer {
                Answer::Read { at, length, reply } => {
                    let mut data = vec![0; length as usize];
                    match self.image.read_exact_at(&mut data, at) {
                        Ok(()) => reply.data(&data),
                        Err(_) => reply.error(Errno::EIO),
                    }
                }
                Answer::Written { length, reply } => reply.written(length),
                Answer::Done { reply } => reply.ok(),
            }
        }
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).drive = self.drive.counters();
    }
}

fn fail(error: &io::Error) {
    eprintln!("the server of the twin disk failed: {error}");
    std::process::exit(1)
}
