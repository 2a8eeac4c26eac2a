//! The user who called `sudo`. Files that root creates for this user get this owner, through descriptors that fsderby holds.
//!
//! Nothing that existed before changes its owner. Filesystems without owners, such as FAT, keep theirs.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, Mode, OFlags, fchown, openat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, geteuid};

/// IDs of the user who called `sudo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub uid: u32,
    pub gid: Option<u32>,
}

/// The caller, if this process is root through `sudo`.
pub fn caller() -> Option<Caller> {
    // The largest number is no user's: to the kernel it means "leave the owner as it is".
    let id = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok().filter(|id| *id != u32::MAX);
    let uid = id("SUDO_UID").filter(|uid| *uid != 0 && geteuid().is_root())?;
    Some(Caller { uid, gid: id("SUDO_GID") })
}

impl Caller {
    /// The home folder: of `/etc/passwd`, or `SUDO_HOME` for users of a directory service.
    pub fn home(&self) -> Option<PathBuf> {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let of_line = |line: &str| {
            let fields: Vec<&str> = line.split(':').collect();
            (fields.get(2)?.parse() == Ok(self.uid)).then(|| fields.get(5).map(PathBuf::from)).flatten()
        };
        let named = || std::env::var_os("SUDO_HOME").map(PathBuf::from);
        users.lines().find_map(of_line).or_else(named).filter(|home| home.is_absolute())
    }
}

/// Makes the caller the owner of a file that fsderby has just created.
pub fn hand_over(file: impl AsFd) -> io::Result<()> {
    let Some(Caller { uid, gid }) = caller() else { return Ok(()) };
    match fchown(file, Some(Uid::from_raw(uid)), gid.map(Gid::from_raw)) {
        // The filesystem has no owners, or its server grants root nothing.
        Err(Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}

/// Makes the caller the owner of a folder that fsderby has just created. The folder's name may meanwhile belong to another
/// folder, so only an empty folder of root is handed over.
pub fn hand_over_folder(folder: &File) -> io::Result<()> {
    let is_empty = |folder: &File| -> io::Result<bool> {
        for entry in Dir::read_from(folder)? {
            if ![c".", c".."].contains(&entry?.file_name()) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let is_new = caller().is_some() && folder.metadata()?.uid() == 0 && is_empty(folder)?;
    if is_new { hand_over(folder) } else { Ok(()) }
}

/// Makes the caller the owner of a file that fsderby created and has closed, if it is still there. Its name may meanwhile
/// belong to another file, so only a file of root with no other name is handed over.
pub fn hand_over_closed(path: &Path) -> io::Result<()> {
    if caller().is_none() {
        return Ok(());
    }
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(CWD, path, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::LOOP) => return Ok(()),
        other => File::from(other?),
    };
    let about = file.metadata()?;
    if about.is_file() && about.uid() == 0 && about.nlink() == 1 { hand_over(&file) } else { Ok(()) }
}

/// Opens a file to append to it. A file that this creates is the caller's.
pub fn append(path: &Path) -> io::Result<File> {
    let appending = || File::options().append(true).clone();
    match appending().create_new(true).open(path) {
        Ok(file) => hand_over(&file).map(|()| file),
        // Also through a link, as the original tools do.
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => appending().create(true).open(path),
        Err(e) => Err(e),
    }
}

/// Creates a file that must not exist, for the caller.
pub fn create_new(path: &Path) -> io::Result<File> {
    let file = File::create_new(path)?;
    hand_over(&file)?;
    Ok(file)
}

/// Creates a file that must not exist, and has `fill` write it. If that fails, the file is removed, so that the same command can be
/// given again.
pub fn write_new<E: From<io::Error>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let mut file = BufWriter::new(create_new(path)?);
    let written = fill(&mut file).and_then(|()| Ok(file.flush()?));
    written.inspect_err(|_| drop(fs::remove_file(path)))
}

/// Creates a folder that must not exist, for the caller.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    hand_over_folder(&File::from(openat(CWD, path, flags, Mode::empty())?))
}

/// Creates a folder with its missing parents, for the caller.
pub fn create_folders(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
    for folder in missing.into_iter().rev() {
        match create_folder(folder) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
    }
    // Says why, if the path is a file or is still missing.
    fs::create_dir_all(path)
}
