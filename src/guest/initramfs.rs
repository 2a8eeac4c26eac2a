//! The initramfs of a guest: this program as init, modules, tools with libraries, and the job.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, ensure};

use super::bundle::{AGENT, Bundle};
use super::closure::{Closure, Files, Here, is_static};
use super::copies::Copies;
use super::cpio::Archive;
use super::kernel::Kernel;
use super::modules::Modules;
use super::slim;
use super::tree::CONFIGURATION;
use crate::schema::job::{Job, Step};
use crate::schema::setup::Mount;
use crate::schema::units::{Bytes, MIB};

/// What a kernel takes of a guest's memory until its first program runs, generously.
const KERNEL: u64 = 72 * MIB;
/// The largest number of bases in memory; each has a few megabytes.
const KEPT: usize = 32;

/// The inputs of guests except the job. Jobs with equal requirements share one base.
pub struct Bases {
    /// The modules for the disk.
    boot: &'static [&'static str],
    built: Mutex<HashMap<Wants, Arc<Base>>>,
}

/// The origin of a guest's inputs.
#[derive(Clone, Copy)]
pub enum Origin<'a> {
    /// A cached kernel, this machine's programs, and this program as agent.
    Here { kernel: &'a Kernel, agent: &'a Path },
    /// A bundle with its kernel; nothing comes from this machine.
    Bundle { kernel: &'a Kernel, bundle: &'a Bundle },
}

impl<'a> Origin<'a> {
    /// The origin of a guest's inputs: the bundle if one is given, otherwise this machine.
    pub fn new(kernel: &'a Kernel, agent: &'a Path, bundle: Option<&'a Bundle>) -> Self {
        match bundle {
            Some(bundle) => Origin::Bundle { kernel, bundle },
            None => Origin::Here { kernel, agent },
        }
    }

    fn kernel(&self) -> &Kernel {
        match self {
            Origin::Here { kernel, .. } | Origin::Bundle { kernel, .. } => kernel,
        }
    }

    fn files(&self) -> &dyn Files {
        match self {
            Origin::Here { .. } => &Here,
            Origin::Bundle { bundle, .. } => *bundle,
        }
    }

    fn agent(&self) -> anyhow::Result<Vec<u8>> {
        match self {
            Origin::Here { agent, .. } => fs::read(agent).context("could not read the fsderby binary"),
            Origin::Bundle { bundle, .. } => bundle.file(AGENT),
        }
    }
}

/// Two archives, unpacked in order. Equal inputs give equal bytes.
pub struct Base {
    /// Modules, and tools with their libraries.
    pub tools: Archived,
    /// The agent, as the guest's init.
    pub program: Archived,
    /// Memory that copied files take when they are unpacked.
    copied: Bytes,
    /// Hashes of the copied files, by package.
    packages: BTreeMap<String, String>,
}

pub struct Archived {
    pub bytes: Vec<u8>,
    pub blake3: String,
}

impl Bases {
    pub fn new(boot: &'static [&'static str]) -> Self {
        Bases { boot, built: Mutex::default() }
    }

    /// For a guest with this job, and with these files of this machine.
    pub fn base(&self, origin: Origin<'_>, job: &Job, copies: Option<&Copies>) -> anyhow::Result<Arc<Base>> {
        let wants = Wants { copies: copies.map(Copies::blake3), ..Wants::of(job) };
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = built.get(&wants) {
            return Ok(base.clone());
        }
        let tools = Archived::new(tools(origin, &wants, copies, self.boot)?);
        let program = Archived::new(program(origin.agent()?)?);
        let copied = copies.map_or(Bytes(0), Copies::bytes);
        let packages = copies.map(Copies::packages).unwrap_or_default();
        let base = Arc::new(Base { tools, program, copied, packages });
        if built.len() >= KEPT {
            built.clear();
        }
        built.insert(wants, base.clone());
        Ok(base)
    }
}

impl Archived {
    fn new(bytes: Vec<u8>) -> Self {
        Archived { blake3: blake3::hash(&bytes).to_hex().to_string(), bytes }
    }
}

impl Base {
    /// All memory of a guest whose usual memory is this. While it boots it holds each file twice, packed and unpacked, and its root,
    /// a tmpfs, takes only half of what kernel and packed files leave. Copied files are always beside the usual memory; tools and
    /// program only as far as they do not fit into it.
    pub fn memory(&self, usual: Bytes) -> Bytes {
        let all = (self.tools.bytes.len() + self.program.bytes.len()) as u64;
        let own = all.saturating_sub(self.copied.0);
        let least = 3 * own + KERNEL;
        Bytes(usual.0.max(least.next_multiple_of(MIB)) + (2 * self.copied.0).next_multiple_of(MIB))
    }

    /// A kernel's argument for them: the usual root, a tmpfs, takes only half of the memory.
    pub fn root(&self) -> &'static str {
        if self.copied.0 > 0 { " rootfstype=ramfs" } else { "" }
    }

    /// By name, for a record: with the packages whose files were copied, so that a repetition elsewhere names what differs.
    pub fn hashes(&self) -> impl Iterator<Item = (&str, String)> {
        let archives = [("tools", self.tools.blake3.clone()), ("program", self.program.blake3.clone())];
        archives.into_iter().chain(self.packages.iter().map(|(name, hash)| (name.as_str(), hash.clone())))
    }
}

/// A job's requirements on its guest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wants {
    modules: Vec<String>,
    programs: BTreeSet<String>,
    /// Hash of the copies of this machine's files.
    copies: Option<String>,
}

impl Wants {
    fn of(job: &Job) -> Self {
        let programs = job.steps.iter().filter_map(command).map(str::to_owned);
        Wants {
            modules: job.modules.clone(),
            programs: programs.chain(job.programs.iter().cloned()).collect(),
            copies: None,
        }
    }
}

fn tools(
    origin: Origin<'_>,
    wants: &Wants,
    copies: Option<&Copies>,
    boot: &[&str],
) -> anyhow::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in ["/dev", "/proc", "/sys", "/run", "/tmp", "/mnt", "/etc"] {
        archive.folder(folder);
    }
    // The kernel opens /dev/console for init before init can mount anything.
    archive.device("/dev/console", 5, 1);
    archive.link("/etc/mtab", "/proc/mounts");
    let kernel = origin.kernel();
    modules(&mut archive, kernel, &kernel.index.modules, boot, &wants.modules)?;
    if let Some(copies) = copies {
        copies.put(&mut archive);
    }
    programs(&mut archive, origin.files(), &wants.programs)?;
    Ok(archive.finish())
}

fn program(agent: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    let mut archive = Archive::default();
    archive.file("/init", &init(agent)?);
    Ok(archive.finish())
}

/// The last archive of the initramfs, with the job and the job's files.
pub fn job(job: &Job, files: &[(&str, &[u8])]) -> anyhow::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for (path, bytes) in files {
        archive.file(path, bytes);
    }
    archive.file("/job.json", serde_json::to_string(job)?.as_bytes());
    Ok(archive.finish())
}

/// A machine without a job: an idle guest, or one with more modules and programs and its own init.
pub struct Bare<'a> {
    pub kernel: &'a Kernel,
    pub init: &'a Path,
    /// The modules for the machine's disks and port.
    pub boot: &'a [&'a str],
    /// Further modules; modules that only a host needs are allowed too.
    pub modules: &'a [String],
    /// Names or paths of programs of this machine.
    pub programs: &'a [String],
}

impl Bare<'_> {
    /// The archive of the machine.
    ///
    /// # Errors
    /// If a module or program is missing, or the init is not static.
    pub fn archive(&self) -> anyhow::Result<Vec<u8>> {
        let mut archive = Archive::default();
        for folder in ["/dev", "/proc", "/sys", "/run", "/tmp"] {
            archive.folder(folder);
        }
        archive.device("/dev/console", 5, 1);
        let program = fs::read(self.init);
        let program = program.with_context(|| format!("could not read {}", self.init.display()))?;
        archive.file("/init", &init(program)?);
        let known = self.kernel.index.with_hosts();
        modules(&mut archive, self.kernel, &known, self.boot, self.modules)?;
        if !self.programs.is_empty() {
            programs(&mut archive, &Here, &self.programs.iter().cloned().collect())?;
        }
        Ok(archive.finish())
    }
}

/// A program as a guest's init; unchanged if already converted.
pub(super) fn init(program: Vec<u8>) -> anyhow::Result<Vec<u8>> {
    ensure!(
        is_static(&program)?,
        "this fsderby is dynamically linked, so it cannot be the init of a guest\n  try: build it from a clone \
            (.cargo/config.toml makes it static)"
    );
    slim::program(program)
}

fn modules(
    archive: &mut Archive,
    kernel: &Kernel,
    modules: &Modules,
    boot: &[&str],
    wanted: &[String],
) -> anyhow::Result<()> {
    let release = &kernel.index.release;
    let lacks = || format!("the kernel {release} is not usable");
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

fn programs(archive: &mut Archive, from: &dyn Files, programs: &BTreeSet<String>) -> anyhow::Result<()> {
    let mut closure = Closure::of(from);
    for program in programs {
        let path = from.program(program);
        closure.add(&path.with_context(|| format!("{program} for the guest is missing"))?)?;
    }
    for (path, bytes) in &closure.files {
        archive.file(path, bytes);
    }
    for path in CONFIGURATION {
        if from.has(Path::new(path)) {
            archive.file(path, &from.read(Path::new(path))?);
        }
    }
    Ok(())
}

fn command(step: &Step) -> Option<&str> {
    let argv = match step {
        Step::Make { argv } | Step::Revert { argv } => argv,
        Step::Check { check, .. } | Step::ForcedCheck { check, .. } | Step::Repair { check } => &check.argv,
        Step::Mount { mount: Mount::Command { argv, .. } }
        | Step::MountAgain { mount: Mount::Command { argv, .. } } => argv,
        Step::Source { make, .. } => make.first()?,
        _ => return None,
    };
    argv.first().map(String::as_str)
}
