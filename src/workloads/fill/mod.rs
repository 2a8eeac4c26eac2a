//! Fill: writes files of mixed sizes until a share of the usable space is used, or no space is left. The files are kept.
//!
//! ```text
//! d0/  f0 … f31                 files of the first folder
//! d1/  f32 … f63                files of the second folder; the last such folder is df
//! d1/d0/  f512 …                at most 16 subfolders in a folder: a path is the folder's number in hexadecimal digits
//! ```
//! The used space is measured after a sync, because the filesystem may allocate space only then. Half of the missing amount is
//! written before the next measurement. So the share is met to within one file, in about ten steps.

use toml::Table;

use super::{ParamSet, Work, Workload};
use crate::schema::declared::Declared;
use crate::schema::description::Description;
use crate::schema::units::Scale;

mod metrics;
mod parameters;
mod trial;

pub struct Fill;

static SETS: &[ParamSet] = &[
    ParamSet { name: "fill-80", toml: include_str!("sets/fill-80.toml") },
    ParamSet { name: "fill-full", toml: include_str!("sets/fill-full.toml") },
];

impl Workload for Fill {
    fn name(&self) -> &'static str {
        "fill"
    }

    fn description(&self) -> Description {
        Description {
            what: "Writes files of all sizes until a share of the space available to an ordinary user is \
                   used, or until no space is left. The files are kept.",
            origin: "fsderby's own. File sizes: N. Agrawal, A. Arpaci-Dusseau and R. Arpaci-Dusseau, \"Generating \
                     Realistic Impressions for File-System Benchmarking\", FAST 2009.",
            limits: "With allocate = true files are only allocated (fallocate), not written. The number of \
                     files depends on the filesystem: a filesystem that needs more space for metadata holds fewer files. \
                     Nothing is deleted, so free space is contiguous: the filesystem is full, not aged. Only \
                     one client.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        metrics::declared()
    }

    fn timed(&self, phase: &str) -> &'static [(&'static str, &'static str)] {
        if phase == metrics::PHASE { &[("create", "files")] } else { &[] }
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(parameters::Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        parameters::scale(parameters, by)
    }
}
