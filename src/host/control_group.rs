//! Control groups of our own: a folder each, locked for as long as its maker lives, so that only what the dead have left is removed.
//! The number of a process would not say so: each process namespace has its own.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// What a job's token, of 128 random bits, ends with.
const DIGITS: usize = 32;

/// A group's folder, new and locked.
pub fn make(path: &Path) -> io::Result<File> {
    fs::create_dir(path)?;
    loop {
        match locked(path) {
            Ok(lock) if path.exists() => return Ok(lock),
            // Between the two somebody took it for that of a dead one.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => fs::create_dir(path)?,
        }
    }
}

/// Removes a group of ours once its maker has ended, if there is one.
pub fn remove(path: &Path) {
    when_it_is_let_go(|| remove_of_the_dead(path));
}

/// Removes a group by its maker.
pub fn remove_own(path: &Path) {
    when_it_is_let_go(|| fs::remove_dir(path));
}

/// Removes groups below `root` whose maker is no longer there: those whose name is this prefix and a job's token.
pub fn remove_orphans(root: &Path, prefix: &str) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(|name| is_ours(name, prefix)) {
            let _ = remove_of_the_dead(&entry.path());
        }
    }
}

/// `PREFIX PID-RANDOM`
fn is_ours(name: &str, prefix: &str) -> bool {
    let token = name.strip_prefix(prefix).and_then(|token| token.split_once('-'));
    token.is_some_and(|(pid, random)| {
        let has_pid = pid.bytes().all(|b| b.is_ascii_digit());
        has_pid && random.len() == DIGITS && random.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// The kernel removes no group that has a process in it.
fn remove_of_the_dead(path: &Path) -> io::Result<()> {
    let _lock = locked(path)?;
    fs::remove_dir(path)
}

/// A group's folder, which nobody else has locked.
fn locked(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}

/// A group can only be removed once the kernel has let go of its last process, and of its maker.
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
