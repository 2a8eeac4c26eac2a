//! The actual tree: paths, sizes and checksums, read back.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fsderby_sys::occupied::Occupied;
use rustix::fs::{OFlags, SeekFrom, seek};
use rustix::io::Errno;

use super::StepError;
use crate::schema::event::{Encoding, Tree};
use crate::schema::job::At;
use crate::schema::units::MIB;
use crate::schema::work::{Kind, LiveFile};
use crate::workloads::kit::zeros;

/// The bits of a mode that chmod sets.
const MODE: u32 = 0o7777;

/// Reads everything below `place`, except these folders, in which works that keep nothing may have left files. `expected` is the
/// engines' list, if they gave one.
pub fn read_back(
    place: &Path,
    at: At,
    expected: Option<&[LiveFile]>,
    aside: &[PathBuf],
) -> Result<Tree, StepError> {
    let (mut found, occupied) = read_all(place, aside)?;
    let plain = || found.iter().filter(|entry| entry.kind == Kind::File);
    let (files, bytes) = (plain().count() as u64, plain().map(|file| file.bytes).sum());
    as_said(&mut found, expected.unwrap_or_default());
    Ok(Tree {
        at,
        files,
        bytes,
        stored: occupied.bytes(),
        encoding: Some(match (occupied.has_uncounted(), occupied.has_compressed()) {
            (true, _) => Encoding::Uncounted,
            (_, true) => Encoding::Compressed,
            _ => Encoding::Plain,
        }),
        hash: hash(found),
        expected: expected.map(|list| hash(list.to_vec())),
        free: None,
    })
}

/// Reduces the found entries to those that the engines describe: modes and links if stated, and folders if an engine names any,
/// within its place. Other folders, and the places themselves, do not count. Files and symbolic links always count.
fn as_said(found: &mut Vec<LiveFile>, said: &[LiveFile]) {
    let known: HashMap<&Path, &LiveFile> = said.iter().map(|entry| (entry.path.as_path(), entry)).collect();
    let folders = said.iter().filter(|entry| entry.kind == Kind::Folder);
    // With a named folder its place is known: its parent.
    let places: HashSet<&Path> =
        folders.flat_map(|entry| [Some(entry.path.as_path()), entry.path.parent()]).flatten().collect();
    let counts = |folder: &LiveFile| folder.path.parent().is_some_and(|above| places.contains(above));
    found.retain(|entry| entry.kind != Kind::Folder || counts(entry));
    for entry in found {
        entry.leave_what_is_said(known.get(entry.path.as_path()).copied());
    }
}

/// Everything below `place` except these folders, and the space that its files occupy. A file with several names is counted once.
pub fn read_all(place: &Path, aside: &[PathBuf]) -> Result<(Vec<LiveFile>, Occupied), StepError> {
    let mut found = Vec::new();
    let mut occupied = Occupied::default();
    let mut counted = HashSet::new();
    let mut folders = vec![place.to_owned()];
    while let Some(folder) = folders.pop() {
        let fault = |e: io::Error| StepError::io("read back", &folder, e);
        for entry in fs::read_dir(&folder).map_err(fault)? {
            let path = entry.map_err(fault)?.path();
            if aside.contains(&path) {
                continue;
            }
            let fault = |e: io::Error| StepError::io("read back", &path, e);
            let about = fs::symlink_metadata(&path).map_err(fault)?;
            if about.is_file() && (about.nlink() == 1 || counted.insert((about.dev(), about.ino()))) {
                open_regular(&path).and_then(|file| occupied.add(&file)).map_err(fault)?;
            }
            found.extend(live_file_of(place, &path, &about).map_err(fault)?);
            if about.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok((found, occupied))
}

/// The entry at this path as read back, with its path below `place`.
pub fn live_file(place: &Path, path: &Path) -> io::Result<LiveFile> {
    let found = live_file_of(place, path, &fs::symlink_metadata(path)?)?;
    found.ok_or_else(|| io::Error::other("only regular files, directories and symbolic links are supported"))
}

fn live_file_of(place: &Path, path: &Path, about: &Metadata) -> io::Result<Option<LiveFile>> {
    let inside = path.strip_prefix(place).unwrap_or(path);
    let found = if about.is_dir() {
        LiveFile::folder(inside).with_mode(about.mode() & MODE)
    } else if about.is_symlink() {
        let target = fs::read_link(path)?;
        let target = target.as_os_str().as_bytes();
        LiveFile::symlink(inside, target.len() as u64, crc32fast::hash(target))
    } else if about.is_file() {
        let (bytes, crc32) = content(path)?;
        LiveFile::file(inside, bytes, crc32).with_mode(about.mode() & MODE).with_links(about.nlink())
    } else {
        return Ok(None);
    };
    Ok(Some(found))
}

/// Length and checksum of a file; holes read as zeros. A file without any written data according to the filesystem is not read: it may
/// have hundreds of gibibytes, and losses in other files are found anyway.
fn content(path: &Path) -> io::Result<(u64, u32)> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    if length > 0 && seek(&file, SeekFrom::Data(0)) == Err(Errno::NXIO) {
        return Ok((length, zeros::crc32(length)));
    }
    file.rewind()?;
    let mut buffer = vec![0; MIB as usize];
    let mut sum = crc32fast::Hasher::new();
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((bytes, sum.finalize())),
            n => {
                sum.update(&buffer[..n]);
                bytes += n as u64;
            }
        }
    }
}

/// Opens a regular file found a moment ago: does not follow a link that replaced it, nor wait for a FIFO.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// BLAKE3 of the sorted list, one line per file.
fn hash(mut files: Vec<LiveFile>) -> String {
    files.sort();
    let mut hash = blake3::Hasher::new();
    for file in files {
        hash.update(format!("{file}\n").as_bytes());
    }
    hash.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, PermissionsExt};

    use super::*;

    #[test]
    fn one_flipped_byte_changes_the_hash() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("s0")).unwrap();
        fs::write(place.path().join("s0/1"), b"abc").unwrap();
        let known = [LiveFile::file("s0/1", 3, crc32fast::hash(b"abc"))];
        let tree = read_back(place.path(), At::Filled, Some(&known), &[]).unwrap();
        assert_eq!((tree.files, tree.bytes, Some(&tree.hash)), (1, 3, tree.expected.as_ref()));
        fs::write(place.path().join("s0/1"), b"abd").unwrap();
        let tree = read_back(place.path(), At::Filled, Some(&known), &[]).unwrap();
        assert_ne!(Some(&tree.hash), tree.expected.as_ref());
    }

    #[test]
    fn folders_count_in_the_place_of_a_work_that_names_them_and_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        for folder in ["1/d0", "2/d0/d1"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        fs::write(place.path().join("1/d0/a"), b"abc").unwrap();
        let known = [
            LiveFile::file("1/d0/a", 3, crc32fast::hash(b"abc")),
            LiveFile::folder("2/d0"),
            LiveFile::folder("2/d0/d1"),
        ];
        let as_said = || {
            let tree = read_back(place.path(), At::Filled, Some(&known), &[]).unwrap();
            Some(tree.hash) == tree.expected
        };
        assert!(as_said(), "neither the two places nor what the first one made count");
        fs::create_dir(place.path().join("2/stray")).unwrap();
        assert!(!as_said(), "the second names its folders");
        fs::remove_dir(place.path().join("2/stray")).unwrap();
        fs::remove_dir(place.path().join("2/d0/d1")).unwrap();
        assert!(!as_said(), "one is missing");
    }

    /// Everything that an engine may state of a tree, and its creation.
    fn furnished(place: &Path) -> Vec<LiveFile> {
        fs::create_dir(place.join("d")).unwrap();
        fs::write(place.join("d/a"), b"abc").unwrap();
        fs::hard_link(place.join("d/a"), place.join("b")).unwrap();
        std::os::unix::fs::symlink("d/a", place.join("l")).unwrap();
        let sparse = File::create(place.join("s")).unwrap();
        sparse.set_len(1 << 20).unwrap();
        sparse.write_all_at(b"end", (1 << 20) - 3).unwrap();
        fs::set_permissions(place.join("s"), fs::Permissions::from_mode(0o640)).unwrap();
        let abc = crc32fast::hash(b"abc");
        let mut content = vec![0; (1 << 20) - 3];
        content.extend_from_slice(b"end");
        vec![
            LiveFile::folder("d"),
            LiveFile::file("d/a", 3, abc).with_links(2),
            LiveFile::file("b", 3, abc).with_links(2),
            LiveFile::symlink("l", 3, crc32fast::hash(b"d/a")),
            LiveFile::file("s", 1 << 20, crc32fast::hash(&content)).with_mode(0o640),
        ]
    }

    #[test]
    fn links_folders_modes_and_holes_are_what_the_engine_says_or_it_is_seen() {
        let alters: [fn(&Path); 7] = [
            |place| fs::create_dir(place.join("d/new")).unwrap(),
            |place| fs::set_permissions(place.join("s"), fs::Permissions::from_mode(0o600)).unwrap(),
            |place| {
                fs::remove_file(place.join("b")).unwrap();
                fs::write(place.join("b"), b"abc").unwrap();
            },
            |place| {
                fs::remove_file(place.join("l")).unwrap();
                std::os::unix::fs::symlink("d/b", place.join("l")).unwrap();
            },
            |place| std::os::unix::fs::symlink("d", place.join("m")).unwrap(),
            |place| {
                let sparse = OpenOptions::new().write(true).open(place.join("s")).unwrap();
                sparse.write_all_at(b"x", 70_000).unwrap();
            },
            |place| fs::set_permissions(place.join("d"), fs::Permissions::from_mode(0o500)).unwrap(),
        ];
        for (at, alter) in alters.into_iter().enumerate() {
            let place = tempfile::tempdir().unwrap();
            let said = furnished(place.path());
            let tree = read_back(place.path(), At::Filled, Some(&said), &[]).unwrap();
            assert_eq!((tree.files, Some(&tree.hash)), (3, tree.expected.as_ref()));
            assert!(tree.stored < 1 << 20, "{} bytes of a file with a hole", tree.stored);
            alter(place.path());
            let altered = read_back(place.path(), At::Filled, Some(&said), &[]).unwrap();
            // The folder's mode was not stated.
            assert_eq!(altered.hash == tree.hash, at == 6, "alteration {at}");
        }
    }
    #[test]
    fn what_another_work_has_left_beside_is_not_compared() {
        let place = tempfile::tempdir().unwrap();
        for folder in ["1", "2"] {
            fs::create_dir(place.path().join(folder)).unwrap();
            fs::write(place.path().join(folder).join("file"), folder).unwrap();
        }
        let kept = [LiveFile::file("2/file", 1, crc32fast::hash(b"2"))];
        let is_right = |aside: &[PathBuf]| {
            let tree = read_back(place.path(), At::Filled, Some(&kept), aside).unwrap();
            (tree.files, Some(tree.hash) == tree.expected)
        };
        assert_eq!(is_right(&[place.path().join("1")]), (1, true));
        assert_eq!(is_right(&[]), (2, false), "whose files it was not told to leave out");
        assert_eq!(is_right(&[place.path().join("2")]), (1, false), "what was kept is missing");
    }
}
