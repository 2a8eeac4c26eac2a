//! The testbeds of a plan; each candidate may have another one.

use std::path::Path;

use super::{Missing, Start, Testbed, parse, start_from};
use crate::schema::plan::{Candidate, Plan};
use crate::schema::setup::ClockKind;

/// Each testbed that a plan names, created once.
pub struct Made(Vec<(String, Box<dyn Testbed>)>);

impl Made {
    /// # Errors
    /// States what to write instead of a wrong text, and for which candidate if there are several.
    pub fn of(plan: &Plan) -> Result<Self, String> {
        let several = plan.testbeds().len() > 1;
        let mut made = Vec::new();
        for text in plan.testbeds() {
            let whose = plan.candidates.iter().find(|c| several && plan.setup(c).testbed == text);
            let fault = |e: String| whose.map_or(e.clone(), |candidate| format!("{}: {e}", candidate.label));
            made.push((text.to_owned(), parse(text).map_err(fault)?));
        }
        Ok(Made(made))
    }

    /// Makes all guests use this program as agent.
    pub fn take_agent(&mut self, agent: &Path) -> Result<(), Missing> {
        self.0.iter_mut().try_for_each(|(_, testbed)| start_from(&mut **testbed, Start::Agent(agent)))
    }

    /// Makes each trial make its filesystem's initial state itself.
    pub fn start_from_scratch(&mut self) -> Result<(), Missing> {
        self.0.iter_mut().try_for_each(|(_, testbed)| start_from(&mut **testbed, Start::Scratch))
    }

    /// The testbed of this text in the plan.
    pub fn named_mut(&mut self, text: &str) -> Option<&mut (dyn Testbed + 'static)> {
        self.0.iter_mut().find(|(name, _)| name == text).map(|(_, testbed)| &mut **testbed)
    }

    pub fn testbeds(&self) -> Testbeds<'_> {
        Testbeds(self.0.iter().map(|(text, testbed)| (text.clone(), &**testbed)).collect())
    }
}

/// The testbeds of a plan, by the plan's texts.
#[derive(Clone)]
pub struct Testbeds<'t>(Vec<(String, &'t dyn Testbed)>);

impl<'t> Testbeds<'t> {
    /// The testbeds of a plan that has a single testbed.
    pub fn one(testbed: &'t dyn Testbed) -> Self {
        Testbeds::all_of([testbed])
    }

    /// The testbeds with these names.
    pub fn all_of(testbeds: impl IntoIterator<Item = &'t dyn Testbed>) -> Self {
        Testbeds(testbeds.into_iter().map(|testbed| (testbed.name(), testbed)).collect())
    }

    /// The testbed of this candidate.
    ///
    /// # Panics
    /// If the plan is not that of these testbeds.
    pub fn of(&self, plan: &Plan, candidate: &Candidate) -> &'t dyn Testbed {
        let text = plan.setup(candidate).testbed;
        self.named(text)
            .unwrap_or_else(|| panic!("the testbed {text} of {} was not prepared", candidate.label))
    }

    /// The testbed of this text in the plan.
    pub fn named(&self, text: &str) -> Option<&'t dyn Testbed> {
        self.0.iter().find(|(name, _)| name == text).map(|(_, testbed)| *testbed)
    }

    pub fn each(&self) -> impl Iterator<Item = &'t dyn Testbed> {
        self.0.iter().map(|(_, testbed)| *testbed)
    }

    /// Whether parallel trials cannot disturb each other.
    pub fn are_all_virtual(&self) -> bool {
        self.each().all(|testbed| testbed.traits().clock == ClockKind::Virtual)
    }
}
