//! Runs one command line and waits for all processes that it starts.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fsderby_sys::process::{End, has_children, reap, tied_command};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process, set_child_subreaper};

use super::parameters::Line;
use crate::workloads::OpError;
use crate::workloads::kit::files::failed;

/// What is kept of a command's output.
const OUTPUT: u64 = 1 << 20;
/// Time that processes left behind have to end by themselves.
const TO_END: Duration = Duration::from_secs(2);
/// Programs are found here, whatever the user's own path is.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command that has ended, with everything that it started.
pub struct Ended {
    /// Processes that ended, the command's own included.
    pub processes: u64,
}

/// Makes this process the parent of whatever its descendants leave behind. Once, before the first command.
pub fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Runs it in the current folder; returns when it and all its descendants have ended.
///
/// # Errors
/// If it cannot be started, ends with another exit code than these, or leaves a process that does not end.
pub fn run(line: &Line, codes: &[i32], input: Option<&Path>) -> Result<Ended, OpError> {
    let said = line.said();
    let fault = |what: &'static str, e: io::Error| failed(what, said.as_str(), e);
    let words = line.words();
    let (program, arguments) =
        words.split_first().ok_or_else(|| fault("run", io::ErrorKind::InvalidInput.into()))?;
    let output =
        File::from(memfd_create("fsderby-output", MemfdFlags::CLOEXEC).map_err(|e| fault("run", e.into()))?);
    let again = || output.try_clone().map_err(|e| fault("run", e));
    let mut command = tied_command(program);
    command.args(arguments).env_clear();
    command.envs([("PATH", PATH), ("HOME", "/tmp"), ("TMPDIR", "/tmp"), ("LANG", "C.UTF-8"), ("TZ", "UTC")]);
    command.envs(input.map(|folder| ("INPUT", folder)));
    command.stdin(Stdio::null()).stdout(again()?).stderr(again()?);
    let child = command.spawn().map_err(|e| fault("start", e))?;
    let own = child.id();
    let (mut processes, mut status) = (0, None);
    let mut left_since: Option<Instant> = None;
    loop {
        // Blocking while the command itself runs; then what it left behind has a moment.
        match reap(status.is_none()).map_err(|e| fault("wait for", e))? {
            Some(ended) => {
                processes += 1;
                if u32::try_from(ended.pid).ok() == Some(own) {
                    status = Some(ended.end);
                    left_since = Some(Instant::now());
                }
            }
            None if !has_children() => break,
            None if left_since.is_some_and(|since| since.elapsed() > TO_END) => {
                let left = children();
                let names: Vec<String> = left.iter().map(|pid| name_of(*pid)).collect();
                for pid in &left {
                    let _ = kill_process(*pid, Signal::KILL);
                }
                let text = format!("it left processes that do not end: {}", names.join(", "));
                return Err(fault("wait for", io::Error::other(text)));
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    match status {
        Some(End::Exit(code)) if codes.contains(&code) => Ok(Ended { processes }),
        Some(End::Exit(code)) => {
            Err(fault("run", io::Error::other(format!("exit code {code}{}", last_words(output)))))
        }
        Some(End::Signal(signal)) => {
            Err(fault("run", io::Error::other(format!("killed by signal {signal}{}", last_words(output)))))
        }
        None => Err(fault("wait for", io::Error::other("it has no exit code"))),
    }
}

/// The last lines of its output.
fn last_words(mut output: File) -> String {
    const LINES: usize = 3;
    let length = output.metadata().map_or(0, |about| about.len());
    let mut text = Vec::new();
    let read = output.seek(SeekFrom::Start(length.saturating_sub(OUTPUT)));
    if read.and_then(|_| output.take(OUTPUT).read_to_end(&mut text)).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    if last.is_empty() { String::new() } else { format!(": {}", last.join(" | ")) }
}

/// Our children: what descendants left behind is among them.
fn children() -> Vec<Pid> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id()));
    let pids = text.unwrap_or_default();
    pids.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

fn name_of(pid: Pid) -> String {
    let read = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
    read.map_or_else(|_| "an unnamed one".to_owned(), |name| name.trim().to_owned())
}
