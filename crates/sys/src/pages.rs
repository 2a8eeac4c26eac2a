//! Page-aligned memory that returns to the kernel when dropped.
//!
//! An allocator may keep freed memory, which on a small machine reduces the page cache.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Initially zero; only touched pages use memory.
#[derive(Debug)]
pub struct Pages {
    begin: NonNull<u8>,
    length: usize,
}

// SAFETY: nothing else refers to this memory; it moves with its owner.
unsafe impl Send for Pages {}

impl Pages {
    /// Ends the process if there is not enough memory, like the allocator.
    pub fn new(length: usize) -> Self {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // The kernel refuses an empty mapping.
        let mapped = length.max(1);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let begin = unsafe { mmap_anonymous(null_mut(), mapped, access, MapFlags::PRIVATE) };
        let begin = begin.ok().and_then(|begin| NonNull::new(begin.cast()));
        let begin = begin.unwrap_or_else(|| handle_alloc_error(Layout::new::<u8>()));
        Pages { begin, length }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: this many bytes are mapped as long as self lives, and the borrow excludes writers.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.length) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the borrow excludes other readers.
        unsafe { std::slice::from_raw_parts_mut(self.begin.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped above with this length, and no reference outlives self.
        let _ = unsafe { munmap(self.begin.as_ptr().cast(), self.length.max(1)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_at_a_page_and_hold_what_was_written() {
        let mut pages = Pages::new(5000);
        assert_eq!((pages.bytes().as_ptr().addr() % 4096, pages.bytes().len()), (0, 5000));
        assert!(pages.bytes().iter().all(|byte| *byte == 0));
        pages.bytes_mut()[4999] = 7;
        assert_eq!(pages.bytes()[4998..], [0, 7]);
        assert_eq!(Pages::new(0).bytes(), [0; 0]);
    }

    #[test]
    fn what_was_dropped_is_no_longer_there() {
        let is_mapped = |at: usize| {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().any(|line| {
                let (begin, rest) = line.split_once('-').unwrap();
                let end = rest.split(' ').next().unwrap();
                let number = |text| usize::from_str_radix(text, 16).unwrap();
                (number(begin)..number(end)).contains(&at)
            })
        };
        // Larger than any other test's mapping, so that nothing else is mapped there meanwhile.
        let pages = Pages::new(3 << 30);
        let middle = pages.bytes().as_ptr().addr() + (3 << 29);
        assert!(is_mapped(middle));
        drop(pages);
        assert!(!is_mapped(middle));
    }
}
