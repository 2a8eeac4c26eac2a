//! Which trials of a plan a shard carries out. Pure: it follows from the plan alone, so every machine computes the same.
//!
//! ```text
//! virtual time   trial n of the plan's order ─▶ shard (n + n ÷ N) mod N      any trial anywhere gives the same figures
//! real time      round r, whole ─▶ shard (r − 1) mod N                       figures of one round are compared: one machine
//!                integrity checks ─▶ every shard                             each machine must read back what it wrote
//! due            trial n of the list ─▶ as in virtual time                   what results call for: worst corners
//! ```
//! The quotient shifts the shards from block to block, so that no shard has all trials of one slow workload.

use std::collections::HashMap;

use crate::schema::job::{Purpose, RESEEDED};
use crate::schema::plan::{Plan, Trial};
use crate::schema::shard::Shard;

/// The share of the trials that a run carries out: all, unless its plan names a shard.
#[derive(Clone, Debug, Default)]
pub struct Share {
    shard: Option<Shard>,
    in_virtual_time: bool,
    candidates: u64,
    scenarios: HashMap<String, u64>,
    rounds: u64,
    /// Position in the list of trials, by name.
    due: HashMap<String, u64>,
}

/// The shard of a trial, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Every,
    One(u32),
    Nobody,
}

impl Share {
    pub fn of(plan: &Plan, in_virtual_time: bool) -> Self {
        let numbered = (0..).zip(&plan.scenarios).map(|(at, scenario)| (scenario.label.clone(), at));
        let due = plan.shard.iter().flat_map(|shard| &shard.due).cloned().zip(0..);
        Share {
            shard: plan.shard.clone(),
            in_virtual_time,
            candidates: plan.candidates.len() as u64,
            scenarios: numbered.collect(),
            rounds: plan.rounds.at_least().into(),
            due: due.collect(),
        }
    }

    pub fn is_whole(&self) -> bool {
        self.shard.is_none()
    }

    /// Whether only named trials are due, and no round.
    pub fn is_of_named(&self) -> bool {
        !self.due.is_empty()
    }

    /// The number of distinct named trials.
    pub fn named(&self) -> usize {
        self.due.len()
    }

    pub fn in_virtual_time(&self) -> bool {
        self.in_virtual_time
    }

    /// Whether this run carries out that trial.
    pub fn has(&self, trial: &Trial<'_>) -> bool {
        let Some(Shard { number, of, .. }) = &self.shard else { return true };
        match self.owner(trial, *of) {
            Owner::Every => true,
            Owner::One(owner) => owner + 1 == *number,
            Owner::Nobody => false,
        }
    }

    /// Which of so many shards carries out that trial.
    pub fn owner(&self, trial: &Trial<'_>, of: u32) -> Owner {
        let one = |n: u64| Owner::One(((n + n / u64::from(of)) % u64::from(of)) as u32);
        match trial.purpose {
            _ if self.is_of_named() => self.due.get(&trial.name()).map_or(Owner::Nobody, |n| one(*n)),
            _ if self.in_virtual_time => one(self.number(trial)),
            Purpose::Integrity => Owner::Every,
            Purpose::Measure => Owner::One((trial.round - 1) % of),
            // Trials of the first round again: on its machine.
            _ => Owner::One(0),
        }
    }

    /// The trial's number in the order of the plan.
    fn number(&self, trial: &Trial<'_>) -> u64 {
        let block = match trial.purpose {
            Purpose::Integrity => 0,
            Purpose::Measure => u64::from(trial.round),
            Purpose::Doubled => self.rounds + 1,
            Purpose::Tripled => self.rounds + 2,
            Purpose::Dear => self.rounds + 3,
            Purpose::Cheap => self.rounds + 4,
            Purpose::Reseeded(n) => self.rounds + 4 + u64::from(n),
            Purpose::Corner(_) => self.rounds + 5 + u64::from(RESEEDED),
        };
        let scenario = self.scenarios.get(&trial.scenario.label).copied();
        debug_assert!(scenario.is_some(), "a trial's scenario is the plan's");
        let scenario = scenario.unwrap_or(0);
        let place = scenario * self.candidates + u64::from(trial.order.max(1) - 1);
        block * self.candidates * self.scenarios.len() as u64 + place
    }
}

/// The trials that a shard's plan names, in its order.
pub fn named(plan: &Plan) -> Vec<Trial<'_>> {
    let due = plan.shard.iter().flat_map(|shard| &shard.due);
    due.filter_map(|name| trial(plan, name)).collect()
}

/// The plan's trial of this name; `None` if it has none.
pub fn trial<'p>(plan: &'p Plan, name: &str) -> Option<Trial<'p>> {
    let (first, _) = name.split_once('/')?;
    let is_it = |trial: &Trial<'_>| trial.name() == name;
    if let Some(round) = first.strip_prefix('r').and_then(|n| n.parse().ok()) {
        return plan.round(round).find(is_it);
    }
    match Purpose::try_from(first.to_owned()).ok()? {
        Purpose::Integrity => plan.integrity_checks().find(is_it),
        purpose => plan.again(purpose).find(is_it),
    }
}
