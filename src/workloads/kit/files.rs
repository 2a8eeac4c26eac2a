//! Operations on files below the current folder. An error states the operation, the path and the reason.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, Stat};

use crate::schema::units::KIB;
use crate::workloads::{Cause, OpError};

/// Most bytes per read or write call.
pub const CHUNK: usize = 128 * KIB as usize;

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);
const FOLDER: OFlags = READ.union(OFlags::DIRECTORY);

pub fn failed(operation: &'static str, path: impl AsRef<Path>, error: impl Into<io::Error>) -> OpError {
    OpError { operation, path: path.as_ref().to_owned(), cause: error.into().into() }
}

/// Data that was read differs from data that was written.
pub fn wrong(path: impl AsRef<Path>, text: impl Into<String>) -> OpError {
    differs("read", path, text)
}

/// What an operation found differs from what was written.
pub fn differs(operation: &'static str, path: impl AsRef<Path>, text: impl Into<String>) -> OpError {
    OpError { operation, path: path.as_ref().to_owned(), cause: Cause::Differs(text.into()) }
}

/// Creates a new file.
pub fn create(path: &str) -> Result<OwnedFd, OpError> {
    let opened = rustix::fs::openat(CWD, path, NEW, Mode::from_raw_mode(0o644));
    opened.map_err(|e| failed("create", path, e))
}

pub fn open(path: &str) -> Result<OwnedFd, OpError> {
    open_with(path, READ)
}

/// Opens an existing file with these flags.
pub fn open_with(path: &str, flags: OFlags) -> Result<OwnedFd, OpError> {
    rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty()).map_err(|e| failed("open", path, e))
}

/// Opens a folder, to list it or to reach its entries.
pub fn open_folder(within: impl AsFd, path: &str) -> Result<OwnedFd, OpError> {
    let opened = rustix::fs::openat(within, path, FOLDER, Mode::empty());
    opened.map_err(|e| failed("open the directory", path, e))
}

/// Creates, fills and closes a new file. With fsync its content is durable afterwards, but not its name: see [`sync_name`].
pub fn make<T>(
    path: &str,
    fsync_it: bool,
    fill: impl FnOnce(&OwnedFd) -> Result<T, OpError>,
) -> Result<T, OpError> {
    let file = create(path)?;
    let filled = fill(&file)?;
    if fsync_it {
        fsync(&file, path)?;
    }
    close(file, path).map(|()| filled)
}

/// Creates a new folder; with fsync its name is durable afterwards.
pub fn make_folder(path: &str, fsync_it: bool) -> Result<(), OpError> {
    mkdir(path)?;
    if fsync_it { sync_name(path) } else { Ok(()) }
}

/// Writes everything, in as many calls as needed.
pub fn write_all(file: impl AsFd, path: &str, bytes: &[u8]) -> Result<(), OpError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest).map_err(|e| failed("write", path, e))?;
        rest = &rest[written..];
    }
    Ok(())
}

/// Allocates space without writing; the file then has this length.
pub fn allocate(file: impl AsFd, path: &str, bytes: u64) -> Result<(), OpError> {
    let allocated = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes);
    allocated.map_err(|e| failed("fallocate", path, e))
}

/// Copies to a new file like cp, in pieces of the buffer's length. `look` checks each piece with its offset. Returns the length.
pub fn copy(
    from: impl AsFd,
    to: &str,
    buffer: &mut [u8],
    mut look: impl FnMut(u64, &[u8]) -> Result<(), OpError>,
) -> Result<u64, OpError> {
    let copy = create(to)?;
    let mut at = 0;
    loop {
        let came = read(&from, to, buffer)?;
        if came == 0 {
            close(copy, to)?;
            return Ok(at);
        }
        look(at, &buffer[..came])?;
        write_all(&copy, to, &buffer[..came])?;
        at += came as u64;
    }
}

/// One read call; 0 at the end.
pub fn read(file: impl AsFd, path: impl AsRef<Path>, buffer: &mut [u8]) -> Result<usize, OpError> {
    rustix::io::read(&file, buffer).map_err(|e| failed("read", path, e))
}

/// Closes a file. Some filesystems report only at close that the data did not fit.
pub fn close(file: OwnedFd, path: &str) -> Result<(), OpError> {
    fsderby_sys::file::close(file).map_err(|e| failed("close", path, e))
}

/// Makes the content of a file durable, but not its name: see [`sync_name`].
pub fn fsync(file: impl AsFd, path: &str) -> Result<(), OpError> {
    rustix::fs::fsync(&file).map_err(|e| failed("fsync", path, e))
}

/// Makes the names in a folder durable.
pub fn sync_folder(path: &str) -> Result<(), OpError> {
    let synced = rustix::fs::fsync(open_folder(CWD, path)?);
    synced.map_err(|e| failed("fsync of the directory", path, e))
}

/// Makes the name of this file or folder durable.
pub fn sync_name(path: &str) -> Result<(), OpError> {
    sync_folder(path.rsplit_once('/').map_or(".", |(above, _)| above))
}

/// Syncs the whole filesystem of the current folder.
pub fn sync_all() -> Result<(), OpError> {
    rustix::fs::syncfs(open_folder(CWD, ".")?).map_err(|e| failed("sync", ".", e))
}

pub fn stat(path: &str) -> Result<Stat, OpError> {
    let about = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
    about.map_err(|e| failed("stat", path, e))
}

pub fn mkdir(path: &str) -> Result<(), OpError> {
    rustix::fs::mkdirat(CWD, path, Mode::RWXU).map_err(|e| failed("mkdir", path, e))
}

pub fn rmdir(path: &str) -> Result<(), OpError> {
    rustix::fs::unlinkat(CWD, path, AtFlags::REMOVEDIR).map_err(|e| failed("rmdir", path, e))
}

pub fn unlink(path: &str) -> Result<(), OpError> {
    rustix::fs::unlinkat(CWD, path, AtFlags::empty()).map_err(|e| failed("unlink", path, e))
}

/// Renames a file; an existing file named `to` is replaced.
pub fn rename(from: &str, to: &str) -> Result<(), OpError> {
    rustix::fs::renameat(CWD, from, CWD, to).map_err(|e| failed("rename", from, e))
}
