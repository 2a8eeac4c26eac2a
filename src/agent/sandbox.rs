//! The sandbox of tools on this machine's kernel: mkfs, fsck and mounting programs see only their own devices and can write
//! nowhere else, whatever their arguments.
//!
//! ```text
//! BASE             our own base tree, invisible to others
//! └─ root          all files of this machine, read-only, without devices: the root of tools and worker
//!    ├─ dev        null, zero, full, random, urandom, the trial's device, further ones of the kind
//!    │  └─ shm     empty, writable
//!    ├─ proc       this trial's processes, read-only
//!    ├─ tmp        empty, writable
//!    └─ run        empty, writable
//!       ├─ site    where the filesystem is mounted
//!       ├─ input   files that programs read, if they lie where this root has a folder of its own
//!       └─ source  the second disk, if the work copies from one
//! ```

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fsderby_sys::device_filter::DeviceNumber;
use fsderby_sys::sandbox::{self, Confined};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::mount::{MountFlags, mount_remount};
use rustix::thread::CapabilitySet;

use super::StepError;
use crate::host::device_group::DeviceGroup;
use crate::schema::job::Job;
use crate::schema::setup::{self, Capability, Identity, Privileges};
use crate::workloads::programs;

/// An unused ID: "fsdr" as a number, far above those of accounts.
pub const WORKER: Identity = Identity { uid: 0x6673_6472, gid: 0x6673_6472 };

/// Devices that cannot affect the machine.
const HARMLESS: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
const DEV_FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NOEXEC);
/// Paths as seen by tools.
const SITE: &str = "/run/site";
const SOURCE: &str = "/run/source";

/// The sandbox of a trial's tools.
pub struct Sandbox {
    root: PathBuf,
    walls: sandbox::Sandbox,
    privileges: Privileges,
    devices: Vec<String>,
    device_group: Option<DeviceGroup>,
}

impl Sandbox {
    /// Makes the sandbox for these devices, below our `base`. From now on this process opens no other devices than these and the
    /// `agents` own, which tools do not see.
    pub fn around(
        devices: &[&Path],
        agents: &[PathBuf],
        job: &Job,
        base: &Path,
        tree: &Tree,
    ) -> Result<Self, StepError> {
        let root = base.join("root");
        furnish(&root, tree)?;
        let works = || job.works.iter().map(|work| &work.work);
        if works().any(programs::starts) {
            fs::create_dir(root.join("dev/shm"))
                .map_err(|e| StepError::io("make", root.join("dev/shm"), e))?;
            mount_empty(&root, "dev/shm", programs::IN_MEMORY)?;
            introduce(base, &root)?;
            let run = root.join("run");
            programs::furnish(&run).map_err(|e| StepError::io("furnish", &run, e))?;
        }
        for (path, at) in works().flat_map(programs::input) {
            bind(&path, &inside(&root, &at.display().to_string()))?;
        }
        let harmless = HARMLESS.iter().map(Path::new);
        let stated = job.privileges.devices.iter().map(Path::new);
        let paths: Vec<&Path> = harmless.chain(devices.iter().copied()).chain(stated).collect();
        let numbers = paths.iter().map(|path| node(&root, path)).collect::<Result<Vec<_>, _>>()?;
        let numbers: Vec<DeviceNumber> =
            numbers.into_iter().chain(agents.iter().filter_map(|path| number(path).ok())).collect();
        let dev = root.join("dev");
        mount_remount(&dev, DEV_FLAGS | MountFlags::RDONLY, c"")
            .map_err(|e| StepError::io("close", &dev, e))?;
        let writable = ["dev", "tmp", "run"].map(|folder| root.join(folder));
        let walls = sandbox::Sandbox::new(&root, &writable.each_ref().map(PathBuf::as_path))
            .map_err(|e| StepError::io("confine the tools by", &root, e))?;
        Ok(Sandbox {
            root,
            walls,
            privileges: job.privileges.clone(),
            devices: paths.iter().map(|path| path.display().to_string()).collect(),
            device_group: DeviceGroup::enter(&job.token, &numbers).ok(),
        })
    }

    /// The root of confined programs, as seen by the agent.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The mount point, as seen by the agent.
    pub fn mountpoint(&self) -> PathBuf {
        inside(&self.root, SITE)
    }

    /// The second disk's mount point, as seen by the agent.
    pub fn source(&self) -> PathBuf {
        inside(&self.root, SOURCE)
    }

    /// The mount point, as seen by tools.
    pub fn site() -> &'static Path {
        Path::new(SITE)
    }

    /// A command that will run confined. A tool that mounts cannot be under Landlock.
    pub fn command(&self, program: &Path, mounts: bool) -> std::io::Result<Confined> {
        let set = |capability: &Capability| match capability {
            Capability::SysAdmin => CapabilitySet::SYS_ADMIN,
            Capability::SetUid => CapabilitySet::SETUID,
            Capability::SetGid => CapabilitySet::SETGID,
        };
        let keep = self.privileges.capabilities.iter().map(set).fold(CapabilitySet::empty(), |a, b| a | b);
        self.walls.command(program, keep, mounts)
    }

    /// Runs a path-resolving operation inside, such as a mount whose options may name devices.
    pub fn within<T: Send>(&self, does: impl FnOnce() -> T + Send) -> Result<T, StepError> {
        self.walls.within(does).map_err(|e| StepError::io("enter", &self.root, e))
    }

    /// The description of this sandbox for the record.
    pub fn told(&self) -> setup::Sandbox {
        setup::Sandbox {
            devices: self.devices.clone(),
            capabilities: self.privileges.capabilities.clone(),
            landlock: self.walls.landlock(),
            device_group: self.device_group.is_some(),
        }
    }
}

/// All files of this machine as currently mounted, read-only.
pub struct Tree(std::os::fd::OwnedFd);

impl Tree {
    pub fn new() -> Result<Self, StepError> {
        sandbox::read_only_tree().map(Tree).map_err(|e| {
            let text = format!("{e}; tools run on a read-only copy of all mounts, which needs Linux 5.12");
            StepError::new("copy", "the mounts of this machine", text)
        })
    }
}

fn inside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// Creates this device node below `root` too, and returns the device number.
fn node(root: &Path, path: &Path) -> Result<DeviceNumber, StepError> {
    let number = number(path)?;
    let kind = if number.is_block { FileType::BlockDevice } else { FileType::CharacterDevice };
    let at = inside(root, &path.display().to_string());
    let of = rustix::fs::makedev(number.major, number.minor);
    mknodat(CWD, &at, kind, Mode::RUSR | Mode::WUSR, of).map_err(|e| StepError::io("make", &at, e))?;
    if HARMLESS.iter().any(|harmless| Path::new(harmless) == path) {
        // Programs of a workload are ordinary users'.
        let everybody = fs::Permissions::from_mode(0o666);
        fs::set_permissions(&at, everybody).map_err(|e| StepError::io("open to all", &at, e))?;
    }
    Ok(number)
}

fn number(path: &Path) -> Result<DeviceNumber, StepError> {
    let about = fs::metadata(path).map_err(|e| StepError::io("look at", path, e))?;
    let (is_block, number) = (about.file_type().is_block_device(), about.rdev());
    Ok(DeviceNumber { is_block, major: rustix::fs::major(number), minor: rustix::fs::minor(number) })
}

/// Adds the worker to the list of users, where programs look for their own name and home.
pub(super) fn introduce(base: &Path, root: &Path) -> Result<(), StepError> {
    let Identity { uid, gid } = WORKER;
    for (file, line) in [
        ("passwd", format!("fsderby:x:{uid}:{gid}:fsderby:/tmp:/bin/sh\n")),
        ("group", format!("fsderby:x:{gid}:\n")),
    ] {
        let at = root.join("etc").join(file);
        let Ok(known) = fs::read_to_string(&at) else { continue };
        let own = base.join(file);
        fs::write(&own, known + &line).map_err(|e| StepError::io("write", &own, e))?;
        sandbox::bind_read_only(&own, &at).map_err(|e| StepError::io("mount", &at, e))?;
    }
    Ok(())
}

/// Mounts a file or folder at `at`, read-only. If `at` exists already, it is the same file or folder.
fn bind(path: &Path, at: &Path) -> Result<(), StepError> {
    let fault = |what: &str, e: std::io::Error| StepError::io(what, path, e);
    if at.exists() {
        return Ok(());
    }
    let folder = at.parent().unwrap_or(at);
    fs::create_dir_all(folder).map_err(|e| fault("make room for", e))?;
    let made = if path.is_dir() { fs::create_dir(at) } else { fs::File::create_new(at).map(drop) };
    made.map_err(|e| fault("make room for", e))?;
    sandbox::bind_read_only(path, at).map_err(|e| fault("mount", e))
}

fn mount_empty(root: &Path, folder: &str, options: &std::ffi::CStr) -> Result<(), StepError> {
    let (at, flags) = (root.join(folder), MountFlags::NOSUID | MountFlags::NODEV);
    let mounted = rustix::mount::mount("tmpfs", &at, "tmpfs", flags, Some(options));
    mounted.map_err(|e| StepError::io("mount", &at, e))
}

/// Fills the sandbox's root: all files of this machine, read-only, with separate writable folders.
fn furnish(root: &Path, tree: &Tree) -> Result<(), StepError> {
    fs::create_dir(root).map_err(|e| StepError::io("make", root, e))?;
    sandbox::put(&tree.0, root).map_err(|e| StepError::io("mount", root, e))?;
    for (folder, fstype, flags, options) in [
        ("dev", "tmpfs", DEV_FLAGS, Some(c"size=1m,mode=0755")),
        ("tmp", "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(programs::IN_MEMORY)),
        ("run", "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(c"size=1m,mode=0755")),
        ("proc", "proc", MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC, None),
    ] {
        let at = root.join(folder);
        rustix::mount::mount(fstype, &at, fstype, flags, options)
            .map_err(|e| StepError::io("mount", &at, e))?;
    }
    Ok(())
}
