//! One printed page: the opening of the report, and a chart of its comparisons.

use anyhow::Context;
use askama::Template;

use crate::report::Report;
use crate::report::formats::svg::{Panel, Theme, stacked};
use crate::report::view::heading::Heading;
use crate::store::Run;

/// Counters of at most this many scenarios are printed; the full report has those of all scenarios.
const COUNTED: usize = 2;
/// If there are more comparisons than this, the printed table has only ratios and ranks.
const MEANS: usize = 3;
/// If there are more comparisons than this, an interval stands below its ratio, or only in the chart.
const INTERVALS: usize = 2;
/// The largest number of lines, over all comparisons, that fit into the chart.
const LINES: usize = 20;

#[derive(Template)]
#[template(path = "summary.html")]
struct Page<'r> {
    run: &'r Run,
    heading: &'r Heading,
    /// Sentences on damaged files of the run.
    damage: Vec<String>,
    /// Notes on files of the run that are not damaged.
    notes: &'r [String],
    /// Whether means fit into the table.
    has_means: bool,
    /// Whether the table has intervals: they fit, or the chart does not show all comparisons.
    has_intervals: bool,
    /// The chart as SVG markup.
    picture: Option<String>,
    /// Whether no drawn comparison has findings.
    is_preliminary: bool,
    /// Comparisons that do not fit into the chart.
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
    // Head and foot of a comparison take as much height as three lines.
    let fitting = all.iter().take_while(|panel| {
        lines += panel.comparison.lines.len() + 3;
        lines <= LINES
    });
    let fitting = fitting.count().max(1).min(all.len());
    let picture = stacked(&all[..fitting], &summary.filesystems, Theme::White);
    let left_out = all.len() - fitting;
    let is_preliminary = all[..fitting].iter().all(|panel| panel.comparison.is_preliminary);
    let damage = summary.damage.iter().map(|line| format!("damaged: {line}")).collect();
    let notes = summary.notes.as_slice();
    let heading = &summary.heading;
    let columns = heading.table.as_ref().map_or(0, |glance| glance.columns.len());
    let has_intervals = left_out > 0 || picture.is_none() || columns <= INTERVALS;
    let has_means = (1..=MEANS).contains(&columns);
    let page = Page {
        run: report.run,
        heading,
        damage,
        notes,
        has_means,
        has_intervals,
        picture,
        is_preliminary,
        left_out,
    };
    page.render().context("render the page")
}
