//! The name of a skipped cell's record, and the cell's place in the plan.

use crate::schema::job::Purpose;
use crate::schema::plan::Trial;

/// `skipped/SCENARIO/LABEL`
pub fn name(trial: &Trial<'_>) -> String {
    format!("skipped/{}/{}", trial.scenario.label, trial.candidate.label)
}

/// In no round, and without order.
pub fn trial<'p>(of: Trial<'p>) -> Trial<'p> {
    Trial { purpose: Purpose::Integrity, round: 0, order: 0, ..of }
}
