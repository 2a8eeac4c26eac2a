//! `remount`: unmounts and mounts again, so that no data of the filesystem stays in memory.

use super::{Around, Now, StageKind, without_argument};
use crate::schema::description::Description;
use crate::schema::job::Step;

pub struct Remount;

impl StageKind for Remount {
    fn name(&self) -> &'static str {
        "remount"
    }

    fn usage(&self) -> &'static str {
        "\"remount\""
    }

    fn description(&self) -> Description {
        Description {
            what: "Unmounts and mounts again, which empties the page cache, dentries and inodes: a cold start.",
            origin: "Used between the phases of the workload coldread, like the reboots between tasks in \
                published comparisons.",
            limits: "With --on directory nothing can be unmounted: files are synced and their pages dropped \
                     instead; as root, all caches are dropped.",
        }
    }

    fn stands(&self, argument: Option<&str>, _around: &Around<'_>) -> Result<(), String> {
        without_argument(self.name(), argument)
    }

    fn steps(&self, _argument: Option<&str>, now: &Now<'_>) -> Vec<Step> {
        vec![Step::Cool { mount: now.mount() }]
    }
}
