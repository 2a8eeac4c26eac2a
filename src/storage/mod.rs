//! The storage that a filesystem is made on: one trait, one table.
//!
//! A testbed chooses a storage and its settings. The code here attaches it where the agent runs, on this machine or in a guest.
//! [`layers`] are built on its disks.

pub mod device;
pub mod directory;
pub mod disk;
mod disposable;
pub mod image;
pub mod layers;
#[cfg(feature = "full")]
pub mod twin;

pub use disposable::Disposable;

use std::io::{self, Write};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::devices::Undo;
use crate::host::StepError;
use crate::host::own_folder::OwnFolder;
use crate::schema::event::{Seen, Steady};
use crate::schema::job::Job;
use crate::schema::setup::{Named, Volume};

/// Every storage.
pub static TABLE: &[&dyn Storage] = &[
    // One row a line.
    &image::Image,
    &disk::ModelledDisk,
    &directory::Directory,
    #[cfg(feature = "full")]
    &twin::Twin,
    &device::ClaimedDisk,
];

pub trait Storage: Sync {
    fn name(&self) -> &'static str;
    /// Attaches the storage of this job in the state with which every trial begins.
    fn attach(&self, job: &Job) -> Result<Attached, StepError>;
    /// Bytes that attaching writes to the volume before a trial.
    fn reset_writes(&self, _job: &Job) -> u64 {
        0
    }
    /// Runs in a guest before its trial: starts the modelled disks, or waits until the disks with the images appear. Returns
    /// observations for the record.
    fn bring_up(&self, _job: &Job) -> anyhow::Result<Option<Seen>> {
        Ok(None)
    }
    /// The output for events of a guest, if the guest does not use the machine's port.
    fn way_out(&self, _volume: &Volume) -> anyhow::Result<Option<Box<dyn Write + Send>>> {
        Ok(None)
    }
    /// Cuts, at this instant, the power of disks that the guest itself serves. Returns whether the guest serves any; if the host
    /// provides the storage, the host cuts the power by ending the guest.
    fn cut_power(&self) -> io::Result<bool> {
        Ok(false)
    }
    /// Removes named leftovers of an agent that died.
    fn clean_up(&self, _job: &Job) {}
}

/// An attached storage, as used by a filesystem.
pub enum Attached {
    /// Devices to be formatted and mounted: one, or as many as the layers join; and optionally another as the source of copies.
    Devices { leaves: Vec<Box<dyn Device>>, source: Option<Box<dyn Device>> },
    /// A directory created on a mounted filesystem.
    Folder(OwnFolder),
}

/// What must be written to a drive before a trial, in the way of SNIA's performance test specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditioning {
    None,
    /// Once in a run.
    Precondition,
    /// Before each trial, on a drive that was preconditioned.
    Wash(Steady),
}

/// A block device. Dropping this value detaches the device.
pub trait Device {
    /// The device, which may be formatted.
    fn disposable(&self) -> &Disposable;
    fn path(&self) -> &Path {
        self.disposable().path()
    }
    /// Whether the device bypasses the host's page cache.
    fn is_direct(&self) -> bool;
    /// Drops the kernel's cache of the device, so that every check reads from the device.
    fn forget_cached(&self) -> io::Result<()>;
    /// A folder that a mount must not hide.
    fn lies_in(&self) -> &Path;
    /// After a failed trial: the fault of the storage below the device, on the host, which is no fault of the filesystem.
    fn fault_below(&self) -> Option<String> {
        None
    }
    /// On a machine that has other arrays and mappings: a unique name for what is built on this device.
    fn owner(&self) -> Option<&str> {
        None
    }
    /// Notes what is about to be built on the device, and the commands that undo it, last first; an empty list says that all of it is
    /// down.
    fn note(&self, _undo: &[Undo]) -> io::Result<()> {
        Ok(())
    }
    /// What must be written to the device before it is used.
    fn conditioning(&self) -> Conditioning {
        Conditioning::None
    }
    /// Notes that the device was preconditioned, so that the other trials of the run find it so.
    fn note_conditioned(&self, _steady: Steady) -> io::Result<()> {
        Ok(())
    }
    /// Writes what a trial begins with, after conditioning.
    fn reset_names(&self) -> io::Result<()> {
        Ok(())
    }
    /// Writes what a trial begins with to the layers above the device, whose disks may hold more than zeros.
    fn reset_names_above(&self, _top: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Processes that serve the device, as listed by [`crate::host::children`]; they keep running when a filesystem on it is unmounted.
    fn servers(&self) -> &[i32] {
        &[]
    }
}

/// The storage with this name.
///
/// # Errors
/// If there is none.
pub fn find(named: &Named) -> Result<&'static dyn Storage, StepError> {
    let found = TABLE.iter().copied().find(|storage| storage.name() == named.name);
    found.ok_or_else(|| StepError::new("attach", &named.name, "unknown storage"))
}

/// The settings of this job's storage.
///
/// # Errors
/// If they belong to another storage.
pub fn settings<T: DeserializeOwned>(job: &Job) -> Result<T, StepError> {
    job.storage.settings().map_err(|e: String| StepError::new("attach", "the storage", e))
}

/// Name for a job's named resources: folder, mount source, cgroup.
pub fn name(token: &str) -> String {
    format!("fsderby-{token}")
}
