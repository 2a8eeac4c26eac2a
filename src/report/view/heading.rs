//! The heading of a report.

use serde::Serialize;

use super::glance::Glance;
use super::repeat::Repeat;
use super::sentence::{Claim, Sentence};

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Heading {
    pub name: String,
    /// The question of the experiment's author; may be empty.
    pub question: String,
    pub standing: Standing,
    /// How conclusive the run is, in a few words.
    pub title: String,
    /// The recommendation by the needs of the plan, and how sure it is; empty without needs.
    pub choice: Vec<Sentence>,
    /// Which compared mount options the work cannot test; then which candidate is better, by how much, if something is compared
    /// and the rounds are enough for findings.
    pub answer: Vec<Sentence>,
    /// The claims of the answer; each is a finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// How sure the answer is, and what it rests on: rounds or samples, testbed, kernel, disk.
    pub sure: Vec<String>,
    /// Candidates with weaker durability, which are not ranked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub durability: Vec<String>,
    /// Each candidate in each comparison; `None` if nothing is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Glance>,
    /// Commands that show more.
    pub more: String,
    /// The number of decided comparisons, and what affects the figures, one sentence each.
    pub findings: Vec<Sentence>,
    /// What is missing for a verdict; empty if there is a verdict.
    pub conclusion: String,
    /// Sentences that say what was compared, on which setup, and how often.
    pub sentences: Vec<String>,
    /// Warnings to read before using the figures, one sentence each.
    pub warnings: Vec<String>,
    pub next: Option<Next>,
    pub repeat: Repeat,
}

/// How conclusive the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// No trial counts.
    Nothing,
    /// Too few complete rounds for a verdict.
    Preliminary,
    /// There are findings, but they describe only the beginning of the work, because the work of every trial was too short.
    #[serde(rename = "preliminary")]
    #[schemars(skip)]
    Short,
    /// The A/A check failed: a candidate differs from its copy.
    Void,
    /// Enough rounds, or samples of a modelled disk, for findings.
    Verdict,
    /// Medians and ranges; nothing is compared.
    Medians,
}

/// The command that adds the missing rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Next {
    pub command: String,
    /// Expected minutes, rounded up; `None` if no trial was timed.
    pub minutes: Option<u64>,
}

impl Standing {
    pub fn has_findings(self) -> bool {
        matches!(self, Standing::Verdict | Standing::Short)
    }

    /// Whether a recommendation by needs may be made: not with fewer rounds than a verdict needs.
    pub fn may_recommend(self) -> bool {
        matches!(self, Standing::Verdict | Standing::Short | Standing::Medians)
    }

    pub fn is_preliminary(self) -> bool {
        matches!(self, Standing::Preliminary | Standing::Short)
    }
}

impl Heading {
    /// The first sentence of the question, without the explanation that follows.
    pub fn asked(&self) -> &str {
        first_sentence(&self.question)
    }
}

/// The first sentence of a text. The full stop of an initial does not end a sentence. A text without an end of sentence is returned
/// whole.
pub fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(['.', '?', '!']).map(|(at, _)| at + 1);
    let mut ends = ends.filter(|end| text[*end..].starts_with(char::is_whitespace));
    ends.find(|end| !ends_with_initial(&text[..*end])).map_or(text, |end| &text[..end])
}

/// Whether a text ends with an initial: `… of M.`.
fn ends_with_initial(text: &str) -> bool {
    let mut last = text.rsplit(char::is_whitespace).next().unwrap_or_default().chars();
    last.next().is_some_and(char::is_uppercase) && last.as_str() == "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_of_a_text() {
        assert_eq!(first_sentence("Which one? The other.\n"), "Which one?");
        assert_eq!(first_sentence("At 1.5 GiB it\nends.\nMore."), "At 1.5 GiB it\nends.");
        assert_eq!(
            first_sentence("Who wins the \"Provão!\" of M. Dölle? Nobody."),
            "Who wins the \"Provão!\" of M. Dölle?"
        );
        assert_eq!(first_sentence("no end"), "no end");
    }
}
