//! How to run a plan again.

use serde::Serialize;

use super::number;

/// How to run a plan again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repeat {
    pub command: String,
    /// What decides the work, and no command line can say it.
    pub beyond: Vec<String>,
    /// Whether the plan has a name and a question of its own, which the command leaves out.
    pub unnamed: bool,
}

impl Repeat {
    /// A sentence, where the command alone is not the whole plan.
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
