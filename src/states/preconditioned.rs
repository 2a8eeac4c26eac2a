//! `preconditioned`: the drive below it was filled and overwritten at random for long.

use super::StateKind;
use crate::schema::plan::PlannedWork;
use crate::schema::story::Story;

pub struct Preconditioned;

impl StateKind for Preconditioned {
    fn name(&self) -> &'static str {
        "preconditioned"
    }

    fn usage(&self) -> &'static str {
        "preconditioned"
    }

    fn story(&self) -> Story {
        Story {
            what: "The filesystem is empty, and the flash disk below it is not: all of it was written, and overwritten at random until its \
                   rate no longer changed. So every write has to be paid for by collecting, from the first one on. Modelled flash \
                   disks alone.",
            origin: "SNIA's Solid State Storage Performance Test Specification: purge, precondition, steady state. \
                     `fsderby disk steady DISK` shows that the model is in it.",
            limits: "A drive in use stands between this and one that begins as its file says: what a filesystem discards, and nights without \
                     work, bring erased flash back.",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        match argument {
            "" => Ok(Vec::new()),
            _ => Err(format!("preconditioned is told nothing, not '{argument}'")),
        }
    }

    fn is_of_the_drive(&self) -> bool {
        true
    }

    fn has_content(&self) -> bool {
        false
    }
}
