//! A section of the page: charts, a table, and the meaning of the section's metrics.

use super::chart::{self, Bars};
use super::heat::{self, Heat};
use crate::report::view::entry::Entry;
use crate::report::view::heat_map;
use crate::report::view::number::{self, Scale};
use crate::report::view::row::{Cell, Row, range};
use crate::report::view::workload::SectionSummary;
use crate::schema::declared::Declared;

/// If there are more metrics than this, each metric is a line of the table and not a column.
const METRICS_ACROSS: usize = 8;

/// A section: its charts and its table.
pub struct Part<'r> {
    pub title: &'r str,
    pub note: &'r str,
    pub panels: Vec<Bars>,
    pub heats: Vec<Heat>,
    pub numbers: Numbers,
    /// The largest number of trials behind a value; a cell with fewer trials shows its number.
    pub most: usize,
    /// The largest number of trials, in words.
    pub trials: String,
    /// Each metric's title and meaning.
    pub explained: Vec<(String, &'static str)>,
}

pub struct Numbers {
    /// The heading of the line titles.
    pub corner: &'static str,
    pub columns: Vec<Title>,
    pub lines: Vec<(Title, Vec<Shown>)>,
}

/// The title of a column or line; the title of a filesystem is only text.
pub struct Title {
    pub text: String,
    pub unit: String,
    pub direction: &'static str,
    pub explained: &'static str,
}

impl Title {
    fn plain(text: &str) -> Self {
        Title { text: text.to_owned(), unit: String::new(), direction: "", explained: "" }
    }
}

/// A cell of a table: median, range, number of trials.
#[derive(Clone)]
pub struct Shown {
    pub median: String,
    pub range: String,
    pub n: usize,
}

/// The section for the page. Ratios are relative to candidate `to`, if it has figures.
pub fn of<'r>(section: &'r SectionSummary, entries: &[Entry], to: Option<&str>) -> Part<'r> {
    // The chart of a headline metric is at the top of the page.
    let drawn = section.rows.iter().filter(|row| row.is_drawn && !row.headline);
    let most = section.rows.iter().flat_map(|row| &row.cells).map(|cell| cell.n).max().unwrap_or(0);
    Part {
        title: section.title,
        note: section.note,
        panels: drawn.filter_map(|row| chart::bars(row, entries)).collect(),
        heats: heat_map::of(&section.rows).iter().map(|map| heat::of(map, entries, to)).collect(),
        numbers: table(section),
        most,
        trials: number::count(most, "trial"),
        explained: explained(&section.rows),
    }
}

/// The explanation of each declaration, once even if several metrics have the same declaration.
fn explained(rows: &[Row]) -> Vec<(String, &'static str)> {
    let mut declared: Vec<&Declared> = Vec::new();
    for one in rows.iter().filter_map(|row| row.declared) {
        if !one.explained.is_empty() && !declared.contains(&one) {
            declared.push(one);
        }
    }
    declared.into_iter().map(|d| (d.title_of(d.name), d.explained)).collect()
}

/// With few metrics, the table has a line for each filesystem. With many, it has a line for each metric, which limits its width.
fn table(section: &SectionSummary) -> Numbers {
    let rows = &section.rows;
    let scales: Vec<Scale> = rows.iter().map(Row::scale).collect();
    let metrics: Vec<Title> = rows.iter().zip(&scales).map(|(row, scale)| metric_title(row, scale)).collect();
    let cells = rows.first().map(|row| row.cells.as_slice()).unwrap_or_default();
    let filesystems: Vec<Title> = cells.iter().map(|cell| Title::plain(&cell.filesystem)).collect();
    let by_metric = rows
        .iter()
        .zip(&scales)
        .map(|(row, scale)| row.cells.iter().map(|cell| shown(cell, scale)).collect());
    let by_metric: Vec<Vec<Shown>> = by_metric.collect();
    if rows.len() > METRICS_ACROSS {
        let lines = metrics.into_iter().zip(by_metric).collect();
        return Numbers { corner: "Metric", columns: filesystems, lines };
    }
    let line = |at: usize| by_metric.iter().map(|cells| cells[at].clone()).collect();
    let lines = filesystems.into_iter().enumerate().map(|(at, title)| (title, line(at))).collect();
    Numbers { corner: "Filesystem", columns: metrics, lines }
}

fn metric_title(row: &Row, scale: &Scale) -> Title {
    Title {
        text: row.title.clone(),
        unit: scale.unit.clone(),
        direction: row.direction(),
        explained: row.explained,
    }
}

fn shown(cell: &Cell, scale: &Scale) -> Shown {
    let median = cell.median.map_or_else(|| "–".to_owned(), |m| scale.number(m));
    Shown { median, range: range(cell, scale), n: cell.n }
}
