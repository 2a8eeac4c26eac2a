//! `filled SHARE`: a share of the space is filled with files of mixed sizes.

use super::StateKind;
use crate::schema::description::Description;
use crate::schema::plan::PlannedWork;
use crate::workloads;

pub struct Filled;

/// The parameter set whose file sizes the state uses.
const SET: &str = "fill-80";

impl StateKind for Filled {
    fn name(&self) -> &'static str {
        "filled"
    }

    fn usage(&self) -> &'static str {
        "filled SHARE"
    }

    fn description(&self) -> Description {
        Description {
            what: "SHARE of the space available to an ordinary user is filled with files of mixed sizes; the \
                workload's seed decides the sizes.",
            origin: "Uses the workload fill, with the sizes of its set fill-80 (fsderby explain fill-80).",
            limits: "The files are written in one go to an empty filesystem: it is full, but not aged or \
                     fragmented.",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        let (_, set) = workloads::find(SET).ok_or_else(|| format!("unknown workload {SET}"))?;
        super::filling(self.name(), argument, set.file().parameters)
    }

    fn leaves(&self, argument: &str) -> f64 {
        super::left_by(argument)
    }

    fn follows_volume(&self) -> bool {
        true
    }
}
