//! A range of a machine's memory that is too large to be mapped as a whole: each page of a mapping costs the kernel eight bytes,
//! so only the pieces that were used last are mapped.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::physical::{Claim, keep_from_children};

/// What one table of the kernel's finds: 512 pages of 4 KiB, twice.
const PIECE: usize = 4 << 20;
/// How many pieces are mapped at once.
const PIECES: usize = 256;
/// What is mapped at once, in bytes.
pub const MAPPED: usize = PIECES * PIECE;

/// A range that nobody in this machine uses but its owner.
#[derive(Debug)]
pub struct PhysicalPieces {
    begin: u64,
    length: usize,
    memory: File,
    view: RefCell<View>,
    _claim: Claim,
}

/// Addresses of our own, and what they show.
#[derive(Debug)]
struct View {
    at: *mut u8,
    /// The place of each piece that is mapped.
    places: BTreeMap<usize, usize>,
    /// The piece at each place, the oldest at `next` once all are taken.
    pieces: Vec<usize>,
    next: usize,
}

// SAFETY: it is plain memory, owned like a box of bytes.
unsafe impl Send for PhysicalPieces {}

impl PhysicalPieces {
    /// `length` bytes from `address`, both whole pages.
    ///
    /// # Errors
    /// Without the right to, where the kernel knows of something in that range, or where some of it is mapped already.
    pub fn new(address: u64, length: usize) -> io::Result<Self> {
        let claim = Claim::of_unknown(address, length)?;
        let memory = OpenOptions::new().read(true).write(true).open("/dev/mem")?;
        // SAFETY: a new mapping at an address of the kernel's choice, which nobody can look into.
        let at =
            unsafe { mmap_anonymous(std::ptr::null_mut(), MAPPED, ProtFlags::empty(), MapFlags::PRIVATE) }?;
        let view = View { at: at.cast(), places: BTreeMap::new(), pieces: Vec::new(), next: 0 };
        Ok(PhysicalPieces { begin: address, length, memory, view: RefCell::new(view), _claim: claim })
    }

    /// Copies these bytes to that place.
    ///
    /// # Errors
    /// When they do not end inside, or a piece cannot be mapped.
    pub fn write_all_at(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
        self.each(at, bytes.len(), |shown, done, length| {
            // SAFETY: `each` shows so many bytes of our own mapping, of which no slice is a part.
            unsafe { shown.copy_from_nonoverlapping(bytes[done..].as_ptr(), length) };
        })
    }

    /// Fills `bytes` from that place.
    ///
    /// # Errors
    /// When they would not end inside, or a piece cannot be mapped.
    pub fn read_exact_at(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
        self.each(at, bytes.len(), |shown, done, length| {
            // SAFETY: as above.
            unsafe { shown.copy_to_nonoverlapping(bytes[done..].as_mut_ptr(), length) };
        })
    }

    /// Shows piece after piece of a range: where it is, what came before it, and how much it is.
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
            // SAFETY: the piece is mapped, and `inside` is in it.
            show(unsafe { begins.add(inside) }, done, here);
            done += here;
        }
        Ok(())
    }

    /// Where that piece is mapped, in place of the oldest where all places are taken.
    fn map(&self, piece: usize) -> io::Result<*mut u8> {
        let mut view = self.view.borrow_mut();
        let is_known = view.places.get(&piece).copied();
        let place = is_known.unwrap_or(view.next);
        // SAFETY: places are numbered up to the reserved range's end.
        let at = unsafe { view.at.add(place * PIECE) };
        if is_known.is_some() {
            return Ok(at);
        }
        let length = PIECE.min(self.length - piece * PIECE);
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED);
        let from = self.begin + (piece * PIECE) as u64;
        // SAFETY: it replaces a part of our own reserved range, to which nobody holds an address; what it shows nobody else uses.
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
        // SAFETY: it is our range, and no reference into it outlives us.
        let _ = unsafe { munmap(self.view.get_mut().at.cast(), MAPPED) };
    }
}
