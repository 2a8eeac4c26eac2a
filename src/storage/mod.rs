//! What a filesystem is made on: one trait, one table.
//!
//! A testbed names a storage with its settings; what is here attaches it in the agent's world, on this machine or in a guest.
//! [`layers`] lie on the disks that it brings.

pub mod directory;
pub mod disk;
pub mod image;
pub mod layers;
pub mod twin;

use std::io::{self, Write};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::host::StepError;
use crate::host::own_folder::OwnFolder;
use crate::schema::event::Seen;
use crate::schema::job::Job;
use crate::schema::setup::{Named, Volume};

/// Every storage.
pub static TABLE: &[&dyn Storage] = &[
    // One row a line.
    &image::Image,
    &disk::ModelledDisk,
    &directory::Directory,
    &twin::Twin,
];

pub trait Storage: Sync {
    fn name(&self) -> &'static str;
    /// The storage of this job in the state that every trial finds.
    fn attach(&self, job: &Job) -> Result<Attached, StepError>;
    /// In a guest, before its trial: what its init must bring up, and what is to be told of it.
    fn bring_up(&self, _job: &Job) -> anyhow::Result<Option<Seen>> {
        Ok(None)
    }
    /// In a guest: where its events leave, if not by the machine's port.
    fn way_out(&self, _volume: &Volume) -> anyhow::Result<Option<Box<dyn Write + Send>>> {
        Ok(None)
    }
    /// In a guest: takes the power from what it serves itself, at this very moment. Whether it did; where the storage is the
    /// host's, the host does it by ending the machine.
    fn cut_power(&self) -> io::Result<bool> {
        Ok(false)
    }
    /// Removes what an agent that died has left under a name.
    fn clean_up(&self, _job: &Job) {}
}

/// What an attached storage is for a filesystem.
pub enum Attached {
    /// To be formatted and mounted: one, or as many as the layers on them join; and one beside them, where work copies from it.
    Devices { leaves: Vec<Box<dyn Device>>, source: Option<Box<dyn Device>> },
    /// A folder of ours in what is mounted already.
    Folder(OwnFolder),
}

/// A block device. Dropping it detaches it.
pub trait Device {
    fn path(&self) -> &Path;
    /// Whether it goes past the host's page cache.
    fn is_direct(&self) -> bool;
    /// Has the kernel forget what it has cached of the device, so that every check reads it anew.
    fn forget_cached(&self) -> io::Result<()>;
    /// A folder that must not be hidden by what is mounted.
    fn lies_in(&self) -> &Path;
    /// After a failed trial: what is wrong below it, on the host's side, which no filesystem on it can be blamed for.
    fn fault_below(&self) -> Option<String> {
        None
    }
    /// Processes that answer for it, as [`crate::host::children`] lists them: they stay when a filesystem on it is unmounted.
    fn servers(&self) -> &[i32] {
        &[]
    }
}

/// The storage of that name.
///
/// # Errors
/// When there is none.
pub fn find(named: &Named) -> Result<&'static dyn Storage, StepError> {
    let found = TABLE.iter().copied().find(|storage| storage.name() == named.name);
    found.ok_or_else(|| StepError::new("attach", &named.name, "unknown storage"))
}

/// What the storage of this job was given, for whoever attaches it or brings it up.
///
/// # Errors
/// When these are settings of another storage.
pub fn settings<T: DeserializeOwned>(job: &Job) -> Result<T, StepError> {
    job.storage.settings().map_err(|e: String| StepError::new("attach", "the storage", e))
}

/// What a job's agent calls things that have a name: a folder, the source of a mount, a memory group.
pub fn name(token: &str) -> String {
    format!("fsderby-{token}")
}
