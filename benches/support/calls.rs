//! The system calls of a process, as `strace` has written them down, and their repetition.
//!
//! What a process asks of files is repeated in its order, with the same paths, flags and sizes, to and from the same places of a
//! memory as large as that which it used, so that as much of it lies in the CPU's caches. What concerns memory, signals, clocks and
//! waiting is left out. A call of neither sort is an error, as a second thread is, so nothing that an engine does is passed over in silence.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use rustix::fs::{
    self, Advice, AtFlags, CWD, FallocateFlags, Mode, OFlags, RawDir, SeekFrom, Timespec, Timestamps,
};
use rustix::io::{self, Errno};

/// What `strace` is told: numbers in place of names, paths in hexadecimal, and of buffers where they lie.
pub const STRACE: [&str; 9] =
    ["strace", "-f", "-qq", "-X", "raw", "-xx", "-e", "raw=read,write,pread64,pwrite64", "-o"];

/// Not of files: it says nothing of a filesystem, and costs an engine what it costs.
const LEFT_OUT: &[&str] = &[
    "brk",
    "clock_gettime",
    "clock_nanosleep",
    "exit",
    "exit_group",
    "futex",
    "getpid",
    "getrandom",
    "getrusage",
    "gettid",
    "kill",
    "madvise",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "prctl",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "sigaltstack",
];

const A_TIME: Timestamps = Timestamps {
    last_access: Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 },
    last_modification: Timespec { tv_sec: 1_000_000_000, tv_nsec: 0 },
};
/// fcntl(2)
const F_GETFL: i64 = 3;

/// What the kernel keeps, and the CPU's tables know, at once.
const PAGE: usize = 4096;

/// A file by the number that it had.
type Number = usize;

/// Where a relative path begins; nothing is the working folder.
type Folder = Option<Number>;

/// A part of the process's memory: where it begins, first there and then in ours, and its length.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    at: usize,
    bytes: usize,
}

impl Buffer {
    fn range(self) -> Range<usize> {
        self.at..self.at + self.bytes
    }
}

#[derive(Clone, Debug)]
enum Act {
    Open { folder: Folder, path: CString, flags: OFlags, mode: Mode, gives: Number },
    Close(Number),
    Read { file: Number, into: Buffer },
    ReadAt { file: Number, into: Buffer, at: u64 },
    Write { file: Number, from: Buffer },
    WriteAt { file: Number, from: Buffer, at: u64 },
    Seek { file: Number, to: SeekFrom },
    Sync(Number),
    SyncData(Number),
    SyncFilesystem(Number),
    Truncate { file: Number, bytes: u64 },
    Allocate { file: Number, mode: FallocateFlags, at: u64, bytes: u64 },
    Advise { file: Number, advice: Advice },
    CopyRange { from: Number, to: Number, bytes: usize },
    Flags(Number),
    Stat(Number),
    StatAt { folder: Folder, path: CString, flags: AtFlags },
    List { folder: Number, bytes: usize },
    Unlink { folder: Folder, path: CString, flags: AtFlags },
    MakeFolder { folder: Folder, path: CString, mode: Mode },
    Enter(CString),
    Rename { from: (Folder, CString), to: (Folder, CString) },
    Link { from: (Folder, CString), to: (Folder, CString), flags: AtFlags },
    Symlink { target: CString, folder: Folder, path: CString },
    SetTimes(Number),
}

/// What was asked, and whether it was granted.
#[derive(Clone, Debug)]
struct Call {
    act: Act,
    granted: bool,
}

/// A process's calls.
pub struct Calls {
    list: Vec<Call>,
    /// How much memory they read and write.
    bytes: usize,
    /// Of a folder that was open before: the number that it had.
    source: Option<Number>,
}

impl Calls {
    /// Of a recording, those that follow the call `kill(…, 0)`. A folder `source` that was opened before is known by its path.
    pub fn read(recording: &Path, source: Option<&Path>) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(recording)?;
        let mut lines = text.lines().map(|line| line.split_once(' ').unwrap_or_default());
        let process = lines.clone().next().map(|(process, _)| process);
        let mut number = None;
        for (_, line) in lines.by_ref() {
            let Some((name, arguments, result)) = parts(line.trim_start()) else { continue };
            match (name, &arguments[..]) {
                ("kill", [_, "0"]) => break,
                ("openat", [_, path, ..]) if source.is_some_and(|source| is(path, source)) => {
                    number = result.parse().ok();
                }
                _ => {}
            }
        }
        ensure!(source.is_some() == number.is_some(), "nothing that was recorded opens the source");
        let mut list = Vec::new();
        for (of, line) in lines {
            ensure!(Some(of) == process, "a second thread is not repeated");
            list.extend(call(line.trim_start()).with_context(|| format!("in '{line}'"))?);
        }
        let bytes = move_together(&mut list);
        Ok(Calls { list, bytes, source: number })
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Everything at hand for [`Repeat::run`].
    pub fn prepare(self, source: Option<OwnedFd>) -> Repeat {
        let mut open = Vec::new();
        if let (Some(number), Some(source)) = (self.source, source) {
            keep(&mut open, number, source);
        }
        // Written once, so that no page of it comes while the clock runs.
        let memory = vec![1; self.bytes + PAGE];
        Repeat { first: memory.as_ptr().align_offset(PAGE), memory, list: self.list, open }
    }
}

fn is(argument: &str, path: &Path) -> bool {
    text_of(argument).is_ok_and(|text| text.to_bytes() == path.as_os_str().as_encoded_bytes())
}

/// The pages that the calls read and write, one behind the other, in their order. Says how many bytes that are.
fn move_together(calls: &mut [Call]) -> usize {
    let pages = calls.iter_mut().filter_map(|call| call.act.buffer()).flat_map(|buffer| {
        let Range { start, end } = buffer.range();
        start / PAGE..end.div_ceil(PAGE)
    });
    let pages: BTreeSet<usize> = pages.collect();
    let places: HashMap<usize, usize> = pages.into_iter().zip(0..).collect();
    for buffer in calls.iter_mut().filter_map(|call| call.act.buffer()) {
        // One of no bytes may lie anywhere.
        buffer.at = places.get(&(buffer.at / PAGE)).map_or(0, |page| page * PAGE + buffer.at % PAGE);
    }
    places.len() * PAGE
}

/// A list of calls, ready to be repeated.
pub struct Repeat {
    list: Vec<Call>,
    memory: Vec<u8>,
    /// Where its first whole page begins.
    first: usize,
    open: Open,
}

impl Repeat {
    /// Stops where a call is not granted that was, or is that was not.
    pub fn run(&mut self) -> anyhow::Result<()> {
        let Repeat { list, memory, first, open } = self;
        let memory = &mut memory[*first..];
        for Call { act, granted } in list {
            let done = act.carry_out(memory, open);
            if done.is_ok() != *granted {
                bail!("{act:?} gave {done:?}, and other than in the recording");
            }
        }
        Ok(())
    }
}

type Open = Vec<Option<OwnedFd>>;

fn keep(open: &mut Open, number: Number, file: OwnedFd) {
    while open.len() <= number {
        open.push(None);
    }
    open[number] = Some(file);
}

fn file(open: &Open, number: Number) -> Result<BorrowedFd<'_>, Errno> {
    open.get(number).and_then(Option::as_ref).map(|file| file.as_fd()).ok_or(Errno::BADF)
}

impl Act {
    fn buffer(&mut self) -> Option<&mut Buffer> {
        match self {
            Act::Read { into: buffer, .. }
            | Act::ReadAt { into: buffer, .. }
            | Act::Write { from: buffer, .. }
            | Act::WriteAt { from: buffer, .. } => Some(buffer),
            _ => None,
        }
    }

    /// A function of its own, as each call is in a C library: where the processor cannot foresee the first return behind a system call, it
    /// costs up to 0.2 µs (measured on an AMD EPYC whose kernel has a safe RET), and no program asks anything of a kernel without one.
    #[inline(never)]
    fn carry_out(&self, memory: &mut [u8], open: &mut Open) -> Result<(), Errno> {
        let at = |folder: &Folder| folder.map_or(Ok(CWD), |number| file(open, number));
        match self {
            Act::Open { folder, path, flags, mode, gives } => {
                let opened = fs::openat(at(folder)?, path, *flags, *mode)?;
                keep(open, *gives, opened);
                Ok(())
            }
            Act::Close(of) => open.get_mut(*of).and_then(Option::take).ok_or(Errno::BADF).map(drop),
            Act::Read { file: of, into } => io::read(file(open, *of)?, &mut memory[into.range()]).map(drop),
            Act::ReadAt { file: of, into, at } => {
                io::pread(file(open, *of)?, &mut memory[into.range()], *at).map(drop)
            }
            Act::Write { file: of, from } => io::write(file(open, *of)?, &memory[from.range()]).map(drop),
            Act::WriteAt { file: of, from, at } => {
                io::pwrite(file(open, *of)?, &memory[from.range()], *at).map(drop)
            }
            Act::Seek { file: of, to } => fs::seek(file(open, *of)?, *to).map(drop),
            Act::Sync(of) => fs::fsync(file(open, *of)?),
            Act::SyncData(of) => fs::fdatasync(file(open, *of)?),
            Act::SyncFilesystem(of) => fs::syncfs(file(open, *of)?),
            Act::Truncate { file: of, bytes } => fs::ftruncate(file(open, *of)?, *bytes),
            Act::Allocate { file: of, mode, at, bytes } => {
                fs::fallocate(file(open, *of)?, *mode, *at, *bytes)
            }
            Act::Advise { file: of, advice } => fs::fadvise(file(open, *of)?, 0, None, *advice),
            Act::CopyRange { from, to, bytes } => {
                fs::copy_file_range(file(open, *from)?, None, file(open, *to)?, None, *bytes).map(drop)
            }
            Act::Flags(of) => fs::fcntl_getfl(file(open, *of)?).map(drop),
            Act::Stat(of) => fs::fstat(file(open, *of)?).map(drop),
            Act::StatAt { folder, path, flags } => fs::statat(at(folder)?, path, *flags).map(drop),
            Act::List { folder, bytes } => list(file(open, *folder)?, *bytes),
            Act::Unlink { folder, path, flags } => fs::unlinkat(at(folder)?, path, *flags),
            Act::MakeFolder { folder, path, mode } => fs::mkdirat(at(folder)?, path, *mode),
            Act::Enter(path) => rustix::process::chdir(path),
            Act::Rename { from, to } => fs::renameat(at(&from.0)?, &from.1, at(&to.0)?, &to.1),
            Act::Link { from, to, flags } => fs::linkat(at(&from.0)?, &from.1, at(&to.0)?, &to.1, *flags),
            Act::Symlink { target, folder, path } => fs::symlinkat(target, at(folder)?, path),
            Act::SetTimes(of) => fs::futimens(file(open, *of)?, &A_TIME),
        }
    }
}

/// One request for so many bytes of entries.
fn list(folder: BorrowedFd<'_>, bytes: usize) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); 32 << 10];
    let space = &mut space[..bytes.min(32 << 10)];
    RawDir::new(folder, space).next().transpose().map(drop)
}

/// One line: the call's name, its arguments, what it gave. Nothing for a line that is no call.
fn parts(line: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (name, rest) = line.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let arguments = arguments.trim_end().strip_suffix(')')?;
    let (mut list, mut begin, mut depth) = (Vec::new(), 0, 0);
    for (at, byte) in arguments.bytes().enumerate() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                list.push(arguments[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    list.push(arguments[begin..].trim());
    Some((name, list, result.split_whitespace().next()?))
}

/// `"\x61\x62"` is `ab`.
fn text_of(argument: &str) -> anyhow::Result<CString> {
    let hex = argument.strip_prefix('"').and_then(|a| a.strip_suffix('"')).context("no text")?;
    let bytes = hex.split("\\x").skip(1).map(|byte| u8::from_str_radix(byte, 16));
    Ok(CString::new(bytes.collect::<Result<Vec<u8>, _>>()?)?)
}

fn number_of(argument: &str) -> anyhow::Result<i64> {
    let number = match argument.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16)?.cast_signed(),
        None if argument.len() > 1 && argument.starts_with('0') => i64::from_str_radix(argument, 8)?,
        None => argument.parse()?,
    };
    Ok(number)
}

/// Nothing where it is left out.
fn call(line: &str) -> anyhow::Result<Option<Call>> {
    let Some((name, arguments, result)) = parts(line) else {
        // What is no call, such as a signal, and one that never comes back, such as exit.
        let name = line.split('(').next().unwrap_or_default();
        ensure!(line.starts_with(['+', '-']) || LEFT_OUT.contains(&name), "it did not come back");
        return Ok(None);
    };
    if LEFT_OUT.contains(&name) {
        return Ok(None);
    }
    let arg = |at: usize| arguments.get(at).copied().context("too few arguments");
    let number = |at: usize| arg(at).and_then(number_of);
    let unsigned = |at: usize| Ok::<_, anyhow::Error>(u64::try_from(number(at)?)?);
    let bytes = |at: usize| Ok::<_, anyhow::Error>(usize::try_from(number(at)?)?);
    let bits = |at: usize| Ok::<_, anyhow::Error>(u32::try_from(number(at)?)?);
    let mode = |at: usize| Ok::<_, anyhow::Error>(Mode::from_raw_mode(bits(at)?));
    let buffer = || Ok::<_, anyhow::Error>(Buffer { at: bytes(1)?, bytes: bytes(2)? });
    // A folder's number is none where it is AT_FDCWD.
    let folder = |at: usize| number(at).map(|number| Number::try_from(number).ok());
    let text = |at: usize| arg(at).and_then(text_of);
    let at_flags = |at: usize| Ok::<_, anyhow::Error>(AtFlags::from_bits_retain(bits(at)?));
    let act = match name {
        "openat" => Act::Open {
            folder: folder(0)?,
            path: text(1)?,
            flags: OFlags::from_bits_retain(bits(2)?),
            mode: if arguments.len() > 3 { mode(3)? } else { Mode::empty() },
            gives: result.parse().unwrap_or(0),
        },
        "close" => Act::Close(bytes(0)?),
        "read" => Act::Read { file: bytes(0)?, into: buffer()? },
        "pread64" => Act::ReadAt { file: bytes(0)?, into: buffer()?, at: unsigned(3)? },
        "write" => Act::Write { file: bytes(0)?, from: buffer()? },
        "pwrite64" => Act::WriteAt { file: bytes(0)?, from: buffer()?, at: unsigned(3)? },
        "lseek" => Act::Seek { file: bytes(0)?, to: seek(number(1)?, number(2)?)? },
        "fsync" => Act::Sync(bytes(0)?),
        "fdatasync" => Act::SyncData(bytes(0)?),
        "syncfs" => Act::SyncFilesystem(bytes(0)?),
        "ftruncate" => Act::Truncate { file: bytes(0)?, bytes: unsigned(1)? },
        "fallocate" => Act::Allocate {
            file: bytes(0)?,
            mode: FallocateFlags::from_bits_retain(bits(1)?),
            at: unsigned(2)?,
            bytes: unsigned(3)?,
        },
        "fadvise64" => {
            let advice = match number(3)? {
                0 => Advice::Normal,
                1 => Advice::Random,
                2 => Advice::Sequential,
                3 => Advice::WillNeed,
                4 => Advice::DontNeed,
                _ => bail!("an advice that is not repeated"),
            };
            Act::Advise { file: bytes(0)?, advice }
        }
        "copy_file_range" => Act::CopyRange { from: bytes(0)?, to: bytes(2)?, bytes: bytes(4)? },
        "fcntl" if number(1)? == F_GETFL => Act::Flags(bytes(0)?),
        "fstat" => Act::Stat(bytes(0)?),
        "newfstatat" => Act::StatAt { folder: folder(0)?, path: text(1)?, flags: at_flags(3)? },
        "getdents64" => Act::List { folder: bytes(0)?, bytes: bytes(2)? },
        "unlinkat" => Act::Unlink { folder: folder(0)?, path: text(1)?, flags: at_flags(2)? },
        "mkdir" => Act::MakeFolder { folder: None, path: text(0)?, mode: mode(1)? },
        "mkdirat" => Act::MakeFolder { folder: folder(0)?, path: text(1)?, mode: mode(2)? },
        "rmdir" => Act::Unlink { folder: None, path: text(0)?, flags: AtFlags::REMOVEDIR },
        "chdir" => Act::Enter(text(0)?),
        "rename" => Act::Rename { from: (None, text(0)?), to: (None, text(1)?) },
        "renameat" => Act::Rename { from: (folder(0)?, text(1)?), to: (folder(2)?, text(3)?) },
        "linkat" => {
            let (from, to) = ((folder(0)?, text(1)?), (folder(2)?, text(3)?));
            Act::Link { from, to, flags: at_flags(4)? }
        }
        "symlinkat" => Act::Symlink { target: text(0)?, folder: folder(1)?, path: text(2)? },
        "utimensat" if arg(1)? == "NULL" => Act::SetTimes(bytes(0)?),
        _ => bail!("a call that is not repeated"),
    };
    Ok(Some(Call { act, granted: !result.starts_with('-') }))
}

fn seek(to: i64, from: i64) -> anyhow::Result<SeekFrom> {
    Ok(match from {
        0 => SeekFrom::Start(to.cast_unsigned()),
        1 => SeekFrom::Current(to),
        2 => SeekFrom::End(to),
        3 => SeekFrom::Data(to.cast_unsigned()),
        4 => SeekFrom::Hole(to.cast_unsigned()),
        _ => bail!("a way to seek that is not repeated"),
    })
}
