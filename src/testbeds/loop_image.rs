//! `loop`: a new image for each trial, on a loop device that detaches itself.

use std::path::{Path, PathBuf};

use super::{Fidelity, Launched, Missing, Need, StorageRequest, Testbed, TestbedKind, TestbedTraits, local};
use crate::filesystems::KernelNeed;
use crate::schema::description::Description;
use crate::schema::job::Job;
use crate::schema::setup::{ClockKind, Named, Volume};
use crate::schema::units::{Bytes, MIB};
use crate::storage::image;

/// Default folder of images. The folder survives a boot, so it is on a disk and not in memory.
const FOLDER: &str = "/var/tmp";
/// Free space that must remain on the host.
const SLACK: u64 = 64 * MIB;

pub const NAME: &str = "loop";

pub struct LoopKind;

impl TestbedKind for LoopKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn usage(&self) -> &'static str {
        "loop[:FOLDER]"
    }

    fn description(&self) -> Description {
        Description {
            what: "A loop device on a new image file for each trial, mounted in a private mount namespace. Images \
                   are stored in FOLDER (default /var/tmp). Needs root.",
            origin: "The kernel's loop driver with AUTOCLEAR, and direct I/O if the host's filesystem supports it.",
            limits: "The image is a file of the host's filesystem. The allocator and journal of that filesystem and \
                     the host's I/O scheduler affect every trial, so ratios of candidates are more reliable than \
                     absolute figures.",
        }
    }

    fn makes_filesystem(&self) -> bool {
        true
    }

    fn example(&self, folder: &Path, _disks: usize) -> Option<String> {
        Some(format!("{NAME}:{}", folder.display()))
    }

    fn with_images(&self, argument: Option<&str>, folder: &str) -> Option<String> {
        argument.is_none().then(|| folder.to_owned())
    }

    fn with(&self, argument: Option<&str>) -> Result<Box<dyn Testbed>, String> {
        let folder = PathBuf::from(argument.unwrap_or(FOLDER));
        let folder = std::path::absolute(&folder)
            .map_err(|e| format!("'{}' is not a path: {e}\n  try: loop:FOLDER", folder.display()))?;
        Ok(Box::new(Loop { folder }))
    }
}

struct Loop {
    folder: PathBuf,
}

impl Testbed for Loop {
    fn name(&self) -> String {
        if self.folder == Path::new(FOLDER) { NAME.into() } else { format!("loop:{}", self.folder.display()) }
    }

    fn traits(&self) -> TestbedTraits {
        TestbedTraits {
            clock: ClockKind::Host,
            fidelity: Fidelity::Loop,
            guest: false,
            limits_memory: true,
            loses_power: false,
        }
    }

    fn ready(&self, need: &Need) -> Result<(), Missing> {
        let missing = |what: String, try_this: &str| Err(Missing { what, try_this: try_this.into() });
        if !rustix::process::geteuid().is_root() {
            return missing(
                "the testbed loop needs root".into(),
                "sudo, or --on directory:PATH for a filesystem that is already mounted",
            );
        }
        local::isolates()?;
        if !Path::new("/dev/loop-control").exists() {
            return missing("this kernel has no loop driver".into(), "modprobe loop, or --on directory:PATH");
        }
        local::limits_memory(need.memory)?;
        let images = Bytes(need.size.0.saturating_mul(need.disks(1) as u64));
        local::has_room(&self.folder, images, SLACK, "--on loop:FOLDER")
    }

    fn serves(&self, kernel: &KernelNeed) -> Result<(), Missing> {
        local::kernel_serves(kernel)
    }

    fn tool(&self, program: &str) -> Result<(), Missing> {
        local::has_tool(program)
    }

    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        let folder = self.folder.display().to_string();
        let settings = image::Settings { folder, state: request.image, disk: None, source: request.source };
        (settings.named(), request.volume())
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        local::launch(job)
    }
}
