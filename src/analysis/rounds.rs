//! The verdict of a run on testbeds whose figures scatter: what rounds in random order allow to be said.
//!
//! All pairs of all headline metrics of all scenarios are one family, judged together at an error fixed before the first round.
//! See [`fsderby_stats::family`] for the test and METHODOLOGY.md for what is concluded from it.

use std::collections::BTreeSet;

use fsderby_stats::family::{self, Family, Interval, Judged, Pair, Table};
use fsderby_stats::guard::same_twice;
use fsderby_stats::looks::{self, Looks};
use fsderby_stats::power::{Expected, Which};
use fsderby_stats::ranks::ranks;

use super::dataset::{Cell, Dataset, Series, Work};
use crate::schema::finding::{
    self, Basis, Evidence, Finding, Found, Guard, Look, Overall, Place, Ranks, Verdict,
};
use crate::schema::metric::Better;
use crate::schema::plan::{Plan, Rounds, Twice};
use crate::schema::units::Percent;

/// The error of a family that is looked at once, and of all looks together.
pub const ALPHA: f64 = 0.05;
/// Below it a candidate that differs from its own copy voids the run.
pub const VOID_BELOW: f64 = 0.001;
/// With fewer, no pattern of signs is rarer than [`ALPHA`]: 2 ÷ 2⁵ = 0.06.
const FEWEST: u32 = 6;
/// The probability with which what is called detectable is found.
const POWER: f64 = 0.8;

/// When a run of this plan is judged, and at which error.
pub fn looks(plan: &Plan) -> Looks {
    match plan.rounds {
        Rounds::Auto => Looks::auto(),
        Rounds::Exactly(n) | Rounds::AtLeast(n) => Looks::once(n.max(FEWEST) as usize),
    }
}

/// The look that has come since those that were given: rounds are complete for it, and something is left that it may spend.
pub fn next(plan: &Plan, dataset: &Dataset<'_>, shown: &[Look]) -> Option<Look> {
    let looks = looks(plan);
    let complete = complete(&measured(plan, dataset));
    let due = looks.next(shown.last().map_or(0, |last| last.rounds as usize))?;
    if (complete as usize) < due.rounds {
        return None;
    }
    let before: Vec<looks::Look> =
        shown.iter().map(|look| looks::Look { rounds: look.rounds as usize, alpha: look.alpha }).collect();
    let alpha = looks.available(complete as usize, &before);
    (alpha > 0.0).then_some(Look { rounds: complete, alpha })
}

/// The verdict of the last of these looks, on the rounds that it had; without any, the figures so far and no finding.
pub fn verdict(plan: &Plan, dataset: &Dataset<'_>, looks: &[Look]) -> Verdict {
    let measured = measured(plan, dataset);
    let (look, earlier) = match looks.split_last() {
        Some((last, earlier)) => (Some(*last), earlier),
        None => (None, looks),
    };
    let rows = look.map_or(complete(&measured), |look| look.rounds) as usize;
    let tables: Vec<Table> = measured.iter().map(|m| m.table(rows)).collect();
    let family = family::judge(&tables, look.map_or(ALPHA, |look| look.alpha), plan.plan_seed);
    let expected = Expected { tables: family.tables.iter().map(noise).collect() };
    let judging = Judging { margin: plan.margin, is_final: look.is_some(), expected: &expected };
    let judged = || measured.iter().zip(&family.tables).enumerate();
    Verdict {
        schema: finding::SCHEMA,
        basis: Basis::Rounds {
            complete: rows as u32,
            needed: needed(&self::looks(plan)),
            alpha: look.map_or(0.0, |look| look.alpha),
            earlier: earlier.to_vec(),
        },
        margin: plan.margin,
        findings: judged()
            .flat_map(|(at, (measured, judged))| measured.findings(at, judged, judging))
            .collect(),
        ranks: judged().map(|(at, (m, judged))| m.ranks(&tables[at], judged, judging)).collect(),
        overall: overall(&measured, &tables, plan.plan_seed, judging),
        guard: plan.guard.as_ref().map(|twice| guard(dataset, twice, rows)),
    }
}

fn needed(looks: &Looks) -> u32 {
    looks.planned().first().map_or(FEWEST, |look| look.rounds as u32)
}

/// Of the headline metric that has the fewest.
fn complete(measured: &[Measured<'_>]) -> u32 {
    measured.iter().map(|m| m.rounds.len() as u32).min().unwrap_or(0)
}

/// What all findings of a verdict have in common.
#[derive(Clone, Copy)]
struct Judging<'a> {
    margin: Percent,
    /// Whether a look was given; else nothing may be found.
    is_final: bool,
    expected: &'a Expected,
}

/// One headline metric of one scenario, over those candidates that a verdict may be about.
struct Measured<'d> {
    scenario: &'d str,
    series: &'d Series,
    cells: Vec<&'d Cell>,
    /// Rounds in which all of them have a value, rising.
    rounds: Vec<u32>,
}

/// Those headline metrics that at least two candidates have. Who has fewer rounds than a verdict needs takes no part in one where
/// others have as many: it failed too often.
fn measured<'d>(plan: &Plan, dataset: &'d Dataset<'_>) -> Vec<Measured<'d>> {
    let needed = needed(&looks(plan)) as usize;
    dataset.workloads.iter().flat_map(|work| measured_of(work, needed, plan.guard.as_ref())).collect()
}

fn measured_of<'d>(work: &'d Work<'_>, needed: usize, guard: Option<&Twice>) -> Vec<Measured<'d>> {
    let headlines = work.series.iter().filter(|s| s.headline && !s.once && s.better != Better::Neither);
    let of = |series: &'d Series| {
        let is_copy = |cell: &&Cell| guard.is_some_and(|twice| twice.copy == cell.filesystem);
        let cells = || series.cells.iter().filter(|cell| !is_copy(cell) && positive(cell).next().is_some());
        let enough = cells().map(|cell| positive(cell).count()).max().unwrap_or(0).min(needed);
        let cells: Vec<&Cell> = cells().filter(|cell| positive(cell).count() >= enough).collect();
        let of_first: Vec<u32> = cells.first().map(|cell| positive(cell).map(|v| v.0).collect())?;
        let in_all = |round: &u32| cells.iter().all(|cell| positive(cell).any(|v| v.0 == *round));
        let rounds: Vec<u32> = of_first.into_iter().filter(in_all).collect();
        (cells.len() > 1).then_some(Measured { scenario: &work.label, series, cells, rounds })
    };
    headlines.filter_map(of).collect()
}

/// Rounds and values that have a logarithm.
fn positive(cell: &Cell) -> impl Iterator<Item = (u32, f64)> + '_ {
    cell.values.iter().filter(|v| v.value > 0.0 && v.value.is_finite()).map(|v| (v.round, v.value))
}

impl Measured<'_> {
    /// Its first rows.
    fn table(&self, rows: usize) -> Table {
        let mut table = Table::new(self.cells.len());
        for round in self.rounds.iter().take(rows) {
            let value = |cell: &&Cell| positive(cell).find(|v| v.0 == *round).map_or(f64::NAN, |v| v.1);
            let logs: Vec<f64> = self.cells.iter().map(|cell| oriented(self.series, value(cell))).collect();
            table.push(*round, &logs);
        }
        table
    }

    fn findings(&self, at: usize, judged: &Judged, judging: Judging<'_>) -> Vec<Finding> {
        judged.pairs.iter().filter_map(|pair| self.finding(at, judged, pair, judging)).collect()
    }

    fn finding(&self, at: usize, judged: &Judged, pair: &Pair, judging: Judging<'_>) -> Option<Finding> {
        let Judging { margin, is_final, expected } = judging;
        let interval = pair.interval.filter(|_| is_final);
        let finding = if is_final { found(pair, margin) } else { Found::CannotTell };
        let which = Which { table: at, a: pair.a, b: pair.b };
        let is_open = is_final && finding == Found::CannotTell;
        let to_equivalent = || expected.rounds_to_be_equivalent(which, log(margin), POWER).map(|n| n as u32);
        Some(Finding {
            finding,
            scenario: self.scenario.to_owned(),
            metric: self.series.name.clone(),
            dimensions: self.series.dimensions.clone(),
            a: self.cells[pair.a].filesystem.clone(),
            b: self.cells[pair.b].filesystem.clone(),
            ratio: pair.estimate?.exp(),
            low: interval.map(|i| i.low.exp()),
            high: interval.map(|i| i.high.exp()),
            n: judged.rounds as u32,
            evidence: Evidence::Rounds {
                p: is_final.then_some(pair.p),
                smallest: pair.detectable.filter(|d| is_final && d.exp().is_finite()).map(f64::exp),
                rounds_to_equivalent: is_open.then(to_equivalent).flatten(),
            },
        })
    }

    /// The best first; those that no finding tells apart have ranks in common.
    fn ranks(&self, table: &Table, judged: &Judged, judging: Judging<'_>) -> Ranks {
        let is_apart = |pair: &Pair| matches!(found(pair, judging.margin), Found::Better | Found::Worse);
        let apart = |pair: &&Pair| judging.is_final && is_apart(pair);
        let apart: Vec<Pair> = judged.pairs.iter().filter(apart).copied().collect();
        let means: Vec<f64> = (0..self.cells.len())
            .map(|at| table.rows().map(|row| row[at]).sum::<f64>() / table.rows().count().max(1) as f64)
            .collect();
        let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut order: Vec<usize> = (0..means.len()).collect();
        order.sort_by(|a, b| means[*b].total_cmp(&means[*a]));
        let ranks = ranks(means.len(), &apart);
        let place = |at: usize| Place {
            candidate: self.cells[at].filesystem.clone(),
            best: ranks[at].best as u32,
            worst: ranks[at].worst as u32,
            ratio: (means[at] - best).exp(),
        };
        Ranks {
            scenario: self.scenario.to_owned(),
            metric: self.series.name.clone(),
            dimensions: self.series.dimensions.clone(),
            places: order.into_iter().map(place).collect(),
        }
    }
}

/// Turned so that larger is better.
fn oriented(series: &Series, value: f64) -> f64 {
    if series.better == Better::Lower { -value.ln() } else { value.ln() }
}

/// A difference that lies within the margin, however sure, is none that matters.
fn found(pair: &Pair, margin: Percent) -> Found {
    match pair.direction() {
        _ if pair.equivalent(log(margin)) => Found::Equivalent,
        1 => Found::Better,
        -1 => Found::Worse,
        _ => Found::CannotTell,
    }
}

fn log(margin: Percent) -> f64 {
    (margin.0 / 100.0).ln_1p()
}

fn noise(judged: &Judged) -> Vec<f64> {
    judged.noise.iter().map(|noise| noise.unwrap_or(0.0)).collect()
}

/// Geometric means over several headline metrics of those candidates that have them all.
fn overall(measured: &[Measured<'_>], tables: &[Table], seed: u64, judging: Judging<'_>) -> Vec<Overall> {
    let labels = |m: &Measured<'_>| m.cells.iter().map(|cell| cell.filesystem.clone()).collect::<Vec<_>>();
    let Some(names) = measured.first().map(labels) else { return Vec::new() };
    if measured.len() < 2 || measured.iter().any(|m| labels(m) != names) {
        return Vec::new();
    }
    let Some(across) = family::across(tables) else { return Vec::new() };
    let Family { tables, .. } = family::judge(&[across], ALPHA, seed);
    let pairs = tables.into_iter().flat_map(|judged| judged.pairs);
    let mean = |pair: Pair| {
        let end = |of: fn(Interval) -> f64| pair.interval.filter(|_| judging.is_final).map(|i| of(i).exp());
        Some(Overall {
            a: names[pair.a].clone(),
            b: names[pair.b].clone(),
            ratio: pair.estimate?.exp(),
            low: end(|i| i.low),
            high: end(|i| i.high),
        })
    };
    pairs.filter_map(mean).collect()
}

/// Over all headline metrics that both have.
fn guard(dataset: &Dataset<'_>, twice: &Twice, rows: usize) -> Guard {
    let mut rounds = BTreeSet::new();
    let mut differences = Vec::new();
    let headlines = |work: &'_ Work<'_>| {
        work.series.iter().filter(|s| s.headline && !s.once).cloned().collect::<Vec<_>>()
    };
    for series in dataset.workloads.iter().flat_map(headlines) {
        let cell = |label: &str| series.cells.iter().find(|cell| cell.filesystem == label);
        let (Some(of), Some(copy)) = (cell(&twice.of), cell(&twice.copy)) else { continue };
        let both: Vec<(u32, f64)> = positive(of)
            .filter_map(|(round, a)| {
                let b = positive(copy).find(|v| v.0 == round)?.1;
                Some((round, (a / b).ln()))
            })
            .take(rows)
            .collect();
        rounds.extend(both.iter().map(|(round, _)| *round));
        differences.push(both.into_iter().map(|(_, log)| log).collect::<Vec<f64>>());
    }
    let p = (rounds.len() > 1).then(|| same_twice(&differences));
    Guard {
        copy: twice.copy.clone(),
        of: twice.of.clone(),
        rounds: rounds.len() as u32,
        p,
        voids: p.is_some_and(|p| p < VOID_BELOW),
    }
}
