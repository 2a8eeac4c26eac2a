//! Restricts all processes of a cgroup (version 2) to a few devices, by device number. Opening any other device fails,
//! whatever path, mount option or superblock names it.
//!
//! The kernel runs a small BPF program each time a device is opened or a node is made
//! (`Documentation/admin-guide/cgroup-v2.rst`, "Device controller"; `include/uapi/linux/bpf.h`, `struct bpf_cgroup_dev_ctx`).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A block or character device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceNumber {
    pub is_block: bool,
    pub major: u32,
    pub minor: u32,
}

/// A BPF instruction: `struct bpf_insn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
struct Instruction {
    code: u8,
    /// Destination in the lower, source in the upper four bits.
    registers: u8,
    offset: i16,
    value: i32,
}

const LOAD_WORD: u8 = 0x61;
const COPY: u8 = 0xbf;
const SET: u8 = 0xb7;
const AND: u8 = 0x54;
const SHIFT_RIGHT: u8 = 0x74;
const JUMP_IF_BITS: u8 = 0x45;
const JUMP_IF_OTHER: u8 = 0x55;
const EXIT: u8 = 0x95;

const BLOCK: i32 = 1;
const CHARACTER: i32 = 2;
const MAKE_NODE: i32 = 1;

/// `bpf(2)`: commands, program type and attach type.
const PROG_LOAD: libc::c_int = 5;
const PROG_ATTACH: libc::c_int = 8;
const TYPE_CGROUP_DEVICE: u32 = 15;
const ATTACH_CGROUP_DEVICE: u32 = 6;
/// Programs of ancestor cgroups remain in effect.
const ALLOW_MULTI: u32 = 2;

/// The beginning of `union bpf_attr` for `BPF_PROG_LOAD`.
#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
}

/// The beginning of `union bpf_attr` for `BPF_PROG_ATTACH`.
#[repr(C)]
struct Attach {
    target: RawFd,
    program: RawFd,
    kind: u32,
    flags: u32,
}

/// From now on processes of this cgroup may open only these devices and make no nodes.
///
/// # Errors
/// If the kernel has no BPF for cgroups, or this process may not use it.
pub fn hold_to(group: &File, devices: &[DeviceNumber]) -> io::Result<()> {
    let program = program(devices);
    let load = Load {
        kind: TYPE_CGROUP_DEVICE,
        count: u32::try_from(program.len()).map_err(io::Error::other)?,
        instructions: program.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
    };
    let loaded = bpf(PROG_LOAD, &load)?;
    // SAFETY: the call returned a new descriptor, which nothing else owns.
    let loaded = unsafe { OwnedFd::from_raw_fd(loaded) };
    let attach = Attach {
        target: group.as_raw_fd(),
        program: loaded.as_raw_fd(),
        kind: ATTACH_CGROUP_DEVICE,
        flags: ALLOW_MULTI,
    };
    bpf(PROG_ATTACH, &attach).map(drop)
}

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: the structure is plain data of the given length, and everything it points to outlives the call.
    let done =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { RawFd::try_from(done).map_err(io::Error::other) }
}

/// ```text
/// r1: u32 kind (lower half), access (upper half); u32 major; u32 minor
/// r3 kind, r2 access, r4 major, r5 minor; the answer is r0
/// ```
fn program(devices: &[DeviceNumber]) -> Vec<Instruction> {
    let i = |code, destination: u8, source: u8, offset, value| Instruction {
        code,
        registers: destination | source << 4,
        offset,
        value,
    };
    const EACH: usize = 5;
    let to_denied = i16::try_from(devices.len() * EACH).unwrap_or(i16::MAX);
    let mut all = vec![
        i(LOAD_WORD, 2, 1, 0, 0),
        i(COPY, 3, 2, 0, 0),
        i(AND, 3, 0, 0, 0xffff),
        i(SHIFT_RIGHT, 2, 0, 0, 16),
        i(LOAD_WORD, 4, 1, 4, 0),
        i(LOAD_WORD, 5, 1, 8, 0),
        i(JUMP_IF_BITS, 2, 0, to_denied, MAKE_NODE),
    ];
    for device in devices {
        let kind = if device.is_block { BLOCK } else { CHARACTER };
        all.extend([
            i(JUMP_IF_OTHER, 3, 0, 4, kind),
            i(JUMP_IF_OTHER, 4, 0, 3, device.major.cast_signed()),
            i(JUMP_IF_OTHER, 5, 0, 2, device.minor.cast_signed()),
            i(SET, 0, 0, 0, 1),
            i(EXIT, 0, 0, 0, 0),
        ]);
    }
    all.extend([i(SET, 0, 0, 0, 0), i(EXIT, 0, 0, 0, 0)]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_laid_out_as_the_kernel_reads_it() {
        assert_eq!(size_of::<Instruction>(), 8);
        assert_eq!(program(&[])[0], Instruction { code: 0x61, registers: 0x12, offset: 0, value: 0 });
        let one = program(&[DeviceNumber { is_block: true, major: 7, minor: 3 }]);
        assert_eq!((one.len(), one[6].offset), (14, 5));
    }
}
