//! `device`: a claimed disk of this machine.

use std::io;
use std::path::Path;

use fsderby_sys::loop_device::forget_cached;
use serde::{Deserialize, Serialize};

use super::{Attached, Conditioning, Device, Disposable, Storage, settings};
use crate::devices::{Reset, Undo, Volume, claimed, finish_undo, without_serial};
use crate::host::StepError;
use crate::schema::event::Steady;
use crate::schema::job::Job;
use crate::schema::setup::Named;

pub struct ClaimedDisk;

/// The settings of the storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The name under which the disk is claimed.
    pub id: String,
    /// Further disks, for layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    pub reset: Reset,
    /// Whether the drive is preconditioned once in the run, and washed before each trial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preconditioned: bool,
}

impl Settings {
    pub fn named(&self) -> Named {
        Named::new(ClaimedDisk.name(), self)
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.id).chain(&self.beside).map(String::as_str)
    }
}

impl Storage for ClaimedDisk {
    fn name(&self) -> &'static str {
        "device"
    }

    fn attach(&self, job: &Job) -> Result<Attached, StepError> {
        let settings: Settings = settings(job)?;
        let attach = |id: &str| -> Result<Box<dyn Device>, StepError> { Claimed::attach(id, &settings, job) };
        let leaves = settings.ids().map(attach).collect::<Result<_, _>>()?;
        Ok(Attached::Devices { leaves, source: None })
    }

    fn reset_writes(&self, job: &Job) -> u64 {
        match settings::<Settings>(job) {
            Ok(settings) if settings.reset == Reset::Zeros => {
                job.volume.size.0.saturating_mul(settings.ids().count() as u64)
            }
            _ => 0,
        }
    }

    /// Layers of an agent that was killed.
    fn clean_up(&self, job: &Job) {
        let Ok(settings) = settings::<Settings>(job) else { return };
        for mark in settings.ids().filter_map(|id| claimed(id).ok()) {
            // The next command tries again, and says what it cannot remove.
            let _ = finish_undo(&mark);
        }
    }
}

struct Claimed {
    id: String,
    volume: Volume,
    disposable: Disposable,
    reset: Reset,
    preconditioned: bool,
}

impl Claimed {
    fn attach(id: &str, settings: &Settings, job: &Job) -> Result<Box<dyn Device>, StepError> {
        let volume = Volume::find(id, job.volume.size)
            .map_err(|why| StepError::new("attach", id, without_serial(id, why.to_string())).of_machine())?;
        volume.reset(settings.reset).map_err(|e| StepError::io("reset", id, e).of_machine())?;
        let disposable = Disposable::window(&volume);
        Ok(Box::new(Claimed {
            id: id.to_owned(),
            volume,
            disposable,
            reset: settings.reset,
            preconditioned: settings.preconditioned,
        }))
    }
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

    fn conditioning(&self) -> Conditioning {
        match self.volume.conditioned() {
            _ if !self.preconditioned => Conditioning::None,
            Some(steady) => Conditioning::Wash(steady),
            None => Conditioning::Precondition,
        }
    }

    fn note_conditioned(&self, steady: Steady) -> io::Result<()> {
        self.volume.note_conditioned(steady)
    }

    fn reset_names(&self) -> io::Result<()> {
        self.volume.forget_names()
    }

    fn reset_names_above(&self, top: &Path) -> io::Result<()> {
        if self.reset == Reset::Zeros { Ok(()) } else { self.volume.forget_names_above(top) }
    }

    fn owner(&self) -> Option<&str> {
        Some(self.volume.short())
    }

    fn note(&self, undo: &[Undo]) -> io::Result<()> {
        if undo.is_empty() {
            self.volume.forget_names()?;
        }
        self.volume.note(undo)
    }

    fn fault_below(&self) -> Option<String> {
        self.volume.fault().map(|why| without_serial(&self.id, why.what))
    }
}
