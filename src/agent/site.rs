//! The place of a trial: its storage attached, and its filesystem mounted invisibly to others.
//!
//! Unnamed objects need no cleanup: the image is an unnamed file, the loop device detaches itself, and the mount is private.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use fsderby_sys::process::{Usage, thread_usage};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, StatVfs, Uid};

use super::sandbox::{Sandbox, Tree, WORKER};
use super::source::{Filling, Source};
use super::stack::{self, Raise, Stack};
use super::{StepError, harmless, monotonic_ns, mounting, raw};
use crate::host::kernel_log::Log;
use crate::host::own_folder::OwnFolder;
use crate::probes::Devices;
use crate::schema::event::{Seen, Space};
use crate::schema::job::{At, Job, WorkJob};
use crate::schema::setup::{Argv, DEVICE, Identity, MOUNTPOINT, Mount, Mounted};
use crate::schema::units::Bytes;
use crate::storage::{self, Attached, Conditioning, Device};
use crate::workloads::programs;

/// Folders of every Linux on which our base tree can be mounted, invisibly to others.
const BASES: [&str; 4] = ["/mnt", "/media", "/srv", "/opt"];

/// Opens a folder without following links.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const ROOT: Identity = Identity { uid: 0, gid: 0 };
/// If free space does not change for this long, no more space will be freed.
const GIVING_BACK: Duration = Duration::from_millis(100);
const MOST_PAUSES: usize = 100;

pub struct Site {
    stack: Option<Stack>,
    /// The sandbox of the trial's tools; `None` in a guest, which is itself a sandbox, and without a device.
    sandbox: Option<Sandbox>,
    mountpoint: PathBuf,
    /// The base tree that contains all mounts of the trial.
    base: Option<PathBuf>,
    mounted: bool,
    /// The workload's folder.
    place: PathBuf,
    worker: Option<Identity>,
    /// Whether its programs run as an unprivileged user in a guest.
    is_guest_with_programs: bool,
    /// Free space before the first file.
    fresh: Bytes,
    /// The folder that the trial removes at its end, if the trial mounted nothing.
    folder: Option<OwnFolder>,
    /// The second disk, from which works copy.
    source: Option<Source>,
    /// What was seen while its drives were conditioned.
    conditioned: Vec<Seen>,
    /// Opened before the agent enters its group of devices, which has none of the kernel's.
    log: Option<Log>,
}

impl Site {
    /// Attaches this job's storage, with its layers.
    pub fn new(job: &Job, how: Raise) -> Result<Self, StepError> {
        match storage::find(&job.storage)?.attach(job)? {
            Attached::Devices { leaves, source } => {
                let conditioned = condition(&leaves, job)?;
                let mut site = Self::on_devices(Stack::raise(leaves, job, how)?, source, job)?;
                site.conditioned = conditioned;
                Ok(site)
            }
            Attached::Folder(folder) => {
                let place = folder.work().to_owned();
                let mut site = Site {
                    stack: None,
                    sandbox: None,
                    mountpoint: place.parent().unwrap_or(&place).to_owned(),
                    base: None,
                    mounted: false,
                    place,
                    worker: None,
                    is_guest_with_programs: false,
                    fresh: Bytes(0),
                    folder: Some(folder),
                    source: None,
                    conditioned: Vec::new(),
                    log: None,
                };
                site.give()?;
                Ok(site)
            }
        }
    }

    fn on_devices(stack: Stack, beside: Option<Box<dyn Device>>, job: &Job) -> Result<Self, StepError> {
        let log = Log::from_now().ok();
        // Before any object of ours is in it.
        let tree = if job.guest { None } else { Some(Tree::new()?) };
        let base = base(stack.lies_in(), &job.token)?;
        let devices: Vec<&Path> = [stack.top()].into_iter().chain(beside.iter().map(|d| d.path())).collect();
        let agents = stack.nodes();
        let around = |tree: &Tree| Sandbox::around(&devices, &agents, job, &base, tree);
        let sandbox = tree.as_ref().map(around).transpose()?;
        let mountpoint = sandbox.as_ref().map_or_else(|| base.join("site"), Sandbox::mountpoint);
        fs::create_dir(&mountpoint).map_err(|e| StepError::io("make", &mountpoint, e))?;
        let place = mountpoint.join("work");
        let source = sandbox.as_ref().map_or_else(|| base.join("source"), Sandbox::source);
        let source = beside.map(|device| Source::new(device, source)).transpose()?;
        Ok(Site {
            stack: Some(stack),
            sandbox,
            mountpoint,
            base: Some(base),
            mounted: false,
            place,
            worker: None,
            is_guest_with_programs: job.guest && job.works.iter().any(|work| programs::starts(&work.work)),
            fresh: Bytes(0),
            folder: None,
            source,
            conditioned: Vec::new(),
            log,
        })
    }

    /// What was seen while its drives were conditioned.
    pub fn conditioned(&self) -> &[Seen] {
        &self.conditioned
    }

    /// The second disk, once filled.
    pub fn source(&self) -> Option<&Path> {
        self.source.as_ref().and_then(Source::place)
    }

    /// Fills the second disk with this work's source files.
    pub fn fill_source(
        &mut self,
        work: &WorkJob,
        make: &[Argv],
        mount: &Mount,
        limit: Duration,
    ) -> Result<(), StepError> {
        let source = self.source.as_mut();
        let source = source.ok_or_else(|| StepError::new("fill", "the second disk", "there is none"))?;
        source.fill(&Filling {
            work,
            make,
            mount,
            limit,
            sandbox: self.sandbox.as_ref(),
            worker: self.worker,
        })
    }

    /// The sandbox of the trial's tools.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// The root of its programs; `None` if they share this machine's.
    pub fn root(&self) -> Option<&Path> {
        // A guest is nobody else's machine.
        let guest = || self.is_guest_with_programs.then_some(Path::new("/"));
        self.sandbox.as_ref().map(Sandbox::root).or_else(guest)
    }

    pub fn place(&self) -> &Path {
        &self.place
    }

    /// The mount point of the filesystem.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// The folder of this work.
    pub fn place_of(&self, work: &WorkJob) -> PathBuf {
        work.folder.as_ref().map_or_else(|| self.place.clone(), |folder| self.place.join(folder))
    }

    /// Opens the folder of this work: a descriptor cannot be redirected. Creates the folder if it is missing.
    pub fn open(&self, work: &WorkJob) -> Result<OwnedFd, StepError> {
        let place = self.open_place()?;
        match &work.folder {
            None => Ok(place),
            Some(folder) => self.within(&place, folder, &self.place.join(folder)),
        }
    }

    /// A subfolder of that name in the work's folder, created if missing, for its worker.
    pub fn open_within(&self, work: &WorkJob, name: &str) -> Result<OwnedFd, StepError> {
        self.within(&self.open(work)?, name, &self.place_of(work).join(name))
    }

    fn within(&self, above: &OwnedFd, name: &str, path: &Path) -> Result<OwnedFd, StepError> {
        let fault = |what: &str, e| StepError::io(what, path, e);
        match rustix::fs::mkdirat(above, name, Mode::RWXU) {
            Err(rustix::io::Errno::EXIST) | Ok(()) => {}
            Err(e) => return Err(fault("make", e)),
        }
        let folder = rustix::fs::openat(above, name, FOLDER, Mode::empty()).map_err(|e| fault("open", e))?;
        match self.worker {
            None | Some(ROOT) => {}
            Some(Identity { uid, gid }) => {
                let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
                rustix::fs::fchown(&folder, uid, gid).map_err(|e| fault("give away", e))?;
            }
        }
        Ok(folder)
    }

    fn open_place(&self) -> Result<OwnedFd, StepError> {
        let opened = rustix::fs::open(&self.place, FOLDER, Mode::empty());
        opened.map_err(|e| StepError::io("open", &self.place, e))
    }

    /// The worker's identity; `None` if there are no rights to give up: in a guest without programs, and for an ordinary user.
    pub fn worker(&self) -> Option<Identity> {
        self.worker
    }

    /// Makes the worker the owner of the folder: an unused ID, or the owner of the parent folder. On a filesystem without owners,
    /// the worker runs as root without root's rights.
    fn give(&mut self) -> Result<(), StepError> {
        let fault = |e: rustix::io::Errno| StepError::io("give away", &self.place, e);
        let place = self.open_place()?;
        let to = match (&self.sandbox, &self.folder) {
            (Some(_), _) => WORKER,
            _ if self.is_guest_with_programs => WORKER,
            (None, Some(_)) if rustix::process::geteuid().is_root() => {
                let above = rustix::fs::statat(&place, "../..", AtFlags::empty()).map_err(fault)?;
                Identity { uid: above.st_uid, gid: above.st_gid }
            }
            _ => return Ok(()),
        };
        let owner = || {
            let seen = rustix::fs::fstat(&place).map_err(fault)?;
            Ok::<_, StepError>(Identity { uid: seen.st_uid, gid: seen.st_gid })
        };
        if owner()? != to {
            let _ = rustix::fs::fchown(&place, Some(Uid::from_raw(to.uid)), Some(Gid::from_raw(to.gid)));
        }
        self.worker = Some(if owner()? == to { to } else { ROOT });
        Ok(())
    }

    /// The attached stack; `None` if no filesystem is created.
    pub fn stack(&self) -> Option<&Stack> {
        self.stack.as_ref()
    }

    /// The device for mkfs and mount.
    fn device(&self) -> &Path {
        self.stack.as_ref().map_or(Path::new(""), Stack::top)
    }

    /// The underlying block devices, as in /sys/dev/block.
    pub fn devices(&self) -> Devices {
        let is_there = |name: &String| Path::new("/sys/dev/block").join(name).exists();
        let Some(stack) = &self.stack else {
            let below = fs::metadata(&self.place).ok().map(|about| stack::number(about.dev()));
            return Devices { leaves: below.into_iter().filter(is_there).collect(), top: None };
        };
        let leaves = stack.leaves().filter_map(stack::number_of).filter(is_there).collect();
        let top = stack.has_layers().then(|| stack::number_of(stack.top())).flatten();
        Devices { leaves, top }
    }

    /// Removes the layers, once nothing is mounted on them.
    pub fn take_down(&mut self) -> Result<(), StepError> {
        self.stack.as_mut().map_or(Ok(()), Stack::take_down)
    }

    /// The command line with device and mount point filled in.
    pub fn expand(&self, argv: &[String]) -> Vec<String> {
        let device = self.device().display().to_string();
        let mountpoint = self.mountpoint_inside().display().to_string();
        argv.iter().map(|word| word.replace(DEVICE, &device).replace(MOUNTPOINT, &mountpoint)).collect()
    }

    /// The mount point as seen by tools.
    fn mountpoint_inside(&self) -> &Path {
        if self.sandbox.is_some() { Sandbox::site() } else { &self.mountpoint }
    }

    /// Mounts by system call; returns the nanoseconds and the calling thread's CPU usage. A mount by command is run by the
    /// caller, who then reports it.
    pub fn mount(&self, fstype: &str, options: &[String]) -> Result<(u64, Usage), StepError> {
        let (device, target) = (self.device(), self.mountpoint_inside());
        let options = match self.sandbox {
            Some(_) => &harmless::options(device, fstype, options)?,
            None => options,
        };
        let log = self.log.as_ref().filter(|log| log.skip().is_ok());
        let mount = || {
            let (begin, before) = (monotonic_ns(), thread_usage());
            mounting::mount(device, target, fstype, options, log)?;
            Ok((monotonic_ns() - begin, thread_usage().since(before)))
        };
        self.sandbox.as_ref().map_or_else(mount, |sandbox| sandbox.within(mount)?)
    }

    /// After a mount: reports it and creates the working folder.
    pub fn settle_in(&mut self, mount: &Mount) -> Result<Mounted, StepError> {
        let program = match mount {
            Mount::Syscall { .. } => None,
            Mount::Command { argv, .. } => argv.first().map(String::as_str),
        };
        let seen = mounting::mounted(&self.mountpoint, program)?;
        self.mounted = true;
        match fs::create_dir(&self.place) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StepError::io("make", &self.place, e));
            }
            _ => self.give()?,
        }
        Ok(seen)
    }

    /// The mount below the folder of a `directory` testbed.
    pub fn found(&self) -> Result<Mounted, StepError> {
        mounting::holding(&self.mountpoint)
    }

    pub fn unmount(&mut self) -> Result<(), StepError> {
        mounting::unmount(&self.mountpoint)?;
        self.mounted = false;
        Ok(())
    }

    /// Drops the kernel's cached pages of the devices, so that every check reads them again.
    pub fn forget_cached(&self) -> Result<(), StepError> {
        self.stack.as_ref().map_or(Ok(()), Stack::forget_cached)
    }

    /// Syncs everything to the device.
    pub fn sync(&self) -> Result<(), StepError> {
        let fault = |e: io::Error| StepError::io("sync", &self.place, e);
        let place = File::open(&self.place).map_err(fault)?;
        rustix::fs::syncfs(place).map_err(|e| fault(e.into()))
    }

    pub fn space(&mut self, at: At) -> Result<Space, StepError> {
        self.sync()?;
        if at == At::Emptied {
            self.wait_until_given_back()?;
        }
        let (seen, free) = self.statvfs()?;
        if at == At::Fresh {
            self.fresh = free;
        }
        let bytes = |blocks: u64| Bytes(blocks * seen.f_frsize);
        let (total, usable) = (bytes(seen.f_blocks), bytes(seen.f_bavail));
        Ok(Space { at, total, free, usable, inodes: seen.f_files })
    }

    /// Some filesystems free deleted space in the background, and no sync waits for it.
    fn wait_until_given_back(&self) -> Result<(), StepError> {
        let mut free = self.free()?;
        for _ in 0..MOST_PAUSES {
            if free >= self.fresh {
                break;
            }
            thread::sleep(GIVING_BACK);
            let before = std::mem::replace(&mut free, self.free()?);
            if free <= before {
                break;
            }
        }
        Ok(())
    }

    /// Unallocated space of the filesystem, which the caller must have synced.
    pub fn free(&self) -> Result<Bytes, StepError> {
        Ok(self.statvfs()?.1)
    }

    fn statvfs(&self) -> Result<(StatVfs, Bytes), StepError> {
        let seen = rustix::fs::statvfs(&self.place)
            .map_err(|e| StepError::io("get the free space of", &self.place, e))?;
        let free = Bytes(seen.f_bfree.saturating_mul(seen.f_frsize));
        Ok((seen, free))
    }

    /// What a full filesystem lacks: inodes or blocks. `None` if it cannot be asked.
    pub fn lacking(&self) -> Option<String> {
        let seen = rustix::fs::statvfs(&self.place).ok()?;
        Some(lacking(&seen))
    }

    /// Deletes all files of the workload.
    pub fn empty(&self) -> Result<(), StepError> {
        let fault = |e: io::Error| StepError::io("empty", &self.place, e);
        fs::remove_dir_all(&self.place).map_err(fault)?;
        fs::create_dir(&self.place).map_err(fault)
    }
}

/// Brings real drives into the state that the job asks for, before anything stands on them.
fn condition(leaves: &[Box<dyn Device>], job: &Job) -> Result<Vec<Seen>, StepError> {
    let mut all = Vec::new();
    for leaf in leaves {
        let (path, size) = (leaf.path(), job.volume.size);
        let steady = match leaf.conditioning() {
            Conditioning::None => continue,
            Conditioning::Wash(steady) => steady,
            Conditioning::Precondition => {
                let steady = raw::precondition(path, size).map_err(StepError::of_machine)?;
                leaf.note_conditioned(steady)
                    .map_err(|e| StepError::io("note the state of", path, e).of_machine())?;
                steady
            }
        };
        all.push(raw::wash(path, size, steady).map_err(StepError::of_machine)?);
        leaf.reset_names().map_err(|e| StepError::io("reset", path, e).of_machine())?;
    }
    Ok(all)
}

impl Drop for Site {
    fn drop(&mut self) {
        self.source = None;
        let is_free = !self.mounted || mounting::unmount(&self.mountpoint).is_ok();
        // Our base tree: in a guest another site may follow.
        if let (true, Some(base)) = (is_free, &self.base) {
            let _ = mounting::unmount_all(base);
        }
    }
}

/// Filesystems with dynamic inodes report none, or as many as the free blocks could hold.
fn lacking(seen: &StatVfs) -> String {
    let bytes = |blocks: u64| Bytes(blocks.saturating_mul(seen.f_frsize));
    let (usable, free) = (bytes(seen.f_bavail), bytes(seen.f_bfree));
    match (seen.f_files, seen.f_ffree) {
        (1.., 0) => format!("all {} inodes are used; {usable} of space are free", seen.f_files),
        (0, _) if usable.0 == 0 => format!("no blocks are free for users ({free} reserved)"),
        (_, inodes) if usable.0 == 0 => {
            format!("no blocks are free for users ({free} reserved); {inodes} inodes are free")
        }
        (0, _) => format!("{usable} of space are free, by statvfs"),
        (_, inodes) => format!("{usable} of space and {inodes} inodes are free, by statvfs"),
    }
}

/// Our base tree, mounted where it hides nothing that the trial needs.
fn base(images: &Path, token: &str) -> Result<PathBuf, StepError> {
    let images = fs::canonicalize(images).map_err(|e| StepError::io("look at", images, e))?;
    let free = |base: &&&str| Path::new(base).is_dir() && !images.starts_with(base);
    let base =
        BASES.iter().find(free).ok_or_else(|| StepError::new("mount", "/mnt", "there is no mount point"))?;
    mounting::mount(
        Path::new(&storage::name(token)),
        Path::new(base),
        "tmpfs",
        &["size=1m".to_owned()],
        None,
    )?;
    Ok(PathBuf::from(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_filesystem_lacks_inodes_or_blocks() {
        let of = |usable, free, files, inodes| {
            let (f_bavail, f_bfree, f_files, f_ffree) = (usable, free, files, inodes);
            lacking(&StatVfs {
                f_frsize: 1 << 20,
                f_bavail,
                f_bfree,
                f_files,
                f_ffree,
                ..rustix::fs::statvfs(".").expect("it is mounted")
            })
        };
        assert_eq!(of(290, 300, 96, 0), "all 96 inodes are used; 290 MiB of space are free");
        assert_eq!(of(0, 12, 96, 7), "no blocks are free for users (12 MiB reserved); 7 inodes are free");
        assert_eq!(of(0, 0, 0, 0), "no blocks are free for users (0 bytes reserved)");
        assert_eq!(of(3, 3, 0, 0), "3 MiB of space are free, by statvfs", "Btrfs lacks metadata space");
    }
}
