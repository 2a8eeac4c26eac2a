//! What the kernel knows of an open block device, and the two ways in which it empties a range.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `include/uapi/linux/fs.h`
const BLKROGET: libc::Ioctl = 0x125e;
const BLKSSZGET: libc::Ioctl = 0x1268;
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;
const BLKDISCARD: libc::Ioctl = 0x1277;
const BLKZEROOUT: libc::Ioctl = 0x127f;
const BLKGETDISKSEQ: libc::Ioctl = 0x8008_1280;

/// Bytes of the device.
///
/// # Errors
/// If the file is no block device.
pub fn bytes(device: &File) -> io::Result<u64> {
    let mut bytes = 0_u64;
    // SAFETY: this ioctl writes one u64.
    ask(unsafe { libc::ioctl(device.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) })?;
    Ok(bytes)
}

/// Bytes of a logical sector.
///
/// # Errors
/// If the file is no block device.
pub fn sector(device: &File) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: this ioctl writes one int.
    ask(unsafe { libc::ioctl(device.as_raw_fd(), BLKSSZGET, &raw mut bytes) })?;
    u64::try_from(bytes).map_err(io::Error::other)
}

/// The number that the kernel gives to each medium that appears, and to no other until the next boot.
///
/// # Errors
/// On kernels before 5.15.
pub fn sequence(device: &File) -> io::Result<u64> {
    let mut number = 0_u64;
    // SAFETY: this ioctl writes one u64.
    ask(unsafe { libc::ioctl(device.as_raw_fd(), BLKGETDISKSEQ, &raw mut number) })?;
    Ok(number)
}

/// Whether the kernel refuses to write to the device.
///
/// # Errors
/// If the file is no block device.
pub fn is_read_only(device: &File) -> io::Result<bool> {
    let mut flag: libc::c_int = 0;
    // SAFETY: this ioctl writes one int.
    ask(unsafe { libc::ioctl(device.as_raw_fd(), BLKROGET, &raw mut flag) })?;
    Ok(flag != 0)
}

/// Makes a range of bytes read as zeros: by the device's own command if it has one, otherwise by writing them.
///
/// # Errors
/// If the range is not of whole sectors, or the device reports an error.
pub fn zero(device: &File, at: u64, length: u64) -> io::Result<()> {
    let range = [at, length];
    // SAFETY: this ioctl reads two u64.
    ask(unsafe { libc::ioctl(device.as_raw_fd(), BLKZEROOUT, range.as_ptr()) })
}

/// Tells the device that a range of bytes is not needed. What is read from there afterwards is the device's choice.
///
/// # Errors
/// If the device cannot discard.
pub fn discard(device: &File, at: u64, length: u64) -> io::Result<()> {
    let range = [at, length];
    // SAFETY: this ioctl reads two u64.
    ask(unsafe { libc::ioctl(device.as_raw_fd(), BLKDISCARD, range.as_ptr()) })
}

fn ask(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
