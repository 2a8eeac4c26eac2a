//! What a guest finds when it starts: our own program as its init, modules, tools with their libraries, the jobs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

use super::closure::{Closure, is_static};
use super::cpio::Archive;
use super::kernel::Kernel;
use super::slim;
use crate::agent::find_program;
use crate::agent::protocol::{Job, Step};
use crate::filesystems::Mount;

/// What tools read, where it is there.
const CONFIGURATION: [&str; 1] = ["/etc/mke2fs.conf"];

/// The archive for a guest whose job needs these modules and programs; `boot` are the modules that bring the disk.
pub fn base(kernel: &Kernel, agent: &Path, job: &Job, boot: &[&str]) -> anyhow::Result<Vec<u8>> {
    shared(kernel, agent, &Wants::of(std::slice::from_ref(job)), boot)
}

/// What jobs want in their guest, whatever their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wants {
    modules: Vec<String>,
    programs: BTreeSet<String>,
}

impl Wants {
    pub fn of(jobs: &[Job]) -> Self {
        let lists: BTreeSet<&[String]> = jobs.iter().map(|job| job.modules.as_slice()).collect();
        let programs = jobs.iter().flat_map(|job| job.steps.iter().filter_map(program));
        Wants {
            modules: lists.into_iter().flatten().cloned().collect(),
            programs: programs.map(str::to_owned).collect(),
        }
    }
}

/// The archive for guests that want this.
pub fn shared(kernel: &Kernel, agent: &Path, wants: &Wants, boot: &[&str]) -> anyhow::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in ["/dev", "/proc", "/sys", "/run", "/tmp", "/mnt", "/etc"] {
        archive.folder(folder);
    }
    // The kernel opens it for init before init can mount anything.
    archive.device("/dev/console", 5, 1);
    archive.link("/etc/mtab", "/proc/mounts");
    archive.file("/init", &init(agent)?);
    modules(&mut archive, kernel, boot, &wants.modules)?;
    tools(&mut archive, &wants.programs)?;
    Ok(archive.finish())
}

/// The archive behind it, with the job and what belongs to it.
pub fn job(job: &Job, files: &[(&str, &[u8])]) -> anyhow::Result<Vec<u8>> {
    jobs(std::slice::from_ref(job), files)
}

/// The same with several jobs, one a line.
pub fn jobs(jobs: &[Job], files: &[(&str, &[u8])]) -> anyhow::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for (path, bytes) in files {
        archive.file(path, bytes);
    }
    let lines: Result<Vec<String>, _> = jobs.iter().map(serde_json::to_string).collect();
    archive.file("/job.json", lines?.join("\n").as_bytes());
    Ok(archive.finish())
}

/// The archive of a guest that has nothing to do.
pub fn idle(kernel: &Kernel, agent: &Path) -> anyhow::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in ["/dev", "/proc", "/sys", "/run", "/tmp"] {
        archive.folder(folder);
    }
    archive.device("/dev/console", 5, 1);
    archive.file("/init", &init(agent)?);
    modules(&mut archive, kernel, &super::BOOT, &[])?;
    Ok(archive.finish())
}

fn init(agent: &Path) -> anyhow::Result<Vec<u8>> {
    let program = fs::read(agent).context("could not read our own program")?;
    ensure!(
        is_static(&program)?,
        "this fsderby is a dynamic binary, which cannot be the init of a guest\n  try: build it from a clone (.cargo/config.toml makes it static)"
    );
    slim::program(program)
}

fn modules(archive: &mut Archive, kernel: &Kernel, boot: &[&str], wanted: &[String]) -> anyhow::Result<()> {
    let modules = &kernel.index.modules;
    let release = &kernel.index.release;
    let lacks = || format!("the kernel {release} cannot serve");
    let boot = modules.chain(boot.iter().copied()).with_context(lacks)?;
    let mut job = modules.chain(wanted.iter().map(String::as_str)).with_context(lacks)?;
    job.retain(|name| !boot.contains(name));
    for name in boot.iter().chain(&job) {
        archive.file(&format!("/modules/{name}.ko"), &slim::module(kernel.module(name)?)?);
    }
    archive.file("/modules/boot", boot.join("\n").as_bytes());
    archive.file("/modules/job", job.join("\n").as_bytes());
    Ok(())
}

fn tools(archive: &mut Archive, programs: &BTreeSet<String>) -> anyhow::Result<()> {
    let mut closure = Closure::new();
    for program in programs {
        let path = find_program(program).with_context(|| format!("there is no {program} on this machine"))?;
        closure.add(&path)?;
    }
    for (path, bytes) in &closure.files {
        archive.file(path, bytes);
    }
    for path in CONFIGURATION {
        if let Ok(text) = fs::read(path) {
            archive.file(path, &text);
        }
    }
    Ok(())
}

fn program(step: &Step) -> Option<&str> {
    let argv = match step {
        Step::Make { argv } | Step::Revert { argv } => argv,
        Step::Check { check, .. } | Step::Repair { check } => &check.argv,
        Step::Mount { mount: Mount::Command { argv, .. } }
        | Step::MountAgain { mount: Mount::Command { argv, .. } } => argv,
        _ => return None,
    };
    argv.first().map(String::as_str)
}
