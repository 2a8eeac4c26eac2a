//! The recommendation, and speed against CPU time, on a terminal.

use anstyle::Style;
use comfy_table::CellAlignment;

use super::{Page, QUIET, TITLE, align, fits, new_table};
use crate::report::view::Summary;
use crate::report::view::needs::{Table, ToChoose};
use crate::text::visible::visible_line;

impl Page {
    pub(super) fn choosing(&mut self, summary: &Summary) {
        if let Some(choose) = &summary.recommendation {
            self.line("");
            self.paragraph(TITLE, ToChoose::TITLE);
            choose.sentences.iter().for_each(|sentence| self.paragraph(Style::new(), sentence));
            if !choose.found.ranking.is_empty() {
                self.ratios(choose);
                self.paragraph(QUIET, ToChoose::RATIOS);
                let mut weights = drawn(&choose.weights());
                weights.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Left));
                self.table(weights);
                self.paragraph(QUIET, ToChoose::WEIGHTS);
            }
        }
    }

    /// One table if it fits, otherwise several with as many needs as fit.
    fn ratios(&mut self, choose: &ToChoose) {
        let mut left = choose.judged();
        while !left.is_empty() {
            let fitting = (1..=left.len()).rev();
            let most = fitting
                .into_iter()
                .find(|n| *n == 1 || fits(&drawn(&choose.ratios(&left[..*n])), self.width))
                .unwrap_or(1);
            let of: Vec<usize> = left.drain(..most).collect();
            self.table(drawn(&choose.ratios(&of)));
        }
    }
}

fn drawn(table: &Table) -> comfy_table::Table {
    let mut drawn = new_table();
    let text = |cells: &Vec<String>| -> Vec<String> {
        cells.iter().map(|cell| visible_line(cell).into_owned()).collect()
    };
    drawn.set_header(text(&table.columns));
    for line in &table.lines {
        drawn.add_row(text(line));
    }
    align(&mut drawn, None);
    drawn
}
