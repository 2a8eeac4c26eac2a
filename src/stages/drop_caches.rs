//! `drop-caches`: drops clean pages, dentries and inodes, and verifies it with a test file.

use super::{Around, Now, StageKind, without_argument};
use crate::schema::description::Description;
use crate::schema::job::Step;

pub struct DropCaches;

impl StageKind for DropCaches {
    fn name(&self) -> &'static str {
        "drop-caches"
    }

    fn usage(&self) -> &'static str {
        "\"drop-caches\""
    }

    fn description(&self) -> Description {
        Description {
            what: "Syncs, drops all clean pages, dentries and inodes of the machine, and verifies with a test \
                file that reads reach the device.",
            origin: "/proc/sys/vm/drop_caches with 3 (Documentation/admin-guide/sysctl/vm.rst).",
            limits: "Needs root or a guest. Open or mapped files stay cached; the stage remount is stricter, \
                     because it unmounts the filesystem.",
        }
    }

    fn stands(&self, argument: Option<&str>, _around: &Around<'_>) -> Result<(), String> {
        without_argument(self.name(), argument)
    }

    fn empties_caches(&self) -> bool {
        true
    }

    fn steps(&self, _argument: Option<&str>, _now: &Now<'_>) -> Vec<Step> {
        vec![Step::Settle { cold: true }]
    }
}
