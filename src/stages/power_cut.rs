//! `power-cut`: the machine loses its power, in the middle of the work before or right after it.

use super::{Around, Now, StageKind, WorkEnds, is_one};
use crate::schema::job::Step;
use crate::schema::power_cut::PowerCut;
use crate::schema::scenario::{Scenario, Stage};
use crate::schema::story::Story;
use crate::schema::units::Percent;

pub struct Cut;

pub const NAME: &str = "power-cut";
const RECOVER: &str = "recover";
const READ_BACK: &str = "read-back";

/// A whole work: its last operation is done, and nothing is synced that it has not synced itself.
const AT_THE_END: PowerCut = PowerCut::Share(Percent(100.0));

/// What `--power-cut` stands for.
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

    fn story(&self) -> Story {
        Story {
            what: "The machine loses its power right after an operation of the work before, given by its number or as a share of all; without \
                   either, after the last. It starts again with its disk as the cut left it.",
            origin: "What an administrator fears most, and what journals are made for.",
            limits: "Only where the testbed can lose its power, once in a scenario, and with one client.",
        }
    }

    fn stands(&self, argument: Option<&str>, around: &Around<'_>) -> Result<(), String> {
        if let Some(argument) = argument {
            argument.parse::<PowerCut>()?;
        }
        if !around.follows_work(&[]) {
            return Err("it cuts the work right before it, and there is none".into());
        }
        if around.before.iter().chain(around.after).any(|stage| is_one(stage, &[NAME])) {
            return Err("a scenario has one power cut at most".into());
        }
        match around.after.first() {
            Some(next) if is_one(next, &[RECOVER]) => Ok(()),
            _ => Err(format!("what follows it must be \"{RECOVER}\"")),
        }
    }

    fn ends_work(&self, argument: Option<&str>) -> WorkEnds {
        WorkEnds::Cut(argument.and_then(|argument| argument.parse().ok()).unwrap_or(AT_THE_END))
    }

    fn steps(&self, _argument: Option<&str>, _now: &Now<'_>) -> Vec<Step> {
        vec![Step::PowerCut, Step::Restart]
    }
}
