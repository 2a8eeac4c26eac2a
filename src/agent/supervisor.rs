//! The supervisor, a process between host and agent: it outlives both and removes objects that have names.

use std::io::{self, BufRead, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::Context;
use fsderby_sys::process::{End, Fork, die_with_parent, ends_within, exit_now, fork, isolate, reap};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use super::channel::Teller;
use super::{monotonic_ns, trial};
use crate::host::{device_group, memory_group, process_group};
use crate::schema::event::Event;
use crate::schema::job::{Job, PROTOCOL};
use crate::storage;

/// Time for an agent to end after its lifeline is cut, and again after it is killed.
const GRACE: Duration = Duration::from_secs(10);
/// The supervisor's exit code if its agent does not end, as timeout(1) uses.
pub const STUCK: u8 = 124;
const WHY_STUCK: &str = "the agent, or a process that it started, is in uninterruptible sleep (D); its mounts and files may remain";
/// The agent's exit code when its lifeline is cut.
const CUT: i32 = 130;

/// The hidden role `agent`: reads one job from standard input, carries it out, writes events to standard output.
/// Returns the agent's exit code.
pub fn main() -> anyhow::Result<u8> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("could not read the job")?;
    let job: Job = serde_json::from_str(&line).context("could not parse the job")?;
    anyhow::ensure!(
        job.protocol == PROTOCOL,
        "the job uses protocol version {}, this agent version {PROTOCOL}",
        job.protocol
    );
    anyhow::ensure!(!job.guest, "this job is for a guest, but this agent runs on the host");
    // A separate session: the host handles Ctrl-C of the terminal.
    let _ = rustix::process::setsid();
    let root = rustix::process::geteuid().is_root();
    if root {
        isolate().context("could not create namespaces for the agent")?;
    }
    match fork().context("could not start the agent")? {
        Fork::Child => exit_now(i32::from(agent(&job))),
        Fork::Parent(pid) => keep(pid, &job),
    }
}

/// Runs the agent itself, which is the init of its namespaces.
fn agent(job: &Job) -> u8 {
    let spoken = die_with_parent().and_then(|()| {
        std::thread::Builder::new().name("lifeline".into()).spawn(hold_lifeline)?;
        let tell = Teller::new(io::stdout());
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        let build = env!("CARGO_PKG_VERSION").to_owned();
        tell.send(&Event::Hello { protocol: PROTOCOL, build, kernel, clock_ns: monotonic_ns() })?;
        trial::carry_out(
            job,
            Vec::new(),
            &|| anyhow::bail!("only a guest in virtual time can pause"),
            &tell,
        )?;
        tell.send(&Event::Bye { events: tell.sent(), clock_ns: monotonic_ns() })
    });
    match spoken {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("the agent could not continue: {e}");
            1
        }
    }
}

/// Watches standard input, which carries nothing after the job. The end of standard input means that nobody waits for the result.
fn hold_lifeline() {
    let mut rest = [0; 64];
    while matches!(io::stdin().read(&mut rest), Ok(n) if n > 0) {}
    exit_now(CUT);
}

/// Waits for the agent, ends it if it does not end, and cleans up.
fn keep(pid: i32, job: &Job) -> anyhow::Result<u8> {
    if let Some(code) = wait(pid)? {
        clean_up(job);
        return Ok(code);
    }
    eprintln!("could not kill the agent: {WHY_STUCK}");
    // A folder is on the filesystem that has probably hung, so removing it could hang too.
    remove_groups(&job.token);
    Ok(STUCK)
}

/// Removes named objects that a job's agent created on the host. Called by the supervisor, or by the host if the supervisor was
/// killed.
pub fn clean_up(job: &Job) {
    remove_groups(&job.token);
    if let Ok(storage) = storage::find(&job.storage) {
        storage.clean_up(job);
    }
}

/// The agent's exit code; `None` if it cannot be ended.
fn wait(pid: i32) -> anyhow::Result<Option<u8>> {
    let agent = Pid::from_raw(pid).context("the agent has no PID")?;
    let descriptor = pidfd_open(agent, PidfdFlags::empty()).context("could not watch the agent")?;
    let stdin = io::stdin();
    let mut lifeline = [
        PollFd::new(&descriptor, PollFlags::IN),
        PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty()),
    ];
    while poll(&mut lifeline, None) == Err(rustix::io::Errno::INTR) {}
    if !end(&descriptor, GRACE, || kill_process(agent, Signal::KILL)).context("could not stop the agent")? {
        return Ok(None);
    }
    match reap(true)?.map(|r| r.end) {
        Some(End::Exit(code)) => Ok(Some(u8::try_from(code).unwrap_or(u8::MAX))),
        Some(End::Signal(signal)) => Ok(Some(u8::try_from(128 + signal).unwrap_or(u8::MAX))),
        None => anyhow::bail!("the agent is not a child process"),
    }
}

/// Whether the process ends within `grace`, or, after it is killed, within another `grace`.
fn end(
    process: impl AsFd,
    grace: Duration,
    kill: impl FnOnce() -> rustix::io::Result<()>,
) -> io::Result<bool> {
    if ends_within(&process, grace)? {
        return Ok(true);
    }
    kill()?;
    ends_within(&process, grace)
}

fn remove_groups(token: &str) {
    memory_group::remove(token);
    device_group::remove(token);
    process_group::remove(token);
}

/// Removes cgroups of runs whose supervisor was killed too; keeps those of living runs.
pub fn remove_what_dead_runs_left() {
    memory_group::remove_orphans();
    device_group::remove_orphans();
    process_group::remove_orphans();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command};
    use std::time::Instant;

    const SHORT: Duration = Duration::from_millis(50);

    fn sleeping(seconds: &str) -> (Child, OwnedFd) {
        let child = Command::new("sleep").arg(seconds).spawn().unwrap();
        let descriptor = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        (child, descriptor)
    }

    #[test]
    fn what_ends_by_itself_is_not_killed() {
        let (mut child, descriptor) = sleeping("0.1");
        assert!(end(&descriptor, 100 * SHORT, || panic!("it was killed")).unwrap());
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn what_does_not_end_is_killed() {
        let (mut child, descriptor) = sleeping("60");
        let agent = Pid::from_child(&child);
        let begin = Instant::now();
        // Long enough for a busy machine; a killed process needs none of it.
        assert!(end(&descriptor, 40 * SHORT, || kill_process(agent, Signal::KILL)).unwrap());
        assert!(begin.elapsed() >= 40 * SHORT);
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn what_outlives_its_killing_is_not_waited_for_forever() {
        let (mut child, descriptor) = sleeping("60");
        let mut kills = 0;
        let kill = || {
            // Ignores the signal, like a process in uninterruptible sleep.
            kills += 1;
            Ok(())
        };
        assert!(!end(&descriptor, SHORT, kill).unwrap());
        assert_eq!(kills, 1);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
