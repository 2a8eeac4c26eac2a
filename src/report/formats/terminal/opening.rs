//! The opening on a terminal, also at the end of a run: the answer, how sure it is, one table, and where to find more.

use anstyle::Style;
use comfy_table::{CellAlignment, Table};

use super::{NOTICE, Page, QUIET, TITLE, align, fits, new_table};
use crate::report::formats::lines::lower_first;
use crate::report::view::Summary;
use crate::report::view::comparison::{RATIO_NARROW, UNEQUAL};
use crate::report::view::glance::{Cell, Counts, Glance, Line};
use crate::report::view::heading::{Heading, Standing};
use crate::report::view::number::count;
use crate::text::visible::visible_line;
use crate::workloads;

impl Page {
    pub(super) fn opening(&mut self, summary: &Summary) {
        let heading = &summary.heading;
        for line in &summary.damage {
            self.paragraph(NOTICE, &format!("damaged: {line}"));
        }
        self.paragraph(TITLE, &format!("Experiment {}: {}", heading.name, lower_first(&heading.title)));
        self.line("");
        heading.choice.iter().for_each(|sentence| self.paragraph(Style::new(), sentence));
        let answer = if heading.standing == Standing::Void { NOTICE } else { TITLE };
        heading.answer.iter().for_each(|sentence| self.paragraph(answer, sentence));
        if heading.answer.is_empty() {
            self.lacks(heading);
        }
        let (how_sure, ran) = heading.sure.split_at(heading.sure.len().min(1));
        how_sure.iter().for_each(|sentence| self.paragraph(Style::new(), sentence));
        // What limits the answer stands beside how sure it is.
        heading.durability.iter().for_each(|sentence| self.paragraph(NOTICE, sentence));
        heading.warnings.iter().for_each(|sentence| self.paragraph(NOTICE, sentence));
        if !heading.question.is_empty() {
            let asked = heading.asked();
            let named = if asked.ends_with('?') { "Question: " } else { "" };
            self.paragraph(QUIET, &format!("{named}{asked}"));
        }
        ran.iter().for_each(|sentence| self.paragraph(Style::new(), sentence));
        if !heading.answer.is_empty() {
            self.lacks(heading);
        }
        if let Some(glance) = &heading.table {
            self.glanced(glance);
        }
        self.line("");
        self.line(&format!("More: {}", visible_line(&heading.more)));
        let explained = summary.workloads.iter().find(|work| workloads::find(&work.label).is_some());
        if let Some(work) = explained {
            self.line(&format!("What a workload does: fsderby explain {}", work.label));
        }
    }

    /// Prints what is missing for a verdict, and the command to run for it.
    fn lacks(&mut self, heading: &Heading) {
        if !heading.conclusion.is_empty() {
            self.paragraph(Style::new(), &heading.conclusion);
        }
        if let Some(next) = &heading.next {
            self.line(&format!("  {}", visible_line(&next.command)));
        }
    }

    /// One table if it fits, otherwise several with as many comparisons as fit.
    fn glanced(&mut self, glance: &Glance) {
        for counts in glance.counts.iter().take(PARTS) {
            self.table(counted(counts, glance.counts.len() > 1));
        }
        if let Some(more @ 1..) = glance.counts.len().checked_sub(PARTS) {
            self.paragraph(
                QUIET,
                &format!("The full report has the counts of {}.", count(more, "more workload")),
            );
        }
        let all: Vec<usize> = (0..glance.columns.len()).collect();
        let shapes = [by_candidate as Shape, by_comparison, ranks_by_comparison];
        match shapes.iter().map(|shape| shape(glance, &all)).find(|table| fits(table, self.width)) {
            Some(table) => self.table(table),
            None => self.in_parts(glance, &all),
        }
        self.paragraph(QUIET, &glance.note);
    }

    fn in_parts(&mut self, glance: &Glance, all: &[usize]) {
        let mut rest = all;
        for _ in 0..PARTS {
            let fitting = |n: &usize| fits(&by_candidate(glance, &rest[..*n]), self.width);
            let n = (1..=rest.len()).rev().find(fitting).unwrap_or(rest.len().min(1));
            let (part, after) = rest.split_at(n);
            if !part.is_empty() {
                self.table(by_candidate(glance, part));
            }
            rest = after;
        }
        if !rest.is_empty() {
            let more = count(rest.len(), "more comparison");
            self.paragraph(QUIET, &format!("The full report has {more}."));
        }
    }
}

/// If more tables than this are needed, the opening has no table.
const PARTS: usize = 3;

/// A table with a line for each candidate, headed by the scenario's name if there are several scenarios.
fn counted(counts: &Counts, is_named: bool) -> Table {
    let mut table = new_table();
    let corner = if is_named {
        format!("{}\n{}", visible_line(&counts.scenario), counts.of)
    } else {
        counts.of.clone()
    };
    table.set_header([corner].iter().chain(&counts.columns));
    for line in &counts.lines {
        table.add_row([visible_line(&line.candidate).into_owned()].iter().chain(&line.cells));
    }
    align(&mut table, None);
    table
}

type Shape = fn(&Glance, &[usize]) -> Table;

fn label(line: &Line) -> String {
    format!("{}{}", visible_line(&line.candidate), if line.is_unequal { UNEQUAL } else { "" })
}

/// A table with a line for each candidate: all figures of a single comparison, or rank and ratio of several comparisons.
fn by_candidate(glance: &Glance, of: &[usize]) -> Table {
    let mut table = new_table();
    let has_ranks = glance.has_ranks();
    let single = glance.columns.len() == 1;
    let mut header = vec![String::new()];
    for at in of {
        let column = &glance.columns[*at];
        header.extend(has_ranks.then(|| "rank".to_owned()));
        header.extend(single.then(|| format!("{}\n{}", column.title, column.mean)));
        header.push(if single {
            RATIO_NARROW.to_owned()
        } else {
            format!("{}\n{}", column.scenario, column.title)
        });
    }
    table.set_header(header);
    for line in &glance.lines {
        let mut cells = vec![label(line)];
        for cell in of.iter().map(|at| &line.cells[*at]) {
            cells.extend(has_ranks.then(|| cell.rank.clone()));
            cells.extend(single.then(|| cell.mean.clone()));
            cells.push(cell.marked_ratio());
        }
        table.add_row(cells);
    }
    align(&mut table, None);
    for (at, column) in table.column_iter_mut().enumerate().skip(1) {
        let in_group = (at - 1) % (1 + usize::from(has_ranks) + usize::from(single));
        let is_rank = has_ranks && in_group == 0;
        let is_ratio = in_group == usize::from(has_ranks) + usize::from(single);
        if is_rank || is_ratio {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    table
}

/// A table with a line for each comparison, if there are more comparisons than candidates.
fn by_comparison(glance: &Glance, of: &[usize]) -> Table {
    turned(glance, of, |cell| match cell.rank.as_str() {
        "" => cell.ratio(),
        rank => format!("{rank}: {}", cell.ratio()),
    })
}

/// A table with a line for each comparison, without intervals.
fn ranks_by_comparison(glance: &Glance, of: &[usize]) -> Table {
    turned(glance, of, |cell| match cell.rank.as_str() {
        "" => cell.times.clone(),
        rank => format!("{rank}: {}", cell.times),
    })
}

fn turned(glance: &Glance, of: &[usize], said: fn(&Cell) -> String) -> Table {
    let mut table = new_table();
    table.set_header([String::new()].into_iter().chain(glance.lines.iter().map(label)));
    for at in of {
        let column = &glance.columns[*at];
        let is_alone = glance.columns.iter().filter(|other| other.scenario == column.scenario).count() == 1;
        let name = if is_alone {
            column.scenario.clone()
        } else {
            format!("{} ({})", column.scenario, column.title)
        };
        table.add_row(
            [visible_line(&name).into_owned()]
                .into_iter()
                .chain(glance.lines.iter().map(|line| said(&line.cells[*at]))),
        );
    }
    align(&mut table, None);
    table.column_iter_mut().for_each(|column| {
        column.set_cell_alignment(CellAlignment::Left);
    });
    table
}
