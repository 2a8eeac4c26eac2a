//! `vm`: a small virtual machine with a stock kernel that has every filesystem, for ordinary users.
//!
//! ```text
//! kernel ──┐                                   console ──▶ kept for the record
//! tools ───┼─▶ initramfs ─▶ QEMU ─ guest: fsderby as init ─ port ──▶ events
//! job ─────┘                  └─ disk: an unnamed image of ours
//! ```
//! The guest has no network and sees only that image of the host. QEMU ends with this process, and everything else with QEMU.
//!
//! A power cut kills QEMU. We hold the image's descriptor, so the image survives with everything that QEMU had completed. A
//! disk's volatile cache, which loses unflushed data, is not simulated.

pub mod guest;
mod kvm;
pub mod machine;
pub mod shell;
mod witness;

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context;

use self::guest::Guest;
use self::machine::{Cpu, MOST_DISKS, Machine, PACKAGE, QEMU};
use self::witness::Witness;
use super::guests::{self, Guests, StartsFrom};
use super::power::PowerCut;
use super::{
    Fidelity, Kept, LEAST_MEMORY, Launched, Missing, Need, StorageRequest, Testbed, TestbedKind,
    TestbedTraits, local, rehearsal,
};
use crate::agent::Mishap;
use crate::filesystems::KernelNeed;
use crate::guest::initramfs::{self, Base, Bases, Origin};
use crate::guest::kernel::{self, Kernel};
use crate::host::programs;
use crate::schema::description::Description;
use crate::schema::job::{Job, Step};
use crate::schema::setup::{ClockKind, ImageState, Named, Volume};
use crate::schema::units::{Bytes, MIB};
use crate::storage::image;

/// The modules for the disk and the event port.
pub const BOOT: [&str; 3] = ["virtio_mmio", "virtio_console", "virtio_blk"];
/// Default folder of images.
const FOLDER: &str = "/var/tmp";
/// Prefix of another image folder, in the testbed's text.
const IMAGES: &str = "images=";
/// Free space that must remain on the host.
const SLACK: u64 = 64 * MIB;
/// Memory of a machine without a limit, like the machines of the older comparisons.
const MEMORY: u64 = 512 * MIB;
/// The default number of CPUs.
const CPUS: u32 = 1;
/// Memory of the guest's kernel, beside page cache and workload.
const OVERHEAD: u64 = 160 * MIB;
/// mkfs and fsck are silent; on an emulated CPU they may take long.
const SILENCE: Duration = Duration::from_secs(480);

pub struct VmKind;

impl TestbedKind for VmKind {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn brought_by(&self) -> Option<(&'static str, &'static str)> {
        Some((QEMU, PACKAGE))
    }

    fn boots_with(&self) -> &'static [&'static str] {
        &BOOT
    }

    fn usage(&self) -> &'static str {
        "vm[:kernel=RELEASE,images=FOLDER,disks=N,guest=ID]"
    }

    fn description(&self) -> Description {
        Description {
            what: "A virtual machine for each trial: a stock kernel with all filesystems, a new image file in FOLDER \
                   (default /var/tmp) as the VM's disk, and fsderby as the VM's init. With disks=N the VM has N \
                   disks, each on an image file; layers such as RAID can combine them. Needs no root, and changes \
                   nothing on the host except the image files.",
            origin: "QEMU's microvm with Debian's 6.12 kernel, the last long-term kernel with all filesystems. The \
                command `fsderby kernel fetch` downloads the kernel.",
            limits: "Without KVM the CPU is emulated and times say nothing about a real machine; requests, bytes, \
                     flushes and capacity remain comparable. The image is a file of the host's filesystem, which \
                     affects every trial.",
        }
    }

    fn makes_filesystem(&self) -> bool {
        true
    }

    fn is_on_host(&self, setting: &str) -> bool {
        setting.starts_with(IMAGES)
    }

    fn example(&self, folder: &Path, disks: usize) -> Option<String> {
        Some(format!("vm:images={},disks={disks}", folder.display()))
    }

    fn with_images(&self, argument: Option<&str>, folder: &str) -> Option<String> {
        let settings = argument.unwrap_or_default();
        let is_free = settings.split(',').all(|setting| !setting.starts_with(IMAGES));
        let images = format!("{IMAGES}{folder}");
        is_free.then(|| if settings.is_empty() { images.clone() } else { format!("{settings},{images}") })
    }

    fn with(&self, argument: Option<&str>) -> Result<Box<dyn Testbed>, String> {
        Ok(Box::new(argument.unwrap_or_default().parse::<Vm>()?))
    }
}

/// The testbed, with the settings of its text and of tests.
pub struct Vm {
    pub starts: StartsFrom,
    pub images: PathBuf,
    /// Number of disks, each with an image.
    pub disks: usize,
    pub silence: Duration,
    pub mishap: Option<Mishap>,
    /// Where the disks of the next trial are kept.
    kept: Option<Arc<Kept>>,
    found: OnceLock<Option<Found>>,
    /// Whether images can bypass the host's page cache; determined once.
    direct: OnceLock<bool>,
    /// Cached checks of programs for guests, by name.
    tools: Mutex<HashMap<String, Result<(), Missing>>>,
    bases: Bases,
}

/// The requirements for starting a guest.
#[derive(Clone)]
pub struct Found {
    pub qemu: PathBuf,
    pub kernel: Kernel,
    pub cpu: Cpu,
}

impl Default for Vm {
    fn default() -> Self {
        Vm {
            images: FOLDER.into(),
            disks: 1,
            silence: SILENCE,
            mishap: None,
            kept: None,
            starts: StartsFrom::default(),
            found: OnceLock::new(),
            direct: OnceLock::new(),
            tools: Mutex::default(),
            bases: Bases::new(&BOOT),
        }
    }
}

impl std::str::FromStr for Vm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut vm = Vm::default();
        let (mut guest, mut kernel) = (None, None);
        for setting in text.split(',').filter(|s| !s.is_empty()) {
            match setting.split_once('=') {
                Some(("kernel", release)) => kernel = Some(release),
                Some(("images", folder)) if folder.starts_with('/') => vm.images = folder.into(),
                Some(("disks", number)) => vm.disks = disks(number, MOST_DISKS)?,
                Some(("guest", id)) => guest = Some(id),
                _ => {
                    return Err(format!("--on vm has no setting '{setting}'; write {}", VmKind.usage()));
                }
            }
        }
        vm.starts = StartsFrom::of(guest, kernel)?;
        Ok(vm)
    }
}

impl Vm {
    /// QEMU, the kernel and the other requirements of guests; searched once.
    pub fn found(&self) -> Option<&Found> {
        let look = || {
            let qemu = programs::find(QEMU)?;
            let kernel = self.starts.find_kernel()?;
            let cpu = kvm::cpu(&qemu, &kernel, &self.starts.agent);
            Some(Found { qemu, kernel, cpu })
        };
        self.found.get_or_init(look).as_ref()
    }

    /// Whether images bypass this machine's page cache; asks the folder's filesystem once.
    fn is_direct(&self) -> bool {
        *self.direct.get_or_init(|| {
            let image = image::make(&self.images, ImageState::Sparse, Bytes(MIB));
            image.is_ok_and(|image| machine::make_direct(&image))
        })
    }

    /// The guests' CPU in words, the kernel's release, and whether times count; `None` before both are available.
    pub fn shown(&self) -> Option<(&'static str, &str, bool)> {
        let found = self.found()?;
        let (cpu, times_count) = match found.cpu {
            Cpu::Kvm => ("this machine's CPU (KVM)", true),
            Cpu::Emulated => ("an emulated CPU", false),
        };
        Some((cpu, &found.kernel.index.release, times_count))
    }
}

impl Guests for Vm {
    fn starts(&self) -> &StartsFrom {
        &self.starts
    }

    fn starts_mut(&mut self) -> &mut StartsFrom {
        &mut self.starts
    }

    fn boots(&self) -> Option<&Kernel> {
        self.found().map(|found| &found.kernel)
    }
}

impl Testbed for Vm {
    fn name(&self) -> String {
        let mut settings = Vec::new();
        settings.extend(self.starts.kernel.as_ref().map(|release| format!("kernel={release}")));
        settings
            .extend((self.images != Path::new(FOLDER)).then(|| format!("images={}", self.images.display())));
        settings.extend((self.disks > 1).then(|| format!("disks={}", self.disks)));
        settings.extend(self.starts.bundle_id().map(|id| format!("guest={id}")));
        if settings.is_empty() { "vm".into() } else { format!("vm:{}", settings.join(",")) }
    }

    fn traits(&self) -> TestbedTraits {
        let kvm = self.found().is_some_and(|found| found.cpu == Cpu::Kvm);
        TestbedTraits {
            clock: ClockKind::Guest,
            fidelity: if kvm { Fidelity::VmKvm } else { Fidelity::VmEmulated },
            guest: true,
            limits_memory: true,
            loses_power: true,
        }
    }

    fn ready(&self, need: &Need) -> Result<(), Missing> {
        self.starts.find_bundle()?;
        let kernel = self.found().map(|found| &found.kernel);
        guest_ready("vm", self.starts.kernel.as_deref(), kernel, need, memory(need.memory))?;
        let images = Bytes(need.size.0.saturating_mul(need.disks(self.disks) as u64));
        local::has_room(&self.images, images, SLACK, "--on vm:images=FOLDER")?;
        let direct = self.is_direct();
        if need.cold && !direct {
            let folder = self.images.display();
            let what = format!(
                "no cold caches with images in {folder}: its filesystem has no direct I/O, so the host's page \
                    cache would serve the reads"
            );
            return Err(Missing {
                what,
                try_this: "--on vm:images=FOLDER on another filesystem, or without --cold".into(),
            });
        }
        Ok(())
    }

    fn serves(&self, kernel: &KernelNeed) -> Result<(), Missing> {
        guests::modules_missing(self.found().map(|found| &found.kernel), kernel)
    }

    fn tool(&self, program: &str) -> Result<(), Missing> {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        tools.entry(program.to_owned()).or_insert_with(|| guests::tool(self.starts.bundle(), program)).clone()
    }

    fn disks(&self) -> usize {
        self.disks
    }

    fn storage(&self, request: &StorageRequest) -> (Named, Volume) {
        let disk = Some(image::Disk {
            path: machine::disk(0),
            direct: self.direct.get().copied().unwrap_or_default(),
            beside: (1..self.disks + usize::from(request.source)).map(machine::disk).collect(),
        });
        let folder = self.images.display().to_string();
        (
            image::Settings { folder, state: request.image, disk, source: request.source }.named(),
            request.volume(),
        )
    }

    fn kernel(&self) -> Option<(String, String)> {
        let index = &self.found()?.kernel.index;
        Some((index.release.clone(), format!("BLAKE3 {}", index.image_blake3)))
    }

    fn has_cpus(&self, cpus: u32) -> Result<(), Missing> {
        let here = std::thread::available_parallelism().map_or(1, usize::from);
        match cpus as usize <= here {
            true => Ok(()),
            false => Err(Missing {
                what: format!("a guest with {cpus} vCPUs needs as many CPUs; this machine has {here}"),
                try_this: format!("--cpus {here}"),
            }),
        }
    }

    fn programs(&self) -> &'static [&'static str] {
        &[QEMU]
    }

    fn guests(&self) -> Option<&dyn Guests> {
        Some(self)
    }

    fn guests_mut(&mut self) -> Option<&mut dyn Guests> {
        Some(self)
    }

    fn keeps_disks(&self) -> Result<usize, Missing> {
        Ok(self.disks)
    }

    fn keep_disks(&mut self, kept: Arc<Kept>) {
        self.kept = Some(kept);
    }

    fn folder(&self) -> &Path {
        &self.images
    }

    fn launch(&self, job: &Job) -> anyhow::Result<Box<dyn Launched>> {
        let found = self.found().context("QEMU or the kernel is missing")?;
        let parts = Parts {
            found: found.clone(),
            base: self.bases.base(
                Origin::new(&found.kernel, &self.starts.agent, self.starts.bundle()),
                job,
                rehearsal::copies(job, &self.starts.agent)?.as_deref(),
            )?,
            images: make_images(job)?,
            mishap: self.mishap,
            silence: self.silence,
        };
        let (before, after) = job.lives();
        let guest = parts.start(&before)?;
        let kept = self.kept.clone();
        Ok(match after {
            None => Box::new(guest.kept(kept, parts.images)),
            Some(after) => {
                let restart = move |_: &Guest| Ok(parts.start(&after)?.kept(kept, parts.images));
                Box::new(PowerCut::new(guest, Box::new(restart)))
            }
        })
    }
}

/// Creates a job's disks: new images, none of them in the host's page cache.
fn make_images(job: &Job) -> anyhow::Result<Vec<File>> {
    let image::Settings { folder, state, disk, .. } = job.storage.settings().map_err(anyhow::Error::msg)?;
    let disk = disk.context("the job names no disk in a guest for this image")?;
    let make = |_| {
        let image = image::make(Path::new(&folder), state, job.volume.size)
            .with_context(|| format!("could not create an image in {folder}"))?;
        // Data written above must not be read from memory below.
        let _ = rustix::fs::fadvise(&image, 0, None, rustix::fs::Advice::DontNeed);
        if disk.direct {
            machine::make_direct(&image);
        }
        Ok(image)
    };
    disk.paths().map(make).collect()
}

/// Shared by all machines of a launch.
struct Parts {
    found: Found,
    base: Arc<Base>,
    /// The disks, as unnamed files.
    images: Vec<File>,
    mishap: Option<Mishap>,
    silence: Duration,
}

impl Parts {
    fn start(&self, job: &Job) -> anyhow::Result<Guest> {
        let job_archive = initramfs::job(&job.for_guest(), &[])?;
        let (ours, qemus) = UnixStream::pair().context("could not create a socket")?;
        let machine = Machine {
            qemu: &self.found.qemu,
            kernel: self.found.kernel.image(),
            initramfs: vec![&self.base.tools.bytes, &self.base.program.bytes, &job_archive],
            memory: self.base.memory(memory(job.memory)),
            root: self.base.root(),
            cpu: self.found.cpu,
            cpus: job.cpus.unwrap_or(CPUS),
            disks: &self.images,
            monitor: Some(&qemus),
            serials: &[],
            init: machine::own_init(self.mishap),
        };
        let kernel = self.found.kernel.index.image_blake3.clone();
        let provenance = [("kernel", kernel)].into_iter().chain(self.base.hashes());
        let provenance = provenance.map(|(name, hash)| (name.to_owned(), hash)).collect();
        let guest = Guest::new(machine.start()?, self.silence)?.made_of(provenance);
        // A trial with a power cut is not observed as a whole.
        let is_whole = job.steps.contains(&Step::Reset) && !job.steps.contains(&Step::PowerCut);
        Ok(match is_whole {
            true => {
                let images = self.images.iter().map(File::try_clone).collect::<Result<_, _>>()?;
                guest.watched_by(Witness::new(images, ours)?)
            }
            false => guest,
        })
    }
}

/// Whether this host can start a guest with this memory. `release` is the kernel requested by name.
pub fn guest_ready(
    testbed: &str,
    release: Option<&str>,
    kernel: Option<&Kernel>,
    need: &Need,
    machine: Bytes,
) -> Result<(), Missing> {
    let missing = |what: String, try_this: &str| Err(Missing { what, try_this: try_this.into() });
    if cfg!(not(target_arch = "x86_64")) {
        return missing(format!("--on {testbed} needs an x86-64 machine"), "--on loop");
    }
    if programs::find(QEMU).is_none() {
        return missing(format!("{QEMU} is not installed"), &format!("apt-get install {PACKAGE}"));
    }
    let Some(kernel) = kernel else {
        let which = release.map_or(String::new(), |release| format!(" {release}"));
        let own =
            if release.is_some() { ", or for a kernel of yours fsderby kernel fetch FILE.deb" } else { "" };
        let try_this = format!("fsderby kernel fetch{which}{own}");
        let refused = kernel::refused(release).map(|why| match why.try_this {
            Some(try_this) => format!(" ({}; try: {try_this})", why.what),
            None => format!(" ({})", why.what),
        });
        let what = format!("no kernel{which} to boot{}", refused.unwrap_or_default());
        return missing(what, &try_this);
    };
    if !kernel.is_sound() {
        let release = &kernel.index.release;
        let what = format!("the kernel {release} in the cache was altered");
        return missing(what, &format!("fsderby kernel fetch {release}"));
    }
    if need.memory.is_some_and(|memory| memory < LEAST_MEMORY) {
        return missing(
            format!("page cache and workload of a guest need at least {LEAST_MEMORY}"),
            "a larger --memory",
        );
    }
    let available = available();
    if available < machine.0 {
        let what = format!(
            "a guest with {machine} of RAM needs this much free memory; only {} are free",
            Bytes(available)
        );
        return missing(what, "a smaller --memory, or stop other programs");
    }
    Ok(())
}

/// `disks=N` in a testbed's settings.
pub fn disks(number: &str, most: usize) -> Result<usize, String> {
    let disks = number.parse().ok().filter(|n| (1..=most).contains(n));
    disks.ok_or_else(|| format!("disks={number} is not a number of disks; write 1 to {most}"))
}

/// Memory of the machine. With a limit its init takes the surplus, so that every kind has the same.
pub fn memory(limit: Option<Bytes>) -> Bytes {
    limit.map_or(Bytes(MEMORY), |limit| Bytes(limit.0 + OVERHEAD))
}

/// This machine's available memory, in bytes.
pub fn available() -> u64 {
    use procfs::Current;
    procfs::Meminfo::current().ok().and_then(|m| m.mem_available).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_testbed_is_named_as_it_was_written() {
        for text in [
            "vm",
            "vm:kernel=6.12",
            "vm:images=/srv",
            "vm:kernel=6.12,images=/srv,disks=5",
            "vm:guest=0123456789abcdef",
        ] {
            let argument = text.split_once(':').map(|(_, argument)| argument);
            assert_eq!(VmKind.with(argument).ok().map(|g| g.name()), Some(text.to_owned()));
        }
        for none in ["disks=0", "disks=17", "disks=x"] {
            assert!(none.parse::<Vm>().err().is_some_and(|e| e.contains("write 1 to 16")), "{none}");
        }
        assert!("images=relative".parse::<Vm>().is_err());
        assert!("colour=red".parse::<Vm>().err().is_some_and(|e| e.contains("write vm[")));
    }
}
