//! `preconditioned`: the drive was filled completely and then overwritten at random for a long time.

use super::StateKind;
use crate::schema::description::Description;
use crate::schema::plan::PlannedWork;

pub struct Preconditioned;

impl StateKind for Preconditioned {
    fn name(&self) -> &'static str {
        "preconditioned"
    }

    fn usage(&self) -> &'static str {
        "preconditioned"
    }

    fn description(&self) -> Description {
        Description {
            what: "The filesystem is empty, but the flash drive below is not: it was written completely and \
                   then overwritten at random until its write rate was steady. Garbage collection therefore \
                   slows every write, even the first. Possible on modelled flash drives and on claimed disks. \
                   On each claimed disk, fsderby writes the part that it uses twice in order, and then at random \
                   until the write rates of five passes are steady. fsderby does this once in a run. Before \
                   each trial a sixteenth of the part is overwritten at random.",
            origin: "SNIA's Solid State Storage Performance Test Specification: purge, precondition, steady \
                     state. `fsderby disk steady DISK` shows that the model reaches the steady state.",
            limits: "A claimed disk is not purged first, so its state is only similar to SNIA's. A drive in real use \
                     is between this state and the state that a modelled drive has by default: discards and idle \
                     time give it erased blocks, which a preconditioned drive lacks.",
        }
    }

    fn works(&self, argument: &str) -> Result<Vec<PlannedWork>, String> {
        match argument {
            "" => Ok(Vec::new()),
            _ => Err(format!("preconditioned takes no argument, not '{argument}'")),
        }
    }

    fn is_of_the_drive(&self) -> bool {
        true
    }

    fn has_content(&self) -> bool {
        false
    }
}
