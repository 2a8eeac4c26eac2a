//! The process between host and agent: it outlives both and removes what has a name.

use std::io::{self, BufRead, Read};
use std::os::fd::AsFd;
use std::time::Duration;

use anyhow::Context;
use fsderby_sys::process::{End, Fork, die_with_parent, exit_now, fork, isolate, reap};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use super::channel::Teller;
use super::{monotonic_ns, trial};
use crate::host::memory_group;
use crate::schema::event::Event;
use crate::schema::job::{Job, PROTOCOL};
use crate::storage;

/// How long an agent may take to end after its lifeline was cut.
const GRACE: Duration = Duration::from_secs(10);
/// What the agent ends with when its lifeline was cut.
const CUT: i32 = 130;

/// The hidden role `agent`: reads one job from standard input, carries it out, writes events to standard output.
/// Returns the agent's exit code.
pub fn main() -> anyhow::Result<u8> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("could not read the job")?;
    let job: Job = serde_json::from_str(&line).context("could not understand the job")?;
    anyhow::ensure!(
        job.protocol == PROTOCOL,
        "the job speaks protocol {}, this agent {PROTOCOL}",
        job.protocol
    );
    anyhow::ensure!(!job.guest, "a job for a guest is no job for this machine");
    // A session of its own: the terminal's Ctrl-C is the host's to answer.
    let _ = rustix::process::setsid();
    let root = rustix::process::geteuid().is_root();
    if root {
        isolate().context("could not make namespaces for the agent")?;
    }
    match fork().context("could not start the agent")? {
        Fork::Child => exit_now(i32::from(agent(&job))),
        Fork::Parent(pid) => keep(pid, &job),
    }
}

/// The agent proper; in namespaces of its own it is their init.
fn agent(job: &Job) -> u8 {
    let spoken = die_with_parent().and_then(|()| {
        std::thread::Builder::new().name("lifeline".into()).spawn(hold_lifeline)?;
        let tell = Teller::new(io::stdout());
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        let build = env!("CARGO_PKG_VERSION").to_owned();
        tell.send(&Event::Hello { protocol: PROTOCOL, build, kernel, clock_ns: monotonic_ns() })?;
        trial::carry_out(job, &tell)?;
        tell.send(&Event::Bye { events: tell.sent(), clock_ns: monotonic_ns() })
    });
    match spoken {
        Ok(()) => 0,
        Err(e) => {
            eprintln!("the agent could not go on: {e}");
            1
        }
    }
}

/// Standard input never says anything after the job. Its end means that nobody waits for the result.
fn hold_lifeline() {
    let mut rest = [0; 64];
    while matches!(io::stdin().read(&mut rest), Ok(n) if n > 0) {}
    exit_now(CUT);
}

/// Waits for the agent's end, ends it where it does not, and cleans up.
fn keep(pid: i32, job: &Job) -> anyhow::Result<u8> {
    let code = wait(pid)?;
    clean_up(job);
    Ok(code)
}

/// Removes what a job's agent made on the host under a name. For whoever outlives it: the supervisor, or the host where the
/// supervisor was killed.
pub fn clean_up(job: &Job) {
    memory_group::remove(&job.token);
    if let Ok(storage) = storage::find(&job.storage) {
        storage.clean_up(job);
    }
}

fn wait(pid: i32) -> anyhow::Result<u8> {
    let agent = Pid::from_raw(pid).context("the agent has no process number")?;
    let descriptor = pidfd_open(agent, PidfdFlags::empty()).context("could not watch the agent")?;
    let stdin = io::stdin();
    let mut lifeline = [
        PollFd::new(&descriptor, PollFlags::IN),
        PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::empty()),
    ];
    while poll(&mut lifeline, None) == Err(rustix::io::Errno::INTR) {}
    if !lifeline[0].revents().contains(PollFlags::IN) {
        let mut ended = [PollFd::new(&descriptor, PollFlags::IN)];
        let grace = rustix::time::Timespec { tv_sec: GRACE.as_secs().cast_signed(), tv_nsec: 0 };
        if poll(&mut ended, Some(&grace)) == Ok(0) {
            kill_process(agent, Signal::KILL).context("could not end the agent")?;
        }
    }
    match reap(true)?.map(|r| r.end) {
        Some(End::Exit(code)) => Ok(u8::try_from(code).unwrap_or(u8::MAX)),
        Some(End::Signal(signal)) => Ok(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        None => anyhow::bail!("the agent is nobody's child"),
    }
}

/// Removes memory groups of runs whose supervisor was killed too. Groups of living runs are left alone.
pub fn remove_what_dead_runs_left() {
    memory_group::remove_orphans();
}
