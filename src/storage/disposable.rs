//! A block device that may be formatted.

use std::path::{Path, PathBuf};

use fsderby_sys::loop_device::LoopDevice;

use crate::devices::{Volume, is_init_of_machine};
use crate::host::StepError;

/// The path of a block device that fsderby may format: it made the device itself, or the user claimed the disk. No other module can
/// make such a value:
///
/// ```compile_fail,E0451
/// let of_yours = fsderby::storage::Disposable { path: "/dev/sda".into() };
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disposable {
    path: PathBuf,
}

impl Disposable {
    /// A loop device of this process, on a file of ours.
    pub fn loop_device(device: &LoopDevice) -> Self {
        Disposable { path: device.path().to_owned() }
    }

    /// The window on a claimed disk.
    pub fn window(volume: &Volume) -> Self {
        Disposable { path: volume.window().path().to_owned() }
    }

    /// A disk of a guest, which has no disk of anyone else.
    ///
    /// # Errors
    /// If this process is not the first of its machine: then it is no guest of ours.
    pub fn in_guest(path: PathBuf) -> Result<Self, StepError> {
        if is_init_of_machine() {
            Ok(Disposable { path })
        } else {
            Err(StepError::new("attach", path, "only a guest formats its disks by their path"))
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}
