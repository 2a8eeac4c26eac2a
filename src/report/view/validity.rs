//! The validity checks of all trials, alike ones in one line.

use super::number;
use crate::schema::reason::{Condition, Held};

pub struct ValidityChecks {
    /// Did not hold, or held with a label.
    pub notable: Vec<ValidityLine>,
    pub held: Vec<ValidityLine>,
}

/// A validity check with the same outcome over several trials.
#[derive(Clone)]
pub struct ValidityLine {
    pub workload: String,
    pub filesystems: Vec<String>,
    pub name: Condition,
    /// Each once, in order.
    pub asked: Vec<String>,
    pub seen: Vec<String>,
    pub held: Held,
    /// With this outcome, of so many that have the validity check.
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

    /// `stored (2 of 6 trials): expected 2 GiB in full, found e.g. 1.2 GiB`
    pub fn said(&self) -> String {
        let of = number::count(self.of, "trial");
        format!(
            "{} ({} of {of}): expected {}, found {}",
            self.name.title(),
            self.trials,
            self.asked(),
            self.seen()
        )
    }
}

fn example(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [only] => only.clone(),
        [first, ..] => format!("e.g. {first}"),
    }
}
