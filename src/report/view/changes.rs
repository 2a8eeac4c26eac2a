//! The comparison of two runs, for every format.

use serde::Serialize;

use super::log_axis::LogAxis;
use super::number::ratio;
use super::sentence::{Claim, Sentence};
use crate::schema::finding::Found;

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ChangesView {
    pub title: String,
    /// The first run and the second run.
    pub runs: [RunSaid; 2],
    /// The answer: which candidates are better or worse, by how much, and how sure this is.
    pub answer: Sentence,
    /// The claims of the answer; each is a finding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// Candidates in which several things changed at once, so that a change of figures cannot be attributed to one of these things.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confounded: Vec<String>,
    /// The basis of the answer, and what it cannot exclude.
    pub basis: Vec<String>,
    /// The differences between the runs other than their figures.
    pub differences: Vec<String>,
    pub parts: Vec<Part>,
    /// Figures that one of the runs lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Notes on the runs' files, printed last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Advice how to compare in a single run, which shows more than two separate runs can.
    pub advice: String,
    /// The command for the run that the advice suggests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RunSaid {
    pub folder: String,
    /// The run in words: `quick, begun 2026-11-22T22:10:03Z, 12 rounds`.
    pub said: String,
}

/// One headline metric of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Part {
    pub scenario: String,
    pub metric: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    /// Title of the metric, with its unit.
    pub title: String,
    /// Which direction is better: `higher is better`.
    pub direction: &'static str,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Line {
    pub candidate: String,
    /// The geometric means of the first and the second run as text.
    pub before: String,
    pub after: String,
    /// Ratio of the geometric means, second run ÷ first run.
    pub ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The finding on this candidate; `None` for a control, or with too few rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Found>,
    pub is_control: bool,
    /// The claim that the line makes, which repeats its finding.
    #[serde(skip)]
    pub claim: Option<Claim>,
}

impl Line {
    /// The interval as text: `0.50 to 0.54`.
    pub fn interval(&self) -> String {
        let ends = self.low.zip(self.high);
        ends.map_or_else(String::new, |(low, high)| format!("{} to {}", ratio(low), ratio(high)))
    }

    /// The line as on a terminal, with its claim.
    pub fn said(&self) -> Sentence {
        let Line { candidate, before, after, .. } = self;
        let text = format!(
            "{candidate} {before} {after} {ratio} {interval} {standing}",
            ratio = ratio(self.ratio),
            interval = self.interval(),
            standing = self.standing()
        );
        Sentence::new(text, Vec::from_iter(self.claim.clone()))
    }

    /// The result in a word or two.
    pub fn standing(&self) -> &'static str {
        match self.finding {
            _ if self.is_control => "control",
            Some(Found::Better) => "better",
            Some(Found::Worse) => "worse",
            Some(Found::Equivalent) => "equivalent",
            Some(Found::CannotTell) => "not told apart",
            None => "too few rounds",
        }
    }
}

impl ChangesView {
    pub const DIFFERENCES: &'static str = "Differences between the two runs";
    pub const MORE: &'static str = "Next steps";
    /// The column headings.
    pub const BEFORE: &'static str = "first\nrun";
    pub const AFTER: &'static str = "second\nrun";
    pub const FINDING: &'static str = "finding";
    pub const TIMES: &'static str = "ratio";

    /// One axis for all parts, so that readers can compare the parts by eye.
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

    /// The note under the tables.
    pub fn note(&self) -> String {
        let has_controls = self.parts.iter().any(|part| part.lines.iter().any(|line| line.is_control));
        let beside = match has_controls {
            true => " Except for the controls, each candidate's ratio is divided by the controls' ratio.",
            false => "",
        };
        format!(
            "Figures are geometric means over rounds. The ratio is second run ÷ first run (first ÷ second where lower \
             is better), so a ratio above 1 always means that the second run is better.{beside}"
        )
    }
}
