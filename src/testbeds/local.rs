//! An agent on this machine's kernel: the common part of `loop` and `directory`.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use fsderby_sys::process::can_isolate;
use procfs::Current;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;

use super::stream::Events;
use super::{Ended, Fault, Launched, Missing, Next};
use crate::agent::{STUCK, clean_up};
use crate::filesystems::KernelNeed;
use crate::host::{memory_group, programs};
use crate::schema::job::Job;
use crate::schema::units::Bytes;

/// Starts our binary as supervisor and agent, with this job.
pub fn launch(job: &Job) -> anyhow::Result<Box<dyn Launched>> {
    let console = File::from(
        memfd_create("fsderby-console", MemfdFlags::CLOEXEC).context("could not open the console file")?,
    );
    let mut command = Command::new("/proc/self/exe");
    command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(console.try_clone()?);
    let mut child = command.spawn().context("could not start the agent process")?;
    let (lifeline, events) = (child.stdin.take(), child.stdout.take());
    let mut lifeline = lifeline.context("the agent process has no standard input")?;
    let events = events.context("the agent process has no standard output")?;
    let line = format!("{}\n", serde_json::to_string(job)?);
    lifeline.write_all(line.as_bytes()).context("could not send the job to the agent")?;
    let events = Events::new(events);
    Ok(Box::new(LocalAgent { job: job.clone(), child, lifeline: Some(lifeline), events, console }))
}

struct LocalAgent {
    job: Job,
    child: Child,
    lifeline: Option<ChildStdin>,
    events: Events<ChildStdout>,
    console: File,
}

impl Launched for LocalAgent {
    fn next(&mut self, wait: Duration) -> Next {
        self.events.next(wait)
    }

    fn stop(&mut self) {
        self.lifeline = None;
    }

    fn end(mut self: Box<Self>) -> Ended {
        self.lifeline = None;
        let ended = self.child.wait();
        let code = ended.as_ref().ok().and_then(ExitStatus::code);
        // The supervisor has done this, unless it was killed or failed.
        if !code.is_some_and(|code| [0, i32::from(STUCK)].contains(&code)) {
            clean_up(&self.job);
        }
        let fault = match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(how(status)),
            Err(e) => Some(Fault::Lost(e.to_string())),
        };
        let mut text = String::new();
        let _ = self.console.rewind().and_then(|()| self.console.read_to_string(&mut text));
        let console = text.lines().map(str::to_owned).collect();
        Ended { fault, console, ..Ended::default() }
    }
}

/// A supervisor exits like its agent; like shells, it turns a signal's number into an exit code.
fn how(status: ExitStatus) -> Fault {
    Fault::Lost(match (status.signal(), status.code()) {
        (None, Some(code)) if code == i32::from(STUCK) => {
            return Fault::Hung("the agent does not die when killed".into());
        }
        (None, Some(code @ 129..)) => format!("killed by signal {}", code - 128),
        (None, Some(code)) => format!("exit code {code}"),
        (signal, _) => format!("the agent's supervisor was killed by signal {}", signal.unwrap_or(0)),
    })
}

/// Whether the running kernel has one of these filesystem types, or a module that it would load at a mount. Loads no module.
pub fn kernel_serves(need: &KernelNeed) -> Result<(), Missing> {
    let modprobe = programs::find("modprobe");
    let loadable = |fstype: &str| {
        let mut dry = Command::new(modprobe.as_ref()?);
        dry.args(["--dry-run", "--quiet", &format!("fs-{fstype}")]).stderr(Stdio::null());
        dry.status().ok().filter(ExitStatus::success)
    };
    // The type is the last word of a line; `procfs` does not read this file.
    let list = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let is_known = |fstype: &str| list.lines().any(|line| line.split_whitespace().last() == Some(fstype));
    if need.types.iter().any(|fstype| is_known(fstype) || loadable(fstype).is_some()) {
        return Ok(());
    }
    Err(Missing {
        what: format!("this kernel has no {}", need.types.join(" or ")),
        try_this: format!(
            "--on vm, or a kernel with the module {}",
            need.modules.last().unwrap_or(&"for it")
        ),
    })
}

/// Whether a program is installed here.
pub fn has_tool(program: &str) -> Result<(), Missing> {
    let missing = || Missing {
        what: match programs::find_unusable(program) {
            None => format!("{program} is not installed"),
            Some(path) => format!("{} is installed, but cannot be executed", path.display()),
        },
        try_this: "fsderby doctor, which names the packages".into(),
    };
    programs::find(program).map(|_| ()).ok_or_else(missing)
}

/// Whether trials can have namespaces: as root, each trial has its own.
///
/// # Errors
/// In a chroot whose root is no mount point, and in a container that allows no mounts.
pub fn isolates() -> Result<(), Missing> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let why = match can_isolate() {
        Ok(()) => return Ok(()),
        Err(e) if e.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            return Err(Missing {
                what: "no mount can be private here: / is not a mount point, as in a chroot".into(),
                try_this: "outside of it: mount --bind ROOT ROOT, then chroot ROOT".into(),
            });
        }
        Err(e) => e,
    };
    Err(Missing {
        what: format!("could not create namespaces, which every trial of root needs: {why}"),
        try_this:
            "outside of the container, or one that may mount (docker run --privileged), or --on model:DISK"
                .into(),
    })
}

/// Whether a memory limit can be set, and limits anything: one above the machine's memory would not.
///
/// # Errors
/// If there is a limit that cannot be enforced.
pub fn limits_memory(limit: Option<Bytes>) -> Result<(), Missing> {
    let Some(limit) = limit else { return Ok(()) };
    if memory_group::version() == 0 {
        return Err(Missing {
            what: "no memory limit can be set: this kernel has no cgroup memory controller".into(),
            try_this: "--memory none".into(),
        });
    }
    let here = procfs::Meminfo::current().map_or(u64::MAX, |memory| memory.mem_total);
    if limit.0 > here {
        return Err(Missing {
            what: format!("a memory limit of {limit} has no effect: this machine has {}", Bytes(here)),
            try_this: "a smaller --memory, or --memory none".into(),
        });
    }
    Ok(())
}

/// Whether an image of this size fits into the folder, with slack; `elsewhere` tells how to name another folder.
pub fn has_room(folder: &Path, size: Bytes, slack: u64, elsewhere: &str) -> Result<(), Missing> {
    let missing = |what: String, try_this: String| Err(Missing { what, try_this });
    let name = folder.display();
    let about = match std::fs::metadata(folder) {
        Ok(about) => about,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            return missing(
                format!("the folder {name} for images does not exist"),
                format!("mkdir, or {elsewhere}"),
            );
        }
        Err(e) => {
            return missing(
                format!("could not stat {name}, the folder for images: {e}"),
                elsewhere.to_owned(),
            );
        }
    };
    if !about.is_dir() {
        return missing(format!("{name} is not a directory"), elsewhere.to_owned());
    }
    if let Err(why) = rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) {
        let what = format!("could not create images in {name}: {why}");
        return missing(what, format!("{elsewhere} on another disk"));
    }
    let free = match rustix::fs::statvfs(folder) {
        Ok(s) => s.f_bavail * s.f_frsize,
        Err(e) => {
            return missing(format!("could not read the free space of {name}: {e}"), elsewhere.to_owned());
        }
    };
    if free < size.0.saturating_add(slack) {
        let what = format!(
            "an image in {name} needs {size} plus {reserve} of free space; only {free} are free",
            reserve = Bytes(slack),
            free = Bytes(free)
        );
        return missing(what, format!("a smaller --size, or {elsewhere} on another disk"));
    }
    Ok(())
}
