//! `directory`: a folder of ours in what is mounted already. Nothing is formatted.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Attached, Storage, name, settings};
use crate::host::StepError;
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
        let folder = folder(job)?;
        fs::create_dir(&folder).map_err(|e| StepError::io("make", &folder, e))?;
        Ok(Attached::Folder(folder))
    }

    fn clean_up(&self, job: &Job) {
        if let Ok(folder) = folder(job) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn folder(job: &Job) -> Result<PathBuf, StepError> {
    let settings: Settings = settings(job)?;
    Ok(PathBuf::from(settings.path).join(name(&job.token)))
}
