//! Folders that are filled under a temporary name and then renamed, so that they exist completely or not at all.
//!
//! The temporary name is a prefix and 128 random bits. Names never collide by chance, and leftover folders are recognised by
//! their name.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::io::Errno;

use crate::host::caller::create_folder;
use crate::host::random;

/// Length of the random part in hexadecimal digits.
pub const DIGITS: usize = 32;

/// Creates a new empty folder.
pub fn made(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    let at = parent.join(format!("{prefix}{:0DIGITS$x}", random::bits()?));
    create_folder(&at)?;
    Ok(at)
}

/// All folders with a temporary name of this prefix, whether their creators are still running or not.
pub fn all(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let is_one = |name: &str| {
        let digits = name.strip_prefix(prefix).unwrap_or_default();
        digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_one)).map(|entry| entry.path()).collect()
}

/// Opens the folder; a link is not followed.
pub fn opened(at: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(CWD, at, flags, Mode::empty())?))
}

/// Renames the folder to its final name, which must not exist.
pub fn named(at: &Path, name: &Path) -> io::Result<()> {
    match renameat_with(CWD, at, CWD, name, RenameFlags::NOREPLACE) {
        // Some filesystems do not support this flag.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => onto_own(at, name),
        other => Ok(other?),
    }
}

/// First creates an empty folder with the final name, which the rename then replaces. This fails if a file or a non-empty folder of
/// that name exists.
fn onto_own(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::rename(from, to).inspect_err(|_| drop(fs::remove_dir(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_not_taken_away_with_or_without_the_flag() {
        let folder = tempfile::tempdir().unwrap();
        let [file, empty, full, free] =
            ["file", "empty", "full", "free"].map(|name| folder.path().join(name));
        fs::write(&file, "kept").unwrap();
        fs::create_dir(&empty).unwrap();
        fs::create_dir(&full).unwrap();
        fs::write(full.join("within"), "kept").unwrap();
        let own = made(folder.path(), ".made-").unwrap();
        for taken in [&file, &empty, &full] {
            assert!(named(&own, taken).is_err());
            assert!(onto_own(&own, taken).is_err());
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(full.join("within")).unwrap(), "kept");
        fs::write(own.join("own"), "").unwrap();
        onto_own(&own, &free).unwrap();
        assert!(free.join("own").exists() && !own.exists());
    }

    #[test]
    fn one_is_known_by_its_name_alone() {
        let folder = tempfile::tempdir().unwrap();
        let own = made(folder.path(), ".made-").unwrap();
        let zeros = "0".repeat(DIGITS);
        for other in
            [format!(".made-{}", &zeros[1..]), format!(".made-{}z", &zeros[1..]), format!(".kept-{zeros}")]
        {
            fs::create_dir(folder.path().join(other)).unwrap();
        }
        assert_eq!(all(folder.path(), ".made-"), [own]);
    }
}
