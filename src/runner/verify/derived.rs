//! Recomputes values from a record's raw values: parameters, amount of work, validity checks, outcome and metrics.

use std::collections::HashMap;

use super::as_planned::is_whole;
use super::other_version;
use super::understood::Understood;
use crate::analysis::metrics;
use crate::analysis::validity::{self, Witness};
use crate::runner::execute::fold::not_held;
use crate::schema::event::{Client, Stepped};
use crate::schema::job::{Step, StepName};
use crate::schema::reason::{Held, Outcome, Reason};
use crate::schema::record::{Record, RecordedWork, StageRecord};
use crate::workloads::{Amount, Work, clients};

pub fn metrics_hold(record: &Record, understood: &Understood<'_>) -> Option<String> {
    let works = match &understood.works {
        Ok(works) => works,
        Err(e) => return Some(format!("the trial's metrics cannot be recomputed: {e}")),
    };
    // Counted separately, and recomputed for readers.
    if other_version::ours(record, understood).is_some() {
        return None;
    }
    // Metrics are a set: a version with another order has the same ones.
    let again = metrics::all(record, works);
    if again == record.metrics {
        return None;
    }
    let differs = record.metrics.iter().find(|stored| !again.contains(stored));
    match differs {
        Some(stored) => Some(format!("{} differs from the value that the raw values give", stored.name)),
        None if again.len() != record.metrics.len() => {
            Some("the trial's metrics differ from the metrics that its raw values give".into())
        }
        None => None,
    }
}

pub fn parameters_hold(record: &Record, understood: &Understood<'_>) -> Option<String> {
    let holds = record.works.iter().map(|work| &work.params_hash).eq(&understood.hashes);
    (!holds).then(|| "the trial's parameters do not match their hash".into())
}

/// Larger amounts are not recounted: it would take minutes, and a foreign run may contain larger ones.
const COUNTED: u64 = 50_000_000;

/// Cached amounts of work: trials of one round share them.
#[derive(Default)]
pub struct Amounts(HashMap<(String, u64, u32), Amount>);

impl Amounts {
    pub fn hold(&mut self, record: &Record, understood: &Understood<'_>) -> Option<String> {
        // Works that cannot be parsed are reported with the metrics.
        let Ok(works) = &understood.works else { return None };
        let mut each = record.works.iter().zip(works).zip(&understood.hashes);
        let is_other =
            each.any(|((recorded, work), hash)| self.is_other(recorded, &**work, hash, record.workload_seed));
        is_other.then(|| "the trial's amount of work differs from its parameters".into())
    }

    fn is_other(&mut self, recorded: &RecordedWork, work: &dyn Work, hash: &str, seed: u64) -> bool {
        let of_one = work.operations().max(work.most_clients());
        if of_one.saturating_mul(recorded.clients.into()) > COUNTED {
            return false;
        }
        let known = self.0.entry((hash.to_owned(), seed, recorded.clients));
        recorded.amount != *known.or_insert_with(|| clients::amount(work, seed, recorded.clients))
    }
}

/// Sums over all clients must equal the clients' values, in every stage.
pub fn clients_hold(record: &Record) -> Option<String> {
    let whole = is_whole(record);
    record.stages.iter().enumerate().find_map(|(at, stage)| {
        let clients = record.works.get(stage.of)?.clients;
        if clients <= 1 {
            let tells = !stage.by_client.is_empty();
            return tells.then(|| "the trial has one client, but counters of several clients".into());
        }
        let steps = &record.steps;
        let work = steps.iter().find(|step| step.step == StepName::Work && step.work == Some(at));
        whole.then(|| stage_holds(stage, at, work)).flatten()
    })
}

fn stage_holds(stage: &StageRecord, at: usize, work: Option<&Stepped>) -> Option<String> {
    if !are_in_order(&stage.by_client) {
        return Some(
            "the trial's clients are not numbered from 0, or were active outside of the workload".into(),
        );
    }
    if clients::phases(&stage.by_client) != stage.phases {
        return Some("the trial's phases do not match the phases of its clients".into());
    }
    let cost = Stepped { work: Some(at), ..clients::cost(&stage.by_client) };
    (work != Some(&cost)).then(|| "the trial's totals do not match the totals of its clients".into())
}

fn are_in_order(part: &[Client]) -> bool {
    let is_within = |client: &Client| {
        let within = |began, ended| client.began_ns <= began && began <= ended && ended <= client.ended_ns;
        client.phases.iter().all(|told| within(told.began_ns(), told.ended_ns))
    };
    part.iter().zip(0..).all(|(client, number)| client.client == number && is_within(client))
}

/// Checks that all validity checks are present with the recomputed text. Only the open mode of the image is stored nowhere else.
pub fn validity_holds(record: &Record, steps: &[Step]) -> Option<String> {
    let asked = steps.iter().find_map(|s| if let Step::Mount { mount } = s { Some(mount) } else { None });
    let judged = |direct, labels_own| validity::judge(record, steps, Witness { asked, direct, labels_own });
    // The most frequent mode first.
    let modes =
        [false, true].into_iter().flat_map(|own| [Some(true), None, Some(false)].map(|mode| (mode, own)));
    let holds = modes.into_iter().any(|(mode, own)| judged(mode, own) == record.validity);
    (!holds).then(|| "the trial's validity checks do not match its raw values".into())
}

/// An outcome needs its reason, and a failed check its outcome.
pub fn outcome_holds(record: &Record) -> Option<String> {
    let reason = record.reason.as_ref();
    let broken = record.validity.iter().find(|check| check.held == Held::No).cloned().map(not_held);
    if reason.map_or(Outcome::Done, Reason::outcome) != record.outcome {
        return Some(format!(
            "the trial is {}, but the recorded reason contradicts this",
            record.outcome.name()
        ));
    }
    match reason {
        None if broken.is_some() => {
            Some("the trial is recorded as valid, although a validity check failed".into())
        }
        Some(Reason::Validity(_) | Reason::Integrity(_)) if broken.as_ref() != reason => {
            Some("the recorded reason is not a failed validity check of the trial".into())
        }
        _ => None,
    }
}
