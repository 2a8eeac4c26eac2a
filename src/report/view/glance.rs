//! The table of a report's opening: each candidate relative to the first of each comparison.

use serde::Serialize;

/// A table with a line for each candidate and a column for each comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Glance {
    pub columns: Vec<Column>,
    pub lines: Vec<Line>,
    /// On a modelled disk, whose times are less certain than its counts: the requests and bytes of each scenario, shown before the
    /// ratios.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<Counts>,
    /// The meaning of the cells, in a sentence or two.
    pub note: String,
}

/// One headline metric of one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Column {
    pub scenario: String,
    pub title: String,
    /// What [`Cell::median`] is: `median of 12`.
    pub median: String,
    /// The meaning of [`Cell::mean`]: `geometric mean of 12`, or `value` of one round.
    #[serde(skip)]
    pub mean: String,
}

/// The requests and bytes that the candidates sent to the disk in one scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Counts {
    pub scenario: String,
    /// What a cell shows: `median of 13`.
    pub of: String,
    /// The headings of the columns: `write requests`, `written to the device, MiB`.
    pub columns: Vec<String>,
    pub lines: Vec<Counted>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Counted {
    pub candidate: String,
    /// Medians, one for each column.
    pub cells: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Line {
    pub candidate: String,
    /// Whether the candidate has weaker durability than others, and therefore no rank.
    pub is_unequal: bool,
    /// One cell for each column.
    pub cells: Vec<Cell>,
}

/// A candidate in one comparison; empty if the candidate did not do the work, or did it in too few rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Cell {
    /// The median with its unit. Tables show the mean, whose order is that of the ratios.
    pub median: String,
    /// The geometric mean with its unit, over the rounds on which the ratio rests.
    #[serde(skip)]
    pub mean: String,
    /// The rank: `1`, `2–3`; empty without findings.
    pub rank: String,
    /// The ratio of geometric means to the column's reference, which has 1.
    pub times: String,
    /// The interval of the ratio: `0.36–0.42`.
    pub interval: String,
    /// Whether the column's other ratios, which have intervals, are relative to this candidate.
    #[serde(skip)]
    pub is_reference: bool,
}

impl Glance {
    pub fn has_ranks(&self) -> bool {
        self.lines.iter().flat_map(|line| &line.cells).any(|cell| !cell.rank.is_empty())
    }
}

impl Cell {
    /// The ratio with its interval: `0.38 (0.36–0.42)`.
    pub fn ratio(&self) -> String {
        if self.interval.is_empty() {
            return self.times.clone();
        }
        format!("{} ({})", self.times, self.interval)
    }

    /// Like [`ratio`](Self::ratio), with the reference marked: `1.00 (reference)` is as wide as a ratio with its interval.
    pub fn marked_ratio(&self) -> String {
        if self.is_reference { format!("{} (reference)", self.times) } else { self.ratio() }
    }
}
