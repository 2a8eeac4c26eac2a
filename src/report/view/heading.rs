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
    /// What to choose by the stated needs, and how sure that is; empty where none are stated.
    pub choice: Vec<String>,
    /// Which one, by how much, how sure; empty where nothing is compared.
    pub answer: String,
    /// How much was decided, one sentence each.
    pub findings: Vec<String>,
    /// What it lacks; empty with a verdict.
    pub conclusion: String,
    /// What was compared, where, how often.
    pub sentences: Vec<String>,
    /// What must be known before any of it is used, one sentence each.
    pub warnings: Vec<String>,
    /// All of it in a few lines, for a terminal.
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
