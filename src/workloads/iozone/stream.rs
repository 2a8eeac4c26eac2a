//! A stream of the C library's whose buffer is as long as a record, as fwrite with full buffering does it.
//!
//! The first record goes out directly. The next one fills the buffer; the one after it sends the full buffer out, and then itself, directly.
//! So each record is a system call of its own, every second one late and copied. A stream that is read copies nothing: a record as long as
//! the buffer is read where it is wanted.

use std::os::fd::OwnedFd;

use fsderby_sys::pages::Pages;
use rustix::io::{Errno, write};

pub struct Stream {
    buffer: Pages,
    /// Whether there is anything in the buffer, which is then full.
    is_full: bool,
    /// Nothing is buffered before something was written.
    has_written: bool,
}

impl Stream {
    pub fn new(record: usize) -> Self {
        Stream { buffer: Pages::new(record), is_full: false, has_written: false }
    }

    /// A stream of the same buffer, newly opened.
    pub fn reopened(&mut self) -> &mut Self {
        (self.is_full, self.has_written) = (false, false);
        self
    }

    /// A whole record.
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
            // Nothing was written of what there is: no filesystem that is right does so for ever.
            Ok(0) => return Err(Errno::NOSPC),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
