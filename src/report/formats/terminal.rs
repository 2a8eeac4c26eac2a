//! The report as text, for a terminal of any width from 80 columns: one glance at each workload, everything on demand.

mod needs;

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};

use super::lines::{bar_of, first_sentence, lower_first, wrapped};
use crate::report::Report;
use crate::report::view::Summary;
use crate::report::view::absent::Absent;
use crate::report::view::heading::Standing;
use crate::report::view::latency::{Latency, NO_P999};
use crate::report::view::number::{self, Scale};
use crate::report::view::published::{Beside, Shown};
use crate::report::view::row::{Row, range};
use crate::report::view::setups::Setups;
use crate::report::view::standings;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::units::Percent;
use crate::visible::{visible, visible_line};

const TITLE: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const NOTICE: Style = AnsiColor::Yellow.on_default();

/// Columns of a bar, at least and at most.
const BAR: std::ops::RangeInclusive<usize> = 12..=48;
/// Beside a label that is longer, numbers would not fit into 80 columns.
const LABEL_MOST: u16 = 24;
/// Marks a row that is about the page cache and the processor.
const MARK: &str = " †";

/// What is shown beyond one glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Glance,
    /// Every metric of every workload, and the latencies.
    Everything,
}

/// The whole report, with colours; print it through `anstream`, which leaves them out where they are not wanted.
pub fn text(report: &Report<'_>, width: u16, detail: Detail) -> String {
    let page = Page { width: width.max(40), out: String::new() };
    page.write(&report.summary, detail)
}

struct Page {
    width: u16,
    out: String,
}

impl Page {
    fn write(mut self, summary: &Summary, detail: Detail) -> String {
        self.heading(summary);
        self.setups(&summary.setups);
        for work in &summary.workloads {
            self.workload(summary, work, detail);
        }
        self.choosing(summary);
        self.absent(summary);
        self.out
    }

    fn heading(&mut self, summary: &Summary) {
        let heading = &summary.heading;
        for line in &summary.damage {
            self.paragraph(NOTICE, &format!("damaged: {line}"));
        }
        self.paragraph(TITLE, &format!("{}: {}", heading.name, lower_first(heading.title)));
        if !heading.question.is_empty() {
            self.paragraph(QUIET, first_sentence(&heading.question));
        }
        self.line("");
        for sentence in &heading.brief {
            self.paragraph(Style::new(), sentence);
        }
        if let Some(next) = &heading.next {
            self.line(&format!("  {}", visible_line(&next.command)));
        }
    }

    /// In what the candidates differ, in one table where it fits and factor by factor where not.
    fn setups(&mut self, setups: &Setups) {
        if !setups.differ() {
            return;
        }
        self.line("");
        self.paragraph(TITLE, Setups::TITLE);
        let whole = setups_table(setups, &(0..setups.factors.len()).collect::<Vec<_>>());
        if fits(&whole, self.width) {
            return self.table(whole);
        }
        for at in 0..setups.factors.len() {
            self.table(setups_table(setups, &[at]));
        }
    }

    fn workload(&mut self, summary: &Summary, work: &WorkloadSummary, detail: Detail) {
        self.line("");
        self.paragraph(TITLE, &work.label);
        let style = if work.page_cache.is_empty() { QUIET } else { NOTICE };
        self.paragraph(style, &work.setting());
        match detail {
            Detail::Glance => self.glance(work),
            Detail::Everything => self.everything(work),
        }
        if summary.heading.standing == Standing::Verdict {
            self.findings(work, summary.margin);
        }
        if let Some(beside) = &work.published {
            self.published(work, beside);
        }
        self.footnotes(work);
    }

    /// The headline with its bars and the key figures beside it, in one table where it fits and in two where not.
    fn glance(&mut self, work: &WorkloadSummary) {
        let headlines = work.headlines();
        let Some((first, more)) = headlines.split_first() else {
            return self.paragraph(Style::new(), "No trial is counted.");
        };
        let key: Vec<&Row> = work.rows().filter(|row| row.is_key()).collect();
        let wide = self.headline_table(work, first, &key);
        let is_of_one_work = key.iter().all(|row| row.work.is_empty());
        let is_beside = key.is_empty() || (is_of_one_work && fits(&wide, self.width));
        if is_beside {
            self.table(wide);
        } else {
            self.table(self.headline_table(work, first, &[]));
        }
        for row in more {
            self.table(self.headline_table(work, row, &[]));
        }
        if !is_beside {
            self.key_figures(work, &key);
        }
        let mut footnotes: Vec<String> = key.iter().filter_map(|row| row.footnote()).collect();
        footnotes.dedup();
        footnotes.iter().for_each(|text| self.paragraph(QUIET, text));
    }

    /// A table for the steps of the trial, and one for each of its works where it has several.
    fn key_figures(&mut self, work: &WorkloadSummary, key: &[&Row]) {
        let mut names: Vec<&str> = key.iter().map(|row| row.work.as_str()).collect();
        names.sort_by_key(|name| key.iter().position(|row| row.work == **name));
        names.dedup();
        for name in names {
            let own: Vec<&Row> = key.iter().filter(|row| row.work == name).copied().collect();
            if !name.is_empty() {
                self.paragraph(QUIET, name);
            }
            self.table(self.numbers_table(work, &own, short));
        }
    }

    fn everything(&mut self, work: &WorkloadSummary) {
        for row in work.headlines() {
            self.table(self.headline_table(work, row, &[]));
        }
        for section in &work.sections {
            self.line("");
            self.paragraph(TITLE, &format!("{}: {}", work.label, lower_first(section.title)));
            for row in &section.rows {
                self.table(self.metric_table(work, row));
            }
        }
        if !work.latencies.is_empty() {
            self.line("");
            self.paragraph(TITLE, &format!("{}: latencies", work.label));
        }
        for latency in &work.latencies {
            self.table(self.latency_table(latency));
            if latency.lacks_p999() {
                self.paragraph(QUIET, NO_P999);
            }
        }
    }

    /// Over an ensemble: whom each one is better than, whatever the modelled disk is like.
    fn findings(&mut self, work: &WorkloadSummary, margin: Percent) {
        for row in standings::judged(work) {
            self.line("");
            self.paragraph(QUIET, &standings::caption(row, margin));
            let mut table = new_table();
            table.set_header([""].into_iter().chain(standings::COLUMNS));
            for one in standings::standings(work, row) {
                let mut line = vec![label(work, &one.filesystem)];
                line.extend(one.cells());
                table.add_row(line);
            }
            align(&mut table, None);
            table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Left));
            self.table(table);
        }
    }

    /// A paper's figures, in one table where it fits and in one for each metric where not.
    fn published(&mut self, work: &WorkloadSummary, beside: &Beside) {
        self.line("");
        self.paragraph(TITLE, &format!("{}: {}", work.label, lower_first(Beside::TITLE)));
        self.paragraph(QUIET, &beside.caption());
        let whole = published_table(&beside.shown());
        if fits(&whole, self.width) {
            self.table(whole);
        } else {
            beside.apart().iter().for_each(|shown| self.table(published_table(shown)));
        }
        for sentence in &beside.sentences {
            self.paragraph(Style::new(), sentence);
        }
        self.paragraph(QUIET, &beside.note());
    }

    fn headline_table(&self, work: &WorkloadSummary, row: &Row, beside: &[&Row]) -> Table {
        let scale = row.scale();
        let most = row.values().fold(0.0, f64::max);
        let bar = self.bar_width(beside.len());
        let mut table = new_table();
        let mut header = vec![String::new(), named(row, &scale), "range".into(), "n".into(), direction(row)];
        header.extend(beside.iter().map(|row| short(row)));
        table.set_header(header);
        for (at, cell) in row.cells.iter().enumerate() {
            let range = range(cell, &scale);
            let median = cell.median.map_or_else(|| "–".into(), |m| scale.number(m));
            let drawn = cell.median.map_or_else(String::new, |m| bar_of(m, most, bar));
            let mut line = vec![label(work, &cell.filesystem), median, range, cell.n.to_string(), drawn];
            line.extend(beside.iter().map(|row| number(row, at)));
            table.add_row(line);
        }
        align(&mut table, Some(4));
        table
    }

    fn numbers_table(&self, work: &WorkloadSummary, rows: &[&Row], name: fn(&Row) -> String) -> Table {
        let mut table = new_table();
        let mut header = vec![String::new()];
        header.extend(rows.iter().map(|row| name(row)));
        table.set_header(header);
        for (at, filesystem) in filesystems(rows).enumerate() {
            let mut line = vec![label(work, filesystem)];
            line.extend(rows.iter().map(|row| number(row, at)));
            table.add_row(line);
        }
        align(&mut table, None);
        table
    }

    fn metric_table(&self, work: &WorkloadSummary, row: &Row) -> Table {
        let scale = row.scale();
        let mut table = new_table();
        table.set_header(vec![
            named(row, &scale),
            "median".into(),
            "range".into(),
            "n".into(),
            direction(row),
        ]);
        for cell in &row.cells {
            let median = cell.median.map_or_else(|| "–".into(), |m| scale.number(m));
            let range = range(cell, &scale);
            table.add_row(vec![
                label(work, &cell.filesystem),
                median,
                range,
                cell.n.to_string(),
                String::new(),
            ]);
        }
        align(&mut table, None);
        table
    }

    fn latency_table(&self, latency: &Latency) -> Table {
        let mut table = new_table();
        let ns = latency.unit == "ns";
        let title = format!("{}, {}", latency.title(), if ns { "µs" } else { &latency.unit });
        table.set_header([title.as_str(), "n", "p50", "p90", "p99", "p99.9", "slowest"]);
        for row in &latency.rows {
            let values = [Some(row.p50), Some(row.p90), Some(row.p99), row.p999, Some(row.max)];
            let shown = |v: u64| number::grouped(&if ns { v.div_ceil(1000) } else { v }.to_string());
            let values = values.map(|value| value.map_or_else(|| "–".to_owned(), shown));
            let mut line =
                vec![visible_line(&row.filesystem).into_owned(), number::grouped(&row.n.to_string())];
            line.extend(values);
            table.add_row(line);
        }
        align(&mut table, None);
        table
    }

    fn footnotes(&mut self, work: &WorkloadSummary) {
        let marked = work.labels.iter().any(|label| work.marked(&label.filesystem));
        for (at, note) in work.notes().iter().enumerate() {
            let mark = if marked && at == 0 { "† " } else { "" };
            self.paragraph(NOTICE, &format!("{mark}{note}"));
        }
    }

    fn absent(&mut self, summary: &Summary) {
        let Summary { absent, skips, torn, .. } = summary;
        if absent.is_empty() && skips.is_empty() && torn.is_empty() {
            return;
        }
        self.line("");
        self.paragraph(TITLE, "Not counted");
        for skips in skips {
            self.paragraph(Style::new(), &format!("skipped {}: {}", skips.who(), skips.reason));
        }
        for what in torn {
            self.paragraph(Style::new(), &format!("torn: {what}"));
        }
        for alike in absent.chunk_by(alike) {
            let line = &alike[0];
            let who: Vec<String> = alike.iter().map(|a| a.filesystem.clone()).collect();
            let trials =
                if line.trials.is_empty() { String::new() } else { format!(" ({})", line.trials.join("; ")) };
            let who = number::list(&who);
            let text = format!("{} {who} on {}{trials}: {}", line.what, line.workload, line.reason);
            self.paragraph(Style::new(), &text);
        }
    }

    /// What is left of the width beside label, median, range and n, and seven columns of key figures where they are.
    fn bar_width(&self, beside: usize) -> usize {
        let taken = 64 + beside * 9;
        usize::from(self.width).saturating_sub(taken).clamp(*BAR.start(), *BAR.end())
    }

    fn table(&mut self, mut table: Table) {
        table.set_width(self.width);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        self.line("");
        let text = table.trim_fmt();
        let mut style = QUIET;
        for (at, line) in text.lines().enumerate() {
            // The header's further lines have nothing under the label's column.
            if at > 0 && !line.starts_with(' ') {
                style = Style::new();
            }
            self.line(&styled(style, line.trim_end()));
        }
    }

    /// Text that is [`visible`], and may have colours.
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Wrapped between words; what follows the first line is set in by two.
    fn paragraph(&mut self, style: Style, text: &str) {
        for line in wrapped(text, usize::from(self.width)) {
            self.line(&styled(style, &line));
        }
    }
}

/// These factors of all candidates.
fn setups_table(setups: &Setups, factors: &[usize]) -> Table {
    let mut table = new_table();
    table.set_header([""].into_iter().chain(factors.iter().map(|at| setups.factors[*at])));
    for row in &setups.rows {
        let mut line = vec![visible_line(&row.filesystem).into_owned()];
        line.extend(factors.iter().map(|at| visible_line(&row.values[*at]).into_owned()));
        table.add_row(line);
    }
    align(&mut table, None);
    table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Left));
    table
}

fn published_table(shown: &Shown) -> Table {
    let mut table = new_table();
    let heading = shown.columns.iter().map(|c| format!("{}\n{}\n{}", c.metric, c.what, c.under));
    table.set_header(std::iter::once(String::new()).chain(heading));
    for (filesystem, cells) in &shown.lines {
        table.add_row(std::iter::once(filesystem.clone()).chain(cells.iter().cloned()));
    }
    align(&mut table, None);
    table
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{}{style:#}", visible(text))
}

fn new_table() -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table
}

/// The label to the left, numbers to the right, and the bar to the left again.
fn align(table: &mut Table, bar: Option<usize>) {
    for (at, column) in table.column_iter_mut().enumerate() {
        let left = at == 0 || Some(at) == bar;
        column.set_cell_alignment(if left { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding(if at == 0 { (0, 1) } else { (1, 1) });
    }
    if let Some(column) = table.column_mut(0) {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(LABEL_MOST)));
    }
}

fn fits(table: &Table, width: u16) -> bool {
    let paddings = table.column_iter().map(|c| c.padding_width());
    let contents = table.column_max_content_widths();
    let label = contents.first().copied().unwrap_or(0).min(LABEL_MOST);
    label + contents.iter().skip(1).sum::<u16>() + paddings.sum::<u16>() <= width
}

fn label(work: &WorkloadSummary, filesystem: &str) -> String {
    let mark = if work.marked(filesystem) { MARK } else { "" };
    format!("{}{mark}", visible_line(filesystem))
}

fn filesystems<'r>(rows: &'r [&Row]) -> impl Iterator<Item = &'r str> {
    rows.iter().take(1).flat_map(|row| &row.cells).map(|cell| cell.filesystem.as_str())
}

fn number(row: &Row, at: usize) -> String {
    row.cells[at].median.map_or_else(|| "–".into(), |m| row.scale().number(m))
}

fn named(row: &Row, scale: &Scale) -> String {
    scale.heading(&row.title)
}

/// What can be said in one line.
fn alike(a: &Absent, b: &Absent) -> bool {
    (a.what, &a.workload, &a.reason, &a.trials) == (b.what, &b.workload, &b.reason, &b.trials)
}

fn direction(row: &Row) -> String {
    row.direction().to_owned()
}

/// `sync s`
fn short(row: &Row) -> String {
    let mut text = row.short().to_owned();
    let unit = row.scale().unit;
    if !unit.is_empty() {
        write!(text, "\n{unit}").unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;
    use crate::report::examples::{self, model};

    fn plain(report: &Report<'_>, width: u16, detail: Detail) -> String {
        strip_str(&text(report, width, detail)).to_string()
    }

    #[test]
    fn it_fits_into_80_columns() {
        let example = examples::example();
        let text = plain(&example.report(), 80, Detail::Glance);
        insta::assert_snapshot!(text);
        let command = |line: &str| line.contains("fsderby run");
        for line in text.lines().filter(|line| !command(line)) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn a_wide_terminal_gets_one_table_for_each_workload() {
        let example = examples::example();
        insta::assert_snapshot!(plain(&example.report(), 200, Detail::Glance));
    }

    /// The words of the label's column, where headings and labels stand, however they are wrapped.
    fn labels(text: &str) -> String {
        let label = |line: &str| line.chars().take(usize::from(LABEL_MOST)).collect::<String>() + " ";
        let column: String = text.lines().map(label).collect();
        column.split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// Whether a line begins with this label and has these cells, in their order.
    fn has_line(text: &str, label: &str, cells: &[String]) -> bool {
        let first = label.split_whitespace().next().unwrap_or_default();
        let cells: Vec<&str> = cells.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
        let cells = cells.join(" ");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().any(|line| line.starts_with(first) && words(line).ends_with(&cells))
    }

    #[test]
    fn everything_is_shown_on_demand() {
        let example = examples::example();
        let report = example.report();
        let text = plain(&report, 80, Detail::Everything);
        for work in &report.summary.workloads {
            // What stands from the workload's own heading on.
            let text = text.split_once(&format!("\n{}\n", work.label)).expect("it has a heading").1;
            for row in work.rows() {
                let scale = row.scale();
                assert!(labels(text).contains(&scale.heading(&row.title)), "{}", row.title);
                for cell in row.cells.iter().filter(|cell| cell.median.is_some()) {
                    let median = scale.number(cell.median.unwrap_or_default());
                    let cells = [median, range(cell, &scale), cell.n.to_string()];
                    assert!(has_line(text, &cell.filesystem, &cells), "{}: {cells:?}", row.title);
                }
            }
            assert!(!work.latencies.is_empty());
            for latency in &work.latencies {
                assert!(labels(text).contains(&latency.title()), "{}", latency.title());
                for row in &latency.rows {
                    let slowest = number::grouped(&row.max.div_ceil(1000).to_string());
                    assert!(has_line(text, &row.filesystem, &[slowest]), "{}", latency.title());
                }
            }
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn two_rounds_are_preliminary() {
        let example = examples::rounds(2);
        let text = plain(&example.report(), 80, Detail::Glance);
        assert!(text.contains("preliminary result"));
        insta::assert_snapshot!(text.lines().take(20).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_dozen_samples_of_a_modelled_disk_give_findings() {
        let example = model::samples(12);
        let text = plain(&example.report(), 80, Detail::Glance);
        assert!(!text.contains("significant"));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_run_in_which_everything_was_skipped_says_why() {
        let example = examples::all_skipped();
        insta::assert_snapshot!(plain(&example.report(), 80, Detail::Glance));
    }
}
