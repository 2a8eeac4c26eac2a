//! `sync`: writes all dirty pages.

use super::{Around, Now, StageKind, without_argument};
use crate::schema::description::Description;
use crate::schema::job::Step;

pub struct SyncAll;

impl StageKind for SyncAll {
    fn name(&self) -> &'static str {
        "sync"
    }

    fn usage(&self) -> &'static str {
        "\"sync\""
    }

    fn description(&self) -> Description {
        Description {
            what: "Writes all dirty pages of the filesystem and waits until the device is idle.",
            origin: "syncfs(2), then the device's counters.",
            limits: "A timed sync follows each workload anyway, but it does not wait until the device is idle. \
                     Without this stage, background writes of one workload count in the next workload.",
        }
    }

    fn stands(&self, argument: Option<&str>, _around: &Around<'_>) -> Result<(), String> {
        without_argument(self.name(), argument)
    }

    fn steps(&self, _argument: Option<&str>, _now: &Now<'_>) -> Vec<Step> {
        vec![Step::Settle { cold: false }]
    }
}
