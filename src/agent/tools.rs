//! Runs mkfs, fsck and other tools, and measures their cost.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fsderby_sys::process::{End, Reaped, Usage, ends_within, reap, tied_command};
use fsderby_sys::sandbox::Confined;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use super::sandbox::Sandbox;
use super::{StepError, blocked, monotonic_ns};
use crate::host::programs::{FOLDERS, find};

/// Lines of a tool's output kept for messages, from its beginning and from its end: some tools say why first and print their usage
/// then, others end with the reason.
const ENDS: [usize; 2] = [3, 3];

/// A program that has ended.
pub struct Ran {
    pub ns: u64,
    pub usage: Usage,
    pub status: i32,
    /// The first and the last lines it printed, to either stream.
    pub said: String,
}

/// Runs the command to its end, for at most `limit`.
///
/// # Errors
/// If it is missing, dies of a signal, or exceeds the limit. The caller judges the exit code.
pub fn run(
    argv: &[String],
    limit: Duration,
    sandbox: Option<&Sandbox>,
    mounts: bool,
) -> Result<Ran, StepError> {
    let [program, arguments @ ..] = argv else {
        return Err(StepError::new("start", "", "an empty command line"));
    };
    let path = find(program).ok_or_else(|| StepError::new("start", program, "no such program here"))?;
    let fault = |e: std::io::Error| StepError::io("start", program, e);
    let output =
        File::from(memfd_create("fsderby-output", MemfdFlags::CLOEXEC).map_err(|e| fault(e.into()))?);
    let confined = sandbox.map(|sandbox| sandbox.command(&path, mounts)).transpose().map_err(fault)?;
    let (mut command, entered) = match confined {
        Some(Confined { command, entered }) => (command, Some(entered)),
        None => (tied_command(path), None),
    };
    command
        .args(arguments)
        .env_clear()
        .env("PATH", FOLDERS.join(":"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(fault)?).stderr(output.try_clone().map_err(fault)?);
    let (begin, begin_ns) = (Instant::now(), monotonic_ns());
    let child = command.spawn().map_err(fault)?;
    let ended = wait(child.id(), begin, limit).map_err(|e| StepError { path: program.clone(), ..e })?;
    let end_ns = monotonic_ns();
    // Entering the sandbox is not part of the tool's cost.
    let (begin_ns, used) = entered
        .map_or((begin_ns, Usage::default()), |entry| (entry.at_ns.load(Ordering::Relaxed), entry.usage()));
    let ns = end_ns - begin_ns;
    let said = said(output);
    match ended.end {
        End::Exit(status) => Ok(Ran { ns, usage: ended.usage.since(used), status, said }),
        End::Signal(signal) => {
            Err(StepError::new("run", program, format!("killed by signal {signal}: {said}")))
        }
    }
}

/// Waits for this child; kills it at the time limit.
pub fn wait(pid: u32, begin: Instant, limit: Duration) -> Result<Reaped, StepError> {
    let ended = ends_in_time(pid, begin, limit)?;
    let reaped = reap_this(pid.cast_signed()).map_err(|e| StepError::io("wait", "", e))?;
    ended.map(|()| reaped)
}

/// The error of what still runs at its limit, with the blocked tasks of a guest.
pub fn too_long(limit: Duration) -> StepError {
    StepError::new("run", "", format!("took longer than {} s{}", limit.as_secs(), blocked::show()))
}

/// Waits for this child; kills it at the limit, which is the inner error. The caller must reap it.
pub fn ends_in_time(pid: u32, begin: Instant, limit: Duration) -> Result<Result<(), StepError>, StepError> {
    let fault = |e: std::io::Error| StepError::io("wait", "", e);
    let raw = pid.cast_signed();
    let child = Pid::from_raw(raw).ok_or_else(|| StepError::new("wait", "", "a process without a PID"))?;
    let descriptor = pidfd_open(child, PidfdFlags::empty()).map_err(|e| fault(e.into()))?;
    let in_time = ends_within(&descriptor, limit.saturating_sub(begin.elapsed())).map_err(fault)?;
    if in_time {
        return Ok(Ok(()));
    }
    let late = too_long(limit);
    let _ = kill_process(child, Signal::KILL);
    Ok(Err(late))
}

/// Waits for this child; also reaps other children that end meanwhile, such as a filesystem's daemon.
fn reap_this(pid: i32) -> std::io::Result<Reaped> {
    loop {
        match reap(true)? {
            Some(reaped) if reaped.pid == pid => return Ok(reaped),
            Some(_) => {}
            None => return Err(std::io::Error::other("the child process is gone")),
        }
    }
}

fn said(mut output: File) -> String {
    let mut bytes = Vec::new();
    let _ = output.rewind().and_then(|()| output.read_to_end(&mut bytes));
    both_ends(&String::from_utf8_lossy(&bytes))
}

/// `first | second | third | … | third to last | second to last | last`, without a usage that follows the reason.
fn both_ends(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    // What follows a reason is no reason.
    let usage = lines.iter().position(|line| line.to_ascii_lowercase().starts_with("usage:"));
    lines.truncate(usage.filter(|at| *at > 0).unwrap_or(lines.len()));
    let [first, last] = ENDS;
    if lines.len() <= first + last {
        return lines.join(" | ");
    }
    [&lines[..first], &["…"], &lines[lines.len() - last..]].concat().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_kept_whether_a_tool_says_it_first_or_last() {
        let usage: Vec<String> = (1..60).map(|n| format!("/* option {n} */ [-{n}]")).collect();
        let usage = usage.join("\n");
        let first = both_ends(&format!(
            "agsize (144 blocks) too small, need at least 4096 blocks\nUsage: mkfs\n{usage}"
        ));
        assert_eq!(first, "agsize (144 blocks) too small, need at least 4096 blocks", "without the usage");
        let long = both_ends(&format!("unknown word\n{usage}"));
        assert!(long.starts_with("unknown word | ") && long.contains(" | … | "), "{long}");
        let last = both_ends(&format!("{usage}\n\nmke2fs: invalid blocks '0' on device 'x'\n"));
        assert!(last.ends_with("mke2fs: invalid blocks '0' on device 'x'"), "{last}");
        assert_eq!(both_ends("a\n\n b \nc\nd\ne\nf\n"), "a | b | c | d | e | f", "six lines are all kept");
        assert_eq!(both_ends(""), "");
    }
}
