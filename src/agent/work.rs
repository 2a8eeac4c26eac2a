//! Starts a worker, receives its result, and determines how it died.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fsderby_sys::gate::SharedGate;
use fsderby_sys::inherit::Inherited;
use fsderby_sys::process::{tied_command, was_continued};
use fsderby_sys::shared::SharedProgress;
use rustix::fs::{MemfdFlags, memfd_create};

use super::worker::{OVER, Orders, READY, WorkerReport};
use super::{StepError, tools};
use crate::devices::is_init_of_machine;
use crate::host::{control_group, memory_group};
use crate::schema::job::WorkJob;
use crate::schema::setup::Identity;

/// Time for a worker to end when it has nothing more to do.
pub const TO_END: Duration = Duration::from_secs(5);

const OUT_OF_MEMORY: &str = "the workload ran out of memory; try a larger --memory or a smaller --scale";

/// A worker that is ready and waits at its gate.
pub struct Worker {
    child: Child,
    output: BufReader<ChildStdout>,
    errors: File,
    progress: Arc<SharedProgress>,
    memory_group: Option<PathBuf>,
    /// The number of processes that the kernel had killed for want of memory, before the worker started.
    killed_before: Option<u64>,
}

/// The parameters for starting a worker.
pub struct Start<'a> {
    /// The worker's folder as a descriptor, because a path could be redirected.
    pub place: BorrowedFd<'a>,
    pub work: &'a WorkJob,
    /// The seed of this worker among all clients.
    pub seed: u64,
    pub gate: &'a SharedGate,
    pub memory_group: Option<PathBuf>,
    /// The cgroup for programs that the worker starts; `None` without such a cgroup.
    pub process_group: Option<PathBuf>,
    pub identity: Option<Identity>,
    pub root: Option<PathBuf>,
    /// Whether the worker reports its last operation at once.
    pub says_over: bool,
    /// The mount point of the disk from which the worker copies.
    pub source: Option<PathBuf>,
}

fn fault(e: io::Error) -> StepError {
    StepError::io("start", "the workload", e).of_machine()
}

/// How many processes the kernel has killed for want of memory: of the cgroup, or of a guest, which has none. On a host without a
/// cgroup they could be anybody's.
fn killed(group: Option<&Path>) -> Option<u64> {
    let of_guest = || is_init_of_machine().then(memory_group::killed_by_kernel).flatten();
    group.map_or_else(of_guest, memory_group::killed)
}

impl Worker {
    /// Starts a worker; returns when the worker has prepared everything that is not timed.
    pub fn start(start: Start<'_>) -> Result<Self, StepError> {
        let progress = Arc::new(SharedProgress::new().map_err(fault)?);
        let errors =
            File::from(memfd_create("fsderby-errors", MemfdFlags::CLOEXEC).map_err(|e| fault(e.into()))?);
        let mut command = tied_command("/proc/self/exe");
        // Changed between fork and exec, when the child has this descriptor too.
        command.arg("worker").current_dir(format!("/proc/self/fd/{}", start.place.as_raw_fd()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors.try_clone().map_err(fault)?);
        let mut inherited = Inherited::default();
        let shared = inherited.path(progress.descriptor()).map_err(fault)?;
        let gate = inherited.path(start.gate.descriptor()).map_err(fault)?;
        inherited.hand_to(&mut command);
        let killed_before = killed(start.memory_group.as_deref());
        let mut child = command.spawn().map_err(fault)?;
        for group in [&start.memory_group, &start.process_group].into_iter().flatten() {
            control_group::add(group, child.id()).map_err(fault)?;
        }
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(mut input), Some(output)) = (input, output) else {
            return Err(fault(io::Error::other("its pipes are missing")));
        };
        let output = BufReader::new(output);
        let mut worker =
            Worker { child, output, errors, progress, memory_group: start.memory_group, killed_before };
        let orders = Orders {
            work: start.work.clone(),
            identity: start.identity,
            root: start.root,
            progress: shared.into(),
            seed: start.seed,
            gate: gate.into(),
            says_over: start.says_over,
            source: start.source,
        };
        let orders = serde_json::to_string(&orders).map_err(|e| fault(e.into()))?;
        input.write_all(format!("{orders}\n").as_bytes()).map_err(fault)?;
        let word = worker.hear().map_err(fault)?;
        if word.trim_end() == READY {
            return Ok(worker);
        }
        let died = worker.died("prepare");
        // The memory limit is a condition of the experiment, which the candidates may meet differently.
        Err(if worker.is_out_of_memory() { died } else { died.of_machine() })
    }

    /// The worker's progress.
    pub fn progress(&self) -> &Arc<SharedProgress> {
        &self.progress
    }

    /// The descriptor of the worker's output.
    pub fn voice(&self) -> BorrowedFd<'_> {
        self.output.get_ref().as_fd()
    }

    /// The worker's result at the end of its work. Calls `over` after the last operation, if the worker reports that operation.
    pub fn told(&mut self, over: &mut dyn FnMut()) -> Result<WorkerReport, StepError> {
        let fault = |e: io::Error| StepError::io("run", "the workload", e);
        let mut line = self.hear().map_err(fault)?;
        if line.trim_end() == OVER {
            over();
            line = self.hear().map_err(fault)?;
        }
        let told = serde_json::from_str(&line).map_err(|_| self.died("run"))?;
        Ok(match told {
            // A program that it started may have been killed instead of it.
            WorkerReport::Failed { operation, path, errno, text, blame } if self.is_out_of_memory() => {
                let text = format!("{text}; {OUT_OF_MEMORY}");
                WorkerReport::Failed { operation, path, errno, text, blame }
            }
            told => told,
        })
    }

    /// Waits for the worker's end; kills the worker at `limit` after `begin`.
    pub fn ends(&mut self, begin: Instant, limit: Duration) -> Result<ExitStatus, StepError> {
        let fault = |e: io::Error| StepError::io("wait for", "the workload", e);
        if let Some(status) = self.child.try_wait().map_err(fault)? {
            return Ok(status);
        }
        // A process stuck in a system call may never end.
        tools::ends_in_time(self.child.id(), begin, limit)??;
        // By its number: another child may have ended too.
        self.child.wait().map_err(fault)
    }

    /// Whether the worker was stopped and continued by signals.
    pub fn was_continued(&self) -> bool {
        was_continued(self.child.id())
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    fn hear(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line)
    }

    fn is_out_of_memory(&self) -> bool {
        let now = killed(self.memory_group.as_deref());
        self.killed_before.zip(now).is_some_and(|(before, now)| now > before)
    }

    /// An error with the worker's last error output, and how the worker ended.
    fn died(&mut self, operation: &str) -> StepError {
        let ended = self.ends(Instant::now(), TO_END);
        let mut words = String::new();
        let _ = self.errors.rewind().and_then(|()| self.errors.read_to_string(&mut words));
        let how = match ended {
            Err(e) => e.text,
            Ok(status) => match (status.signal(), status.code()) {
                (Some(9), _) if self.is_out_of_memory() => OUT_OF_MEMORY.to_owned(),
                (Some(signal), _) => format!("the workload was killed by signal {signal}"),
                (None, code) => format!("the workload ended with exit code {}", code.unwrap_or_default()),
            },
        };
        let words = words.trim();
        let text = if words.is_empty() { how } else { format!("{words} ({how})") };
        StepError::new(operation, "the workload", text)
    }
}
