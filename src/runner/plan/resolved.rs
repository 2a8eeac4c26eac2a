//! A plan as values: its names are looked up once, and all other code uses the results.
//!
//! ```text
//! candidate ─▶ setup: place, layers, state ─┐
//! workloads ─▶ engines with parameters ─────┼─▶ each scenario laid: every part of its works in its place
//! scenarios ─▶ stages ──────────────────────┘
//! ```
//! Unknown names are errors with a reason, here and only here: no trial is shorter than its plan. The machine is not inspected,
//! so a stored plan can be resolved anywhere.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Deref;

use super::scenarios::{self, KnownScenario, KnownWork, Laid};
use super::shard::Share;
use super::values;
use crate::exit::Failure;
use crate::schema::plan::{Candidate, Plan, Setup, Trial};
use crate::schema::scenario::Scenario;
use crate::states::State;
use crate::storage::layers::Layer;
use crate::testbeds::Place;

/// A plan with everything that its texts name. Dereferences to the plan.
pub struct Resolved<'p> {
    pub plan: &'p Plan,
    /// The trials that a run of this plan carries out.
    pub share: Share,
    works: Vec<KnownWork<'p>>,
    scenarios: Vec<KnownScenario<'p>>,
    setups: Vec<ResolvedSetup<'p>>,
    /// The common state of candidates that state none.
    state: State,
    /// Index of a candidate's setup, by label.
    candidates: HashMap<&'p str, usize>,
    /// Index of a scenario, by label.
    at: HashMap<&'p str, usize>,
}

/// The resolved setup of a plan.
pub struct ResolvedSetup<'p> {
    /// The setup as the plan states it.
    pub stated: Setup<'p>,
    pub place: Place<'p>,
    /// Layers between disks and filesystem, from the disks up.
    pub layers: Vec<Box<dyn Layer>>,
    pub state: State,
    /// Each of the plan's scenarios, starting from this setup's state.
    laid: Vec<Laid<'p>>,
}

impl Deref for Resolved<'_> {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        self.plan
    }
}

impl<'p> Resolved<'p> {
    /// # Errors
    /// States which name of the plan is unknown, or which stage is misplaced, and what to write.
    pub fn of(plan: &'p Plan) -> Result<Self, Failure> {
        let works = plan.workloads.iter().map(|work| KnownWork::of(Cow::Borrowed(work)));
        let works: Vec<KnownWork<'_>> = works.collect::<Result<_, _>>()?;
        let known = plan.scenarios.iter().map(|scenario| scenarios::understood(plan, &works, scenario));
        let scenarios: Vec<KnownScenario<'_>> = known.collect::<Result<_, _>>()?;
        let mut setups: Vec<ResolvedSetup<'_>> = Vec::new();
        let mut candidates = HashMap::new();
        for candidate in &plan.candidates {
            let stated = plan.setup(candidate);
            let known = setups.iter().position(|setup| setup.stated == stated);
            let at = match known {
                Some(at) => at,
                None => {
                    let setup = ResolvedSetup::of(stated, &works, &scenarios);
                    setups.push(setup.map_err(|e| e.of(&candidate.label))?);
                    setups.len() - 1
                }
            };
            candidates.insert(candidate.label.as_str(), at);
        }
        let state = values::state(plan.state.as_deref()).map_err(Failure::usage)?;
        let at = plan.scenarios.iter().enumerate().map(|(at, scenario)| (scenario.label.as_str(), at));
        let share = Share::of(plan, setups.iter().all(|setup| !setup.place.scatters()));
        Ok(Resolved { plan, share, scenarios, setups, state, candidates, at: at.collect(), works })
    }

    /// The setup of a candidate.
    ///
    /// # Panics
    /// If the candidate is of another plan.
    pub fn of_candidate(&self, candidate: &Candidate) -> &ResolvedSetup<'p> {
        let at = self.candidates.get(candidate.label.as_str());
        &self.setups[*at.unwrap_or_else(|| panic!("{} is a candidate of another plan", candidate.label))]
    }

    /// A scenario as carried out, from that candidate's state on.
    ///
    /// # Panics
    /// If candidate or scenario is of another plan.
    pub fn laid(&self, candidate: &Candidate, scenario: &Scenario) -> &Laid<'p> {
        let at = self.at.get(scenario.label.as_str());
        let at = *at.unwrap_or_else(|| panic!("{} is a scenario of another plan", scenario.label));
        &self.of_candidate(candidate).laid[at]
    }

    /// The trial's scenario as carried out.
    pub fn laid_of(&self, trial: &Trial<'_>) -> &Laid<'p> {
        self.laid(trial.candidate, trial.scenario)
    }

    /// The workload of that label.
    pub fn work(&self, label: &str) -> Option<&KnownWork<'p>> {
        self.works.iter().find(|work| work.planned.label == label)
    }

    /// The common state of candidates that state none.
    pub fn common_state(&self) -> &State {
        &self.state
    }

    /// Whether any scenario cuts the power.
    pub fn cuts_power(&self) -> bool {
        self.scenarios.iter().any(KnownScenario::cuts_power)
    }

    /// Whether caches are dropped anywhere, which must be verified.
    pub fn empties_caches(&self) -> bool {
        self.plan.cold || self.scenarios.iter().any(KnownScenario::empties_caches)
    }

    /// Whether any workload copies from a second disk.
    pub fn copies_from_beside(&self) -> bool {
        self.works.iter().any(|work| work.work.needs().source)
    }

    /// Whether any candidate's disk is sampled anew in each round.
    pub fn samples(&self) -> bool {
        self.setups.iter().any(|setup| setup.place.samples())
    }
}

impl<'p> ResolvedSetup<'p> {
    fn of(
        stated: Setup<'p>,
        works: &[KnownWork<'p>],
        scenarios: &[KnownScenario<'p>],
    ) -> Result<Self, Failure> {
        let place = values::asked(stated.testbed).map_err(Failure::usage)?;
        let layers = values::layers(stated.layers).map_err(Failure::usage)?;
        let state = values::state(stated.state).map_err(Failure::usage)?;
        let before = state.works().iter().map(|work| KnownWork::of(Cow::Owned(work.clone())));
        let before: Vec<KnownWork<'p>> = before.collect::<Result<_, _>>()?;
        let laid = scenarios.iter().map(|scenario| scenario.lay(works, &before).map_err(Failure::usage));
        Ok(ResolvedSetup { stated, place, layers, laid: laid.collect::<Result<_, _>>()?, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;

    fn plan() -> Plan {
        let text = "filesystems = ['ext4', 'xfs']\nworkloads = ['postmark-quick', 'coldread-quick']\n\
                    scale = '1/16'\nstate = 'filled 40%'\nlayers = ['crypt']\n";
        Experiment::parse(text, "test").unwrap().plan("vm".into(), 7).unwrap()
    }

    #[test]
    fn a_plan_is_resolved_with_all_that_it_names() {
        let plan = plan();
        let resolved = Resolved::of(&plan).unwrap();
        let setup = resolved.of_candidate(&plan.candidates[1]);
        assert_eq!((setup.place.text(), setup.layers.len()), ("vm", 1));
        assert!((setup.state.leaves() - 0.6).abs() < 1e-9);
        let laid = resolved.laid(&plan.candidates[1], &plan.scenarios[1]);
        assert_eq!((laid.before, laid.works.len()), (1, 2), "the state comes first");
        assert!(!resolved.cuts_power() && resolved.empties_caches() == plan.cold);
    }

    /// Each was a shorter trial, or one on another stack.
    #[test]
    fn what_a_plan_names_and_is_not_there_is_an_error_with_its_reason() {
        let why = |change: &dyn Fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            Resolved::of(&plan).err().expect("it is refused").to_string()
        };
        for (change, said) in [
            (&(|plan: &mut Plan| plan.testbed = "lop".into()) as &dyn Fn(&mut Plan), "did you mean 'loop'?"),
            (&|plan: &mut Plan| plan.layers = vec!["cript".into()], "did you mean 'crypt'?"),
            (&|plan: &mut Plan| plan.state = Some("filed 40%".into()), "did you mean 'filled'?"),
            (
                &|plan: &mut Plan| plan.workloads[0].work.engine = "sh".into(),
                "postmark-quick: this fsderby has no",
            ),
            (
                &|plan: &mut Plan| drop(plan.workloads[0].work.parameters.insert("numbre".into(), 1.into())),
                "numbre",
            ),
            (
                &|plan: &mut Plan| {
                    plan.scenarios[0].stages.push(crate::schema::scenario::Stage::other("remonut", None))
                },
                "remonut",
            ),
            (
                &|plan: &mut Plan| plan.candidates[1].own.state = Some("aged".into()),
                "xfs: the workload is missing; write aged by",
            ),
        ] {
            assert!(why(change).contains(said), "{said}: {}", why(change));
        }
    }
}
