//! A paper's figures beside the run's own, where a workload has exactly the parameters that the paper's figures belong to.
//!
//! What is set beside each other is the paper's figure and the median here, by kind; a filesystem with mkfs or mount options of
//! its own is another than the paper's. Absolute speeds differ with the disk, so the order of the filesystems is told too.

use serde::Serialize;

use super::ensemble;
use super::heading;
use super::number::{Scale, count, list};
use super::summary::{Cell, Entry, Row};
use crate::analysis::ensemble::sampled;
use crate::declared::{self, Declared};
use crate::schema::job::WorkSpec;
use crate::schema::units::Percent;
use crate::store::Run;
use crate::workloads::published::{self, Published, factor};

#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// The ready set whose parameters these are, whatever the workload's label.
    pub set: &'static str,
    pub published: Published,
    /// What the published metrics are called here.
    #[serde(skip)]
    titles: Vec<String>,
    /// The compared ones that the paper has too, in the order of the plan; then what only the paper has.
    pub lines: Vec<Line>,
    /// Whether anything stands here beside the paper's figures.
    #[serde(skip)]
    is_measured: bool,
    /// The order, what it was measured on, and why there are no figures of ours where there are none.
    pub sentences: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The label here; the kind where it did not take part.
    pub filesystem: String,
    pub kind: String,
    /// One for each of the published metrics.
    pub figures: Vec<Figure>,
}

/// All in the published unit.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub published: f64,
    /// The median.
    pub here: Option<f64>,
    /// Here ÷ published.
    pub ratio: Option<f64>,
    /// How many trials the median is of.
    pub n: usize,
}

/// What every format shows, in words.
pub struct Shown {
    pub columns: Vec<Column>,
    pub lines: Vec<(String, Vec<String>)>,
}

pub struct Column {
    /// `read`
    pub metric: String,
    /// `published`, `here`, `here ÷`
    pub what: &'static str,
    /// The unit; `published` under `here ÷`.
    pub under: String,
}

/// `None` where no paper has figures for these parameters, or none for any filesystem that took part.
pub fn of(
    run: &Run,
    spec: &WorkSpec,
    rows: &[&Row],
    compared: &[Entry],
    declared: &[&'static Declared],
) -> Option<Beside> {
    // Work that is cut short is not the paper's.
    let (set, published) =
        published::find(&spec.engine, &spec.parameters).filter(|_| run.plan.power_cut.is_none())?;
    let lines = lines(&published, rows, compared)?;
    let is_measured = lines.iter().flat_map(|l| &l.figures).any(|f| f.here.is_some());
    let title = |metric: &String| match declared::find(declared, metric) {
        Some(declared) => declared.heading().to_owned(),
        None => metric.clone(),
    };
    let titles: Vec<String> = published.metrics.iter().map(title).collect();
    let mut sentences = Vec::new();
    if is_measured {
        sentences.extend(order(&titles, &lines, run.plan.margin));
    } else {
        let why = heading::timeless(run).map(|why| why.brief.trim_end());
        sentences.push(format!("No figure of this run stands here. {}", why.unwrap_or("No trial counts.")));
    }
    sentences.push(place(run, &published));
    Some(Beside { set, published, titles, lines, is_measured, sentences })
}

fn lines(published: &Published, rows: &[&Row], compared: &[Entry]) -> Option<Vec<Line>> {
    let is_plain = |e: &&Entry| e.is_plain && published.figures.contains_key(&e.kind);
    let here: Vec<&Entry> = compared.iter().filter(is_plain).collect();
    let absent = published.figures.keys().filter(|kind| !here.iter().any(|e| e.kind == **kind));
    let both = here.iter().map(|e| (&e.label, &e.kind));
    let line = |(label, kind): (&String, &String)| {
        let figures = published.metrics.iter().zip(&published.figures[kind]);
        let cell = |metric: &str| cell(rows, metric, label);
        let figures = figures.map(|(metric, figure)| beside(*figure, cell(metric), &published.unit));
        Line { filesystem: label.clone(), kind: kind.clone(), figures: figures.collect() }
    };
    (!here.is_empty()).then(|| both.chain(absent.map(|kind| (kind, kind))).map(line).collect())
}

fn cell<'r>(rows: &[&'r Row], metric: &str, label: &str) -> Option<(&'r str, &'r Cell)> {
    let row = rows.iter().find(|r| r.name == metric && r.dimensions.is_empty() && !r.once)?;
    Some((&row.unit, row.cells.iter().find(|c| c.filesystem == label)?))
}

fn beside(published: f64, cell: Option<(&str, &Cell)>, unit: &str) -> Figure {
    let here = cell.and_then(|(from, cell)| Some(cell.median? * factor(from, unit)?));
    Figure { published, here, ratio: here.map(|h| h / published), n: cell.map_or(0, |(_, c)| c.n) }
}

/// For each metric, and once where all metrics say the same.
fn order(titles: &[String], lines: &[Line], margin: Percent) -> Vec<String> {
    let metrics = titles.iter().enumerate();
    let orders: Vec<(&String, String)> =
        metrics.map(|(at, title)| (title, order_of(lines, at, margin))).collect();
    let Some((_, first)) = orders.first() else { return Vec::new() };
    if orders.iter().all(|(_, order)| order == first) {
        return vec![sentence(&list(titles), first)];
    }
    orders.iter().map(|(metric, order)| sentence(metric, order)).collect()
}

/// `Read and write: the order …`
fn sentence(metrics: &str, order: &str) -> String {
    let (first, rest) = metrics.split_at(metrics.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}: {order}", first.to_uppercase())
}

fn order_of(lines: &[Line], metric: usize, margin: Percent) -> String {
    let figures = lines.iter().filter_map(|l| {
        let Figure { published, here, .. } = l.figures[metric];
        Some((l.filesystem.as_str(), published, here?))
    });
    let figures: Vec<(&str, f64, f64)> = figures.collect();
    let ahead = |(at, a): (usize, _)| figures[at + 1..].iter().map(move |b| (a, b));
    // Two labels of one kind have no order in the paper.
    let pairs: Vec<_> = figures.iter().enumerate().flat_map(ahead).filter(|(a, b)| a.1 != b.1).collect();
    let is_small = |x: f64, y: f64| x.max(y) / x.min(y) <= 1.0 + margin.0 / 100.0;
    let changed = pairs.iter().filter(|(a, b)| (a.1 - b.1) * (a.2 - b.2) < 0.0);
    let said = |(a, b): &(&(&str, f64, f64), &(&str, f64, f64))| {
        let near = match (is_small(a.1, b.1), is_small(a.2, b.2)) {
            (true, true) => format!(" (within {margin} in both)"),
            (true, false) => format!(" (within {margin} there)"),
            (false, true) => format!(" (within {margin} here)"),
            (false, false) => String::new(),
        };
        let [above, below] = if a.1 > b.1 { [a.0, b.0] } else { [b.0, a.0] };
        format!("{above} is above {below}{near}")
    };
    let changed: Vec<String> = changed.map(said).collect();
    match (pairs.len(), changed.len()) {
        (0, _) => "there are no two filesystems to put into an order.".to_owned(),
        (n, 0) => format!("the order is that of the paper ({}).", count(n, "pair")),
        (n, m) => {
            let changed = changed.join("; ");
            format!(
                "the order is not the paper's; {m} of {} changed places. In the paper {changed}.",
                count(n, "pair")
            )
        }
    }
}

/// `There: a partition on a Disk; a processor. Here: testbed loop, disk sda. The disk here is another one.`
fn place(run: &Run, published: &Published) -> String {
    let modelled = run.records.iter().find_map(sampled).map(|m| m.disk);
    let is_model = modelled.is_some() && modelled == published.model;
    let other = if is_model { "is a model of the one there" } else { "is another one" };
    let machine = &run.machine.disk;
    let here = ensemble::disk(run)
        .unwrap_or_else(|| format!("disk {} {}", machine.name, machine.model).trim_end().to_owned());
    let (disk, rest, testbed) = (&published.disk, &published.machine, &run.plan.testbed);
    format!("There: {disk}; {rest}. Here: testbed {testbed}, {here}. The disk here {other}.")
}

impl Beside {
    pub const TITLE: &'static str = "Beside the published figures";

    /// `A. Author, "Filesystems", tables 3 and 4; here the medians of 5 trials.`
    pub fn caption(&self) -> String {
        let Published { paper, place, .. } = &self.published;
        let n = || self.lines.iter().flat_map(|l| &l.figures).map(|f| f.n).filter(|n| *n > 0);
        let here = match (n().min(), n().max()) {
            (Some(1), Some(1)) => "; here one trial each".to_owned(),
            (Some(least), Some(most)) if least == most => format!("; here the medians of {most} trials each"),
            (Some(least), Some(most)) => format!("; here the medians of {least} to {most} trials each"),
            _ => String::new(),
        };
        format!("{paper}, {place}{here}.")
    }

    /// What exactly is compared.
    pub fn note(&self) -> String {
        self.published.note.split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// One table of all metrics.
    pub fn shown(&self) -> Shown {
        self.table(0..self.published.metrics.len())
    }

    /// A table for each metric, where one of all would be too wide.
    pub fn apart(&self) -> Vec<Shown> {
        (0..self.published.metrics.len()).map(|at| self.table(at..at + 1)).collect()
    }

    fn table(&self, metrics: std::ops::Range<usize>) -> Shown {
        let mut lines: Vec<(String, Vec<String>)> =
            self.lines.iter().map(|l| (l.named(), Vec::new())).collect();
        let mut columns = Vec::new();
        for at in metrics {
            for (column, cells) in self.columns(at) {
                columns.push(column);
                lines.iter_mut().zip(cells).for_each(|((_, line), cell)| line.push(cell));
            }
        }
        Shown { columns, lines }
    }

    fn columns(&self, metric: usize) -> Vec<(Column, Vec<String>)> {
        let unit = &self.published.unit;
        let figures = || self.lines.iter().map(|l| &l.figures[metric]);
        let column =
            |what, under: &str| Column { metric: self.titles[metric].clone(), what, under: under.to_owned() };
        // As printed, with no digit less or more.
        let published = figures().map(|f| f.published.to_string()).collect();
        let mut columns = vec![(column("published", unit), published)];
        if self.is_measured {
            let numbers = |value: fn(&Figure) -> Option<f64>, unit: &str| -> Vec<String> {
                let scale = Scale::of(unit, figures().filter_map(value));
                figures().map(|f| value(f).map_or_else(|| "–".to_owned(), |v| scale.number(v))).collect()
            };
            columns.push((column("here", unit), numbers(|f| f.here, unit)));
            columns.push((column("here ÷", "published"), numbers(|f| f.ratio, "")));
        }
        columns
    }
}

impl Line {
    /// The label, with the kind where it does not say it.
    fn named(&self) -> String {
        let Line { filesystem, kind, .. } = self;
        if filesystem == kind { kind.clone() } else { format!("{filesystem} ({kind})") }
    }
}

impl Column {
    /// `read, published MiB/s`, `read, here ÷ published`
    pub fn in_a_line(&self) -> String {
        format!("{}, {} {}", self.metric, self.what, self.under)
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::super::example::Example;
    use super::super::example_published;
    use super::super::terminal::{self, Detail};
    use super::super::{example, json, markdown};
    use super::*;
    use crate::runner::power_cut::PowerCut;
    use crate::schema::setup::Fidelity;

    fn beside(example: &Example) -> Option<Beside> {
        example.report().summary.workloads[0].published.clone()
    }

    /// From its heading to the next one.
    fn section(text: &str, end: &str) -> String {
        let (_, rest) = text.split_once(Beside::TITLE.trim_start_matches('B')).expect("there is a section");
        rest.split(end).next().unwrap_or_default().trim().to_owned()
    }

    fn in_terminal(example: &Example, width: u16) -> String {
        let text = terminal::text(&example.report(), width, Detail::Glance);
        section(&strip_str(&text).to_string(), "\n\nletters-in-memory")
    }

    fn line(label: &str, figures: [f64; 2]) -> Line {
        let [published, here] = figures;
        let figures = vec![Figure { published, here: Some(here), ratio: Some(here / published), n: 5 }];
        Line { filesystem: label.into(), kind: label.into(), figures }
    }

    #[test]
    fn a_paper_stands_beside_the_run_in_every_format() {
        let example = example_published::on_loop();
        let narrow = in_terminal(&example, 80);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80));
        insta::assert_snapshot!("terminal", narrow);
        insta::assert_snapshot!("markdown", section(&markdown::text(&example.report()), "\n## "));
        let mut bytes = Vec::new();
        json::write(&example.report(), &mut bytes).expect("a buffer takes everything");
        let all: serde_json::Value = serde_json::from_slice(&bytes).expect("what is written is JSON");
        let beside = &all["summary"]["workloads"][0]["published"];
        assert_eq!(beside["set"], example_published::SET);
        insta::assert_json_snapshot!("json_line", beside["lines"][0]);
        assert!(all["summary"]["workloads"][1].get("published").is_none());
    }

    #[test]
    fn a_narrow_terminal_gets_a_table_for_each_metric() {
        let example = example_published::on_loop();
        let [narrow, wide] = [52, 200].map(|width| in_terminal(&example, width));
        assert_eq!(narrow.matches("here ÷").count(), 2);
        assert_eq!(wide.lines().filter(|line| line.contains("here ÷")).count(), 1);
    }

    #[test]
    fn a_kind_counts_under_any_label_and_by_conversion_but_not_with_options() {
        let beside = beside(&example_published::on_loop()).expect("it is the paper's work");
        let lines: Vec<&str> = beside.lines.iter().map(|l| l.filesystem.as_str()).collect();
        let absent =
            beside.published.figures.keys().find(|k| lines.contains(&k.as_str())).map(String::as_str);
        assert_eq!(lines[..4], ["alderfs", "birchfs", "birchfs-journal", "cedarfs"]);
        assert_eq!((lines.len(), absent), (5, Some(lines[4])));
        assert!(beside.lines[4].figures.iter().all(|f| f.here.is_none()));
    }

    #[test]
    fn ours_is_the_median_in_the_papers_unit() {
        let example = example_published::on_loop();
        let summary = example.report().summary;
        let row = summary.workloads[0].rows().find(|r| r.name == "read.throughput").expect("it was measured");
        let figure = &beside(&example).expect("it is the paper's work").lines[0].figures[0];
        let median = row.cells[0].median.expect("it was measured");
        assert_eq!((figure.here, figure.n), (Some(median * 1024.0), 6));
        assert_eq!(figure.ratio, Some(median * 1024.0 / figure.published));
    }

    #[test]
    fn the_order_is_told_and_what_the_margin_makes_of_it() {
        let lines = [line("a", [3.0, 30.0]), line("b", [3.05, 20.0]), line("c", [9.0, 40.0])];
        let order = |lines: &[Line]| order_of(lines, 0, Percent(3.0));
        assert_eq!(
            order(&lines),
            "the order is not the paper's; 1 of 3 pairs changed places. In the paper b is above a (within 3% there)."
        );
        assert_eq!(order(&lines[1..]), "the order is that of the paper (1 pair).");
        let twice = [line("a", [3.0, 30.0]), line("a again", [3.0, 31.0])];
        assert_eq!(order(&twice), "there are no two filesystems to put into an order.");
    }

    #[test]
    fn other_parameters_and_work_cut_short_are_not_the_papers() {
        let mut changed = example_published::on_loop();
        changed.run.plan.workloads[0].work.parameters.insert("number".into(), 17.into());
        assert!(beside(&changed).is_none());
        let mut cut = example_published::on_loop();
        cut.run.plan.power_cut = Some(PowerCut::Operation(700));
        assert!(beside(&cut).is_none());
        assert!(beside(&example::example()).is_none());
    }

    #[test]
    fn a_model_of_the_papers_disk_is_told_from_another_disk() {
        let said = |example: &Example| beside(example).expect("it is the paper's work").sentences.join(" ");
        let model = said(&example_published::on_model());
        assert!(model.ends_with("The disk here is a model of the one there."), "{model}");
        let other = said(&example_published::on_loop());
        assert!(other.ends_with("testbed loop, disk sda Example Disk 7200. The disk here is another one."));
    }

    #[test]
    fn where_times_do_not_count_no_figure_of_ours_is_shown_and_the_reason_is() {
        let mut example = example_published::on_model();
        example.run.records.iter_mut().for_each(|r| r.fidelity = Fidelity::FloorBound);
        let beside = beside(&example).expect("it is the paper's work");
        assert!(
            beside.sentences[0]
                .starts_with("No figure of this run stands here. The modelled disk is floor-bound")
        );
        assert!(beside.shown().columns.iter().all(|c| c.what == "published"));
        assert!(!beside.caption().contains("here"));
    }
}
