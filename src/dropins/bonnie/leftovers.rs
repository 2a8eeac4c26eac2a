//! What a run that ends early has made and not yet deleted: removed, and nothing else.
//!
//! Its names bear our process number, and nobody had them when it began. A signal finds the work under way: the work stops before its next
//! operation, for which it looks at the clock, and a thread removes what there is and ends the process, with the original's exit code.

use std::ffi::CStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fsderby_sys::process::exit_now;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::workloads::bonnie::rules::Rules;
use crate::workloads::bonnie::small::is_name;
use crate::workloads::bonnie::trial::data_paths;

/// As the original ends when it is stopped.
const STOPPED: i32 = 5;
/// The operation that a signal finds may make one more, so it is looked again until there is nothing; 20 s at most.
const PASSES: usize = 2000;
const PAUSE: Duration = Duration::from_millis(10);
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
    is_stopping: AtomicBool,
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
        let made = Made { place, files, folder: name.to_owned(), is_stopping: AtomicBool::new(false) };
        let made = Arc::new(made);
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|e| format!("could not wait for signals: {e}"))?;
        let (handle, watched) = (signals.handle(), made.clone());
        let wait = move || {
            if signals.forever().next().is_some() {
                watched.is_stopping.store(true, Ordering::Relaxed);
                watched.remove_until_gone();
                exit_now(STOPPED);
            }
        };
        thread::Builder::new().spawn(wait).map_err(|e| format!("could not start a thread: {e}"))?;
        Ok(Leftovers { made, signals: handle })
    }

    /// Never comes back after a signal, which ends the process.
    #[inline]
    pub fn wait_if_stopping(&self) {
        while self.made.is_stopping.load(Ordering::Relaxed) {
            thread::park();
        }
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
    fn remove_until_gone(&self) {
        for _ in 0..PASSES {
            self.remove();
            thread::sleep(PAUSE);
            let is_there =
                |path: &String| statat(&self.place, path.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok();
            if !self.files.iter().chain([&self.folder]).any(is_there) {
                return;
            }
        }
    }

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
