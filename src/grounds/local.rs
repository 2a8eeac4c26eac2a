//! An agent on this machine's own kernel: what `loop` and `directory` have in common.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};

use super::{Ended, Launched, Missing, Next, Stamped};
use crate::agent::channel::decode;
use crate::agent::protocol::Job;
use crate::agent::{clean_up, find_program, find_unusable, monotonic_ns};
use crate::filesystems::KernelNeed;

/// How many of the agent's last words are kept.
const LAST_LINES: usize = 20;

/// Starts our own binary as keeper and agent, with this job.
pub fn launch(job: &Job) -> anyhow::Result<Box<dyn Launched>> {
    let console =
        File::from(memfd_create("fsderby-console", MemfdFlags::CLOEXEC).context("could not keep a console")?);
    let mut command = Command::new("/proc/self/exe");
    command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(console.try_clone()?);
    let mut child = command.spawn().context("could not start the agent")?;
    let (lifeline, events) = (child.stdin.take(), child.stdout.take());
    let mut lifeline = lifeline.context("the agent has no standard input")?;
    let events = events.context("the agent has no standard output")?;
    let line = format!("{}\n", serde_json::to_string(job)?);
    lifeline.write_all(line.as_bytes()).context("could not hand the job to the agent")?;
    Ok(Box::new(LocalAgent {
        job: job.clone(),
        child,
        lifeline: Some(lifeline),
        events,
        unread: Vec::new(),
        expected: 0,
        console,
    }))
}

struct LocalAgent {
    job: Job,
    child: Child,
    lifeline: Option<ChildStdin>,
    events: ChildStdout,
    /// Bytes that came and are not yet a whole line.
    unread: Vec<u8>,
    expected: u64,
    console: File,
}

impl LocalAgent {
    fn take_line(&mut self) -> Option<Next> {
        let end = self.unread.iter().position(|b| *b == b'\n')?;
        let line: Vec<u8> = self.unread.drain(..=end).collect();
        let line = String::from_utf8_lossy(&line[..end]);
        let decoded = decode(&line, self.expected);
        self.expected += 1;
        Some(match decoded {
            Ok(event) => Next::Event(Stamped { host_ns: monotonic_ns(), event }),
            Err(what) => Next::Damaged(what),
        })
    }

    fn wait_readable(&self, wait: Duration) -> io::Result<bool> {
        let timeout =
            Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
        match poll(&mut [PollFd::from_borrowed_fd(self.events.as_fd(), PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            other => Ok(other? > 0),
        }
    }
}

impl Launched for LocalAgent {
    fn next(&mut self, wait: Duration) -> Next {
        if let Some(next) = self.take_line() {
            return next;
        }
        match self.wait_readable(wait) {
            Ok(false) => return Next::Quiet,
            Err(_) => return Next::Ended,
            Ok(true) => {}
        }
        let mut bytes = [0; 65536];
        match self.events.read(&mut bytes) {
            Ok(0) | Err(_) => Next::Ended,
            Ok(length) => {
                self.unread.extend_from_slice(&bytes[..length]);
                self.take_line().unwrap_or(Next::Quiet)
            }
        }
    }

    fn stop(&mut self) {
        self.lifeline = None;
    }

    fn end(mut self: Box<Self>) -> Ended {
        self.lifeline = None;
        let fault = match self.child.wait() {
            Ok(status) if status.success() => String::new(),
            Ok(status) => how(status),
            Err(e) => e.to_string(),
        };
        if !fault.is_empty() {
            // The keeper has done so, unless it was what was killed.
            clean_up(&self.job);
        }
        let mut text = String::new();
        let _ = self.console.rewind().and_then(|()| self.console.read_to_string(&mut text));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Ended { fault, console: lines[lines.len().saturating_sub(LAST_LINES)..].to_vec() }
    }
}

/// A keeper ends as its agent did; of a signal's number it makes an exit code as shells do.
fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (None, Some(code @ 129..)) => format!("killed by signal {}", code - 128),
        (None, Some(code)) => format!("exit code {code}"),
        (signal, _) => format!("its keeper was killed by signal {}", signal.unwrap_or(0)),
    }
}

/// Whether the running kernel has one of these types, or a module that it would load by itself on a mount.
/// Nothing is loaded here.
pub fn kernel_serves(need: &KernelNeed) -> Result<(), Missing> {
    let modprobe = find_program("modprobe");
    let loadable = |fstype: &str| {
        let mut dry = Command::new(modprobe.as_ref()?);
        dry.args(["--dry-run", "--quiet", &format!("fs-{fstype}")]).stderr(Stdio::null());
        dry.status().ok().filter(ExitStatus::success)
    };
    let known: Vec<String> = known_types().collect();
    if need.types.iter().any(|t| known.iter().any(|k| k == t) || loadable(t).is_some()) {
        return Ok(());
    }
    Err(Missing {
        what: format!("this kernel has no {}", need.types.join(" or ")),
        try_this: format!("a kernel with the module {}", need.modules.last().unwrap_or(&"for it")),
    })
}

fn known_types() -> impl Iterator<Item = String> {
    let text = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    text.lines()
        .filter_map(|l| l.split_whitespace().last().map(str::to_owned))
        .collect::<Vec<_>>()
        .into_iter()
}

/// Whether a program is installed here.
pub fn has_tool(program: &str) -> Result<(), Missing> {
    let missing = || Missing {
        what: match find_unusable(program) {
            None => format!("there is no {program} on this machine"),
            Some(path) => format!("{} is there, but it cannot be run", path.display()),
        },
        try_this: "fsderby doctor (it names the packages)".into(),
    };
    find_program(program).map(|_| ()).ok_or_else(missing)
}
