//! `twin:DISK`: this machine's kernel on a modelled disk in real time, for comparison with virtual time.

use std::path::Path;

use fsderby_diskmodel::{Sample, Spec};

use super::model::disks;
use super::{
    Fidelity, Launched, Missing, Need, StorageRequest, Testbed, TestbedKind, TestbedTraits, local, vm,
};
use crate::filesystems::KernelNeed;
use crate::schema::description::Description;
use crate::schema::job::Job;
use crate::schema::setup::{ClockKind, Named, Volume};
use crate::schema::units::{Bytes, MIB};
use crate::storage::twin;

/// The default disk, as on the testbed `model`.
const DISK: &str = "hdd-16tb";

pub struct TwinKind;

impl TestbedKind for TwinKind {
    fn name(&self) -> &'static str {
        "twin"
    }

    fn usage(&self) -> &'static str {
        "twin[:DISK,offset=SIZE]"
    }

    fn description(&self) -> Description {
        Description {
            what: "A modelled disk in real time, on this machine's kernel. The disk is a loop device on a file that a \
                   FUSE server provides. The server delays each read and write for as long as the disk model says. \
                   DISK is a name from `fsderby list disks` (default hdd-16tb), or the path of a TOML file that \
                   describes a disk. Needs root.",
            origin: "The disks are those in disks/*.toml; the FUSE and loop drivers are the kernel's. This testbed \
                     shows how well --on model agrees with real time. In a test (two rounds, three workloads, three \
                     filesystems), the rates on twin were 0.66 to 1.39 times those on model. In the workload \
                     `maildir-quick`, the rates of two of the three filesystems agreed within 10 %.",
            limits: "The disk's content is held in memory. The model uses CPU time of this machine; on a busy machine \
                     requests complete late, and the probe `disk` counts the late requests. FUSE and the loop driver \
                     add overhead, so use this testbed for hard disks: a request to a hard disk takes milliseconds, \
                     and the overhead hardly matters.",
        }
    }

    fn makes_filesystem(&self) -> bool {
        true
    }

    /// In real time, so with the disk that takes none.
    fn example(&self, _folder: &Path, _disks: usize) -> Option<String> {
        Some("twin:zero".to_owned())
    }

    fn with(&self, argument: Option<&str>) -> Result<Box<dyn Testbed>, String> {
        Ok(Box::new(Twin::parse(argument.unwrap_or(DISK))?))
    }
}

struct Twin {
    /// The disk as the user wrote it: a shipped disk's name, or the path of a TOML file.
    disk: String,
    text: String,
    bytes: Bytes,
    offset: Bytes,
}

impl Twin {
    fn parse(text: &str) -> Result<Self, String> {
        let (disk, rest) = text.split_once(',').map_or((text, None), |(disk, rest)| (disk, Some(rest)));
        if disk.is_empty() {
            return Err(format!("--on twin needs a disk; write {}", TwinKind.usage()));
        }
        let offset = match rest.map(|rest| rest.split_once('=')) {
            None => Bytes(0),
            Some(Some(("offset", offset))) => offset.parse().map_err(|e| format!("offset: {e}"))?,
            Some(_) => {
                let rest = rest.unwrap_or_default();
                return Err(format!("--on twin has no setting '{rest}'; write {}", TwinKind.usage()));
            }
        };
        if !offset.0.is_multiple_of(MIB) {
            return Err(format!("offset={offset} is not a whole number of MiB"));
        }
        let text = disks::text(disk)?;
        let spec = Spec::parse(&text).map_err(|e| format!("could not parse the disk {disk}: {e}"))?;
        Ok(Twin { disk: disk.to_owned(), text, bytes: Bytes(spec.sectors() * 512), offset })
    }
}

impl Testbed for Twin {
    fn name(&self) -> String {
        match self.offset {
            Bytes(0) => format!("twin:{}", self.disk),
            offset => format!("twin:{},offset={}", self.disk, offset.written()),
        }
    }

    fn traits(&self) -> TestbedTraits {
        TestbedTraits {
            clock: ClockKind::Host,
            fidelity: Fidelity::Twin,
            guest: false,
            limits_memory: true,
            loses_power: false,
        }
    }

    fn ready(&self, need: &Need) -> Result<(), Missing> {
        let missing = |what: String, try_this: &str| Err(Missing { what, try_this: try_this.into() });
        if !rustix::process::geteuid().is_root() {
            return missing("the testbed twin needs root".into(), "sudo, or --on model:DISK");
        }
        local::isolates()?;
        for (device, driver) in [("/dev/loop-control", "loop"), ("/dev/fuse", "fuse")] {
            if !Path::new(device).exists() {
                return missing(format!("this kernel has no {device}"), &format!("modprobe {driver}"));
            }
        }
        local::limits_memory(need.memory)?;
        if need.source {
            return missing(
                "--on twin has one disk, but the workload copies from a second disk".into(),
                "--on model:DISK",
            );
        }
        let available = vm::available();
        if need.content.0 > available {
            let what = format!(
                "--on twin holds the disk's content in memory: {content} of initial content, and {available} are available",
                content = need.content,
                available = Bytes(available)
            );
            return missing(what, "--on loop, or a state with less content");
        }
        if self.offset.0.saturating_add(need.size.0) > self.bytes.0 {
            let what = format!(
                "a volume of {} at offset {} does not fit on the disk of {}",
                need.size, self.offset, self.bytes
            );
            return missing(what, "a smaller --size or offset");
        }
        Ok(())
    }

    fn serves(&self, kernel: &KernelNeed) -> Result<(), Missing> {
        local::kernel_serves(kernel)
    }

    fn tool(&self, program: &str) -> Result<(), Missing> {
        local::has_tool(program)
    }

    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        let blake3 = blake3::hash(self.text.as_bytes()).to_hex().to_string();
        let settings =
            twin::Settings { disk: self.disk.clone(), blake3, sample: Sample::nominal(request.seed) };
        (settings.named(), Volume { size: request.size, offset: self.offset })
    }

    fn folder(&self) -> &Path {
        Path::new("/")
    }

    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        local::launch(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twin_is_named_as_it_is_written() {
        let name = |text: &str| Twin::parse(text).map(|twin| twin.name());
        for text in ["twin:hdd-16tb", "twin:diamondmax-plus-8,offset=36g"] {
            assert_eq!(name(text.trim_start_matches("twin:")), Ok(text.to_owned()));
        }
        for wrong in ["", "hdd-16tb,mips=500", "hdd-16tb,offset", "hdd-16tb,offset=1k", "no-such-disk"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}
