//! What a report says first.

use serde::Serialize;

use super::glance::Glance;
use super::repeat::Repeat;
use super::sentence::{Claim, Sentence};

#[derive(Clone, Debug, Serialize)]
pub struct Heading {
    pub name: String,
    /// The question, as the experiment's author put it; may be empty.
    pub question: String,
    pub standing: Standing,
    /// The standing in a few words.
    pub title: &'static str,
    /// What to choose by the stated needs, and how sure that is; empty where none are stated.
    pub choice: Vec<Sentence>,
    /// Which one, by how much; empty where nothing is compared or too little was done for findings.
    pub answer: Vec<Sentence>,
    /// What the answer claims, each claim a finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// How sure, and on what: rounds or samples, testbed, kernel, disk.
    pub sure: Vec<String>,
    /// Who promises less than others and is therefore not ranked beside them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub durability: Vec<String>,
    /// Each candidate in each comparison; absent where nothing is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<Glance>,
    /// Commands that show more.
    pub more: String,
    /// How much was decided, and what moved the figures, one sentence each.
    pub findings: Vec<Sentence>,
    /// What it lacks; empty with a verdict.
    pub conclusion: String,
    /// What was compared, where, how often.
    pub sentences: Vec<String>,
    /// What must be known before any of it is used, one sentence each.
    pub warnings: Vec<String>,
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
    /// There are findings, but no trial did work for long enough to stand for more than its beginning.
    #[serde(rename = "preliminary")]
    Short,
    /// What entered twice differs from itself.
    Void,
    /// Enough rounds, or samples of a modelled disk, for findings.
    Verdict,
    /// Medians and ranges, where nothing is compared.
    Medians,
}

/// What brings the rounds that are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Next {
    pub command: String,
    /// How long it will take, rounded up; absent where no trial has told.
    pub minutes: Option<u64>,
}

impl Standing {
    pub fn has_findings(self) -> bool {
        matches!(self, Standing::Verdict | Standing::Short)
    }

    pub fn is_preliminary(self) -> bool {
        matches!(self, Standing::Preliminary | Standing::Short)
    }
}

impl Heading {
    /// The question without what explains it.
    pub fn asked(&self) -> &str {
        first_sentence(&self.question)
    }
}

/// Up to a mark that ends a sentence, which the full stop of an initial does not; the whole text where there is none.
pub fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(['.', '?', '!']).map(|(at, _)| at + 1);
    let mut ends = ends.filter(|end| text[*end..].starts_with(char::is_whitespace));
    ends.find(|end| !ends_with_initial(&text[..*end])).map_or(text, |end| &text[..end])
}

/// `… of M.`
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
