//! A control group (version 2) whose processes can open no devices but the trial's own: see [`device_filter`].

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use fsderby_sys::device_filter::{self, DeviceNumber};
use rustix::fs::{FlockOperation, flock};

const PREFIX: &str = "fsderby-devices-";

/// A group of ours, locked while its agent lives, so that nobody takes it for one of the dead.
#[derive(Debug)]
pub struct DeviceGroup {
    _locked: File,
}

impl DeviceGroup {
    /// Moves this process, with all that it will start, into a new group that is held to these devices.
    ///
    /// # Errors
    /// Where no control groups of version 2 are mounted, or the kernel has no filter for devices.
    pub fn enter(token: &str, devices: &[DeviceNumber]) -> io::Result<Self> {
        let path = root()?.join(name(token));
        fs::create_dir(&path)?;
        let entered = File::open(&path).and_then(|group| {
            flock(&group, FlockOperation::NonBlockingLockExclusive)?;
            device_filter::hold_to(&group, devices)?;
            fs::write(path.join("cgroup.procs"), "0")?;
            Ok(DeviceGroup { _locked: group })
        });
        if entered.is_err() {
            let _ = fs::remove_dir(&path);
        }
        entered
    }
}

/// Removes the group of that token, if there is one. Its processes must have ended: the kernel removes no other.
pub fn remove(token: &str) {
    if let Ok(root) = root() {
        super::memory_group::remove_folder(&root.join(name(token)));
    }
}

/// Removes groups that no process is in and whose agent is gone.
pub fn remove_orphans() {
    let Ok(root) = root() else { return };
    let ours = |name: &std::ffi::OsStr| name.to_str().is_some_and(|name| name.starts_with(PREFIX));
    for entry in fs::read_dir(root).into_iter().flatten().flatten().filter(|e| ours(&e.file_name())) {
        let is_free = |group: File| flock(&group, FlockOperation::NonBlockingLockExclusive).is_ok();
        if File::open(entry.path()).is_ok_and(is_free) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn name(token: &str) -> String {
    format!("{PREFIX}{token}")
}

/// Where groups of version 2 are mounted, beside those of version 1 perhaps.
fn root() -> io::Result<PathBuf> {
    let mounts = procfs::process::Process::myself().and_then(|p| p.mountinfo()).map_err(io::Error::other)?;
    let found = mounts.0.into_iter().find(|mount| mount.fs_type == "cgroup2");
    found.map(|mount| mount.mount_point).ok_or_else(|| io::Error::other("no control groups of version 2"))
}
