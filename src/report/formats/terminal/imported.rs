//! Imported figures on a terminal.

use anstyle::Style;
use comfy_table::CellAlignment;

use super::{NOTICE, Page, QUIET, TITLE, align, fits, new_table};
use crate::report::formats::lines::lower_first;
use crate::report::view::imported::Imported;
use crate::report::view::needs::Table;
use crate::text::visible::visible_line;

/// Imported figures without a run of fsderby beside them, with colours; print them through `anstream`.
pub fn text(all: &[Imported], width: u16) -> String {
    let mut page = Page::new(width);
    for (at, imported) in all.iter().enumerate() {
        (at > 0).then(|| page.line(""));
        page.paragraph(TITLE, &imported.caption());
        page.imported(imported);
        imported.provenance.iter().for_each(|line| page.paragraph(QUIET, line));
    }
    page.out
}

impl Page {
    /// Prints imported figures below the workload of the run to which they belong.
    pub(super) fn imported_beside(&mut self, workload: &str, imported: &Imported) {
        self.line("");
        self.paragraph(TITLE, &format!("{workload}: {}", lower_first(&imported.caption())));
        self.imported(imported);
    }

    /// Imports that belong to no workload of the run.
    pub(super) fn imported_apart(&mut self, all: &[Imported]) {
        for imported in all {
            self.line("");
            self.paragraph(TITLE, &imported.caption());
            self.imported(imported);
        }
    }

    fn imported(&mut self, imported: &Imported) {
        imported.sentences.iter().for_each(|sentence| self.paragraph(NOTICE, sentence));
        for part in &imported.parts {
            self.line("");
            self.paragraph(Style::new(), &part.title);
            self.columns(&part.table);
        }
        self.paragraph(QUIET, &imported.note);
    }

    /// One table if it fits, otherwise several with as many columns as fit.
    fn columns(&mut self, table: &Table) {
        let mut left: Vec<usize> = (Imported::TEXTS..table.columns.len()).collect();
        while !left.is_empty() {
            let fitting =
                (1..=left.len()).rev().find(|n| *n == 1 || fits(&drawn(table, &left[..*n]), self.width));
            let of: Vec<usize> = left.drain(..together(table, &left, fitting.unwrap_or(1))).collect();
            self.table(drawn(table, &of));
        }
    }
}

/// How many columns to print: as many as fit, or one less if the next column is the CPU share that belongs to the last column.
fn together(table: &Table, left: &[usize], fitting: usize) -> usize {
    let is_share = left.get(fitting).is_some_and(|at| table.columns[*at].starts_with(Imported::SHARE));
    if is_share && fitting > 1 { fitting - 1 } else { fitting }
}

/// A table of the text columns and of the columns with the indices in `of`.
fn drawn(table: &Table, of: &[usize]) -> comfy_table::Table {
    let mut drawn = new_table();
    let picked = |cells: &[String]| -> Vec<String> {
        let at = (0..Imported::TEXTS).chain(of.iter().copied());
        at.map(|at| cells.get(at).map_or_else(String::new, |cell| visible_line(cell).into_owned())).collect()
    };
    let mut header = picked(&table.columns);
    header[0].clear();
    drawn.set_header(header);
    for line in &table.lines {
        drawn.add_row(picked(line));
    }
    align(&mut drawn, None);
    if let Some(whose) = drawn.column_mut(1) {
        whose.set_cell_alignment(CellAlignment::Left);
    }
    drawn
}
