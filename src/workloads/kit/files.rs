//! Operations on files below the current folder. One that fails says which it was, on what, and why.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, Stat};

use crate::schema::units::KIB;
use crate::workloads::OpError;

/// What one call writes or reads at most.
pub const CHUNK: usize = 128 * KIB as usize;

const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);
const FOLDER: OFlags = READ.union(OFlags::DIRECTORY);

pub fn failed(operation: &'static str, path: impl AsRef<Path>, error: impl Into<io::Error>) -> OpError {
    OpError { operation, path: path.as_ref().to_owned(), error: error.into() }
}

/// What came is not what was written.
pub fn wrong(path: impl AsRef<Path>, text: impl Into<String>) -> OpError {
    failed("read", path, io::Error::other(text.into()))
}

/// A file that was not there.
pub fn create(path: &str) -> Result<OwnedFd, OpError> {
    let opened = rustix::fs::openat(CWD, path, NEW, Mode::from_raw_mode(0o644));
    opened.map_err(|e| failed("create", path, e))
}

pub fn open(path: &str) -> Result<OwnedFd, OpError> {
    open_with(path, READ)
}

/// A file that is there, with these flags.
pub fn open_with(path: &str, flags: OFlags) -> Result<OwnedFd, OpError> {
    rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty()).map_err(|e| failed("open", path, e))
}

/// A folder in this one, to look through it or to reach what is in it.
pub fn open_folder(within: impl AsFd, path: &str) -> Result<OwnedFd, OpError> {
    let opened = rustix::fs::openat(within, path, FOLDER, Mode::empty());
    opened.map_err(|e| failed("open the directory", path, e))
}

/// A file that was not there, filled, and closed; with fsync its content is on the disk then, but not its name: see [`sync_name`].
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

/// A folder that was not there; with fsync its name is on the disk then.
pub fn make_folder(path: &str, fsync_it: bool) -> Result<(), OpError> {
    mkdir(path)?;
    if fsync_it { sync_name(path) } else { Ok(()) }
}

/// All of it, in as many calls as the kernel wants.
pub fn write_all(file: impl AsFd, path: &str, bytes: &[u8]) -> Result<(), OpError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest).map_err(|e| failed("write", path, e))?;
        rest = &rest[written..];
    }
    Ok(())
}

/// Space for so many bytes, of which none is written; the file is as long then.
pub fn allocate(file: impl AsFd, path: &str, bytes: u64) -> Result<(), OpError> {
    let allocated = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes);
    allocated.map_err(|e| failed("fallocate", path, e))
}

/// A copy under a name that was not there, as cp makes one: read and written in pieces of the buffer's length, of which each is
/// looked at with its place in the file. Says how long it is.
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

/// What one call brings; 0 at the end.
pub fn read(file: impl AsFd, path: impl AsRef<Path>, buffer: &mut [u8]) -> Result<usize, OpError> {
    rustix::io::read(&file, buffer).map_err(|e| failed("read", path, e))
}

/// Some filesystems say only here that the data did not fit.
pub fn close(file: OwnedFd, path: &str) -> Result<(), OpError> {
    fsderby_sys::file::close(file).map_err(|e| failed("close", path, e))
}

/// The content of a file is on the disk from here on, but not its name: see [`sync_name`].
pub fn fsync(file: impl AsFd, path: &str) -> Result<(), OpError> {
    rustix::fs::fsync(&file).map_err(|e| failed("fsync", path, e))
}

/// The names in a folder are on the disk from here on.
pub fn sync_folder(path: &str) -> Result<(), OpError> {
    let synced = rustix::fs::fsync(open_folder(CWD, path)?);
    synced.map_err(|e| failed("fsync of the directory", path, e))
}

/// The name of this file or folder is on the disk from here on.
pub fn sync_name(path: &str) -> Result<(), OpError> {
    sync_folder(path.rsplit_once('/').map_or(".", |(above, _)| above))
}

/// Everything of the filesystem in which the current folder lies is on the disk from here on.
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

/// What stood under the new name is replaced.
pub fn rename(from: &str, to: &str) -> Result<(), OpError> {
    rustix::fs::renameat(CWD, from, CWD, to).map_err(|e| failed("rename", from, e))
}
