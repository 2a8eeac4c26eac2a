//! The HTML report: one file that needs no network, no script and no program but a browser.
//!
//! The template is checked when fsderby is built, and it escapes every text. What is here turns the summary into the
//! words and lengths that the template writes.

mod bias;
pub use bias::BIAS;
mod chart;
mod disk;
mod floor;
mod heat;
pub mod imported;
mod in_order;
mod listing;
mod needs;
mod over_time;
mod part;
mod ratios;
mod spread;
mod tails;

use std::io::Write;

use anyhow::Context;
use askama::Template;

use self::chart::Bars;
use self::disk::DiskUse;
use self::floor::Extrapolation;
use self::in_order::InOrder;
use self::listing::{Round, Trials};
use self::needs::Choosing;
use self::over_time::OverTime;
use self::part::Part;
use self::ratios::Ratios;
use self::spread::POINTS_MOST;
use self::tails::Tails;
use super::{Format, Goes};
use crate::report::Report;
use crate::report::build::{model, setups, validity};
use crate::report::view::Summary;
use crate::report::view::entry::look;
use crate::report::view::heading::Standing;
use crate::report::view::imported::Imported;
use crate::report::view::latency;
use crate::report::view::look::Look;
use crate::report::view::number::{self, Scale};
use crate::report::view::published::Beside;
use crate::report::view::row::Row;
use crate::report::view::setups::Setups;
use crate::report::view::standings::{self, PairShown, Standings};
use crate::report::view::validity::ValidityChecks;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::machine::{Disk, Machine, OnMachine, Tool};
use crate::store::Run;
use crate::visible::visible;

/// More comparisons than these are no opening: each stands with its workload, and what they have in common at the top.
const OPENING: usize = 4;
/// What decides more pairs stands in the table alone.
const PAIRS_DRAWN: usize = 12;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'r> {
    run: &'r Run,
    summary: &'r Summary,
    /// What all candidates have in common, and the host: title and text.
    facts: Vec<(&'static str, String)>,
    /// Of the kinds that took part.
    tools: Vec<&'r Tool>,
    /// Over all headline metrics, and then each; where there are many of them, each stands with its workload alone.
    overall: Option<Ratios<'r>>,
    opening: Vec<Ratios<'r>>,
    works: Vec<Work<'r>>,
    choosing: Choosing<'r>,
    abilities: Abilities,
    validity: ValidityChecks,
    trials: Vec<Trials>,
    bias: &'static [&'static str],
}

/// A workload's part of the page.
struct Work<'r> {
    summary: &'r WorkloadSummary,
    /// Where the contents lead: `work-1`.
    anchor: String,
    notes: Vec<String>,
    /// Where the page does not open with them.
    ratios: Vec<Ratios<'r>>,
    headlines: Vec<Bars>,
    in_order: Vec<InOrder>,
    over_time: Vec<OverTime>,
    tails: Vec<Tails>,
    parts: Vec<Part<'r>>,
    latencies: Vec<Latencies>,
    disk: Option<DiskUse>,
    /// By metric; empty without a verdict.
    findings: Vec<Findings<'r>>,
    order: Vec<Round>,
    /// Rounds that are not among them.
    more_rounds: usize,
}

impl Work<'_> {
    /// Whether some have more trials than are drawn as points.
    fn has_spreads(&self) -> bool {
        self.headlines.iter().flat_map(|chart| &chart.bars).any(|bar| bar.spread.is_some())
    }
}

/// What was found of one metric.
struct Findings<'r> {
    caption: String,
    standings: Vec<Standings>,
    pairs: Vec<PairShown<'r>>,
    /// What the program that plays a modelled disk does to the ratios.
    floor: Option<Extrapolation>,
}

impl Findings<'_> {
    /// What decides them is drawn.
    fn open(&self) -> impl Iterator<Item = &PairShown<'_>> {
        self.pairs.iter().filter(|p| p.is_open()).take(PAIRS_DRAWN)
    }
}

struct Latencies {
    title: String,
    unit: &'static str,
    /// Why some have no p99.9.
    lacking: &'static str,
    /// Filesystem and its look, then how many, p50, p90, p99, p99.9 and the slowest.
    rows: Vec<(String, Look, Vec<String>)>,
}

/// What the kinds can do: a line for each ability, a column for each kind.
struct Abilities {
    kinds: Vec<String>,
    lines: Vec<(&'static str, Vec<Answer>)>,
    sources: Vec<&'static str>,
}

struct Answer {
    text: String,
    source: &'static str,
    footnote: usize,
}

pub struct Html;

impl Format for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn help(&self) -> &'static str {
        "Write one HTML file that opens from disk, without network or scripts"
    }

    fn goes(&self) -> Goes {
        Goes::IntoFile
    }

    fn write(&self, report: &Report<'_>, to: &mut dyn Write) -> anyhow::Result<()> {
        Ok(to.write_all(visible(&page(report)?).as_bytes())?)
    }

    fn write_imported(&self, all: &[Imported], to: &mut dyn Write) -> anyhow::Result<()> {
        Ok(to.write_all(imported::page(all)?.as_bytes())?)
    }
}

/// The whole page.
pub fn page(report: &Report<'_>) -> anyhow::Result<String> {
    let Report { run, summary } = report;
    let opens = summary.workloads.iter().map(|work| work.comparisons.len()).sum::<usize>() <= OPENING;
    let all = summary.workloads.iter().filter(|_| opens).flat_map(|work| &work.comparisons);
    let page = Page {
        run,
        summary,
        overall: summary
            .overall
            .as_ref()
            .and_then(|all| ratios::of(all, all.title.clone(), &summary.filesystems)),
        opening: all.filter_map(|c| ratios::of(c, c.about(), &summary.filesystems)).collect(),
        facts: facts(run, summary),
        tools: run
            .machine
            .tools
            .iter()
            .filter(|t| summary.filesystems.iter().any(|f| f.kind == t.kind))
            .collect(),
        works: summary
            .workloads
            .iter()
            .enumerate()
            .map(|(at, w)| work(run, summary, w, at, !opens))
            .collect(),
        choosing: Choosing::of(summary, |filesystem| look(&summary.filesystems, filesystem)),
        abilities: abilities(summary),
        validity: validity::of(run, summary),
        trials: summary.workloads.iter().map(|w| listing::trials(run, w)).collect(),
        bias: BIAS,
    };
    page.render().context("render the page")
}

/// `sda Example Disk, 500 GiB, rotating, scheduler mq-deadline; images on cedarfs (rw,relatime)`
fn disk_in_words(disk: &Disk) -> String {
    let named = format!("{} {}", disk.name, disk.model);
    let turns = if disk.rotational { "rotating" } else { "not rotating" };
    // The kernel lists all that it has, with the one that is used in brackets.
    let scheduler = disk.scheduler.split(['[', ']']).nth(1).unwrap_or(&disk.scheduler);
    let images = format!("images on {} ({})", disk.fstype, disk.options.join(","));
    format!("{}, {}, {turns}, scheduler {scheduler}; {images}", named.trim(), disk.size)
}

fn facts(run: &Run, summary: &Summary) -> Vec<(&'static str, String)> {
    let (plan, machine) = (&run.plan, &run.machine);
    let on = setups::shown_of_machine(run, &summary.setups);
    let linux = format!("{} {} ({})", on.kernel, on.kernel_build, machine.architecture);
    if summary.setups.differ() {
        let common = summary.setups.common.iter().map(|(factor, value)| (*factor, value.clone()));
        let host = [
            ("volume", plan.size.to_string()),
            ("host: Linux", linux),
            ("host: processor", processor(&on, machine)),
            ("host: memory", machine.memory.to_string()),
        ];
        return common.chain(host).collect();
    }
    let memory = plan.memory.map_or_else(String::new, |memory| format!(", {memory} of memory"));
    vec![
        ("Testbed", format!("{}, a volume of {}{memory}", plan.testbed, plan.size)),
        ("Linux", linux),
        ("Processor", model::cpu(run).unwrap_or_else(|| processor(&on, machine))),
        ("Memory", machine.memory.to_string()),
        ("Disk", model::disk(run).unwrap_or_else(|| disk_in_words(&on.disk))),
    ]
}

fn processor(on: &OnMachine, machine: &Machine) -> String {
    let under = match machine.hypervisor.as_str() {
        "" => String::new(),
        hypervisor => format!("; hypervisor: {hypervisor}"),
    };
    format!("{}, {} CPUs{under}", on.cpu, on.cpus)
}

impl Page<'_> {
    fn look(&self, filesystem: &str) -> Look {
        look(&self.summary.filesystems, filesystem)
    }
}

fn work<'r>(
    run: &'r Run,
    summary: &'r Summary,
    work: &'r WorkloadSummary,
    at: usize,
    has_ratios: bool,
) -> Work<'r> {
    let entries = &summary.filesystems;
    let headlines = work.headlines();
    let comparisons = work.comparisons.iter().filter(|_| has_ratios);
    let waited_for = work.latencies.iter().filter(|latency| latency.is_of_fsync());
    let others = work.latencies.iter().filter(|latency| !latency.is_of_fsync());
    let to = work.comparisons.first().map(|comparison| comparison.to.as_str());
    let (order, more_rounds) = listing::order(run, summary, work);
    Work {
        summary: work,
        anchor: format!("work-{}", at + 1),
        notes: work.notes(),
        ratios: comparisons.filter_map(|c| ratios::of(c, c.title.clone(), entries)).collect(),
        headlines: headlines.iter().filter_map(|row| chart::bars(row, entries)).collect(),
        in_order: headlines.iter().filter_map(|row| in_order::of(row, entries)).collect(),
        over_time: work.over_time.iter().map(|courses| over_time::of(courses, entries)).collect(),
        parts: work.sections.iter().map(|section| part::of(section, entries, to)).collect(),
        tails: waited_for.chain(others).filter_map(|latency| tails::of(latency, entries)).collect(),
        latencies: work.latencies.iter().map(|l| latencies(summary, l)).collect(),
        findings: findings(summary, work),
        disk: disk::of(run, work, |label| look(entries, label)),
        order,
        more_rounds,
    }
}

fn findings<'r>(summary: &Summary, work: &'r WorkloadSummary) -> Vec<Findings<'r>> {
    if summary.heading.standing != Standing::Verdict {
        return Vec::new();
    }
    let margin = summary.margin.0 / 100.0;
    let of = |row: &Row| Findings {
        floor: floor::of(&standings::pairs(work, row).collect::<Vec<_>>(), margin),
        caption: standings::caption(row, &summary.verdict),
        standings: standings::standings(work, row),
        pairs: standings::shown(work, row),
    };
    standings::judged(work).into_iter().map(of).collect()
}

fn latencies(summary: &Summary, latency: &latency::Latency) -> Latencies {
    let ns = latency.unit == "ns";
    let divisor = if ns { 1000.0 } else { 1.0 };
    let values = |row: &latency::Row| {
        let all = [Some(row.p50), Some(row.p90), Some(row.p99), row.p999, Some(row.max)];
        all.map(|value| value.map(|value| value as f64 / divisor))
    };
    let column = |at: usize| Scale::of("", latency.rows.iter().filter_map(|row| values(row)[at]));
    let scales: Vec<Scale> = (0..5).map(column).collect();
    let row = |row: &latency::Row| {
        let shown =
            |(value, scale): (Option<f64>, &Scale)| value.map_or_else(|| "–".to_owned(), |v| scale.number(v));
        let percentiles = values(row).into_iter().zip(&scales).map(shown);
        let numbers = std::iter::once(number::grouped(&row.n.to_string())).chain(percentiles).collect();
        (row.filesystem.clone(), look(&summary.filesystems, &row.filesystem), numbers)
    };
    Latencies {
        title: latency.title(),
        unit: if ns { "µs" } else { "" },
        lacking: if latency.lacks_p999() { latency::NO_P999 } else { "" },
        rows: latency.rows.iter().map(row).collect(),
    }
}

fn abilities(summary: &Summary) -> Abilities {
    let mut sources: Vec<&'static str> = Vec::new();
    let mut footnote = |source: &'static str| {
        let at = sources.iter().position(|s| *s == source).unwrap_or_else(|| {
            sources.push(source);
            sources.len() - 1
        });
        at + 1
    };
    let mut lines = Vec::new();
    for (at, fact) in summary.kinds.first().map(|k| k.facts.as_slice()).unwrap_or_default().iter().enumerate()
    {
        let answers = summary.kinds.iter().map(|kind| {
            let fact = &kind.facts[at];
            Answer { text: fact.value.clone(), source: fact.source, footnote: footnote(fact.source) }
        });
        lines.push((fact.title, answers.collect()));
    }
    Abilities { kinds: summary.kinds.iter().map(|k| k.name.clone()).collect(), lines, sources }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};
    use std::path::PathBuf;

    use super::*;
    use crate::analysis::dataset::counted;
    use crate::report::examples::{self, model, published, verdict};
    use crate::report::view::look::MARKS;
    use crate::schema::finding::Guard;
    use crate::schema::metric::Metric;
    use crate::schema::reason::Reason;

    fn page_of(example: &examples::Example) -> String {
        page(&example.report()).expect("the page renders")
    }

    /// Beside the test programs, so that a change can be looked at in a browser.
    fn leave(name: &str, page: &str) {
        let folder: PathBuf = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        std::fs::write(folder.join(name), page).unwrap();
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = page_of(&examples::example());
        leave("report-example.html", &page);
        for loading in ["http:", "https:", "src=", "@import", "<script", "<link rel=\"stylesheet", "url(//"] {
            assert!(!page.contains(loading), "{loading}");
        }
    }

    #[test]
    fn it_follows_the_light_or_dark_setting() {
        let page = page_of(&examples::example());
        assert!(page.contains("prefers-color-scheme: dark"));
        assert!(page.contains(r#"name="color-scheme" content="light dark""#));
        assert!(!page.contains("fill=\"#"), "colours belong into the style sheet");
    }

    #[test]
    fn every_counted_trial_of_the_headline_is_a_point() {
        let example = examples::example();
        let page = page_of(&example);
        for record in counted(&example.run) {
            let point = format!("<title>{}, round {}:", record.filesystem, record.round);
            assert!(page.contains(&point), "{}", record.trial);
        }
    }

    #[test]
    fn a_page_of_many_rounds_has_no_more_elements_than_one_of_some() {
        let [some, many] = [60, 180].map(examples::rounds);
        let pages = [&some, &many].map(page_of);
        leave("report-many.html", &pages[1]);
        let elements = pages.each_ref().map(|page| page.matches('<').count());
        // Where marks of a picture meet, one is left out: that depends on the values, and not on how many there are.
        assert!(elements[0].abs_diff(elements[1]) < 60, "{elements:?}");
        // What grows are the headlines' dots, by at most `M1000 100h0` a trial of each.
        let report = many.report();
        let headlines: usize = report.summary.workloads.iter().map(|w| w.headlines().len()).sum();
        let more = counted(&many.run).len() - counted(&some.run).len();
        assert!(pages[1].len() - pages[0].len() < more * headlines * "M1000 100h0".len() + 4096);
    }

    /// Ten looks a second at a work of so many of them, with a stall of four in the second round.
    fn looked_at(mut example: examples::Example, looks: usize) -> examples::Example {
        for record in &mut example.run.records {
            let mut series = vec![[100, 7]; looks];
            series
                .iter_mut()
                .skip(looks / 2)
                .take(4)
                .for_each(|point| point[1] -= 7 * u64::from(record.round == 2));
            record
                .stages
                .iter_mut()
                .for_each(|stage| drop(stage.series.insert("looks".into(), series.clone())));
        }
        example
    }

    #[test]
    fn throughput_over_time_stands_after_the_order_of_the_values_with_the_longest_stall() {
        let page = page_of(&looked_at(examples::example(), 60));
        leave("report-over-time.html", &page);
        let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}"));
        assert!(at("In the order in which they were taken") < at("Throughput over time"));
        assert!(page.contains("longest stall 0.40 s in round 2, 3.00 s after its begin"));
        assert!(page.contains(r#"<rect class="stall" x="500.0" y="0" width="66.7""#));
        assert!(!page_of(&looked_at(examples::example(), 9)).contains("Throughput over time"));
        let long = page_of(&looked_at(examples::example(), 240));
        assert!(long.len().abs_diff(page.len()) < 200 * 16, "a course of more looks is not longer");
    }

    #[test]
    fn it_says_what_may_be_concluded() {
        let six = page_of(&examples::example());
        assert!(six.contains("Preliminary: 5 of the 6 rounds"));
        let two = page_of(&examples::rounds(2));
        leave("report-look.html", &two);
        assert!(two.contains("Preliminary result"));
        assert!(two.contains("--resume"));
        for words in ["higher is better", "lower is better", "page cache and CPU", "What each kind can do"] {
            assert!(six.contains(words), "{words}");
        }
    }

    #[test]
    fn a_modelled_disk_has_its_pictures_and_its_findings() {
        let page = page_of(&model::samples(13));
        leave("report-model.html", &page);
        for words in [
            "Where the time went",
            "Which factor decides",
            "cannot tell: depends on the model",
            "modelled CPU",
        ] {
            assert!(page.contains(words), "{words}");
        }
        assert!(!page.contains("significant") && !page.contains("Example Disk"));
        assert!(!page_of(&examples::example()).contains("Where the time went"));
    }

    #[test]
    fn the_page_opens_with_the_verdict_over_rounds() {
        let example = examples::rounds(12);
        let judged = |verdict, baseline| page(&example.judged(verdict, baseline)).expect("the page renders");
        let one = judged(verdict::of_one_workload(12), None);
        leave("report-verdict-one.html", &one);
        let opens = one.split_once("<nav").expect("there is a table of contents").0;
        assert!(opens.contains("cedarfs did transactions 1.24 times as fast as the next, “alderfs, no atime” (1.11 to 1.37, simultaneous 95 %)."));
        assert!(opens.contains("class=\"bars ratios\"") && opens.contains("<i class=\"first\">"));
        leave("report-verdict-two.html", &judged(verdict::over_rounds(12), None));
        let beside = judged(verdict::over_rounds(12), Some("birchfs"));
        leave("report-verdict-baseline.html", &beside);
        assert!(
            beside.contains("times as good as birchfs, the baseline")
                && beside.contains("? no difference from birchfs is established")
        );
        let six = examples::rounds(6);
        let preliminary = page(&six.judged(verdict::over_rounds(6), None)).expect("the page renders");
        leave("report-verdict-preliminary.html", &preliminary);
        assert!(
            preliminary.contains("No difference is established yet") && preliminary.contains("--rounds 1")
        );
        let mut void = verdict::over_rounds(12);
        void.guard = Some(Guard {
            copy: "rowanfs".into(),
            of: "maplefs".into(),
            rounds: 12,
            p: Some(0.0002),
            voids: true,
        });
        let void = judged(void, None);
        leave("report-verdict-void.html", &void);
        assert!(
            void.contains("This run is void: rowanfs is maplefs, entered a second time")
                && void.contains("p = 0.0002")
        );
    }

    #[test]
    fn the_choice_and_the_plane_of_speed_and_cpu_stand_on_the_page() {
        let example = examples::needs::stated();
        let page = page_of(&example);
        leave("report-needs.html", &page);
        assert!(page.contains("<h2>What to choose</h2>") && page.contains("href=\"#choose\""));
        let planes = example.report().summary.planes;
        let points: usize = planes.iter().map(|plane| plane.points.len()).sum();
        assert_eq!(page.matches("<text class=\"mark\"").count(), points);
        let in_front = planes.iter().flat_map(|plane| &plane.points).filter(|point| point.in_front).count();
        assert_eq!(page.matches("<circle class=\"ring\"").count(), in_front);
        assert!(in_front > planes.len() && in_front < points, "{in_front} of {points}");
        assert!(!page_of(&examples::example()).contains("What to choose"));
    }

    #[test]
    fn a_paper_stands_beside_the_run() {
        let page = page_of(&published::on_loop());
        leave("report-published.html", &page);
        leave("report-published-model.html", &page_of(&published::on_model()));
        assert!(page.contains("read, here ÷<small>published</small>") && page.contains(Beside::TITLE));
        assert!(!page_of(&examples::example()).contains(Beside::TITLE));
    }

    #[test]
    fn trials_that_do_not_count_are_listed_with_their_reasons() {
        let page = page_of(&examples::example());
        for words in ["Input/output error", "did not hold", "this kernel has no", "cannot make"] {
            assert!(page.contains(words), "{words}");
        }
    }

    #[test]
    fn a_label_cannot_become_markup() {
        let mut example = examples::example();
        let hostile = "<script>alert(1)</script>\"'&";
        example.run.plan.name = hostile.into();
        example.run.plan.candidates[0].label = hostile.into();
        for record in example.run.records.iter_mut().filter(|r| r.filesystem == "alderfs") {
            record.filesystem = hostile.into();
            record.reason = Some(Reason::Skipped { text: hostile.into() });
        }
        let page = page_of(&example);
        assert!(!page.contains("<script"));
        assert!(page.contains("&#60;script&#62;"));
    }

    #[test]
    fn a_sweep_of_many_metrics_is_one_long_table() {
        let mut example = examples::example();
        for record in example.run.records.iter_mut().filter(|r| !r.metrics.is_empty()) {
            let like = record.metrics[0].clone();
            record.metrics.extend((0..40).map(|n| {
                let dimensions = BTreeMap::from([("record_bytes".to_owned(), (n * 4096).to_string())]);
                Metric { name: "sweep.throughput".into(), dimensions, headline: false, ..like.clone() }
            }));
        }
        let page = page_of(&example);
        leave("report-sweep.html", &page);
        assert!(page.contains(">Metric</th>"));
        assert!(page.contains("sweep.throughput (record_bytes=159744)<small>per second</small>"));
        assert!(!page.contains("<b>sweep.throughput"), "a sweep is not drawn");
    }

    #[test]
    fn what_was_measured_over_two_quantities_is_a_field_for_each_candidate() {
        let mut example = examples::example();
        let workload = example.run.plan.scenarios[0].label.clone();
        let done = |r: &&mut crate::schema::record::Record| !r.metrics.is_empty() && r.scenario == workload;
        for record in example.run.records.iter_mut().filter(done) {
            let like = record.metrics[0].clone();
            record.metrics.extend((0..6).map(|n| {
                let sizes = [("file_bytes", 1 << (20 + n / 3)), ("record_bytes", 4096 << (n % 3))];
                let dimensions = sizes.map(|(name, size): (&str, i32)| (name.to_owned(), size.to_string()));
                let value = like.value * f64::from(n + 1);
                let name = "field.throughput".into();
                Metric { name, dimensions: dimensions.into(), headline: false, value, ..like.clone() }
            }));
        }
        let page = page_of(&example);
        leave("report-fields.html", &page);
        let done =
            example.report().summary.workloads[0].headlines()[0].cells.iter().filter(|c| c.n > 0).count();
        let fields = page.matches("<table class=\"cells\">").count();
        assert_eq!(fields, 2 * done - 1, "figures of all that have any, and the ratios of all but one");
        assert!(page.contains("<th class=\"number\" scope=\"col\">16 KiB</th>"));
        assert!(page.contains("file × record") && page.contains("h8\">"));
        assert!(!page.contains("<figcaption><b>field.throughput"), "no bars of single cells");
    }

    #[test]
    fn sixteen_filesystems_have_sixteen_looks() {
        let example = examples::sixteen();
        let page = page_of(&example);
        leave("report-sixteen.html", &page);
        let looks: HashSet<Look> = example.report().summary.filesystems.iter().map(|f| f.look).collect();
        assert_eq!(looks.len(), 16);
        assert!(looks.iter().all(|look| page.contains(&format!("bar c{}\"", look.hue))));
        assert!((1..MARKS).all(|mark| page.contains(&format!("class=\"m{mark}\""))));
    }

    #[test]
    fn a_run_without_any_result_still_gives_a_page() {
        let page = page_of(&examples::all_skipped());
        leave("report-nothing.html", &page);
        assert!(page.contains("Nothing was measured"));
        assert!(page.contains("try: --on vm"));
    }
}
