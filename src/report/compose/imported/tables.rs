//! The tables of imported figures: each filesystem's passes, followed by our medians.

use crate::imports::{Part as Shape, Tool};
use crate::papers::factor;
use crate::report::view::entry::Entry;
use crate::report::view::imported::{Figure, Filesystem, Imported, Part, Pass};
use crate::report::view::needs::Table;
use crate::report::view::number::{self, Scale};
use crate::report::view::workload::WorkloadSummary;

/// Longest figure that is shown as printed.
const AS_PRINTED: usize = 9;

/// The candidate of that label, otherwise the first of that kind with its defaults.
pub fn here(candidates: &[Entry], label: &str) -> Option<String> {
    let same = candidates.iter().find(|entry| entry.label == label);
    let same = same.or_else(|| candidates.iter().find(|entry| entry.is_plain && entry.kind == label));
    same.map(|entry| entry.label.clone())
}

/// Our median in this unit, and its number of trials.
pub fn ours(work: &WorkloadSummary, metric: &str, unit: &str, label: &str) -> Option<(f64, usize)> {
    let row = work.rows().find(|row| row.name == metric && row.dimensions.is_empty() && !row.once)?;
    let cell = row.cells.iter().find(|cell| cell.filesystem == label)?;
    Some((cell.median? * factor(&row.unit, unit)?, cell.n))
}

/// `files in order, create`
pub fn title(tool: &dyn Tool, metric: &str) -> String {
    let of = |part: Shape| {
        let at = part.columns.iter().position(|(known, _)| known == metric)?;
        let heading = part.columns[at].1;
        // A CPU share follows the rate to which it belongs.
        let of = if at > 0 && metric.ends_with(".cpu") {
            format!("{} of {}", heading, part.columns[at - 1].1)
        } else {
            heading.to_owned()
        };
        Some(format!("{}, {of}", part.title))
    };
    tool.parts().into_iter().find_map(of).unwrap_or_else(|| metric.to_owned())
}

/// Every table with at least one figure.
pub fn parts(
    tool: &dyn Tool,
    imported: &Imported,
    work: Option<&WorkloadSummary>,
    candidates: Option<&[Entry]>,
) -> Vec<Part> {
    tool.parts()
        .into_iter()
        .filter_map(|shape| part(shape, imported, work, candidates.unwrap_or_default()))
        .collect()
}

fn part(
    shape: Shape,
    imported: &Imported,
    work: Option<&WorkloadSummary>,
    candidates: &[Entry],
) -> Option<Part> {
    let unit = |metric: &String| {
        let figures = imported.filesystems.iter().flat_map(|f| &f.passes).flat_map(|pass| &pass.figures);
        Some(figures.into_iter().find(|figure| figure.metric == *metric)?.unit.clone())
    };
    let columns: Vec<Column> = shape
        .columns
        .into_iter()
        .filter_map(|(metric, heading)| Some(Column { unit: unit(&metric)?, heading, metric }))
        .collect();
    if columns.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    for filesystem in &imported.filesystems {
        let several = filesystem.passes.len() > 1;
        lines.extend(
            (1..)
                .zip(&filesystem.passes)
                .map(|(number, pass)| passed(filesystem, several.then_some(number), pass, &columns)),
        );
        if let Some((work, label)) = work.zip(filesystem.here.as_ref()) {
            lines.extend(measured(work, label, &columns));
            lines.extend((!filesystem.ratios.is_empty()).then(|| divided(filesystem, &columns)));
        }
    }
    // Candidates that the import does not have.
    let is_shown =
        |entry: &&Entry| imported.filesystems.iter().any(|f| f.here.as_ref() == Some(&entry.label));
    let others = candidates.iter().filter(|entry| !is_shown(entry));
    lines.extend(others.filter_map(|entry| measured(work?, &entry.label, &columns)));
    let heads = columns.iter().map(Column::head);
    let heads = ["filesystem".to_owned(), String::new()].into_iter().chain(heads).collect();
    Some(Part { title: shape.title.to_owned(), table: Table { columns: heads, lines } })
}

struct Column {
    metric: String,
    heading: &'static str,
    unit: String,
}

impl Column {
    /// Latencies carry their own unit.
    fn head(&self) -> String {
        match self.unit.as_str() {
            "ns" => self.heading.to_owned(),
            "1/s" => format!("{}/s", self.heading),
            unit => format!("{} {unit}", self.heading),
        }
    }

    fn number(&self, value: f64) -> String {
        let plain = value.to_string();
        match self.unit.as_str() {
            "ns" => number::duration(value as u64),
            _ if plain.len() <= AS_PRINTED => plain,
            _ => in_its_unit(value),
        }
    }

    fn ours(&self, value: f64) -> String {
        in_its_unit(value)
    }

    fn shown(&self, figure: &Figure) -> String {
        let mark = if figure.disagrees { Imported::DISAGREES } else { "" };
        let text = match (figure.value, figure.more_than, figure.less_than) {
            (Some(value), _, _) => self.number(value),
            (None, Some(least), _) => format!("> {}", self.number(least)),
            (None, None, Some(most)) => format!("< {}", self.number(most)),
            (None, None, None) => "too quick".to_owned(),
        };
        text + mark
    }
}

/// Never changes the unit: the column's heading has it.
fn in_its_unit(value: f64) -> String {
    Scale::of("", [value]).number(value).replace(',', "")
}

fn passed(filesystem: &Filesystem, number: Option<usize>, pass: &Pass, columns: &[Column]) -> Vec<String> {
    let whose =
        number.map_or_else(|| "imported".to_owned(), |number| format!("imported, repetition {number}"));
    let cell = |column: &Column| {
        let figure = pass.figures.iter().find(|figure| figure.metric == column.metric);
        figure.map_or_else(|| "–".to_owned(), |figure| column.shown(figure))
    };
    [filesystem.label.clone(), whose].into_iter().chain(columns.iter().map(cell)).collect()
}

/// `None` if we have none of these figures.
fn measured(work: &WorkloadSummary, label: &str, columns: &[Column]) -> Option<Vec<String>> {
    let figures: Vec<Option<(f64, usize)>> =
        columns.iter().map(|c| ours(work, &c.metric, &c.unit, label)).collect();
    let n = figures.iter().flatten().map(|(_, n)| *n).max()?;
    let whose = if n == 1 { "here, one trial".to_owned() } else { format!("here, median of {n}") };
    let cells = columns
        .iter()
        .zip(&figures)
        .map(|(column, figure)| figure.map_or_else(|| "–".to_owned(), |(value, _)| column.ours(value)));
    Some([label.to_owned(), whose].into_iter().chain(cells).collect())
}

fn divided(filesystem: &Filesystem, columns: &[Column]) -> Vec<String> {
    let cell = |column: &Column| {
        let of = filesystem.ratios.iter().find(|ratio| ratio.metric == column.metric);
        of.map_or_else(|| "–".to_owned(), |of| number::ratio(of.ratio))
    };
    let whose = ["here ÷ imported".to_owned()];
    [filesystem.label.clone()].into_iter().chain(whose).chain(columns.iter().map(cell)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_stands_in_the_unit_of_its_column() {
        let column = |unit: &str| Column { metric: String::new(), heading: "time", unit: unit.into() };
        assert_eq!((column("s").ours(0.383), column("s").number(7.0)), ("0.383".into(), "7".into()));
        assert_eq!((column("s").head(), column("1/s").head()), ("time s".into(), "time/s".into()));
        assert_eq!(column("MiB/s").number(3.095_167_159_912_11), "3.10");
        assert_eq!(column("KiB/s").ours(275_708.4), "275708");
        assert_eq!((column("ns").number(67_548_000.0), column("ns").head()), ("68 ms".into(), "time".into()));
    }
}
