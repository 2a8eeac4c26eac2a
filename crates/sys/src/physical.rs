//! A machine's memory by its physical address: for a guest whose host looks on, or that has more of it than its kernel was told.

use std::fs::OpenOptions;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A mapped range that nobody in this machine uses but its owner.
#[derive(Debug)]
pub struct PhysicalMemory {
    at: *mut u8,
    length: usize,
}

// SAFETY: it is plain memory, owned like a box of bytes.
unsafe impl Send for PhysicalMemory {}

impl PhysicalMemory {
    /// Maps `length` bytes from `address`, both whole pages. The kernel refuses what it uses as memory itself.
    ///
    /// # Errors
    /// Without the right to, or where the range is the kernel's.
    pub fn map(address: u64, length: usize) -> io::Result<Self> {
        let memory = OpenOptions::new().read(true).write(true).open("/dev/mem")?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, of a range that the kernel does not use.
        let at = unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, &memory, address) }?;
        Ok(PhysicalMemory { at: at.cast(), length })
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is that long, lives as long as this, and is written through `&mut self` alone.
        unsafe { std::slice::from_raw_parts(self.at, self.length) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `&mut self` makes it the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.at, self.length) }
    }

    /// The first eight bytes, written so that whoever sees the number sees all that was written before it.
    pub fn publish(&mut self, number: u64) {
        assert!(self.length >= size_of::<AtomicU64>());
        // SAFETY: the mapping begins at a page, so it is aligned, and the eight bytes are there.
        unsafe { AtomicU64::from_ptr(self.at.cast()) }.store(number, Ordering::Release);
    }
}

impl Drop for PhysicalMemory {
    fn drop(&mut self) {
        // SAFETY: it is our mapping, and no reference into it outlives us.
        let _ = unsafe { munmap(self.at.cast(), self.length) };
    }
}
