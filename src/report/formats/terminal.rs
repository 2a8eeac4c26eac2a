//! The report as text for a terminal of at least 80 columns: an overview of each workload, details on demand.

pub mod changes;
pub mod imported;
mod needs;
mod opening;
pub mod reproduced;

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::lines::{lower_first, wrapped};
use super::tables::{
    Block, align, cells_table, fits, headline_table, keep_words_whole, label, latency_table, means_table,
    metric_table, new_table, over_time_table, published_table, setups_table,
};
use crate::report::Report;
use crate::report::view::Summary;
use crate::report::view::absent::Absent;
use crate::report::view::comparison::Comparison;
use crate::report::view::heat_map;
use crate::report::view::latency::Latency;
use crate::report::view::number;
use crate::report::view::published::Beside;
use crate::report::view::row::Row;
use crate::report::view::setups::Setups;
use crate::report::view::standings;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::Verdict;
use crate::text::visible::visible;

/// The largest width of prose, because longer lines are hard to read.
const PROSE: u16 = 100;

/// The number of a paper's tables that the overview shows.
const GLANCE: usize = 2;

const TITLE: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const NOTICE: Style = AnsiColor::Yellow.on_default();

const OVER_TIME: &str = "Each line shows the median over the rounds, from the start to the end of the work on this \
                         filesystem, and is scaled to its own maximum. The longest stall is the longest time without \
                         a completed operation in any round, sampled ten times per second.";

/// The meaning of the columns beside the headline.
const KEY_FIGURES: &str = "Figures are medians over the trials unless the column names another statistic.";

const WAITS: &str = "fsync p99: one fsync in a hundred took longer; its 95 % interval comes from resampling whole \
    rounds and is no finding.";

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Glance,
    /// Every metric of every workload, and the latencies.
    Everything,
}

/// The whole report, with colours; print it through `anstream`, which removes them if unwanted.
pub fn text(report: &Report<'_>, width: u16, detail: Detail) -> String {
    let page = Page::new(width);
    page.write(&report.summary, detail)
}

/// The opening with the answer, which is also printed at the end of a run.
pub fn opening(report: &Report<'_>, width: u16) -> String {
    let mut page = Page::new(width);
    page.opening(&report.summary);
    page.notes(&report.summary);
    page.out
}

/// The meaning of a comparison's columns, as far as the opening's table does not explain them.
fn columns_of(comparison: &Comparison, has_opening: bool) -> Vec<String> {
    let interval = if comparison.has_intervals() { ", with its interval" } else { "" };
    let ratios = format!(
        "Ratio of geometric means over the rounds{interval}: relative to the candidate with the ratio 1.00 in the \
         same table."
    );
    let ties =
        comparison.has_ties().then(|| "A bracket joins candidates that are not told apart.".to_owned());
    (!has_opening).then_some(ratios).into_iter().chain(ties).collect()
}

struct Page {
    width: u16,
    out: String,
    /// Sentences that explain columns and marks; printed once, after the tables.
    explained: Vec<String>,
    /// Sentences that explain the marks beside figures, each sentence once.
    marks: BTreeSet<String>,
}

impl Page {
    fn new(width: u16) -> Self {
        Page {
            width: if width == 0 { 80 } else { width.max(40) },
            out: String::new(),
            explained: Vec::new(),
            marks: BTreeSet::new(),
        }
    }

    fn write(mut self, summary: &Summary, detail: Detail) -> String {
        self.opening(summary);
        self.setups(&summary.setups);
        for work in &summary.workloads {
            self.workload(summary, work, detail);
        }
        self.explained(summary);
        self.how_sure(summary);
        self.imported_apart(&summary.imported);
        self.choosing(summary);
        self.absent(summary);
        self.notes(summary);
        self.out
    }

    /// Prints the notes on the run's files. These notes come last, because they do not affect the figures.
    fn notes(&mut self, summary: &Summary) {
        if !summary.notes.is_empty() {
            self.line("");
        }
        summary.notes.iter().for_each(|note| self.paragraph(QUIET, &format!("note: {note}")));
    }

    /// Prints the number of decided comparisons, and what affects the figures.
    fn how_sure(&mut self, summary: &Summary) {
        let heading = &summary.heading;
        if heading.findings.is_empty() {
            return;
        }
        self.line("");
        self.paragraph(TITLE, "Findings");
        heading.findings.iter().for_each(|sentence| self.paragraph(Style::new(), sentence));
    }

    /// The factors in which candidates differ: one table if it fits, otherwise one for each factor.
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
            Detail::Glance => self.glance(summary, work),
            Detail::Everything => self.everything(work),
        }
        // In a verdict over rounds, the brackets of the comparison already say this.
        let says_more = summary.is_over_samples() || detail == Detail::Everything;
        if summary.heading.standing.has_findings() && says_more {
            self.findings(work, &summary.verdict);
        }
        if let Some(beside) = &work.published {
            self.published(work, beside, detail);
        }
        work.imported.iter().for_each(|imported| self.imported_beside(&work.label, imported));
        self.footnotes(summary, work);
    }

    /// Prints the headline metric with its bars and key figures: as one table if it fits, otherwise as two.
    fn glance(&mut self, summary: &Summary, work: &WorkloadSummary) {
        let headlines = work.headlines();
        let Some((first, more)) = headlines.split_first() else {
            return self.paragraph(Style::new(), &summary.nothing_valid(work));
        };
        let key: Vec<&Row> = work.rows().filter(|row| row.is_key()).collect();
        let blocks = Block::all(work);
        let has_interval = blocks.iter().any(Block::has_interval);
        let wide = match blocks.as_slice() {
            [] => Some(headline_table(self.width, work, first, &[])),
            [one] if one.owner == first.work => {
                let wide = headline_table(self.width, work, first, &one.whole());
                (key.is_empty() || fits(&wide, self.width)).then_some(wide)
            }
            _ => None,
        };
        let is_beside = wide.is_some();
        self.table(wide.unwrap_or_else(|| headline_table(self.width, work, first, &[])));
        for row in more {
            self.table(headline_table(self.width, work, row, &[]));
        }
        self.marks(summary, work);
        for section in &work.sections {
            means_table(&heat_map::of(&section.rows)).into_iter().for_each(|means| self.table(means));
        }
        if !is_beside {
            self.key_figures(work, first, &blocks);
        }
        let mut footnotes = Vec::from_iter((!key.is_empty()).then(|| KEY_FIGURES.to_owned()));
        footnotes.extend(key.iter().filter_map(|row| row.footnote()));
        footnotes.extend(has_interval.then(|| WAITS.to_owned()));
        for text in footnotes {
            if !self.explained.contains(&text) {
                self.explained.push(text);
            }
        }
    }

    /// Tables for the steps of the trial, and for each of its works if there are several.
    fn key_figures(&mut self, work: &WorkloadSummary, like: &Row, blocks: &[Block]) {
        for block in blocks {
            if !block.owner.is_empty() {
                self.paragraph(QUIET, &block.owner);
            }
            for table in block.tables(work, like, self.width) {
                self.table(table);
            }
        }
    }

    fn everything(&mut self, work: &WorkloadSummary) {
        for row in work.headlines() {
            self.table(headline_table(self.width, work, row, &[]));
        }
        for section in &work.sections {
            self.line("");
            self.paragraph(TITLE, &format!("{}: {}", work.label, lower_first(section.title)));
            let maps = heat_map::of(&section.rows);
            for row in section.rows.iter().filter(|row| maps.is_empty() || !row.is_on_a_map()) {
                self.table(metric_table(work, row));
            }
            maps.iter().for_each(|map| self.table(cells_table(map)));
        }
        for courses in &work.over_time {
            self.line("");
            self.paragraph(TITLE, &format!("{}: throughput over time", work.label));
            self.table(over_time_table(courses));
            self.paragraph(QUIET, OVER_TIME);
        }
        if !work.latencies.is_empty() {
            self.line("");
            self.paragraph(TITLE, &format!("{}: latencies", work.label));
        }
        for latency in &work.latencies {
            self.table(latency_table(latency));
        }
        let mut notes: Vec<&str> = work.latencies.iter().flat_map(Latency::notes).collect();
        notes.sort_unstable();
        notes.dedup();
        notes.iter().for_each(|note| self.paragraph(QUIET, note));
    }

    /// Prints, for each candidate, the candidates than which it was found better.
    fn findings(&mut self, work: &WorkloadSummary, verdict: &Verdict) {
        for row in standings::judged(work) {
            self.line("");
            self.paragraph(QUIET, &standings::caption(row, verdict));
            let mut table = new_table();
            table.set_header([""].into_iter().chain(standings::columns(verdict)));
            for one in standings::standings(work, row) {
                let mut line = vec![label(work, &one.filesystem)];
                line.extend(one.cells());
                table.add_row(line);
            }
            align(&mut table, None);
            table.column_iter_mut().for_each(|column| column.set_cell_alignment(CellAlignment::Left));
            self.table(table);
            standings::reasons(work, row).iter().for_each(|why| self.paragraph(Style::new(), why));
        }
    }

    /// A paper's figures: one table for each of its tables if it fits, otherwise one for each metric. The overview has only the
    /// first tables.
    fn published(&mut self, work: &WorkloadSummary, beside: &Beside, detail: Detail) {
        self.line("");
        self.paragraph(TITLE, &format!("{}: {}", work.label, lower_first(Beside::TITLE)));
        self.paragraph(QUIET, &beside.caption());
        let most = if detail == Detail::Glance { GLANCE } else { beside.tables.len() };
        for compared in beside.tables.iter().take(most) {
            self.paragraph(QUIET, &compared.caption());
            let whole = published_table(&compared.shown());
            if fits(&whole, self.width) {
                self.table(whole);
            } else {
                compared.apart().iter().for_each(|shown| self.table(published_table(shown)));
            }
            for sentence in &compared.sentences {
                self.paragraph(Style::new(), sentence);
            }
            self.paragraph(QUIET, &compared.note());
        }
        let left = beside.tables.len().saturating_sub(most);
        if left > 0 {
            let more = number::count(left, "more table");
            self.paragraph(
                QUIET,
                &format!(
                    "The paper has {more} of this workload; fsderby report --all or --html FILE shows all."
                ),
            );
        }
        for sentence in &beside.sentences {
            self.paragraph(Style::new(), sentence);
        }
    }

    /// Prints the candidates that are not compared, under the table.
    fn marks(&mut self, summary: &Summary, work: &WorkloadSummary) {
        for comparison in &work.comparisons {
            let left = comparison.left().join("; ");
            if !left.is_empty() {
                let of = if work.comparisons.len() > 1 {
                    format!("{}: ", comparison.title)
                } else {
                    String::new()
                };
                self.paragraph(QUIET, &format!("{of}{left}."));
            }
            let legend = comparison.legend().into_iter().map(|mark| format!("{mark}."));
            self.marks.extend(legend);
            for said in columns_of(comparison, summary.heading.table.is_some()) {
                if !self.explained.contains(&said) {
                    self.explained.push(said);
                }
            }
        }
    }

    /// The meaning of columns and marks.
    fn explained(&mut self, summary: &Summary) {
        let mut notes = std::mem::take(&mut self.explained);
        notes.extend(std::mem::take(&mut self.marks));
        notes.extend(summary.common_notes());
        if notes.is_empty() {
            return;
        }
        self.line("");
        self.paragraph(TITLE, "Columns and notes");
        notes.iter().for_each(|note| self.paragraph(QUIET, note));
    }

    fn footnotes(&mut self, summary: &Summary, work: &WorkloadSummary) {
        let marked = work.labels.iter().any(|label| work.marked(&label.filesystem));
        for (at, note) in summary.own_notes(work).iter().enumerate() {
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

    fn table(&mut self, mut table: Table) {
        table.set_width(self.width);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        keep_words_whole(&mut table, self.width);
        self.line("");
        let text = table.trim_fmt();
        let mut style = QUIET;
        for (at, line) in text.lines().enumerate() {
            // In the second and later lines of the header, the column of the label is empty.
            if at > 0 && !line.starts_with(' ') {
                style = Style::new();
            }
            self.line(&styled(style, line.trim_end()));
        }
    }

    /// Writes text that is [`visible`] and may have colours.
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Wraps between words; indents all lines after the first by two.
    fn paragraph(&mut self, style: Style, text: &str) {
        for line in wrapped(text, usize::from(self.width.min(PROSE))) {
            self.line(&styled(style, &line));
        }
    }
}

fn styled(style: Style, text: &str) -> String {
    format!("{style}{}{style:#}", visible(text))
}

/// Whether both entries can be printed as one line.
fn alike(a: &Absent, b: &Absent) -> bool {
    (a.what, &a.workload, &a.reason, &a.trials) == (b.what, &b.workload, &b.reason, &b.trials)
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::super::tables::LABEL_MOST;
    use super::*;
    use crate::report::examples::{self, model, verdict};
    use crate::report::view::row::range;
    use crate::schema::job::Purpose;
    use crate::schema::record::Record;

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

    #[test]
    fn the_wait_of_an_fsync_stands_with_its_interval_beside_the_figures_or_below_them() {
        let example = examples::rounds(11);
        let mut report = example.report();
        report.summary.workloads[0].latencies[0].operation = "fsync".into();
        let [narrow, wide] = [80, 200].map(|width| plain(&report, width, Detail::Glance));
        for text in [&narrow, &wide] {
            let said: String = text.lines().map(|line| format!("{} ", line.trim())).collect();
            assert!(said.contains(WAITS), "{text}");
        }
        let heading = |text: &str| text.lines().find(|line| line.contains("fsync ")).map(str::to_owned);
        assert!(heading(&wide).is_some_and(|line| line.contains("CPU") && line.ends_with("95 %")), "{wide}");
        assert!(heading(&narrow).is_some_and(|line| !line.contains("CPU")), "{narrow}");
        let row = &report.summary.workloads[0].latencies[0].rows[0];
        let ends = row.around_p99().map(number::durations).expect("there are rounds enough");
        assert!(has_line(&narrow, &row.filesystem, &[number::duration(row.p99), ends]), "{narrow}");
    }

    /// The table beside the headline names what its column counts: `fsync p99` of 99 fsyncs would be the longest, and that of one
    /// phase is not that of all.
    #[test]
    fn the_wait_of_an_fsync_is_that_of_the_named_phase_and_of_a_hundred_fsyncs() {
        let example = examples::example();
        let of = |fsyncs: [u64; 2], phases: usize| {
            let mut report = example.report();
            let all = &mut report.summary.workloads[0].latencies;
            all.truncate(phases);
            for (latency, n) in all.iter_mut().zip(fsyncs) {
                latency.operation = "fsync".into();
                latency.rows.iter_mut().for_each(|row| (row.n, row.p99) = (n, 7_000_000 * n));
            }
            let phases: Vec<String> = all.iter().map(|latency| latency.phase.clone()).collect();
            (plain(&report, 200, Detail::Glance), phases)
        };
        let (one, _) = of([100, 0], 1);
        assert!(one.contains("fsync") && one.contains("700 ms"), "{one}");
        assert!(!of([99, 0], 1).0.contains("fsync"));
        let (both, phases) = of([100, 300], 2);
        assert!(both.contains("fsync p99") && both.contains(&format!("({})", phases[1])), "{both}");
        assert!(both.contains("2.1 s") && !both.contains("700 ms"), "{both}");
        assert!(of([300, 100], 2).0.contains(&format!("({})", phases[0])));
    }

    /// The words of the label's column, with headings and labels, however wrapped.
    fn labels(text: &str) -> String {
        let label = |line: &str| line.chars().take(usize::from(LABEL_MOST)).collect::<String>() + " ";
        let column: String = text.lines().map(label).collect();
        column.split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// Whether a line begins with this label and has these cells in this order.
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
            // The text from the workload's heading on.
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
        assert!(text.contains("no verdict yet ("));
        insta::assert_snapshot!(text.lines().take(20).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn the_best_stands_first_and_brackets_join_those_not_told_apart() {
        let example = examples::rounds(12);
        let report = example.judged(verdict::of_one_workload(12), Some("birchfs"));
        let text = plain(&report, 100, Detail::Glance);
        insta::assert_snapshot!(text.lines().take(34).collect::<Vec<_>>().join("\n"));
        let narrow = plain(&report, 80, Detail::Glance);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    }

    #[test]
    fn a_full_ensemble_of_a_modelled_disk_gives_findings() {
        let example = model::samples(13);
        let text = plain(&example.report(), 80, Detail::Glance);
        assert!(!text.contains("significant"));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_pair_that_is_open_although_its_interval_excludes_1_has_its_reason() {
        let mut example = model::samples(13);
        let is_corner = |r: &Record| matches!(r.purpose, Purpose::Corner(_)) && r.filesystem == "cedarfs";
        let corners = example.run.records.iter_mut().filter(|record| is_corner(record));
        let headlines = corners.flat_map(|record| &mut record.metrics).filter(|metric| metric.headline);
        headlines.for_each(|metric| metric.value *= 0.5);
        let words = |example: &examples::Example| {
            let text = plain(&example.report(), 80, Detail::Glance);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let why =
            "the difference held in 13 of 13 samples, but not on the least favourable disk (ratio 1.31)";
        let text = words(&example);
        assert!(text.contains(&format!("is no finding: {why}.")), "{text}");
        // With two candidates the first sentence already has the whole result.
        let two = ["cedarfs", "birchfs"];
        example.run.plan.candidates.retain(|c| two.contains(&c.label.as_str()));
        example.run.records.retain(|r| two.contains(&r.filesystem.as_str()));
        let text = words(&example);
        let said = format!(
            "are not told apart; the estimate that birchfs is 34–60 % slower than cedarfs is no finding: {why}."
        );
        assert!(text.contains(&said), "{text}");
    }

    #[test]
    fn a_run_in_which_everything_was_skipped_says_why() {
        let example = examples::all_skipped();
        insta::assert_snapshot!(plain(&example.report(), 80, Detail::Glance));
    }
}
