//! A paper's figures beside the run's.

use fsderby_stats::agreement;
use serde::Serialize;

use super::number::Scale;
use crate::papers::{Paper, Table};

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Beside {
    pub paper: Paper,
    /// The tables, in the paper's order.
    pub tables: Vec<Compared>,
    /// The paper's setup, and if the run's figures are missing, the reason.
    pub sentences: Vec<String>,
    /// The agreement over all of the paper's tables for which the run has figures. Only the last of these tables has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
}

/// How many pairs of filesystems have the same order in the run as in the paper, over all tables.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Agreement {
    /// Number of pairs in the paper's order, of pairs in the opposite order, and of pairs that differ by at most the margin in
    /// the paper or in this run.
    pub same: usize,
    pub opposite: usize,
    pub tied: usize,
    /// The share of all permutations of the filesystems that agree with the paper at least as well as this run; `None` with
    /// too many filesystems.
    pub p: Option<f64>,
}

impl From<agreement::Agreement> for Agreement {
    fn from(agreement::Agreement { same, opposite, tied, p }: agreement::Agreement) -> Self {
        Agreement { same, opposite, tied, p }
    }
}

/// A table of the paper for exactly this work, beside the run's figures.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Compared {
    pub table: Table,
    /// fsderby's names of the published metrics.
    #[serde(skip)]
    pub titles: Vec<String>,
    /// The filesystems: first the run's filesystems that the paper has too, in plan order; then those that only the paper has.
    pub lines: Vec<Line>,
    /// Whether the run's figures are averages, as in the paper, and not medians.
    pub averages: bool,
    /// Whether the run has figures for this table.
    #[serde(skip)]
    pub is_measured: bool,
    /// Sentences on the order of the filesystems in the paper and in this run.
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Line {
    /// The filesystem's label in the run, or the kind if the run did not have it.
    pub filesystem: String,
    pub kind: String,
    /// One figure for each of the published metrics.
    pub figures: Vec<Figure>,
}

/// A published figure and the run's figure, both in the published unit.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Figure {
    pub published: f64,
    /// The run's median, or average.
    pub here: Option<f64>,
    /// The run's figure ÷ the published figure.
    pub ratio: Option<f64>,
    /// Number of trials.
    pub n: usize,
}

/// The content for every format, in words.
pub struct Shown {
    pub columns: Vec<Column>,
    pub lines: Vec<(String, Vec<String>)>,
}

pub struct Column {
    /// The metric's title: `read`.
    pub metric: String,
    /// What the column shows: `published`, `here`, or `here ÷`.
    pub what: &'static str,
    /// The second line of the heading: the unit, or `published` below `here ÷`.
    pub under: String,
}

impl Beside {
    pub const TITLE: &'static str = "Comparison with the published figures";

    /// The paper in a line: `A. Author, "Filesystems", 2008.`
    pub fn caption(&self) -> String {
        let Paper { title, year, .. } = &self.paper;
        format!("{title}, {year}.")
    }
}

impl Compared {
    /// The heading of the table: `Tables 3 and 4; here the medians of 5 trials each.`
    pub fn caption(&self) -> String {
        let n = || self.lines.iter().flat_map(|l| &l.figures).map(|f| f.n).filter(|n| *n > 0);
        let what = if self.averages { "averages" } else { "medians" };
        let here = match (n().min(), n().max()) {
            (Some(1), Some(1)) => "; in this run, one trial each".to_owned(),
            (Some(least), Some(most)) if least == most => {
                format!("; in this run, the {what} of {most} trials each")
            }
            (Some(least), Some(most)) => {
                format!("; in this run, the {what} of {least} to {most} trials each")
            }
            _ => String::new(),
        };
        let (first, rest) =
            self.table.place.split_at(self.table.place.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}{here}.", first.to_uppercase())
    }

    /// The exact definition of the compared figures.
    pub fn note(&self) -> String {
        self.table.note.split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// One table of all metrics.
    pub fn shown(&self) -> Shown {
        self.table(0..self.table.metrics.len())
    }

    /// A table for each metric, if a single one is too wide.
    pub fn apart(&self) -> Vec<Shown> {
        (0..self.table.metrics.len()).map(|at| self.table(at..at + 1)).collect()
    }

    fn table(&self, metrics: std::ops::Range<usize>) -> Shown {
        let mut lines: Vec<(String, Vec<String>)> =
            self.lines.iter().map(|l| (l.named(), Vec::new())).collect();
        let mut columns = Vec::new();
        for at in metrics {
            for (column, cells) in self.columns(at) {
                columns.push(column);
                lines.iter_mut().zip(cells).for_each(|((_, line), cell)| line.push(cell));
            }
        }
        Shown { columns, lines }
    }

    fn columns(&self, metric: usize) -> Vec<(Column, Vec<String>)> {
        let unit = &self.table.unit;
        let figures = || self.lines.iter().map(|l| &l.figures[metric]);
        let column =
            |what, under: &str| Column { metric: self.titles[metric].clone(), what, under: under.to_owned() };
        // Published figures keep the digits that the paper printed.
        let published = figures().map(|f| f.published.to_string()).collect();
        let mut columns = vec![(column("published", unit), published)];
        if self.is_measured {
            // The heading has the paper's unit, so no figure has another.
            let numbers = |value: fn(&Figure) -> Option<f64>| -> Vec<String> {
                let scale = Scale::of("", figures().filter_map(value));
                figures().map(|f| value(f).map_or_else(|| "–".to_owned(), |v| scale.number(v))).collect()
            };
            columns.push((column("here", unit), numbers(|f| f.here)));
            columns.push((column("here ÷", "published"), numbers(|f| f.ratio)));
        }
        columns
    }
}

impl Line {
    /// The label, with the kind in brackets if it differs from the label.
    fn named(&self) -> String {
        let Line { filesystem, kind, .. } = self;
        if filesystem == kind { kind.clone() } else { format!("{filesystem} ({kind})") }
    }
}

impl Column {
    /// The heading in one line: `read, published MiB/s`, `read, here ÷ published`.
    pub fn in_a_line(&self) -> String {
        format!("{}, {} {}", self.metric, self.what, self.under)
    }
}
