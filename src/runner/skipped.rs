//! The record of a cell that stays empty: its name, and its place in the plan.

use crate::schema::job::Purpose;
use crate::schema::plan::Trial;

/// `skipped/SCENARIO/LABEL`
pub fn name(trial: &Trial<'_>) -> String {
    format!("skipped/{}/{}", trial.scenario.label, trial.candidate.label)
}

/// In no round, and at no place in one.
pub fn trial<'p>(of: Trial<'p>) -> Trial<'p> {
    Trial { purpose: Purpose::Integrity, round: 0, order: 0, ..of }
}
