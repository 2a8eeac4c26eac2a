//! The validity checks of all trials; checks with the same outcome are in one line.

use super::number;
use crate::schema::reason::{Condition, Held, in_words};

pub struct ValidityChecks {
    /// Validity checks that did not hold, or that held with a note.
    pub notable: Vec<ValidityLine>,
    pub held: Vec<ValidityLine>,
}

/// A validity check with the same outcome over several trials.
#[derive(Clone)]
pub struct ValidityLine {
    pub workload: String,
    pub filesystems: Vec<String>,
    pub name: Condition,
    /// The requirements of the trials, each once, in order of first appearance.
    pub asked: Vec<String>,
    pub seen: Vec<String>,
    pub held: Held,
    /// The number of trials with this outcome, and of all trials with this validity check.
    pub trials: usize,
    pub of: usize,
}

impl ValidityLine {
    pub fn is_label(&self) -> bool {
        self.held == Held::Label
    }

    pub fn outcome(&self) -> &'static str {
        match self.held {
            Held::Yes => "passed",
            Held::No => "failed",
            Held::Label => "noted",
        }
    }

    pub fn asked(&self) -> String {
        example(&self.asked)
    }

    pub fn seen(&self) -> String {
        example(&self.seen)
    }

    /// The check in words: `stored (2 of 6 trials): e.g. 1.2 GiB; expected: 2 GiB in full`.
    pub fn said(&self) -> String {
        let of = number::count(self.of, "trial");
        format!(
            "{check} ({trials} of {of}): {seen}; expected: {expected}",
            check = self.name.title(),
            trials = self.trials,
            seen = self.seen(),
            expected = self.asked()
        )
    }
}

fn example(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [only] => in_words(only),
        [first, ..] => format!("e.g. {}", in_words(first)),
    }
}
