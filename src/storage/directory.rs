//! `directory`: a directory created on a mounted filesystem. Nothing is formatted.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Attached, Storage, name, settings};
use crate::host::StepError;
use crate::host::own_folder::{self, OwnFolder};
use crate::schema::job::Job;
use crate::schema::setup::Named;

pub struct Directory;

/// The settings of the storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub path: String,
}

impl Settings {
    pub fn named(&self) -> Named {
        Named::new(Directory.name(), self)
    }
}

impl Storage for Directory {
    fn name(&self) -> &'static str {
        "directory"
    }

    fn attach(&self, job: &Job) -> Result<Attached, StepError> {
        let (parent, name) = place(job)?;
        let made = OwnFolder::make(&parent, &name);
        Ok(Attached::Folder(made.map_err(|e| StepError::io("make", parent.join(name), e))?))
    }

    fn clean_up(&self, job: &Job) {
        if let Ok((parent, name)) = place(job) {
            own_folder::remove(&parent, &name);
        }
    }
}

fn place(job: &Job) -> Result<(PathBuf, String), StepError> {
    let settings: Settings = settings(job)?;
    Ok((settings.path.into(), name(&job.token)))
}
