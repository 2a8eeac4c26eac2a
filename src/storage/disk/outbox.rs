//! Bytes that a guest leaves in its memory for the host to read, which looks on and never answers.
//!
//! The first eight bytes are the number of bytes that were written, which begin at [`BEGIN`].

use std::io::{self, Write};

use fsderby_sys::physical::PhysicalMemory;

/// Of the bytes, from the range's beginning.
pub const BEGIN: usize = 4096;

pub struct Outbox {
    memory: PhysicalMemory,
    written: usize,
}

impl Outbox {
    pub fn new(memory: PhysicalMemory) -> Self {
        Outbox { memory, written: 0 }
    }
}

impl Write for Outbox {
    /// # Errors
    /// When it is full.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.memory.write_all_at(bytes, BEGIN + self.written)?;
        self.written += bytes.len();
        self.memory.publish(self.written as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
