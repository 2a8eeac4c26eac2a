//! Unpacks untrusted data within bounds: a few kilobytes can claim to be a terabyte.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context, ensure};
use rustix::fs::{Mode, OFlags};

use crate::schema::units::{Bytes, GIB, MIB};

/// Limit of a package file; kernel packages have 30 to 200 MiB.
pub const PACKAGE: Bytes = Bytes(GIB);
/// Limit of all unpacked files of a package; a large kernel with unpacked modules has 600 MiB.
pub const ALL: Bytes = Bytes(GIB);
/// Limit of a boot image; the ELF file of a kernel has 60 MiB.
pub const IMAGE: Bytes = Bytes(256 * MIB);
/// Limit of one module; the largest module that a filesystem needs has 5 MiB.
pub const MODULE: Bytes = Bytes(64 * MIB);
/// Limit of the memory for unpacking one stream; kernels are packed with a dictionary of at most 128 MiB.
const MEMORY: Bytes = Bytes(160 * MIB);

/// A reader that fails if the source has more bytes than the bound.
pub struct Bounded<R> {
    source: R,
    bound: Bytes,
    left: u64,
}

impl<R: Read> Bounded<R> {
    pub fn new(source: R, bound: Bytes) -> Self {
        Bounded { source, bound, left: bound.0 }
    }

    /// Reads the whole source.
    ///
    /// # Errors
    /// If the source is damaged, truncated, or larger than the bound.
    pub fn all(mut self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes).context("the file is damaged, truncated or too large")?;
        Ok(bytes)
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        let more =
            || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {}", self.bound));
        self.left = self.left.checked_sub(length as u64).ok_or_else(more)?;
        Ok(length)
    }
}

/// The content of an .xz file. If `several` is set, the file may consist of several streams.
pub fn xz<R: Read>(packed: R, several: bool) -> lzma_rust2::XzReader<R> {
    let kib = u32::try_from(MEMORY.0 / 1024).unwrap_or(u32::MAX);
    lzma_rust2::XzReader::new_mem_limit(packed, several, kib)
}

/// The content of a .zst file.
///
/// # Errors
/// If the data does not begin like a .zst file, or unpacking would take too much memory.
pub fn zstd<R: Read>(packed: R) -> anyhow::Result<impl Read> {
    ruzstd::decoding::StreamingDecoder::new_with_max_window_size(packed, MEMORY.0).context("it is damaged")
}

/// Opens a regular file: no device, pipe or folder.
///
/// # Errors
/// If the file is not a regular file, or is larger than the bound.
pub fn open(path: &Path, bound: Bytes) -> anyhow::Result<Bounded<File>> {
    open_as(path, bound, "fsderby kernel fetch FILE.deb, or …/boot/vmlinuz-RELEASE")
}

/// Opens a regular file like [`open`]; for other file types the error advises `instead`.
///
/// # Errors
/// If the file is not a regular file, or is larger than the bound.
pub fn open_as(path: &Path, bound: Bytes, instead: &str) -> anyhow::Result<Bounded<File>> {
    let shown = path.display();
    // With NONBLOCK the call does not wait if the file is a pipe without a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let file = File::from(opened.with_context(|| format!("could not open {shown}"))?);
    let about = file.metadata().with_context(|| format!("could not stat {shown}"))?;
    let kind = about.file_type();
    let what = match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "something else",
    };
    ensure!(kind.is_file(), "{shown} is {what}, not a file\n  try: {instead}");
    ensure!(about.len() <= bound.0, "{shown} has {size}, more than {bound}", size = Bytes(about.len()));
    Ok(Bounded::new(file, bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_at_the_bound_is_read_and_what_goes_on_is_an_error() {
        let read = |length: u64| Bounded::new(io::repeat(7).take(length), Bytes(1000)).all();
        assert_eq!(read(1000).unwrap().len(), 1000);
        assert!(format!("{:#}", read(1001).unwrap_err()).contains("larger than 1000 bytes"));
        assert!(Bounded::new(io::repeat(7), Bytes(1000)).all().is_err(), "what has no end ends");
    }

    #[test]
    fn a_stream_that_claims_a_huge_dictionary_is_refused() {
        // A frame with a window of 2 GiB, and one block of four equal bytes (RFC 8878).
        let window = |exponent: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3, 0x23, 0, 0, 7];
        let unpacked = |exponent| zstd(&window(exponent)[..]).and_then(|s| Bounded::new(s, MODULE).all());
        assert_eq!(unpacked(0).unwrap(), [7; 4]);
        assert!(unpacked(21).is_err());
    }
}
