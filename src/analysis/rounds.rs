//! The verdict of a run on testbeds whose figures scatter: the findings that the randomised rounds support.
//!
//! All pairs of all headline metrics of all scenarios form one family, tested together at an error fixed before the first round.
//! See [`fsderby_stats::family`] for the test and docs/method/statistics.md for the conclusions.

use std::collections::BTreeSet;

use fsderby_stats::credible;
use fsderby_stats::family::{self, Family, Interval, Judged, Pair, Table};
use fsderby_stats::guard::same_twice;
use fsderby_stats::looks::{self, Looks};
use fsderby_stats::power::{Expected, Which};
use fsderby_stats::ranks::ranks;
use fsderby_stats::redrawn::Noise;

use super::dataset::{Cell, Dataset, Series, Work};
use crate::schema::finding::{
    self, Basis, Evidence, Finding, Found, Guard, Interim, Overall, Place, Ranks, Verdict,
};
use crate::schema::metric::Better;
use crate::schema::plan::{Plan, Rounds, Twice};
use crate::schema::units::Percent;

/// Family-wise error of a single analysis, and of all interim analyses together.
pub const ALPHA: f64 = 0.05;
/// The run is void if a candidate differs from its own copy with a p-value below this.
pub const VOID_BELOW: f64 = 0.001;
/// The least number of rounds. With five, even if all differences have one sign, p = 2 ÷ 2⁵ = 0.06, above [`ALPHA`].
pub const FEWEST: u32 = 6;
/// The least number of rounds for a scatter: three rounds give a standard deviation to within a factor of two.
pub const FEWEST_FOR_SCATTER: u32 = 3;
/// The probability with which a detectable difference is found.
pub const POWER: f64 = 0.8;

/// The interim analyses of this plan, with the error that each may spend.
pub fn looks(plan: &Plan) -> Looks {
    match plan.rounds {
        Rounds::Auto => Looks::auto(),
        Rounds::Exactly(n) | Rounds::AtLeast(n) => Looks::once(n.max(FEWEST) as usize),
    }
}

/// The next interim analysis, if its rounds are complete and some error is left to spend.
pub fn next(plan: &Plan, dataset: &Dataset<'_>, shown: &[Interim]) -> Option<Interim> {
    let looks = looks(plan);
    let complete = judged_rounds(plan, dataset, &measured(plan, dataset));
    let due = looks.next_after(shown.last().map_or(0, |last| last.rounds as usize))?;
    if (complete as usize) < due.rounds {
        return None;
    }
    let before: Vec<looks::Interim> =
        shown.iter().map(|look| looks::Interim { rounds: look.rounds as usize, alpha: look.alpha }).collect();
    let alpha = looks.available(complete as usize, &before);
    (alpha > 0.0).then_some(Interim { rounds: complete, alpha })
}

/// The verdict of the last of these analyses, on its rounds. If there was no analysis, the figures so far without a finding.
pub fn verdict(plan: &Plan, dataset: &Dataset<'_>, looks: &[Interim]) -> Verdict {
    let measured = measured(plan, dataset);
    let (look, earlier) = match looks.split_last() {
        Some((last, earlier)) => (Some(*last), earlier),
        None => (None, looks),
    };
    let rows = look.map_or_else(|| judged_rounds(plan, dataset, &measured), |look| look.rounds) as usize;
    let tables: Vec<Table> = measured.iter().map(|m| m.table(rows)).collect();
    let family = family::judge(&tables, look.map_or(ALPHA, |look| look.alpha), plan.plan_seed);
    let expected = Expected::seen(&family);
    let judging = Judging { margin: plan.margin, is_final: look.is_some(), expected: expected.as_ref() };
    let judged = || measured.iter().zip(&family.tables).enumerate();
    Verdict {
        schema: finding::SCHEMA,
        records: 0,
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
        cpu: Vec::new(),
        recommendation: None,
    }
}

/// Findings on metrics other than headline metrics: a separate family of tests, with this analysis's error and rounds.
pub fn findings_on(
    plan: &Plan,
    dataset: &Dataset<'_>,
    look: Interim,
    is_asked: &dyn Fn(&Series) -> bool,
) -> Vec<Finding> {
    let needed = needed(&looks(plan)) as usize;
    let of = |work| measured_of(work, needed, plan.guard.as_ref(), is_asked);
    let measured: Vec<Measured<'_>> = dataset.workloads.iter().flat_map(of).collect();
    let tables: Vec<Table> = measured.iter().map(|m| m.table(look.rounds as usize)).collect();
    let family = family::judge(&tables, look.alpha, plan.plan_seed);
    let expected = Expected::seen(&family);
    let judging = Judging { margin: plan.margin, is_final: true, expected: expected.as_ref() };
    let judged = measured.iter().zip(&family.tables).enumerate();
    judged.flat_map(|(at, (measured, judged))| measured.findings(at, judged, judging)).collect()
}

/// The observed scatter of single values within rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// The number of complete rounds.
    pub rounds: u32,
    /// The noise of each candidate in each table of the verdict's family.
    pub seen: Expected,
    /// The measured deviations, if there are enough rounds to resample them.
    pub noise: Option<Noise>,
}

impl Scatter {
    /// For each of these pairs: the difference that these analyses find with 80 % power, and their power to find `difference`. Both
    /// differences are logarithms.
    pub fn finds(&self, looks: &Looks, pairs: &[Which], difference: f64) -> Vec<(Option<f64>, f64)> {
        if let Some(drawn) = self.noise.as_ref().and_then(|noise| noise.under(looks, pairs)) {
            let of = |pair| (drawn.detectable(pair, POWER), drawn.power(pair, difference));
            return (0..pairs.len()).map(of).collect();
        }
        let under = self.seen.under(looks);
        pairs.iter().map(|pair| (under.detectable(*pair, POWER), under.power(*pair, difference))).collect()
    }
}

/// The scatter of the rounds so far. The scatter shows no difference between candidates, so computing it is no interim analysis and
/// spends none of the allowed error. `None` with too few rounds, or with nothing to compare.
pub fn scatter(plan: &Plan, dataset: &Dataset<'_>) -> Option<Scatter> {
    let measured = match measured(plan, dataset) {
        // The copy of a single candidate scatters like the candidate.
        none if none.is_empty() => measured_by(plan, dataset, None),
        some => some,
    };
    let rounds = complete(&measured);
    let tables: Vec<Table> = measured.iter().map(|m| m.table(rounds as usize)).collect();
    // Only the variances are used, and these do not depend on the sign patterns, so one pattern suffices.
    let seen = Expected::seen(&family::judge_by(&tables, ALPHA, 1, plan.plan_seed))?;
    (rounds >= FEWEST_FOR_SCATTER).then(|| Scatter { rounds, seen, noise: Noise::of(&tables) })
}

fn needed(looks: &Looks) -> u32 {
    looks.planned().first().map_or(FEWEST, |look| look.rounds as u32)
}

/// The number of rounds that count. If a run compares one candidate only with its copy, the rounds of these two count: such an
/// analysis shows whether the machine gives one filesystem two different results.
fn judged_rounds(plan: &Plan, dataset: &Dataset<'_>, measured: &[Measured<'_>]) -> u32 {
    let of_copy = || plan.guard.as_ref().map_or(0, |twice| guard(dataset, twice, usize::MAX).rounds);
    if measured.is_empty() { of_copy() } else { complete(measured) }
}

/// The number of complete rounds of the headline metric that has the fewest.
fn complete(measured: &[Measured<'_>]) -> u32 {
    measured.iter().map(|m| m.rounds.len() as u32).min().unwrap_or(0)
}

/// What all findings of a verdict have in common.
#[derive(Clone, Copy)]
struct Judging<'a> {
    margin: Percent,
    /// Whether an analysis was made; without one there is no finding.
    is_final: bool,
    /// The expected noise; `None` with fewer than two rounds.
    expected: Option<&'a Expected>,
}

/// One headline metric of one scenario, over the candidates to judge.
struct Measured<'d> {
    scenario: &'d str,
    series: &'d Series,
    cells: Vec<&'d Cell>,
    /// Rounds in which all candidates have a value, ascending.
    rounds: Vec<u32>,
}

/// Headline metrics that at least two candidates have. A candidate that failed so often that it has too few rounds for a verdict is
/// left out if other candidates have enough.
fn measured<'d>(plan: &Plan, dataset: &'d Dataset<'_>) -> Vec<Measured<'d>> {
    measured_by(plan, dataset, plan.guard.as_ref())
}

fn measured_by<'d>(plan: &Plan, dataset: &'d Dataset<'_>, guard: Option<&Twice>) -> Vec<Measured<'d>> {
    let needed = needed(&looks(plan)) as usize;
    let is_asked = |s: &Series| s.headline && !s.once && s.better != Better::Neither;
    dataset.workloads.iter().flat_map(|work| measured_of(work, needed, guard, &is_asked)).collect()
}

fn measured_of<'d>(
    work: &'d Work<'_>,
    needed: usize,
    guard: Option<&Twice>,
    is_asked: &dyn Fn(&Series) -> bool,
) -> Vec<Measured<'d>> {
    let asked = work.series.iter().filter(|series| is_asked(series));
    let of = |series: &'d Series| {
        let is_copy = |cell: &&Cell| guard.is_some_and(|twice| twice.copy == cell.filesystem);
        // A count that is zero in some trial has no ratio.
        let has_ratios = |cell: &&Cell| match (positive(cell).count(), series.stands_in) {
            (0, _) => false,
            (n, true) => n == cell.values.len(),
            (_, false) => true,
        };
        let cells = || series.cells.iter().filter(|cell| !is_copy(cell) && has_ratios(cell));
        let enough = cells().map(|cell| positive(cell).count()).max().unwrap_or(0).min(needed);
        let cells: Vec<&Cell> = cells().filter(|cell| positive(cell).count() >= enough).collect();
        let of_first: Vec<u32> = cells.first().map(|cell| positive(cell).map(|v| v.0).collect())?;
        let in_all = |round: &u32| cells.iter().all(|cell| positive(cell).any(|v| v.0 == *round));
        let rounds: Vec<u32> = of_first.into_iter().filter(in_all).collect();
        (cells.len() > 1).then_some(Measured { scenario: &work.label, series, cells, rounds })
    };
    asked.filter_map(of).collect()
}

/// The cell's rounds and values, without values that are not positive.
pub fn positive(cell: &Cell) -> impl Iterator<Item = (u32, f64)> + '_ {
    cell.values.iter().filter(|v| v.value > 0.0 && v.value.is_finite()).map(|v| (v.round, v.value))
}

impl Measured<'_> {
    /// The values of the first `rows` rounds as a table.
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
        let to_equivalent = || {
            let rounds = expected?.rounds_to_be_equivalent(which, log(margin), POWER)?;
            Some(rounds as u32)
        };
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

    /// The ranks of the candidates, best first. Candidates that no finding separates share ranks.
    fn ranks(&self, table: &Table, judged: &Judged, judging: Judging<'_>) -> Ranks {
        let is_apart = |pair: &Pair| matches!(found(pair, judging.margin), Found::Better | Found::Worse);
        let apart = |pair: &&Pair| judging.is_final && is_apart(pair);
        let apart: Vec<Pair> = judged.pairs.iter().filter(apart).copied().collect();
        let means: Vec<f64> = (0..self.cells.len())
            .map(|at| table.rows().map(|(_, row)| row[at]).sum::<f64>() / table.rows().count().max(1) as f64)
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

/// The logarithm of a value, oriented so that larger is better.
pub fn oriented(series: &Series, value: f64) -> f64 {
    if series.better == Better::Lower { -value.ln() } else { value.ln() }
}

/// A difference within the margin is found equivalent, even if it is statistically significant.
fn found(pair: &Pair, margin: Percent) -> Found {
    match pair.direction() {
        _ if pair.equivalent(log(margin)) => Found::Equivalent,
        1 => Found::Better,
        -1 => Found::Worse,
        _ => Found::CannotTell,
    }
}

pub fn log(margin: Percent) -> f64 {
    (margin.0 / 100.0).ln_1p()
}

/// Geometric means over several headline metrics. Empty unless all metrics have the same candidates.
fn overall(measured: &[Measured<'_>], tables: &[Table], seed: u64, judging: Judging<'_>) -> Vec<Overall> {
    let labels = |m: &Measured<'_>| m.cells.iter().map(|cell| cell.filesystem.clone()).collect::<Vec<_>>();
    let Some(names) = measured.first().map(labels) else { return Vec::new() };
    // A mean over different units, such as bytes and flushes, has no meaning.
    if measured.len() < 2
        || measured.iter().any(|m| m.series.stands_in)
        || measured.iter().any(|m| labels(m) != names)
    {
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

/// Compares a candidate with its copy, over all headline metrics of both.
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
    let credible = differences.iter().filter_map(|of_metric| credible::smallest(of_metric, ALPHA));
    Guard {
        copy: twice.copy.clone(),
        of: twice.of.clone(),
        rounds: rounds.len() as u32,
        p,
        voids: p.is_some_and(|p| p < VOID_BELOW),
        credible: credible.reduce(f64::max).map(f64::exp),
    }
}

#[cfg(test)]
mod tests {
    use super::super::dataset::Value;
    use super::*;
    use crate::schema::metric::{Of, Owner};
    use crate::schema::plan::FIRST_LOOK;

    fn plan(rounds: Rounds) -> Plan {
        let text = "schema = 4\nname = \"x\"\ntestbed = \"loop\"\nsize = \"1g\"\nimage = \"allocated\"\ncold = false\n\
                    margin = \"3%\"\nplan_seed = 7\nworkload_seed = 7\nfilesystem = []\nworkload = []\nscenario = []\n\
                    rounds = { exactly = 1 }\n";
        Plan { rounds, ..toml::from_str(text).expect("a plan") }
    }

    /// Seconds of each candidate in each round: the candidate's factor, a drift common to all candidates, and a scatter of 2 %.
    fn dataset(candidates: &[(&str, f64)], rounds: u32) -> Dataset<'static> {
        let mut random = fsderby_stats::random::Random::new(5);
        let mut values = |factor: f64| {
            (1..=rounds)
                .map(|round| Value {
                    trial: "".into(),
                    round,
                    value: factor * (1.0 + f64::from(round) / 10.0) * (0.02 * random.normal()).exp(),
                })
                .collect::<Vec<_>>()
        };
        let cells: Vec<Cell> = candidates
            .iter()
            .map(|(label, factor)| Cell {
                filesystem: (*label).to_owned(),
                n: rounds as usize,
                median: None,
                min: None,
                max: None,
                values: values(*factor),
            })
            .collect();
        let labels: Vec<String> = candidates.iter().map(|(label, _)| (*label).to_owned()).collect();
        let series = Series {
            name: "walk.time".into(),
            dimensions: String::new(),
            quantities: Vec::new(),
            work: Owner::default(),
            unit: "s".into(),
            of: Of::Time,
            better: Better::Lower,
            headline: true,
            stands_in: false,
            once: false,
            cells: cells.into(),
        };
        let work =
            Work { label: "walk".into(), counted: Vec::new(), extras: Vec::new(), series: vec![series] };
        Dataset { planned: labels.clone(), filesystems: labels, workloads: vec![work] }
    }

    const FOUR: [(&str, f64); 4] = [("quick", 1.0), ("alike", 1.0), ("slow", 1.3), ("slower", 2.0)];

    /// The verdict at the end of a run.
    fn given(plan: &Plan, dataset: &Dataset<'_>) -> Verdict {
        let looks: Vec<Interim> = next(plan, dataset, &[]).into_iter().collect();
        verdict(plan, dataset, &looks)
    }

    fn between<'v>(verdict: &'v Verdict, a: &str, b: &str) -> &'v Finding {
        verdict.findings.iter().find(|f| f.a == a && f.b == b).expect("the pair")
    }

    #[test]
    fn a_difference_is_found_with_an_interval_that_holds_it_and_none_where_there_is_none() {
        let verdict = given(&plan(Rounds::Exactly(12)), &dataset(&FOUR, 12));
        assert!(verdict.is_final() && verdict.findings.len() == 6);
        for (a, b, truly) in [("quick", "slow", 1.3), ("alike", "slower", 2.0), ("slow", "slower", 2.0 / 1.3)]
        {
            let finding = between(&verdict, a, b);
            let (low, high) = (finding.low.expect("an interval"), finding.high.expect("its other end"));
            assert!(
                finding.finding == Found::Better && 1.0 < low && low < truly && truly < high,
                "{finding:?}"
            );
        }
        let alike = between(&verdict, "quick", "alike");
        assert!(matches!(alike.finding, Found::CannotTell | Found::Equivalent), "{alike:?}");
        let places: Vec<(&str, u32, u32)> =
            verdict.ranks[0].places.iter().map(|p| (p.candidate.as_str(), p.best, p.worst)).collect();
        assert!(places[..2].iter().all(|(_, best, worst)| (*best, *worst) == (1, 2)), "{places:?}");
        assert_eq!(places[2..], [("slow", 3, 3), ("slower", 4, 4)]);
    }

    #[test]
    fn the_scatter_is_that_within_rounds_whatever_the_candidates_and_the_rounds_have_of_their_own() {
        let plan = plan(Rounds::Auto);
        let seen = scatter(&plan, &dataset(&FOUR, 40)).expect("forty rounds");
        assert_eq!((seen.rounds, seen.seen.tables.len()), (40, 1));
        assert!(seen.seen.tables[0].iter().all(|own| (own / 0.02).ln().abs() < 0.5), "{seen:?}");
        assert_eq!(scatter(&plan, &dataset(&FOUR, 2)), None);
        assert_eq!(scatter(&plan, &dataset(&FOUR[..1], 9)), None, "nothing is compared");
    }

    #[test]
    fn what_lies_within_the_margin_is_equivalent_however_sure_it_differs() {
        let wide = Plan { margin: Percent(60.0), ..plan(Rounds::Exactly(12)) };
        let verdict = given(&wide, &dataset(&FOUR, 12));
        assert_eq!(between(&verdict, "quick", "slow").finding, Found::Equivalent);
        assert_eq!(between(&verdict, "quick", "slower").finding, Found::Better);
        // The difference of "slow" and "slower" is within the margin too.
        let ranks: Vec<(u32, u32)> = verdict.ranks[0].places.iter().map(|p| (p.best, p.worst)).collect();
        assert_eq!(ranks, [(1, 3), (1, 3), (1, 4), (3, 4)]);
    }

    #[test]
    fn before_enough_rounds_nothing_is_found_and_no_interval_is_shown() {
        let verdict = given(&plan(Rounds::Exactly(3)), &dataset(&FOUR, 5));
        assert!(!verdict.is_final() && verdict.basis.looks().is_empty() && verdict.findings.len() == 6);
        let is_open = |f: &Finding| f.finding == Found::CannotTell && f.low.is_none() && f.high.is_none();
        assert!(verdict.findings.iter().all(is_open), "{:?}", verdict.findings);
        assert!(verdict.ranks[0].places.iter().all(|place| (place.best, place.worst) == (1, 4)));
        assert!(given(&plan(Rounds::Exactly(3)), &dataset(&FOUR, 6)).is_final());
    }

    #[test]
    fn rounds_after_the_last_look_change_no_finding() {
        let (plan, look) = (plan(Rounds::Exactly(8)), Interim { rounds: 8, alpha: ALPHA });
        let long = dataset(&FOUR, 14);
        let mut short = dataset(&FOUR, 14);
        short.workloads[0].series[0].cells.iter_mut().for_each(|cell| cell.values.truncate(8));
        assert_eq!(next(&plan, &long, &[look]), None, "all is spent");
        assert_eq!(verdict(&plan, &long, &[look]).findings, given(&plan, &short).findings);
    }

    #[test]
    fn looks_that_were_planned_come_one_after_the_other() {
        let (plan, data) = (plan(Rounds::Auto), dataset(&FOUR, 20));
        let passed_over = next(&plan, &data, &[]).expect("twenty rounds are enough");
        assert_eq!((passed_over.rounds, passed_over.alpha), (20, ALPHA));
        let first = Interim { rounds: FIRST_LOOK, alpha: 0.01 };
        assert_eq!(next(&plan, &data, &[first]).map(|look| look.alpha), Some(0.04));
        assert_eq!(next(&plan, &data, &[first, Interim { rounds: 20, alpha: 0.04 }]), None);
        assert_eq!(next(&plan, &dataset(&FOUR, 12), &[first]), None, "the next is after fourteen");
    }

    #[test]
    fn who_failed_too_often_takes_no_part_and_keeps_nobody_from_a_verdict() {
        let mut data = dataset(&FOUR, 12);
        data.workloads[0].series[0].cells[3].values.truncate(4);
        let verdict = given(&plan(Rounds::Exactly(12)), &data);
        assert!(verdict.is_final() && verdict.findings.iter().all(|f| f.a != "slower" && f.b != "slower"));
    }

    #[test]
    fn a_single_candidate_is_judged_beside_its_copy() {
        let twice = |copy: &str| Some(Twice { of: "quick".into(), copy: copy.into() });
        let plan = Plan { guard: twice("alike"), ..plan(Rounds::Exactly(12)) };
        let of_two = |labels: [&str; 2]| {
            let two: Vec<(&str, f64)> = FOUR.iter().filter(|one| labels.contains(&one.0)).copied().collect();
            dataset(&two, 12)
        };
        let steady = given(&plan, &of_two(["quick", "alike"]));
        let guard = steady.guard.as_ref().expect("there is one");
        assert!(guard.rounds == 12 && guard.p.is_some_and(|p| p > VOID_BELOW) && !guard.voids, "{guard:?}");
        assert!(steady.findings.is_empty() && steady.basis.looks().len() == 1);
        let few = given(&Plan { rounds: Rounds::Exactly(20), ..plan.clone() }, &of_two(["quick", "alike"]));
        assert!(few.basis.looks().is_empty(), "{:?}", few.basis);
        assert!(scatter(&plan, &of_two(["quick", "alike"])).is_some());
        let slowed = Plan { guard: twice("slow"), ..plan };
        assert!(given(&slowed, &of_two(["quick", "slow"])).is_void());
    }

    #[test]
    fn a_copy_takes_no_part_in_findings_and_voids_the_run_where_it_differs() {
        let twice = || Some(Twice { of: "quick".into(), copy: "slow".into() });
        let plan = Plan { guard: twice(), ..plan(Rounds::Exactly(12)) };
        let verdict = given(&plan, &dataset(&FOUR, 12));
        assert!(verdict.is_void() && !verdict.is_final(), "{:?}", verdict.guard);
        assert!(verdict.findings.iter().all(|f| f.a != "slow" && f.b != "slow"));
        let plan = Plan { guard: Some(Twice { of: "quick".into(), copy: "alike".into() }), ..plan };
        let verdict = given(&plan, &dataset(&FOUR, 12));
        let guard = verdict.guard.as_ref().expect("there is one");
        assert!(
            verdict.is_final() && guard.rounds == 12 && guard.p.is_some_and(|p| p > VOID_BELOW),
            "{guard:?}"
        );
    }
}
