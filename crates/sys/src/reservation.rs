//! The commands that read who has reserved a disk: SCSI's PERSISTENT RESERVE IN, NVMe's Reservation Report. They change nothing.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

/// `include/scsi/sg.h`
const SG_IO: libc::Ioctl = 0x2285;
const SG_DXFER_FROM_DEV: libc::c_int = -3;
/// `include/uapi/linux/nvme_ioctl.h`
const NVME_IOCTL_ID: libc::Ioctl = 0x4E40;
const NVME_IOCTL_ADMIN_CMD: libc::Ioctl = 0xC048_4E41;
const NVME_IOCTL_IO_CMD: libc::Ioctl = 0xC048_4E43;
/// SPC-4, 6.15
const PERSISTENT_RESERVE_IN: u8 = 0x5E;
/// NVM Express Base Specification: Identify, Reservation Report.
const IDENTIFY: u8 = 0x06;
const RESERVATION_REPORT: u8 = 0x0E;
/// A sleeping disk may take long to answer.
const PATIENCE_MS: u32 = 20_000;
/// Room for more than 500 keys or 60 controllers, and the length of an Identify page.
const ROOM: usize = 4096;
const SENSE: usize = 64;

/// `struct sg_io_hdr`
#[repr(C)]
struct SgIo {
    interface_id: libc::c_int,
    direction: libc::c_int,
    command_length: u8,
    sense_room: u8,
    iovecs: u16,
    room: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack: libc::c_int,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_length: u8,
    host_status: u16,
    driver_status: u16,
    missing: libc::c_int,
    duration: u32,
    info: u32,
}

/// `struct nvme_passthru_cmd`
#[repr(C)]
struct Nvme {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words2: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_length: u32,
    data_length: u32,
    words10: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

const _: () = assert!(size_of::<Nvme>() == 72);

/// A page of PERSISTENT RESERVE IN, by its service action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    Keys = 0,
    Reservation = 1,
}

/// What a SCSI disk answered in place of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScsiFault {
    /// Of the disk: 2 for a check condition, 8 busy, 0x18 reservation conflict.
    pub status: u8,
    /// Of the controller.
    pub host: u16,
    /// Sense key, additional sense code and its qualifier.
    pub sense: [u8; 3],
}

/// Asks a SCSI disk for the registered keys or for the reservation. The data is as long as the disk made it.
///
/// # Errors
/// If the kernel does not pass the command on.
pub fn scsi(disk: &File, page: Page) -> io::Result<Result<Vec<u8>, ScsiFault>> {
    let (mut data, mut sense) = (vec![0_u8; ROOM], [0_u8; SENSE]);
    let mut command = [0_u8; 10];
    command[0] = PERSISTENT_RESERVE_IN;
    command[1] = page as u8;
    command[7..9].copy_from_slice(&(ROOM as u16).to_be_bytes());
    let mut call = SgIo {
        interface_id: libc::c_int::from(b'S'),
        direction: SG_DXFER_FROM_DEV,
        command_length: command.len() as u8,
        sense_room: SENSE as u8,
        iovecs: 0,
        room: ROOM as u32,
        data: data.as_mut_ptr(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: PATIENCE_MS,
        flags: 0,
        pack: 0,
        user: ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_length: 0,
        host_status: 0,
        driver_status: 0,
        missing: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: the structure is the kernel's, its three pointers are valid for the lengths beside them until the call returns.
    if unsafe { libc::ioctl(disk.as_raw_fd(), SG_IO, &raw mut call) } < 0 {
        return Err(io::Error::last_os_error());
    }
    if (call.status, call.host_status) != (0, 0) {
        let fault = ScsiFault { status: call.status, host: call.host_status, sense: key_of(&sense) };
        return Ok(Err(fault));
    }
    data.truncate(ROOM.saturating_sub(usize::try_from(call.missing).unwrap_or(ROOM)));
    Ok(Ok(data))
}

/// Key, code and qualifier, in either format of sense data (SPC-4, 4.5).
fn key_of(sense: &[u8; SENSE]) -> [u8; 3] {
    match sense[0] & 0x7F {
        0x70 | 0x71 => [sense[2] & 0xF, sense[12], sense[13]],
        0x72 | 0x73 => [sense[1] & 0xF, sense[2], sense[3]],
        _ => [0; 3],
    }
}

/// The Identify page of an open NVMe namespace, or the status of NVMe with which it refused.
///
/// # Errors
/// If the kernel does not pass the command on.
pub fn nvme_identify(namespace: &File) -> io::Result<Result<Vec<u8>, u16>> {
    nvme(namespace, NVME_IOCTL_ADMIN_CMD, IDENTIFY, [0, 0])
}

/// The Reservation Report of an open NVMe namespace, in the extended format that hosts with long identifiers need, or the status of NVMe
/// with which it refused.
///
/// # Errors
/// If the kernel does not pass the command on.
pub fn nvme_report(namespace: &File, extended: bool) -> io::Result<Result<Vec<u8>, u16>> {
    let words = (ROOM / 4 - 1) as u32;
    nvme(namespace, NVME_IOCTL_IO_CMD, RESERVATION_REPORT, [words, u32::from(extended)])
}

fn nvme(
    namespace: &File,
    request: libc::Ioctl,
    opcode: u8,
    [word10, word11]: [u32; 2],
) -> io::Result<Result<Vec<u8>, u16>> {
    // SAFETY: this ioctl takes no argument and returns a number.
    let id = unsafe { libc::ioctl(namespace.as_raw_fd(), NVME_IOCTL_ID) };
    if id < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut data = vec![0_u8; ROOM];
    let mut call = Nvme {
        opcode,
        flags: 0,
        reserved: 0,
        namespace: id.unsigned_abs(),
        words2: [0; 2],
        metadata: 0,
        data: data.as_mut_ptr() as u64,
        metadata_length: 0,
        data_length: ROOM as u32,
        words10: [word10, word11, 0, 0, 0, 0],
        timeout_ms: PATIENCE_MS,
        result: 0,
    };
    // SAFETY: the structure is the kernel's, and `data` is valid for `data_length` bytes until the call returns.
    let status = unsafe { libc::ioctl(namespace.as_raw_fd(), request, &raw mut call) };
    match status {
        0 => Ok(Ok(data)),
        ..0 => Err(io::Error::last_os_error()),
        // Type and code; the bits above say whether to repeat the command.
        _ => Ok(Err((status.unsigned_abs() & 0x7FF) as u16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sense_data_is_read_in_both_formats() {
        let mut sense = [0; SENSE];
        [sense[0], sense[2], sense[12], sense[13]] = [0x70, 0xF5, 0x20, 1];
        assert_eq!(key_of(&sense), [5, 0x20, 1]);
        let mut sense = [0; SENSE];
        sense[..4].copy_from_slice(&[0x72, 6, 0x29, 0]);
        assert_eq!(key_of(&sense), [6, 0x29, 0]);
        assert_eq!(key_of(&[0; SENSE]), [0; 3]);
    }

    #[test]
    fn what_is_no_disk_answers_no_command() {
        let file = File::open("/dev/null").unwrap();
        assert!(scsi(&file, Page::Keys).is_err());
        assert!(nvme_identify(&file).is_err() && nvme_report(&file, false).is_err());
    }
}
