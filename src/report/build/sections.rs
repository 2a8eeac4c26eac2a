//! The sections of a report: their order, and how each is drawn. What stands in them is declared by those who measure it.

use crate::analysis::dataset::Series;
use crate::report::view::row::Row;
use crate::report::view::workload::{Drawing, SectionSummary};
use crate::schema::declared::{self, Declared, Section};

/// Of a metric with more dimensions than this, such as a sweep over sizes, none is drawn.
const ALIKE_DRAWN: usize = 12;

/// Each metric in its section, in the order in which they are declared.
pub fn of(series: &[Series], declared: &[&'static Declared]) -> Vec<SectionSummary> {
    let mut rows: Vec<Row> = series.iter().map(|one| row(one, series, declared)).collect();
    rows.sort_by_key(|row| {
        let own = declared.iter().position(|d| row.declared == Some(*d));
        (place(row.declared.map(|d| d.section)), own)
    });
    let mut out: Vec<SectionSummary> = Vec::new();
    for row in rows {
        let Shown { title, note, drawing } = shown(row.declared.map(|d| d.section));
        match out.iter_mut().find(|s| s.title == title) {
            Some(section) => section.rows.push(row),
            None => out.push(SectionSummary { title, note, drawing, rows: vec![row] }),
        }
    }
    out
}

fn row(series: &Series, all: &[Series], declared: &[&'static Declared]) -> Row {
    let declared = declared::find(declared, &series.name);
    let title = declared.map_or_else(|| series.name.clone(), |d| d.title_of(&series.name));
    let dimensions = match series.dimensions.as_str() {
        "" => String::new(),
        dimensions => format!(" ({dimensions})"),
    };
    let once = if series.once { ", once, in the integrity check" } else { "" };
    let alike = all.iter().filter(|s| s.name == series.name).count();
    Row {
        name: series.name.clone(),
        dimensions: series.dimensions.clone(),
        title: format!("{title}{dimensions}{once}"),
        explained: declared.map_or("", |d| d.explained),
        unit: series.unit.clone(),
        of: series.of,
        better: series.better,
        headline: series.headline,
        once: series.once,
        declared,
        is_drawn: alike <= ALIKE_DRAWN && declared.is_none_or(|d| d.drawn),
        work: series.work.clone(),
        cells: series.cells.clone(),
    }
}

/// A section's words and looks.
struct Shown {
    title: &'static str,
    /// How to read it; may be empty.
    note: &'static str,
    drawing: Drawing,
}

/// Where it stands in the report. What this fsderby does not declare, as in records of another version, comes last.
fn place(section: Option<Section>) -> u8 {
    match section {
        Some(Section::Headline) => 0,
        Some(Section::Own { .. }) => 1,
        Some(Section::Files) => 2,
        Some(Section::Throughput) => 3,
        Some(Section::Steps) => 4,
        Some(Section::Recovery) => 5,
        Some(Section::Processor) => 6,
        Some(Section::Device) => 7,
        Some(Section::Capacity) => 8,
        None => 9,
    }
}

fn shown(section: Option<Section>) -> Shown {
    let panels = |title, note| Shown { title, note, drawing: Drawing::Panels };
    let grouped = |title, note| Shown { title, note, drawing: Drawing::Grouped };
    match section {
        Some(Section::Headline) => panels("Headline", ""),
        Some(Section::Own { title, note }) => panels(title, note),
        Some(Section::Files) => grouped(
            "Files",
            "Operations on whole files in a second of the phase that is named. Figures too small to be seen beside the others \
             have a chart with a scale of its own.",
        ),
        Some(Section::Throughput) => grouped("Throughput", ""),
        Some(Section::Steps) => panels("Steps around the work", "Each has its own scale."),
        Some(Section::Recovery) => panels(
            "Recovery",
            "The power was cut in the middle of the work. Recovery is timed from the disk as it was left to the first new file; \
             the machine's own boot is not part of it.",
        ),
        Some(Section::Processor) => panels(
            "Processor and page faults",
            "A share of the CPU is neither good nor bad: work that waits for the disk has a small one. CPU seconds are what the \
             same work costs.",
        ),
        Some(Section::Device) => panels(
            "What reached the device",
            "From the start of the work to the end of the sync. Device ÷ written is what reached the device ÷ what the work \
             wrote.",
        ),
        Some(Section::Capacity) => panels("Capacity and memory", ""),
        None => {
            panels("Other", "This version of fsderby does not compute these, so it cannot say what they are.")
        }
    }
}
