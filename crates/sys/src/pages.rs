//! Memory that begins at a page and goes back to the kernel when it is dropped.
//!
//! What an allocator is given back it may keep, and a machine of little memory then has less for its page cache than before.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// Zeros at first; only what was touched takes memory.
#[derive(Debug)]
pub struct Pages {
    begin: NonNull<u8>,
    length: usize,
}

// SAFETY: nobody else knows this memory; it goes where its owner goes.
unsafe impl Send for Pages {}

impl Pages {
    /// Ends the process where there is no such memory, as the allocator does.
    pub fn new(length: usize) -> Self {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // An empty mapping is refused.
        let mapped = length.max(1);
        // SAFETY: a new mapping of its own, at a place that the kernel chooses.
        let begin = unsafe { mmap_anonymous(null_mut(), mapped, access, MapFlags::PRIVATE) };
        let begin = begin.ok().and_then(|begin| NonNull::new(begin.cast()));
        let begin = begin.unwrap_or_else(|| handle_alloc_error(Layout::new::<u8>()));
        Pages { begin, length }
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped for as long as this lives, and nobody writes them meanwhile.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.length) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else reads them meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.begin.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped above with this length, and no reference to it outlives this.
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
        // Larger than what any other test maps, so that nobody else comes to lie there meanwhile.
        let pages = Pages::new(3 << 30);
        let middle = pages.bytes().as_ptr().addr() + (3 << 29);
        assert!(is_mapped(middle));
        drop(pages);
        assert!(!is_mapped(middle));
    }
}
