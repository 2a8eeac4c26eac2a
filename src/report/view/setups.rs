//! The differences between the candidates' setups.

use serde::Serialize;

#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Setups {
    /// The factors in which the candidates' setups differ, such as `kernel`; empty if all have one setup.
    pub factors: Vec<&'static str>,
    /// The candidates with their setups, in plan order; empty if all have one setup.
    pub rows: Vec<InSetup>,
    /// The factors that all candidates have in common, with their values.
    pub common: Vec<(&'static str, String)>,
    /// Sentences about comparisons that cannot be made because of these differences.
    pub apart: Vec<String>,
}

/// A candidate with its value of each differing factor.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct InSetup {
    pub filesystem: String,
    pub values: Vec<String>,
}

impl Setups {
    pub const TITLE: &str = "Differences between the candidates";

    pub fn differ(&self) -> bool {
        !self.factors.is_empty()
    }

    /// The column headings: the factors.
    pub fn header(&self) -> impl Iterator<Item = &'static str> {
        [""].into_iter().chain(self.factors.iter().copied())
    }
}
