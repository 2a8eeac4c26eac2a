//! Candidates relative to the best or the baseline: in one headline metric, or over all.

use serde::Serialize;

use super::log_axis::LogAxis;
use super::number::{grouped, list, ratio};
use super::sentence::Sentence;
use crate::schema::finding::Found;

/// What a ratio is, printed where medians are beside it.
pub const RATIO: &str = "ratio of geometric means";
/// What a ratio is, as the heading of a narrow column.
pub const RATIO_NARROW: &str = "ratio of\ngeometric\nmeans";
/// Marks a candidate with weaker durability.
pub const UNEQUAL: &str = " ‡";
/// The word for metrics that are not amounts: see [`Comparison::times_as`].
pub const GOOD: &str = "good";

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Comparison {
    /// The scenario; empty if the comparison is over all metrics.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    pub title: String,
    /// The word in "times as good as": `good`, or for an amount, of which less is better, `many` or `much`.
    pub times_as: &'static str,
    /// The candidate to which the ratios are relative.
    pub to: String,
    /// Whether the user chose this reference; otherwise it is the best candidate.
    pub is_baseline: bool,
    /// Whether there are too few rounds or samples for findings, so that the order implies no ranks.
    pub is_preliminary: bool,
    /// The number of rounds on which the ratios rest: those in which every compared candidate has a value.
    pub rounds: usize,
    /// The candidates, the best first.
    pub lines: Vec<Line>,
    /// Candidates with too few rounds to be compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Candidates with a count of zero in some round, which has no ratio.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_ratio: Vec<String>,
    /// Candidates with weaker durability: they send no device flush for an fsync while others do, or have flushes disabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unequal: Vec<String>,
    /// The result in a sentence: which candidate is better, by how much; empty with too few rounds for findings.
    pub sentence: Sentence,
}

#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Line {
    pub candidate: String,
    /// The ranks that the findings allow; 0 if not ranked.
    pub best: u32,
    pub worst: u32,
    /// The geometric mean over the rounds on which the ratio rests; `None` in a comparison over all metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The ratio to `to`; for an amount, the ratio of the amounts.
    pub ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The finding on the candidate against `to`. `None` for `to` itself, and in a comparison over all metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Found>,
    /// The line's part of each bracket over candidates that are not told apart.
    #[serde(skip)]
    pub ties: Vec<Tie>,
}

/// A line's part of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    Outside,
    First,
    Middle,
    Last,
}

impl Comparison {
    /// The meaning of the ratios: `times as good as cedarfs`.
    pub fn times(&self) -> String {
        format!("times as {} as {}", self.times_as, self.to)
    }

    /// Whether the compared metric is an amount, of which less is better.
    pub fn is_of_amounts(&self) -> bool {
        self.times_as != GOOD
    }

    /// What [`Line::mean`] is: `geometric mean of 12`, or `value` of one round.
    pub fn mean_of(&self) -> String {
        match self.rounds {
            1 => "value".to_owned(),
            n => format!("geometric mean of {}", grouped(&n.to_string())),
        }
    }

    /// Title of the comparison, with the scenario if there are several: `mailserver, transactions`.
    pub fn about(&self) -> String {
        if self.scenario.is_empty() {
            self.title.clone()
        } else {
            format!("{}: {}", self.scenario, self.title)
        }
    }

    /// A logarithmic axis for all ratios and intervals of the comparison.
    pub fn axis(&self) -> Option<LogAxis> {
        let ends = |line: &Line| [Some(line.ratio), line.low, line.high];
        LogAxis::over(self.lines.iter().flat_map(ends).flatten().chain([1.0]))
    }

    pub fn line(&self, candidate: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.candidate == candidate)
    }

    /// Whether lines have ranks: only with enough rounds, and not over all metrics.
    pub fn has_ranks(&self) -> bool {
        !self.is_preliminary && !self.metric.is_empty()
    }

    /// The meaning of the marks beside the ratios, and the candidates left out; may be empty.
    pub fn marks(&self) -> String {
        [self.legend(), self.left()].concat().join("; ")
    }

    /// The meaning of the marks: `? not told apart from the candidate with ratio 1.00`
    pub fn legend(&self) -> Vec<String> {
        let has = |found| !self.is_preliminary && self.lines.iter().any(|line| line.finding == Some(found));
        let open = format!(
            "? not told apart from the candidate with ratio 1.00{despite}",
            despite = self.despite_interval()
        );
        let alike = "≈ equivalent to the candidate with ratio 1.00, within the margin".to_owned();
        let said = [(Found::CannotTell, open), (Found::Equivalent, alike)];
        let mut said: Vec<String> =
            said.into_iter().filter(|(found, _)| has(*found)).map(|(_, said)| said).collect();
        if self.lines.iter().any(|line| self.is_unequal(&line.candidate)) {
            said.push("‡ weaker durability, so not ranked".to_owned());
        }
        said
    }

    /// Sentences about the candidates that did the work but are not compared.
    pub fn left(&self) -> Vec<String> {
        let mut said = Vec::new();
        if !self.left_out.is_empty() {
            said.push(format!(
                "not compared, because of too few rounds: {candidates}",
                candidates = list(&self.left_out)
            ));
        }
        if !self.without_ratio.is_empty() {
            said.push(format!(
                "not compared, because some ratios are missing: {candidates}",
                candidates = list(&self.without_ratio)
            ));
        }
        said
    }

    /// A note if an interval over samples excludes 1 although seeds, CPU cost or the worst corner leave the pair open.
    fn despite_interval(&self) -> &'static str {
        let excludes_one =
            |line: &Line| line.low.is_some_and(|low| low > 1.0) || line.high.is_some_and(|high| high < 1.0);
        let is_open = |line: &&Line| line.finding == Some(Found::CannotTell);
        if self.lines.iter().filter(is_open).any(excludes_one) {
            ", although the interval over the samples excludes 1; the findings give the reason"
        } else {
            ""
        }
    }

    /// The number of ranked candidates.
    pub fn ranked(&self) -> usize {
        match self.lines.iter().filter(|line| !self.is_unequal(&line.candidate)).count() {
            0 => self.lines.len(),
            full => full,
        }
    }

    /// The mark after the name of a candidate with weaker durability.
    pub fn dagger(&self, candidate: &str) -> &'static str {
        if self.is_unequal(candidate) { UNEQUAL } else { "" }
    }

    pub fn is_unequal(&self, candidate: &str) -> bool {
        self.unequal.iter().any(|label| label == candidate)
    }

    pub fn has_intervals(&self) -> bool {
        self.lines.iter().any(|line| line.low.is_some())
    }

    /// Whether there are any brackets.
    pub fn has_ties(&self) -> bool {
        self.lines.iter().any(|line| !line.ties.is_empty())
    }
}

impl Line {
    /// The rank: `2`, or `2–4` if the findings leave the rank open; empty if not ranked.
    pub fn rank(&self) -> String {
        if self.best == 0 {
            String::new()
        } else if self.best == self.worst {
            self.best.to_string()
        } else {
            format!("{}–{}", self.best, self.worst)
        }
    }

    /// The interval as text: `0.67 – 0.73`; empty without an interval.
    pub fn interval(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} – {}", ratio(low), ratio(high)),
            _ => String::new(),
        }
    }

    pub fn mark(&self) -> &'static str {
        match self.finding {
            Some(Found::CannotTell) => "?",
            Some(Found::Equivalent) => "≈",
            _ => "",
        }
    }

    /// The mark in words.
    pub fn standing(&self) -> &'static str {
        match self.finding {
            Some(Found::CannotTell) => "not told apart",
            Some(Found::Equivalent) => "equivalent",
            _ => "",
        }
    }
}

impl Tie {
    /// The bracket's CSS class in the HTML report.
    pub fn class(self) -> &'static str {
        match self {
            Tie::Outside => "outside",
            Tie::First => "first",
            Tie::Middle => "middle",
            Tie::Last => "last",
        }
    }

    /// The character on a terminal.
    pub fn drawn(self) -> char {
        match self {
            Tie::Outside => ' ',
            Tie::First => '┐',
            Tie::Middle => '│',
            Tie::Last => '┘',
        }
    }
}
