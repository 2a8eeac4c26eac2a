//! `image`: a new unnamed file, used through a loop device on the host or as a disk of a guest.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use fsderby_sys::loop_device::{LoopDevice, forget_cached};
use rustix::fs::{Advice, FallocateFlags, OFlags, SeekFrom, fadvise, fallocate, seek};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{Attached, Device, Disposable, Storage, settings};
use crate::host::{StepError, wait_for};
use crate::schema::event::Seen;
use crate::schema::job::Job;
use crate::schema::setup::{ImageState, Named};
use crate::schema::units::{Bytes, MIB};

pub struct Image;

/// The settings of the storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Folder of the file on the host.
    pub folder: String,
    pub state: ImageState,
    /// The disks of the guest that hold the images; `None` on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Whether there is one more disk, the last, as the source of copies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub source: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    pub path: String,
    /// Whether reads and writes bypass the host's page cache.
    pub direct: bool,
    /// The disks after the first, each with its own image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
}

impl Disk {
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.path).chain(&self.beside).map(String::as_str)
    }
}

impl Settings {
    pub fn named(&self) -> Named {
        Named::new(Image.name(), self)
    }
}

impl Storage for Image {
    fn name(&self) -> &'static str {
        "image"
    }

    fn attach(&self, job: &Job) -> Result<Attached, StepError> {
        let Settings { folder, state, disk, source } = settings(job)?;
        if let Some(disk) = disk {
            let device = |path: &str| -> Result<Box<dyn Device>, StepError> {
                let disposable = Disposable::in_guest(path.into())?;
                Ok(Box::new(GuestDisk { disposable, direct: disk.direct, folder: "/dev".into() }))
            };
            let mut leaves = disk.paths().map(device).collect::<Result<Vec<_>, _>>()?;
            let source = if source { leaves.pop() } else { None };
            return Ok(Attached::Devices { leaves, source });
        }
        if !rustix::process::geteuid().is_root() {
            return Err(StepError::new("attach", folder, "loop devices need root"));
        }
        let folder = PathBuf::from(folder);
        let attach = || -> Result<Box<dyn Device>, StepError> {
            let image = make(&folder, state, job.volume.size)
                .map_err(|e| StepError::io("create an image", &folder, e))?;
            let device =
                LoopDevice::attach(&image).map_err(|e| StepError::io("attach a loop device", &folder, e))?;
            let disposable = Disposable::loop_device(&device);
            Ok(Box::new(Looped { device, disposable, image, folder: folder.clone() }))
        };
        let leaves = vec![attach()?];
        Ok(Attached::Devices { leaves, source: source.then(attach).transpose()? })
    }

    fn reset_writes(&self, job: &Job) -> u64 {
        match settings::<Settings>(job) {
            Ok(Settings { state: ImageState::Written, disk, source, .. }) => {
                let images = disk.map_or(1 + usize::from(source), |disk| disk.paths().count());
                job.volume.size.0.saturating_mul(images as u64)
            }
            _ => 0,
        }
    }

    fn bring_up(&self, job: &Job) -> anyhow::Result<Option<Seen>> {
        let settings: Settings = settings(job)?;
        let disk = settings.disk.context("the job names no disk in a guest for this image")?;
        for path in disk.paths() {
            wait_for(|| Path::new(path).exists().then_some(()))
                .with_context(|| format!("{path} does not exist"))?;
        }
        Ok(None)
    }
}

struct Looped {
    device: LoopDevice,
    disposable: Disposable,
    image: File,
    folder: PathBuf,
}

impl Device for Looped {
    fn disposable(&self) -> &Disposable {
        &self.disposable
    }

    fn is_direct(&self) -> bool {
        self.device.is_direct()
    }

    fn forget_cached(&self) -> io::Result<()> {
        forget_cached(&self.device)
    }

    fn lies_in(&self) -> &Path {
        &self.folder
    }

    fn fault_below(&self) -> Option<String> {
        fault_of(&self.image).map(|e| format!("the image in {}: {e}", self.folder.display()))
    }
}

/// Whether the disk that holds this image still takes and gives data: a block is allocated where the image has a hole, and what it
/// holds is read, for a bounded time. The image changes; it must not be needed any more.
fn fault_of(image: &File) -> Option<io::Error> {
    /// Time limit of this check: enough for a few gibibytes. A failing disk returns an error early or takes long.
    const AT_MOST: Duration = Duration::from_secs(20);
    const BLOCK: u64 = 4096;
    let begin = Instant::now();
    let size = match image.metadata() {
        Ok(about) => about.len(),
        Err(e) => return Some(e),
    };
    let next = |from| match seek(image, from) {
        Ok(at) => Ok(Some(at).filter(|at| *at < size)),
        // Nothing of this kind follows, or this filesystem does not tell.
        Err(Errno::NXIO | Errno::INVAL | Errno::OPNOTSUPP) => Ok(None),
        Err(e) => Err(io::Error::from(e)),
    };
    let hole = match next(SeekFrom::Hole(0)) {
        Ok(hole) => hole,
        Err(e) => return Some(e),
    };
    if let Some(hole) = hole
        && let Err(e) = fallocate(image, FallocateFlags::KEEP_SIZE, hole, BLOCK)
        && e != Errno::OPNOTSUPP
    {
        return Some(e.into());
    }
    // What is cached says nothing of the disk.
    let _ = fadvise(image, 0, None, Advice::DontNeed);
    let mut buffer = vec![0; MIB as usize];
    let mut at = 0;
    while begin.elapsed() < AT_MOST {
        let (data, end) = match next(SeekFrom::Data(at)) {
            Ok(None) => return None,
            Ok(Some(data)) => match next(SeekFrom::Hole(data)) {
                Ok(end) => (data, end.unwrap_or(size)),
                Err(e) => return Some(e),
            },
            Err(e) => return Some(e),
        };
        at = data;
        while at < end && begin.elapsed() < AT_MOST {
            let length = (end - at).min(MIB) as usize;
            match image.read_at(&mut buffer[..length], at) {
                Ok(0) => return None,
                Ok(read) => at += read as u64,
                Err(e) => return Some(e),
            }
        }
    }
    None
}

/// A disk of the guest's machine.
pub struct GuestDisk {
    pub disposable: Disposable,
    pub direct: bool,
    /// Folder of device files.
    pub folder: PathBuf,
}

impl Device for GuestDisk {
    fn disposable(&self) -> &Disposable {
        &self.disposable
    }

    fn is_direct(&self) -> bool {
        self.direct
    }

    fn forget_cached(&self) -> io::Result<()> {
        forget_cached(File::open(self.path())?)
    }

    fn lies_in(&self) -> &Path {
        &self.folder
    }
}

/// Creates an unnamed file in the requested state.
pub fn make(folder: &Path, state: ImageState, size: Bytes) -> io::Result<File> {
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

/// Error codes of open on filesystems without unnamed files.
mod libc_codes {
    pub const EISDIR: i32 = rustix::io::Errno::ISDIR.raw_os_error();
    pub const EOPNOTSUPP: i32 = rustix::io::Errno::OPNOTSUPP.raw_os_error();
}

/// Copies data and skips holes.
pub fn copy_data(from: &File, begin: u64, to: &File, target: u64, length: u64) -> io::Result<()> {
    let end = begin + length;
    let mut piece = vec![0; MIB as usize];
    let mut at = begin;
    while at < end {
        at = match seek(from, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(()),
            Err(e) => return Err(e.into()),
        };
        let hole = seek(from, SeekFrom::Hole(at))?.min(end);
        while at < hole {
            let piece = &mut piece[..(hole - at).min(MIB) as usize];
            from.read_exact_at(piece, at)?;
            to.write_all_at(piece, target + (at - begin))?;
            at += piece.len() as u64;
        }
    }
    Ok(())
}

/// Copies a whole image, which may be unnamed and open for direct I/O, to an empty file.
pub fn copy(image: &File, to: &File) -> io::Result<()> {
    // A description of its own: direct reads would have to be aligned.
    let from = File::open(format!("/proc/self/fd/{}", image.as_raw_fd()))?;
    let length = from.metadata()?.len();
    to.set_len(length)?;
    copy_data(&from, 0, to, 0, length)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn only_what_was_written_is_copied() {
        let [from, to] = [(); 2].map(|()| tempfile::tempfile().unwrap());
        from.set_len(64 * MIB).unwrap();
        to.set_len(64 * MIB).unwrap();
        // Before the range, across pieces, at its end, after it.
        for (at, byte) in [(0, 1), (10 * MIB, 2), (13 * MIB - 100, 3), (20 * MIB - 1, 4), (20 * MIB, 5)] {
            from.write_all_at(&[byte; 1], at).unwrap();
        }
        from.write_all_at(&vec![6; 2 * MIB as usize + 5], 14 * MIB).unwrap();
        copy_data(&from, 10 * MIB, &to, 40 * MIB, 10 * MIB).unwrap();
        let read = |file: &File, at: u64| {
            let mut bytes = vec![0; 10 * MIB as usize];
            file.read_exact_at(&mut bytes, at).unwrap();
            bytes
        };
        assert!(read(&from, 10 * MIB) == read(&to, 40 * MIB));
        let mut behind = [0];
        to.read_exact_at(&mut behind, 50 * MIB).unwrap();
        assert_eq!(behind, [0]);
        assert!(to.metadata().unwrap().blocks() * 512 < 4 * MIB, "holes stay holes");
        let whole = tempfile::tempfile().unwrap();
        copy(&from, &whole).unwrap();
        assert_eq!(whole.metadata().unwrap().len(), 64 * MIB);
        assert!(read(&from, 10 * MIB) == read(&whole, 10 * MIB));
    }
}
