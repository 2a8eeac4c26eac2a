//! `remount`: nothing of the filesystem stays in memory.

use super::{Around, Now, StageKind, without_argument};
use crate::schema::job::Step;
use crate::schema::story::Story;

pub struct Remount;

impl StageKind for Remount {
    fn name(&self) -> &'static str {
        "remount"
    }

    fn usage(&self) -> &'static str {
        "\"remount\""
    }

    fn story(&self) -> Story {
        Story {
            what: "Unmounts and mounts again, so that pages, names and inodes are all gone from memory: a cold start.",
            origin: "Between the parts of cold reading, as the seeds' comparisons restarted their machines between tasks.",
            limits: "On a directory that is taken as it is, every file is written out and its pages are dropped instead, as root all caches.",
        }
    }

    fn stands(&self, argument: Option<&str>, _around: &Around<'_>) -> Result<(), String> {
        without_argument(self.name(), argument)
    }

    fn steps(&self, _argument: Option<&str>, now: &Now<'_>) -> Vec<Step> {
        vec![Step::Cool { mount: now.mount() }]
    }
}
