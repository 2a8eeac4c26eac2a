//! The validity checks of all trials, alike ones in one line.

use super::number;
use crate::schema::reason::Held;

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
    pub name: String,
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
            Held::Yes => "held",
            Held::No => "did not hold",
            Held::Label => "held, but labelled",
        }
    }

    pub fn asked(&self) -> String {
        example(&self.asked)
    }

    pub fn seen(&self) -> String {
        example(&self.seen)
    }

    /// `stored in 2 of 6 trials: asked for 2 GiB in full, seen e.g. 1.2 GiB`
    pub fn said(&self) -> String {
        let of = number::count(self.of, "trial");
        format!("{} in {} of {of}: asked for {}, seen {}", self.name, self.trials, self.asked(), self.seen())
    }
}

fn example(texts: &[String]) -> String {
    match texts {
        [] => String::new(),
        [only] => only.clone(),
        [first, ..] => format!("e.g. {first}"),
    }
}
