//! A paper's figures beside the run's, for workloads with exactly the paper's parameters.
//!
//! Compares the paper's figure with our median (or average, if the paper has averages), by kind. A filesystem with extra mkfs or
//! mount options is not the paper's. Absolute speeds depend on the disk, so the order of the filesystems is compared too.

use fsderby_stats::agreement::{self, Order};

use super::{model, setups, timeless};
use crate::analysis::ensemble::sampled;
use crate::papers::{self, Paper, Table, factor};
use crate::report::view::entry::Entry;
use crate::report::view::number::{count, list};
use crate::report::view::published::{Beside, Compared, Figure, Line};
use crate::report::view::row::{Cell, Row};
use crate::schema::declared::{self, Declared};
use crate::schema::job::WorkSpec;
use crate::schema::units::Percent;
use crate::store::Run;

/// `None` if no paper has figures for these parameters, or for any filesystem that took part.
pub fn of(
    run: &Run,
    spec: &WorkSpec,
    rows: &[&Row],
    compared: &[Entry],
    declared: &[&'static Declared],
) -> Option<Beside> {
    let (paper, tables) = papers::of_work(&spec.engine, &spec.parameters)?;
    let ours = Ours { rows, compared, declared, averages: paper.averages, margin: run.plan.margin };
    let tables: Vec<Compared> = tables.into_iter().filter_map(|table| ours.beside(table)).collect();
    if tables.is_empty() {
        return None;
    }
    let mut sentences = Vec::new();
    if tables.iter().all(|table| !table.is_measured) {
        let why = if timeless::of(run).is_some() {
            "The CPU was emulated, so there are no times."
        } else {
            "No trial is valid."
        };
        sentences.push(format!("This run has no figure to compare with the paper's figures. {why}"));
    }
    sentences.push(place(run, &paper));
    Some(Beside { paper, tables, sentences, agreement: None })
}

/// Our side of a paper's table.
pub(super) struct Ours<'o> {
    pub rows: &'o [&'o Row],
    pub compared: &'o [Entry],
    pub declared: &'o [&'static Declared],
    pub averages: bool,
    pub margin: Percent,
}

impl Ours<'_> {
    pub fn beside(&self, table: Table) -> Option<Compared> {
        let lines = self.lines(&table)?;
        let is_measured = lines.iter().flat_map(|l| &l.figures).any(|f| f.here.is_some());
        let title = |metric: &String| match declared::find(self.declared, metric) {
            Some(declared) => declared.heading().to_owned(),
            None => metric.clone(),
        };
        let titles: Vec<String> = table.metrics.iter().map(title).collect();
        let what = if self.averages { "averages" } else { "medians" };
        let sentences = if is_measured { order(&titles, &lines, (self.margin, what)) } else { Vec::new() };
        Some(Compared { table, titles, lines, averages: self.averages, is_measured, sentences })
    }

    fn lines(&self, table: &Table) -> Option<Vec<Line>> {
        let is_plain = |e: &&Entry| e.is_plain && table.figures.contains_key(&e.kind);
        let here: Vec<&Entry> = self.compared.iter().filter(is_plain).collect();
        let absent = table.figures.keys().filter(|kind| !here.iter().any(|e| e.kind == **kind));
        let both = here.iter().map(|e| (&e.label, &e.kind));
        let line = |(label, kind): (&String, &String)| {
            let figures = table.metrics.iter().zip(&table.figures[kind]);
            let cell = |metric: &str| cell(self.rows, metric, label);
            let figures = figures.map(|(metric, figure)| self.figure(*figure, cell(metric), &table.unit));
            Line { filesystem: label.clone(), kind: kind.clone(), figures: figures.collect() }
        };
        (!here.is_empty()).then(|| both.chain(absent.map(|kind| (kind, kind))).map(line).collect())
    }

    fn figure(&self, published: f64, cell: Option<(&str, &Cell)>, unit: &str) -> Figure {
        let ours = |cell: &Cell| if self.averages { cell.mean() } else { cell.median };
        let here = cell.and_then(|(from, cell)| Some(ours(cell)? * factor(from, unit)?));
        // A paper may print 0, which has no ratio.
        let ratio = here.map(|here| here / published).filter(|ratio| ratio.is_finite());
        Figure { published, here, ratio, n: cell.map_or(0, |(_, c)| c.n) }
    }
}

fn cell<'r>(rows: &[&'r Row], metric: &str, label: &str) -> Option<(&'r str, &'r Cell)> {
    let row = rows.iter().find(|r| r.name == metric && r.dimensions.is_empty() && !r.once)?;
    Some((&row.unit, row.cells.iter().find(|c| c.filesystem == label)?))
}

/// Sentences on the order of the filesystems: one for each metric, or a single one if it is the same for all metrics.
fn order(titles: &[String], lines: &[Line], how: (Percent, &str)) -> Vec<String> {
    let metrics = titles.iter().enumerate();
    let orders: Vec<(&String, String)> =
        metrics.map(|(at, title)| (title, order_of(lines, at, how))).collect();
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

/// A filesystem, its figure in the paper, and ours.
type Of<'l> = (&'l Line, f64, f64);

/// `what`: medians or averages.
fn order_of(lines: &[Line], metric: usize, (margin, what): (Percent, &str)) -> String {
    let figures = lines.iter().filter_map(|l| {
        let Figure { published, here, .. } = l.figures[metric];
        Some((l, published, here?))
    });
    let figures: Vec<Of<'_>> = figures.collect();
    let ahead = |(at, a): (usize, _)| figures[at + 1..].iter().map(move |b| (a, b));
    // Two labels of one kind have no order in the paper.
    let pairs: Vec<_> =
        figures.iter().enumerate().flat_map(ahead).filter(|(a, b)| a.0.kind != b.0.kind).collect();
    let order = |(a, b): &(&Of<'_>, &Of<'_>)| agreement::order([a.1, b.1], [a.2, b.2], margin.0 / 100.0);
    let number = |wanted| pairs.iter().filter(|pair| order(pair) == wanted).count();
    let said = |(a, b): &(&Of<'_>, &Of<'_>)| {
        let [above, below] = if a.1 > b.1 { [a, b] } else { [b, a] }.map(|of| &of.0.filesystem);
        format!("{above} before {below}")
    };
    let opposite: Vec<String> = pairs.iter().filter(|p| order(p) == Order::Opposite).map(said).collect();
    let all = count(pairs.len(), "pair");
    let tied = match number(Order::Tied) {
        0 => String::new(),
        1 => format!(" 1 pair differs by at most {margin} in the paper or in this run."),
        tied => format!(" {tied} pairs differ by at most {margin} in the paper or in this run."),
    };
    match (number(Order::Same), opposite.as_slice()) {
        _ if pairs.is_empty() => {
            "no two filesystems have figures both in the paper and in this run.".to_owned()
        }
        (0, []) => {
            format!("none of {all} of filesystems has a clear order both in the paper and in this run.{tied}")
        }
        (same, []) if tied.is_empty() => {
            format!("the {what} of this run are in the paper's order ({}).", count(same, "pair"))
        }
        (same, []) => format!("the {what} of this run are in the paper's order in {same} of {all}.{tied}"),
        (_, opposite) => {
            let (number, said) = (opposite.len(), opposite.join("; "));
            format!(
                "the {what} of this run are in a different order than the paper's in {number} of {all} \
                 (paper: {said}).{tied}"
            )
        }
    }
}

/// `Paper: a partition on a Disk; a processor. This run: on loop, disk sda, a different disk from the paper's.`
fn place(run: &Run, paper: &Paper) -> String {
    let modelled = run.records.iter().find_map(sampled).map(|m| m.disk);
    let is_model = modelled.is_some() && modelled == paper.model;
    let other = if is_model { "a model of the paper's disk" } else { "a different disk from the paper's" };
    let machine = setups::first_on_machine(run).disk;
    let here = model::disk(run)
        .unwrap_or_else(|| format!("disk {} {}", machine.name, machine.model).trim_end().to_owned());
    let (disk, rest, testbed) = (&paper.disk, &paper.machine, run.plan.testbeds().join(" and "));
    format!("Paper: {disk}; {rest}. This run: on {testbed}, {here}, {other}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{self, Example, published as example};
    use crate::schema::power_cut::PowerCut;
    use crate::schema::setup::Fidelity;
    use crate::stages;

    fn beside(example: &Example) -> Option<Beside> {
        example.report().summary.workloads[0].published.clone()
    }

    fn table(example: &Example) -> Compared {
        beside(example).expect("it is the paper's work").tables.remove(0)
    }

    fn line(label: &str, figures: [f64; 2]) -> Line {
        let [published, here] = figures;
        let figures = vec![Figure { published, here: Some(here), ratio: Some(here / published), n: 5 }];
        Line { filesystem: label.into(), kind: label.into(), figures }
    }

    #[test]
    fn figures_stand_in_the_unit_of_their_heading_however_small_they_are() {
        let mut compared = table(&example::on_loop());
        compared.table.unit = "s".into();
        for figure in compared.lines.iter_mut().flat_map(|line| &mut line.figures) {
            figure.here = Some(0.487);
        }
        let shown = compared.shown();
        let at = shown.columns.iter().position(|column| column.what == "here").expect("a column of ours");
        assert_eq!((shown.columns[at].under.as_str(), shown.lines[0].1[at].as_str()), ("s", "0.487"));
    }

    #[test]
    fn a_kind_counts_under_any_label_and_by_conversion_but_not_with_options() {
        let table = table(&example::on_loop());
        let lines: Vec<&str> = table.lines.iter().map(|l| l.filesystem.as_str()).collect();
        let absent = table.table.figures.keys().find(|k| lines.contains(&k.as_str())).map(String::as_str);
        assert_eq!(lines[..4], ["alderfs", "birchfs", "birchfs-journal", "cedarfs"]);
        assert_eq!((lines.len(), absent), (5, Some(lines[4])));
        assert!(table.lines[4].figures.iter().all(|f| f.here.is_none()));
    }

    #[test]
    fn ours_is_the_median_in_the_papers_unit() {
        let example = example::on_loop();
        let summary = example.report().summary;
        let row = summary.workloads[0].rows().find(|r| r.name == "read.throughput").expect("it was measured");
        let figure = &table(&example).lines[0].figures[0];
        let median = row.cells[0].median.expect("it was measured");
        assert_eq!((figure.here, figure.n), (Some(median * 1024.0), 6));
        assert_eq!(figure.ratio, Some(median * 1024.0 / figure.published));
    }

    #[test]
    fn all_tables_of_the_work_are_there_and_averages_stand_beside_averages() {
        let example = example::in_many_tables();
        let beside = beside(&example).expect("it is the paper's work");
        assert!(beside.tables.len() > 10, "{}", beside.tables.len());
        let first = &beside.tables[0];
        assert_eq!(first.table.metrics, ["mkfs.time", "mount.time"]);
        assert!(
            first.caption().ends_with("; in this run, the averages of 6 trials each."),
            "{}",
            first.caption()
        );
        let summary = example.report().summary;
        let row = summary.workloads[0].rows().find(|r| r.name == "mkfs.time").expect("it was measured");
        let of_first = row.cells.iter().find(|c| c.filesystem == first.lines[0].filesystem);
        let values: Vec<f64> = of_first.expect("it took part").values.iter().map(|v| v.value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert_eq!(first.lines[0].figures[0].here, Some(mean));
        let figures = beside.tables.iter().flat_map(|table| &table.lines).flat_map(|line| &line.figures);
        let zeros: Vec<&Figure> = figures.filter(|figure| figure.published == 0.0).collect();
        assert!(!zeros.is_empty() && zeros.iter().all(|figure| figure.ratio.is_none()));
    }

    #[test]
    fn the_order_is_told_and_what_the_margin_makes_of_it() {
        let lines = [line("a", [3.0, 30.0]), line("b", [3.05, 20.0]), line("c", [9.0, 40.0])];
        let order = |lines: &[Line]| order_of(lines, 0, (Percent(3.0), "medians"));
        assert_eq!(
            order(&lines),
            "the medians of this run are in the paper's order in 2 of 3 pairs. 1 pair differs by at most 3% \
             in the paper or in this run."
        );
        assert_eq!(order(&lines[1..]), "the medians of this run are in the paper's order (1 pair).");
        let exchanged = [line("a", [3.0, 30.0]), line("b", [4.0, 20.0]), line("c", [4.0, 40.0])];
        assert_eq!(
            order(&exchanged),
            "the medians of this run are in a different order than the paper's in 1 of 3 pairs (paper: b \
             before a). 1 pair differs by at most 3% in the paper or in this run."
        );
        assert_eq!(
            order(&exchanged[1..]),
            "none of 1 pair of filesystems has a clear order both in the paper and in this run. 1 pair differs by at most \
             3% in the paper or in this run."
        );
        let mut twice = [line("a", [3.0, 30.0]), line("a again", [3.0, 31.0])];
        twice[1].kind = "a".into();
        assert_eq!(order(&twice), "no two filesystems have figures both in the paper and in this run.");
    }

    #[test]
    fn other_parameters_and_work_cut_short_are_not_the_papers() {
        let mut changed = example::on_loop();
        changed.run.plan.workloads[0].work.parameters.insert("number".into(), 17.into());
        assert!(beside(&changed).is_none());
        let mut cut = example::on_loop();
        let label = cut.run.plan.workloads[0].label.clone();
        cut.run.plan.scenarios[0] = stages::short_form(&label, PowerCut::Operation(700));
        assert!(beside(&cut).is_none());
        assert!(beside(&examples::example()).is_none());
    }

    #[test]
    fn a_model_of_the_papers_disk_is_told_from_another_disk() {
        let said = |example: &Example| beside(example).expect("it is the paper's work").sentences.join(" ");
        let model = said(&example::on_model());
        assert!(model.ends_with("a model of the paper's disk."), "{model}");
        let other = said(&example::on_loop());
        assert!(other.ends_with("on loop, disk sda Example Disk 7200, a different disk from the paper's."));
    }

    #[test]
    fn where_times_do_not_count_no_figure_of_ours_is_shown_and_the_reason_is() {
        let mut example = example::on_model();
        example.run.records.iter_mut().for_each(|r| r.fidelity = Fidelity::VmEmulated);
        let beside = beside(&example).expect("it is the paper's work");
        assert!(
            beside.sentences[0].starts_with(
                "This run has no figure to compare with the paper's figures. The CPU was emulated"
            )
        );
        assert!(beside.tables[0].shown().columns.iter().all(|c| c.what == "published"));
        assert!(!beside.tables[0].caption().contains("here") && beside.tables[0].sentences.is_empty());
    }
}
