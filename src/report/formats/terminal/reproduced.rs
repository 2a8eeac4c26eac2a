//! A paper's claims and tables beside runs, as text.

use anstyle::Style;
use comfy_table::{CellAlignment, Table};

use super::{NOTICE, Page, QUIET, TITLE};
use crate::report::formats::tables::{fits, new_table, published_table};
use crate::report::view::reproduced::{ClaimShown, Column, Reproduced};
use crate::text::visible::visible_line;

/// The page as text with colours; print it through `anstream`. The overview has the claims without their ranges.
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
        out.paragraph(QUIET, "--all also prints the range of every comparison.");
    }
    out.out
}

fn column_of(out: &mut Page, column: &Column, is_all: bool) {
    out.line("");
    out.paragraph(TITLE, &format!("{}: {}", column.title, Reproduced::CLAIMS.to_lowercase()));
    column.runs.iter().for_each(|run| out.paragraph(QUIET, &format!("{}: {}", run.folder, run.said)));
    for claim in &column.claims {
        out.line("");
        out.paragraph(Style::new().bold(), &format!("{}. {}", claim.number, claim.said()));
        let verdict = format!("{}{}. {}", claim.mark(), claim.verdict(), claim.sentences().join(" "));
        let style = if claim.contradicted.is_some() { NOTICE } else { Style::new() };
        out.paragraph(style, verdict.trim_end());
        if is_all {
            if !claim.known().is_empty() {
                out.table(ranges(claim));
            }
            claim.notes().iter().for_each(|note| out.paragraph(QUIET, note));
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

fn ranges(claim: &ClaimShown) -> Table {
    let mut table = new_table();
    table.set_header(ClaimShown::HEADS);
    claim.known().iter().for_each(|range| {
        table.add_row(range.cells());
    });
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Left));
    table
}
