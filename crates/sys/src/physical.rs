//! A machine's memory by its physical address: for a guest whose host looks on, or that has more of it than its kernel was told.
//!
//! Who looks on is no part of this program, so there is never a reference to that memory: bytes are copied into it and out of it.

use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// A mapped range that nobody in this machine uses but its owner.
#[derive(Debug)]
pub struct PhysicalMemory {
    at: *mut u8,
    length: usize,
    _claim: Claim,
}

// SAFETY: it is plain memory, owned like a box of bytes.
unsafe impl Send for PhysicalMemory {}

impl PhysicalMemory {
    /// Maps `length` bytes from `address`, both whole pages.
    ///
    /// # Errors
    /// Without the right to, where the kernel knows of something in that range, or where some of it is mapped already.
    pub fn map(address: u64, length: usize) -> io::Result<Self> {
        let claim = Claim::of_unknown(address, length)?;
        let memory = OpenOptions::new().read(true).write(true).open("/dev/mem")?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice. What it shows is neither the kernel's nor, as that gave
        // it to nobody, any program's; and the claim keeps a second mapping of it away.
        let at = unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, &memory, address) }?;
        let mapped = PhysicalMemory { at: at.cast(), length, _claim: claim };
        keep_from_children(mapped.at, length)?;
        Ok(mapped)
    }

    /// Copies these bytes to that place.
    ///
    /// # Errors
    /// When they do not end inside.
    pub fn write_all_at(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
        let place = self.place(at, bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        // SAFETY: so many bytes are there. No slice is a part of them, as this is their only mapping and lends none out.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Fills `bytes` from that place.
    ///
    /// # Errors
    /// When they would not end inside.
    pub fn read_exact_at(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
        let place = self.place(at, bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        // SAFETY: as above; and the one outside who sees the memory only reads it.
        unsafe { place.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies so many bytes of another range to the same place of this one.
    ///
    /// # Errors
    /// When they do not end inside both.
    pub fn copy_from(&mut self, other: &PhysicalMemory, at: usize, length: usize) -> io::Result<()> {
        let (from, to) = (other.place(at, length), self.place(at, length));
        let (from, to) = from.zip(to).ok_or(io::ErrorKind::StorageFull)?;
        // SAFETY: so many bytes are there on both sides, which are not the same: a range has one mapping.
        unsafe { to.copy_from_nonoverlapping(from, length) };
        Ok(())
    }

    /// The first eight bytes, written so that whoever sees the number sees all that was written before it.
    pub fn publish(&mut self, number: u64) {
        assert!(self.length >= size_of::<AtomicU64>());
        // SAFETY: the mapping begins at a page, so it is aligned, and the eight bytes are there.
        unsafe { AtomicU64::from_ptr(self.at.cast()) }.store(number, Ordering::Release);
    }

    fn place(&self, at: usize, length: usize) -> Option<*mut u8> {
        let is_inside = at.checked_add(length)? <= self.length;
        // SAFETY: the place is in the mapping, or its end.
        is_inside.then(|| unsafe { self.at.add(at) })
    }
}

impl Drop for PhysicalMemory {
    fn drop(&mut self) {
        // SAFETY: it is our mapping, and no reference into it outlives us.
        let _ = unsafe { munmap(self.at.cast(), self.length) };
    }
}

/// Leaves a mapping out of processes that are started from now on: a fork copies the page tables of such memory, eight bytes for
/// each page of it, although no child looks at any.
pub(crate) fn keep_from_children(at: *mut u8, length: usize) -> io::Result<()> {
    // SAFETY: it is a mapping of the caller's, of which this process sees what it saw before.
    Ok(unsafe { madvise(at.cast(), length, Advice::LinuxDontFork) }?)
}

/// The ranges that this process has mapped.
static CLAIMED: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());

/// The right to map a range, which no other holder has any part of.
#[derive(Debug)]
pub(crate) struct Claim(Range<u64>);

impl Claim {
    /// Of a range that the kernel does not know of.
    pub(crate) fn of_unknown(begin: u64, length: usize) -> io::Result<Self> {
        let claim = Claim::new(begin, length)?;
        match known(&fs::read_to_string("/proc/iomem")?, &claim.0) {
            Some(what) => {
                Err(io::Error::new(io::ErrorKind::AddrInUse, format!("the kernel has there {what}")))
            }
            None => Ok(claim),
        }
    }

    fn new(begin: u64, length: usize) -> io::Result<Self> {
        let end = begin.checked_add(length as u64).ok_or(io::ErrorKind::InvalidInput)?;
        let wanted = begin..end;
        let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = claimed.iter().find(|other| wanted.start < other.end && other.start < wanted.end)
        {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, format!("{other:#x?} is mapped already")));
        }
        claimed.push(wanted.clone());
        Ok(Claim(wanted))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.lock().unwrap_or_else(PoisonError::into_inner).retain(|range| *range != self.0);
    }
}

/// The line of `/proc/iomem` for something that lies in that range: `100000000-63fffffff : System RAM`, its end included.
fn known<'a>(list: &'a str, wanted: &Range<u64>) -> Option<&'a str> {
    let address = |text| u64::from_str_radix(text, 16).ok();
    list.lines().map(str::trim).find(|line| {
        let range = line.split_once(" : ").and_then(|(range, _)| range.split_once('-'));
        let range = range.and_then(|(first, last)| Some((address(first)?, address(last)?)));
        range.is_some_and(|(first, last)| first < wanted.end && wanted.start <= last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_given_to_one_owner_at_a_time() {
        // Far from what other tests may claim.
        let begin = 1 << 60;
        let first = Claim::new(begin, 4096).expect("it is free");
        let _beside = Claim::new(begin + 4096, 4096).expect("it only touches the first");
        for (address, length) in [(begin, 4096), (begin - 1, 2), (begin + 4095, 1), (begin - 4096, 3 * 4096)]
        {
            let refused = Claim::new(address, length).expect_err("a part of it is taken");
            assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        }
        drop(first);
        Claim::new(begin, 4096).expect("it is free again");
    }

    #[test]
    fn a_range_beyond_the_last_address_is_refused() {
        assert!(Claim::new(u64::MAX, 2).is_err());
    }

    #[test]
    fn what_the_kernel_knows_of_is_found_wherever_it_overlaps() {
        let list = "00001000-0009fbff : System RAM\n  00002000-00002fff : Kernel code\nfec00000-fec003ff : IOAPIC 0\n";
        let ram = Some("00001000-0009fbff : System RAM");
        for (wanted, what) in [
            (0x0..0x1000, None),
            (0x0..0x1001, ram),
            (0x9_fbff..0xa_0000, ram),
            (0x9_fc00..0xa_0000, None),
            (0xfec0_0000..0xfec0_0001, Some("fec00000-fec003ff : IOAPIC 0")),
            (0x1_0000_0000..0x2_0000_0000, None),
        ] {
            assert_eq!(known(list, &wanted), what, "{wanted:x?}");
        }
    }
}
