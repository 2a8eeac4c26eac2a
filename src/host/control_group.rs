//! fsderby's cgroups: each cgroup is locked as long as its creator runs, so that only cgroups of dead processes are removed. A
//! process number would not show whether the creator runs, because each PID namespace has its own numbers.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// Hexadecimal digits at the end of a name: the 128 random bits of the job's token.
const DIGITS: usize = 32;

/// Creates a cgroup's folder and locks it.
pub fn make(path: &Path) -> io::Result<File> {
    fs::create_dir(path)?;
    loop {
        match locked(path) {
            Ok(lock) if path.exists() => return Ok(lock),
            // Before the lock, another process may have taken the cgroup for an abandoned one and removed it.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => fs::create_dir(path)?,
        }
    }
}

/// Moves a process into a cgroup.
pub fn add(group: &Path, pid: u32) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), pid.to_string())
}

/// Removes one of our cgroups after its creator has ended, if it exists.
pub fn remove(path: &Path) {
    when_it_is_let_go(|| remove_of_the_dead(path));
}

/// Removes a cgroup on behalf of its creator.
pub fn remove_own(path: &Path) {
    when_it_is_let_go(|| fs::remove_dir(path));
}

/// Removes cgroups below `root` whose creator has ended. Only cgroups whose name is this prefix and a job's token are removed.
pub fn remove_orphans(root: &Path, prefix: &str) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| is_ours(name, prefix)) {
            let _ = remove_of_the_dead(&entry.path());
        }
    }
}

/// Whether the name is `PREFIX PID-RANDOM`.
fn is_ours(name: &str, prefix: &str) -> bool {
    let token = name.strip_prefix(prefix).and_then(|token| token.split_once('-'));
    token.is_some_and(|(pid, random)| {
        let has_pid = pid.bytes().all(|b| b.is_ascii_digit());
        has_pid && random.len() == DIGITS && random.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Removes a cgroup whose creator has ended. The kernel refuses to remove a cgroup that contains a process.
fn remove_of_the_dead(path: &Path) -> io::Result<()> {
    let _lock = locked(path)?;
    fs::remove_dir(path)
}

/// A cgroup's folder, if no other process has locked it.
fn locked(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

/// Repeats the removal until the kernel has released the cgroup's last process and its creator.
fn when_it_is_let_go(mut remove: impl FnMut() -> io::Result<()>) {
    let is_held = |e: &io::Error| matches!(Errno::from_io_error(e), Some(Errno::BUSY | Errno::WOULDBLOCK));
    for _ in 0..100 {
        match remove() {
            Err(e) if is_held(&e) => {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_ours_by_its_name() {
        let random = "0123456789abcdef0123456789abcdef";
        assert!(is_ours(&format!("fsderby-1-{random}"), "fsderby-"));
        let others = ["fsderby-1-82e1f3a0-1", "fsderby-1", "fsderby-", "docker-1-x"].map(str::to_owned);
        for other in
            others.into_iter().chain([format!("other-1-{random}"), format!("fsderby-devices-1-{random}")])
        {
            assert!(!is_ours(&other, "fsderby-"), "{other}");
        }
    }
}
