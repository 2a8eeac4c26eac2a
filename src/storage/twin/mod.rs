//! `twin`: a modelled disk in real time, on this machine's own kernel. It is a file behind a loop device, whose reads and
//! writes complete when the model says so.
//!
//! ```text
//! filesystem ── I/O scheduler ── loop device ── file ── kernel's FUSE ── server ─┬─ Drive   when each request is done
//!                                direct I/O                                      └─ image   content of the sectors
//! ```
//! The server is a separate process, so that an agent that waits for its disk can end. Only the loop device has a name: the
//! mount is in no mount tree, and ends with the device that holds the file.

mod file;
mod pace;
mod server;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fsderby_diskmodel::{SHIPPED, Sample, Spec, Way};
use fsderby_sys::loop_device::{LoopDevice, forget_cached, remove};
use fsderby_sys::process::tied_command;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen,
};
use serde::{Deserialize, Serialize};

use self::file::FILE;
pub use self::server::main as server_main;
use self::server::{Orders, TOTALS};
use super::disk::totals;
use super::{Attached, Device, Disposable, Storage, settings};
use crate::host::{self, StepError};
use crate::schema::job::Job;
use crate::schema::setup::Named;

pub struct Twin;

/// The settings of the storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Name of a shipped disk, or path of a TOML file that describes a disk.
    pub disk: String,
    /// BLAKE3 of the disk's file.
    pub blake3: String,
    pub sample: Sample,
}

/// How long a server may take to end after its disk is removed.
const FAREWELL: Duration = Duration::from_secs(5);

impl Settings {
    pub fn named(&self) -> Named {
        Named::new(Twin.name(), self)
    }

    fn text(&self) -> io::Result<String> {
        let shipped = SHIPPED.iter().find(|(name, _)| *name == self.disk);
        let text =
            shipped.map_or_else(|| fs::read_to_string(&self.disk), |(_, text)| Ok((*text).to_owned()))?;
        if blake3::hash(text.as_bytes()).to_hex().as_str() == self.blake3 {
            Ok(text)
        } else {
            Err(io::Error::other("the disk's file has changed since the run was planned"))
        }
    }
}

impl Storage for Twin {
    fn name(&self) -> &'static str {
        "twin"
    }

    fn attach(&self, job: &Job) -> Result<Attached, StepError> {
        let settings: Settings = settings(job)?;
        let attached = attach(&settings, job);
        let attached = attached.map_err(|e| StepError::io("attach a twin", &settings.disk, e))?;
        Ok(Attached::Devices { leaves: vec![Box::new(attached)], source: None })
    }

    fn clean_up(&self, job: &Job) {
        let _ = remove(number(job));
    }
}

fn attach(settings: &Settings, job: &Job) -> io::Result<TwinDisk> {
    let text = settings.text()?;
    let spec = Spec::parse(&text).map_err(io::Error::other)?;
    let (volume, offset) = (job.volume.size, job.volume.offset);
    let orders = Orders { spec: text, sample: settings.sample, volume, offset };
    let others = host::children();
    let (mount, mut server) = serve(&orders, spec.way())?;
    let servers = host::children().into_iter().filter(|child| !others.contains(child)).collect();
    // Succeeds when the server has finished its handshake with the kernel.
    let file = File::from(openat(&mount, FILE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?);
    let number = number(job);
    let device = LoopDevice::attach_new(number, &file, spec.physical_block())?;
    let disposable = Disposable::loop_device(&device);
    let disk = TwinDisk { device: Some(device), disposable, server: server.child, servers, number };
    disk.line_up(spec.way(), spec.is_rotational())?;
    let said = BufReader::new(server.line.try_clone()?);
    let mut said = said.lines();
    totals::ask(Some(Box::new(move || {
        writeln!(server.line, "{TOTALS}").ok()?;
        serde_json::from_str(&said.next()?.ok()?).ok()
    })));
    disk.device.as_ref().map(forget_cached).transpose()?;
    Ok(disk)
}

/// Number of the loop device: far above the numbers that other programs use, and different for each trial.
fn number(job: &Job) -> u32 {
    let hash = blake3::hash(job.token.as_bytes());
    let [a, b, ..] = *hash.as_bytes();
    (1 << 17) + u32::from(u16::from_le_bytes([a, b]))
}

struct Server {
    child: Child,
    line: UnixStream,
}

/// A mount outside any mount tree, and the process that serves it.
fn serve(orders: &Orders, way: Way) -> io::Result<(OwnedFd, Server)> {
    let kernel = File::options().read(true).write(true).open("/dev/fuse")?;
    let mount = mount(&kernel, way.request_bytes)?;
    let (mut line, theirs) = UnixStream::pair()?;
    let mut command = tied_command("/proc/self/exe");
    // Only the server holds the kernel's end, as its standard output: when it dies, the disk fails at once.
    command.arg("twin").stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(kernel));
    let child = command.spawn()?;
    drop(command);
    let orders = serde_json::to_string(orders).map_err(io::Error::other)?;
    writeln!(line, "{orders}")?;
    Ok((mount, Server { child, line }))
}

fn mount(kernel: &File, most: u32) -> io::Result<OwnedFd> {
    use std::os::fd::AsRawFd;
    let filesystem = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let (descriptor, most) = (kernel.as_raw_fd().to_string(), most.to_string());
    for (key, value) in [
        ("source", "fsderby"),
        ("fd", &descriptor),
        ("rootmode", "40000"),
        ("user_id", "0"),
        ("group_id", "0"),
        ("max_read", &most),
    ] {
        fsconfig_set_string(&filesystem, key, value)?;
    }
    fsconfig_create(&filesystem)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&filesystem, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

struct TwinDisk {
    /// `Some` until it is dropped.
    device: Option<LoopDevice>,
    disposable: Disposable,
    server: Child,
    servers: Vec<i32>,
    number: u32,
}

impl TwinDisk {
    /// Configures the kernel's queue, scheduler and request size as for the modelled disk. The device is ours, and its settings
    /// disappear with it.
    fn line_up(&self, way: Way, is_rotational: bool) -> io::Result<()> {
        let queue = PathBuf::from(format!("/sys/block/loop{}/queue", self.number));
        fs::write(queue.join("rotational"), u32::from(is_rotational).to_string())?;
        fs::write(queue.join("scheduler"), way.scheduler.name())?;
        fs::write(queue.join("nr_requests"), way.requests.to_string())?;
        fs::write(queue.join("max_sectors_kb"), (way.request_bytes >> 10).to_string())
    }
}

impl Device for TwinDisk {
    fn disposable(&self) -> &Disposable {
        &self.disposable
    }

    fn is_direct(&self) -> bool {
        self.device.as_ref().is_some_and(LoopDevice::is_direct)
    }

    fn forget_cached(&self) -> io::Result<()> {
        self.device.as_ref().map_or(Ok(()), forget_cached)
    }

    fn lies_in(&self) -> &Path {
        Path::new("/dev")
    }

    fn servers(&self) -> &[i32] {
        &self.servers
    }
}

impl Drop for TwinDisk {
    /// The server ends when the device has released its file.
    fn drop(&mut self) {
        totals::ask(None);
        self.device = None;
        let _ = remove(self.number);
        let begin = Instant::now();
        while matches!(self.server.try_wait(), Ok(None)) {
            if begin.elapsed() > FAREWELL {
                let _ = self.server.kill();
                let _ = self.server.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
