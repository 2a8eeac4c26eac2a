//! The comparison of two runs as text, drawn like candidates relative to the best.

use anstyle::Style;
use comfy_table::{ColumnConstraint, Table};

use super::{NOTICE, Page, QUIET, TITLE};
use crate::report::formats::lines::interval_of;
use crate::report::formats::tables::{align, fits, new_table};
use crate::report::view::changes::{ChangesView, Line, Part};
use crate::report::view::log_axis::LogAxis;
use crate::report::view::number::ratio;
use crate::schema::finding::Found;
use crate::text::visible::visible_line;

/// The least and the largest width of the chart, in columns.
const PICTURE: std::ops::RangeInclusive<usize> = 12..=48;
/// Width of all other columns of the table together.
const BESIDE: usize = 72;

/// The comparison of two runs as text with colours; print it through `anstream`.
pub fn text(view: &ChangesView, width: u16) -> String {
    let mut page = Page::new(width);
    page.paragraph(TITLE, &view.title);
    for (which, run) in ["first ", "second"].iter().zip(&view.runs) {
        page.paragraph(QUIET, &format!("{which}  {}: {}", visible_line(&run.folder), run.said));
    }
    page.line("");
    page.paragraph(Style::new(), &view.answer);
    view.confounded.iter().for_each(|sentence| page.paragraph(NOTICE, sentence));
    view.basis.iter().for_each(|sentence| page.paragraph(QUIET, sentence));
    view.missing.iter().for_each(|sentence| page.paragraph(NOTICE, sentence));
    let axis = view.axis();
    for part in &view.parts {
        page.line("");
        page.paragraph(TITLE, &part.scenario);
        page.table(part_table(part, axis.as_ref(), page.width));
    }
    if !view.parts.is_empty() {
        page.paragraph(QUIET, &view.note());
    }
    if !view.differences.is_empty() {
        page.line("");
        page.paragraph(TITLE, ChangesView::DIFFERENCES);
        view.differences.iter().for_each(|difference| page.paragraph(Style::new(), difference));
    }
    page.line("");
    page.paragraph(TITLE, ChangesView::MORE);
    page.paragraph(Style::new(), &view.advice);
    if let Some(command) = &view.command {
        page.line(&format!("  {}", visible_line(command)));
    }
    if !view.notes.is_empty() {
        page.line("");
    }
    view.notes.iter().for_each(|note| page.paragraph(QUIET, &format!("note: {note}")));
    page.out
}

/// The table of one metric, with the chart if it fits.
fn part_table(part: &Part, axis: Option<&LogAxis>, width: u16) -> Table {
    let columns = usize::from(width).saturating_sub(BESIDE).clamp(*PICTURE.start(), *PICTURE.end());
    let drawn = table(part, axis.map(|axis| (axis, columns)));
    if fits(&drawn, width) { drawn } else { table(part, None) }
}

fn table(part: &Part, picture: Option<(&LogAxis, usize)>) -> Table {
    let mut table = new_table();
    let mut header = vec![part.title.clone()];
    header
        .extend([ChangesView::BEFORE, ChangesView::AFTER, ChangesView::TIMES, "interval"].map(str::to_owned));
    header.push(ChangesView::FINDING.to_owned());
    let at = header.len();
    header.extend(picture.map(|_| part.direction.to_owned()));
    table.set_header(header);
    for line in &part.lines {
        let mut cells = vec![
            visible_line(&line.candidate).into_owned(),
            line.before.clone(),
            line.after.clone(),
            ratio(line.ratio),
            line.interval(),
            line.standing().to_owned(),
        ];
        cells.extend(picture.map(|(axis, columns)| drawn(axis, line, columns)));
        table.add_row(cells);
    }
    align(&mut table, picture.map(|_| at));
    if let Some(column) = table.column_mut(at) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    if let Some(column) = table.column_mut(at - 1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    table
}

fn drawn(axis: &LogAxis, line: &Line, columns: usize) -> String {
    let is_found = matches!(line.finding, Some(Found::Better | Found::Worse));
    let mark = (axis.at(line.ratio), if is_found { '●' } else { '○' });
    let ends = line.low.zip(line.high).map(|(low, high)| (axis.at(low), axis.at(high)));
    interval_of(mark, ends, axis.at(1.0), columns)
}
