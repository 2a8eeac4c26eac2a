//! Starts the worker, tells it when, watches it, and hears what it did.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use fsderby_sys::inherit::Inherited;
use fsderby_sys::process::{End, tied_command};
use fsderby_sys::shared::{Progress, SharedProgress};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};

use super::worker::{GO, OVER, Orders, READY, Told};
use super::{StepError, tools};
use crate::host::memory_group;
use crate::schema::job::WorkJob;
use crate::schema::setup::Identity;

/// A worker that is ready and waits for its signal.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    errors: File,
    progress: SharedProgress,
    memory_group: Option<PathBuf>,
}

/// How to start one.
pub struct Start<'a> {
    /// Where it works: no path, which another could lead elsewhere.
    pub place: BorrowedFd<'a>,
    pub work: &'a WorkJob,
    pub memory_group: Option<PathBuf>,
    pub identity: Option<Identity>,
    pub root: Option<PathBuf>,
    /// Whether it is to be heard at once when its last operation is done.
    pub says_over: bool,
}

impl Worker {
    /// Returns when it has prepared everything that is not to be timed.
    pub fn start(start: Start<'_>) -> Result<Self, StepError> {
        let fault = |e: io::Error| StepError::io("start", "the workload", e);
        let progress = SharedProgress::new().map_err(fault)?;
        let errors =
            File::from(memfd_create("fsderby-errors", MemfdFlags::CLOEXEC).map_err(|e| fault(e.into()))?);
        let mut command = tied_command("/proc/self/exe");
        // Changed to between fork and exec, when the child has this descriptor too.
        command.arg("worker").current_dir(format!("/proc/self/fd/{}", start.place.as_raw_fd()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors.try_clone().map_err(fault)?);
        let mut inherited = Inherited::default();
        let shared = inherited.path(progress.descriptor()).map_err(fault)?;
        inherited.hand_to(&mut command);
        let mut child = command.spawn().map_err(fault)?;
        if let Some(group) = &start.memory_group {
            memory_group::add(group, child.id()).map_err(fault)?;
        }
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            return Err(StepError::new("start", "the workload", "its pipes are missing"));
        };
        let mut worker = Worker {
            child,
            input,
            output: BufReader::new(output),
            errors,
            progress,
            memory_group: start.memory_group,
        };
        let orders = Orders {
            work: start.work.clone(),
            identity: start.identity,
            root: start.root,
            progress: shared.into(),
            says_over: start.says_over,
        };
        worker.say(&serde_json::to_string(&orders).map_err(|e| fault(e.into()))?).map_err(fault)?;
        let word = worker.hear().map_err(fault)?;
        if word.trim_end() == READY { Ok(worker) } else { Err(worker.died("prepare")) }
    }

    /// Lets it work to its end. `tick` is called about every `every`, and never when that is absent; `over` when the last operation
    /// is done, where the worker says so.
    pub fn go(
        mut self,
        limit: Duration,
        every: Option<Duration>,
        tick: &mut dyn FnMut(&Progress),
        over: &mut dyn FnMut(),
    ) -> Result<Told, StepError> {
        let fault = |e: io::Error| StepError::io("run", "the workload", e);
        let begin = Instant::now();
        self.say(GO).map_err(fault)?;
        while !self
            .has_spoken(every.unwrap_or(limit).min(limit.saturating_sub(begin.elapsed())))
            .map_err(fault)?
        {
            if begin.elapsed() >= limit {
                let _ = self.child.kill();
                let text = format!("took longer than {} s", limit.as_secs());
                return Err(StepError::new("run", "the workload", text));
            }
            if every.is_some() {
                tick(&self.progress);
            }
        }
        let mut line = self.hear().map_err(fault)?;
        if line.trim_end() == OVER {
            over();
            line = self.hear().map_err(fault)?;
        }
        let Ok(told) = serde_json::from_str(&line) else { return Err(self.died("run")) };
        tools::wait(self.child.id(), begin, limit.max(begin.elapsed() + Duration::from_secs(5)))?;
        Ok(told)
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        self.input.write_all(format!("{line}\n").as_bytes())
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line)
    }

    fn has_spoken(&self, wait: Duration) -> io::Result<bool> {
        let timeout =
            Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
        match poll(
            &mut [PollFd::from_borrowed_fd(self.output.get_ref().as_fd(), PollFlags::IN)],
            Some(&timeout),
        ) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            other => Ok(other? > 0),
        }
    }

    fn is_out_of_memory(&self) -> bool {
        self.memory_group.as_deref().and_then(memory_group::killed).is_some_and(|n| n > 0)
    }

    /// Its last words, and how it ended.
    fn died(&mut self, operation: &str) -> StepError {
        let ended = tools::wait(self.child.id(), Instant::now(), Duration::from_secs(5));
        let mut words = String::new();
        let _ = self.errors.rewind().and_then(|()| self.errors.read_to_string(&mut words));
        let how = match ended.map(|r| r.end) {
            Ok(End::Signal(9)) if self.is_out_of_memory() => {
                "it ran out of memory; try a larger --memory or a smaller --scale".to_owned()
            }
            Ok(End::Signal(signal)) => format!("it was ended by signal {signal}"),
            Ok(End::Exit(code)) => format!("it ended with exit code {code}"),
            Err(e) => e.text,
        };
        let words = words.trim();
        let text = if words.is_empty() { how } else { format!("{words} ({how})") };
        StepError::new(operation, "the workload", text)
    }
}
