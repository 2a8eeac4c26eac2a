//! An import's folder under its temporary name: the folder is filled and then renamed, so that it exists completely or not at all.
//!
//! ```text
//! .fsderby-import-0123456789abcdef0123456789abcdef/     locked as long as its creator runs
//! ```
//! If the folder's creator dies, the folder stays until the next import removes it. An import removes a folder with such a name if
//! it can lock the folder and finds only files of an import in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, openat, unlinkat};
use rustix::io::Errno;

use crate::store::unnamed;

/// The file by which a folder is recognised as an import.
pub const FILE: &str = "import.json";
pub const SOURCES: &str = "sources";
const PREFIX: &str = ".fsderby-import-";

/// A folder that is removed when this value is dropped, unless the folder was renamed.
pub struct Unready {
    at: PathBuf,
    /// A lock on the folder. Some filesystems cannot lock folders; then abandoned folders are not removed.
    _lock: File,
    is_ready: bool,
}

impl Unready {
    pub fn in_folder(parent: &Path) -> io::Result<Self> {
        for left in unnamed::all(parent, PREFIX) {
            let _ = remove_if_abandoned(&left);
        }
        loop {
            let at = unnamed::made(parent, PREFIX)?;
            let lock = unnamed::opened(&at).inspect_err(|_| drop(fs::remove_dir(&at)))?;
            let is_taken = flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
            let unready = Unready { at, _lock: lock, is_ready: false };
            // Before the lock, another process may have taken the folder for an abandoned one and removed it.
            if !is_taken && unready.at.exists() {
                return Ok(unready);
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Renames the folder to its final name; an existing folder is not replaced.
    pub fn named(mut self, path: &Path) -> io::Result<()> {
        unnamed::named(&self.at, path)?;
        self.is_ready = true;
        Ok(())
    }
}

impl Drop for Unready {
    fn drop(&mut self) {
        if !self.is_ready {
            let _ = fs::remove_dir_all(&self.at);
        }
    }
}

/// Whether a file among the sources has the name of a copy.
fn is_copy(name: &str) -> bool {
    name.strip_suffix(".txt")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Removes an abandoned folder. Works on file descriptors, so that no link leads elsewhere. A folder with an unknown or new file
/// is kept.
fn remove_if_abandoned(at: &Path) -> io::Result<()> {
    let folder = unnamed::opened(at)?;
    // The lock is held until the folder is removed, so that no two processes remove it.
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let sources = match openat(&folder, SOURCES, flags, Mode::empty()) {
        Ok(sources) => Some(sources),
        Err(Errno::NOENT) => None,
        Err(e) => return Err(e.into()),
    };
    let copies = sources.as_ref().map(names).transpose()?.unwrap_or_default();
    let all_known = names(&folder)?.iter().all(|name| name == FILE || name == SOURCES)
        && copies.iter().all(|name| is_copy(name));
    if !all_known {
        return Ok(());
    }
    if let Some(sources) = &sources {
        for name in &copies {
            unlinkat(sources, name.as_str(), AtFlags::empty())?;
        }
        unlinkat(&folder, SOURCES, AtFlags::REMOVEDIR)?;
    }
    match unlinkat(&folder, FILE, AtFlags::empty()) {
        Err(e) if e != Errno::NOENT => return Err(e.into()),
        _ => {}
    }
    fs::remove_dir(at)
}

/// The names in a folder; for a name that is not UTF-8, a name that no import has is returned.
fn names(folder: impl std::os::fd::AsFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::unnamed::DIGITS;
    use super::*;

    fn planted(parent: &Path, digit: &str, files: &[&str]) -> PathBuf {
        let at = parent.join(format!("{PREFIX}{}", digit.repeat(DIGITS)));
        fs::create_dir_all(at.join(SOURCES)).unwrap();
        files.iter().for_each(|file| fs::write(at.join(file), "kept").unwrap());
        at
    }

    #[test]
    fn what_a_dead_maker_left_is_removed_and_what_a_living_one_fills_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let left = planted(parent.path(), "1", &["sources/1.txt", "sources/2.txt", FILE]);
        let empty = planted(parent.path(), "2", &[]);
        let living = Unready::in_folder(parent.path()).unwrap();
        assert!(!left.exists() && !empty.exists());
        drop(Unready::in_folder(parent.path()).unwrap());
        assert!(living.path().exists());
        let name = parent.path().join("import");
        living.named(&name).unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "nothing but the import");
        let other = Unready::in_folder(parent.path()).unwrap();
        fs::write(other.path().join(FILE), "other").unwrap();
        assert!(other.named(&name).is_err(), "the name is taken");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1, "and it is gone");
    }

    #[test]
    fn what_others_have_put_under_such_a_name_stays() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = parent.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::write(elsewhere.join("1.txt"), "kept").unwrap();
        let photo = planted(parent.path(), "3", &["sources/1.txt", "photo"]);
        let within = planted(parent.path(), "4", &["sources/1.txt.bak"]);
        let linked = planted(parent.path(), "5", &[]);
        fs::remove_dir(linked.join(SOURCES)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, linked.join(SOURCES)).unwrap();
        let short = parent.path().join(format!("{PREFIX}12"));
        fs::create_dir(&short).unwrap();
        drop(Unready::in_folder(parent.path()).unwrap());
        assert!(photo.join("photo").exists() && photo.join("sources/1.txt").exists());
        assert!(within.join("sources/1.txt.bak").exists() && short.exists());
        assert!(elsewhere.join("1.txt").exists() && linked.join(SOURCES).is_symlink());
    }
}
