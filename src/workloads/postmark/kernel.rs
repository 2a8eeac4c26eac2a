//! The system calls of each operation, for drop-in and trial.

use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::fs::{self, Mode, OFlags, SeekFrom};
use rustix::io::{Errno, Result};

use super::rules::Rules;
use super::stream::Requests;

/// The largest stream buffer.
const LARGEST_BUFFER: usize = 8192;

/// Buffers and settings that all operations use.
pub struct Kernel {
    pub source: Vec<u8>,
    /// The read buffer, as long as the longest request.
    space: Vec<u8>,
    buffering: bool,
    pub requests: Requests,
}

impl Kernel {
    pub fn new(rules: &Rules, source: Vec<u8>) -> Self {
        let longest = rules.read_block.min(rules.high) as usize;
        Kernel {
            source,
            space: vec![0; longest.max(LARGEST_BUFFER)],
            buffering: rules.buffering,
            requests: Requests::of(rules),
        }
    }

    pub fn create(&self, path: &CStr) -> Result<OwnedFd> {
        if self.buffering {
            open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, 0o666)
        } else {
            open(path, OFlags::RDWR | OFlags::CREATE, 0o644)
        }
    }

    pub fn open_read(&self, path: &CStr) -> Result<OwnedFd> {
        open(path, OFlags::RDONLY, 0)
    }

    pub fn open_append(&self, path: &CStr) -> Result<OwnedFd> {
        if self.buffering {
            let file = open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND, 0o666)?;
            fs::seek(&file, SeekFrom::End(0))?;
            Ok(file)
        } else {
            open(path, OFlags::RDWR | OFlags::APPEND, 0)
        }
    }

    #[inline]
    pub fn write(&self, file: &OwnedFd, part: Range<usize>) -> Result<usize> {
        rustix::io::write(file, &self.source[part])
    }

    #[inline]
    pub fn read(&mut self, file: &OwnedFd, asked: usize) -> Result<usize> {
        rustix::io::read(file, &mut self.space[..asked])
    }
}

fn open(path: &CStr, flags: OFlags, mode: u32) -> Result<OwnedFd> {
    fs::openat(fs::CWD, path, flags, Mode::from_raw_mode(mode))
}

/// Opens the folder that contains this file or folder.
pub fn open_folder_of(path: &CStr) -> Result<OwnedFd> {
    let path = path.to_bytes();
    let folder = path.iter().rposition(|byte| *byte == b'/').map_or(&b"."[..], |slash| &path[..slash]);
    fs::openat(fs::CWD, folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

pub fn make_directory(path: &CStr) -> Result<()> {
    fs::mkdirat(fs::CWD, path, Mode::RWXU)
}

pub fn remove_directory(path: &CStr) -> Result<()> {
    fs::unlinkat(fs::CWD, path, fs::AtFlags::REMOVEDIR)
}

pub fn unlink(path: &CStr) -> Result<()> {
    fs::unlinkat(fs::CWD, path, fs::AtFlags::empty())
}

/// Removes a file or a folder, like C's `remove`, which the original calls.
pub fn remove(path: &CStr) -> Result<()> {
    unlink(path).or_else(|errno| if errno == Errno::ISDIR { remove_directory(path) } else { Err(errno) })
}
