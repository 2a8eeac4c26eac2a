//! Block devices served by a program: the kernel's userspace block driver (ublk).
//!
//! See `Documentation/block/ublk.rst` and `include/uapi/linux/ublk_cmd.h` of the kernel. One thread serves one hardware queue.
//! Data moves by reads and writes on the queue's file, at a fixed offset for each tag.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use io_uring::squeue::Entry128;
use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::process::monotonic_ns;

const CONTROL: &str = "/dev/ublk-control";

/// `_IOWR('u', number, structure)`, with `bytes` as the structure's size.
const fn command(number: u32, bytes: u32) -> u32 {
    3 << 30 | bytes << 16 | (b'u' as u32) << 8 | number
}
const ADD: u32 = command(0x04, 32);
const START: u32 = command(0x06, 32);
const STOP: u32 = command(0x07, 32);
const DELETE: u32 = command(0x05, 32);
const SET_PARAMETERS: u32 = command(0x08, 32);
const FETCH: u32 = command(0x20, 16);
const COMMIT_AND_FETCH: u32 = command(0x21, 16);

/// Commands use ioctl encoding; data is copied by read and write instead of mapped.
const FLAGS: u64 = 1 << 6 | 1 << 7;
const NO_QUEUE: u16 = u16::MAX;

const ROTATIONAL: u32 = 1 << 1;
const VOLATILE_CACHE: u32 = 1 << 2;
const HONOURS_FUA: u32 = 1 << 3;
const BASIC: u32 = 1;
const DISCARD: u32 = 1 << 1;

/// Offset of the data in the queue's file, and log2 of the distance between tags.
const DATA: u64 = 0x8000_0000;
const TAG: u32 = 25;

const FUA: u32 = 1 << 13;
/// `struct ublksrv_io_desc`
const DESCRIPTION: usize = 24;

/// The device's properties for the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Size in sectors of 512 bytes.
    pub sectors: u64,
    /// Block sizes in bytes.
    pub logical_block: u32,
    pub physical_block: u32,
    /// Queue depth.
    pub depth: u16,
    /// Maximum request size in bytes.
    pub request: u32,
    pub is_rotational: bool,
    pub discards: bool,
    /// Whether the device needs flushes, and whether it supports FUA writes.
    pub has_volatile_cache: bool,
    pub honours_fua: bool,
}

/// The kernel's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Read,
    Write,
    Flush,
    Discard,
}

#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub tag: u16,
    pub ask: Ask,
    pub fua: bool,
    pub sector: u64,
    pub sectors: u32,
}

/// A device, with the right to start and end it.
pub struct Device {
    ring: IoUring<Entry128>,
    control: File,
    id: u32,
    shape: Shape,
}

impl Device {
    /// Adds a device `/dev/ublkb` + `number`, not served yet.
    ///
    /// # Errors
    /// Without the permission, or if the kernel lacks the driver.
    pub fn new(number: u32, shape: Shape) -> io::Result<Self> {
        let control = OpenOptions::new().read(true).write(true).open(CONTROL)?;
        let mut device = Device { ring: IoUring::builder().build(2)?, control, id: number, shape };
        let mut info = Words::<64>::default();
        info.put(0, 1_u16.to_le_bytes()).put(2, shape.depth.to_le_bytes());
        info.put(8, shape.request.to_le_bytes()).put(12, number.to_le_bytes()).put(24, FLAGS.to_le_bytes());
        device.control(ADD, info, 0)?;
        device.control(SET_PARAMETERS, shape.parameters(), 0)?;
        Ok(device)
    }

    /// Path of the device node.
    pub fn path(&self) -> String {
        format!("/dev/ublkb{}", self.id)
    }

    /// The handle with which a thread opens its queue.
    pub fn queue(&self) -> QueueOf {
        QueueOf { id: self.id, depth: self.shape.depth }
    }

    /// Makes the device available, once its queue is served.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn start(&mut self) -> io::Result<()> {
        self.control(START, Words::<8>::default(), u64::from(std::process::id()))
    }

    /// Removes the device and its unanswered requests.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn end(mut self) -> io::Result<()> {
        self.control(STOP, Words::<8>::default(), 0)?;
        self.control(DELETE, Words::<8>::default(), 0)
    }

    /// Executes one control command; the kernel reads `data` and may overwrite it.
    fn control<const N: usize>(&mut self, command: u32, data: Words<N>, number: u64) -> io::Result<()> {
        let data = Box::into_raw(Box::new(data));
        // `struct ublksrv_ctrl_cmd`
        let mut words = Words::<80>::default();
        words.put(0, self.id.to_le_bytes()).put(4, NO_QUEUE.to_le_bytes());
        words.put(6, (N as u16).to_le_bytes()).put(8, (data as u64).to_le_bytes());
        words.put(16, number.to_le_bytes());
        let entry = opcode::UringCmd80::new(Fd(self.control.as_raw_fd()), command).cmd(words.0).build();
        // SAFETY: `data` is freed only after the command is done, otherwise never.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        let result = wait_for_completion(&mut self.ring)?;
        // SAFETY: it came from a box, and the kernel no longer uses it.
        drop(unsafe { Box::from_raw(data) });
        errno(result)
    }
}

/// Submits queued entries and returns the result of the next completed command. Signals are ignored.
///
/// # Errors
/// If the kernel does not accept it; memory that it could still write to must then not be freed.
fn wait_for_completion<E: squeue::EntryMarker>(ring: &mut IoUring<E>) -> io::Result<i32> {
    loop {
        match ring.submit_and_wait(1) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        // If interrupted after submitting, the kernel reports no error.
        if let Some(done) = ring.completion().next() {
            return Ok(done.result());
        }
    }
}

/// Identifies a queue, to be opened by the thread that serves it.
#[derive(Clone, Copy, Debug)]
pub struct QueueOf {
    id: u32,
    depth: u16,
}

/// `include/uapi/linux/io_uring.h`: wait for events, with an extended argument, with an absolute timeout.
const GET_EVENTS: u32 = 1;
const EXTENDED: u32 = 1 << 3;
const ABSOLUTE: u32 = 1 << 5;

/// `struct io_uring_getevents_arg`
#[repr(C)]
struct Waits {
    mask: u64,
    mask_bytes: u32,
    least_us: u32,
    /// Address of a [`Timespec`], or 0.
    time: u64,
}

/// A device's queue, owned by the thread that opened it.
pub struct Queue {
    ring: IoUring,
    /// Whether the kernel supports absolute timeouts, not only relative ones (from Linux 6.12 on).
    waits_until: bool,
    file: File,
    descriptions: *const u8,
    length: usize,
}

impl QueueOf {
    /// # Errors
    /// If another thread serves it, or the device is gone.
    pub fn open(self) -> io::Result<Queue> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(Path::new("/dev").join(format!("ublkc{}", self.id)))?;
        let length = (usize::from(self.depth) * DESCRIPTION).next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping at an address of the kernel's choice.
        let descriptions =
            unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, &file, 0) }?;
        let entries = u32::from(self.depth).next_power_of_two();
        let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries)?;
        let mut queue = Queue { ring, waits_until: true, file, descriptions: descriptions.cast(), length };
        (0..self.depth).try_for_each(|tag| queue.push(FETCH, tag, 0))?;
        Ok(queue)
    }
}

impl Queue {
    /// Submits answers, and waits for a request or until `until_ns` of the monotonic clock. Returns whether a request came.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn wait(&mut self, until_ns: Option<u64>) -> io::Result<bool> {
        match self.enter(until_ns) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) && self.waits_until => {
                self.waits_until = false;
                return self.wait(until_ns);
            }
            Err(e) if e.raw_os_error() == Some(libc::ETIME) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => drop(other?),
        }
        Ok(!self.ring.completion().is_empty())
    }

    fn enter(&mut self, until_ns: Option<u64>) -> io::Result<usize> {
        let waited = |until: u64| if self.waits_until { until } else { until.saturating_sub(monotonic_ns()) };
        let time = until_ns.map(|until| {
            let ns = waited(until);
            Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32)
        });
        let address = time.as_ref().map_or(0, |time| std::ptr::from_ref(time) as u64);
        let waits = Waits { mask: 0, mask_bytes: 0, least_us: 0, time: address };
        let flags = GET_EVENTS | EXTENDED | if self.waits_until { ABSOLUTE } else { 0 };
        let pushed = self.ring.submission().len() as u32;
        // SAFETY: `waits` and its timespec live until the call returns, and the kernel only reads them.
        unsafe { self.ring.submitter().enter(pushed, 1, flags, Some(&waits)) }
    }

    /// Submits answers without waiting.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn submit(&mut self) -> io::Result<()> {
        match self.ring.submit() {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
            _ => Ok(()),
        }
    }

    /// Returns the next request, if any.
    ///
    /// # Errors
    /// `ENODEV` when the device is removed; another error for an operation that no disk has.
    pub fn asked(&mut self) -> io::Result<Option<Request>> {
        let Some(entry) = self.ring.completion().next() else { return Ok(None) };
        errno(entry.result())?;
        self.describe(&entry).map(Some)
    }

    fn describe(&self, entry: &cqueue::Entry) -> io::Result<Request> {
        let tag = entry.user_data() as u16;
        let at = usize::from(tag) * DESCRIPTION;
        assert!(at + DESCRIPTION <= self.length);
        let mut words = Words::<DESCRIPTION>::default();
        // SAFETY: the kernel has written this description and does not change it until the request is answered.
        unsafe { words.0.as_mut_ptr().copy_from_nonoverlapping(self.descriptions.add(at), DESCRIPTION) };
        let flags = u32::from_le_bytes(words.take(0));
        let ask = match flags & 0xff {
            0 => Ask::Read,
            1 => Ask::Write,
            2 => Ask::Flush,
            3 => Ask::Discard,
            other => return Err(io::Error::other(format!("the kernel asked for {other}"))),
        };
        let (sectors, sector) = (u32::from_le_bytes(words.take(4)), u64::from_le_bytes(words.take(8)));
        Ok(Request { tag, ask, fua: flags & FUA != 0, sector, sectors })
    }

    /// Copies the data of a write to `data`. The kernel requires ordinary memory for it, not a device mapping.
    ///
    /// # Errors
    /// If that tag is not a write in progress.
    pub fn fetch(&self, tag: u16, data: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(data, DATA + (u64::from(tag) << TAG))
    }

    /// Supplies the data of a read.
    ///
    /// # Errors
    /// If that tag is not a read in progress.
    pub fn give(&self, tag: u16, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, DATA + (u64::from(tag) << TAG))
    }

    /// Queues the answer that `bytes` bytes are done, submitted by the next [`Queue::wait`].
    ///
    /// # Errors
    /// Never, provided that each request is answered once.
    pub fn answer(&mut self, tag: u16, bytes: u32) -> io::Result<()> {
        self.push(COMMIT_AND_FETCH, tag, bytes.cast_signed())
    }

    fn push(&mut self, command: u32, tag: u16, result: i32) -> io::Result<()> {
        // `struct ublksrv_io_cmd`
        let mut words = Words::<16>::default();
        words.put(2, tag.to_le_bytes()).put(4, result.to_le_bytes());
        let entry = opcode::UringCmd16::new(Fd(self.file.as_raw_fd()), command).cmd(words.0).build();
        let entry: squeue::Entry = entry.user_data(u64::from(tag));
        // SAFETY: the command holds no address.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: our mapping, and no reference into it outlives self.
        let _ = unsafe { munmap(self.descriptions.cast_mut().cast(), self.length) };
    }
}

impl Shape {
    /// `struct ublk_params`, its basic and discard parts.
    fn parameters(&self) -> Words<60> {
        let mut words = Words::<60>::default();
        let attributes = [
            (self.is_rotational, ROTATIONAL),
            (self.has_volatile_cache, VOLATILE_CACHE),
            // The kernel ignores FUA on a device that needs no flush.
            (self.has_volatile_cache && self.honours_fua, HONOURS_FUA),
        ];
        let attributes = attributes.iter().filter(|(has, _)| *has).fold(0, |all, (_, bit)| all | bit);
        let types = BASIC | if self.discards { DISCARD } else { 0 };
        words.put(0, 60_u32.to_le_bytes()).put(4, types.to_le_bytes());
        words.put(8, attributes.to_le_bytes());
        // Logical and physical block, optimal and minimal I/O size, as powers of two.
        let [logical, physical] = [self.logical_block, self.physical_block].map(|b| b.ilog2() as u8);
        words.put(12, [logical, physical, physical, physical]);
        words.put(16, (self.request / 512).to_le_bytes()).put(24, self.sectors.to_le_bytes());
        if self.discards {
            let most = u32::MAX >> 9;
            words.put(44, self.physical_block.to_le_bytes()).put(48, most.to_le_bytes());
            words.put(56, 1_u16.to_le_bytes());
        }
        words
    }
}

fn errno(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}

/// A kernel structure, addressed by byte offsets of its fields.
struct Words<const N: usize>([u8; N]);

impl<const N: usize> Default for Words<N> {
    fn default() -> Self {
        Words([0; N])
    }
}

impl<const N: usize> Words<N> {
    fn put<const M: usize>(&mut self, at: usize, bytes: [u8; M]) -> &mut Self {
        self.0[at..at + M].copy_from_slice(&bytes);
        self
    }

    fn take<const M: usize>(&self, at: usize) -> [u8; M] {
        std::array::from_fn(|i| self.0[at + i])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::thread::JoinHandleExt;
    use std::thread;
    use std::time::{Duration, Instant};

    extern "C" fn notice(_: libc::c_int) {}

    #[test]
    fn a_command_is_waited_for_whatever_signals_come() {
        // SAFETY: the handler does nothing, and no other test uses this signal; without SA_RESTART calls are interrupted.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = notice as *const () as usize;
            assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()), 0);
        }
        let mut ring: IoUring<Entry128> = match IoUring::builder().build(2) {
            Ok(ring) => ring,
            Err(e) => return eprintln!("skipped: commands and signals: this kernel gives no io_uring: {e}"),
        };
        let begin = Instant::now();
        let waiting = thread::spawn(move || {
            let time = Timespec::new().nsec(300_000_000);
            let entry = opcode::Timeout::new(&raw const time).build().into();
            // SAFETY: `time` lives until the command is done, which this test checks.
            unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
            wait_for_completion(&mut ring)
        });
        while !waiting.is_finished() {
            // SAFETY: the thread is not joined yet.
            unsafe { libc::pthread_kill(waiting.as_pthread_t(), libc::SIGUSR2) };
            thread::sleep(Duration::from_millis(1));
        }
        let result = waiting.join().expect("it does not panic").expect("no signal is told of");
        assert_eq!(result, -libc::ETIME);
        assert!(begin.elapsed() >= Duration::from_millis(300), "it did not wait to the end");
    }
}
