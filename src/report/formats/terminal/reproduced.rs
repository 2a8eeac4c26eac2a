//! A paper's claims and tables beside runs, as text.

use anstyle::Style;
use comfy_table::{CellAlignment, Table};

use super::{NOTICE, Page, QUIET, TITLE};
use crate::report::formats::tables::{fits, new_table, published_table};
use crate::report::view::reproduced::{ClaimShown, Column, RangeShown, Reproduced};
use crate::text::visible::visible_line;

/// The page as text with colours; print it through `anstream`. The overview has no ranges, and each reason for no
/// verdict once.
pub fn text(page: &Reproduced, width: u16, is_all: bool) -> String {
    let mut out = Page::new(width);
    out.paragraph(TITLE, &page.title);
    out.line("");
    page.answers().iter().for_each(|answer| out.paragraph(Style::new(), answer));
    out.paragraph(QUIET, Reproduced::HERE);
    for column in &page.columns {
        column_of(&mut out, column, is_all);
    }
    if !page.why.is_empty() {
        out.line("");
        out.paragraph(TITLE, Reproduced::WHY);
        for offer in &page.why {
            out.paragraph(Style::new(), &format!("{}:", offer.change));
            out.line(&format!("  {}", visible_line(&offer.command)));
        }
    }
    if !is_all {
        out.line("");
        out.paragraph(QUIET, "--all prints every claim with its reasons and ranges.");
    }
    out.out
}

fn column_of(out: &mut Page, column: &Column, is_all: bool) {
    out.line("");
    out.paragraph(TITLE, &format!("{}: {}", column.title, Reproduced::CLAIMS.to_lowercase()));
    column.runs.iter().for_each(|run| out.paragraph(QUIET, &format!("{}: {}", run.folder, run.said)));
    column.claims.iter().for_each(|claim| claim_of(out, claim, is_all));
    if !is_all {
        for (heading, reasons) in column.reasons() {
            out.line("");
            out.paragraph(TITLE, heading);
            reasons.iter().for_each(|one| out.paragraph(Style::new(), &one.line()));
        }
    }
    out.line("");
    out.paragraph(TITLE, &format!("{}: {}", column.title, Reproduced::TABLES.to_lowercase()));
    for compared in &column.tables {
        out.line("");
        out.paragraph(QUIET, &format!("{}: {}", compared.table.workload, compared.caption()));
        let whole = published_table(&compared.shown());
        if fits(&whole, out.width) {
            out.table(whole);
        } else {
            compared.apart().iter().for_each(|shown| out.table(published_table(shown)));
        }
        compared.sentences.iter().for_each(|sentence| out.paragraph(Style::new(), sentence));
    }
    column.order().iter().for_each(|order| out.paragraph(Style::new(), order));
    column.missing.iter().for_each(|missing| out.paragraph(QUIET, &format!("Not compared: {missing}")));
}

fn claim_of(out: &mut Page, claim: &ClaimShown, is_all: bool) {
    out.line("");
    out.paragraph(Style::new().bold(), &format!("{}. {}", claim.number, claim.said()));
    let is_short = !is_all && claim.is_open();
    let sentences = if is_short { claim.contradiction().into_iter().collect() } else { claim.sentences() };
    let verdict = format!("{}{}. {}", claim.mark(), claim.verdict(), sentences.join(" "));
    let style = if claim.contradicted.is_some() { NOTICE } else { Style::new() };
    out.paragraph(style, verdict.trim_end());
    if is_all {
        let known = claim.known();
        let table = ranges(&known);
        if !known.is_empty() && fits(&table, out.width) {
            out.table(table);
        } else {
            known.iter().for_each(|range| out.paragraph(Style::new(), &range.line()));
        }
        claim.notes().iter().for_each(|note| out.paragraph(QUIET, note));
    }
}

fn ranges(known: &[&RangeShown]) -> Table {
    let mut table = new_table();
    table.set_header(ClaimShown::HEADS);
    known.iter().for_each(|range| {
        table.add_row(range.cells());
    });
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Left));
    table
}
