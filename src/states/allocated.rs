//! `allocated SHARE`: a share of the space is allocated to files without content.

use toml::Table;

use super::StateKind;
use crate::schema::description::Description;
use crate::schema::plan::PlannedWork;

pub struct Allocated;

/// Large files, such as disk images or videos: a terabyte of small files would spend most of the time on names.
const PARAMETERS: &str = "per_folder = 32\nallocate = true\nsizes = [{ up_to = '1g', weight = 1 }]";

impl StateKind for Allocated {
    fn name(&self) -> &'static str {
        "allocated"
    }

    fn usage(&self) -> &'static str {
        "allocated SHARE"
    }

    fn description(&self) -> Description {
        Description {
            what: "SHARE of the space available to an ordinary user is allocated by files of up to 1 GiB \
                   without content (fallocate). The workload gets the remaining free space, wherever it lies \
                   on the disk. Meant for volumes that would take too long to write.",
            origin: "Uses the workload fill with allocate = true, which calls fallocate(2).",
            limits: "The files are not aged, and a real filesystem would have more files in so much space. \
                Filesystems without fallocate do not take part.",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        let parameters: Table = PARAMETERS.parse().map_err(|e| format!("{PARAMETERS}: {e}"))?;
        super::filling(self.name(), argument, parameters)
    }

    fn leaves(&self, argument: &str) -> f64 {
        super::left_by(argument)
    }

    fn has_content(&self) -> bool {
        false
    }
}
