//! What a run that ends early has made and not yet deleted: removed, and nothing else.
//!
//! Its names bear our process number, and nobody had them when it began. A signal finds the work under way: a thread removes what there
//! is and ends the process, with the original's exit code.

use std::ffi::CStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use fsderby_sys::process::exit_now;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, unlinkat};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::workloads::bonnie::rules::Rules;
use crate::workloads::bonnie::small::is_name;
use crate::workloads::bonnie::trial::data_paths;

/// As the original ends when it is stopped.
const STOPPED: i32 = 5;
/// While it is removed the work may go on for a moment and make more.
const PASSES: usize = 3;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

pub struct Leftovers {
    made: Arc<Made>,
    signals: Handle,
}

struct Made {
    /// Where the run began: the work goes into folders of its own.
    place: OwnedFd,
    files: Vec<String>,
    folder: String,
}

impl Leftovers {
    /// From now on a signal removes what there is of these names in the current folder.
    pub fn watch(rules: &Rules, name: &str) -> Result<Self, String> {
        let files = data_paths(rules, name);
        let taken =
            files.iter().chain([&name.to_owned()]).find(|path| fs::symlink_metadata(path).is_ok()).cloned();
        if let Some(path) = taken {
            return Err(format!("there is a '{path}' already\n  try: again, or another directory"));
        }
        let place =
            openat(CWD, c".", FOLDER, Mode::empty()).map_err(|e| format!("could not open '.': {e}"))?;
        let made = Arc::new(Made { place, files, folder: name.to_owned() });
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|e| format!("could not wait for signals: {e}"))?;
        let (handle, watched) = (signals.handle(), made.clone());
        let wait = move || {
            if signals.forever().next().is_some() {
                (0..PASSES).for_each(|_| watched.remove());
                exit_now(STOPPED);
            }
        };
        thread::Builder::new().spawn(wait).map_err(|e| format!("could not start a thread: {e}"))?;
        Ok(Leftovers { made, signals: handle })
    }

    /// After an operation that failed.
    pub fn remove(&self) {
        self.made.remove();
    }

    /// Signals do again what they did before.
    pub fn forget(self) {
        self.signals.close();
    }
}

impl Made {
    /// What cannot be removed stays: the error that led here is the one to tell.
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
}

/// Deletes the small files of a folder; says what folders it has.
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
