//! The phases of the small files: create, stat and read, delete; in directory order and in random order.
//!
//! | phase | of each file |
//! |---|---|
//! | create | `openat` with O_EXCL, `write` of its pieces, `close`; or `link`, `symlink` |
//! | stat | `stat`; if it has content also `openat`, `read` of its pieces, `close` |
//! | delete | `unlink` |
//!
//! Directory order is the order of `getdents`, called within the directory. With `fsync`, a file is synced before it is closed,
//! and its directory after each creation and deletion. In 1.9x and 2.00 the create and delete phases end with a timed sync.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, linkat, openat, statat, symlinkat, unlinkat};
use rustix::process::chdir;

use super::content::{STAMP, WHOLE_EVERY, stamp, wrong_piece};
use super::cpu::Cpu;
use super::rules::{Flush, Rules, Small};
use super::small::{Order, SmallFiles, folder};
use crate::workloads::OpError;
use crate::workloads::kit::files::{self, differs, failed, wrong};
use crate::workloads::kit::{Counts, Under};

/// Operations with recorded latencies.
const CREATE: usize = 5;
const STAT: usize = 6;
const DELETE: usize = 7;
/// Bytes of the buffer that the C library uses to read a directory.
const ENTRIES: usize = 32 << 10;
const NEW: OFlags = OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);

/// The small files of one order, in the run's folder. From the end of `create` to the end of `delete` the current folder is
/// the folder of these files.
pub struct Folders<'a> {
    pub rules: &'a Rules,
    pub name: &'a str,
    pub order: Order,
    pub files: &'a SmallFiles,
    pub buffer: &'a mut [u8],
    /// The folder or its subfolders, kept open if they are to be synced.
    pub synced: &'a mut Vec<OwnedFd>,
}

fn of(path: &CStr) -> PathBuf {
    path.to_string_lossy().into_owned().into()
}

fn enter(path: &str) -> Result<(), OpError> {
    chdir(path).map_err(|e| failed("go into", path, e))
}

/// Operations on a file are inlined in the loop, as in [`super::data::Opened`].
impl Folders<'_> {
    fn subfolders(&self) -> impl Iterator<Item = String> + use<> {
        let count = if self.rules.directories > 1 { self.rules.directories } else { 0 };
        (0..count).map(folder)
    }

    /// The first `count` files.
    pub fn create(&mut self, count: u32, under: &mut Under<'_>) -> Result<Counts, OpError> {
        self.furnish()?;
        self.buffer.fill(0);
        under.begin();
        let cpu = Cpu::begin();
        let mut bytes = 0;
        for file in 0..count {
            under.time(CREATE, || self.make(file))?;
            bytes += u64::from(self.files.size(file));
        }
        self.flush()?;
        let fsyncs = if self.rules.fsync { 2 * u64::from(count) } else { 0 };
        let counts = [("files", count.into()), ("bytes_written", bytes), ("fsyncs", fsyncs)];
        Ok(counts.into_iter().chain([("cpu_ns", cpu.used_ns())]).collect())
    }

    fn furnish(&mut self) -> Result<(), OpError> {
        files::mkdir(self.name)?;
        enter(self.name)?;
        self.synced.clear();
        let mut sync = |path: &str| {
            let opened = openat(CWD, path, READ, Mode::empty());
            self.synced.push(opened.map_err(|e| failed("open the directory", path, e))?);
            Ok(())
        };
        for path in (0..self.rules.directories).filter(|_| self.rules.directories > 1).map(folder) {
            files::mkdir(&path)?;
            if self.rules.fsync {
                sync(&path)?;
            }
        }
        if self.rules.fsync && self.rules.directories == 1 { sync(".") } else { Ok(()) }
    }

    #[inline(always)]
    fn make(&mut self, file: u32) -> Result<(), OpError> {
        let path = self.files.path(file);
        let first = self.files.path(0);
        match self.rules.small {
            Small::HardLinks if file > 0 => {
                linkat(CWD, first, CWD, path, AtFlags::empty()).map_err(|e| failed("link", of(path), e))?
            }
            Small::Symlinks if file > 0 => {
                symlinkat(first, CWD, path).map_err(|e| failed("symlink", of(path), e))?
            }
            _ => return self.make_file(file, path),
        }
        self.sync_folder_of(file)
    }

    #[inline(always)]
    fn make_file(&mut self, file: u32, path: &CStr) -> Result<(), OpError> {
        let made = openat(CWD, path, NEW, Mode::from_raw_mode(0o600));
        let made = made.map_err(|e| failed("create", of(path), e))?;
        let (size, piece) = (self.files.size(file) as usize, self.rules.piece as usize);
        for (number, at) in (0..size).step_by(piece).enumerate() {
            let bytes = &mut self.buffer[..piece.min(size - at)];
            let stamped = bytes.len().min(STAMP);
            bytes[..stamped].copy_from_slice(&stamp(file, number as u32)[..stamped]);
            match rustix::io::write(&made, &*bytes) {
                Ok(written) if written == bytes.len() => {}
                Ok(written) => {
                    let short = format!("only {written} of {} bytes were written", bytes.len());
                    return Err(failed("write", of(path), io::Error::other(short)));
                }
                Err(e) => return Err(failed("write", of(path), e)),
            }
        }
        if self.rules.fsync {
            rustix::fs::fsync(&made).map_err(|e| failed("fsync", of(path), e))?;
            self.sync_folder_of(file)?;
        }
        // Some filesystems report only at close that the data did not fit.
        fsderby_sys::file::close(made).map_err(|e| failed("close", of(path), e))
    }

    fn sync_folder_of(&self, file: u32) -> Result<(), OpError> {
        let Some(folder) = self.synced.get((file / self.rules.files_of_a_directory()) as usize) else {
            return Ok(());
        };
        rustix::fs::fsync(folder).map_err(|e| failed("fsync of the directory", of(self.files.path(file)), e))
    }

    fn flush(&self) -> Result<(), OpError> {
        match self.rules.flush {
            _ if !self.rules.syncs_files() => Ok(()),
            Flush::Own => files::sync_all(),
            Flush::All => {
                rustix::fs::sync();
                Ok(())
            }
        }
    }

    pub fn stat(&mut self, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let mut entries = Vec::with_capacity(ENTRIES);
        under.begin();
        let cpu = Cpu::begin();
        let (mut count, mut bytes) = (0, 0);
        match self.order {
            Order::Sequential => {
                let walk = |this: &mut Self, under: &mut Under<'_>, name: &CStr| {
                    let file = this.named(name)?;
                    bytes += under.time(STAT, || this.look(file, name))?;
                    count += 1;
                    Ok(())
                };
                self.in_each_folder(&mut entries, under, walk, |_| Ok(()))?;
            }
            Order::Random => {
                for file in &self.files.to_read {
                    bytes += under.time(STAT, || self.look(*file, self.files.path(*file)))?;
                    count += 1;
                }
            }
        }
        self.all_were_there(count)?;
        Ok(vec![("files", count), ("bytes_read", bytes), ("cpu_ns", cpu.used_ns())])
    }

    fn named(&self, name: &CStr) -> Result<u32, OpError> {
        let unknown = || differs("read the directory of", of(name), "no file of that name was created");
        self.files.named(name).ok_or_else(unknown)
    }

    fn all_were_there(&self, count: u64) -> Result<(), OpError> {
        let made = u64::from(self.files.count());
        if count == made {
            return Ok(());
        }
        let text = format!("found {count} files, but {made} were created");
        Err(differs("read the directory", self.name, text))
    }

    /// Checks a file's size and content; returns the number of bytes read.
    #[inline(always)]
    fn look(&mut self, file: u32, path: &CStr) -> Result<u64, OpError> {
        let about = statat(CWD, path, AtFlags::empty()).map_err(|e| failed("stat", of(path), e))?;
        let size = self.files.size(file) as usize;
        if about.st_size as u64 != size as u64 {
            let text = format!("the file has {} bytes, but {size} bytes were written", about.st_size);
            return Err(differs("stat", of(path), text));
        }
        if size == 0 {
            return Ok(0);
        }
        let opened = openat(CWD, path, READ, Mode::empty()).map_err(|e| failed("open", of(path), e))?;
        let (piece, whole) = (self.rules.piece as usize, u64::from(file).is_multiple_of(WHOLE_EVERY));
        for (number, at) in (0..size).step_by(piece).enumerate() {
            let asked = &mut self.buffer[..piece.min(size - at)];
            let came = rustix::io::read(&opened, &mut *asked).map_err(|e| failed("read", of(path), e))?;
            if came != asked.len() {
                return Err(wrong(
                    of(path),
                    format!("read {came} bytes at {at}, but {asked} bytes were written", asked = asked.len()),
                ));
            }
            if let Some(within) = wrong_piece(file, number as u32, asked, whole) {
                return Err(wrong(
                    of(path),
                    format!(
                        "at byte {offset}, the content differs from what was written",
                        offset = at + within
                    ),
                ));
            }
        }
        fsderby_sys::file::close(opened).map_err(|e| failed("close", of(path), e))?;
        Ok(size as u64)
    }

    /// Deletes the files and the folder.
    pub fn delete(&mut self, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let mut entries = Vec::with_capacity(ENTRIES);
        under.begin();
        let cpu = Cpu::begin();
        let mut count = 0;
        match self.order {
            Order::Sequential => {
                let walk = |this: &mut Self, under: &mut Under<'_>, name: &CStr| {
                    let file = this.named(name)?;
                    under.time(DELETE, || this.unlink(file, name))?;
                    count += 1;
                    Ok(())
                };
                self.in_each_folder(&mut entries, under, walk, files::rmdir)?;
            }
            Order::Random => {
                for file in &self.files.to_delete {
                    under.time(DELETE, || self.unlink(*file, self.files.path(*file)))?;
                    count += 1;
                }
                self.subfolders().try_for_each(|folder| files::rmdir(&folder))?;
            }
        }
        self.all_were_there(count)?;
        self.synced.clear();
        enter("..")?;
        files::rmdir(self.name)?;
        self.flush()?;
        let fsyncs = if self.rules.fsync { count } else { 0 };
        Ok(vec![("files", count), ("fsyncs", fsyncs), ("cpu_ns", cpu.used_ns())])
    }

    #[inline(always)]
    fn unlink(&self, file: u32, path: &CStr) -> Result<(), OpError> {
        unlinkat(CWD, path, AtFlags::empty()).map_err(|e| failed("unlink", of(path), e))?;
        self.sync_folder_of(file)
    }

    /// Enters each folder and visits its files in the filesystem's order.
    fn in_each_folder(
        &mut self,
        entries: &mut Vec<u8>,
        under: &mut Under<'_>,
        mut each: impl FnMut(&mut Self, &mut Under<'_>, &CStr) -> Result<(), OpError>,
        left: impl Fn(&str) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        if self.rules.directories == 1 {
            return self.in_this_folder(entries, under, &mut each);
        }
        for folder in self.subfolders() {
            enter(&folder)?;
            self.in_this_folder(entries, under, &mut each)?;
            enter("..")?;
            left(&folder)?;
        }
        Ok(())
    }

    fn in_this_folder(
        &mut self,
        entries: &mut Vec<u8>,
        under: &mut Under<'_>,
        each: &mut impl FnMut(&mut Self, &mut Under<'_>, &CStr) -> Result<(), OpError>,
    ) -> Result<(), OpError> {
        let flags = READ | OFlags::NONBLOCK | OFlags::DIRECTORY;
        let opened =
            openat(CWD, c".", flags, Mode::empty()).map_err(|e| failed("open the directory", ".", e))?;
        let mut folder = RawDir::new(&opened, entries.spare_capacity_mut());
        while let Some(entry) = folder.next() {
            let entry = entry.map_err(|e| failed("read the directory", ".", e))?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                each(self, under, entry.file_name())?;
            }
        }
        Ok(())
    }
}
