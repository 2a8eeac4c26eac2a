//! `check`: the filesystem's own full check, with all on it that is there.

use super::{Around, Now, StageKind, without_argument};
use crate::schema::job::Step;
use crate::schema::story::Story;

pub struct ForcedCheck;

impl StageKind for ForcedCheck {
    fn name(&self) -> &'static str {
        "check"
    }

    fn usage(&self) -> &'static str {
        "\"check\""
    }

    fn story(&self) -> Story {
        Story {
            what: "Unmounts, runs the filesystem's own full check, which is timed, and mounts again: how long a server is away that must \
                   be checked. Nothing of the filesystem stays in memory.",
            origin: "An administrator of 2004 asked which filesystem brings a RAID back on line the soonest when a check is needed. The \
                     commands are those of fsderby explain KIND, read-only and forced: e2fsck -f -n, xfs_repair -n, reiserfsck --check, \
                     fsck.jfs -n -f.",
            limits: "The filesystem is whole, so nothing has to be repaired. Where a kind has no check of its own, or none is made, the \
                     stage does nothing.",
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
