//! File operations of the drop-in. Failures are reported and skipped; failed reads and writes are skipped silently.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use super::console::Console;
use super::report::Counters;
use crate::workloads::postmark::drive::Files;
use crate::workloads::postmark::generator::File;
use crate::workloads::postmark::kernel::{self, Kernel};
use crate::workloads::postmark::names::Namer;
use crate::workloads::postmark::stream::{self, Handle};

pub struct Lenient<'a, 'c> {
    pub kernel: Kernel,
    pub namer: Namer,
    pub counters: Counters,
    pub console: &'a mut Console<'c>,
}

impl Lenient<'_, '_> {
    /// Reports that the most recently named file cannot be used.
    fn tell(&mut self, cannot: &str, end: &str) -> io::Result<()> {
        let name = self.namer.last().to_bytes();
        self.console.error(&[cannot.as_bytes(), b" '", name, b"'", end.as_bytes()].concat())
    }

    fn write(&mut self, file: OwnedFd, bytes: u32) {
        let requests = self.kernel.requests;
        let Ok(()) = requests.write(&mut Opened { kernel: &mut self.kernel, file }, bytes);
        self.counters.count_written(bytes);
    }
}

impl Files for Lenient<'_, '_> {
    /// Failures of file operations are reported; only a failure of output to the console is returned.
    type Error = io::Error;

    fn create(&mut self, file: File) -> io::Result<()> {
        self.counters.created += 1;
        match self.kernel.create(self.namer.file(file.name)) {
            Ok(opened) => self.write(opened, file.bytes),
            Err(_) => self.tell("cannot open", " for writing")?,
        }
        Ok(())
    }

    fn read(&mut self, file: File) -> io::Result<bool> {
        let Ok(opened) = self.kernel.open_read(self.namer.file(file.name)) else {
            self.tell("cannot open", " for reading")?;
            return Ok(false);
        };
        let requests = self.kernel.requests;
        let Ok(_) = requests.read(&mut Opened { kernel: &mut self.kernel, file: opened }, file.bytes);
        self.counters.count_read(file.bytes);
        Ok(true)
    }

    fn append(&mut self, file: File, more: impl FnOnce() -> u32) -> io::Result<bool> {
        let Ok(opened) = self.kernel.open_append(self.namer.file(file.name)) else {
            self.tell("cannot open", " for append")?;
            return Ok(false);
        };
        self.write(opened, more());
        self.counters.appended += 1;
        Ok(true)
    }

    fn delete(&mut self, file: File) -> io::Result<bool> {
        let gone = kernel::remove(self.namer.file(file.name)).is_ok();
        if gone {
            self.counters.deleted += 1;
        } else {
            self.tell("Cannot delete", "")?;
        }
        Ok(gone)
    }

    fn make_directory(&mut self, location: u32, subdirectory: u32) -> io::Result<()> {
        let _ = kernel::make_directory(self.namer.subdirectory(location, subdirectory));
        Ok(())
    }

    fn remove_directory(&mut self, location: u32, subdirectory: u32) -> io::Result<()> {
        let _ = kernel::remove_directory(self.namer.subdirectory(location, subdirectory));
        Ok(())
    }
}

struct Opened<'a> {
    kernel: &'a mut Kernel,
    file: OwnedFd,
}

impl Handle for Opened<'_> {
    type Error = std::convert::Infallible;

    /// Asks the filesystem for its block size for each stream, as the C library does.
    fn buffer_size(&mut self) -> Result<usize, Self::Error> {
        let block = rustix::fs::fstat(&self.file).map_or(0, |stat| stat.st_blksize);
        Ok(stream::stdio_buffer(block))
    }

    fn write(&mut self, part: Range<usize>) -> Result<Option<usize>, Self::Error> {
        Ok(self.kernel.write(&self.file, part).ok())
    }

    fn read(&mut self, asked: usize) -> Result<Option<usize>, Self::Error> {
        Ok(self.kernel.read(&self.file, asked).ok())
    }
}
