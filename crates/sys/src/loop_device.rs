//! Loop devices that disappear with their last user.
//!
//! A device is attached with AUTOCLEAR: the kernel detaches it once it is neither open nor mounted, even if the attaching
//! process has died. Queue settings of these devices are never changed, because some of them outlive the device.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// `include/uapi/linux/loop.h`
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_GET_STATUS64: libc::Ioctl = 0x4C05;
const LOOP_CTL_ADD: libc::Ioctl = 0x4C80;
const LOOP_CTL_REMOVE: libc::Ioctl = 0x4C81;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Another process may take the free device before we attach it, and udev may hold it briefly.
const TRIES: u32 = 50;

/// `struct loop_info64`
#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config`
#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

/// An attached device. It exists as long as this value or a mount of it.
#[derive(Debug)]
pub struct LoopDevice {
    device: File,
    path: PathBuf,
    direct: bool,
}

impl LoopDevice {
    /// Attaches `image`, with direct I/O if the image's filesystem allows it.
    ///
    /// # Errors
    /// Without the permission to use loop devices, or if none is free after about a second.
    pub fn attach(image: &File) -> io::Result<Self> {
        match Self::attach_with(image, LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO) {
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Self::attach_with(image, LO_FLAGS_AUTOCLEAR),
            other => other,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the device bypasses the host's page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Attaches `image` to a new device of that number, with direct I/O and blocks of `block_bytes`. [`remove`] deletes the
    /// device with all its queue settings.
    ///
    /// # Errors
    /// Without the permission to use loop devices, if that number is taken, or if the image does not support direct I/O.
    pub fn attach_new(number: u32, image: &File, block_bytes: u32) -> io::Result<Self> {
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
        // SAFETY: this ioctl takes a number and returns one.
        if unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_ADD, libc::c_ulong::from(number)) } < 0 {
            return Err(io::Error::last_os_error());
        }
        let device = Self::configure(number, image, LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO, block_bytes);
        match device {
            Ok(device) if device.direct => Ok(device),
            Ok(device) => {
                drop(device);
                let _ = remove(number);
                Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "the loop device cannot use direct I/O on this file",
                ))
            }
            Err(e) => {
                let _ = remove(number);
                Err(e)
            }
        }
    }

    fn attach_with(image: &File, flags: u32) -> io::Result<Self> {
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
        let mut tries = 0;
        loop {
            match Self::attach_free(&control, image, flags) {
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) && tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(20));
                }
                other => return other,
            }
        }
    }

    fn attach_free(control: &File, image: &File, flags: u32) -> io::Result<Self> {
        // SAFETY: this ioctl takes no argument and returns a number.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        Self::configure(number.unsigned_abs(), image, flags, 0)
    }

    /// Uses blocks of `block_bytes`; 0 leaves the size to the kernel.
    fn configure(number: u32, image: &File, flags: u32, block_bytes: u32) -> io::Result<Self> {
        let path = PathBuf::from(format!("/dev/loop{number}"));
        let device = open_or_make_node(&path, number)?;
        // SAFETY: both structures are plain integers, for which all zeros is a value.
        let mut config: Config = unsafe { std::mem::zeroed() };
        config.fd = image.as_raw_fd().unsigned_abs();
        config.block_size = block_bytes;
        config.info.flags = flags;
        // SAFETY: the kernel reads one `struct loop_config`, which lives until the call returns.
        let done = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        let shown = std::fs::read_to_string(format!("/sys/block/loop{number}/loop/dio")).unwrap_or_default();
        Ok(LoopDevice { device, path, direct: shown.trim() == "1" })
    }
}

impl AsFd for LoopDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Deletes an unused device; waits briefly for its users. A missing device is no error.
///
/// # Errors
/// Without the permission, or if it is still in use.
pub fn remove(number: u32) -> io::Result<()> {
    let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
    let mut tries = 0;
    loop {
        // SAFETY: this ioctl takes a number and returns one.
        if unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_REMOVE, libc::c_ulong::from(number)) } >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENODEV) => return Ok(()),
            Some(libc::EBUSY) if tries < TRIES => tries += 1,
            _ => return Err(error),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The kernel has made the device, but a static /dev may lack its node.
fn open_or_make_node(path: &Path, number: u32) -> io::Result<File> {
    let open = || OpenOptions::new().read(true).write(true).custom_flags(libc::O_CLOEXEC).open(path);
    match open() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
            const LOOP_MAJOR: u32 = 7;
            match mknodat(
                CWD,
                path,
                FileType::BlockDevice,
                Mode::RUSR | Mode::WUSR,
                makedev(LOOP_MAJOR, number),
            ) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => open(),
                Err(e) => Err(e.into()),
            }
        }
        other => other,
    }
}

/// The number of the block device below this loop device, whatever its node was called; 0 if a file is below.
///
/// # Errors
/// If nothing is below.
pub fn device_below(device: &File) -> io::Result<u64> {
    // SAFETY: integers and arrays of them may be zero.
    let mut info: Info = unsafe { std::mem::zeroed() };
    // SAFETY: this ioctl writes one `struct loop_info64`.
    match unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) } {
        0 => Ok(info.rdevice),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Writes back and drops the kernel's cache of a block device.
///
/// # Errors
/// On anything but a block device, or without the permission.
pub fn forget_cached(device: impl AsFd) -> io::Result<()> {
    const BLKFLSBUF: libc::Ioctl = 0x1261;
    // SAFETY: this ioctl takes no argument.
    match unsafe { libc::ioctl(device.as_fd().as_raw_fd(), BLKFLSBUF, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
