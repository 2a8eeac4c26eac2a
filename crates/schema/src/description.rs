//! The description of a thing, shared by `fsderby explain`, the report and the manual.

use serde::Serialize;

/// What a kind is, its origin, and what it does *not* measure or promise. Full sentences.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Description {
    /// One sentence: what it is.
    pub what: &'static str,
    /// Author, date, and source of its description.
    pub origin: &'static str,
    /// Conclusions that a reader must not draw.
    pub limits: &'static str,
}
