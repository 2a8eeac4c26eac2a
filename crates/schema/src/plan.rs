//! An experiment expanded: candidates, scenarios, testbeds, number of rounds, order.
//!
//! The plan is a function instead of a list: the order within a round is computed from a seed for any round number. So a
//! budget, a resumed run or a further round changes nothing in it.

use rand_core::Rng;
use serde::{Deserialize, Serialize};

pub use crate::candidate::{Candidate, Factors, Setup};
use crate::job::{Purpose, WorkSpec, is_one, one};
use crate::needs::Needs;
use crate::random::{seeded, shuffle};
use crate::scenario::{Scenario, WorkStage};
use crate::setup::ImageState;
use crate::shard::Shard;
use crate::units::{Bytes, Percent, Scale, Span};

/// Schema version of `plan.toml`.
pub const SCHEMA: u32 = 4;
/// The key that every plan has and no experiment has.
pub const MARK: &str = "schema";

/// Contents of `plan.toml`: everything that determines a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub schema: u32,
    pub name: String,
    /// The question in the author's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub analysis: String,
    /// Resolved: never `auto`. The values from here to `image` are common to the candidates: see [`Plan::setup`].
    pub testbed: String,
    pub size: Bytes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// CPUs of a guest; absent: the testbed's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    pub image: ImageState,
    /// Layers between disks and filesystem, from the disks up, each with all its settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// State of the filesystem before the work, `filled 80%`; absent: fresh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Whether a witness must show that every trial starts with empty caches.
    pub cold: bool,
    /// Number of concurrent clients of each work, unless the work states its own.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub clients: u32,
    pub rounds: Rounds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Span>,
    pub margin: Percent,
    /// The candidate entered twice, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Twice>,
    /// Whether disk-model overhead is measured before the round that allows a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub floor: bool,
    /// Present if a scale reduced the experiment's work more than memory or volume could follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Shortfall>,
    /// Present if the run carries out only a share of the trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Seed of the trial order.
    pub plan_seed: u64,
    /// Determines the workloads' random numbers; together with the round, the same for all filesystems.
    pub workload_seed: u64,
    /// Criteria for a recommendation; without influence on measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
    #[serde(rename = "filesystem")]
    pub candidates: Vec<Candidate>,
    #[serde(rename = "workload")]
    pub workloads: Vec<PlannedWork>,
    /// The trial's stages: each scenario runs with each candidate in each round.
    #[serde(rename = "scenario")]
    pub scenarios: Vec<Scenario>,
}

/// A candidate entered under two labels. Any difference between the two is chance or a fault of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Twice {
    pub of: String,
    pub copy: String,
}

/// Memory and size that the scale of the work would require, if they cannot be so small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shortfall {
    /// Scale of the experiment's work.
    pub by: Scale,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedWork {
    pub label: String,
    /// Number of clients; absent if the plan's number applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    #[serde(flatten)]
    pub work: WorkSpec,
}

/// Number of rounds: fixed, as many as the budget allows with a minimum, or until decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounds {
    Exactly(u32),
    AtLeast(u32),
    /// Rounds until the figures decide, at interim analyses fixed before the first round.
    Auto,
}

impl Default for Rounds {
    fn default() -> Self {
        Rounds::Exactly(0)
    }
}

/// Rounds before the first look of [`Rounds::Auto`].
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

    /// The trials of the first round again, with this purpose.
    pub fn again(&self, purpose: Purpose) -> impl Iterator<Item = Trial<'_>> {
        self.round(1).map(move |trial| Trial { purpose, ..trial })
    }

    /// The order of the filesystems: a shuffle of their indices from (seed, round, scenario).
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

    /// Number of clients of this work in that stage.
    pub fn clients_of(&self, work: &PlannedWork, stage: &WorkStage) -> u32 {
        stage.clients.or(work.clients).unwrap_or(self.clients)
    }

    /// Workload seed of this round, the same for every filesystem.
    pub fn workload_seed(&self, round: u32) -> u64 {
        seeded(&[b"workload", &self.workload_seed.to_le_bytes(), &round.to_le_bytes()]).next_u64() >> 1
    }

    /// Workload seed of this trial: that of its round, unless its purpose is another seed.
    pub fn seed_of(&self, trial: &Trial<'_>) -> u64 {
        let Purpose::Reseeded(n) = trial.purpose else { return self.workload_seed(trial.round) };
        seeded(&[b"reseeded", &self.workload_seed.to_le_bytes(), &[n]]).next_u64() >> 1
    }
}

impl Plan {
    /// Setup of a candidate of this plan.
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

    /// The distinct setups of its candidates, each with the first candidate that has it.
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

    /// The distinct testbeds, as written, in the order of the candidates.
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

    /// Normalises the plan. If every candidate states a value, the first one's becomes the common value. Candidates then drop
    /// values equal to the common one.
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
    /// Number of the round; 0 for an integrity check.
    pub round: u32,
    /// Position of the filesystem in the round's random order, from 1.
    pub order: u32,
    pub candidate: &'a Candidate,
    pub scenario: &'a Scenario,
}

impl Trial<'_> {
    /// `r03/SCENARIO/LABEL`; outside of rounds `integrity/…`, `doubled/…`, `reseeded-2/…`, `corner+-+---+++-+/…`.
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
