//! Two counters shared between the process that works and the one that reports.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// How far a workload is.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Progress {
    pub done: AtomicU64,
    pub total: AtomicU64,
}

impl Progress {
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

/// A [`Progress`] in memory that another process may map too.
#[derive(Debug)]
pub struct SharedProgress {
    at: *mut Progress,
    file: OwnedFd,
}

// SAFETY: the mapping is only read and written through atomics.
unsafe impl Send for SharedProgress {}
// SAFETY: as above.
unsafe impl Sync for SharedProgress {}

impl SharedProgress {
    /// New, at zero.
    ///
    /// # Errors
    /// When the kernel has no memory left.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("fsderby-progress", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, size_of::<Progress>() as u64)?;
        Self::map(file)
    }

    /// The one behind a descriptor that was inherited.
    ///
    /// # Errors
    /// When the descriptor is not one of a shared progress.
    pub fn inherited(file: File) -> io::Result<Self> {
        if file.metadata()?.len() != size_of::<Progress>() as u64 {
            return Err(io::Error::other("not a shared progress"));
        }
        Self::map(file.into())
    }

    pub fn descriptor(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn map(file: OwnedFd) -> io::Result<Self> {
        let (length, access) = (size_of::<Progress>(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the kernel's choice; the file is as long as the mapping.
        let at = unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, &file, 0)? };
        Ok(SharedProgress { at: at.cast(), file })
    }
}

impl Deref for SharedProgress {
    type Target = Progress;

    fn deref(&self) -> &Progress {
        // SAFETY: the mapping is as long as a Progress, page-aligned, zeroed at first, and lives as long as self.
        unsafe { &*self.at }
    }
}

impl Drop for SharedProgress {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this length and not unmapped elsewhere; no reference outlives self.
        let _ = unsafe { munmap(self.at.cast(), size_of::<Progress>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_one_progress_see_each_other() {
        let ours = SharedProgress::new().unwrap();
        let theirs = SharedProgress::inherited(File::from(ours.file.try_clone().unwrap())).unwrap();
        theirs.step();
        theirs.total.store(7, Ordering::Relaxed);
        assert_eq!((ours.done.load(Ordering::Relaxed), ours.total.load(Ordering::Relaxed)), (1, 7));
    }
}
