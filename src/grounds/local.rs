//! An agent on this machine's own kernel: what `loop` and `directory` have in common.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rustix::fs::{MemfdFlags, memfd_create};

use super::stream::Events;
use super::{Ended, Launched, Missing, Next};
use crate::agent::find_program;
use crate::agent::protocol::Job;
use crate::filesystems::KernelNeed;
use crate::units::Bytes;

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
    Ok(Box::new(LocalAgent { child, lifeline: Some(lifeline), events: Events::new(events), console }))
}

struct LocalAgent {
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
        let fault = match self.child.wait() {
            Ok(status) if status.success() => String::new(),
            Ok(status) => status.to_string(),
            Err(e) => e.to_string(),
        };
        let mut text = String::new();
        let _ = self.console.rewind().and_then(|()| self.console.read_to_string(&mut text));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Ended { fault, console: lines[lines.len().saturating_sub(LAST_LINES)..].to_vec() }
    }
}

/// Whether the running kernel has one of these types, or a module that can be loaded for it.
pub fn kernel_serves(need: &KernelNeed) -> Result<(), Missing> {
    if known_types().any(|t| need.types.contains(&t.as_str())) {
        return Ok(());
    }
    if let Some(modprobe) = find_program("modprobe") {
        let loaded = |module: &&str| {
            let quiet = Command::new(&modprobe).args(["-q", module]).stderr(Stdio::null()).status();
            quiet.is_ok_and(|s| s.success())
        };
        let _ = need.modules.iter().filter(|module| loaded(module)).count();
    }
    if known_types().any(|t| need.types.contains(&t.as_str())) {
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
        what: format!("there is no {program} on this machine"),
        try_this: "fsderby doctor (it names the packages)".into(),
    };
    find_program(program).map(|_| ()).ok_or_else(missing)
}

/// Whether an image of this size fits into the folder, with some slack left; `elsewhere` says how to name another.
pub fn has_room(folder: &Path, size: Bytes, slack: u64, elsewhere: &str) -> Result<(), Missing> {
    let missing = |what: String, try_this: String| Err(Missing { what, try_this });
    let name = folder.display();
    let Ok(about) = std::fs::metadata(folder) else {
        return missing(format!("there is no folder {name} for images"), format!("mkdir, or {elsewhere}"));
    };
    if !about.is_dir() {
        return missing(format!("{name} is not a folder"), elsewhere.to_owned());
    }
    let free = rustix::fs::statvfs(folder).map_or(0, |s| s.f_bavail * s.f_frsize);
    if free < size.0 + slack {
        let what = format!(
            "an image of {size} needs that and {} free in {name}; free are {}",
            Bytes(slack),
            Bytes(free)
        );
        return missing(what, format!("a smaller --size, or {elsewhere} on another disk"));
    }
    Ok(())
}
