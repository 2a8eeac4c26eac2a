//! `device`: a claimed disk of this machine.

use std::io;
use std::path::Path;

use fsderby_sys::loop_device::forget_cached;
use serde::{Deserialize, Serialize};

use super::{Attached, Device, Disposable, Storage, settings};
use crate::devices::{Reset, Volume};
use crate::host::StepError;
use crate::schema::job::Job;
use crate::schema::setup::Named;

pub struct ClaimedDisk;

/// The settings of the storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The name under which the disk is claimed.
    pub id: String,
    pub reset: Reset,
}

impl Settings {
    pub fn named(&self) -> Named {
        Named::new(ClaimedDisk.name(), self)
    }
}

impl Storage for ClaimedDisk {
    fn name(&self) -> &'static str {
        "device"
    }

    fn attach(&self, job: &Job) -> Result<Attached, StepError> {
        let Settings { id, reset } = settings(job)?;
        let volume = Volume::find(&id, job.volume.size)
            .map_err(|why| StepError::new("attach", &id, why.to_string()))?;
        volume.reset(reset).map_err(|e| StepError::io("reset", &id, e))?;
        let disposable = Disposable::window(&volume);
        Ok(Attached::Devices { leaves: vec![Box::new(Claimed { volume, disposable })], source: None })
    }

    fn reset_writes(&self, job: &Job) -> u64 {
        match settings::<Settings>(job) {
            Ok(Settings { reset: Reset::Zeros, .. }) => job.volume.size.0,
            _ => 0,
        }
    }
}

struct Claimed {
    volume: Volume,
    disposable: Disposable,
}

impl Device for Claimed {
    fn disposable(&self) -> &Disposable {
        &self.disposable
    }

    fn is_direct(&self) -> bool {
        true
    }

    fn forget_cached(&self) -> io::Result<()> {
        forget_cached(self.volume.window().node())
    }

    fn lies_in(&self) -> &Path {
        Path::new("/dev")
    }

    fn fault_below(&self) -> Option<String> {
        self.volume.fault().map(|why| why.what)
    }
}
