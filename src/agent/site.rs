//! A prepared testbed: a fresh image behind a loop device, a guest's own disk, or a folder of ours inside an existing one.
//!
//! What has no name needs no cleaning up: the image is an unnamed file, the loop device detaches itself, the mount is
//! seen by nobody else.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fsderby_sys::loop_device::{LoopDevice, forget_cached};
use rustix::fs::{FallocateFlags, OFlags, fallocate};

use super::protocol::{Dev, ImageState, Space};
use super::{StepError, mounting, protocol::At};
use crate::filesystems::{DEVICE, MOUNTPOINT, Mount, Mounted};
use crate::storage::disk;
use crate::units::{Bytes, MIB};

/// Folders that every Linux has and over which, unseen by others, our own little tree can be mounted.
const BASES: [&str; 4] = ["/mnt", "/media", "/srv", "/opt"];

/// What a job's site is called: its folder on a `directory` testbed, and elsewhere the source that mountinfo shows of our own
/// tree, for whoever looks for remains.
fn name(token: &str) -> String {
    format!("fsderby-{token}")
}

/// The site folder on a `directory` testbed.
pub fn folder(parent: &Path, token: &str) -> PathBuf {
    parent.join(name(token))
}

/// What a site's filesystem lies on.
enum Below {
    Loop(LoopDevice),
    /// A guest's own disk.
    Disk {
        path: PathBuf,
        direct: bool,
    },
}

impl Below {
    fn path(&self) -> &Path {
        match self {
            Below::Loop(device) => device.path(),
            Below::Disk { path, .. } => path,
        }
    }

    fn is_direct(&self) -> bool {
        match self {
            Below::Loop(device) => device.is_direct(),
            Below::Disk { direct, .. } => *direct,
        }
    }

    fn forget_cached(&self) -> io::Result<()> {
        match self {
            Below::Loop(device) => forget_cached(device),
            Below::Disk { path, .. } => forget_cached(File::open(path)?),
        }
    }
}

pub struct Site {
    device: Option<Below>,
    mountpoint: PathBuf,
    mounted: bool,
    /// The folder in which the workload works.
    place: PathBuf,
    /// Removed at the end, on a `directory` testbed.
    folder: Option<PathBuf>,
}

impl Site {
    /// A fresh testbed for this device.
    pub fn new(device: &Dev, size: Bytes, token: &str, isolated: bool) -> Result<Self, StepError> {
        match device {
            Dev::Image { folder, state } if isolated => {
                Self::on_image(Path::new(folder), *state, size, token)
            }
            Dev::Image { folder, .. } => Err(StepError::new("attach", folder, "loop devices need root")),
            Dev::Block { path, direct, .. } => {
                Self::below(Below::Disk { path: path.into(), direct: *direct }, Path::new("/dev"), token)
            }
            Dev::Model(_) => {
                let device = Below::Disk { path: disk::DEVICE.into(), direct: true };
                Self::below(device, Path::new("/dev"), token)
            }
            Dev::Folder { path } => Self::in_folder(Path::new(path), token),
        }
    }

    fn on_image(folder: &Path, state: ImageState, size: Bytes, token: &str) -> Result<Self, StepError> {
        let image = image(folder, state, size).map_err(|e| StepError::io("make an image", folder, e))?;
        let device =
            LoopDevice::attach(&image).map_err(|e| StepError::io("attach a loop device", folder, e))?;
        Self::below(Below::Loop(device), folder, token)
    }

    /// `occupied` must not be hidden by what is mounted.
    fn below(device: Below, occupied: &Path, token: &str) -> Result<Self, StepError> {
        let mountpoint = base(occupied, token)?.join("site");
        fs::create_dir(&mountpoint).map_err(|e| StepError::io("make", &mountpoint, e))?;
        let place = mountpoint.join("work");
        Ok(Site { device: Some(device), mountpoint, mounted: false, place, folder: None })
    }

    fn in_folder(path: &Path, token: &str) -> Result<Self, StepError> {
        let place = folder(path, token);
        fs::create_dir(&place).map_err(|e| StepError::io("make", &place, e))?;
        Ok(Site {
            device: None,
            mountpoint: path.to_owned(),
            mounted: false,
            folder: Some(place.clone()),
            place,
        })
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
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// A file without a name, in the asked state.
pub fn image(folder: &Path, state: ImageState, size: Bytes) -> io::Result<File> {
    let mut image = unnamed(folder)?;
    image.set_len(size.0)?;
    match state {
        ImageState::Sparse => {}
        ImageState::Allocated => fallocate(&image, FallocateFlags::empty(), 0, size.0)?,
        ImageState::Written => {
            let zeros = vec![0; MIB as usize];
            let mut left = size.0;
            while left > 0 {
                let next = left.min(MIB);
                image.write_all(&zeros[..next as usize])?;
                left -= next;
            }
        }
    }
    image.sync_all()?;
    Ok(image)
}

fn unnamed(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let flag = OFlags::TMPFILE.bits().cast_signed();
    match options.custom_flags(flag).open(folder) {
        Err(e) if matches!(e.raw_os_error(), Some(libc_codes::EOPNOTSUPP | libc_codes::EISDIR)) => {
            let named = folder.join(format!(".fsderby-image-{}", std::process::id()));
            let image = options.custom_flags(0).create_new(true).open(&named)?;
            fs::remove_file(&named)?;
            Ok(image)
        }
        other => other,
    }
}

/// What open says where a filesystem knows no unnamed files.
mod libc_codes {
    pub const EISDIR: i32 = rustix::io::Errno::ISDIR.raw_os_error();
    pub const EOPNOTSUPP: i32 = rustix::io::Errno::OPNOTSUPP.raw_os_error();
}

/// A small tree of our own, mounted where it hides nothing that the trial needs.
fn base(images: &Path, token: &str) -> Result<PathBuf, StepError> {
    let images = fs::canonicalize(images).map_err(|e| StepError::io("look at", images, e))?;
    let free = |base: &&&str| Path::new(base).is_dir() && !images.starts_with(base);
    let base = BASES
        .iter()
        .find(free)
        .ok_or_else(|| StepError::new("mount", "/mnt", "there is no folder to mount on"))?;
    mounting::mount(Path::new(&name(token)), Path::new(base), "tmpfs", &["size=1m".to_owned()])?;
    Ok(PathBuf::from(base))
}
