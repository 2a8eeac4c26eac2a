//! Counters shared between processes: a workload's progress, a program's start.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::process::{Usage, monotonic_ns, own_usage};

/// Progress of a workload.
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

/// Usage of a process when it executed its program; the program's usage is counted from here.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Entry {
    /// Time of the program's start in nanoseconds of the monotonic clock; 0 before the start.
    pub at_ns: AtomicU64,
    pub user_ns: AtomicU64,
    pub sys_ns: AtomicU64,
    pub minflt: AtomicU64,
    pub majflt: AtomicU64,
    pub voluntary: AtomicU64,
    pub involuntary: AtomicU64,
}

impl Entry {
    /// Stores the current time and this process's usage.
    pub(crate) fn stamp(&self) {
        let Usage { user_ns, sys_ns, minflt, majflt, voluntary, involuntary, .. } = own_usage();
        self.user_ns.store(user_ns, Ordering::Relaxed);
        self.sys_ns.store(sys_ns, Ordering::Relaxed);
        self.minflt.store(minflt, Ordering::Relaxed);
        self.majflt.store(majflt, Ordering::Relaxed);
        self.voluntary.store(voluntary, Ordering::Relaxed);
        self.involuntary.store(involuntary, Ordering::Relaxed);
        self.at_ns.store(monotonic_ns(), Ordering::Relaxed);
    }

    /// Usage at that time, without bytes.
    pub fn usage(&self) -> Usage {
        Usage {
            user_ns: self.user_ns.load(Ordering::Relaxed),
            sys_ns: self.sys_ns.load(Ordering::Relaxed),
            minflt: self.minflt.load(Ordering::Relaxed),
            majflt: self.majflt.load(Ordering::Relaxed),
            voluntary: self.voluntary.load(Ordering::Relaxed),
            involuntary: self.involuntary.load(Ordering::Relaxed),
            ..Usage::default()
        }
    }
}

/// Types that may be shared: atomics only, for which all zeros is a valid value.
///
/// # Safety
/// An implementation promises exactly this.
pub unsafe trait Counters {}
// SAFETY: two atomics.
unsafe impl Counters for Progress {}
// SAFETY: seven atomics.
unsafe impl Counters for Entry {}

/// Counters in memory that another process may map too.
#[derive(Debug)]
pub struct Shared<T: Counters> {
    at: *mut T,
    file: OwnedFd,
}

/// A shared [`Progress`].
pub type SharedProgress = Shared<Progress>;

// SAFETY: the mapping is only read and written through atomics.
unsafe impl<T: Counters> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Counters> Sync for Shared<T> {}

impl<T: Counters> Shared<T> {
    /// New counters, at zero.
    ///
    /// # Errors
    /// If the kernel has no memory left.
    pub fn new() -> io::Result<Self> {
        let file = memfd_create("fsderby-counters", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, size_of::<T>() as u64)?;
        Self::map(file)
    }

    /// The counters behind an inherited descriptor.
    ///
    /// # Errors
    /// If the descriptor does not belong to such counters.
    pub fn inherited(file: File) -> io::Result<Self> {
        if file.metadata()?.len() != size_of::<T>() as u64 {
            return Err(io::Error::other("the inherited file does not hold the shared counters"));
        }
        Self::map(file.into())
    }

    /// The same counters through a second mapping.
    ///
    /// # Errors
    /// If the kernel has no memory or descriptors left.
    pub fn again(&self) -> io::Result<Self> {
        Self::map(self.file.try_clone()?)
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn map(file: OwnedFd) -> io::Result<Self> {
        let (length, access) = (size_of::<T>(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the kernel's choice; the file is as long as the mapping.
        let at = unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, &file, 0)? };
        Ok(Shared { at: at.cast(), file })
    }
}

impl<T: Counters> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the mapping is as long as a T, page-aligned, zeroed at first, and lives as long as self.
        unsafe { &*self.at }
    }
}

impl<T: Counters> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this length and not unmapped elsewhere; no reference outlives self.
        let _ = unsafe { munmap(self.at.cast(), size_of::<T>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_of_one_progress_see_each_other() {
        let ours = SharedProgress::new().unwrap();
        let theirs = ours.again().unwrap();
        theirs.step();
        theirs.total.store(7, Ordering::Relaxed);
        assert_eq!((ours.done.load(Ordering::Relaxed), ours.total.load(Ordering::Relaxed)), (1, 7));
    }
}
