//! Inspects the machine and the tools before a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use procfs::Current;

use crate::exit::Failure;
use crate::filesystems::{self, Filesystem};
use crate::guest::Files;
use crate::guest::bundle::Bundle;
use crate::host::{memory_group, node, programs};
use crate::runner::plan::resolved::Resolved;
use crate::schema::machine::{Build, Disk, Machine, OnMachine, Tool};
use crate::schema::plan::Candidate;
use crate::schema::setup::Fidelity;
use crate::schema::units::Bytes;
use crate::storage::layers::Layer;
use crate::store::Run;
use crate::testbeds::{Testbed, Testbeds};
use crate::version;

/// Time limit for a program to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// This machine, each setup of the plan on it, and the tools of the plan's kinds and testbeds.
///
/// # Errors
/// If a tool cannot be read: it could not be compared later.
pub fn look(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> anyhow::Result<Machine> {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let cpus = procfs::CpuInfo::current().ok();
    let cpu = cpus.as_ref().and_then(|cpus| cpus.model_name(0)).unwrap_or_default().to_owned();
    let memory = procfs::Meminfo::current().map_or(0, |m| m.mem_total);
    let mut all = Vec::new();
    for testbed in testbeds.each() {
        all.extend(testbed_tools(testbed)?);
    }
    let bundle = |candidate| testbeds.of(plan, candidate).guests()?.starts().bundle();
    let own = plan.candidates.iter().filter(|candidate| bundle(candidate).is_none());
    let names: BTreeSet<&str> = own.map(|candidate| candidate.kind.as_str()).collect();
    all.extend(tools(names.into_iter().filter_map(filesystems::find))?);
    for candidate in &plan.candidates {
        let layers = &plan.of_candidate(candidate).layers;
        let tools = match bundle(candidate) {
            Some(bundle) => bundled_tools(bundle, filesystems::find(&candidate.kind), layers)?,
            None => layer_tools(layers)?,
        };
        for tool in tools {
            if !all.contains(&tool) {
                all.push(tool);
            }
        }
    }
    let mut machine = Machine {
        fsderby: Build {
            version: version::VERSION.into(),
            commit: version::commit().into(),
            blake3: hash_file(Path::new("/proc/self/exe"))?,
        },
        kernel: text(uname.release()),
        kernel_build: text(uname.version()),
        architecture: text(uname.machine()),
        cpu,
        cpus: std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX)),
        memory: Bytes(memory),
        hypervisor: hypervisor(cpus.as_ref()),
        memory_groups: memory_group::version(),
        setups: Vec::new(),
        tools: all,
        node: if plan.share.is_whole() { String::new() } else { node::name() },
        shards: Vec::new(),
    };
    for candidate in &plan.candidates {
        let setup = on_machine(plan, candidate, testbeds, &machine);
        if machine.setup(&setup.name).is_none() {
            machine.setups.push(setup);
        }
    }
    Ok(machine)
}

fn on_machine(
    plan: &Resolved<'_>,
    candidate: &Candidate,
    testbeds: &Testbeds<'_>,
    host: &Machine,
) -> OnMachine {
    let (setup, testbed) = (plan.setup(candidate), testbeds.of(plan, candidate));
    let own = testbed.kernel();
    let is_guest = testbed.traits().guest;
    let (kernel, kernel_build) = own.unwrap_or_else(|| (host.kernel.clone(), host.kernel_build.clone()));
    OnMachine {
        name: setup.name(),
        kernel,
        kernel_build,
        cpu: match testbed.traits().fidelity {
            Fidelity::VmEmulated => format!("an emulated CPU on {}", host.cpu),
            _ => host.cpu.clone(),
        },
        // A guest has one CPU unless more are requested.
        cpus: setup.cpus.unwrap_or(if is_guest { 1 } else { host.cpus }),
        disk: disk(testbed.folder()),
        guest: testbed
            .guests()
            .and_then(|guests| guests.starts().bundle())
            .map_or_else(String::new, |bundle| bundle.id.clone()),
    }
}

/// A run continues only with the same kernels, tools and binary.
pub fn same_as_before(before: &Run, plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> anyhow::Result<()> {
    let (was, is) = (&before.machine, look(plan, testbeds)?);
    let same_setups = |of: fn(&OnMachine) -> OnMachine| {
        was.setups.iter().map(of).collect::<Vec<_>>() == is.setups.iter().map(of).collect::<Vec<_>>()
    };
    // A shard in virtual time may go on on another node: neither its CPU nor its disk reaches a figure.
    let moves = !plan.share.is_whole() && plan.share.in_virtual_time();
    let same = [
        ("the kernel", same_setups(of_kernel)),
        ("the CPU", moves || same_setups(of_cpu) && was.cpu == is.cpu),
        ("fsderby", was.fsderby == is.fsderby),
        ("the tools", was.tools == is.tools),
        ("the disk", moves || same_setups(OnMachine::clone)),
        ("the node", moves || was.node == is.node),
    ];
    match same.iter().find(|(_, same)| !same) {
        None => Ok(()),
        Some((what, _)) => {
            let text = format!(
                "{what} changed since {} began, so further rounds would not be comparable\n  try: a new run",
                before.folder.display()
            );
            Err(Failure::usage(text).into())
        }
    }
}

fn of_kernel(setup: &OnMachine) -> OnMachine {
    let OnMachine { name, kernel, kernel_build, guest, .. } = setup.clone();
    OnMachine { name, kernel, kernel_build, guest, ..OnMachine::default() }
}

fn of_cpu(setup: &OnMachine) -> OnMachine {
    let OnMachine { name, cpu, cpus, .. } = setup.clone();
    OnMachine { name, cpu, cpus, ..OnMachine::default() }
}

fn hypervisor(cpus: Option<&procfs::CpuInfo>) -> String {
    let named = fs::read_to_string("/sys/hypervisor/type").unwrap_or_default();
    let product = fs::read_to_string("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let flags = cpus.and_then(|cpus| cpus.flags(0)).unwrap_or_default();
    let virtual_cpu = flags.contains(&"hypervisor");
    match (named.trim(), product.trim()) {
        ("", product) if virtual_cpu => if product.is_empty() { "yes, unnamed" } else { product }.to_owned(),
        (named, _) => named.to_owned(),
    }
}

/// The disk of this folder, as far as the kernel names one.
pub fn disk(folder: &Path) -> Disk {
    let mut disk = Disk::default();
    let about = fs::metadata(folder).ok();
    let is_device = about.as_ref().is_some_and(|about| about.file_type().is_block_device());
    if let Some((fstype, options)) = below(folder).filter(|_| !is_device) {
        (disk.fstype, disk.options) = (fstype, options);
    }
    let number = about.map(|about| if is_device { about.rdev() } else { about.dev() });
    let Some(sys) = number.and_then(block_device) else { return disk };
    let read = |name: &str| fs::read_to_string(sys.join(name)).unwrap_or_default().trim().to_owned();
    disk.name = sys.file_name().unwrap_or_default().to_string_lossy().into_owned();
    disk.model = read("device/model");
    disk.size = Bytes(read("size").parse::<u64>().unwrap_or(0) * 512);
    disk.rotational = read("queue/rotational") == "1";
    disk.scheduler = read("queue/scheduler");
    disk
}

/// The whole disk's folder in /sys, also for a partition.
fn block_device(number: u64) -> Option<PathBuf> {
    let link = format!("/sys/dev/block/{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    let device = fs::canonicalize(link).ok()?;
    if device.join("partition").exists() { device.parent().map(Path::to_owned) } else { Some(device) }
}

/// Type and options of the mount that holds a folder.
pub fn below(folder: &Path) -> Option<(String, Vec<String>)> {
    let folder = fs::canonicalize(folder).ok()?;
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?.0;
    let holding = mounts.iter().filter(|m| folder.starts_with(&m.mount_point));
    let mount = holding.max_by_key(|m| m.mount_point.components().count())?;
    let joined = mount.mount_options.iter().chain(&mount.super_options);
    let mut options: Vec<String> =
        joined.map(|(k, v)| v.as_ref().map_or(k.clone(), |v| format!("{k}={v}"))).collect();
    options.sort();
    options.dedup();
    Some((mount.fs_type.clone(), options))
}

/// The tools of the testbed, under the testbed's name.
fn testbed_tools(testbed: &dyn Testbed) -> anyhow::Result<Vec<Tool>> {
    let found = testbed.programs().iter().filter_map(|program| Some((program, programs::find(program)?)));
    let tool = |(program, path): (&&str, PathBuf)| {
        Ok(Tool {
            kind: format!("testbed {}", testbed.name()),
            program: (*program).to_owned(),
            version: first_line(&path, &["--version".to_owned()]),
            blake3: hash_file(&path)?,
            path: path.display().to_string(),
        })
    };
    found.map(tool).collect()
}

fn tools<'a>(kinds: impl Iterator<Item = &'a dyn Filesystem>) -> anyhow::Result<Vec<Tool>> {
    let mut hashes: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut tools = Vec::new();
    for kind in kinds {
        let version = version(kind);
        for program in filesystems::tools(kind) {
            let Some(path) = programs::find(&program) else { continue };
            let blake3 = match hashes.get(&path) {
                Some(blake3) => blake3.clone(),
                None => hash_file(&path)?,
            };
            hashes.insert(path.clone(), blake3.clone());
            let (kind, path) = (kind.name().to_owned(), path.display().to_string());
            tools.push(Tool { kind, program, path, version: version.clone(), blake3 });
        }
    }
    Ok(tools)
}

/// The tools of the layers, each once, under the first layer that needs it.
fn layer_tools(layers: &[Box<dyn Layer>]) -> anyhow::Result<Vec<Tool>> {
    let mut tools: Vec<Tool> = Vec::new();
    for layer in layers {
        for program in layer.kind().tools() {
            let is_new = tools.iter().all(|tool| tool.program != *program);
            let Some(path) = programs::find(program).filter(|_| is_new) else { continue };
            tools.push(Tool {
                kind: format!("layer {}", layer.kind().name()),
                program: (*program).to_owned(),
                version: first_line(&path, &["--version".to_owned()]),
                blake3: hash_file(&path)?,
                path: path.display().to_string(),
            });
        }
    }
    Ok(tools)
}

/// A bundle's tools for a kind and its layers, with their package versions: no program of a bundle runs on this machine.
fn bundled_tools(
    bundle: &Bundle,
    kind: Option<&dyn Filesystem>,
    layers: &[Box<dyn Layer>],
) -> anyhow::Result<Vec<Tool>> {
    let kinds =
        kind.into_iter().map(|kind| (kind.name().to_owned(), kind.package(), filesystems::tools(kind)));
    let layers = layers.iter().map(|layer| layer.kind()).map(|kind| {
        let programs = kind.tools().iter().map(|&program| program.to_owned()).collect();
        (format!("layer {}", kind.name()), kind.package(), programs)
    });
    let mut tools = Vec::new();
    for (kind, package, programs) in kinds.chain(layers) {
        for program in programs {
            let Some(path) = bundle.program(&program) else { continue };
            tools.push(Tool {
                kind: kind.clone(),
                version: bundle.version_of(package),
                blake3: blake3::hash(&bundle.read(&path)?).to_hex().to_string(),
                path: path.display().to_string(),
                program,
            });
        }
    }
    Ok(tools)
}

/// The first line that the kind's version command prints.
fn version(kind: &dyn Filesystem) -> String {
    let argv = kind.version();
    let Some((program, arguments)) = argv.split_first() else { return String::new() };
    let Some(path) = programs::find(program) else { return String::new() };
    first_line(&path, arguments)
}

/// Retries once if a signal ended the program: a run with an empty stored version could not be resumed.
fn first_line(path: &Path, arguments: &[String]) -> String {
    let ask = || programs::words(path, arguments, PATIENCE);
    let text = ask().or_else(|e| if e.kind() == io::ErrorKind::Interrupted { ask() } else { Err(e) });
    let text = text.unwrap_or_default();
    text.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default().to_owned()
}

fn hash_file(path: &Path) -> Result<String, Failure> {
    let mut hash = blake3::Hasher::new();
    match fs::File::open(path).and_then(|file| hash.update_reader(file).map(|_| ())) {
        Ok(()) => Ok(hash.finalize().to_hex().to_string()),
        Err(e) => {
            let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            let path = path.display();
            let text = format!("could not read {path}, so its hash cannot be recorded: {e}");
            Err(Failure::missing(format!("{text}\n  try: chmod a+r {path}")))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_killed_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let (first, sh) = (folder.path().join("first"), Path::new("/bin/sh"));
        let script = format!("test -e {0} || {{ touch {0}; kill -9 $$; }}; echo 1.47", first.display());
        assert_eq!(first_line(sh, &["-c".to_owned(), script]), "1.47");
        assert_eq!(first_line(sh, &["-c".to_owned(), "kill -9 $$".to_owned()]), "", "nor for ever");
    }
}
