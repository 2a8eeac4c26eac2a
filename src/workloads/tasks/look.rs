//! Walks a copy of the tree, like `ls -lR` and `find -name`.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, statat};

use super::task::Counted;
use crate::workloads::OpError;
use crate::workloads::kit::files;
use crate::workloads::kit::visit::{Entry, Visitor};

/// The searched pattern: a tenth of all names end with it.
pub const PATTERN: u8 = b'7';
/// The buffer of a C stream.
const BUFFER: usize = 4096;

/// A listing with one line per name: mode, links, owner, size, time and name.
pub struct Listing {
    file: OwnedFd,
    path: &'static str,
    buffer: Vec<u8>,
    sum: crc32fast::Hasher,
    pub counted: Counted,
}

impl Listing {
    pub fn new(path: &'static str) -> Result<Self, OpError> {
        let (buffer, sum) = (Vec::with_capacity(2 * BUFFER), crc32fast::Hasher::new());
        Ok(Listing { file: files::create(path)?, path, buffer, sum, counted: Counted::default() })
    }

    /// Flushes and closes the listing; returns its length and checksum.
    pub fn close(mut self) -> Result<(u64, u32), OpError> {
        self.flush()?;
        files::close(self.file, self.path)?;
        Ok((self.counted.bytes_written, self.sum.finalize()))
    }

    fn line(&mut self, entry: &Entry<'_>) -> Result<(), OpError> {
        use std::io::Write;
        let about = statat(entry.folder, entry.name, AtFlags::SYMLINK_NOFOLLOW);
        let about = about.map_err(|e| entry.failed("stat", e))?;
        let (mode, links, owner) = (about.st_mode, about.st_nlink, about.st_uid);
        let (size, modified, path) = (about.st_size, about.st_mtime, entry.path.display());
        let written = writeln!(self.buffer, "{mode:o} {links} {owner} {size} {modified} {path}");
        debug_assert!(written.is_ok(), "writing to memory cannot fail");
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), OpError> {
        files::write_all(&self.file, self.path, &self.buffer)?;
        self.counted.bytes_written += self.buffer.len() as u64;
        self.sum.update(&self.buffer);
        self.buffer.clear();
        Ok(())
    }
}

impl Visitor for Listing {
    fn enter(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        self.counted.folders += 1;
        self.line(folder)
    }

    fn file(&mut self, file: &Entry<'_>) -> Result<(), OpError> {
        self.counted.files += 1;
        self.line(file)
    }
}

/// Counts the names that match.
#[derive(Default)]
pub struct Finding {
    pub found: u64,
    pub counted: Counted,
}

impl Finding {
    fn look(&mut self, entry: &Entry<'_>) {
        self.found += u64::from(entry.name.to_bytes().last() == Some(&PATTERN));
    }
}

impl Visitor for Finding {
    fn enter(&mut self, folder: &Entry<'_>) -> Result<(), OpError> {
        self.counted.folders += 1;
        self.look(folder);
        Ok(())
    }

    fn file(&mut self, file: &Entry<'_>) -> Result<(), OpError> {
        self.counted.files += 1;
        self.look(file);
        Ok(())
    }
}

/// Checks that the number of entries found equals the number that exists.
pub fn same(operation: &'static str, what: &str, found: u64, made: u64) -> Result<(), OpError> {
    if found == made {
        return Ok(());
    }
    let text = format!("found {found} {what}, but {made} were created");
    Err(files::differs(operation, ".", text))
}
