//! One printed page: the opening of the report, and one picture of its comparisons.

use anyhow::Context;
use askama::Template;

use crate::report::Report;
use crate::report::formats::svg::{Panel, Theme, stacked};
use crate::report::view::heading::Heading;
use crate::store::Run;

/// So many lines of all comparisons together have room in the picture.
const LINES: usize = 22;

#[derive(Template)]
#[template(path = "summary.html")]
struct Page<'r> {
    run: &'r Run,
    heading: &'r Heading,
    /// Of damage, and of what is none.
    notes: Vec<String>,
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
    let page = Page { run: report.run, heading: &summary.heading, notes, picture, left_out };
    page.render().context("render the page")
}
