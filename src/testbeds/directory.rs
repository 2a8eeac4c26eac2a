//! `directory:PATH`: uses the filesystem mounted there. Nothing is formatted.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{Fidelity, Launched, Missing, Need, StorageRequest, Testbed, TestbedKind, TestbedTraits, local};
use crate::agent::mounting;
use crate::filesystems::KernelNeed;
use crate::host::memory_group;
use crate::schema::description::Description;
use crate::schema::job::Job;
use crate::schema::reason::Reason;
use crate::schema::setup::{ClockKind, Mounted, Named, Volume};
use crate::schema::units::Bytes;
use crate::storage::directory;

pub struct DirectoryKind;

impl TestbedKind for DirectoryKind {
    fn name(&self) -> &'static str {
        "directory"
    }

    fn usage(&self) -> &'static str {
        "directory:PATH"
    }

    fn description(&self) -> Description {
        Description {
            what: "A directory of a mounted filesystem. Nothing is formatted; one subdirectory is created and \
                removed. Needs no root.",
            origin: "PostMark, Bonnie++, IOzone and fio are usually run in such a directory.",
            limits: "The filesystem's age, its fill level and other users of the disk affect the result. A \
                     run with several directories compares not only filesystems, but also their disks and \
                     ages.",
        }
    }

    fn makes_filesystem(&self) -> bool {
        false
    }

    fn needs_argument(&self) -> bool {
        true
    }

    fn example(&self, folder: &Path, _disks: usize) -> Option<String> {
        Some(format!("directory:{}", folder.display()))
    }

    fn with(&self, argument: Option<&str>) -> Result<Box<dyn Testbed>, String> {
        let path = PathBuf::from(argument.filter(|a| !a.is_empty()).ok_or("write directory:PATH")?);
        let path =
            std::path::absolute(&path).map_err(|e| format!("'{}' is not a path: {e}", path.display()))?;
        Ok(Box::new(Directory { path, began: OnceLock::new() }))
    }
}

struct Directory {
    path: PathBuf,
    /// What was mounted there at the first look.
    began: OnceLock<String>,
}

impl Directory {
    /// The mounted filesystem in words: type, source and options.
    fn mounted(&self) -> String {
        match mounting::holding(&self.path) {
            Ok(Mounted { fstype, source, options, .. }) => {
                format!("{fstype} of {source} ({})", options.join(","))
            }
            Err(why) => format!("not there: {why}"),
        }
    }
}

impl Testbed for Directory {
    fn name(&self) -> String {
        format!("directory:{}", self.path.display())
    }

    fn traits(&self) -> TestbedTraits {
        TestbedTraits {
            clock: ClockKind::Host,
            fidelity: Fidelity::Directory,
            guest: false,
            limits_memory: rustix::process::geteuid().is_root() && memory_group::version() > 0,
            loses_power: false,
        }
    }

    fn ready(&self, need: &Need) -> Result<(), Missing> {
        let path = self.path.display();
        let missing = |what: String, try_this: &str| Err(Missing { what, try_this: try_this.into() });
        if !self.path.is_dir() {
            return missing(
                format!("{path} is not a directory"),
                "--on directory:PATH with an existing directory",
            );
        }
        if let Err(why) = rustix::fs::access(&self.path, rustix::fs::Access::WRITE_OK) {
            return missing(
                format!("could not create files in {path}: {why}"),
                "a directory that you own, or sudo",
            );
        }
        if need.memory.is_some() && !self.traits().limits_memory {
            return missing(
                "a memory limit needs root and a cgroup memory controller".into(),
                "sudo, or --memory none",
            );
        }
        local::isolates()?;
        local::limits_memory(need.memory)
    }

    fn serves(&self, _kernel: &KernelNeed) -> Result<(), Missing> {
        Ok(())
    }

    fn tool(&self, _program: &str) -> Result<(), Missing> {
        Ok(())
    }

    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        let settings = directory::Settings { path: self.path.display().to_string() };
        (settings.named(), request.volume())
    }

    fn changed(&self) -> Option<Reason> {
        let now = self.mounted();
        let began = self.began.get_or_init(|| now.clone());
        (*began != now).then(|| Reason::OtherMount { began: began.clone(), now })
    }

    fn free(&self) -> Option<Bytes> {
        let seen = rustix::fs::statvfs(&self.path).ok()?;
        Some(Bytes(seen.f_bavail.saturating_mul(seen.f_frsize)))
    }

    fn folder(&self) -> &Path {
        &self.path
    }

    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        local::launch(job)
    }
}
