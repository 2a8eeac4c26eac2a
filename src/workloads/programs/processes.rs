//! Runs one command line and waits for all processes that it starts.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fsderby_sys::process::{End, ends_within, has_children, reap, tied_command};
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create, syncfs};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, set_child_subreaper};

use super::{Line, Success};
use crate::schema::units::MIB;
use crate::workloads::OpError;
use crate::workloads::kit::files::failed;

/// The largest number of bytes that a command may print to standard output, and to standard error.
const OUTPUT: u64 = 4 * MIB;
/// Time in which processes that a command left behind may end by themselves; then they are killed for as long.
const TO_END: Duration = Duration::from_secs(2);
/// The value of PATH for every command; the user's own PATH is not used.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Git's configuration in a sandbox; a clone's server process does not take over the one in the environment.
const GIT: &str = "/run/fsderby-gitconfig";
/// Beside `$INPUT`. Git refuses repositories of another user, which the input's owner is.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("PATH", PATH),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
];

/// A command line, and the settings with which it is run.
pub struct Run<'a> {
    pub line: &'a Line,
    pub success: &'a Success,
    /// The value of `$INPUT`.
    pub input: Option<&'a Path>,
    /// Its standard input; none without it.
    pub stdin: Option<File>,
    pub limit: Duration,
}

/// A command that has ended, with everything that it started.
pub struct Ended {
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
}

/// Puts what programs expect beside their files into the /run folder of a sandbox, seen from here as `run`.
///
/// # Errors
/// If it cannot be written.
pub fn furnish(run: &Path) -> io::Result<()> {
    let git = run.join(Path::new(GIT).file_name().unwrap_or_default());
    std::fs::write(git, "[safe]\n\tdirectory = *\n")
}

/// Makes this process the parent of whatever its descendants leave behind. Once, before the first command.
pub fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Waits up to a millisecond, as the seed says: in virtual time every trial would begin at the same distance from the next timer.
pub fn shift_start(seed: u64) {
    const LATEST_US: u64 = 1000;
    std::thread::sleep(Duration::from_micros(seed % LATEST_US));
}

/// Runs the command in the current folder; returns when the command and all its descendants have ended.
///
/// # Errors
/// If the command cannot be started, ends with an exit code that is not a success, takes too long, prints too much, or leaves a
/// process that does not end.
pub fn run(run: Run<'_>) -> Result<Ended, OpError> {
    let said = run.line.said();
    let fault = |what: &'static str, e: io::Error| failed(what, said.as_str(), e);
    let words = run.line.words();
    let (program, arguments) =
        words.split_first().ok_or_else(|| fault("run", io::ErrorKind::InvalidInput.into()))?;
    let (output, errors) = (Kept::new(), Kept::new());
    let (mut output, mut errors) =
        (output.map_err(|e| fault("run", e))?, errors.map_err(|e| fault("run", e))?);
    let mut command = tied_command(program);
    command.args(arguments).env_clear().envs(ENVIRONMENT).envs(run.input.map(|folder| ("INPUT", folder)));
    if Path::new(GIT).exists() {
        command.env("GIT_CONFIG_SYSTEM", GIT);
    }
    command.stdin(run.stdin.map_or_else(Stdio::null, Stdio::from));
    command.stdout(output.handed().map_err(|e| fault("run", e))?);
    command.stderr(errors.handed().map_err(|e| fault("run", e))?);
    let child = command.spawn().map_err(|e| fault("start", e))?;
    let waited = wait(child.id(), run.limit);
    if let Err(e) = waited {
        let left = end_all();
        let named = if left.is_empty() { String::new() } else { format!(" ({})", left.join(", ")) };
        return Err(fault(
            "wait for",
            io::Error::other(format!("{e}{named}{}", last_words(&mut output, &mut errors))),
        ));
    }
    let status = waited.map_err(|e| fault("wait for", io::Error::other(e)))?;
    for kept in [&mut output, &mut errors] {
        if kept.is_full() {
            let text = format!(
                "it printed more than {} MiB\n  try: send the command's output to /dev/null",
                OUTPUT / MIB
            );
            return Err(fault("run", io::Error::other(text)));
        }
    }
    let how = match status {
        End::Exit(code) if run.success.has(code) => {
            return Ok(Ended { output: output.all(), errors: errors.all() });
        }
        End::Exit(code) => format!("exit code {code}"),
        End::Signal(signal) => format!("killed by signal {signal}"),
    };
    Err(fault("run", io::Error::other(format!("{how}{}", last_words(&mut output, &mut errors)))))
}

/// Everything of this filesystem to its device.
pub fn sync() -> Result<(), OpError> {
    let fault = |e: rustix::io::Errno| failed("sync", ".", e);
    let place = rustix::fs::open(".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    syncfs(place.map_err(fault)?.as_fd()).map_err(fault)
}

/// Waits for this child, then for all processes that the child left behind; returns how the child ended.
fn wait(own: u32, limit: Duration) -> Result<End, String> {
    let too_long = || format!("it took longer than {} s", limit.as_secs());
    if !child_ends_within(own, limit).map_err(|e| e.to_string())? {
        return Err(too_long());
    }
    let (mut status, ended) = (None, Instant::now());
    loop {
        match reap(false).map_err(|e| e.to_string())? {
            Some(ended) => {
                if u32::try_from(ended.pid).ok() == Some(own) {
                    status = Some(ended.end);
                }
            }
            None if !has_children() => break,
            None if ended.elapsed() > TO_END => {
                return Err("it left processes that do not end; end them in the command".to_owned());
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    Ok(status.ok_or("it has no exit code")?)
}

/// Whether this child ends within that time. The ended child is not reaped.
fn child_ends_within(child: u32, time: Duration) -> io::Result<bool> {
    let pid = Pid::from_raw(child.cast_signed()).ok_or(io::ErrorKind::NotFound)?;
    ends_within(pidfd_open(pid, PidfdFlags::empty())?, time)
}

/// Kills all descendants, including those that are started meanwhile; returns the names of the first few.
fn end_all() -> Vec<String> {
    const NAMED: usize = 5;
    let begin = Instant::now();
    let (mut names, mut known) = (Vec::new(), HashSet::new());
    while has_children() && begin.elapsed() < TO_END {
        for pid in children() {
            if names.len() < NAMED && known.insert(pid) {
                names.extend(name_of(pid));
            }
            let _ = kill_process(pid, Signal::KILL);
        }
        while matches!(reap(false), Ok(Some(_))) {}
        std::thread::sleep(Duration::from_millis(1));
    }
    names
}

/// One output of a command, kept in memory of a limited size, so that an endless output ends the command and does not fill the
/// machine's memory.
struct Kept(File);

impl Kept {
    fn new() -> io::Result<Self> {
        let file = memfd_create("fsderby-output", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, OUTPUT)?;
        fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK)?;
        Ok(Kept(file.into()))
    }

    fn handed(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    /// The length of the output: the file position, which the command shares and moves by writing.
    fn length(&mut self) -> u64 {
        self.0.stream_position().unwrap_or(0)
    }

    fn is_full(&mut self) -> bool {
        self.length() >= OUTPUT
    }

    fn all(&mut self) -> Vec<u8> {
        let (length, mut bytes) = (self.length(), Vec::new());
        // An output that cannot be read counts as empty.
        let read =
            self.0.seek(SeekFrom::Start(0)).and_then(|_| (&self.0).take(length).read_to_end(&mut bytes));
        read.map_or_else(|_| Vec::new(), |_| bytes)
    }
}

/// The last lines of the command's standard error, or of its standard output if standard error is empty.
fn last_words(output: &mut Kept, errors: &mut Kept) -> String {
    const LINES: usize = 3;
    let last = |bytes: Vec<u8>| {
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].join(" | ")
    };
    match last(errors.all()) {
        said if said.is_empty() => match last(output.all()) {
            said if said.is_empty() => String::new(),
            said => format!(": {said}"),
        },
        said => format!(": {said}"),
    }
}

/// The children of this process, including processes that descendants left behind.
fn children() -> Vec<Pid> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()));
    let pids = text.unwrap_or_default();
    pids.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

fn name_of(pid: Pid) -> Option<String> {
    let read = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero())).ok()?;
    Some(read.trim().to_owned())
}
