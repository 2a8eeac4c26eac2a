//! What can be computed again from a record's raw values: parameters, amount of work, validity checks, outcome and metrics.

use std::collections::HashMap;

use crate::analysis::metrics;
use crate::analysis::validity::{self, Witness};
use crate::runner::fold::not_held;
use crate::schema::job::Step;
use crate::schema::reason::{Condition, Held, Outcome, Reason};
use crate::schema::record::{Record, RecordedWork};
use crate::schema::setup::Fidelity;
use crate::workloads::{self, Amount};

pub fn metrics_hold(record: &Record) -> Option<String> {
    let works = match metrics::parsed(record) {
        Ok(works) => works,
        Err(e) => return Some(format!("its metrics cannot be computed again: {e}")),
    };
    let version = metrics::version(&works);
    if record.metrics_version != version {
        return Some(format!(
            "its metrics are of version {}, this fsderby computes {version}",
            record.metrics_version
        ));
    }
    // They are a set: a version that puts them into another order has the same ones.
    let again = metrics::all(record, &works);
    let differs = record.metrics.iter().find(|stored| !again.contains(stored));
    match differs {
        Some(stored) => Some(format!("{} is not what its raw values give", stored.name)),
        None if again.len() != record.metrics.len() => {
            Some("it has other metrics than its raw values give".into())
        }
        None => None,
    }
}

pub fn parameters_hold(record: &Record) -> Option<String> {
    let differs = |work: &RecordedWork| work.work.hash() != work.params_hash;
    record.works.iter().any(differs).then(|| "its parameters do not fit their hash".into())
}

/// Above so many operations an amount is believed: to count them would take minutes, and a run from a stranger may ask for more.
const COUNTED: u64 = 50_000_000;

/// The amounts of work that are known already: trials of one round have the same.
#[derive(Default)]
pub struct Amounts(HashMap<(String, u64), Amount>);

impl Amounts {
    pub fn hold(&mut self, record: &Record) -> Option<String> {
        let is_other = record.works.iter().any(|work| self.is_other(work, record.workload_seed));
        is_other.then(|| "it says another amount of work than its parameters give".into())
    }

    fn is_other(&mut self, recorded: &RecordedWork, seed: u64) -> bool {
        let Ok(work) = workloads::parsed(&recorded.work) else { return false };
        if work.operations() > COUNTED {
            return false;
        }
        let known = self.0.entry((recorded.work.hash(), seed));
        recorded.amount != *known.or_insert_with(|| work.amount(seed))
    }
}

/// All of them must be there, with the words that they give again. Only how the image was opened stands nowhere else.
pub fn validity_holds(record: &Record, steps: &[Step]) -> Option<String> {
    let asked = steps.iter().find_map(|s| if let Step::Mount { mount } = s { Some(mount) } else { None });
    let judged = |direct| validity::judge(record, steps, Witness { asked, direct });
    let holds = [None, Some(true), Some(false)].into_iter().any(|direct| judged(direct) == record.validity);
    (!holds).then(|| "its validity checks are not those that its raw values give".into())
}

/// An outcome has its reason, and a check that failed has its outcome.
pub fn outcome_holds(record: &Record) -> Option<String> {
    let reason = record.reason.as_ref();
    let is_bound = record.validity.iter().any(|c| c.name == Condition::Floor && c.held == Held::Label);
    let broken = record.validity.iter().find(|check| check.held == Held::No).cloned().map(not_held);
    if reason.map_or(Outcome::Done, Reason::outcome) != record.outcome {
        return Some(format!("it is {}, and its reason says otherwise", record.outcome.name()));
    }
    if is_bound != (record.fidelity == Fidelity::FloorBound) {
        return Some("how far its times count is not what its disk's floor says".into());
    }
    match reason {
        None if broken.is_some() => Some("it counts, though a validity check failed".into()),
        Some(Reason::Validity(_) | Reason::Integrity(_)) if broken.as_ref() != reason => {
            Some("its reason is no validity check that failed".into())
        }
        _ => None,
    }
}
