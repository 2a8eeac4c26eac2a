//! Output of a guest in its memory, which the host reads and never answers.
//!
//! The first eight bytes hold the number of bytes written, which start at [`BEGIN`].

use std::io::{self, Write};

use fsderby_sys::physical::PhysicalMemory;

/// Offset of the bytes in the range.
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
    /// If the outbox is full.
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
