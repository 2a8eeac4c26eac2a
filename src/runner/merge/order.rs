//! The place of each record in the order of its plan.

use std::collections::HashMap;

use crate::runner::execute::skipped;
use crate::schema::job::Purpose;
use crate::schema::plan::{Plan, Trial};
use crate::schema::reason::Outcome;
use crate::schema::record::Record;

/// Skipped cells, integrity checks, rounds, then extra trials. Two records have one position only if they are attempts at one
/// trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub group: Group,
    pub round: u32,
    pub purpose: Purpose,
    place: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Skipped,
    Check,
    Round,
    Extra,
}

/// The positions of a plan's trials.
pub struct Order<'p> {
    plan: &'p Plan,
    scenarios: HashMap<&'p str, u32>,
    candidates: HashMap<&'p str, u32>,
}

impl<'p> Order<'p> {
    pub fn of(plan: &'p Plan) -> Self {
        let scenarios = plan.scenarios.iter().map(|scenario| scenario.label.as_str()).zip(0..).collect();
        let candidates = plan.candidates.iter().map(|candidate| candidate.label.as_str()).zip(0..).collect();
        Order { plan, scenarios, candidates }
    }

    pub fn position(&self, trial: &Trial<'_>) -> Position {
        let Trial { purpose, round, order, .. } = *trial;
        let (group, place) = match purpose {
            Purpose::Integrity if order == 0 => (Group::Skipped, self.cell(trial)),
            Purpose::Integrity => (Group::Check, self.place(trial)),
            Purpose::Measure => (Group::Round, self.place(trial)),
            _ => (Group::Extra, self.place(trial)),
        };
        Position { group, round, purpose, place }
    }

    /// The number of the trial's cell: candidate and scenario.
    pub fn cell(&self, trial: &Trial<'_>) -> u32 {
        let (scenario, candidate) = (&trial.scenario.label, &trial.candidate.label);
        self.scenarios[scenario.as_str()] * self.candidates.len() as u32 + self.candidates[candidate.as_str()]
    }

    fn place(&self, trial: &Trial<'_>) -> u32 {
        self.scenarios[trial.scenario.label.as_str()] * self.candidates.len() as u32 + trial.order
    }

    /// The trial to which this record belongs; `None` if the plan does not have it.
    pub fn trial(&self, record: &Record) -> Option<Trial<'p>> {
        let scenario = &self.plan.scenarios[*self.scenarios.get(record.scenario.as_str())? as usize];
        let at = *self.candidates.get(record.filesystem.as_str())?;
        let candidate = &self.plan.candidates[at as usize];
        let Record { purpose, round, order, .. } = *record;
        let trial = Trial { purpose, round, order, candidate, scenario };
        if record.outcome == Outcome::Skipped {
            let trial = skipped::trial(trial);
            return (skipped::name(&trial) == record.trial).then_some(trial);
        }
        let first = usize::try_from(order).ok()?.checked_sub(1)?;
        let is_there = self.plan.order(round, &scenario.label).get(first) == Some(&(at as usize));
        let is_round = match purpose {
            Purpose::Integrity => round == 0,
            Purpose::Measure => round > 0,
            _ => round == 1,
        };
        (is_there && is_round && trial.name() == record.trial).then_some(trial)
    }
}
