//! `fsderby doctor`: shows what this machine supports, what is missing, and the command that installs it.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::output::{print, print_json};
use super::pages::VERSION;
use crate::config::{Config, Key};
use crate::devices::{self, Check, Mark, Undo};
use crate::exit::{self, Failure};
use crate::filesystems::{self, Filesystem};
use crate::host::{memory_group, programs};
use crate::runner::experiment::usual::usual;
use crate::runner::preflight::machine;
use crate::schema::units::{Bytes, GIB};
use crate::storage::layers::{self, LayerKind};
use crate::testbeds::vm::Vm;
use crate::testbeds::{self, Need, TABLE, Testbed, Usual};
use crate::text::visible::visible;

#[derive(Args)]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `fsderby doctor --json`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Page {
    schema_version: u32,
    findings: Vec<Finding>,
    /// Debian packages.
    missing_packages: Vec<String>,
}

#[derive(Clone, Serialize, schemars::JsonSchema)]
struct Finding {
    state: State,
    what: String,
    /// The detected version or feature, or what is missing.
    found: String,
    /// The command that installs what is missing.
    #[serde(skip_serializing_if = "String::is_empty")]
    try_this: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Missing,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let configured = Configured::read();
    let testbeds = testbed_findings(&configured);
    let usable = testbeds.iter().any(|finding| finding.state == State::Ok);
    let mut findings = machine_findings(&configured, testbeds);
    findings.extend(filesystems::TABLE.iter().map(|kind| filesystem(*kind, &configured)));
    findings.extend(layers::TABLE.iter().map(|kind| layer(*kind)));
    let packages = missing_packages();
    if arguments.json {
        print_json(&Page {
            schema_version: VERSION,
            findings,
            missing_packages: packages.iter().map(|package| (*package).to_owned()).collect(),
        })?;
    } else {
        let findings: String = findings.iter().map(shown).collect();
        let end = match packages.as_slice() {
            [] => "No package is missing.".to_owned(),
            some => format!("To install what is missing:\n  apt-get install {}", some.join(" ")),
        };
        print(&format!("{findings}\n{end}\n"))?;
    }
    Ok(ExitCode::from(if usable { exit::OK } else { exit::MISSING }))
}

fn shown(finding: &Finding) -> String {
    use anstyle::{AnsiColor, Style};
    let (sign, colour) = match finding.state {
        State::Ok => ("ok", AnsiColor::Green),
        State::Warning => ("warning", AnsiColor::Yellow),
        State::Missing => ("missing", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    let line = format!("{style}{sign:<8}{style:#} {:<22} {}\n", finding.what, visible(&finding.found));
    match finding.try_this.as_str() {
        "" => line,
        try_this => format!("{line}{:31} try: {try_this}\n", ""),
    }
}

fn finding(state: State, what: &str, found: impl Into<String>, try_this: impl Into<String>) -> Finding {
    Finding { state, what: what.to_owned(), found: found.into(), try_this: try_this.into() }
}

/// What the configuration says of testbeds, if it can be read.
struct Configured {
    usual: Usual,
    /// The testbed of experiments that name none.
    on: String,
    finding: Finding,
}

impl Configured {
    fn read() -> Self {
        let failed = |failure: Failure| {
            finding(State::Missing, "configuration", failure.what, failure.try_this.unwrap_or_default())
        };
        let (config, finding) = match super::config::checked() {
            Ok(config) => (config.clone(), finding(State::Ok, "configuration", config.to_string(), "")),
            Err(failure) => (Config::default(), failed(failure)),
        };
        let usual = usual(&config);
        let on = config.text(Key::On).filter(|on| on != testbeds::AUTO);
        Configured { on: usual.on_machine(&on.unwrap_or_else(|| testbeds::LOOP.to_owned())), usual, finding }
    }

    /// This testbed with the configured folder of images.
    fn testbed(&self, text: &str) -> Result<Box<dyn Testbed>, String> {
        testbeds::parse(&self.usual.in_images(text))
    }
}

fn machine_findings(configured: &Configured, testbeds: Vec<Finding>) -> Vec<Finding> {
    let mut findings = vec![configured.finding.clone()];
    let root = rustix::process::geteuid().is_root();
    findings.push(match root {
        true => finding(State::Ok, "root", "yes", ""),
        false => {
            finding(State::Warning, "root", "no; --on loop and memory limits need root", "sudo fsderby …")
        }
    });
    findings.push(match memory_group::version() {
        0 => finding(
            State::Missing,
            "memory limit",
            "no cgroup memory controller",
            "mount a cgroup hierarchy with the memory controller",
        ),
        version => finding(State::Ok, "memory limit", format!("by cgroup version {version}"), ""),
    });
    findings.extend(testbeds);
    findings.push(disks());
    findings.extend(devices::claims().iter().flat_map(left_on));
    findings.push(guests());
    findings.push(binary());
    findings.push(images(configured));
    findings
}

/// The testbeds that need no argument, and the configured one.
fn testbed_findings(configured: &Configured) -> Vec<Finding> {
    let need = Need {
        size: Bytes(GIB),
        content: Bytes(0),
        memory: None,
        cpus: None,
        cold: false,
        power_cut: false,
        source: false,
        preconditioned: false,
    };
    let ready = TABLE.iter().filter(|kind| !kind.needs_argument()).map(|kind| kind.name());
    let own = Some(configured.on.as_str()).filter(|on| ready.clone().all(|name| name != *on));
    let found = |text: &str| {
        let what = format!("testbed {text}");
        match configured.testbed(text).map(|testbed| testbed.ready(&need)) {
            Ok(Ok(())) => finding(State::Ok, &what, "for volumes of 1 GiB", ""),
            Ok(Err(missing)) => finding(State::Missing, &what, missing.what, missing.try_this),
            Err(text) => finding(State::Missing, &what, text, ""),
        }
    };
    ready.clone().chain(own).map(found).collect()
}

/// The disks of this machine that runs may format, and those that may be claimed for that.
fn disks() -> Finding {
    let all = devices::all();
    let obstacles = devices::obstacles(&all);
    let claimed = obstacles.iter().flatten().filter(|why| why.check == Check::Claimed).count();
    let free = obstacles.iter().filter(|why| why.is_none()).count();
    match (claimed, free) {
        (0, 0) => {
            let found = "no disk is claimed, and no disk may be claimed";
            finding(State::Warning, "own disks", found, "fsderby device list, which says why")
        }
        _ => {
            let found = format!("{claimed} claimed, {free} more may be claimed if empty");
            finding(State::Ok, "own disks", found, "fsderby device list")
        }
    }
}

/// What killed runs left on a claimed disk, with the commands that remove it; the next run removes it too.
fn left_on(mark: &Mark) -> Vec<Finding> {
    let left = devices::left_layers(mark).into_iter();
    let finding = |undo: Undo| {
        let found = format!("{} remains of a run that was killed; the next run removes it", undo.device);
        finding(State::Warning, &format!("disk {}", mark.id), found, undo.argv.join(" "))
    };
    left.map(finding).collect()
}

/// Whether guests run on this machine's own CPU (KVM) or on an emulated one (fsderby starts a guest to find out), and which
/// kernel they boot.
fn guests() -> Finding {
    const NO_KVM: &str =
        "use a machine with KVM, or get permission to use /dev/kvm; without KVM no times are reported";
    match Vm::default().shown() {
        Some((cpu, kernel, true)) => {
            finding(State::Ok, "guests", format!("on {cpu}, with Linux {kernel}"), "")
        }
        Some((cpu, kernel, false)) => {
            finding(State::Warning, "guests", format!("on {cpu}, with Linux {kernel}"), NO_KVM)
        }
        None => finding(
            State::Missing,
            "guests",
            "QEMU or the kernel is missing",
            "the command in the line of the testbed vm",
        ),
    }
}

/// Whether this binary can be the init of a guest: a dynamically linked binary cannot.
fn binary() -> Finding {
    const INTERPRETER: &[u8] = b"/ld-linux";
    let head = std::fs::read("/proc/self/exe").unwrap_or_default();
    let dynamic = head
        .iter()
        .take(4096)
        .copied()
        .collect::<Vec<u8>>()
        .windows(INTERPRETER.len())
        .any(|w| w == INTERPRETER);
    match dynamic {
        false => finding(State::Ok, "binary", "static", ""),
        true => finding(
            State::Warning,
            "binary",
            "fsderby is dynamically linked, so it cannot be the init of a guest",
            "build fsderby from a clone, whose .cargo/config.toml makes the binary static",
        ),
    }
}

/// The filesystem and device that hold the images.
fn images(configured: &Configured) -> Finding {
    let Ok(testbed) = configured.testbed(testbeds::LOOP) else {
        return finding(State::Missing, "images", "no testbed", "");
    };
    let (folder, disk) = (testbed.folder(), machine::disk(testbed.folder()));
    if !folder.is_dir() {
        let found = format!("the folder {} does not exist", folder.display());
        return finding(
            State::Missing,
            "images",
            found,
            format!("mkdir {}, or --on loop:FOLDER", folder.display()),
        );
    }
    let found = format!("{} on {} in {}", disk.fstype, disk.name, testbed.folder().display());
    match disk.fstype.as_str() {
        "tmpfs" => {
            finding(State::Warning, "images", found + ": memory, not a disk", "--on loop:FOLDER on a disk")
        }
        _ => finding(State::Ok, "images", found, ""),
    }
}

fn missing_tools(kind: &dyn Filesystem) -> Vec<String> {
    filesystems::tools(kind).into_iter().filter(|program| programs::find(program).is_none()).collect()
}

fn filesystem(kind: &dyn Filesystem, configured: &Configured) -> Finding {
    let tools = missing_tools(kind);
    if !tools.is_empty() {
        let found = format!("no {}", tools.join(", "));
        return finding(State::Missing, kind.name(), found, format!("apt-get install {}", kind.package()));
    }
    let Ok(testbed) = configured.testbed(&configured.on) else {
        return finding(State::Missing, kind.name(), "no testbed", "");
    };
    let in_guests = Vm::default().serves(&kind.kernel()).is_ok();
    match testbed.serves(&kind.kernel()) {
        Ok(()) => finding(State::Ok, kind.name(), "tools and kernel driver", ""),
        Err(_) if in_guests => finding(
            State::Ok,
            kind.name(),
            "tools found; kernel driver only in guests (--on vm, --on model)",
            "",
        ),
        Err(missing) => finding(State::Missing, kind.name(), missing.what, missing.try_this),
    }
}

/// Whether this kind of layer can be built with tools of this machine.
fn layer(kind: &dyn LayerKind) -> Finding {
    let what = format!("layer {}", kind.name());
    match missing_layer_tools(kind).as_slice() {
        [] => finding(
            State::Ok,
            &what,
            "tools found; usable in guests (--on vm, --on model) and on claimed disks",
            "",
        ),
        tools => {
            let try_this = format!("apt-get install {}", kind.package());
            finding(State::Missing, &what, format!("no {}", tools.join(", ")), try_this)
        }
    }
}

fn missing_layer_tools(kind: &dyn LayerKind) -> Vec<&'static str> {
    kind.tools().iter().copied().filter(|program| programs::find(program).is_none()).collect()
}

/// The Debian packages that contain the missing tools.
fn missing_packages() -> Vec<&'static str> {
    let filesystems = filesystems::TABLE.iter().filter(|kind| !missing_tools(**kind).is_empty());
    let layers = layers::TABLE.iter().filter(|kind| !missing_layer_tools(**kind).is_empty());
    let programs = TABLE.iter().filter_map(|kind| kind.brought_by());
    let of_testbeds = programs.filter(|(program, _)| programs::find(program).is_none());
    let of_kinds = filesystems.map(|kind| kind.package()).chain(layers.map(|kind| kind.package()));
    let mut packages: Vec<&str> = of_kinds.chain(of_testbeds.map(|(_, package)| package)).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}
