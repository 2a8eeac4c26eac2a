//! Concurrent direct I/O requests to a block device by io_uring.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use io_uring::types::Fd;
use io_uring::{IoUring, opcode};

use crate::pages::Pages;

/// Content of writes: not zeros, which some devices do not store.
const CONTENT: u8 = 0x5a;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Read,
    Write,
}

/// A device, and buffers for its requests.
pub struct Direct {
    ring: IoUring,
    file: File,
    memory: Pages,
    /// Buffer bytes per request.
    largest: usize,
    /// Indices of free buffers.
    free: Vec<u16>,
    depth: usize,
    /// Expected bytes of each request in flight.
    lengths: Vec<i32>,
}

impl Direct {
    /// Opens a device for `depth` concurrent requests of at most `largest` bytes each.
    ///
    /// # Errors
    /// If it cannot be opened for direct I/O, or the kernel has no io_uring.
    pub fn open(path: &Path, depth: u16, largest: usize) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path)?;
        let largest = largest.next_multiple_of(rustix::param::page_size());
        let mut memory = Pages::new(largest * usize::from(depth));
        memory.bytes_mut().fill(CONTENT);
        Ok(Direct {
            ring: IoUring::new(u32::from(depth))?,
            file,
            memory,
            largest,
            free: (0..depth).collect(),
            depth: usize::from(depth),
            lengths: vec![0; usize::from(depth)],
        })
    }

    /// Number of requests in flight.
    pub fn under_way(&self) -> usize {
        self.depth - self.free.len()
    }

    /// Queues a request, which [`Direct::wait`] submits.
    ///
    /// # Errors
    /// If `depth` requests are in flight, or the request is too long.
    pub fn ask(&mut self, ask: Ask, at: u64, length: usize) -> io::Result<()> {
        let part = self.free.last().copied().filter(|_| length <= self.largest);
        let part = part.ok_or_else(|| {
            io::Error::other("all requests are in flight, or this one is larger than a buffer")
        })?;
        let begin = usize::from(part) * self.largest;
        let bytes = self.memory.bytes_mut()[begin..begin + length].as_mut_ptr();
        let (file, number) = (Fd(self.file.as_raw_fd()), length as u32);
        let entry = match ask {
            Ask::Read => opcode::Read::new(file, bytes, number).offset(at).build(),
            Ask::Write => opcode::Write::new(file, bytes, number).offset(at).build(),
        };
        // SAFETY: no other request uses this buffer until this one is done, and the buffers live until all are done.
        unsafe { self.ring.submission().push(&entry.user_data(part.into())) }.map_err(io::Error::other)?;
        self.lengths[usize::from(part)] = length as i32;
        self.free.pop();
        Ok(())
    }

    /// Submits queued requests and waits until at least one is done. Returns the number of completed requests.
    ///
    /// # Errors
    /// If the device failed a request or transferred only part of it.
    pub fn wait(&mut self) -> io::Result<u64> {
        let mut done = 0;
        let mut failed = Ok(());
        while done == 0 && self.under_way() > 0 {
            match self.ring.submit_and_wait(1) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
                _ => {}
            }
            while let Some(entry) = self.ring.completion().next() {
                let part = entry.user_data() as u16;
                failed = failed.and(carried(entry.result(), self.lengths[usize::from(part)]));
                self.free.push(part);
                done += 1;
            }
        }
        failed.map(|()| done)
    }

    /// Flushes the device.
    ///
    /// # Errors
    /// If the flush fails.
    pub fn flush(&self) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(&self.file)?)
    }
}

fn carried(result: i32, length: i32) -> io::Result<()> {
    match result {
        error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
        whole if whole == length => Ok(()),
        part => Err(io::Error::other(format!("{part} bytes of {length}"))),
    }
}

impl Drop for Direct {
    /// The kernel may write to the buffers until the last request is done. If waiting fails, the buffers are leaked.
    fn drop(&mut self) {
        let mut before = usize::MAX;
        while (1..before).contains(&self.under_way()) {
            before = self.under_way();
            let _ = self.wait();
        }
        if self.under_way() > 0 {
            std::mem::forget(std::mem::replace(&mut self.memory, Pages::new(0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_there_and_more_than_fit_are_refused() {
        // Beside the test binary, because tmpfs does not support direct I/O.
        let path = std::env::current_exe().unwrap().with_extension("direct");
        std::fs::write(&path, vec![1; 64 << 10]).unwrap();
        let mut direct = match Direct::open(&path, 4, 8192) {
            // Not every filesystem and not every sandbox allows such requests.
            Err(e) => return println!("skipped: {e}"),
            Ok(direct) => direct,
        };
        for n in 0..4 {
            direct.ask(Ask::Write, n * 8192, 4096).unwrap();
        }
        assert!(direct.ask(Ask::Write, 0, 4096).is_err());
        while direct.under_way() > 0 {
            direct.wait().unwrap();
        }
        direct.flush().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for page in 0..16 {
            let is = bytes[page * 4096..][..4096].iter().all(|byte| *byte == CONTENT);
            assert_eq!(is, page < 8 && page % 2 == 0, "{page}");
        }
        assert!(direct.ask(Ask::Read, 0, 16384).is_err(), "larger than any may be");
        direct.ask(Ask::Read, 64 << 10, 4096).unwrap();
        assert!(direct.wait().is_err(), "behind the end");
        std::fs::remove_file(path).unwrap();
    }
}
