//! Walks a tree like find, tar and rm: first all names of a folder, then the entries, in the filesystem's order.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

use super::files::{self, differs, failed};
use crate::workloads::OpError;

/// An entry, with its open parent folder.
pub struct Entry<'a> {
    pub folder: &'a OwnedFd,
    pub name: &'a CStr,
    pub path: &'a Path,
}

impl Entry<'_> {
    pub fn failed(&self, operation: &'static str, error: impl Into<io::Error>) -> OpError {
        failed(operation, self.path, error)
    }

    /// What the operation found of the entry differs from what was written.
    pub fn differs(&self, operation: &'static str, text: impl Into<String>) -> OpError {
        differs(operation, self.path, text)
    }
}

/// Callbacks of a walk.
pub trait Visitor {
    /// Called before a folder is entered.
    fn enter(&mut self, _folder: &Entry<'_>) -> Result<(), OpError> {
        Ok(())
    }
    fn file(&mut self, file: &Entry<'_>) -> Result<(), OpError>;
    /// Called after all entries of a folder.
    fn leave(&mut self, _folder: &Entry<'_>) -> Result<(), OpError> {
        Ok(())
    }
}

/// Walks everything below the current folder. Only the names of the open folders are in memory.
pub fn visit(visitor: &mut impl Visitor) -> Result<(), OpError> {
    visit_in(files::open_folder(CWD, ".")?, visitor)
}

/// Walks everything below this folder. Paths are relative to it.
pub fn visit_in(top: OwnedFd, visitor: &mut impl Visitor) -> Result<(), OpError> {
    inside(top, &mut PathBuf::new(), visitor)
}

fn inside(folder: OwnedFd, path: &mut PathBuf, visitor: &mut impl Visitor) -> Result<(), OpError> {
    let names = names(&folder).map_err(|e| failed("read the directory", &path, e))?;
    for (name, kind) in names {
        path.push(OsStr::from_bytes(name.to_bytes()));
        let is_folder = is_folder(&folder, &name, kind);
        let entry = Entry { folder: &folder, name: &name, path };
        if is_folder.map_err(|errno| entry.failed("stat", errno))? {
            visitor.enter(&entry)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let below = openat(&folder, &*name, flags, Mode::empty());
            inside(below.map_err(|errno| entry.failed("open the directory", errno))?, path, visitor)?;
            visitor.leave(&Entry { folder: &folder, name: &name, path })?;
        } else {
            visitor.file(&entry)?;
        }
        path.pop();
    }
    Ok(())
}

fn names(folder: &OwnedFd) -> rustix::io::Result<Vec<(CString, FileType)>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(names)
}

/// Whether an entry is a folder. Some filesystems do not return the type with the name, so stat is called for these.
fn is_folder(folder: &OwnedFd, name: &CStr, kind: FileType) -> rustix::io::Result<bool> {
    match kind {
        FileType::Directory => Ok(true),
        FileType::Unknown => {
            let about = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(FileType::from_raw_mode(about.st_mode) == FileType::Directory)
        }
        _ => Ok(false),
    }
}
