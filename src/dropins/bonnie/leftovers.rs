//! Files that a run has created and not yet deleted. If the run ends early, only these files are removed. The names of these
//! files contain the process number and did not exist when the run began.

use std::ffi::CStr;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};

use crate::dropins::stopping::Made;
use crate::workloads::bonnie::rules::Rules;
use crate::workloads::bonnie::small::is_name;
use crate::workloads::bonnie::trial::data_paths;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub struct Leftovers {
    /// Directory in which the run began, because the work continues in subdirectories.
    place: OwnedFd,
    files: Vec<String>,
    folder: String,
}

impl Leftovers {
    /// Files with these names in the current directory; an error if a name is taken.
    pub fn new(rules: &Rules, name: &str) -> Result<Self, String> {
        let files = data_paths(rules, name);
        let taken =
            files.iter().chain([&name.to_owned()]).find(|path| fs::symlink_metadata(path).is_ok()).cloned();
        if let Some(path) = taken {
            return Err(format!(
                "'{path}' already exists\n  try: the command again (its files then get another name), or \
                 another directory"
            ));
        }
        let place =
            openat(CWD, c".", FOLDER, Mode::empty()).map_err(|e| format!("could not open '.': {e}"))?;
        Ok(Leftovers { place, files, folder: name.to_owned() })
    }
}

impl Made for Leftovers {
    fn remove(&self) {
        for path in &self.files {
            let _ = unlinkat(&self.place, path.as_str(), AtFlags::empty());
        }
        let Ok(folder) = openat(&self.place, self.folder.as_str(), FOLDER, Mode::empty()) else { return };
        for subfolder in empty(&folder) {
            if let Ok(below) = openat(&folder, &*subfolder, FOLDER, Mode::empty()) {
                empty(&below);
            }
            let _ = unlinkat(&folder, &*subfolder, AtFlags::REMOVEDIR);
        }
        let _ = unlinkat(&self.place, self.folder.as_str(), AtFlags::REMOVEDIR);
    }

    fn is_gone(&self) -> bool {
        let is_there = |path: &String| statat(&self.place, path.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        !self.files.iter().chain([&self.folder]).any(is_there)
    }
}

/// Deletes the small files in a directory; returns its subdirectories.
fn empty(folder: &OwnedFd) -> Vec<std::ffi::CString> {
    let mut folders = Vec::new();
    let Ok(entries) = Dir::read_from(folder) else { return folders };
    for entry in entries.flatten() {
        let name: &CStr = entry.file_name();
        if entry.file_type() == FileType::Directory {
            if name.to_bytes().len() == 5 && name.to_bytes().iter().all(u8::is_ascii_digit) {
                folders.push(name.to_owned());
            }
        } else if is_name(name.to_bytes()) {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
    }
    folders
}
