//! A limit on the number of processes of a work that runs programs: a cgroup of version 1's pids controller.
//!
//! In version 2 a process is in one cgroup only, so [`super::memory_group`] also limits the number of processes if a run limits the
//! memory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::control_group;

/// The largest number of processes and threads at a time. A build has fewer on any machine.
pub const MOST: u64 = 4096;
pub const LIMIT: &str = "pids.max";

const PREFIX: &str = "fsderby-pids-";
const ROOT: &str = "/sys/fs/cgroup/pids";

/// One of our cgroups; dropping it removes it.
#[derive(Debug)]
pub struct ProcessGroup {
    path: PathBuf,
    _lock: File,
}

impl ProcessGroup {
    /// A new cgroup with this limit.
    ///
    /// # Errors
    /// If the kernel has no pids controller of version 1.
    pub fn new(token: &str) -> io::Result<Self> {
        let path = path(token);
        let lock = control_group::make(&path)?;
        let group = ProcessGroup { path, _lock: lock };
        fs::write(group.path.join(LIMIT), MOST.to_string())?;
        Ok(group)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        control_group::remove_own(&self.path);
    }
}

/// Removes the cgroup of this token, if it exists and its processes have ended.
pub fn remove(token: &str) {
    control_group::remove(&path(token));
}

/// Removes our cgroups whose agent has ended.
pub fn remove_orphans() {
    control_group::remove_orphans(Path::new(ROOT), PREFIX);
}

fn path(token: &str) -> PathBuf {
    Path::new(ROOT).join(format!("{PREFIX}{token}"))
}
