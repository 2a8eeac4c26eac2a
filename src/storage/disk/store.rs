//! The sectors of a disk, in memory that the guest's kernel does not use.
//!
//! A large volume has more sectors than a guest has addresses, so its image keeps only chunks that ever held non-zero data:
//!
//! ```text
//! page 0   number of chunks kept
//!          for each chunk of the volume: its position among the chunks kept, from 1; 0 if it is not kept
//!          the chunks kept, in the order of their first write
//! ```
//! The image contains everything: a copy of it is a copy of the disk.

use std::io;

use fsderby_sys::physical::PhysicalMemory;
use fsderby_sys::physical_pieces::{MAPPED, PhysicalPieces};

const PAGE: usize = 4096;
/// Size of a chunk, which is kept as a whole. Its pages take no memory until they are written.
const CHUNK: usize = 64 << 10;
/// Bytes of a chunk's entry in the table.
const ENTRY: usize = 4;
/// Size of the largest volume that is stored as a whole; larger volumes are stored in chunks.
const WHOLE: u64 = 64 << 30;
/// Most bytes of non-zero data that a volume stored in chunks can hold.
const POOL: u64 = 128 << 30;

/// Bytes addressed by their position.
pub trait Image {
    fn read(&self, bytes: &mut [u8], at: usize) -> io::Result<()>;
    fn write(&mut self, bytes: &[u8], at: usize) -> io::Result<()>;
    /// Copies `length` bytes of another image to the same position.
    fn copy(&mut self, from: &Self, at: usize, length: usize) -> io::Result<()>;
}

/// The sectors of one disk.
pub enum Store {
    Whole(PhysicalMemory),
    Sparse(Sparse<PhysicalPieces>),
}

/// Length of the image for a volume of this size.
pub fn length(volume: u64) -> u64 {
    if volume <= WHOLE { volume } else { begin_of_chunks(volume) as u64 + room(volume) }
}

/// Bytes of such a volume that can hold non-zero data.
pub fn room(volume: u64) -> u64 {
    if volume <= WHOLE { volume } else { POOL.min(volume) }
}

/// Bytes of that image that are mapped at once.
pub fn mapped(volume: u64) -> u64 {
    if volume <= WHOLE { volume } else { MAPPED as u64 }
}

fn begin_of_chunks(volume: u64) -> usize {
    let entries = volume.div_ceil(CHUNK as u64) as usize * ENTRY;
    // Guest memory has a size in whole MiB.
    (PAGE + entries).next_multiple_of(1 << 20)
}

impl Store {
    /// Maps a volume of this size in an image at this address.
    ///
    /// # Errors
    /// If it cannot be mapped.
    pub fn map(address: u64, length: usize, volume: u64) -> io::Result<Self> {
        Ok(if volume <= WHOLE {
            Store::Whole(PhysicalMemory::map(address, length)?)
        } else {
            Store::Sparse(Sparse::new(PhysicalPieces::new(address, length)?, length, volume))
        })
    }
}

impl Image for Store {
    fn read(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
        match self {
            Store::Whole(memory) => memory.read_exact_at(bytes, at),
            Store::Sparse(chunks) => chunks.read(bytes, at),
        }
    }

    fn write(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
        match self {
            Store::Whole(memory) => memory.write_all_at(bytes, at),
            Store::Sparse(chunks) => chunks.write(bytes, at),
        }
    }

    fn copy(&mut self, from: &Self, at: usize, length: usize) -> io::Result<()> {
        match (self, from) {
            (Store::Whole(to), Store::Whole(from)) => to.copy_from(from, at, length),
            (to, from) => copy_by_chunks(to, from, at, length),
        }
    }
}

impl Image for PhysicalPieces {
    fn read(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
        self.read_exact_at(bytes, at)
    }

    fn write(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn copy(&mut self, from: &Self, at: usize, length: usize) -> io::Result<()> {
        copy_by_chunks(self, from, at, length)
    }
}

fn copy_by_chunks<I: Image>(to: &mut I, from: &I, at: usize, length: usize) -> io::Result<()> {
    let mut piece = vec![0; length.min(CHUNK)];
    for begin in (at..at + length).step_by(CHUNK) {
        let piece = &mut piece[..(at + length - begin).min(CHUNK)];
        from.read(piece, begin)?;
        to.write(piece, begin)?;
    }
    Ok(())
}

/// An image that stores only the chunks that were written.
pub struct Sparse<I> {
    image: I,
    begin_of_chunks: usize,
    /// Number of chunks that fit into the image.
    room: u32,
    volume: usize,
}

impl<I: Image> Sparse<I> {
    /// Opens an image of this length, which is empty or has earlier content.
    fn new(image: I, length: usize, volume: u64) -> Self {
        let begin = begin_of_chunks(volume);
        let room = (length.saturating_sub(begin) / CHUNK) as u32;
        Sparse { image, begin_of_chunks: begin, room, volume: volume as usize }
    }

    /// Offset of that chunk in the image.
    fn find(&self, chunk: usize) -> io::Result<Option<usize>> {
        let number = self.number(PAGE + chunk * ENTRY)?;
        Ok(number.checked_sub(1).map(|place| self.begin_of_chunks + place as usize * CHUNK))
    }

    fn add(&mut self, chunk: usize) -> io::Result<usize> {
        let kept = self.number(0)?;
        if kept >= self.room {
            let what = format!(
                "{} GiB are written, the most that a modelled disk can hold; a state 'allocated 80%' writes \
                    nothing",
                POOL >> 30
            );
            return Err(io::Error::new(io::ErrorKind::StorageFull, what));
        }
        let number = kept + 1;
        self.image.write(&number.to_le_bytes(), 0)?;
        self.image.write(&number.to_le_bytes(), PAGE + chunk * ENTRY)?;
        Ok(self.begin_of_chunks + kept as usize * CHUNK)
    }

    fn number(&self, at: usize) -> io::Result<u32> {
        let mut number = [0; ENTRY];
        self.image.read(&mut number, at)?;
        Ok(u32::from_le_bytes(number))
    }

    fn check(&self, at: usize, length: usize) -> io::Result<()> {
        let is_inside = at.checked_add(length).is_some_and(|end| end <= self.volume);
        if is_inside { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

impl<I: Image> Image for Sparse<I> {
    fn read(&self, bytes: &mut [u8], at: usize) -> io::Result<()> {
        self.check(at, bytes.len())?;
        let mut done = 0;
        while done < bytes.len() {
            let (chunk, inside) = ((at + done) / CHUNK, (at + done) % CHUNK);
            let here = (CHUNK - inside).min(bytes.len() - done);
            let part = &mut bytes[done..done + here];
            match self.find(chunk)? {
                Some(place) => self.image.read(part, place + inside)?,
                None => part.fill(0),
            }
            done += here;
        }
        Ok(())
    }

    /// Writes bytes. A chunk is not added for zeros alone, because mkfs writes gigabytes of zeros.
    fn write(&mut self, bytes: &[u8], at: usize) -> io::Result<()> {
        static ZEROS: [u8; CHUNK] = [0; CHUNK];
        self.check(at, bytes.len())?;
        let mut done = 0;
        while done < bytes.len() {
            let (chunk, inside) = ((at + done) / CHUNK, (at + done) % CHUNK);
            let here = (CHUNK - inside).min(bytes.len() - done);
            let part = &bytes[done..done + here];
            let place = match self.find(chunk)? {
                None if part == &ZEROS[..here] => None,
                None => Some(self.add(chunk)?),
                found => found,
            };
            if let Some(place) = place {
                self.image.write(part, place + inside)?;
            }
            done += here;
        }
        Ok(())
    }

    fn copy(&mut self, from: &Self, at: usize, length: usize) -> io::Result<()> {
        copy_by_chunks(self, from, at, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIB: u64 = 1 << 40;

    /// A volume of which three chunks can be kept.
    fn small() -> Sparse<Vec<u8>> {
        let volume = 1 << 30;
        let length = begin_of_chunks(volume) + 3 * CHUNK;
        Sparse::new(vec![0; length], length, volume)
    }

    fn read(sparse: &Sparse<Vec<u8>>, at: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![7; length];
        sparse.read(&mut bytes, at).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read_and_all_else_is_zeros() {
        let mut sparse = small();
        let last = (1 << 30) - 5;
        sparse.write(b"across", CHUNK - 3).unwrap();
        sparse.write(b"ended", last).unwrap();
        assert_eq!(read(&sparse, CHUNK - 4, 8), b"\0across\0");
        assert_eq!(read(&sparse, last - 1, 6), b"\0ended");
        assert_eq!(read(&sparse, 5 * CHUNK - 1, 2), [0, 0]);
        assert!(sparse.write(b"beyond", last).is_err() && sparse.read(&mut [0; 6], last).is_err());
    }

    #[test]
    fn zeros_are_kept_only_where_something_else_was() {
        let mut sparse = small();
        for chunk in 0..1000 {
            sparse.write(&[0; 4096], chunk * CHUNK).unwrap();
        }
        assert_eq!(sparse.number(0).unwrap(), 0);
        sparse.write(b"word", 9 * CHUNK).unwrap();
        sparse.write(&[0; 2], 9 * CHUNK).unwrap();
        assert_eq!((read(&sparse, 9 * CHUNK, 4), sparse.number(0).unwrap()), (b"\0\0rd".to_vec(), 1));
    }

    #[test]
    fn a_full_image_takes_no_chunk_more_and_keeps_what_it_has() {
        let mut sparse = small();
        for chunk in [4, 2, 9] {
            sparse.write(&[chunk as u8; 10], chunk * CHUNK).unwrap();
        }
        let error = sparse.write(b"x", 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        sparse.write(b"y", 2 * CHUNK).unwrap();
        assert_eq!((read(&sparse, 2 * CHUNK, 2), read(&sparse, 9 * CHUNK, 2)), (vec![b'y', 2], vec![9, 9]));
    }

    #[test]
    fn a_copy_of_the_image_is_a_copy_of_the_disk() {
        let (mut sparse, mut other) = (small(), small());
        sparse.write(b"all of it", 3 * CHUNK - 4).unwrap();
        let again = Sparse { image: sparse.image.clone(), ..small() };
        assert_eq!(read(&again, 3 * CHUNK - 4, 9), b"all of it");
        other.copy(&sparse, 2 * CHUNK, 2 * CHUNK).unwrap();
        assert_eq!(read(&other, 3 * CHUNK - 4, 9), b"all of it");
        assert_eq!(other.number(0).unwrap(), 2);
    }

    #[test]
    fn a_small_volume_is_kept_as_a_whole_and_the_largest_disk_has_addresses() {
        assert_eq!((length(WHOLE), mapped(WHOLE)), (WHOLE, WHOLE));
        assert!(length(16 * TIB) < POOL + (2 << 30) && mapped(16 * TIB) <= 1 << 30);
        assert!(length(TIB).is_multiple_of(1 << 20));
    }
}
