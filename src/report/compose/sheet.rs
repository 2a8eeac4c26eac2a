//! A run's medians in the tables that an engine declares.

use crate::report::view::number::Scale;
use crate::report::view::row::Row;
use crate::report::view::sheet::Sheet;
use crate::schema::declared;

/// One of the engine's tables. Uses only undimensioned metrics: with several works in a trial, no table belongs to one of them.
pub fn of(sheet: &declared::Sheet, rows: &[&Row]) -> Option<Sheet> {
    let find = |name: &str| {
        rows.iter().find(|row| row.name == name && row.dimensions.is_empty() && !row.once).copied()
    };
    let own = |(label, names): &(&'static str, &[&str])| {
        let found: Vec<Option<&Row>> = names.iter().map(|name| find(name)).collect();
        found.iter().any(Option::is_some).then_some((*label, found))
    };
    let lines: Vec<(&str, Vec<Option<&Row>>)> = sheet.lines.iter().filter_map(own).collect();
    let columns: Vec<Column<'_>> =
        (0..sheet.columns.len()).filter_map(|at| column(sheet, &lines, at)).collect();
    let filesystems: Vec<&str> = columns
        .first()?
        .rows
        .iter()
        .flatten()
        .next()?
        .0
        .cells
        .iter()
        .map(|c| c.filesystem.as_str())
        .collect();
    let has_labels = lines.iter().any(|(label, _)| !label.is_empty());
    let mut shown = Vec::new();
    for (line, (label, _)) in lines.iter().enumerate() {
        for (at, filesystem) in filesystems.iter().enumerate() {
            let before = has_labels.then(|| if at == 0 { (*label).to_owned() } else { String::new() });
            let cells = columns.iter().map(|column| column.cell(line, at));
            shown.push(before.into_iter().chain([(*filesystem).to_owned()]).chain(cells).collect());
        }
    }
    let names = ["", "filesystem"].into_iter().skip(usize::from(!has_labels)).map(str::to_owned);
    Some(Sheet {
        title: sheet.title,
        note: if columns.len() == sheet.columns.len() { sheet.note } else { "" },
        columns: names.chain(columns.iter().map(Column::heading)).collect(),
        names: 1 + usize::from(has_labels),
        lines: shown,
    })
}

struct Column<'r> {
    title: &'static str,
    /// One row for each line of the table, in its own scale: a listing takes milliseconds, a copy minutes.
    rows: Vec<Option<(&'r Row, Scale)>>,
}

/// A column of the table; `None` if no line has a figure in it.
fn column<'r>(
    sheet: &declared::Sheet,
    lines: &[(&str, Vec<Option<&'r Row>>)],
    at: usize,
) -> Option<Column<'r>> {
    let of = |(_, rows): &(&str, Vec<Option<&'r Row>>)| {
        rows.get(at).copied().flatten().map(|row| (row, row.scale()))
    };
    let column = Column { title: sheet.columns[at], rows: lines.iter().map(of).collect() };
    column.rows.iter().any(Option::is_some).then_some(column)
}

impl Column<'_> {
    /// The common unit of the column; empty if the cells have their own, or none.
    fn unit(&self) -> &str {
        let mut units = self.rows.iter().flatten().map(|(_, scale)| scale.unit.as_str());
        let first = units.next().unwrap_or_default();
        if units.all(|unit| unit == first) { first } else { "" }
    }

    fn heading(&self) -> String {
        match self.unit() {
            "" => self.title.to_owned(),
            unit if self.title.ends_with(unit) => self.title.to_owned(),
            unit => format!("{}, {unit}", self.title),
        }
    }

    fn cell(&self, line: usize, filesystem: usize) -> String {
        let shown = |(row, scale): &(&Row, Scale)| {
            let number = scale.number(row.cells.get(filesystem)?.median?);
            let says_it = !self.unit().is_empty() || scale.unit.is_empty();
            Some(if says_it { number } else { format!("{number} {}", scale.unit) })
        };
        self.rows[line].as_ref().and_then(shown).unwrap_or_else(|| "–".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;

    const SHEET: declared::Sheet = declared::Sheet {
        title: "As it is known",
        note: "All of it, what was read, and what nobody did.",
        columns: &["all", "read", "of nobody"],
        lines: &[
            ("first", &["transactions.rate", "read.rate", "unknown"]),
            ("second", &["", "read.rate", ""]),
            ("third", &["unknown", "", ""]),
        ],
    };

    #[test]
    fn a_sheet_has_the_medians_that_the_sections_have_and_nothing_that_was_not_measured() {
        let summary = examples::example().report().summary;
        let rows: Vec<&Row> = summary.workloads[0].rows().collect();
        let sheet = of(&SHEET, &rows).expect("it has figures");
        let row = rows.iter().find(|row| row.name == "transactions.rate").expect("it is measured");
        assert_eq!(sheet.columns, ["", "filesystem", "all, per second", "read, per second"]);
        assert_eq!((sheet.names, sheet.lines.len()), (2, 2 * row.cells.len()));
        assert_eq!(sheet.note, "", "it speaks of a column that is not there");
        let scale = row.scale();
        let medians = row.cells.iter().map(|cell| cell.median.map_or("–".into(), |m| scale.number(m)));
        let shown = sheet.lines.iter().take(row.cells.len()).map(|line| line[2].clone());
        assert_eq!(shown.collect::<Vec<String>>(), medians.collect::<Vec<String>>());
        assert!(sheet.lines[row.cells.len()..].iter().all(|line| line[2] == "–" && !line[3].is_empty()));
        assert_eq!((sheet.lines[0][0].as_str(), sheet.lines[1][0].as_str()), ("first", ""));
        let none = declared::Sheet { lines: &[("third", &["unknown", "", ""])], ..SHEET };
        assert_eq!(of(&none, &rows), None);
    }
}
