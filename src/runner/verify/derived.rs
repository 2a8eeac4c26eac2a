//! What can be computed again from a record's raw values: parameters, amount of work, validity checks, outcome and metrics.

use std::collections::HashMap;

use super::as_planned::is_whole;
use crate::analysis::metrics;
use crate::analysis::validity::{self, Witness};
use crate::runner::fold::not_held;
use crate::schema::event::{Client, Stepped};
use crate::schema::job::{Step, StepName};
use crate::schema::reason::{Condition, Held, Outcome, Reason};
use crate::schema::record::Record;
use crate::schema::setup::Fidelity;
use crate::workloads::{self, Amount, clients};

pub fn metrics_hold(record: &Record) -> Option<String> {
    let Some(engine) = workloads::engine(&record.work.engine) else {
        return Some(format!(
            "this fsderby has no workload {} to recompute its metrics with",
            record.work.engine
        ));
    };
    let work = match engine.parse(&record.work.parameters) {
        Ok(work) => work,
        Err(e) => return Some(format!("its parameters are no longer understood: {e}")),
    };
    let version = metrics::version(&*work);
    if record.metrics_version != version {
        return Some(format!(
            "its metrics are of version {}, this fsderby computes {version}",
            record.metrics_version
        ));
    }
    // They are a set: a version that puts them into another order has the same ones.
    let again = metrics::all(record, &*work);
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
    (record.work.hash() != record.params_hash).then(|| "its parameters do not fit their hash".into())
}

/// Above so many operations an amount is believed: to count them would take minutes, and a run from a stranger may ask for more.
const COUNTED: u64 = 50_000_000;

/// The amounts of work that are known already: trials of one round have the same.
#[derive(Default)]
pub struct Amounts(HashMap<(String, u64, u32), Amount>);

impl Amounts {
    pub fn hold(&mut self, record: &Record) -> Option<String> {
        let work = workloads::engine(&record.work.engine)?.parse(&record.work.parameters).ok()?;
        let of_one = work.operations().max(work.most_clients());
        if of_one.saturating_mul(record.clients.into()) > COUNTED {
            return None;
        }
        let (seed, all) = (record.workload_seed, record.clients);
        let known = self.0.entry((record.work.hash(), seed, all));
        let amount = known.or_insert_with(|| clients::amount(&*work, seed, all));
        (record.amount != *amount).then(|| "it says another amount of work than its parameters give".into())
    }
}

/// What is told of all clients together is what each of them did, one part of the work after the other.
pub fn clients_hold(record: &Record) -> Option<String> {
    if record.clients <= 1 {
        return (!record.by_client.is_empty()).then(|| "it has one client, and tells of several".into());
    }
    if !is_whole(record) {
        return None;
    }
    let parts: Vec<&[Client]> = record.by_client.chunks(record.clients as usize).collect();
    if !parts.iter().all(|part| are_in_order(part)) {
        return Some("its clients are not counted up, or did something before or after their work".into());
    }
    let together: Vec<_> = parts.iter().flat_map(|part| clients::phases(part)).collect();
    if together != record.phases {
        return Some("its phases are not those of its clients together".into());
    }
    let cost: Vec<Stepped> = parts.iter().map(|part| clients::cost(part)).collect();
    let works = record.steps.iter().filter(|step| step.step == StepName::Work);
    (!works.eq(&cost)).then(|| "its work did not take what its clients took together".into())
}

fn are_in_order(part: &[Client]) -> bool {
    let is_within = |client: &Client| {
        let within = |began, ended| client.began_ns <= began && began <= ended && ended <= client.ended_ns;
        client.phases.iter().all(|told| within(told.began_ns(), told.ended_ns))
    };
    part.iter().zip(0..).all(|(client, number)| client.client == number && is_within(client))
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
