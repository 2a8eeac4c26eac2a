//! The sections of a report: their order and their charts. Each metric is declared, with its section, by the workload, step or
//! probe that measures it.

use std::collections::BTreeMap;

use crate::analysis::dataset::Series;
use crate::report::view::row::Row;
use crate::report::view::workload::SectionSummary;
use crate::schema::declared::{self, Declared, Section};

/// A metric with more dimensions than this, such as a sweep over sizes, gets no chart.
const ALIKE_DRAWN: usize = 12;

/// Largest relative difference between whole numbers divided by the same time.
const SAME: f64 = 1e-6;

/// Each metric in its section, in declaration order. On a modelled disk the device section comes first: requests, bytes and
/// flushes are those of the real filesystem, times are the model's.
pub fn of(series: &[Series], declared: &[&'static Declared], is_modelled: bool) -> Vec<SectionSummary> {
    let mut rows: Vec<Row> = series.iter().map(|one| row(one, series, declared)).collect();
    rows.sort_by_key(|row| {
        let own = declared.iter().position(|d| row.declared == Some(*d));
        let section = row.declared.map(|d| d.section);
        let is_first = is_modelled && section == Some(Section::Device);
        (!is_first, place(section), own)
    });
    let mut out: Vec<SectionSummary> = Vec::new();
    for row in rows {
        let Shown { title, note } = shown(row.declared.map(|d| d.section));
        match out.iter_mut().find(|s| s.title == title) {
            Some(section) => section.rows.push(row),
            None => out.push(SectionSummary { title, note, rows: vec![row] }),
        }
    }
    out
}

/// Draws proportional metrics once: their ratio is the same in each round, on all filesystems. Keeps metrics that a paper drew
/// separately.
pub fn draw_each_fact_once(sections: &mut [SectionSummary], published: &[String]) {
    let mut rows: Vec<&mut Row> = sections.iter_mut().flat_map(|section| &mut section.rows).collect();
    for at in 1..rows.len() {
        let (before, rest) = rows.split_at_mut(at);
        let row = &mut rest[0];
        if !row.is_drawn || row.headline || published.contains(&row.name) {
            continue;
        }
        let same =
            |first: &&mut &mut Row| first.is_drawn && first.work == row.work && is_in_proportion(first, row);
        if let Some(first) = before.iter_mut().find(same) {
            first.alike.push(row.title.clone());
            row.is_drawn = false;
        }
    }
}

/// Whether the ratio in each round is the same on all filesystems.
fn is_in_proportion(a: &Row, b: &Row) -> bool {
    let mut rounds: BTreeMap<u32, f64> = BTreeMap::new();
    let mut are_compared = false;
    for (a, b) in a.cells.iter().zip(&b.cells) {
        if a.values.len() != b.values.len() {
            return false;
        }
        for (a, b) in a.values.iter().zip(&b.values) {
            let times = b.value / a.value;
            let first = rounds.get(&a.round).copied();
            are_compared |= first.is_some();
            if a.trial != b.trial || (times / first.unwrap_or(times) - 1.0).abs() >= SAME {
                return false;
            }
            rounds.insert(a.round, first.unwrap_or(times));
        }
    }
    a.unit == b.unit && are_compared
}

fn row(series: &Series, all: &[Series], declared: &[&'static Declared]) -> Row {
    let declared = declared::find(declared, &series.name);
    let title = declared.map_or_else(|| series.name.clone(), |d| d.title_of(&series.name));
    let dimensions = match series.dimensions.as_str() {
        "" => String::new(),
        dimensions => format!(" ({dimensions})"),
    };
    let once = if series.once { ", measured once, in the integrity check" } else { "" };
    let alike = all.iter().filter(|s| s.name == series.name).count();
    // A cell of a heat map is drawn there.
    let is_cell = alike > 1 && series.quantities.len() == 2;
    Row {
        name: series.name.clone(),
        dimensions: series.dimensions.clone(),
        title: format!("{title}{dimensions}{once}"),
        explained: declared.map_or("", |d| d.explained),
        unit: series.unit.clone(),
        of: series.of,
        better: series.better,
        headline: series.headline,
        stands_in: series.stands_in,
        once: series.once,
        declared,
        alike: Vec::new(),
        is_drawn: alike <= ALIKE_DRAWN && !is_cell && declared.is_none_or(|d| d.drawn),
        quantities: series.quantities.clone(),
        work: series.work.clone(),
        cells: series.cells.clone(),
    }
}

/// The text of a section.
struct Shown {
    title: &'static str,
    /// How to read it; may be empty.
    note: &'static str,
}

/// Its position in the report. Undeclared metrics, as in records of another version, come last.
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
    let shown = |title, note| Shown { title, note };
    match section {
        Some(Section::Headline) => shown("Headline", ""),
        Some(Section::Own { title, note }) => shown(title, note),
        Some(Section::Files) => shown(
            "Files",
            "Operations on whole files per second in the named phase. Each chart has its own scale.",
        ),
        Some(Section::Throughput) => shown("Throughput", ""),
        Some(Section::Steps) => shown("Steps around the workload", "Each chart has its own scale."),
        Some(Section::Recovery) => shown(
            "Recovery",
            "The power was cut in the middle of the workload. Recovery time is the sum of repair, mount \
             and creating the first new file; the machine's boot is not included.",
        ),
        Some(Section::Processor) => shown(
            "CPU and page faults",
            "A CPU share is neither good nor bad: a workload that waits for the disk has a small share. CPU seconds \
             are the cost of the workload.",
        ),
        Some(Section::Device) => shown(
            "Device I/O",
            "Device I/O is counted from the start of the workload to the end of the sync. The column device ÷ written \
             is device bytes written ÷ bytes written by the workload.",
        ),
        Some(Section::Capacity) => shown("Capacity and memory", ""),
        None => shown(
            "Other",
            "This version of fsderby does not compute these metrics, so it cannot explain them.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{self, Example};

    const MIXED: [&str; 2] = ["create.mixed.rate", "read.rate"];

    /// Each round does half as many of them, on all filesystems.
    fn sections() -> Vec<SectionSummary> {
        let mut example = examples::example();
        for record in &mut example.run.records {
            let Some(all) = record.metrics.iter().find(|m| m.headline).map(|m| m.value) else { continue };
            let mixed = record.metrics.iter_mut().filter(|m| MIXED.contains(&m.name.as_str()));
            mixed.for_each(|m| m.value = all / f64::from(1 + record.round));
        }
        example.report().summary.workloads[0].sections.clone()
    }

    fn drawn(sections: &[SectionSummary]) -> Vec<&str> {
        let rows = sections.iter().flat_map(|section| &section.rows);
        rows.filter(|row| row.is_drawn && row.unit == "1/s").map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn metrics_that_say_one_fact_are_one_picture_which_names_them() {
        let sections = sections();
        let drawn = drawn(&sections);
        assert!(
            drawn.contains(&"transactions.rate") && MIXED.iter().all(|name| !drawn.contains(name)),
            "{drawn:?}"
        );
        assert!(drawn.contains(&"append.rate") && drawn.contains(&"delete.alone.rate"), "{drawn:?}");
        let headline = &sections[0].rows[0];
        assert!(headline.alike().contains("create (phase transactions) and read (phase transactions)"));
    }

    #[test]
    fn on_a_modelled_disk_requests_bytes_and_flushes_come_before_times() {
        let of = |example: Example| -> Vec<&str> {
            example.report().summary.workloads[0].sections.iter().map(|section| section.title).collect()
        };
        let (here, modelled) = (of(examples::rounds(1)), of(examples::model::samples(1)));
        assert_eq!(here[0], "Headline");
        assert_eq!(modelled[..2], ["Device I/O", "Headline"]);
        // The rest keeps its order.
        let rest = |titles: &[&'static str]| -> Vec<&str> {
            titles.iter().filter(|title| **title != "Device I/O").copied().collect()
        };
        assert_eq!(rest(&here), rest(&modelled));
    }

    #[test]
    fn what_a_paper_drew_one_by_one_is_drawn_so() {
        let mut sections = sections();
        let all = || -> Vec<String> { MIXED.iter().map(|name| (*name).to_owned()).collect() };
        for row in sections.iter_mut().flat_map(|section| &mut section.rows) {
            row.is_drawn = true;
        }
        draw_each_fact_once(&mut sections, &all());
        assert!(MIXED.iter().all(|name| drawn(&sections).contains(name)));
    }
}
