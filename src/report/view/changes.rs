//! A second run beside a first one, as every format shows it.

use serde::Serialize;

use super::log_axis::LogAxis;
use super::number::ratio;
use super::sentence::{Claim, Sentence};
use crate::schema::finding::Found;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangesView {
    pub title: String,
    /// The first run and the second one.
    pub runs: [RunSaid; 2],
    /// What is better, what is worse, by how much, how sure.
    pub answer: Sentence,
    /// What the answer claims, each claim a finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// What that rests on, and what it cannot exclude.
    pub basis: Vec<String>,
    /// In what the two runs differ beside their figures.
    pub differences: Vec<String>,
    pub parts: Vec<Part>,
    /// What one of the runs has no figures of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// How one learns more than two runs can say.
    pub advice: String,
    /// A command that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSaid {
    pub folder: String,
    /// `quick, begun 2026-11-22T22:10:03Z, 12 rounds`
    pub said: String,
}

/// One headline metric of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    pub scenario: String,
    pub metric: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    /// With its unit.
    pub title: String,
    /// `higher is better`
    pub direction: &'static str,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub candidate: String,
    /// Medians, as they are written.
    pub before: String,
    pub after: String,
    /// Of geometric means.
    pub ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// `None` for a control, and where there are too few rounds for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Found>,
    pub is_control: bool,
    /// What the line says by its finding.
    #[serde(skip)]
    pub claim: Option<Claim>,
}

impl Line {
    /// `0.50 to 0.54`
    pub fn interval(&self) -> String {
        let ends = self.low.zip(self.high);
        ends.map_or_else(String::new, |(low, high)| format!("{} to {}", ratio(low), ratio(high)))
    }

    /// The line as a terminal has it, with its claim.
    pub fn said(&self) -> Sentence {
        let Line { candidate, before, after, .. } = self;
        let text = format!(
            "{candidate} {before} {after} {} {} {}",
            ratio(self.ratio),
            self.interval(),
            self.standing()
        );
        Sentence::new(text, Vec::from_iter(self.claim.clone()))
    }

    /// What may be said of it, in a word or two.
    pub fn standing(&self) -> &'static str {
        match self.finding {
            _ if self.is_control => "control",
            Some(Found::Better) => "better",
            Some(Found::Worse) => "worse",
            Some(Found::Equivalent) => "equivalent",
            Some(Found::CannotTell) => "cannot tell",
            None => "too few rounds",
        }
    }
}

impl ChangesView {
    pub const DIFFERENCES: &'static str = "Differences between the two runs";
    pub const MORE: &'static str = "Next steps";
    /// What the columns are.
    pub const BEFORE: &'static str = "before,\nmedian";
    pub const AFTER: &'static str = "after,\nmedian";
    pub const TIMES: &'static str = "ratio of\ngeom. means";

    /// One for all parts, so that they can be compared by eye.
    pub fn axis(&self) -> Option<LogAxis> {
        let ends = |line: &Line| [Some(line.ratio), line.low, line.high];
        let lines = self.parts.iter().flat_map(|part| &part.lines);
        LogAxis::over(lines.flat_map(ends).flatten().chain([1.0]))
    }

    /// Every sentence that may claim an order of the two runs.
    pub fn claiming(&self) -> impl Iterator<Item = Sentence> + '_ {
        let lines = self.parts.iter().flat_map(|part| &part.lines).map(Line::said);
        std::iter::once(self.answer.clone()).chain(lines)
    }

    /// What stands under the tables.
    pub fn note(&self) -> String {
        let has_controls = self.parts.iter().any(|part| part.lines.iter().any(|line| line.is_control));
        let beside = match has_controls {
            true => " Divided by the controls' ratio; the control itself is not divided.",
            false => "",
        };
        format!(
            "The ratio is the second run's geometric mean over rounds relative to the first run's, oriented so \
             that above 1 is better for every metric; it is not the ratio of the two medians.{beside}"
        )
    }
}
