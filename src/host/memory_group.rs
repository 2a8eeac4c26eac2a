//! A memory limit around the workload: a cgroup of version 1 or 2, whichever holds the memory controller.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::schema::units::Bytes;

/// All our groups begin with this; the rest is the job's token.
const PREFIX: &str = "fsderby-";

/// How a version names its files.
struct Names {
    limit: &'static str,
    /// Memory and swap together in version 1, swap alone in version 2; absent where swap is not accounted for.
    swap: &'static str,
    peak: &'static str,
}

const V1: Names = Names {
    limit: "memory.limit_in_bytes",
    swap: "memory.memsw.limit_in_bytes",
    peak: "memory.max_usage_in_bytes",
};
const V2: Names = Names { limit: "memory.max", swap: "memory.swap.max", peak: "memory.peak" };

/// A group of ours; dropping it removes it.
#[derive(Debug)]
pub struct MemoryGroup {
    path: PathBuf,
}

impl MemoryGroup {
    /// A new group with this limit for page cache and processes together, and no swap.
    pub fn new(token: &str, limit: Bytes) -> io::Result<Self> {
        let (root, names) =
            controller().ok_or_else(|| io::Error::other("this kernel has no memory controller"))?;
        let path = root.join(name(token));
        fs::create_dir(&path)?;
        let group = MemoryGroup { path };
        fs::write(group.path.join(names.limit), limit.0.to_string())?;
        let without_swap = if names.swap == V1.swap { limit.0 } else { 0 };
        match fs::write(group.path.join(names.swap), without_swap.to_string()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound && e.kind() != io::ErrorKind::PermissionDenied => {
                Err(e)
            }
            _ => Ok(group),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        remove_folder(&self.path);
    }
}

/// Moves a process into the group.
pub fn add(group: &Path, pid: u32) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), pid.to_string())
}

/// The most that was used in the group, in bytes; `None` where the kernel does not say.
pub fn peak(group: &Path) -> Option<u64> {
    [V1.peak, V2.peak].iter().find_map(|file| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok())
}

/// How many processes of the group were killed because it was full; `None` where the kernel does not say.
pub fn killed(group: &Path) -> Option<u64> {
    let read = |file: &str| fs::read_to_string(group.join(file)).ok();
    let text = read("memory.oom_control").or_else(|| read("memory.events"))?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

/// Removes the group of that token, if there is one.
pub fn remove(token: &str) {
    if let Some((root, _)) = controller() {
        remove_folder(&root.join(name(token)));
    }
}

/// Removes groups whose token's process is no longer there.
pub fn remove_orphans() {
    let Some((root, _)) = controller() else { return };
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let owner =
            file_name.to_str().and_then(|n| n.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// 1, 2, or 0 where there is no memory controller.
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

/// A group can only be removed once the kernel has let go of its last process.
pub(super) fn remove_folder(path: &Path) {
    for _ in 0..100 {
        match fs::remove_dir(path) {
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            _ => return,
        }
    }
}

/// Where groups are made.
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
