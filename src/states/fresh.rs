//! `fresh`: the filesystem right after mkfs.

use super::StateKind;
use crate::schema::description::Description;
use crate::schema::plan::PlannedWork;

pub struct Fresh;

pub const NAME: &str = "fresh";

impl StateKind for Fresh {
    fn name(&self) -> &'static str {
        NAME
    }

    fn usage(&self) -> &'static str {
        "fresh"
    }

    fn description(&self) -> Description {
        Description {
            what: "The filesystem right after mkfs: empty.",
            origin: "The usual starting point of filesystem benchmarks.",
            limits: "A filesystem in use is never empty, and some are much slower when filled.",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        match argument {
            "" => Ok(Vec::new()),
            _ => Err(format!("fresh takes no argument, not '{argument}'")),
        }
    }

    fn has_content(&self) -> bool {
        false
    }
}
