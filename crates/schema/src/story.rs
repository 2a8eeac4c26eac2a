//! The one text about a thing, behind `fsderby explain`, the report and the manual.

use serde::Serialize;

/// What a kind is, where it comes from and what it does *not* measure or promise. Full sentences.
#[derive(Clone, Debug, Serialize)]
pub struct Story {
    /// One sentence: what it is.
    pub what: &'static str,
    /// Who made it, when, and where its description stands.
    pub origin: &'static str,
    /// What a reader must not conclude from it.
    pub limits: &'static str,
}
