//! `check`: a full check by the filesystem's own tool, with all files in place.

use super::{Around, Now, StageKind, without_argument};
use crate::schema::description::Description;
use crate::schema::job::Step;

pub struct ForcedCheck;

impl StageKind for ForcedCheck {
    fn name(&self) -> &'static str {
        "check"
    }

    fn usage(&self) -> &'static str {
        "\"check\""
    }

    fn description(&self) -> Description {
        Description {
            what: "Unmounts, times the filesystem's full check, and mounts again: the downtime of a server whose \
                   filesystem must be checked. Afterwards all caches are cold.",
            origin: "A question of an administrator in 2004: after a check of the RAID, which filesystem is back \
                     online first? The commands are those that fsderby explain KIND prints; they write nothing and \
                     check clean filesystems too: e2fsck -f -n, xfs_repair -n, reiserfsck --check, fsck.jfs -n -f.",
            limits: "The filesystem is intact, so nothing is repaired. For a filesystem without a check \
                     program, the stage does nothing.",
        }
    }

    fn stands(&self, argument: Option<&str>, _around: &Around<'_>) -> Result<(), String> {
        without_argument(self.name(), argument)
    }

    fn steps(&self, _argument: Option<&str>, now: &Now<'_>) -> Vec<Step> {
        let check = now.kind.and_then(|kind| kind.check());
        check.zip(now.mount()).map(|(check, mount)| Step::ForcedCheck { check, mount }).into_iter().collect()
    }
}
