//! Access to a run's folder, which may come from an untrusted source: no file in it can redirect a read or write to another
//! place.
//!
//! The folder is opened once, by the path that the user gave. Below it, each path component is opened separately and links
//! are not followed, so neither a link nor `..` leads out of the folder. Before a file is opened, its type is checked, so that
//! no device is opened and no FIFO blocks. The type is checked again after opening, in case the file was replaced in between.
//!
//! `openat2` with RESOLVE_BENEATH would do this in one call, but older kernels and some containers lack this call.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::sync;
use crate::host::caller::{hand_over, hand_over_folder};
use crate::host::random;
use crate::host::stranger::{Who, who};
use crate::schema::units::Bytes;

/// Suffix of a file that was renamed to free its name.
pub const ORPHAN: &str = ".orphan";

/// Permissions of new files: read and write for all users, except what the umask forbids.
const MODE: Mode = Mode::from_raw_mode(0o666);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// An open run folder. Paths below it are relative, such as `histograms/FILE`.
#[derive(Clone, Debug)]
pub struct Door {
    path: PathBuf,
    folder: Arc<File>,
}

/// A run's folder that is not open: so many can be known at a time as there is memory for, not as there are descriptors.
#[derive(Clone, Debug)]
pub struct Place {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl Place {
    /// Opens the folder again.
    ///
    /// # Errors
    /// If it cannot be opened, or if another folder has its path now.
    pub fn open(&self) -> io::Result<Door> {
        let door = Door::open(&self.path)?;
        let about = door.folder.metadata()?;
        match (about.dev(), about.ino()) == self.id {
            true => Ok(door),
            false => Err(io::Error::other("another folder has this path now")),
        }
    }
}

/// Another user or group that owns or may change a part of a run's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Path of that part; empty for the folder itself.
    pub name: String,
    pub who: Who,
}

impl Door {
    pub fn open(path: &Path) -> io::Result<Self> {
        let folder = rustix::fs::open(path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Door { path: path.to_owned(), folder: Arc::new(folder.into()) })
    }

    /// The path that the user gave; for messages only, never opened again.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where this folder is, to open it again later.
    pub fn place(&self) -> io::Result<Place> {
        let about = self.folder.metadata()?;
        Ok(Place { path: self.path.clone(), id: (about.dev(), about.ino()) })
    }

    /// The access to this folder after it was renamed to this path.
    pub fn renamed(self, path: &Path) -> Self {
        Door { path: path.to_owned(), ..self }
    }

    /// Whether the path still leads to this folder, so that all files of a run stay together.
    pub fn is_in_its_place(&self) -> bool {
        let (ours, named) = (self.folder.metadata(), std::fs::metadata(&self.path));
        ours.is_ok_and(|ours| named.is_ok_and(|named| (ours.dev(), ours.ino()) == (named.dev(), named.ino())))
    }

    /// Reads a whole file.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] if it is not a regular file, is larger than `most`, or if its path leads out of the folder.
    pub fn read(&self, path: &str, most: Bytes) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.regular(path, OFlags::RDONLY, most)?.take(most.0).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file for reading, with the checks of [`Self::read`].
    pub fn open_file(&self, path: &str, most: Bytes) -> io::Result<impl Read> {
        Ok(self.regular(path, OFlags::RDONLY, most)?.take(most.0))
    }

    pub fn text(&self, path: &str, most: Bytes) -> io::Result<String> {
        String::from_utf8(self.read(path, most)?).map_err(|_| refused("it is not text"))
    }

    /// BLAKE3 of a file's content.
    pub fn hash(&self, path: &str, most: Bytes) -> io::Result<String> {
        let file = self.regular(path, OFlags::RDONLY, most)?.take(most.0);
        Ok(blake3::Hasher::new().update_reader(file)?.finalize().to_hex().to_string())
    }

    /// Opens a file for reading at any place, with the checks of [`Self::read`].
    pub fn file(&self, path: &str, most: Bytes) -> io::Result<File> {
        self.regular(path, OFlags::RDONLY, most)
    }

    /// The access to a subfolder.
    pub fn inside(&self, folder: &str) -> io::Result<Self> {
        if matches!(folder, "" | "." | "..") || folder.contains(['/', '\0']) {
            return Err(refused("its path leads out of the run's folder"));
        }
        Ok(Door { path: self.path.join(folder), folder: Arc::new(open_folder(&self.folder, folder)?) })
    }

    /// Gives the content of another folder's file this new name: a hard link, or a copy of the open `file` where there can be
    /// none. Nothing is synced.
    pub fn link(&self, path: &str, from: &Door, other: &str, mut file: File) -> io::Result<()> {
        let ((theirs, their_name), (ours, our_name)) = (from.above(other)?, self.above(path)?);
        match rustix::fs::linkat(&theirs, their_name, &ours, our_name, AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(Errno::EXIST.into()),
            Err(_) => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut copy = File::from(rustix::fs::openat(&ours, our_name, flags, MODE)?);
                hand_over(&copy)?;
                io::copy(&mut file, &mut copy).map(drop)
            }
        }
    }

    /// Makes all of the folder durable, with everything else on its filesystem.
    pub fn sync_all(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.folder)?)
    }

    /// Opens an existing file for reading and appending.
    pub fn append(&self, path: &str, most: Bytes) -> io::Result<File> {
        self.regular(path, OFlags::RDWR | OFlags::APPEND, most)
    }

    /// Creates a file and syncs it and its directory entry. Fails if the name exists, even as a link.
    pub fn create(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        write_new(&folder, name, bytes)?;
        sync(&folder)
    }

    /// Creates a file and opens it for writing; nothing is synced. Fails if the name exists, even as a link.
    pub fn create_open(&self, path: &str) -> io::Result<File> {
        let (folder, name) = self.above(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&folder, name, flags, MODE)?);
        hand_over(&file)?;
        Ok(file)
    }

    /// Creates or replaces a file. A link of that name is replaced, not followed.
    pub fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        let unready = format!(".{name}-{:032x}", random::bits()?);
        let made = write_new(&folder, &unready, bytes)
            .and_then(|()| Ok(rustix::fs::renameat(&folder, &unready, &folder, name)?));
        made.inspect_err(|_| _ = rustix::fs::unlinkat(&folder, &unready, AtFlags::empty()))?;
        sync(&folder)
    }

    /// Renames the file of this name to `path.orphan1`, or to the next free number: nothing is deleted.
    pub fn set_aside(&self, path: &str) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        if !has(&folder, name)? {
            return Ok(());
        }
        for number in 1.. {
            let aside = format!("{name}{ORPHAN}{number}");
            if !has(&folder, &aside)? {
                return Ok(rustix::fs::renameat(&folder, name, &folder, &aside)?);
            }
        }
        Ok(())
    }

    /// Whether a file of this name exists.
    pub fn has(&self, path: &str) -> io::Result<bool> {
        let (folder, name) = self.above(path)?;
        has(&folder, name)
    }

    /// Removes this name; no error if it does not exist.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
            Err(e) if e != Errno::NOENT => Err(e.into()),
            _ => Ok(()),
        }
    }

    /// The names in a subfolder; empty if the folder does not exist.
    pub fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let folder = match open_folder(&self.folder, folder) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            if ![c".", c".."].contains(&entry.file_name()) {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    /// Creates a subfolder unless it exists.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        debug_assert!(!name.contains('/'), "{name} is a name, not a path");
        match rustix::fs::mkdirat(&self.folder, name, FOLDER_MODE) {
            Ok(()) => {
                hand_over_folder(&open_folder(&self.folder, name)?)?;
                sync(&self.folder)
            }
            Err(Errno::EXIST) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// Creates a subfolder of a subfolder, which must not exist.
    pub fn make_folder_in(&self, above: &str, name: &str) -> io::Result<()> {
        debug_assert!(!name.contains('/'), "{name} is a name, not a path");
        let above = self.inside(above)?;
        rustix::fs::mkdirat(&above.folder, name, FOLDER_MODE)?;
        hand_over_folder(&open_folder(&above.folder, name)?)
    }

    /// Creates this subfolder and those above it, as far as they do not exist.
    pub fn make_folders(&self, path: &str) -> io::Result<()> {
        let mut at = self.folder.try_clone()?;
        if path.split('/').any(leads_out) {
            return Err(refused("its path leads out of the run's folder"));
        }
        for name in path.split('/') {
            match rustix::fs::mkdirat(&at, name, FOLDER_MODE) {
                Ok(()) | Err(Errno::EXIST) => at = open_folder(&at, name)?,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// The paths of all files in the folder and its subfolders, in order.
    ///
    /// # Errors
    /// If something in it is neither a file nor a folder, or has a name that is no text.
    pub fn files(&self) -> io::Result<Vec<String>> {
        let (mut names, mut folders) = (Vec::new(), vec![(String::new(), self.folder.try_clone()?)]);
        while let Some((above, folder)) = folders.pop() {
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                if [c".", c".."].contains(&entry.file_name()) {
                    continue;
                }
                let name = entry.file_name().to_str().map_err(|_| refused("a name in it is not text"))?;
                let path = format!("{above}{name}");
                let about = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                match FileType::from_raw_mode(about.st_mode) {
                    FileType::RegularFile => names.push(path),
                    FileType::Directory => folders.push((format!("{path}/"), open_folder(&folder, name)?)),
                    _ => return Err(refused(format!("{path} is neither a file nor a folder"))),
                }
            }
        }
        names.sort();
        Ok(names)
    }

    /// Another user or group that owns the folder or a file in it, or may write to them.
    pub fn stranger(&self) -> io::Result<Option<Stranger>> {
        let about = self.folder.metadata()?;
        if let Some(who) = who(about.uid(), about.gid(), about.mode()) {
            return Ok(Some(Stranger { name: String::new(), who }));
        }
        let mut folders = vec![(String::new(), self.folder.try_clone()?)];
        while let Some((above, folder)) = folders.pop() {
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                if [c".", c".."].contains(&entry.file_name()) {
                    continue;
                }
                let about = rustix::fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                let name = format!("{above}{}", entry.file_name().to_string_lossy());
                // The mode of a symbolic link has no meaning, and links are never followed.
                let is_link = FileType::from_raw_mode(about.st_mode) == FileType::Symlink;
                let mode = if is_link { 0 } else { about.st_mode };
                if let Some(who) = who(about.st_uid, about.st_gid, mode) {
                    return Ok(Some(Stranger { name, who }));
                }
                if above.is_empty() && FileType::from_raw_mode(about.st_mode) == FileType::Directory {
                    folders.push((format!("{name}/"), open_folder(&folder, entry.file_name())?));
                }
            }
        }
        Ok(None)
    }

    fn regular(&self, path: &str, flags: OFlags, most: Bytes) -> io::Result<File> {
        let (folder, name) = self.above(path)?;
        judge(&rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?, most)?;
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&folder, name, flags, Mode::empty())?);
        judge(&rustix::fs::fstat(&file)?, most)?;
        Ok(file)
    }

    /// The open parent folder of a file, and the file's name in it.
    fn above<'p>(&self, path: &'p str) -> io::Result<(File, &'p str)> {
        if path.split('/').any(leads_out) {
            return Err(refused("its path leads out of the run's folder"));
        }
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut at = self.folder.try_clone()?;
        for folder in folders.split('/').filter(|part| !part.is_empty()) {
            at = open_folder(&at, folder)?;
        }
        Ok((at, name))
    }
}

/// Whether a component of a path leads to another folder than one below.
fn leads_out(part: &str) -> bool {
    matches!(part, "" | "." | "..") || part.contains('\0')
}

fn open_folder(above: &File, name: impl rustix::path::Arg) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(above, name, flags, Mode::empty()) {
        Err(Errno::NOTDIR | Errno::LOOP) => Err(refused("the path's parent is not a folder")),
        other => Ok(other?.into()),
    }
}

fn write_new(folder: &File, name: &str, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(folder, name, flags, MODE)?);
    hand_over(&file)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn has(folder: &File, name: &str) -> io::Result<bool> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

/// Whether a file may be read into memory, judged by its type and size.
fn judge(about: &Stat, most: Bytes) -> io::Result<()> {
    let what = match FileType::from_raw_mode(about.st_mode) {
        FileType::RegularFile => {
            let bytes = Bytes(u64::try_from(about.st_size).unwrap_or(u64::MAX));
            if bytes > most {
                return Err(refused(format!("it has {bytes}; the limit for such a file is {most}")));
            }
            return Ok(());
        }
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Directory => "a folder",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    };
    Err(refused(format!("it is {what}; only regular files are read")))
}

fn refused(why: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const MOST: Bytes = Bytes(16);

    /// Access to a folder, and beside the folder a file that must not be reachable through it.
    fn beside_a_secret() -> (tempfile::TempDir, Door) {
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir_all(outside.path().join("run/histograms")).unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let door = Door::open(&outside.path().join("run")).unwrap();
        (outside, door)
    }

    fn why(result: io::Result<impl Sized>) -> String {
        let error = result.err().expect("it is refused");
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
        error.to_string()
    }

    #[test]
    fn no_path_leads_out() {
        let (outside, door) = beside_a_secret();
        let absolute = outside.path().join("secret").display().to_string();
        for path in ["../secret", "histograms/../../secret", ".", "..", "", "histograms/", "a\0b", &absolute]
        {
            assert_eq!(why(door.read(path, MOST)), "its path leads out of the run's folder", "{path}");
            assert!(door.create(path, b"x").is_err() && door.append(path, MOST).is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(absolute).unwrap(), "secret");
    }

    #[test]
    fn no_link_is_followed_at_the_end_or_on_the_way() {
        let (outside, door) = beside_a_secret();
        let run = outside.path().join("run");
        symlink("../secret", run.join("last")).unwrap();
        symlink("..", run.join("above")).unwrap();
        symlink("histograms", run.join("within")).unwrap();
        assert!(why(door.read("last", MOST)).contains("a symbolic link"));
        assert!(why(door.append("last", MOST)).contains("a symbolic link"));
        for path in ["above/secret", "within/secret"] {
            assert!(why(door.read(path, MOST)).contains("is not a folder"));
            assert!(why(door.create(path, b"x")).contains("is not a folder"));
        }
        assert_eq!(door.create("last", b"x").unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn what_is_replaced_or_set_aside_is_the_link_and_not_its_target() {
        let (outside, door) = beside_a_secret();
        let run = outside.path().join("run");
        for name in ["page", "old"] {
            symlink("../secret", run.join(name)).unwrap();
        }
        door.replace("page", b"ours").unwrap();
        door.set_aside("old").unwrap();
        door.create("old", b"ours").unwrap();
        assert_eq!(fs::read_to_string(outside.path().join("secret")).unwrap(), "secret");
        for name in ["page", "old"] {
            assert_eq!(door.text(name, MOST).unwrap(), "ours");
        }
        assert!(fs::symlink_metadata(run.join("old.orphan1")).unwrap().is_symlink());
        fs::create_dir(run.join("full")).unwrap();
        assert!(door.replace("full", b"ours").is_err());
        let hidden =
            fs::read_dir(&run).unwrap().flatten().any(|e| e.file_name().as_encoded_bytes()[0] == b'.');
        assert!(!hidden, "nothing unready is left");
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let (outside, door) = beside_a_secret();
        let run = outside.path().join("run");
        rustix::fs::mknodat(rustix::fs::CWD, run.join("fifo"), FileType::Fifo, MODE, 0).unwrap();
        fs::write(run.join("fits"), [b'x'; 16]).unwrap();
        fs::write(run.join("long"), [b'x'; 17]).unwrap();
        File::create(run.join("sparse")).unwrap().set_len(10 << 30).unwrap();
        assert_eq!(door.read("fits", MOST).unwrap().len(), 16);
        assert!(why(door.read("long", MOST)).contains("it has 17 bytes"));
        assert!(why(door.hash("sparse", MOST)).contains("it has 10 GiB"));
        assert!(why(door.read("fifo", MOST)).contains("a FIFO"));
        assert!(why(door.read("histograms", MOST)).contains("a folder"));
    }

    #[test]
    fn a_folder_is_read_through_though_its_path_has_become_another() {
        let (outside, door) = beside_a_secret();
        let place = door.place().unwrap();
        assert!(place.open().is_ok());
        door.create("ours", b"ours").unwrap();
        fs::rename(outside.path().join("run"), outside.path().join("moved")).unwrap();
        fs::create_dir(outside.path().join("run")).unwrap();
        assert_eq!(door.text("ours", MOST).unwrap(), "ours");
        assert!(place.open().unwrap_err().to_string().contains("another folder"));
    }
}
