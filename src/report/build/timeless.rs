//! Why no time is shown, where none says anything.

use super::repeat;
use crate::schema::plan::Plan;
use crate::schema::reason::Outcome;
use crate::schema::setup::Fidelity;
use crate::store::Run;

/// Why no time is shown, at length and in a few words.
pub struct Timeless {
    pub said: String,
    pub brief: &'static str,
}

pub fn of(run: &Run) -> Option<Timeless> {
    // Where some have times, what is said of the others stands with their setups.
    let mut all = run.records.iter().filter(|r| r.outcome != Outcome::Skipped);
    let record = all.clone().next().filter(|_| all.all(|r| !r.fidelity.times_count()))?;
    match record.fidelity {
        Fidelity::FloorBound => Some(faster_than_the_cpu()),
        _ => Some(emulated(run)),
    }
}

fn emulated(run: &Run) -> Timeless {
    // Where each has a testbed of its own, no other one can stand for all.
    let here = match run.plan.testbeds().len() {
        1 => {
            let command = repeat::of(&Plan { testbed: "loop".into(), ..run.plan.clone() }, true).command;
            format!("; so does, as root and for the filesystems of this machine's own kernel: {command}")
        }
        _ => ".".to_owned(),
    };
    Timeless {
        said: format!(
            "The CPU was emulated, which says nothing about the times of a real machine, so none is shown: requests, bytes, flushes and \
             capacity are compared. The same run on a machine with KVM gives times{here}"
        ),
        brief: "The CPU was emulated, so no time is shown; --on vm on a machine with KVM, or --on loop as root, gives times. ",
    }
}

fn faster_than_the_cpu() -> Timeless {
    Timeless {
        said: "The modelled disk answers faster than the guest's CPU can serve its requests, so times would measure the CPU and none is \
               shown: requests, bytes, flushes and capacity are compared. For times, 4 KiB must take at least 20 times as long as the same \
               request takes without a disk, as on every hard disk of fsderby list disks."
            .to_owned(),
        brief: "The modelled disk answers faster than the guest's CPU can serve its requests, so no time is shown; a hard disk of fsderby \
                list disks gives times. ",
    }
}
