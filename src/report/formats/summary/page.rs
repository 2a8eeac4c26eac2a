//! One printed page: the opening of the report, and one picture of its comparisons.

use anyhow::Context;
use askama::Template;

use crate::report::Report;
use crate::report::formats::svg::{Panel, Theme, stacked};
use crate::report::view::heading::Heading;
use crate::store::Run;

/// Of more comparisons the printed table has ratios and ranks alone.
const MEDIANS: usize = 3;
/// So many lines of all comparisons together have room in the picture.
const LINES: usize = 20;

#[derive(Template)]
#[template(path = "summary.html")]
struct Page<'r> {
    run: &'r Run,
    heading: &'r Heading,
    /// Of damage, and of what is none.
    notes: Vec<String>,
    /// Whether the table has room for them.
    has_medians: bool,
    /// Whether intervals stand in the table, because the picture does not have all.
    has_intervals: bool,
    /// Markup of our own.
    picture: Option<String>,
    /// Comparisons that the picture has no room for.
    left_out: usize,
}

pub fn of(report: &Report<'_>) -> anyhow::Result<String> {
    let summary = &report.summary;
    let all: Vec<Panel<'_>> = summary
        .workloads
        .iter()
        .flat_map(|work| work.comparisons.iter().map(move |c| (work, c)))
        .map(|(work, comparison)| Panel {
            title: format!("{}: {}", work.label, comparison.title),
            comparison,
        })
        .collect();
    let mut lines = 0;
    // Head and foot of a comparison take the room of three lines.
    let fitting = all.iter().take_while(|panel| {
        lines += panel.comparison.lines.len() + 3;
        lines <= LINES
    });
    let fitting = fitting.count().max(1).min(all.len());
    let picture = stacked(&all[..fitting], &summary.filesystems, Theme::White);
    let left_out = all.len() - fitting;
    let damage = summary.damage.iter().map(|line| format!("damaged: {line}"));
    let notes = damage.chain(summary.notes.iter().cloned()).collect();
    let heading = &summary.heading;
    let has_medians = heading.table.as_ref().is_some_and(|glance| glance.columns.len() <= MEDIANS);
    let has_intervals = left_out > 0 || picture.is_none();
    let page = Page { run: report.run, heading, notes, has_medians, has_intervals, picture, left_out };
    page.render().context("render the page")
}
