//! A version 2 cgroup whose processes can open only the trial's own devices: see [`device_filter`].

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use fsderby_sys::device_filter::{self, DeviceNumber};

use super::control_group;

const PREFIX: &str = "fsderby-devices-";

/// One of our cgroups, locked as long as its agent runs.
#[derive(Debug)]
pub struct DeviceGroup {
    _locked: File,
}

impl DeviceGroup {
    /// Moves this process and its future children into a new cgroup that is restricted to these devices.
    ///
    /// # Errors
    /// If cgroups version 2 are not mounted, or the kernel has no device filter.
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

/// Removes the cgroup of this token, if it exists and its processes have ended.
pub fn remove(token: &str) {
    if let Ok(root) = root() {
        control_group::remove(&root.join(name(token)));
    }
}

/// Removes our cgroups whose agent has ended.
pub fn remove_orphans() {
    if let Ok(root) = root() {
        control_group::remove_orphans(&root, PREFIX);
    }
}

fn name(token: &str) -> String {
    format!("{PREFIX}{token}")
}

/// Mount point of cgroups version 2; version 1 may be mounted too.
fn root() -> io::Result<PathBuf> {
    let mounts = procfs::process::Process::myself().and_then(|p| p.mountinfo()).map_err(io::Error::other)?;
    let found = mounts.0.into_iter().find(|mount| mount.fs_type == "cgroup2");
    found.map(|mount| mount.mount_point).ok_or_else(|| io::Error::other("cgroup version 2 is not mounted"))
}
