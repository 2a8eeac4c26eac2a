//! A machine's memory by physical address: for a guest observed by its host, or with more memory than its kernel knows of.
//!
//! The observer is outside this program, so there is never a reference to that memory: bytes are copied in and out.

use std::fs::{self, OpenOptions};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// A mapped range, used in this machine by its owner only.
#[derive(Debug)]
pub struct PhysicalMemory {
    at: *mut u8,
    length: usize,
    _claim: Claim,
}

// SAFETY: plain memory, owned like a box of bytes.
unsafe impl Send for PhysicalMemory {}

impl PhysicalMemory {
    /// Maps `length` bytes from `address`, both multiples of the page size.
    ///
    /// # Errors
    /// Without the permission, if the kernel uses something in that range, or if part of it is already mapped.
    pub fn map(address: u64, length: usize) -> io::Result<Self> {
        let claim = Claim::of_unknown(address, length)?;
        let memory = OpenOptions::new().read(true).write(true).open("/dev/mem")?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice. The kernel does not use the range and gave it to no
        // program, and the claim prevents a second mapping.
        let at = unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, &memory, address) }?;
        let mapped = PhysicalMemory { at: at.cast(), length, _claim: claim };
        keep_from_children(mapped.at, length)?;
        Ok(mapped)
    }

    /// Copies `bytes` to offset `at`.
    ///
    /// # Errors
    /// If they exceed the range.
    pub fn write_all_at(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
        let place = self.place(at, bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        // SAFETY: this many bytes are mapped. No slice overlaps them, because this is their only mapping and it lends none.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Fills `bytes` from offset `at`.
    ///
    /// # Errors
    /// If they exceed the range.
    pub fn read_exact_at(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
        let place = self.place(at, bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        // SAFETY: as above; and the observer outside only reads.
        unsafe { place.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies `length` bytes from another range, at the same offset `at`.
    ///
    /// # Errors
    /// If they exceed either range.
    pub fn copy_from(&mut self, other: &PhysicalMemory, at: usize, length: usize) -> io::Result<()> {
        let (from, to) = (other.place(at, length), self.place(at, length));
        let (from, to) = from.zip(to).ok_or(io::ErrorKind::StorageFull)?;
        // SAFETY: this many bytes are mapped on both sides, which do not overlap: a range has one mapping.
        unsafe { to.copy_from_nonoverlapping(from, length) };
        Ok(())
    }

    /// Writes the first eight bytes with release ordering: an observer of the number sees all earlier writes.
    pub fn publish(&mut self, number: u64) {
        assert!(self.length >= size_of::<AtomicU64>());
        // SAFETY: the mapping is page-aligned and has at least eight bytes.
        unsafe { AtomicU64::from_ptr(self.at.cast()) }.store(number, Ordering::Release);
    }

    fn place(&self, at: usize, length: usize) -> Option<*mut u8> {
        let is_inside = at.checked_add(length)? <= self.length;
        // SAFETY: the result is within the mapping or one past its end.
        is_inside.then(|| unsafe { self.at.add(at) })
    }
}

impl Drop for PhysicalMemory {
    fn drop(&mut self) {
        // SAFETY: our mapping, and no reference into it outlives self.
        let _ = unsafe { munmap(self.at.cast(), self.length) };
    }
}

/// Excludes a mapping from later forks, which would copy its page tables, eight bytes per page, although no child uses it.
pub(crate) fn keep_from_children(at: *mut u8, length: usize) -> io::Result<()> {
    // SAFETY: the mapping belongs to the caller, and its contents in this process do not change.
    Ok(unsafe { madvise(at.cast(), length, Advice::LinuxDontFork) }?)
}

/// The ranges mapped by this process.
static CLAIMED: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());

/// The exclusive right to map a range.
#[derive(Debug)]
pub(crate) struct Claim(Range<u64>);

impl Claim {
    /// Claims a range that the kernel does not list.
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

/// The line of `/proc/iomem` that overlaps the range: `100000000-63fffffff : System RAM`, end included.
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
        // Far from other tests' claims.
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
