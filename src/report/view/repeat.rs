//! How to run a plan again.

use serde::Serialize;

use super::number;

/// How to run a plan again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Repeat {
    pub command: String,
    /// Settings that affect the work but that the command line cannot express.
    pub beyond: Vec<String>,
    /// Whether the plan has a name and a question, which the command does not contain.
    pub unnamed: bool,
}

impl Repeat {
    /// A warning if the command does not express the whole plan.
    pub fn warning(&self) -> Option<String> {
        let words = self.unnamed.then(|| "the experiment's name and question".to_owned());
        let beyond: Vec<String> = self.beyond.iter().cloned().chain(words).collect();
        let them = if beyond.len() == 1 && !self.unnamed { "it" } else { "them" };
        let text = |what| {
            format!("A command line cannot express {what}; plan.toml in the run's folder contains {them}.")
        };
        (!beyond.is_empty()).then(|| text(number::list(&beyond)))
    }
}
