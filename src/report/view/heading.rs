//! What a report says first.

use serde::Serialize;

use super::repeat::Repeat;

#[derive(Clone, Debug, Serialize)]
pub struct Heading {
    pub name: String,
    /// The question, as the experiment's author put it; may be empty.
    pub question: String,
    pub standing: Standing,
    /// The standing in a few words.
    pub title: &'static str,
    /// What was compared, where, how often, and what may be concluded.
    pub sentences: Vec<String>,
    /// The same in a few lines, for a terminal.
    #[serde(skip)]
    pub brief: Vec<String>,
    pub next: Option<Next>,
    pub repeat: Repeat,
}

/// How much the run carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// No trial is counted.
    Nothing,
    /// Too few complete rounds for a verdict.
    Preliminary,
    /// Enough samples of a modelled disk for findings.
    Verdict,
    /// Enough rounds for medians and ranges; findings are the verdict's.
    Medians,
}

/// What brings the rounds that are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Next {
    pub command: String,
    /// How long it will take, rounded up; absent where no trial has told.
    pub minutes: Option<u64>,
}
