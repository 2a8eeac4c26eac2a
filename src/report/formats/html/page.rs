//! The page for the template: the opening, and a part for each workload.

use anyhow::Context;
use askama::Template;

use super::abilities::Abilities;
use super::bias::BIAS;
use super::chart::{self, Bars};
use super::disk::{self, DiskUse};
use super::facts;
use super::floor::{self, Extrapolation};
use super::in_order::{self, InOrder};
use super::latencies::Latencies;
use super::listing::{self, Round, Trials};
use super::needs::Choosing;
use super::over_time::{self, OverTime};
use super::part::{self, Part};
use super::ratios::{self, Ratios};
use super::spread::{self, POINTS_MOST};
use super::tails::{self, Tails};
use crate::report::Report;
use crate::report::compose::validity;
use crate::report::view::Summary;
use crate::report::view::entry::look;
use crate::report::view::heading::Standing;
use crate::report::view::imported::Imported;
use crate::report::view::look::Look;
use crate::report::view::published::Beside;
use crate::report::view::row::Row;
use crate::report::view::setups::Setups;
use crate::report::view::standings::{self, PairShown, Standings};
use crate::report::view::validity::ValidityChecks;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::machine::Tool;
use crate::store::Run;

/// If there are more comparisons than this, each is shown with its workload and not in the opening.
const OPENING: usize = 4;
/// At most this many pairs get a chart of their deciding factors; further pairs appear only in the table.
const PAIRS_DRAWN: usize = 12;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'r> {
    run: &'r Run,
    summary: &'r Summary,
    /// The factors that all candidates have in common, and the host: title and text of each.
    facts: Vec<(&'static str, String)>,
    /// The tools of the kinds that took part.
    tools: Vec<&'r Tool>,
    /// Charts of the comparisons: over all headline metrics, then one for each metric. If there are many metrics, each chart
    /// is only with its workload.
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
    /// The target to which the table of contents links: `work-1`.
    anchor: String,
    notes: Vec<String>,
    /// Charts of the comparisons; empty if they are in the opening of the page.
    ratios: Vec<Ratios<'r>>,
    headlines: Vec<Bars>,
    in_order: Vec<InOrder>,
    over_time: Vec<OverTime>,
    tails: Vec<Tails>,
    parts: Vec<Part<'r>>,
    latencies: Vec<Latencies>,
    disk: Option<DiskUse>,
    /// The findings by metric; empty without a verdict.
    findings: Vec<Findings<'r>>,
    order: Vec<Round>,
    /// Number of rounds whose order is not listed.
    more_rounds: usize,
}

impl Work<'_> {
    /// Whether some bars have more trials than are drawn as points.
    fn has_spreads(&self) -> bool {
        self.headlines.iter().flat_map(|chart| &chart.bars).any(|bar| bar.spread.is_some())
    }
}

/// The findings of one metric.
struct Findings<'r> {
    caption: String,
    standings: Vec<Standings>,
    pairs: Vec<PairShown<'r>>,
    /// Disk-model overhead in the ratios.
    floor: Option<Extrapolation>,
}

impl Findings<'_> {
    /// The pairs whose deciding factors are drawn.
    fn open(&self) -> impl Iterator<Item = &PairShown<'_>> {
        self.pairs.iter().filter(|p| p.is_open()).take(PAIRS_DRAWN)
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
        facts: facts::of(run, summary),
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
        abilities: Abilities::of(summary),
        validity: validity::of(run, summary),
        trials: summary.workloads.iter().map(|w| listing::trials(run, w)).collect(),
        bias: BIAS,
    };
    page.render().context("render the page")
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
    let disk = disk::of(run, work, |label| look(entries, label));
    // On a modelled disk the next round has another sample of the disk, so values in round order show no drift.
    let by_time = headlines.iter().filter(|_| disk.is_none());
    Work {
        summary: work,
        anchor: format!("work-{}", at + 1),
        notes: summary.own_notes(work),
        ratios: comparisons.filter_map(|c| ratios::of(c, c.title.clone(), entries)).collect(),
        headlines: headlines.iter().filter_map(|row| chart::bars(row, entries)).collect(),
        in_order: by_time.filter_map(|row| in_order::of(row, entries)).collect(),
        over_time: work.over_time.iter().map(|courses| over_time::of(courses, entries)).collect(),
        parts: work.sections.iter().map(|section| part::of(section, entries, to)).collect(),
        tails: waited_for.chain(others).filter_map(|latency| tails::of(latency, entries)).collect(),
        latencies: work.latencies.iter().map(|l| Latencies::of(l, entries)).collect(),
        findings: findings(summary, work),
        disk,
        order,
        more_rounds,
    }
}

fn findings<'r>(summary: &Summary, work: &'r WorkloadSummary) -> Vec<Findings<'r>> {
    if !summary.heading.standing.has_findings() {
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
