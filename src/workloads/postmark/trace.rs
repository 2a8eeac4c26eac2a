//! The system calls of a run, without making them: for tests against the original, and for a replay beside the engine.

use std::convert::Infallible;
use std::ffi::CStr;
use std::fmt;
use std::ops::Range;

use super::drive::{self, Ended, Extent, Files};
use super::generator::{File, Generator};
use super::names::Namer;
use super::rules::Rules;
use super::stream::{Handle, Requests};

/// A system call; calls between an open and a [`Call::Close`] concern that file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    MakeDirectory(&'a CStr),
    RemoveDirectory(&'a CStr),
    Create(&'a CStr),
    OpenRead(&'a CStr),
    OpenAppend(&'a CStr),
    SeekEnd,
    /// A write of this part of the source text.
    Write(Range<usize>),
    Read {
        asked: usize,
        got: usize,
    },
    Close,
    Unlink(&'a CStr),
}

/// The canonical text of a trace, with one call per line.
impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, path) = match self {
            Call::MakeDirectory(path) => ("MKDIR", path),
            Call::RemoveDirectory(path) => ("RMDIR", path),
            Call::Create(path) => ("CREATE", path),
            Call::OpenRead(path) => ("OPENR", path),
            Call::OpenAppend(path) => ("OPENA", path),
            Call::Unlink(path) => ("UNLINK", path),
            Call::SeekEnd => return f.write_str("SEEKEND"),
            Call::Write(part) => return write!(f, "W {}", part.len()),
            Call::Read { asked, got } => return write!(f, "R {asked} {got}"),
            Call::Close => return f.write_str("CLOSE"),
        };
        write!(f, "{word} {}", path.to_string_lossy())
    }
}

/// Reports every call of a run with stream buffers of `buffer` bytes; all calls succeed.
pub fn trace(rules: &Rules, buffer: usize, tell: &mut dyn FnMut(Call<'_>)) -> Ended {
    let mut generator = Generator::without_source(rules);
    let mut recorder = Recorder {
        buffering: rules.buffering,
        requests: Requests::of(rules),
        namer: Namer::new(rules),
        file: Position { buffer, bytes: 0, at: 0, tell },
    };
    let run = |generator: &mut Generator, recorder: &mut Recorder<'_>| -> Result<Ended, Infallible> {
        drive::make_directories(generator, recorder)?;
        drive::create_pool(generator, recorder, Extent::WHOLE, || ())?;
        let ended = drive::transactions(generator, recorder, Extent::WHOLE, |_, _| ())?;
        drive::delete_pool(generator, recorder, || ())?;
        drive::remove_directories(generator, recorder)?;
        Ok(ended)
    };
    let Ok(ended) = run(&mut generator, &mut recorder);
    ended
}

struct Recorder<'a> {
    buffering: bool,
    requests: Requests,
    namer: Namer,
    file: Position<'a>,
}

/// The open file.
struct Position<'a> {
    buffer: usize,
    bytes: usize,
    at: usize,
    tell: &'a mut dyn FnMut(Call<'_>),
}

impl Handle for Position<'_> {
    type Error = Infallible;

    fn buffer_size(&mut self) -> Result<usize, Infallible> {
        Ok(self.buffer)
    }

    fn write(&mut self, part: Range<usize>) -> Result<Option<usize>, Infallible> {
        let length = part.len();
        (self.tell)(Call::Write(part));
        Ok(Some(length))
    }

    fn read(&mut self, asked: usize) -> Result<Option<usize>, Infallible> {
        let got = asked.min(self.bytes - self.at);
        self.at += got;
        (self.tell)(Call::Read { asked, got });
        Ok(Some(got))
    }
}

impl Recorder<'_> {
    fn write(&mut self, bytes: u32) -> Result<(), Infallible> {
        self.requests.write(&mut self.file, bytes)?;
        (self.file.tell)(Call::Close);
        Ok(())
    }
}

impl Files for Recorder<'_> {
    type Error = Infallible;

    fn create(&mut self, file: File) -> Result<(), Infallible> {
        (self.file.tell)(Call::Create(self.namer.file(file.name)));
        self.write(file.bytes)
    }

    fn read(&mut self, file: File) -> Result<bool, Infallible> {
        (self.file.tell)(Call::OpenRead(self.namer.file(file.name)));
        (self.file.bytes, self.file.at) = (file.bytes as usize, 0);
        self.requests.read(&mut self.file, file.bytes)?;
        (self.file.tell)(Call::Close);
        Ok(true)
    }

    fn append(&mut self, file: File, more: impl FnOnce() -> u32) -> Result<bool, Infallible> {
        (self.file.tell)(Call::OpenAppend(self.namer.file(file.name)));
        if self.buffering {
            (self.file.tell)(Call::SeekEnd);
        }
        self.write(more())?;
        Ok(true)
    }

    fn delete(&mut self, file: File) -> Result<bool, Infallible> {
        (self.file.tell)(Call::Unlink(self.namer.file(file.name)));
        Ok(true)
    }

    fn make_directory(&mut self, location: u32, subdirectory: u32) -> Result<(), Infallible> {
        (self.file.tell)(Call::MakeDirectory(self.namer.subdirectory(location, subdirectory)));
        Ok(())
    }

    fn remove_directory(&mut self, location: u32, subdirectory: u32) -> Result<(), Infallible> {
        (self.file.tell)(Call::RemoveDirectory(self.namer.subdirectory(location, subdirectory)));
        Ok(())
    }
}
