//! A run's folder under its temporary name: the folder is filled and then renamed, so that it exists completely or not at all.
//!
//! ```text
//! .fsderby-0123456789abcdef0123456789abcdef/trials.jsonl     empty, and locked as long as its creator runs
//! ```
//! If the folder's creator dies, the folder stays until the next run removes it. A run removes a folder with such a name if it can
//! lock `trials.jsonl` and finds only files that a creator writes. A lock also works on storage shared by machines, where a
//! process number would not tell whether the creator is alive.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, openat, unlinkat};
use rustix::io::Errno;

use super::beside::{CONSOLES, HISTOGRAMS};
use super::{MACHINE, PLAN, TRIALS, sync_folder, unnamed};
use crate::host::caller::hand_over;

const PREFIX: &str = ".fsderby-";

/// A folder that is removed when this value is dropped, unless the folder was renamed.
pub struct Unready {
    at: PathBuf,
    trials: File,
    is_ready: bool,
}

impl Unready {
    /// Creates an empty folder and locks its file.
    pub fn in_folder(parent: &Path) -> io::Result<Self> {
        for left in unnamed::all(parent, PREFIX) {
            let _ = remove_if_abandoned(&left);
        }
        loop {
            let at = unnamed::made(parent, PREFIX)?;
            let made = OpenOptions::new().read(true).append(true).create_new(true).open(at.join(TRIALS));
            let made = made.and_then(|trials| hand_over(&trials).map(|()| trials));
            let trials = made.inspect_err(|_| drop(fs::remove_dir(&at)))?;
            let unready = Unready { at, trials, is_ready: false };
            match flock(&unready.trials, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if unready.trials.metadata()?.nlink() > 0 => return Ok(unready),
                // Before the lock, another process may have taken the folder for an abandoned one and removed it.
                Ok(()) | Err(Errno::WOULDBLOCK) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Renames the folder to its final name, which must not exist, and returns its file of records, still locked.
    pub fn named(mut self, path: &Path) -> io::Result<File> {
        sync_folder(&self.at)?;
        unnamed::named(&self.at, path)?;
        self.is_ready = true;
        self.trials.try_clone()
    }
}

impl Drop for Unready {
    fn drop(&mut self) {
        if !self.is_ready {
            let _ = fs::remove_dir_all(&self.at);
        }
    }
}

/// Folders of this kind that dead processes filled with records and did not name. Nobody removes them: not all that is in them
/// is known.
pub fn filled_by_dead(parent: &Path) -> Vec<PathBuf> {
    let is_dead = |at: &PathBuf| {
        let folder = unnamed::opened(at).ok();
        folder
            .and_then(|folder| locked(&folder))
            .is_some_and(|trials| trials.metadata().is_ok_and(|about| about.len() > 0))
    };
    unnamed::all(parent, PREFIX).into_iter().filter(is_dead).collect()
}

/// Removes an abandoned folder. Works on file descriptors, so that no link leads elsewhere. A folder with an unknown or new file
/// is kept.
fn remove_if_abandoned(at: &Path) -> io::Result<()> {
    let folder = unnamed::opened(at)?;
    // The lock is held until the folder is removed, so that no two processes remove it.
    let Some(_lock) = abandoned(&folder) else { return Ok(()) };
    let known = [
        (HISTOGRAMS.folder, true),
        (CONSOLES.folder, true),
        (PLAN, false),
        (MACHINE, false),
        (TRIALS, false),
    ];
    for entry in Dir::read_from(&folder)? {
        let name = entry?.file_name().to_owned();
        let is_known = |(ours, _): &(&str, bool)| ours.as_bytes() == name.to_bytes();
        if !matches!(name.to_bytes(), b"." | b"..") && !known.iter().any(is_known) {
            return Ok(());
        }
    }
    for (name, is_folder) in known {
        let how = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        match unlinkat(&folder, name, how) {
            Err(e) if e != Errno::NOENT => return Err(e.into()),
            _ => {}
        }
    }
    fs::remove_dir(at)
}

/// The lock of an empty unready folder's file, if no other process holds it.
fn abandoned(folder: impl AsFd) -> Option<File> {
    locked(folder).filter(|trials| trials.metadata().is_ok_and(|about| about.len() == 0))
}

fn locked(folder: impl AsFd) -> Option<File> {
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(folder, TRIALS, flags, Mode::empty()).ok()?);
    let is_ours = file.metadata().ok()?.is_file();
    (is_ours && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()).then_some(file)
}

#[cfg(test)]
mod tests {
    use rustix::fs::CWD;

    use super::unnamed::DIGITS;
    use super::*;

    #[test]
    fn only_what_is_ours_and_was_left_by_the_dead_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, has_records: bool| {
            let at = folder.path().join(name);
            fs::create_dir(&at).unwrap();
            has_records.then(|| fs::write(at.join(TRIALS), "").unwrap());
            at
        };
        let digits = "0".repeat(DIGITS);
        let left = make(&format!("{PREFIX}{digits}"), true);
        let others = [
            make(&format!("{PREFIX}4194304"), true),
            make(&format!("{PREFIX}{}1", &digits[1..]), false),
            make(&format!("{PREFIX}{}z", &digits[1..]), true),
        ];
        let living = Unready::in_folder(folder.path()).unwrap();
        assert!(!left.exists(), "of a dead one");
        assert!(others.iter().all(|other| other.exists()), "not known to be one of ours");
        let filled = make(&format!("{PREFIX}{}", "2".repeat(DIGITS)), true);
        fs::write(filled.join(TRIALS), "a record").unwrap();
        drop(Unready::in_folder(folder.path()).unwrap());
        assert!(living.path().exists(), "of a living one");
        assert_eq!(filled_by_dead(folder.path()), [filled], "kept, and named");
        let named = folder.path().join("run");
        let trials = living.named(&named).unwrap();
        let folder = File::open(&named).unwrap();
        assert!(abandoned(&folder).is_none(), "still locked under its own name");
        drop(trials);
        assert!(abandoned(&folder).is_some());
    }

    #[test]
    fn what_others_have_put_under_such_a_name_stays() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = parent.path().join("elsewhere");
        fs::create_dir_all(elsewhere.join(HISTOGRAMS.folder)).unwrap();
        fs::write(elsewhere.join(TRIALS), "").unwrap();
        let planted = |digit: &str| parent.path().join(format!("{PREFIX}{}", digit.repeat(DIGITS)));
        std::os::unix::fs::symlink(&elsewhere, planted("1")).unwrap();
        for (digit, file) in [("2", "photo"), ("3", "histograms/photo")] {
            fs::create_dir_all(planted(digit).join(HISTOGRAMS.folder)).unwrap();
            fs::write(planted(digit).join(TRIALS), "").unwrap();
            fs::write(planted(digit).join(file), "kept").unwrap();
        }
        fs::create_dir(planted("4")).unwrap();
        let owner = Mode::RUSR | Mode::WUSR;
        let pipe = planted("4").join(TRIALS);
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, owner, 0).unwrap();
        drop(Unready::in_folder(parent.path()).unwrap());
        assert!(elsewhere.join(TRIALS).exists() && planted("1").is_symlink());
        assert_eq!(fs::read_to_string(planted("2").join("photo")).unwrap(), "kept");
        assert_eq!(fs::read_to_string(planted("3").join("histograms/photo")).unwrap(), "kept");
        assert!([2, 3, 4].iter().all(|digit| planted(&digit.to_string()).join(TRIALS).exists()));
    }
}
