//! Real-time scheduling of a thread, and a known seed for the kernel's random numbers.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;

/// Gives this thread real-time priority (SCHED_FIFO, 50), above every ordinary thread.
///
/// # Errors
/// Without the permission.
pub fn run_first() -> io::Result<()> {
    // SAFETY: all zeros is a valid value of this structure of integers.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = 50;
    // SAFETY: the kernel reads one `struct sched_param`, which lives until the call returns.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Seeds the kernel's random numbers and credits the seed as entropy.
///
/// # Errors
/// Without the permission.
pub fn seed_random(seed: &[u8; 32]) -> io::Result<()> {
    /// `_IOW('R', 0x03, int[2])`, `include/uapi/linux/random.h`
    const RNDADDENTROPY: libc::Ioctl = 0x4008_5203;
    #[repr(C)]
    struct Pool {
        bits: libc::c_int,
        bytes: libc::c_int,
        seed: [u8; 32],
    }
    let pool = Pool { bits: 256, bytes: 32, seed: *seed };
    let random = OpenOptions::new().write(true).open("/dev/urandom")?;
    // SAFETY: the kernel reads one `struct rand_pool_info` followed by the stated number of bytes.
    match unsafe { libc::ioctl(random.as_raw_fd(), RNDADDENTROPY, &raw const pool) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
