//! Block devices whose requests a program answers: the kernel's network block device over a socket pair.
//!
//! `Documentation/admin-guide/blockdev/nbd.rst` and `include/uapi/linux/nbd.h` of the kernel.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const NBD_SET_SOCK: libc::Ioctl = 0xab00;
const NBD_SET_BLKSIZE: libc::Ioctl = 0xab01;
const NBD_DO_IT: libc::Ioctl = 0xab03;
const NBD_SET_SIZE_BLOCKS: libc::Ioctl = 0xab07;
const NBD_DISCONNECT: libc::Ioctl = 0xab08;
const NBD_SET_FLAGS: libc::Ioctl = 0xab0a;

const HAS_FLAGS: u32 = 1;
const SEND_FLUSH: u32 = 1 << 2;
const SEND_FUA: u32 = 1 << 3;
const ROTATIONAL: u32 = 1 << 4;
const SEND_TRIM: u32 = 1 << 5;

/// What the kernel is told of the device.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a logical block.
    pub block: u32,
    pub blocks: u64,
    pub is_rotational: bool,
    pub discards: bool,
}

/// Has `device` (`/dev/nbd0`) send its requests to the other end of `socket`, and returns when that end is closed. Until then the
/// calling thread belongs to the kernel.
///
/// # Errors
/// Without the right to, on anything but such a device, or when one is already served.
pub fn serve(device: &File, socket: &OwnedFd, shape: Shape) -> io::Result<()> {
    let mut flags = HAS_FLAGS | SEND_FLUSH | SEND_FUA;
    flags |= if shape.is_rotational { ROTATIONAL } else { 0 };
    flags |= if shape.discards { SEND_TRIM } else { 0 };
    let numbers = [
        (NBD_SET_BLKSIZE, u64::from(shape.block)),
        (NBD_SET_SIZE_BLOCKS, shape.blocks),
        (NBD_SET_FLAGS, u64::from(flags)),
        (NBD_SET_SOCK, u64::from(socket.as_raw_fd().unsigned_abs())),
        (NBD_DO_IT, 0),
    ];
    for (request, number) in numbers {
        // SAFETY: these ioctls take a number, not a pointer.
        if unsafe { libc::ioctl(device.as_raw_fd(), request, number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Asks whoever serves `device` to hang up.
///
/// # Errors
/// When nobody serves it.
pub fn disconnect(device: &File) -> io::Result<()> {
    // SAFETY: this ioctl takes no argument.
    match unsafe { libc::ioctl(device.as_raw_fd(), NBD_DISCONNECT, 0) } {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
