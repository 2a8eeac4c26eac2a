//! `power-cut`: cuts the machine's power during or right after the preceding workload.

use super::{Around, Now, StageKind, WorkEnds, is_one};
use crate::schema::description::Description;
use crate::schema::job::Step;
use crate::schema::power_cut::PowerCut;
use crate::schema::scenario::{Scenario, Stage};
use crate::schema::units::Percent;

pub struct Cut;

pub const NAME: &str = "power-cut";
const RECOVER: &str = "recover";
const READ_BACK: &str = "read-back";

/// A cut after the workload's last operation; only data that the workload synced itself is safe.
const AT_THE_END: PowerCut = PowerCut::Share(Percent(100.0));

/// The scenario that `--power-cut` stands for.
pub fn short_form(work: &str, cut: PowerCut) -> Scenario {
    let stages = vec![
        Stage::work(work),
        Stage::other(NAME, Some(cut.to_string())),
        Stage::other(RECOVER, None),
        Stage::other(READ_BACK, None),
    ];
    Scenario { label: work.to_owned(), stages }
}

impl StageKind for Cut {
    fn name(&self) -> &'static str {
        NAME
    }

    fn usage(&self) -> &'static str {
        "{ power-cut = \"50%\" } or \"power-cut\""
    }

    fn description(&self) -> Description {
        Description {
            what: "Cuts the machine's power right after an operation of the preceding workload: an operation \
                   number, a share of all operations, or, without a value, the last one. The machine then boots \
                   from the disk as the cut left it.",
            origin: "A power cut is the case for which filesystems have journals.",
            limits: "Possible only with --on vm or --on model, once per scenario (a sequence of workloads and \
                stages), and with one client.",
        }
    }

    fn stands(&self, argument: Option<&str>, around: &Around<'_>) -> Result<(), String> {
        if let Some(argument) = argument {
            argument.parse::<PowerCut>()?;
        }
        if !around.follows_work(&[]) {
            return Err("this stage must directly follow a workload".into());
        }
        if around.before.iter().chain(around.after).any(|stage| is_one(stage, &[NAME])) {
            return Err("a scenario has at most one power cut".into());
        }
        match around.after.first() {
            Some(next) if is_one(next, &[RECOVER]) => Ok(()),
            _ => Err(format!("this stage must be followed by \"{RECOVER}\"")),
        }
    }

    fn ends_work(&self, argument: Option<&str>) -> WorkEnds {
        WorkEnds::Cut(argument.and_then(|argument| argument.parse().ok()).unwrap_or(AT_THE_END))
    }

    fn steps(&self, _argument: Option<&str>, _now: &Now<'_>) -> Vec<Step> {
        vec![Step::PowerCut, Step::Restart]
    }
}
