//! The timed operations of a trial; the first failure ends the run.

use std::ffi::CStr;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::content::Checksums;
use super::drive::Files;
use super::dry::Totals;
use super::generator::File;
use super::kernel::{self, Kernel};
use super::latencies::Kind;
use super::names::{Namer, path};
use super::stream::Handle;
use crate::workloads::kit::Latencies;
use crate::workloads::{Cause, Clock, OpError};

/// Buffers and settings that the operations use, made before timing starts.
pub struct Tools {
    pub kernel: Kernel,
    pub namer: Namer,
    pub stdio_buffer: usize,
    pub fsync: bool,
    /// Whether the folder of a new file is synced too.
    pub fsync_folder: bool,
    pub checksums: Checksums,
}

/// The files of one phase.
pub struct Timed<'a> {
    pub tools: &'a mut Tools,
    pub latencies: &'a mut Latencies,
    pub clock: &'a dyn Clock,
    pub totals: Totals,
    pub fsyncs: u64,
}

/// A failed operation; the caller adds the path.
struct Failed(&'static str, Cause);

fn failed(operation: &'static str) -> impl FnOnce(Errno) -> Failed {
    move |errno| Failed(operation, io::Error::from(errno).into())
}

impl Timed<'_> {
    /// Times one operation by two clock readings, so that the generator's time is not included.
    #[inline]
    fn time<T>(
        &mut self,
        kind: Kind,
        act: impl FnOnce(&mut Self) -> Result<T, Failed>,
    ) -> Result<T, OpError> {
        let start = self.clock.now_ns();
        let done = act(self);
        self.latencies.record(kind as usize, self.clock.now_ns() - start);
        done.map_err(|Failed(operation, cause)| OpError {
            operation,
            path: path(self.tools.namer.last()),
            cause,
        })
    }

    fn write(&mut self, file: OwnedFd, bytes: u32) -> Result<(), Failed> {
        let requests = self.tools.kernel.requests;
        requests.write(&mut Opened { tools: self.tools, file: &file }, bytes)?;
        if self.tools.fsync {
            self.sync(&file)?;
        }
        self.totals.bytes_written += u64::from(bytes);
        close(file)
    }

    fn sync(&mut self, file: &OwnedFd) -> Result<(), Failed> {
        let start = self.clock.now_ns();
        rustix::fs::fsync(file).map_err(failed("fsync"))?;
        self.latencies.record(Kind::Fsync as usize, self.clock.now_ns() - start);
        self.fsyncs += 1;
        Ok(())
    }

    /// Syncs the folder of a new file. Without this sync POSIX guarantees the file's content after a power cut, but not its name.
    fn sync_folder(&mut self) -> Result<(), Failed> {
        let folder = kernel::open_folder_of(self.tools.namer.last()).map_err(failed("open the directory"))?;
        self.sync(&folder)?;
        close(folder)
    }

    fn remember(&mut self, file: File, at: u32, bytes: u32) {
        let Tools { checksums, kernel, .. } = &mut *self.tools;
        checksums.remember(file, at, &kernel.source[..bytes as usize]);
    }
}

impl Files for Timed<'_> {
    type Error = OpError;

    fn create(&mut self, file: File) -> Result<(), OpError> {
        self.tools.namer.file(file.name);
        self.time(Kind::Create, |this| {
            let opened = this.tools.kernel.create(this.tools.namer.last()).map_err(failed("create"))?;
            this.write(opened, file.bytes)?;
            if this.tools.fsync_folder { this.sync_folder() } else { Ok(()) }
        })?;
        self.totals.created += 1;
        self.remember(file, 0, file.bytes);
        Ok(())
    }

    fn read(&mut self, file: File) -> Result<bool, OpError> {
        self.tools.namer.file(file.name);
        self.time(Kind::Read, |this| {
            let opened = this.tools.kernel.open_read(this.tools.namer.last()).map_err(failed("open"))?;
            this.tools.read(&opened, file.bytes)?;
            close(opened)
        })?;
        self.totals.read += 1;
        self.totals.bytes_read += u64::from(file.bytes);
        Ok(true)
    }

    fn append(&mut self, file: File, more: impl FnOnce() -> u32) -> Result<bool, OpError> {
        self.tools.namer.file(file.name);
        let bytes = self.time(Kind::Append, |this| {
            let opened = this.tools.kernel.open_append(this.tools.namer.last()).map_err(failed("open"))?;
            let bytes = more();
            this.write(opened, bytes).map(|()| bytes)
        })?;
        self.totals.appended += 1;
        self.remember(file, file.bytes, bytes);
        Ok(true)
    }

    fn delete(&mut self, file: File) -> Result<bool, OpError> {
        self.tools.namer.file(file.name);
        self.time(Kind::Delete, |this| kernel::unlink(this.tools.namer.last()).map_err(failed("unlink")))?;
        self.totals.deleted += 1;
        Ok(true)
    }

    fn make_directory(&mut self, location: u32, subdirectory: u32) -> Result<(), OpError> {
        let name = self.tools.namer.subdirectory(location, subdirectory);
        directory("mkdir", name, kernel::make_directory(name))?;
        if !self.tools.fsync_folder {
            return Ok(());
        }
        let synced = kernel::open_folder_of(name).and_then(rustix::fs::fsync);
        directory("fsync of the directory", name, synced)
    }

    fn remove_directory(&mut self, location: u32, subdirectory: u32) -> Result<(), OpError> {
        let name = self.tools.namer.subdirectory(location, subdirectory);
        directory("rmdir", name, kernel::remove_directory(name))
    }
}

fn directory(operation: &'static str, name: &CStr, done: Result<(), Errno>) -> Result<(), OpError> {
    done.map_err(|errno| OpError { operation, path: path(name), cause: io::Error::from(errno).into() })
}

/// Closes a file. Some filesystems report only at close that the data did not fit.
fn close(file: OwnedFd) -> Result<(), Failed> {
    fsderby_sys::file::close(file).map_err(|error| Failed("close", error.into()))
}

impl Tools {
    fn read(&mut self, file: &OwnedFd, bytes: u32) -> Result<(), Failed> {
        let requests = self.kernel.requests;
        let came = requests.read(&mut Opened { tools: self, file }, bytes)?;
        if came == bytes as usize {
            return Ok(());
        }
        let short = format!("read {came} bytes, but {bytes} bytes were written");
        Err(Failed("read", Cause::Differs(short)))
    }
}

struct Opened<'a> {
    tools: &'a mut Tools,
    file: &'a OwnedFd,
}

impl Handle for Opened<'_> {
    type Error = Failed;

    #[inline]
    fn buffer_size(&mut self) -> Result<usize, Failed> {
        Ok(self.tools.stdio_buffer)
    }

    #[inline]
    fn write(&mut self, part: Range<usize>) -> Result<Option<usize>, Failed> {
        let asked = part.len();
        let written = self.tools.kernel.write(self.file, part).map_err(failed("write"))?;
        if written == asked {
            return Ok(Some(written));
        }
        let short = format!("only {written} of {asked} bytes were written");
        Err(Failed("write", io::Error::new(ErrorKind::WriteZero, short).into()))
    }

    #[inline]
    fn read(&mut self, asked: usize) -> Result<Option<usize>, Failed> {
        self.tools.kernel.read(self.file, asked).map(Some).map_err(failed("read"))
    }
}
