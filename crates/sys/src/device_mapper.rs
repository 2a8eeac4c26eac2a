//! A window on a disk, by the kernel's device mapper, that disappears with its last user.
//!
//! The device is made for *deferred removal*: once it is neither open nor mounted, the kernel removes it, even if the process
//! that made it was killed. As long as it exists, the disk below it cannot be opened exclusively by anyone else.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `include/uapi/linux/dm-ioctl.h`: `_IOWR(0xfd, n, struct dm_ioctl)`
const BASE: u32 = 0xC138_FD00;
const VERSION: u32 = 0;
const DEV_CREATE: u32 = 3;
const DEV_REMOVE: u32 = 4;
const DEV_SUSPEND: u32 = 6;
const TABLE_LOAD: u32 = 9;
const TABLE_DEPS: u32 = 11;
const TABLE_STATUS: u32 = 12;
const READ_ONLY: u32 = 1 << 0;
const SUSPENDED: u32 = 1 << 1;
const STATUS_TABLE: u32 = 1 << 4;
const INACTIVE_PRESENT: u32 = 1 << 6;
const BUFFER_FULL: u32 = 1 << 8;
const QUERY_INACTIVE: u32 = 1 << 12;
const DEFERRED_REMOVE: u32 = 1 << 17;
/// Udev's rules shall leave the device alone: no links, no probing, no desktop that mounts it. `libdevmapper.h`,
/// `DM_UDEV_DISABLE_{DM,SUBSYSTEM,DISK,OTHER}_RULES_FLAG`, in the upper half of the event number.
const NO_RULES: u32 = 0xF << 16;
/// Unit of tables, whatever the sectors of the disk.
const SECTOR: u64 = 512;
const HEADER: usize = 312;
const TARGET: usize = 40;
/// Room for a table's text and a list of devices: a volume of some 200 parts.
const ROOM: usize = 16384;
const NODE_TIME: Duration = Duration::from_secs(5);

/// `struct dm_ioctl`, and behind it room for what the call takes or returns.
#[repr(C, align(8))]
struct Call {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
    room: [u8; ROOM],
}

const _: () = assert!(std::mem::offset_of!(Call, room) == HEADER);

/// A part of a disk as a device of its own. The kernel removes the device when nobody uses it any more.
#[derive(Debug)]
pub struct Window {
    node: File,
    path: PathBuf,
    name: String,
}

/// Of which part of which disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The disk's number, as `st_rdev`.
    pub disk: u64,
    /// Bytes, whole sectors of 512.
    pub offset: u64,
    pub length: u64,
}

impl Part {
    fn table(self) -> String {
        let (major, minor) = (rustix::fs::major(self.disk), rustix::fs::minor(self.disk));
        format!("{major}:{minor} {}", self.offset / SECTOR)
    }
}

impl Window {
    /// Opens a window of that name and UUID. `check` is called when the kernel holds the disk exclusively and before anyone
    /// can write through the window.
    ///
    /// # Errors
    /// If the disk is in use, the name is taken, the kernel holds another disk than asked for, or `check` fails.
    pub fn open(
        name: &str,
        uuid: &str,
        part: Part,
        check: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Self> {
        let control = control()?;
        let mut made = Call::of(name)?;
        text(&mut made.uuid, uuid)?;
        made.send(&control, DEV_CREATE)?;
        let number = made.device;
        let opened = Self::show(&control, name, number, part, check);
        if opened.is_err() {
            let _ = Call::of(name).and_then(|mut call| call.send(&control, DEV_REMOVE));
        }
        opened
    }

    fn show(
        control: &File,
        name: &str,
        number: u64,
        part: Part,
        check: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Self> {
        Call::table(name, part)?.send(control, TABLE_LOAD)?;
        let path = PathBuf::from(format!("/dev/dm-{}", rustix::fs::minor(number)));
        let node = node(&path, number)?;
        // From here on it lives as long as this node is open, whatever becomes of this process.
        let mut removal = Call::of(name)?;
        removal.flags = DEFERRED_REMOVE;
        removal.event = NO_RULES;
        removal.send(control, DEV_REMOVE)?;
        let mut asked = Call::of(name)?;
        asked.flags = QUERY_INACTIVE;
        asked.send(control, TABLE_DEPS)?;
        if asked.list() != [part.disk] {
            return Err(io::Error::other("the device mapper holds another disk"));
        }
        check()?;
        // Without the flag for suspending, this call resumes. Until now the window had no length.
        let mut resumed = Call::of(name)?;
        resumed.event = NO_RULES;
        resumed.send(control, DEV_SUSPEND)?;
        Ok(Window { node, path, name: name.to_owned() })
    }

    /// Removes the window of that name if nobody has it open. One that was opened whole goes by itself; a process that was killed
    /// before can have left it.
    ///
    /// # Errors
    /// If there is none, or it is in use.
    pub fn remove_left(name: &str) -> io::Result<()> {
        Call::of(name)?.send(&control()?, DEV_REMOVE)
    }

    /// The window of that name, made by another process of ours.
    ///
    /// # Errors
    /// If there is none, or it shows something else.
    pub fn find(name: &str, part: Part) -> io::Result<Self> {
        let control = control()?;
        let mut asked = Call::of(name)?;
        asked.flags = STATUS_TABLE;
        asked.send(&control, TABLE_STATUS)?;
        let path = PathBuf::from(format!("/dev/dm-{}", rustix::fs::minor(asked.device)));
        let node = node(&path, asked.device)?;
        if asked.target() != Some((part.length / SECTOR, part.table())) {
            return Err(io::Error::other(format!("the device {name} shows another part of a disk")));
        }
        Ok(Window { node, path, name: name.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The open device, for reading and writing.
    pub fn node(&self) -> &File {
        &self.node
    }
}

/// A mapped device, as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    pub name: String,
    pub uuid: String,
    /// How often it is open or mounted.
    pub opened: i32,
    pub is_read_only: bool,
    pub is_suspended: bool,
    /// Whether a second table is loaded, which the next resume makes the active one.
    pub has_inactive_table: bool,
    /// The active table.
    pub targets: Vec<Target>,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Sectors of 512 bytes.
    pub start: u64,
    pub length: u64,
    /// `linear`, `striped`, `snapshot-origin`.
    pub kind: String,
    pub parameters: String,
}

impl Mapped {
    /// The device of this number, as `st_rdev`.
    ///
    /// # Errors
    /// If there is none, this process may not ask, or its table is longer than 16384 bytes.
    pub fn of(number: u64) -> io::Result<Self> {
        let mut asked = Call::new();
        asked.device = number;
        asked.flags = STATUS_TABLE;
        asked.send(&control()?, TABLE_STATUS)?;
        asked.mapped().ok_or_else(|| io::Error::other("its table is too long"))
    }
}

/// The version of the kernel's device mapper.
///
/// # Errors
/// If the kernel has none, or this process may not use it.
pub fn version() -> io::Result<[u32; 3]> {
    let mut call = Call::new();
    call.send(&control()?, VERSION)?;
    Ok(call.version)
}

fn control() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/mapper/control")
}

/// The device's node, which devtmpfs makes; it is opened only if it is that of the device.
fn node(path: &Path, number: u64) -> io::Result<File> {
    let begin = Instant::now();
    loop {
        let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(path);
        match opened {
            Ok(node) => {
                let about = node.metadata()?;
                if about.file_type().is_block_device() && about.rdev() == number {
                    return Ok(node);
                }
                return Err(io::Error::other(format!("{} is another device", path.display())));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound && begin.elapsed() < NODE_TIME => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(e) => return Err(e),
        }
    }
}

fn text(into: &mut [u8], text: &str) -> io::Result<()> {
    if text.len() >= into.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{text}' is too long")));
    }
    into[..text.len()].copy_from_slice(text.as_bytes());
    Ok(())
}

impl Call {
    fn new() -> Self {
        Call {
            version: [4, 0, 0],
            data_size: size_of::<Call>() as u32,
            data_start: HEADER as u32,
            target_count: 0,
            open_count: 0,
            flags: 0,
            event: 0,
            padding: 0,
            device: 0,
            name: [0; 128],
            uuid: [0; 129],
            data: [0; 7],
            room: [0; ROOM],
        }
    }

    fn of(name: &str) -> io::Result<Self> {
        let mut call = Call::new();
        text(&mut call.name, name)?;
        Ok(call)
    }

    /// `struct dm_target_spec`: start, length, status, offset of the next one, type; then its parameters.
    fn table(name: &str, part: Part) -> io::Result<Self> {
        let mut call = Call::of(name)?;
        call.target_count = 1;
        call.room[8..16].copy_from_slice(&(part.length / SECTOR).to_ne_bytes());
        text(&mut call.room[24..TARGET], "linear")?;
        text(&mut call.room[TARGET..], &part.table())?;
        Ok(call)
    }

    fn send(&mut self, control: &File, command: u32) -> io::Result<()> {
        let request = (BASE | command) as libc::Ioctl;
        // SAFETY: the structure is the kernel's header with `data_size` bytes in all, which the kernel reads and overwrites.
        if unsafe { libc::ioctl(control.as_raw_fd(), request, std::ptr::from_mut(self)) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    fn word(&self, at: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.room[at..at + 8]);
        u64::from_ne_bytes(word)
    }

    /// `struct dm_target_deps`: how many, then their numbers.
    fn list(&self) -> Vec<u64> {
        let many = (self.word(0) & u64::from(u32::MAX)) as usize;
        (1..=many.min(ROOM / 8 - 1)).map(|n| self.word(8 * n)).collect()
    }

    /// Length in sectors and parameters of the only target, if it is a linear one from sector 0.
    fn target(&self) -> Option<(u64, String)> {
        match &self.mapped()?.targets[..] {
            [Target { start: 0, length, kind, parameters }] if kind == "linear" => {
                Some((*length, parameters.clone()))
            }
            _ => None,
        }
    }

    /// The answer to `TABLE_STATUS`; `None` if it did not fit. Each target names the offset of the next one.
    fn mapped(&self) -> Option<Mapped> {
        let has = |flag| self.flags & flag != 0;
        let (mut targets, mut at) = (Vec::new(), 0);
        for _ in 0..self.target_count {
            let spec = self.room.get(at..).filter(|spec| spec.len() > TARGET)?;
            targets.push(Target {
                start: self.word(at),
                length: self.word(at + 8),
                kind: until_zero(&spec[24..TARGET]),
                parameters: until_zero(&spec[TARGET..]),
            });
            at = (self.word(at + 16) >> 32) as usize;
        }
        (!has(BUFFER_FULL)).then(|| Mapped {
            name: until_zero(&self.name),
            uuid: until_zero(&self.uuid),
            opened: self.open_count,
            is_read_only: has(READ_ONLY),
            is_suspended: has(SUSPENDED),
            has_inactive_table: has(INACTIVE_PRESENT),
            targets,
        })
    }
}

fn until_zero(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_laid_out_as_the_kernel_reads_it() {
        let part = Part { disk: rustix::fs::makedev(8, 16), offset: 1 << 20, length: 3 << 20 };
        let call = Call::table("name", part).unwrap();
        assert_eq!(call.target(), Some((6144, "8:16 2048".to_owned())));
        assert_eq!((call.word(0), call.word(8), call.word(16)), (0, 6144, 0));
        assert!(Call::of(&"x".repeat(128)).is_err());
    }

    #[test]
    fn a_table_of_several_targets_is_read_and_one_that_did_not_fit_is_none() {
        let mut call = Call::of("group-volume").unwrap();
        call.flags = SUSPENDED | INACTIVE_PRESENT;
        call.target_count = 2;
        let specs = [(0_u64, "linear", "8:16 2048", 64), (6144, "striped", "2 128 8:16 0 8:32 0", 128)];
        for (at, (start, kind, parameters, next)) in [0, 64].into_iter().zip(specs) {
            call.room[at..at + 8].copy_from_slice(&start.to_ne_bytes());
            call.room[at + 8..at + 16].copy_from_slice(&6144_u64.to_ne_bytes());
            call.room[at + 20..at + 24].copy_from_slice(&u32::to_ne_bytes(next));
            text(&mut call.room[at + 24..at + TARGET], kind).unwrap();
            text(&mut call.room[at + TARGET..], parameters).unwrap();
        }
        let mapped = call.mapped().unwrap();
        assert!(mapped.is_suspended && mapped.has_inactive_table && !mapped.is_read_only);
        let read = mapped.targets.iter().map(|t| (t.start, t.kind.as_str(), t.parameters.as_str()));
        assert_eq!(
            read.collect::<Vec<_>>(),
            [(0, "linear", "8:16 2048"), (6144, "striped", "2 128 8:16 0 8:32 0")]
        );
        assert_eq!(call.target(), None);
        // An answer that leads out of the room.
        call.room[20..24].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(call.mapped(), None);
        call.target_count = 0;
        call.flags = BUFFER_FULL;
        assert_eq!(call.mapped(), None);
    }

    #[test]
    fn without_a_device_mapper_nothing_is_opened() {
        if !Path::new("/dev/mapper/control").exists() {
            assert!(version().is_err());
        }
    }
}
