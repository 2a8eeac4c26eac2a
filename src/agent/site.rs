//! Where a trial works: its storage attached, the filesystem made on it mounted where nobody else sees it.
//!
//! What has no name needs no cleaning up: the image is an unnamed file, the loop device detaches itself, the mount is
//! seen by nobody else.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{StepError, mounting};
use crate::host::own_folder::OwnFolder;
use crate::schema::event::Space;
use crate::schema::job::{At, Job};
use crate::schema::setup::{DEVICE, MOUNTPOINT, Mount, Mounted};
use crate::schema::units::Bytes;
use crate::storage::{self, Attached, Device};

/// Folders that every Linux has and over which, unseen by others, our own little tree can be mounted.
const BASES: [&str; 4] = ["/mnt", "/media", "/srv", "/opt"];

pub struct Site {
    device: Option<Box<dyn Device>>,
    mountpoint: PathBuf,
    mounted: bool,
    /// The folder in which the workload works.
    place: PathBuf,
    /// Removed at the end, where nothing was mounted.
    _folder: Option<OwnFolder>,
}

impl Site {
    /// What this job's storage is, attached.
    pub fn new(job: &Job) -> Result<Self, StepError> {
        match storage::find(&job.storage)?.attach(job)? {
            Attached::Device(device) => Self::on_device(device, &job.token),
            Attached::Folder(folder) => {
                let place = folder.work().to_owned();
                let mountpoint = place.parent().unwrap_or(&place).to_owned();
                Ok(Site { device: None, mountpoint, mounted: false, place, _folder: Some(folder) })
            }
        }
    }

    fn on_device(device: Box<dyn Device>, token: &str) -> Result<Self, StepError> {
        let mountpoint = base(device.lies_in(), token)?.join("site");
        fs::create_dir(&mountpoint).map_err(|e| StepError::io("make", &mountpoint, e))?;
        let place = mountpoint.join("work");
        Ok(Site { device: Some(device), mountpoint, mounted: false, place, _folder: None })
    }

    pub fn place(&self) -> &Path {
        &self.place
    }

    /// What the reset brought: device, its size, whether it goes past the host's page cache.
    pub fn device(&self) -> Option<(String, bool)> {
        self.device.as_ref().map(|d| (d.path().display().to_string(), d.is_direct()))
    }

    /// `major:minor` of the block device below, as /sys/dev/block names it, where there is one.
    pub fn device_number(&self) -> Option<String> {
        let number = match &self.device {
            Some(device) => fs::metadata(device.path()).ok()?.rdev(),
            None => fs::metadata(&self.place).ok()?.dev(),
        };
        let name = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        Path::new("/sys/dev/block").join(&name).exists().then_some(name)
    }

    /// The command line with device and mount point put in.
    pub fn expand(&self, argv: &[String]) -> Vec<String> {
        let device = self.device().map(|d| d.0).unwrap_or_default();
        let mountpoint = self.mountpoint.display().to_string();
        argv.iter().map(|word| word.replace(DEVICE, &device).replace(MOUNTPOINT, &mountpoint)).collect()
    }

    /// Mounts by the kernel's call. A mount by a command is run by the caller, who then says so.
    pub fn mount(&mut self, fstype: &str, options: &[String]) -> Result<(), StepError> {
        let device = self.device().map(|d| d.0).unwrap_or_default();
        mounting::mount(Path::new(&device), &self.mountpoint, fstype, options)
    }

    /// After a mount: says what is there and makes the folder to work in.
    pub fn settle_in(&mut self, mount: &Mount) -> Result<Mounted, StepError> {
        let program = match mount {
            Mount::Syscall { .. } => None,
            Mount::Command { argv, .. } => argv.first().map(String::as_str),
        };
        let seen = mounting::mounted(&self.mountpoint, program)?;
        self.mounted = true;
        match fs::create_dir(&self.place) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(StepError::io("make", &self.place, e)),
            _ => Ok(seen),
        }
    }

    /// What the folder of a `directory` testbed lies on.
    pub fn found(&self) -> Result<Mounted, StepError> {
        let mut above =
            fs::canonicalize(&self.mountpoint).map_err(|e| StepError::io("look at", &self.mountpoint, e))?;
        loop {
            match mounting::mounted(&above, None) {
                Err(_) if above.pop() => {}
                other => return other,
            }
        }
    }

    pub fn unmount(&mut self) -> Result<(), StepError> {
        mounting::unmount(&self.mountpoint)?;
        self.mounted = false;
        Ok(())
    }

    /// Forgets what the kernel has cached of the device, so that every check reads it anew.
    pub fn forget_cached(&self) -> Result<(), StepError> {
        match &self.device {
            Some(device) => {
                device.forget_cached().map_err(|e| StepError::io("forget the cache of", device.path(), e))
            }
            None => Ok(()),
        }
    }

    /// Everything below written to the device.
    pub fn sync(&self) -> Result<(), StepError> {
        let fault = |e: io::Error| StepError::io("sync", &self.place, e);
        let place = File::open(&self.place).map_err(fault)?;
        rustix::fs::syncfs(place).map_err(|e| fault(e.into()))
    }

    pub fn space(&self, at: At) -> Result<Space, StepError> {
        self.sync()?;
        let seen = rustix::fs::statvfs(&self.place)
            .map_err(|e| StepError::io("ask the space of", &self.place, e))?;
        let bytes = |blocks: u64| Bytes(blocks * seen.f_frsize);
        let (total, free, usable) = (bytes(seen.f_blocks), bytes(seen.f_bfree), bytes(seen.f_bavail));
        Ok(Space { at, total, free, usable, inodes: seen.f_files })
    }

    /// Deletes all that the workload left.
    pub fn empty(&self) -> Result<(), StepError> {
        let fault = |e: io::Error| StepError::io("empty", &self.place, e);
        fs::remove_dir_all(&self.place).map_err(fault)?;
        fs::create_dir(&self.place).map_err(fault)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let is_free = !self.mounted || mounting::unmount(&self.mountpoint).is_ok();
        // Our own little tree: in a guest another site may follow.
        if let (true, Some(_), Some(base)) = (is_free, &self.device, self.mountpoint.parent()) {
            let _ = mounting::unmount(base);
        }
    }
}

/// A small tree of our own, mounted where it hides nothing that the trial needs.
fn base(images: &Path, token: &str) -> Result<PathBuf, StepError> {
    let images = fs::canonicalize(images).map_err(|e| StepError::io("look at", images, e))?;
    let free = |base: &&&str| Path::new(base).is_dir() && !images.starts_with(base);
    let base = BASES
        .iter()
        .find(free)
        .ok_or_else(|| StepError::new("mount", "/mnt", "there is no folder to mount on"))?;
    mounting::mount(Path::new(&storage::name(token)), Path::new(base), "tmpfs", &["size=1m".to_owned()])?;
    Ok(PathBuf::from(base))
}
