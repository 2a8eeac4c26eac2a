//! A memory limit around the workload: a cgroup of version 1 or 2, whichever holds the memory controller.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{control_group, process_group};
use crate::schema::units::Bytes;

/// Prefix of our cgroups; the job's token follows.
const PREFIX: &str = "fsderby-";

/// File names of a cgroup version.
struct Names {
    limit: &'static str,
    /// The limit of memory plus swap in version 1, and of swap in version 2; missing if the kernel does not account for swap.
    swap: &'static str,
    peak: &'static str,
}

const V1: Names = Names {
    limit: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    peak: "memory.max_usage_in_bytes",
};
const V2: Names = Names { limit: "memory.max", swap: "memory.swap.max", peak: "memory.peak" };

/// One of our cgroups; dropping it removes it.
#[derive(Debug)]
pub struct MemoryGroup {
    path: PathBuf,
    _lock: File,
}

impl MemoryGroup {
    /// A new cgroup with this limit for page cache and processes together, and without swap.
    pub fn new(token: &str, limit: Bytes) -> io::Result<Self> {
        let (root, names) =
            controller().ok_or_else(|| io::Error::other("this kernel has no cgroup memory controller"))?;
        let path = root.join(name(token));
        let lock = control_group::make(&path)?;
        let group = MemoryGroup { path, _lock: lock };
        fs::write(group.path.join(names.limit), limit.0.to_string())?;
        // In version 2 one cgroup has all limits, so this also limits the number of processes. Without the pids controller the
        // file is missing.
        let _ = fs::write(group.path.join(process_group::LIMIT), process_group::MOST.to_string());
        let without_swap = if names.swap == V1.swap { limit.0 } else { 0 };
        match fs::write(group.path.join(names.swap), without_swap.to_string()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound && e.kind() != io::ErrorKind::PermissionDenied => {
                Err(e)
            }
            _ => Ok(group),
        }
    }

    /// Resets the peak, if the kernel supports it.
    pub fn forget_peak(&self) {
        for file in [V1.peak, V2.peak] {
            // In version 2 only an open file can have a peak of its own; without support for this, the peak includes earlier workloads.
            let _ = fs::OpenOptions::new()
                .write(true)
                .open(self.path.join(file))
                .and_then(|mut f| f.write_all(b"0"));
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        control_group::remove_own(&self.path);
    }
}

/// Peak memory of the cgroup in bytes; `None` if the kernel does not report it.
pub fn peak(group: &Path) -> Option<u64> {
    [V1.peak, V2.peak].iter().find_map(|file| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok())
}

/// Number of processes that the kernel killed because the cgroup was full; `None` if the kernel does not report it.
pub fn killed(group: &Path) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    killed_in(&read("memory.oom_control").or_else(|| read("memory.events"))?)
}

/// Number of processes that the kernel has killed since it started because memory was full; `None` if the kernel does not report it.
pub fn killed_by_kernel() -> Option<u64> {
    killed_in(&fs::read_to_string("/proc/vmstat").ok()?)
}

fn killed_in(counters: &str) -> Option<u64> {
    counters.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Removes the cgroup of this token, if it exists.
pub fn remove(token: &str) {
    if let Some((root, _)) = controller() {
        control_group::remove(&root.join(name(token)));
    }
}

/// Removes our cgroups whose creator has ended.
pub fn remove_orphans() {
    if let Some((root, _)) = controller() {
        control_group::remove_orphans(&root, PREFIX);
    }
}

/// The cgroup version that has the memory controller, 1 or 2; 0 without a memory controller.
pub fn version() -> u32 {
    match controller() {
        None => 0,
        Some((_, names)) if names.limit == V1.limit => 1,
        Some(_) => 2,
    }
}

fn name(token: &str) -> String {
    format!("{PREFIX}{token}")
}

/// Folder of the memory controller, in which cgroups are created.
fn controller() -> Option<(PathBuf, Names)> {
    let v1 = PathBuf::from("/sys/fs/cgroup/memory");
    if v1.join(V1.limit).exists() {
        return Some((v1, V1));
    }
    let v2 = PathBuf::from("/sys/fs/cgroup");
    let has = |file: &str| {
        fs::read_to_string(v2.join(file)).is_ok_and(|c| c.split_whitespace().any(|w| w == "memory"))
    };
    if !has("cgroup.controllers") {
        return None;
    }
    if !has("cgroup.subtree_control") {
        fs::write(v2.join("cgroup.subtree_control"), "+memory").ok()?;
    }
    Some((v2, V2))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{FlockOperation, flock};

    use super::*;

    #[test]
    fn a_group_whose_maker_lives_stays_wherever_its_number_is_unknown() {
        let token = format!("4194304-{:032x}", crate::host::random::bits().unwrap());
        let Ok(group) = MemoryGroup::new(&token, Bytes(1 << 20)) else { return };
        assert!(!Path::new("/proc/4194304").exists(), "no process has the number in its name");
        remove_orphans();
        assert!(group.path().exists());
        let path = group.path().to_owned();
        let orphan = std::mem::ManuallyDrop::new(group);
        flock(&orphan._lock, FlockOperation::Unlock).unwrap();
        remove_orphans();
        assert!(!path.exists());
    }
}
