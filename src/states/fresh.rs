//! `fresh`: as mkfs left it.

use super::StateKind;
use crate::schema::plan::PlannedWork;
use crate::schema::story::Story;

pub struct Fresh;

pub const NAME: &str = "fresh";

impl StateKind for Fresh {
    fn name(&self) -> &'static str {
        NAME
    }

    fn usage(&self) -> &'static str {
        "fresh"
    }

    fn story(&self) -> Story {
        Story {
            what: "The filesystem as mkfs left it: empty.",
            origin: "What every comparison begins with that says nothing of it.",
            limits: "No filesystem in use is empty, and some are much slower when they are not.",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        match argument {
            "" => Ok(Vec::new()),
            _ => Err(format!("fresh is told nothing, not '{argument}'")),
        }
    }

    fn has_content(&self) -> bool {
        false
    }
}
