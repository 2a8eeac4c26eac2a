//! `read-back`: compares the files on the filesystem with what was written.

use super::{Around, Now, StageKind, WorkEnds, without_argument};
use crate::schema::description::Description;
use crate::schema::job::{At, Step};

pub struct ReadBack;

impl StageKind for ReadBack {
    fn name(&self) -> &'static str {
        "read-back"
    }

    fn usage(&self) -> &'static str {
        "\"read-back\""
    }

    fn description(&self) -> Description {
        Description {
            what: "Reads every file and compares it with what was written. The workload directly before this stage \
                   keeps its files for this purpose. Files of earlier workloads are read only if those workloads \
                   keep their files. After a power cut, the stage looks for the files that had been synced.",
            origin: "Uses the CRC-32 of each file as recorded by the workload engine, and BLAKE3 over all \
                     files.",
            limits: "After a power cut, the stage reads only files that the workload had synced.",
        }
    }

    fn stands(&self, argument: Option<&str>, around: &Around<'_>) -> Result<(), String> {
        without_argument(self.name(), argument)?;
        match around.follows_work(&[
            "remount",
            "sync",
            "drop-caches",
            "check",
            "power-cut",
            "recover",
            "read-back",
        ]) {
            true => Ok(()),
            false => Err("no workload before this stage leaves files to read".into()),
        }
    }

    fn ends_work(&self, _argument: Option<&str>) -> WorkEnds {
        WorkEnds::KeepsFiles
    }

    fn steps(&self, _argument: Option<&str>, now: &Now<'_>) -> Vec<Step> {
        match now.work {
            Some(work) if now.was_cut => vec![Step::Survivors { work }],
            _ if now.was_mounted_again => vec![Step::Verify { at: At::Remounted }],
            _ => vec![Step::Verify { at: At::Filled }],
        }
    }
}
