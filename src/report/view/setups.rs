//! In what the setups of the candidates differ.

use serde::Serialize;

#[derive(Clone, Debug, Default, Serialize)]
pub struct Setups {
    /// The factors in which they differ, such as `kernel`; none where all have one setup.
    pub factors: Vec<&'static str>,
    /// In the order of the plan; none where all have one setup.
    pub rows: Vec<InSetup>,
    /// What all have in common: factor and value.
    pub common: Vec<(&'static str, String)>,
    /// What cannot be compared between them, one sentence each.
    pub apart: Vec<String>,
}

/// A candidate, with its value of each factor that differs.
#[derive(Clone, Debug, Serialize)]
pub struct InSetup {
    pub filesystem: String,
    pub values: Vec<String>,
}

impl Setups {
    pub const TITLE: &str = "Differences between the candidates";

    pub fn differ(&self) -> bool {
        !self.factors.is_empty()
    }

    /// Factor by factor, each with its values in the order of the candidates.
    pub fn header(&self) -> impl Iterator<Item = &'static str> {
        [""].into_iter().chain(self.factors.iter().copied())
    }
}
