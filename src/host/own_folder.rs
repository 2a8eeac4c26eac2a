//! A folder that fsderby creates among other files. The folder's name cannot be guessed, and a mark inside identifies the folder.
//! The removal uses file descriptors, so that no name, link or mount can redirect it.
//!
//! ```text
//! fsderby-PID-RANDOM/          must not exist before
//!   fsderby-PID-RANDOM         the mark: an empty file, locked as long as the folder's creator runs
//!   work/                      for the creator's work
//! ```

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, ResolveFlags, flock, fstat, mkdirat,
    openat, openat2, statat, statfs, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// Permissions of the folder: no other user may write in it, whatever the umask.
const MODE: Mode = Mode::from_bits_truncate(0o755);
const A_FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
/// Filesystems in which the kernel shows its own state, by the number that `statfs` gives (`linux/magic.h`): proc, sysfs, cgroup,
/// cgroup2, debugfs, tracefs, securityfs, configfs, devpts.
const OF_THE_KERNEL: [i64; 9] = [
    0x9fa0,
    0x6265_6572,
    0x0027_e0eb,
    0x6367_7270,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6265_6570,
    0x1cd1,
];
/// Time that a killed creator may take to release its lock.
const PATIENCE: Duration = Duration::from_secs(5);
const WORK: &str = "work";

/// A folder that is removed when this value is dropped.
#[derive(Debug)]
pub struct OwnFolder {
    work: PathBuf,
    held: Held,
}

impl OwnFolder {
    /// Creates a folder.
    ///
    /// # Errors
    /// If the name exists; the existing file is not changed.
    pub fn make(parent: &Path, name: &str) -> io::Result<Self> {
        let above = openat(CWD, parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        mkdirat(&above, name, MODE)?;
        let folder = openat(&above, name, A_FOLDER, Mode::empty())?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mark = openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        // Some filesystems have no locks; on these only the name protects the folder.
        let _ = flock(&mark, FlockOperation::NonBlockingLockExclusive);
        let held = Held { above, name: name.to_owned(), folder, _mark: mark.into() };
        mkdirat(&held.folder, WORK, MODE)?;
        // The owner of the parent folder could replace fsderby's folder, so root uses a descriptor instead of the path.
        let by_descriptor = || PathBuf::from(format!("/proc/self/fd/{}", held.folder.as_raw_fd()));
        let folder = if geteuid().is_root() { by_descriptor() } else { parent.join(name) };
        Ok(OwnFolder { work: folder.join(WORK), held })
    }

    /// The subfolder for the creator's work. As root its path is valid only in this process.
    pub fn work(&self) -> &Path {
        &self.work
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = self.held.remove();
    }
}

/// Removes the folder of this name if fsderby created it and its creator has ended.
pub fn remove(parent: &Path, name: &str) {
    let begin = Instant::now();
    while let Err(Errno::WOULDBLOCK | Errno::NOTEMPTY | Errno::BUSY) = remove_now(parent, name)
        && begin.elapsed() < PATIENCE
    {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn remove_now(parent: &Path, name: &str) -> rustix::io::Result<()> {
    let above = openat(CWD, parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let folder = openat(&above, name, A_FOLDER, Mode::empty())?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(&folder, name, flags, Mode::empty()) {
        Ok(mark) => {
            let (theirs, its) = (fstat(&folder)?, fstat(&mark)?);
            let is_file = FileType::from_raw_mode(its.st_mode) == FileType::RegularFile;
            if !is_file || its.st_size != 0 || its.st_uid != theirs.st_uid {
                return Ok(());
            }
            if let Err(Errno::WOULDBLOCK) = flock(&mark, FlockOperation::NonBlockingLockExclusive) {
                return Err(Errno::WOULDBLOCK);
            }
            Held { above, name: name.to_owned(), folder, _mark: mark.into() }.remove()
        }
        // The folder's creator died before it made the mark. A folder that is not empty does not belong to fsderby and is kept.
        Err(Errno::NOENT) => match unlinkat(&above, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            other => other,
        },
        Err(e) => Err(e),
    }
}

/// A folder that fsderby created, and the lock of its mark.
#[derive(Debug)]
struct Held {
    above: OwnedFd,
    name: String,
    folder: OwnedFd,
    _mark: File,
}

impl Held {
    /// Removes the folder; its mark is removed last, so that an interrupted removal can be continued. The folder's name is removed
    /// only if it still leads to this folder.
    fn remove(&self) -> rustix::io::Result<()> {
        empty(&self.folder, Some(&self.name))?;
        match unlinkat(&self.folder, &self.name, AtFlags::empty()) {
            Err(e) if e != Errno::NOENT => return Err(e),
            _ => {}
        }
        let (named, ours) =
            (statat(&self.above, &self.name, AtFlags::SYMLINK_NOFOLLOW)?, fstat(&self.folder)?);
        match (named.st_dev, named.st_ino) == (ours.st_dev, ours.st_ino) {
            true => unlinkat(&self.above, &self.name, AtFlags::REMOVEDIR),
            false => Ok(()),
        }
    }
}

/// Removes everything in a folder except one name.
fn empty(folder: impl AsFd, but: Option<&str>) -> rustix::io::Result<()> {
    let mut names = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") && but.is_none_or(|but| name.to_bytes() != but.as_bytes())
        {
            names.push(name);
        }
    }
    for name in names {
        match unlinkat(&folder, &name, AtFlags::empty()) {
            // The errors of Linux and of POSIX if the name is a folder.
            Err(Errno::ISDIR | Errno::PERM) => {
                // A filesystem that is mounted in the folder must not be emptied.
                let inside = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
                empty(openat2(&folder, &name, A_FOLDER, Mode::empty(), inside)?, None)?;
                unlinkat(&folder, &name, AtFlags::REMOVEDIR)?;
            }
            Err(Errno::NOENT) => {}
            other => other?,
        }
    }
    Ok(())
}

/// Whether this process may create files in this folder.
///
/// # Errors
/// If it may not, or if the folder can hold none but the kernel's own, even for root.
pub fn takes_files(folder: &Path) -> io::Result<()> {
    rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
    match OF_THE_KERNEL.contains(&statfs(folder)?.f_type) {
        true => Err(io::Error::other("it holds no files but the kernel's own")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const NAME: &str = "fsderby-1-0123456789abcdef0123456789abcdef";

    /// A tree of files that fsderby did not create.
    fn theirs(at: &Path) {
        fs::create_dir_all(at.join("photos")).unwrap();
        fs::write(at.join("photos/one"), "kept").unwrap();
    }

    fn are_kept(at: &Path) -> bool {
        fs::read_to_string(at.join("photos/one")).is_ok_and(|text| text == "kept")
    }

    /// A folder whose creator has died, with files of the work in it.
    fn left(parent: &Path) -> PathBuf {
        let own = OwnFolder::make(parent, NAME).unwrap();
        fs::create_dir(own.work().join("deep")).unwrap();
        fs::write(own.work().join("deep/file"), "x").unwrap();
        let own = std::mem::ManuallyDrop::new(own);
        flock(&own.held._mark, FlockOperation::Unlock).unwrap();
        parent.join(NAME)
    }

    #[test]
    fn what_a_dead_maker_left_goes_and_a_living_ones_stays() {
        let parent = tempfile::tempdir().unwrap();
        let living = OwnFolder::make(parent.path(), NAME).unwrap();
        let now = remove_now(parent.path(), NAME);
        assert!(now == Err(Errno::WOULDBLOCK) && living.work().exists());
        drop(living);
        assert!(!parent.path().join(NAME).exists());
        let at = left(parent.path());
        remove(parent.path(), NAME);
        assert!(!at.exists());
    }

    #[test]
    fn what_was_there_before_is_neither_used_nor_removed() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path().join(NAME);
        theirs(&at);
        let error = OwnFolder::make(parent.path(), NAME).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        remove(parent.path(), NAME);
        assert!(are_kept(&at));
    }

    #[test]
    fn a_mark_that_is_none_of_ours_removes_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path().join(NAME);
        theirs(&at);
        let mark = at.join(NAME);
        let plants: [&dyn Fn(); 4] = [
            &|| fs::write(&mark, "a text of theirs").unwrap(),
            &|| fs::create_dir(&mark).unwrap(),
            &|| symlink("photos/one", &mark).unwrap(),
            &|| rustix::fs::mknodat(CWD, &mark, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
        ];
        for plant in plants {
            plant();
            remove(parent.path(), NAME);
            assert!(are_kept(&at));
            let _ = fs::remove_file(&mark).or_else(|_| fs::remove_dir(&mark));
        }
    }

    #[test]
    fn a_link_or_another_folder_in_the_place_of_ours_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = parent.path().join("elsewhere");
        theirs(&elsewhere);
        fs::write(elsewhere.join(NAME), "").unwrap();
        let own = OwnFolder::make(parent.path(), NAME).unwrap();
        let (at, aside) = (parent.path().join(NAME), parent.path().join("aside"));
        fs::rename(&at, &aside).unwrap();
        symlink(&elsewhere, &at).unwrap();
        remove(parent.path(), NAME);
        drop(own);
        assert!(are_kept(&elsewhere) && at.is_symlink());
        assert_eq!(fs::read_dir(&aside).unwrap().count(), 0, "what was ours was emptied, wherever it is");
        fs::remove_file(&at).unwrap();
        fs::remove_dir(&aside).unwrap();
        let own = OwnFolder::make(parent.path(), NAME).unwrap();
        fs::rename(&at, &aside).unwrap();
        theirs(&at);
        drop(own);
        assert!(are_kept(&at));
    }

    #[test]
    fn links_in_it_go_and_not_what_they_point_at() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = parent.path().join("elsewhere");
        theirs(&elsewhere);
        let own = OwnFolder::make(parent.path(), NAME).unwrap();
        symlink(&elsewhere, own.work().join("link")).unwrap();
        fs::remove_dir(own.work()).unwrap_err();
        drop(own);
        assert!(are_kept(&elsewhere) && !parent.path().join(NAME).exists());
    }

    #[test]
    fn what_is_mounted_in_it_is_left() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = parent.path().join("elsewhere");
        theirs(&elsewhere);
        let own = OwnFolder::make(parent.path(), NAME).unwrap();
        let at = parent.path().join(NAME).join(WORK).join("mounted");
        fs::create_dir(&at).unwrap();
        if rustix::mount::mount_bind(&elsewhere, &at).is_err() {
            return;
        }
        drop(own);
        let kept = are_kept(&at);
        rustix::mount::unmount(&at, rustix::mount::UnmountFlags::empty()).unwrap();
        assert!(kept && are_kept(&elsewhere));
    }

    #[test]
    fn one_that_has_no_mark_yet_goes_only_if_it_is_empty() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path().join(NAME);
        fs::create_dir(&at).unwrap();
        remove(parent.path(), NAME);
        assert!(!at.exists());
    }
}
