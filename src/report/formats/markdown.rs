//! Markdown for an issue or a README: the opening, one table for each workload, and the trials that do not count.

pub mod changes;
pub mod imported;
pub mod reproduced;

use std::io::Write;

use super::{Format, Goes};
use crate::report::Report;
use crate::report::compose::{model, setups};
use crate::report::view::Summary;
use crate::report::view::absent::{Absent, Skips};
use crate::report::view::comparison::{Comparison, Line, RATIO};
use crate::report::view::entry::{self, Entry};
use crate::report::view::glance::{Counted, Counts, Glance, Line as GlanceLine};
use crate::report::view::heat_map::{self, HeatMap};
use crate::report::view::imported::Imported;
use crate::report::view::latency::{self, Ends, Latency, VALUES};
use crate::report::view::needs::{Table, ToChoose};
use crate::report::view::number::{self, ratio};
use crate::report::view::published::{Beside, Compared};
use crate::report::view::row::{Cell, Row, range};
use crate::report::view::setups::Setups;
use crate::report::view::standings::{self, Standings};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::Verdict;
use crate::text::visible::{visible, visible_line};

pub struct Markdown;

impl Format for Markdown {
    fn name(&self) -> &'static str {
        "markdown"
    }

    fn help(&self) -> &'static str {
        "Write Markdown, for a bug report or pull request"
    }

    fn goes(&self) -> Goes {
        Goes::IntoFile
    }

    fn write(&self, report: &Report<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        Ok(to.write_all(visible(&text(report)).as_bytes())?)
    }

    fn write_imported(&self, all: &[Imported], to: &mut dyn Write) -> anyhow::Result<()> {
        Ok(to.write_all(imported::text(all).as_bytes())?)
    }
}

pub fn text(report: &Report<'_>) -> String {
    let heading = &report.summary.heading;
    let mut out = vec![format!("# {}", escaped(&heading.name))];
    out.extend(report.summary.damage.iter().map(|line| format!("**Damaged:** {}", escaped(line))));
    if !heading.question.is_empty() {
        out.push(format!("_{}_", escaped(&heading.question)));
    }
    let said = heading.choice.iter().chain(&heading.answer);
    let said: Vec<String> = said.map(|sentence| sentence.text.clone()).collect();
    out.push(format!("**{}.** {}", heading.title, escaped(&said.join(" "))).trim_end().to_owned());
    out.push(escaped(&heading.sure.join(" ")));
    out.extend(heading.durability.iter().map(|sentence| format!("**{}**", escaped(sentence))));
    out.extend((!heading.conclusion.is_empty()).then(|| escaped(&heading.conclusion)));
    out.extend(heading.next.iter().map(|next| format!("```sh\n{}\n```", visible_line(&next.command))));
    out.extend(heading.table.as_ref().map(glance));
    let decided: Vec<String> = heading.findings.iter().map(|sentence| sentence.text.clone()).collect();
    out.extend((!decided.is_empty()).then(|| escaped(&decided.join(" "))));
    let summary = &report.summary;
    out.extend(
        summary.overall.iter().map(|all| format!("Over all headline metrics:\n\n{}", comparison(all))),
    );
    out.push(escaped(&heading.sentences.join(" ")));
    out.extend(summary.common_notes().iter().map(|note| format!("- {}", escaped(note))));
    out.extend(heading.warnings.iter().map(|warning| format!("- {}", escaped(warning))));
    if summary.setups.differ() {
        out.push(format!("## {}\n\n{}", Setups::TITLE, differing(&summary.setups)));
    }
    for work in &summary.workloads {
        out.push(workload(summary, work));
        if heading.standing.has_findings() {
            out.extend(findings(work, &summary.verdict));
        }
        out.extend(work.published.as_ref().map(published));
        out.extend(work.imported.iter().map(|imported| imported::section(imported, "###")));
    }
    out.extend(report.summary.imported.iter().map(|imported| imported::section(imported, "##")));
    out.extend(summary.recommendation.as_ref().map(choosing));
    if !summary.skips.is_empty() || !summary.absent.is_empty() || !summary.torn.is_empty() {
        out.push("## Not counted".to_owned());
    }
    out.extend(summary.torn.iter().map(|what| format!("- **torn:** {}", escaped(what))));
    if !report.summary.skips.is_empty() {
        out.push(skips(&report.summary.skips));
    }
    if !report.summary.absent.is_empty() {
        out.push(absent(&report.summary.absent));
    }
    if !report.summary.filesystems.is_empty() {
        out.push(format!("## The filesystems\n\n{}", entries(&report.summary.filesystems)));
    }
    out.push(machine(report));
    out.push(format!("To repeat this plan:\n\n```sh\n{}\n```", visible_line(&heading.repeat.command)));
    out.extend(heading.repeat.warning().map(|text| escaped(&text)));
    out.extend(report.summary.notes.iter().map(|line| format!("**Note:** {}", escaped(line))));
    out.join("\n\n") + "\n"
}

/// The table of the opening.
fn glance(glance: &Glance) -> String {
    let has_ranks = glance.has_ranks();
    let mut titles = vec!["filesystem".to_owned()];
    for column in &glance.columns {
        titles.extend(has_ranks.then(|| "rank".to_owned()));
        titles.push(escaped(&format!("{}, {}, {}", column.scenario, column.title, column.mean)));
        titles.push(RATIO.to_owned());
    }
    let line = |line: &GlanceLine| {
        let mark = if line.is_unequal { " ‡" } else { "" };
        let mut cells = vec![format!("{}{mark}", escaped(&line.candidate))];
        for cell in &line.cells {
            cells.extend(has_ranks.then(|| cell.rank.clone()));
            cells.extend([cell.mean.clone(), cell.marked_ratio()]);
        }
        cells
    };
    let mut out: Vec<String> = glance.counts.iter().map(counts).collect();
    out.extend([table(&titles, glance.lines.iter().map(line), 1), escaped(&glance.note)]);
    out.join("\n\n")
}

fn counts(counts: &Counts) -> String {
    let titles: Vec<String> =
        ["filesystem".to_owned()].into_iter().chain(counts.columns.iter().map(|c| escaped(c))).collect();
    let line = |line: &Counted| {
        [escaped(&line.candidate)].into_iter().chain(line.cells.iter().cloned()).collect::<Vec<String>>()
    };
    let of = escaped(&format!("{}, {}:", counts.scenario, counts.of));
    format!("{of}\n\n{}", table(&titles, counts.lines.iter().map(line), 1))
}

fn workload(summary: &Summary, work: &WorkloadSummary) -> String {
    let mut out = vec![format!("## {}", escaped(&work.label))];
    out.push(format!("_{}_", escaped(&work.setting())));
    let notes: Vec<String> =
        summary.own_notes(work).iter().map(|note| format!("- {}", escaped(note))).collect();
    if !notes.is_empty() {
        out.push(notes.join("\n"));
    }
    for one in &work.comparisons {
        out.extend((!one.sentence.is_empty()).then(|| format!("**{}**", escaped(&one.sentence))));
        out.push(comparison(one));
    }
    out.push(numbers(summary, work));
    out.push(escaped(&explained(work)));
    out.extend(work.latencies.iter().filter(|latency| latency.is_of_fsync()).map(waited));
    for sheet in &work.sheets {
        out.push(format!("### {}", sheet.title));
        out.extend((!sheet.note.is_empty()).then(|| escaped(sheet.note)));
        let cells = |cells: &[String]| cells.iter().map(|cell| escaped(cell)).collect::<Vec<String>>();
        out.push(table(&cells(&sheet.columns), sheet.lines.iter().map(|line| cells(line)), sheet.names));
    }
    out.extend(work.sections.iter().filter_map(|section| maps(&heat_map::of(&section.rows))));
    out.join("\n\n")
}

/// The table of a comparison: leaders first, each candidate with its ratio to the best or the baseline.
fn comparison(comparison: &Comparison) -> String {
    let times = escaped(&format!("{}, {RATIO}", comparison.times()));
    let titles = ["filesystem", "rank", "finding", times.as_str(), "interval"].map(str::to_owned);
    let line = |line: &Line| {
        let rank = if comparison.has_ranks() { line.rank() } else { String::new() };
        let name = format!("{}{}", escaped(&line.candidate), comparison.dagger(&line.candidate));
        let cells = [name, rank, line.standing().to_owned()];
        [cells.as_slice(), &[ratio(line.ratio), line.interval()]].concat()
    };
    table(&titles, comparison.lines.iter().map(line), 3)
}

/// For each candidate, the candidates than which it was found better.
fn findings(work: &WorkloadSummary, verdict: &Verdict) -> Vec<String> {
    let titles: Vec<String> =
        ["filesystem"].into_iter().chain(standings::columns(verdict)).map(str::to_owned).collect();
    let one = |row| {
        let line = |standings: Standings| {
            let mut cells = vec![escaped(&standings.filesystem)];
            cells.extend(standings.cells().map(|cell| escaped(&cell)));
            cells
        };
        let lines = standings::standings(work, row).into_iter().map(line);
        let caption = escaped(&standings::caption(row, verdict));
        let mut said = vec![format!("{caption}:"), table(&titles, lines, 4)];
        let reasons: Vec<String> =
            standings::reasons(work, row).iter().map(|why| format!("- {}", escaped(why))).collect();
        said.extend((!reasons.is_empty()).then(|| reasons.join("\n")));
        said.join("\n\n")
    };
    standings::judged(work).into_iter().map(one).collect()
}

fn choosing(choose: &ToChoose) -> String {
    let said = choose.sentences.iter().map(|sentence| escaped(sentence));
    let mut out = vec![format!("## {}", ToChoose::TITLE), said.collect::<Vec<_>>().join(" ")];
    if !choose.found.ranking.is_empty() {
        out.extend([shown(&choose.ratios(&choose.judged()), 1), escaped(ToChoose::RATIOS)]);
        out.extend([shown(&choose.weights(), 4), escaped(ToChoose::WEIGHTS)]);
    }
    out.join("\n\n")
}

fn shown(Table { columns, lines }: &Table, left: usize) -> String {
    let cells = |cells: &[String]| cells.iter().map(|cell| escaped(cell)).collect::<Vec<String>>();
    table(&cells(columns), lines.iter().map(|line| cells(line)), left)
}

fn published(beside: &Beside) -> String {
    let mut out = vec![format!("### {}", Beside::TITLE), escaped(&beside.caption())];
    out.extend(beside.tables.iter().map(compared));
    out.push(escaped(&beside.sentences.join(" ")));
    out.join("\n\n")
}

fn compared(compared: &Compared) -> String {
    let shown = compared.shown();
    let columns = shown.columns.iter().map(|column| escaped(&column.in_a_line()));
    let titles: Vec<String> = std::iter::once("filesystem".to_owned()).chain(columns).collect();
    let line = |(filesystem, cells): (String, Vec<String>)| [vec![escaped(&filesystem)], cells].concat();
    let mut out = vec![escaped(&compared.caption())];
    out.push(table(&titles, shown.lines.into_iter().map(line), 1));
    out.push(escaped(&[compared.sentences.join(" "), compared.note()].join(" ")));
    out.join("\n\n")
}

/// The table of headline and key figures, with a line for each filesystem.
fn numbers(summary: &Summary, work: &WorkloadSummary) -> String {
    let headlines = work.headlines();
    let key = work.rows().filter(|row| row.is_key());
    let rows: Vec<&Row> = headlines.into_iter().chain(key).collect();
    let Some(first) = rows.first() else { return escaped(&summary.nothing_valid(work)) };
    let mut titles = vec!["filesystem".to_owned()];
    titles.extend(rows.iter().map(|row| title(row)));
    let line = |(at, cell): (usize, &Cell)| {
        let mut cells = vec![escaped(&cell.filesystem)];
        cells.extend(rows.iter().map(|row| number(row, at)));
        cells
    };
    table(&titles, first.cells.iter().enumerate().map(line), 1)
}

/// The table of fsync latencies, with a line for each filesystem.
fn waited(latency: &Latency) -> String {
    let said = |value: u64| if latency.unit == "ns" { number::duration(value) } else { value.to_string() };
    let shown = |value: Option<(u64, Option<Ends>)>| match value {
        Some((value, Some(ends))) => format!("{} ({})", said(value), number::durations(ends)),
        Some((value, None)) => said(value),
        None => "–".to_owned(),
    };
    let title = format!("latency of {}", latency.title());
    let titles: Vec<String> = [title.as_str(), "n"].into_iter().chain(VALUES).map(escaped).collect();
    let line = |row: &latency::Row| {
        let values = row.values().map(shown);
        [vec![escaped(&row.filesystem), number::grouped(&row.n.to_string())], values.to_vec()].concat()
    };
    let notes: Vec<&str> = latency.notes().collect();
    format!("{}\n\n{}", table(&titles, latency.rows.iter().map(line), 1), escaped(&notes.join(" ")))
}

/// The table of metrics over two quantities. Each metric is a line with each candidate's geometric mean over all cells.
fn maps(maps: &[HeatMap]) -> Option<String> {
    let first = maps.first()?;
    let unit = heat_map::common_unit(maps);
    let titles = ["metric".to_owned()].into_iter().chain(first.fields.iter().map(|f| escaped(&f.filesystem)));
    let line = |map: &HeatMap| {
        let scale = map.scale();
        let shown = |mean: Option<f64>| mean.map_or_else(|| "–".to_owned(), |mean| scale.number(mean));
        [escaped(&map.named(unit.is_none()))].into_iter().chain(map.means().into_iter().map(shown)).collect()
    };
    let in_unit = unit.as_ref().map_or_else(String::new, |unit| format!(", {unit}"));
    let said = format!(
        "Geometric means of the medians of all {axes}{unit}:",
        axes = escaped(&first.axes()),
        unit = escaped(&in_unit)
    );
    Some(format!("{said}\n\n{}", table(&titles.collect::<Vec<_>>(), maps.iter().map(line), 1)))
}

/// Explains the numbers where a heading does not suffice.
fn explained(work: &WorkloadSummary) -> String {
    let texts: Vec<String> = work.rows().filter_map(Row::footnote).map(|text| format!(" {text}")).collect();
    format!("Figures are medians; the range and the number of trials are in brackets.{}", texts.join(""))
}

fn title(row: &Row) -> String {
    let title = if row.is_key() { row.short().replace('\n', " ") } else { row.title.clone() };
    // A full title already contains the work, among the dimensions.
    let title = if row.is_key() && !row.work.is_empty() { format!("{}: {title}", row.work) } else { title };
    let mut title = escaped(&row.scale().heading(&title));
    if !row.direction().is_empty() {
        title += &format!(" ({})", row.direction());
    }
    title
}

fn number(row: &Row, at: usize) -> String {
    let (cell, scale) = (&row.cells[at], row.scale());
    let Some(median) = cell.median else { return "–".to_owned() };
    let range = range(cell, &scale);
    if !row.headline || range.is_empty() {
        return scale.number(median);
    }
    format!("{} ({range}, n = {})", scale.number(median), cell.n)
}

fn skips(skips: &[Skips]) -> String {
    let line = |s: &Skips| format!("- skipped {}: {}", escaped(&s.who()), escaped(&s.reason));
    skips.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn absent(absent: &[Absent]) -> String {
    let titles = ["filesystem", "workload", "outcome", "trials", "reason"].map(str::to_owned);
    let line = |a: &Absent| {
        [&a.filesystem, &a.workload, a.what, &a.trials.join("; "), &a.reason].map(escaped).to_vec()
    };
    table(&titles, absent.iter().map(line), 5)
}

fn entries(entries: &[Entry]) -> String {
    let titles = ["label", "kind", "options", "as mounted"].map(str::to_owned);
    let line = |e: &Entry| [&e.label, &e.kind, &e.options, &e.mounted].map(|t| escaped(t)).to_vec();
    let eras = entry::eras(entries).into_iter().map(|line| format!("\n\n{}", escaped(&line)));
    std::iter::once(table(&titles, entries.iter().map(line), 4)).chain(eras).collect()
}

fn differing(setups: &Setups) -> String {
    let titles: Vec<String> = setups.header().map(str::to_owned).collect();
    let line = |filesystem: &String, values: &Vec<String>| {
        std::iter::once(filesystem).chain(values).map(|text| escaped(text)).collect()
    };
    let lines = setups.rows.iter().map(|row| line(&row.filesystem, &row.values));
    table(&titles, lines, titles.len())
}

fn machine(report: &Report<'_>) -> String {
    let (machine, plan) = (&report.run.machine, &report.run.plan);
    let on = setups::shown_of_machine(report.run, &report.summary.setups);
    let host =
        if model::cpu(report.run).is_some() { "Machine (does not affect the figures)" } else { "Machine" };
    let text = format!(
        "{host}: Linux {kernel} ({architecture}), {cpu}, {cpus}, {memory} of memory, disk {disk}. The seed \
         of the order is {order_seed}, that of the workloads {workload_seed}. fsderby {version}.",
        kernel = on.kernel,
        architecture = machine.architecture,
        cpu = on.cpu,
        cpus = number::count(on.cpus as usize, "CPU"),
        memory = machine.memory,
        disk = format!("{} {}", on.disk.name, on.disk.model).trim(),
        order_seed = plan.plan_seed,
        workload_seed = plan.workload_seed,
        version = machine.fsderby.version
    );
    escaped(&text)
}

/// A table whose first `left` columns are text; all other columns are numbers.
fn table(titles: &[String], lines: impl Iterator<Item = Vec<String>>, left: usize) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let rule = (0..titles.len()).map(|at| if at < left { ":--" } else { "--:" }.to_owned());
    let mut out = vec![line(titles), line(&rule.collect::<Vec<_>>())];
    out.extend(lines.map(|cells| line(&cells)));
    out.join("\n")
}

/// Escapes the Markdown markup in a text and keeps the text on one line, because a label may contain any character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{self, model};

    #[test]
    fn the_tables_hold_headline_and_key_figures() {
        let example = examples::example();
        insta::assert_snapshot!(text(&example.report()));
    }

    #[test]
    fn a_full_ensemble_of_a_modelled_disk_gives_findings() {
        let example = model::samples(13);
        let text = text(&example.report());
        assert!(text.contains("| birchfs | rowanfs | – | alderfs |"), "{text}");
        assert!(text.contains("holds in all 13 samples") && !text.contains("significant"));
    }

    #[test]
    fn how_long_an_fsync_took_stands_with_its_interval() {
        let waits = |rounds| {
            let example = examples::rounds(rounds);
            let mut report = example.report();
            let latency = &mut report.summary.workloads[0].latencies[0];
            latency.operation = "fsync".into();
            text(&report)
        };
        let ten = waits(10);
        assert!(
            ten.contains("| latency of fsync (phase") && ten.contains("comes from resampling whole rounds"),
            "{ten}"
        );
        assert!(waits(9).contains("Percentiles have intervals only with ten or more rounds"));
        assert!(
            !text(&examples::rounds(10).report()).contains("latency of"),
            "no other operation is waited for"
        );
    }

    #[test]
    fn a_label_cannot_break_out_of_its_cell() {
        let mut example = examples::example();
        example.run.plan.candidates[0].label = "a|b<script>\n*c*".into();
        let text = text(&example.report());
        assert!(text.contains(r"a\|b\<script\> \*c\*"));
        let outside_of_code = text.split("```").step_by(2).collect::<String>();
        assert!(!outside_of_code.contains("<script>"));
    }
}
