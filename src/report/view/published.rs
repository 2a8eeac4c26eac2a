//! A paper's figures beside the run's own.

use fsderby_stats::agreement;
use serde::Serialize;

use super::number::Scale;
use crate::papers::{Paper, Table};

#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    pub paper: Paper,
    /// In the order of the paper.
    pub tables: Vec<Compared>,
    /// What it was measured on, and why there are no figures of ours where there are none.
    pub sentences: Vec<String>,
    /// Of all tables of the paper that this run has, where the last of them stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
}

/// Over all pairs of filesystems in all tables.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// In the paper's order, in the opposite one, and within the margin on either side.
    pub same: usize,
    pub opposite: usize,
    pub tied: usize,
    /// Of all ways to exchange the filesystems the share that agree as well or better; absent with too many.
    pub p: Option<f64>,
}

impl From<agreement::Agreement> for Agreement {
    fn from(agreement::Agreement { same, opposite, tied, p }: agreement::Agreement) -> Self {
        Agreement { same, opposite, tied, p }
    }
}

/// One of its tables for this very work.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    pub table: Table,
    /// What the published metrics are called here.
    #[serde(skip)]
    pub titles: Vec<String>,
    /// The compared ones that the paper has too, in the order of the plan; then what only the paper has.
    pub lines: Vec<Line>,
    /// Whether ours are averages, as the paper's are, and not medians.
    pub averages: bool,
    /// Whether anything stands here beside the paper's figures.
    #[serde(skip)]
    pub is_measured: bool,
    /// The order.
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The label here; the kind where it did not take part.
    pub filesystem: String,
    pub kind: String,
    /// One for each of the published metrics.
    pub figures: Vec<Figure>,
}

/// All in the published unit.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub published: f64,
    /// The median, or the average.
    pub here: Option<f64>,
    /// Here ÷ published.
    pub ratio: Option<f64>,
    /// How many trials it is of.
    pub n: usize,
}

/// What every format shows, in words.
pub struct Shown {
    pub columns: Vec<Column>,
    pub lines: Vec<(String, Vec<String>)>,
}

pub struct Column {
    /// `read`
    pub metric: String,
    /// `published`, `here`, `here ÷`
    pub what: &'static str,
    /// The unit; `published` under `here ÷`.
    pub under: String,
}

impl Beside {
    pub const TITLE: &'static str = "Comparison with the published figures";

    /// `A. Author, "Filesystems", 2008.`
    pub fn caption(&self) -> String {
        let Paper { title, year, .. } = &self.paper;
        format!("{title}, {year}.")
    }
}

impl Compared {
    /// `Tables 3 and 4; here the medians of 5 trials each.`
    pub fn caption(&self) -> String {
        let n = || self.lines.iter().flat_map(|l| &l.figures).map(|f| f.n).filter(|n| *n > 0);
        let what = if self.averages { "averages" } else { "medians" };
        let here = match (n().min(), n().max()) {
            (Some(1), Some(1)) => "; here one trial each".to_owned(),
            (Some(least), Some(most)) if least == most => format!("; here the {what} of {most} trials each"),
            (Some(least), Some(most)) => format!("; here the {what} of {least} to {most} trials each"),
            _ => String::new(),
        };
        let (first, rest) =
            self.table.place.split_at(self.table.place.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}{here}.", first.to_uppercase())
    }

    /// What exactly is compared.
    pub fn note(&self) -> String {
        self.table.note.split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// One table of all metrics.
    pub fn shown(&self) -> Shown {
        self.table(0..self.table.metrics.len())
    }

    /// A table for each metric, where one of all would be too wide.
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
        // As printed, with no digit less or more.
        let published = figures().map(|f| f.published.to_string()).collect();
        let mut columns = vec![(column("published", unit), published)];
        if self.is_measured {
            let numbers = |value: fn(&Figure) -> Option<f64>, unit: &str| -> Vec<String> {
                let scale = Scale::of(unit, figures().filter_map(value));
                figures().map(|f| value(f).map_or_else(|| "–".to_owned(), |v| scale.number(v))).collect()
            };
            columns.push((column("here", unit), numbers(|f| f.here, unit)));
            columns.push((column("here ÷", "published"), numbers(|f| f.ratio, "")));
        }
        columns
    }
}

impl Line {
    /// The label, with the kind where it does not say it.
    fn named(&self) -> String {
        let Line { filesystem, kind, .. } = self;
        if filesystem == kind { kind.clone() } else { format!("{filesystem} ({kind})") }
    }
}

impl Column {
    /// `read, published MiB/s`, `read, here ÷ published`
    pub fn in_a_line(&self) -> String {
        format!("{}, {} {}", self.metric, self.what, self.under)
    }
}
