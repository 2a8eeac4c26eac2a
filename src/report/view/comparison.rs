//! The candidates beside the best of them, or beside the baseline: in one headline metric, or over all.

use serde::Serialize;

use super::log_axis::LogAxis;
use super::number::{list, ratio};
use super::sentence::Sentence;
use crate::schema::finding::Found;

/// What the ratios are, beside medians.
pub const RATIO: &str = "ratio of geometric means";
/// The same over a narrow column.
pub const RATIO_NARROW: &str = "ratio of\ngeometric\nmeans";
/// Marks one that promises less.
pub const UNEQUAL: &str = " ‡";
/// See [`Comparison::times_as`].
pub const GOOD: &str = "good";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Empty over all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scenario: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dimensions: String,
    pub title: String,
    /// What ratios are: how many times as `good`, or of an amount of which less is better how many times as `many`, as `much`.
    pub times_as: &'static str,
    /// Whom all are compared with.
    pub to: String,
    /// Whether that one was asked for, and is not simply the best.
    pub is_baseline: bool,
    /// Whether there are too few rounds or samples for findings, so that the order says nothing of ranks.
    pub is_preliminary: bool,
    /// The best first.
    pub lines: Vec<Line>,
    /// Those that did the work in too few rounds to be compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Those that have none of it in some round, which has no ratio to others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_ratio: Vec<String>,
    /// Those that send the device no flush for an fsync where others do, or were told not to: they promise less.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unequal: Vec<String>,
    /// Which one, by how much; empty while there are too few rounds for findings.
    pub sentence: Sentence,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub candidate: String,
    /// The ranks that the findings leave it; 0 of one that is not ranked beside the others.
    pub best: u32,
    pub worst: u32,
    /// How many times as good as `to`; of an amount, how many times as much.
    pub ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Beside `to`. None for `to` itself, and none over all, which is no finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finding: Option<Found>,
    /// Its part of each bracket over candidates that are not told apart.
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
    /// `times as good as cedarfs`
    pub fn times(&self) -> String {
        format!("times as {} as {}", self.times_as, self.to)
    }

    /// Whether it is of an amount of which less is better.
    pub fn is_of_amounts(&self) -> bool {
        self.times_as != GOOD
    }

    /// Where it is, for who reads of several: `mailserver, transactions`.
    pub fn about(&self) -> String {
        if self.scenario.is_empty() {
            self.title.clone()
        } else {
            format!("{}: {}", self.scenario, self.title)
        }
    }

    /// On which all of it can be drawn.
    pub fn axis(&self) -> Option<LogAxis> {
        let ends = |line: &Line| [Some(line.ratio), line.low, line.high];
        LogAxis::over(self.lines.iter().flat_map(ends).flatten().chain([1.0]))
    }

    pub fn line(&self, candidate: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.candidate == candidate)
    }

    /// Whether lines have ranks: neither before there are rounds enough nor over all metrics, where nothing is a finding.
    pub fn has_ranks(&self) -> bool {
        !self.is_preliminary && !self.metric.is_empty()
    }

    /// What the marks beside its ratios mean, and who is not among them; may be empty.
    pub fn marks(&self) -> String {
        [self.legend(), self.left()].concat().join("; ")
    }

    /// What the marks mean: `? not told apart from alderfs`
    pub fn legend(&self) -> Vec<String> {
        let has = |found| !self.is_preliminary && self.lines.iter().any(|line| line.finding == Some(found));
        let open = format!("? not told apart from {}{}", self.to, self.despite_interval());
        let alike = format!("≈ equivalent to {} within the margin", self.to);
        let said = [(Found::CannotTell, open), (Found::Equivalent, alike)];
        let mut said: Vec<String> =
            said.into_iter().filter(|(found, _)| has(*found)).map(|(_, said)| said).collect();
        if self.lines.iter().any(|line| self.is_unequal(&line.candidate)) {
            said.push("‡ weaker durability, not ranked".to_owned());
        }
        said
    }

    /// Who did the work and is not among them.
    pub fn left(&self) -> Vec<String> {
        let mut said = Vec::new();
        if !self.left_out.is_empty() {
            said.push(format!("not compared, because of too few rounds: {}", list(&self.left_out)));
        }
        if !self.without_ratio.is_empty() {
            said.push(format!(
                "not compared, because some ratios are missing: {}",
                list(&self.without_ratio)
            ));
        }
        said
    }

    /// An interval over samples may exclude 1 where chance, the CPU or the worst corner leave it open.
    fn despite_interval(&self) -> &'static str {
        let excludes_one =
            |line: &Line| line.low.is_some_and(|low| low > 1.0) || line.high.is_some_and(|high| high < 1.0);
        let is_open = |line: &&Line| line.finding == Some(Found::CannotTell);
        if self.lines.iter().filter(is_open).any(excludes_one) {
            ", although the samples' interval excludes 1; the findings give the reason"
        } else {
            ""
        }
    }

    /// How many of its candidates are ranked beside each other.
    pub fn ranked(&self) -> usize {
        match self.lines.iter().filter(|line| !self.is_unequal(&line.candidate)).count() {
            0 => self.lines.len(),
            full => full,
        }
    }

    /// Behind the name of one that promises less.
    pub fn dagger(&self, candidate: &str) -> &'static str {
        if self.is_unequal(candidate) { UNEQUAL } else { "" }
    }

    pub fn is_unequal(&self, candidate: &str) -> bool {
        self.unequal.iter().any(|label| label == candidate)
    }

    pub fn has_intervals(&self) -> bool {
        self.lines.iter().any(|line| line.low.is_some())
    }

    /// Whether any bracket is drawn.
    pub fn has_ties(&self) -> bool {
        self.lines.iter().any(|line| !line.ties.is_empty())
    }
}

impl Line {
    /// `2`, or `2–4` where the findings leave it open; empty where it is not ranked.
    pub fn rank(&self) -> String {
        if self.best == 0 {
            String::new()
        } else if self.best == self.worst {
            self.best.to_string()
        } else {
            format!("{}–{}", self.best, self.worst)
        }
    }

    /// `0.67 – 0.73`; empty without an interval.
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
    /// As a class of the page's style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Tie::Outside => "outside",
            Tie::First => "first",
            Tie::Middle => "middle",
            Tie::Last => "last",
        }
    }

    /// As a terminal draws it.
    pub fn drawn(self) -> char {
        match self {
            Tie::Outside => ' ',
            Tie::First => '┐',
            Tie::Middle => '│',
            Tie::Last => '┘',
        }
    }
}
