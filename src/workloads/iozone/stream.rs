//! A C stream with a buffer as long as a record, like fwrite with full buffering.
//!
//! The first record is written directly. The second record fills the buffer. The third record flushes the buffer and is then
//! written directly, and so on. So each record is one system call, and every second record is delayed and copied. Reading copies
//! nothing: a record as long as the buffer is read directly into the caller's memory.

use std::os::fd::OwnedFd;

use fsderby_sys::pages::Pages;
use rustix::io::{Errno, write};

pub struct Stream {
    buffer: Pages,
    /// Whether the buffer holds a record.
    is_full: bool,
    /// Whether a record was written; the first record is not buffered.
    has_written: bool,
}

impl Stream {
    pub fn new(record: usize) -> Self {
        Stream { buffer: Pages::new(record), is_full: false, has_written: false }
    }

    /// Reuses the buffer for a newly opened stream.
    pub fn reopened(&mut self) -> &mut Self {
        (self.is_full, self.has_written) = (false, false);
        self
    }

    /// Writes a whole record.
    pub fn put(&mut self, file: &OwnedFd, record: &[u8]) -> Result<(), Errno> {
        if self.has_written && !self.is_full {
            self.buffer.bytes_mut().copy_from_slice(record);
            self.is_full = true;
            return Ok(());
        }
        self.flush(file)?;
        self.has_written = true;
        write_all(file, record)
    }

    pub fn flush(&mut self, file: &OwnedFd) -> Result<(), Errno> {
        if std::mem::take(&mut self.is_full) { write_all(file, self.buffer.bytes()) } else { Ok(()) }
    }
}

#[inline]
pub fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(file, bytes) {
            // A write call that writes zero bytes would be repeated for ever, so it fails.
            Ok(0) => return Err(Errno::NOSPC),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
