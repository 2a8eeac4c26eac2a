//! A control group (version 2) whose processes can open no devices but the trial's own: see [`device_filter`].

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use fsderby_sys::device_filter::{self, DeviceNumber};

use super::control_group;

const PREFIX: &str = "fsderby-devices-";

/// A group of ours, locked while its agent lives.
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
        let group = control_group::make(&path)?;
        let held = device_filter::hold_to(&group, devices);
        match held.and_then(|()| fs::write(path.join("cgroup.procs"), "0")) {
            Ok(()) => Ok(DeviceGroup { _locked: group }),
            Err(e) => {
                control_group::remove_own(&path);
                Err(e)
            }
        }
    }
}

/// Removes the group of that token, if there is one and its processes have ended.
pub fn remove(token: &str) {
    if let Ok(root) = root() {
        control_group::remove(&root.join(name(token)));
    }
}

/// Removes groups of ours whose agent is no longer there.
pub fn remove_orphans() {
    if let Ok(root) = root() {
        control_group::remove_orphans(&root, PREFIX);
    }
}

fn name(token: &str) -> String {
    format!("{PREFIX}{token}")
}

/// Where groups of version 2 are mounted, beside those of version 1 perhaps.
fn root() -> io::Result<PathBuf> {
    let mounts = procfs::process::Process::myself().and_then(|p| p.mountinfo()).map_err(io::Error::other)?;
    let found = mounts.0.into_iter().find(|mount| mount.fs_type == "cgroup2");
    found.map(|mount| mount.mount_point).ok_or_else(|| io::Error::other("cgroup version 2 is not mounted"))
}
