//! A range of physical memory too large to map as a whole, because each mapped page costs the kernel eight bytes. Only the most
//! recently mapped pieces stay mapped.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::physical::{Claim, keep_from_children};

/// Two of the kernel's page tables: 2 × 512 pages of 4 KiB.
const PIECE: usize = 4 << 20;
/// Maximum number of mapped pieces.
const PIECES: usize = 256;
/// Maximum mapped bytes.
pub const MAPPED: usize = PIECES * PIECE;

/// A range of physical memory that only this value uses in this machine.
#[derive(Debug)]
pub struct PhysicalPieces {
    begin: u64,
    length: usize,
    memory: File,
    view: RefCell<View>,
    _claim: Claim,
}

/// A reserved address range, and the pieces mapped into it.
#[derive(Debug)]
struct View {
    at: *mut u8,
    /// Slot of each mapped piece.
    places: BTreeMap<usize, usize>,
    /// Piece in each slot; once all slots are taken, `next` is the oldest.
    pieces: Vec<usize>,
    next: usize,
}

// SAFETY: plain memory, owned like a box of bytes.
unsafe impl Send for PhysicalPieces {}

impl PhysicalPieces {
    /// Takes `length` bytes from `address`, both multiples of the page size.
    ///
    /// # Errors
    /// Without the permission, if the kernel uses something in that range, or if part of it is already mapped.
    pub fn new(address: u64, length: usize) -> io::Result<Self> {
        let claim = Claim::of_unknown(address, length)?;
        let memory = OpenOptions::new().read(true).write(true).open("/dev/mem")?;
        // SAFETY: a new mapping at an address of the kernel's choice, without access.
        let at =
            unsafe { mmap_anonymous(std::ptr::null_mut(), MAPPED, ProtFlags::empty(), MapFlags::PRIVATE) }?;
        let view = View { at: at.cast(), places: BTreeMap::new(), pieces: Vec::new(), next: 0 };
        Ok(PhysicalPieces { begin: address, length, memory, view: RefCell::new(view), _claim: claim })
    }

    /// Copies `bytes` to offset `at`.
    ///
    /// # Errors
    /// If they exceed the range, or a piece cannot be mapped.
    pub fn write_all_at(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
        self.each(at, bytes.len(), |shown, done, length| {
            // SAFETY: `each` passes this many bytes of our own mapping, which no slice overlaps.
            unsafe { shown.copy_from_nonoverlapping(bytes[done..].as_ptr(), length) };
        })
    }

    /// Fills `bytes` from offset `at`.
    ///
    /// # Errors
    /// If they exceed the range, or a piece cannot be mapped.
    pub fn read_exact_at(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
        self.each(at, bytes.len(), |shown, done, length| {
            // SAFETY: as above.
            unsafe { shown.copy_to_nonoverlapping(bytes[done..].as_mut_ptr(), length) };
        })
    }

    /// Calls `show` for each piece of a range with its address, the bytes before it, and its length.
    fn each(&self, at: usize, length: usize, mut show: impl FnMut(*mut u8, usize, usize)) -> io::Result<()> {
        let is_inside = at.checked_add(length).is_some_and(|end| end <= self.length);
        if !is_inside {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < length {
            let (piece, inside) = ((at + done) / PIECE, (at + done) % PIECE);
            let here = (PIECE - inside).min(length - done);
            let begins = self.map(piece)?;
            // SAFETY: the piece is mapped, and `inside` is within it.
            show(unsafe { begins.add(inside) }, done, here);
            done += here;
        }
        Ok(())
    }

    /// Maps a piece and returns its address; replaces the oldest if all slots are taken.
    fn map(&self, piece: usize) -> io::Result<*mut u8> {
        let mut view = self.view.borrow_mut();
        let is_known = view.places.get(&piece).copied();
        let place = is_known.unwrap_or(view.next);
        // SAFETY: slots are numbered up to the reserved range's end.
        let at = unsafe { view.at.add(place * PIECE) };
        if is_known.is_some() {
            return Ok(at);
        }
        let length = PIECE.min(self.length - piece * PIECE);
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED);
        let from = self.begin + (piece * PIECE) as u64;
        // SAFETY: this replaces part of our reserved range, to which no address exists; nothing else uses the mapped memory.
        unsafe { mmap(at.cast(), length, access, flags, &self.memory, from) }?;
        match view.pieces.get(place).copied() {
            Some(oldest) => {
                view.places.remove(&oldest);
                view.pieces[place] = piece;
            }
            None => view.pieces.push(piece),
        }
        view.places.insert(piece, place);
        view.next = (place + 1) % PIECES;
        keep_from_children(at, length)?;
        Ok(at)
    }
}

impl Drop for PhysicalPieces {
    fn drop(&mut self) {
        // SAFETY: our range, and no reference into it outlives self.
        let _ = unsafe { munmap(self.view.get_mut().at.cast(), MAPPED) };
    }
}
