//! Processes that take turns of some milliseconds, all others stopped meanwhile, so that whatever the machine does beside
//! strikes all of them alike. A process's time is the sum of its turns.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, pidfd_open, waitpid};
use rustix::time::Timespec;

/// Long beside what a change of process costs in caches, short beside what else goes on in a machine.
const TURN: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A process that runs only in its turns.
pub struct Contestant {
    child: Child,
    watch: OwnedFd,
    pub took: Duration,
    has_ended: bool,
}

impl Contestant {
    /// Started and stopped: at once, or where it `prepares` itself when it waits for its turn.
    pub fn start(command: &[&str], place: &Path, prepares: bool) -> anyhow::Result<Self> {
        let begin = Instant::now();
        let child = Command::new(command[0])
            .args(&command[1..])
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("could not run {}", command[0]))?;
        let pid = Pid::from_child(&child);
        let watch = pidfd_open(pid, PidfdFlags::empty())?;
        if !prepares {
            kill_process(pid, Signal::STOP)?;
        }
        let status = waitpid(Some(pid), WaitOptions::UNTRACED)?;
        ensure!(status.is_some_and(|(_, status)| status.stopped()), "{} ended early", command.join(" "));
        let took = if prepares { Duration::ZERO } else { begin.elapsed() };
        Ok(Contestant { child, watch, took, has_ended: false })
    }

    fn turn(&mut self) -> anyhow::Result<()> {
        if self.has_ended {
            return Ok(());
        }
        let pid = Pid::from_child(&self.child);
        let begin = Instant::now();
        kill_process(pid, Signal::CONT)?;
        self.has_ended = poll(&mut [PollFd::new(&self.watch, PollFlags::IN)], Some(&TURN))? == 1;
        if self.has_ended {
            self.took += begin.elapsed();
            let status = self.child.wait()?;
            ensure!(status.success(), "a contestant ended with {status}");
        } else {
            kill_process(pid, Signal::STOP)?;
            self.took += begin.elapsed();
        }
        Ok(())
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Turns in these orders, from the `first` on, until all have ended. Who comes after whom changes: each finds the caches as
/// the one before has left them.
pub fn race<const N: usize>(
    all: &mut [Contestant; N],
    orders: &[[usize; N]],
    first: usize,
) -> anyhow::Result<()> {
    for order in orders.iter().cycle().skip(first) {
        if all.iter().all(|contestant| contestant.has_ended) {
            break;
        }
        for &number in order {
            all[number].turn()?;
        }
    }
    Ok(())
}

/// Ready to work, but not before its turn.
pub fn wait_for_turn() -> anyhow::Result<()> {
    Ok(kill_process(getpid(), Signal::STOP)?)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
    (values[low] + values[high]) / 2.0
}
