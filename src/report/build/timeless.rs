//! Why no time is shown, where none says anything.

use super::repeat;
use crate::schema::plan::Plan;
use crate::schema::setup::Fidelity;
use crate::store::Run;

/// Why no time is shown, at length and in a few words.
pub struct Timeless {
    pub said: String,
    pub brief: &'static str,
}

pub fn of(run: &Run) -> Option<Timeless> {
    let record = run.records.iter().find(|r| !r.fidelity.times_count())?;
    match record.fidelity {
        Fidelity::FloorBound => Some(floor_bound()),
        _ => Some(emulated(run)),
    }
}

fn emulated(run: &Run) -> Timeless {
    let here = repeat::of(&Plan { testbed: "loop".into(), ..run.plan.clone() }, true).command;
    Timeless {
        said: format!(
            "The CPU was emulated, so no time would say anything about a real machine and none is shown: requests, bytes, flushes and \
             capacity are compared. The same run on a machine with KVM gives times; so does, as root and for the filesystems of this \
             machine's own kernel: {here}"
        ),
        brief: "The CPU was emulated, so no time is shown; --on vm on a machine with KVM, or --on loop as root, gives times. ",
    }
}

fn floor_bound() -> Timeless {
    Timeless {
        said: "This disk is floor-bound: on its own it would answer 4 KiB in under 20 times what a request costs with no disk at all, since \
               the kernel's path to the model and the model itself run on the guest's one CPU. No time is shown and nobody is ranked by \
               one: requests, bytes, flushes and capacity are compared. Slower disks give times, as every hard disk of fsderby list disks \
               does."
            .to_owned(),
        brief: "The modelled disk is floor-bound, faster than what answers for it, so no time is shown; a hard disk of fsderby list disks gives \
                times. ",
    }
}
