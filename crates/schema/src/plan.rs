//! An experiment expanded: who takes part, on what, where, how often, in which order.
//!
//! The plan is a function, not a list: the order within a round is computed from a seed, open-ended, so that a budget, a
//! resumed run or a further round need no rewriting.

use rand_core::Rng;
use serde::{Deserialize, Serialize};

pub use crate::candidate::{Candidate, Factors, Setup};
use crate::job::{Purpose, WorkSpec, is_one, one};
use crate::needs::Needs;
use crate::random::{seeded, shuffle};
use crate::scenario::{Scenario, WorkStage};
use crate::setup::ImageState;
use crate::units::{Bytes, Percent, Scale, Span};

/// The shape of `plan.toml`.
pub const SCHEMA: u32 = 4;
/// The key that every plan has and no experiment.
pub const MARK: &str = "schema";

/// What `plan.toml` holds: everything that decides what a run does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub schema: u32,
    pub name: String,
    /// The question, as its author put it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub analysis: String,
    /// Resolved: never `auto`. This and what follows to the image is what candidates have in common: see [`Plan::setup`].
    pub testbed: String,
    pub size: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Of the machine that a testbed makes; absent = as the testbed has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    pub image: ImageState,
    /// What lies between the disks and the filesystem, from the disks up, each with all its settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// What is on the filesystem before the work, `filled 80%`; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether a witness must show that every trial begins with empty caches.
    pub cold: bool,
    /// How many processes do each work at the same time, where the work does not say it itself.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub clients: u32,
    pub rounds: Rounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Span>,
    pub margin: Percent,
    /// The candidate that takes part twice, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Twice>,
    /// Whether what the program that plays a modelled disk adds to the figures is measured, before the round that allows a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub floor: bool,
    /// Where a scale made the work of an experiment smaller than memory or volume could become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Shortfall>,
    /// Decides the order.
    pub plan_seed: u64,
    /// Decides what the workloads draw; with the round it is the same for all filesystems.
    pub workload_seed: u64,
    /// What a choice is made by; decides nothing that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
    #[serde(rename = "filesystem")]
    pub candidates: Vec<Candidate>,
    #[serde(rename = "workload")]
    pub workloads: Vec<PlannedWork>,
    /// What is done in a trial: each with each candidate in each round.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<Scenario>,
}

/// A candidate that takes part under two labels. What the two differ by can only be chance, or the run is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Twice {
    pub of: String,
    pub copy: String,
}

/// What an experiment's setup would be at the scale of its work, where it cannot be so small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortfall {
    /// Of the experiment's work.
    pub by: Scale,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedWork {
    pub label: String,
    /// As many as the plan has, where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    #[serde(flatten)]
    pub work: WorkSpec,
}

/// How many rounds: so many, as many whole ones as the budget holds but never fewer than so many, or as many as it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounds {
    Exactly(u32),
    AtLeast(u32),
    /// Until the figures decide, at looks that were fixed before the first round.
    Auto,
}

/// How many rounds come before the first look of [`Rounds::Auto`].
pub const FIRST_LOOK: u32 = 10;

impl Rounds {
    pub fn at_least(self) -> u32 {
        match self {
            Rounds::Exactly(n) | Rounds::AtLeast(n) => n,
            Rounds::Auto => FIRST_LOOK,
        }
    }
}

impl Plan {
    /// All trials of a round: scenario by scenario, the filesystems in random order, back to back.
    pub fn round(&self, round: u32) -> impl Iterator<Item = Trial<'_>> {
        self.scenarios.iter().flat_map(move |scenario| {
            let order = self.order(round, &scenario.label);
            order.into_iter().enumerate().map(move |(place, at)| Trial {
                purpose: Purpose::Measure,
                round,
                order: place as u32 + 1,
                candidate: &self.candidates[at],
                scenario,
            })
        })
    }

    /// One integrity check for each cell.
    pub fn integrity_checks(&self) -> impl Iterator<Item = Trial<'_>> {
        self.round(0).map(|trial| Trial { purpose: Purpose::Integrity, ..trial })
    }

    /// The trials of the first round once more, for this purpose.
    pub fn again(&self, purpose: Purpose) -> impl Iterator<Item = Trial<'_>> {
        self.round(1).map(move |trial| Trial { purpose, ..trial })
    }

    /// The order in which the filesystems take their turn: a shuffle from (seed, round, scenario) of their indices.
    pub fn order(&self, round: u32, scenario: &str) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        let mut random =
            seeded(&[b"order", &self.plan_seed.to_le_bytes(), &round.to_le_bytes(), scenario.as_bytes()]);
        shuffle(&mut order, &mut random);
        order
    }

    /// The workload of that label.
    pub fn workload(&self, label: &str) -> Option<&PlannedWork> {
        self.workloads.iter().find(|work| work.label == label)
    }

    /// The same plan where nothing is made: one row, for what is mounted there.
    pub fn as_mounted(self, fstype: &str) -> Plan {
        let (label, kind) = (format!("{fstype}, as mounted"), fstype.to_owned());
        Plan { candidates: vec![Candidate { label, kind, ..Candidate::default() }], guard: None, ..self }
    }

    /// How many clients do this work in that stage.
    pub fn clients_of(&self, work: &PlannedWork, stage: &WorkStage) -> u32 {
        stage.clients.or(work.clients).unwrap_or(self.clients)
    }

    /// The seed that every filesystem's workload gets in this round.
    pub fn workload_seed(&self, round: u32) -> u64 {
        seeded(&[b"workload", &self.workload_seed.to_le_bytes(), &round.to_le_bytes()]).next_u64() >> 1
    }

    /// The seed of this trial's workload: that of its round, but where another is its purpose.
    pub fn seed_of(&self, trial: &Trial<'_>) -> u64 {
        let Purpose::Reseeded(n) = trial.purpose else { return self.workload_seed(trial.round) };
        seeded(&[b"reseeded", &self.workload_seed.to_le_bytes(), &[n]]).next_u64() >> 1
    }
}

impl Plan {
    /// Of one of its candidates.
    pub fn setup<'p>(&'p self, candidate: &'p Candidate) -> Setup<'p> {
        let Factors { on, memory, cpus, layers, state } = &candidate.own;
        Setup {
            testbed: on.as_deref().unwrap_or(&self.testbed),
            size: self.size,
            memory: memory.or(self.memory),
            cpus: cpus.or(self.cpus),
            image: self.image,
            layers: layers.as_deref().unwrap_or(&self.layers),
            state: state.as_deref().or(self.state.as_deref()),
        }
    }

    /// The setups of its candidates, each once, with the first candidate that has it.
    pub fn setups(&self) -> Vec<(&Candidate, Setup<'_>)> {
        let mut setups: Vec<(&Candidate, Setup<'_>)> = Vec::new();
        for candidate in &self.candidates {
            let setup = self.setup(candidate);
            if setups.iter().all(|(_, known)| *known != setup) {
                setups.push((candidate, setup));
            }
        }
        setups
    }

    /// The texts of its testbeds, each once, in the order of the candidates.
    pub fn testbeds(&self) -> Vec<&str> {
        let mut testbeds: Vec<&str> = Vec::new();
        for candidate in &self.candidates {
            let testbed = self.setup(candidate).testbed;
            if !testbeds.contains(&testbed) {
                testbeds.push(testbed);
            }
        }
        testbeds
    }

    /// Has each value stand where it belongs: what every candidate states is in common, of the first one where they differ, and
    /// what is in common no candidate states.
    pub fn settle(&mut self) {
        let mut testbed = Some(std::mem::take(&mut self.testbed));
        settle(&mut testbed, self.candidates.iter_mut().map(|c| &mut c.own.on).collect());
        self.testbed = testbed.unwrap_or_default();
        settle(&mut self.memory, self.candidates.iter_mut().map(|c| &mut c.own.memory).collect());
        settle(&mut self.cpus, self.candidates.iter_mut().map(|c| &mut c.own.cpus).collect());
        let mut layers = Some(std::mem::take(&mut self.layers));
        settle(&mut layers, self.candidates.iter_mut().map(|c| &mut c.own.layers).collect());
        self.layers = layers.unwrap_or_default();
        settle(&mut self.state, self.candidates.iter_mut().map(|c| &mut c.own.state).collect());
    }
}

/// See [`Plan::settle`].
fn settle<T: Clone + PartialEq>(common: &mut Option<T>, own: Vec<&mut Option<T>>) {
    if own.iter().all(|own| own.is_some())
        && let Some(first) = own.first()
    {
        common.clone_from(*first);
    }
    own.into_iter().filter(|own| *own == common).for_each(|own| *own = None);
}

/// One cell of one round.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    pub purpose: Purpose,
    /// 0 for an integrity check.
    pub round: u32,
    /// From 1, in the round's random order.
    pub order: u32,
    pub candidate: &'a Candidate,
    pub scenario: &'a Scenario,
}

impl Trial<'_> {
    /// `r03/SCENARIO/LABEL`; in no round `integrity/…`, `doubled/…`, `reseeded-2/…`, `corner+-+---+++-+/…`.
    pub fn name(&self) -> String {
        let round = match self.purpose {
            Purpose::Measure => format!("r{:02}", self.round),
            other => other.to_string(),
        };
        format!("{round}/{}/{}", self.scenario.label, self.candidate.label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stands_in_common_or_with_its_candidate_and_never_with_both() {
        let settled = |mut common: Option<u32>, mut own: Vec<Option<u32>>| {
            settle(&mut common, own.iter_mut().collect());
            (common, own)
        };
        assert_eq!(settled(None, vec![Some(1), Some(2)]), (Some(1), vec![None, Some(2)]));
        assert_eq!(settled(Some(1), vec![None, Some(1), Some(2)]), (Some(1), vec![None, None, Some(2)]));
        assert_eq!(settled(Some(9), vec![Some(2), Some(2)]), (Some(2), vec![None, None]));
        assert_eq!(settled(Some(9), vec![None, Some(2)]), (Some(9), vec![None, Some(2)]));
        assert_eq!(settled(None, vec![None, Some(2)]), (None, vec![None, Some(2)]));
        assert_eq!(settled(Some(9), vec![]), (Some(9), vec![]));
    }
}
