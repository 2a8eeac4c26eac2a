//! An agent's events, read from a pipe.

use std::io::Read;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Next, Stamped};
use crate::agent::channel::decode;
use crate::agent::monotonic_ns;

pub struct Events<R> {
    pipe: R,
    lines: Lines,
}

/// Received bytes, and the events in them.
#[derive(Default)]
pub struct Lines {
    /// An incomplete line.
    unread: Vec<u8>,
    expected: u64,
}

impl<R: Read + AsFd> Events<R> {
    pub fn new(pipe: R) -> Self {
        Events { pipe, lines: Lines::default() }
    }

    pub fn next(&mut self, wait: Duration) -> Next {
        if let Some(next) = self.lines.take() {
            return next;
        }
        match self.wait_readable(wait) {
            Ok(false) => return Next::Quiet,
            Err(_) => return Next::Ended,
            Ok(true) => {}
        }
        let mut bytes = [0; 65536];
        match self.pipe.read(&mut bytes) {
            Ok(0) | Err(_) => Next::Ended,
            Ok(length) => {
                self.lines.push(&bytes[..length]);
                self.lines.take().unwrap_or(Next::Quiet)
            }
        }
    }

    fn wait_readable(&self, wait: Duration) -> rustix::io::Result<bool> {
        let timeout =
            Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
        match poll(&mut [PollFd::from_borrowed_fd(self.pipe.as_fd(), PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            other => Ok(other? > 0),
        }
    }
}

impl Lines {
    pub fn push(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    pub fn take(&mut self) -> Option<Next> {
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
}
