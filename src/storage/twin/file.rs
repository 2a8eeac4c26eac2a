//! A FUSE filesystem with one file: each request is forwarded with its arrival time.

use std::ffi::OsStr;
use std::io;
use std::sync::mpsc::Sender;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    Request, WriteFlags,
};

use super::pace::{Asked, What};
use crate::host::monotonic_ns;
use crate::storage::disk::layout::SECTOR;

/// Name of the file.
pub const FILE: &str = "disk";
/// Most requests at the same time: more than a loop device sends, so that the kernel delays no request.
const AT_ONCE: u16 = 1024;
/// How long the kernel may cache attributes; they never change.
const FOR_GOOD: Duration = Duration::from_secs(1 << 20);
const ROOT: INodeNo = INodeNo::ROOT;
const INODE: INodeNo = INodeNo(2);

pub struct OneFile {
    bytes: u64,
    /// Bytes of the largest request.
    most: u32,
    asks: Sender<Asked>,
}

impl OneFile {
    pub fn new(bytes: u64, most: u32, asks: Sender<Asked>) -> Self {
        OneFile { bytes, most, asks }
    }

    fn hand_on(&self, what: What) {
        // The pacing thread ends only with the process.
        let _ = self.asks.send(Asked { at_ns: monotonic_ns(), what });
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_file = inode == INODE;
        FileAttr {
            ino: inode,
            size: if is_file { self.bytes } else { 0 },
            blocks: if is_file { self.bytes / SECTOR } else { 0 },
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_file { FileType::RegularFile } else { FileType::Directory },
            perm: if is_file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// Whether the range covers whole sectors of the disk.
    fn is_inside(&self, at: u64, length: u64) -> bool {
        let is_whole = at.is_multiple_of(SECTOR) && length.is_multiple_of(SECTOR) && length > 0;
        is_whole && at.checked_add(length).is_some_and(|end| end <= self.bytes)
    }
}

impl Filesystem for OneFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let lacks = |_| io::Error::from(io::ErrorKind::Unsupported);
        // Without this, the loop device would wait for each request before it sends the next.
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(lacks)?;
        config.set_max_write(self.most).map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        config.set_max_background(AT_ONCE).map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        config.set_congestion_threshold(AT_ONCE).map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == ROOT && name == FILE {
            reply.entry(&FOR_GOOD, &self.attributes(INODE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_GOOD, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if self.is_inside(offset, size.into()) {
            self.hand_on(What::Read { at: offset, length: size, reply });
        } else {
            reply.error(Errno::EIO);
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if self.is_inside(offset, data.len() as u64) {
            self.hand_on(What::Write { at: offset, data: data.to_vec(), reply });
        } else {
            reply.error(Errno::EIO);
        }
    }

    /// Called when a descriptor is closed: no data is held back.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    /// A flush of the loop device arrives here.
    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.hand_on(What::Flush { reply });
    }

    /// A discard of the loop device arrives here. If the loop device has to write zeros, it falls back to writes.
    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        const PUNCH_HOLE: i32 = 2;
        if mode & PUNCH_HOLE == 0 {
            reply.error(Errno::EOPNOTSUPP);
        } else if self.is_inside(offset, length) {
            self.hand_on(What::Discard { at: offset, length, reply });
        } else {
            reply.error(Errno::EIO);
        }
    }
}
