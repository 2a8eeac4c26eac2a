//! The verdict of a run on a modelled disk: findings that hold for every sampled disk.
//!
//! ```text
//! round 1         the nominal disk, as its file states it
//! rounds 2 to 13  a screening design: every factor at one of its extremes, differently in each row
//! further rounds  the same rows folded (every factor at its other extreme), then all rows again with other seeds
//! extra trials    disk-model overhead; other workload seeds; other instruction costs; the corner where the result of a
//!                 pair is expected to be worst
//! ```
//! Virtual time has no noise, so repetition proves nothing. The uncertainty lies in the model and in details of the work. A
//! finding must hold in all of these trials; `robust.rs` judges the extra trials.

use std::array;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::dataset::{Cell, Series, Work, counted, log_ratio};
use super::entrant::{self, Entrant};
use super::evidence::{self, model_error};
use super::floor::{self, Excess};
use super::robust::{self, Corners, Lacking, Pair, Tried, log_margin};
use crate::schema::finding::{Decider, Evidence, Finding, Found};
use crate::schema::metric::Better;
use crate::schema::record::Record;
use crate::schema::setup::Sampled;
use crate::schema::units::{Bytes, Percent};
use crate::store::Run;
use fsderby_diskmodel::{COLUMNS, Factor, Sample};
use fsderby_stats::discovery::{Discovered, Estimated, discover};
use fsderby_stats::ensemble::{Division, divide, divide_intervals, mean_ratio};
use fsderby_stats::screening::RUNS;

/// The number of samples needed for a finding: the nominal disk and each row of the design. With fewer, a result is preliminary.
pub const SAMPLES_NEEDED: usize = 1 + RUNS;

/// The allowed false discovery rate of factors that a report names as deciding a ratio. It is below 5 %, because pairs share
/// candidates: at 5 %, 5.4 % of reports without any effect would name a factor (10,000 simulations).
pub const FALSE_NAMES: f64 = 0.045;

/// The record's sampled disk; `None` if no disk was modelled.
pub fn sampled(record: &Record) -> Option<Sampled> {
    record.sampled()
}

/// Number of distinct samples (disk, placement and CPU) among these records. With samples=off it is 1, however many rounds.
pub fn samples(records: &[&Record]) -> usize {
    let mut seen = Vec::new();
    for own in records.iter().filter_map(|r| sampled(r)).map(|sampled| varied(&sampled)) {
        if !seen.contains(&own) {
            seen.push(own);
        }
    }
    seen.len()
}

/// The number of samples of the testbed that has the fewest; `None` if no disk was modelled. Candidates may differ in disk,
/// placement or CPU: each round gives each candidate one sample.
pub fn fewest_samples(run: &Run) -> Option<usize> {
    run.records.iter().find_map(sampled)?;
    let counted = counted(run);
    let of = |testbed: &str| counted.iter().filter(|r| r.testbed == testbed).copied().collect::<Vec<_>>();
    let testbeds: BTreeSet<&str> =
        counted.iter().filter(|r| sampled(r).is_some()).map(|r| r.testbed.as_str()).collect();
    Some(testbeds.into_iter().map(|testbed| samples(&of(testbed))).min().unwrap_or(0))
}

/// The fields that distinguish samples.
fn varied(modelled: &Sampled) -> (Sample, Bytes, u32) {
    (modelled.sample, modelled.offset, modelled.mips)
}

/// All findings on the headline metrics of these scenarios; empty if no disk was modelled.
pub fn findings(works: &[Work<'_>], margin: Percent) -> Vec<Finding> {
    let asked = Asked { margin, is_asked: &is_judged, corners: Corners::Tried, of_disk: true };
    all(works, &asked)
}

/// Findings on other metrics, which contain no disk time. No corner is tried for these metrics.
pub fn findings_on(works: &[Work<'_>], margin: Percent, is_asked: &dyn Fn(&Series) -> bool) -> Vec<Finding> {
    all(works, &Asked { margin, is_asked, corners: Corners::Expected, of_disk: false })
}

fn all(works: &[Work<'_>], asked: &Asked<'_>) -> Vec<Finding> {
    let mut all = Vec::new();
    for work in works {
        each_pair(work, asked, |pair, samples| all.extend(open(pair, samples, asked.margin)));
    }
    decided(all)
}

/// The metrics to judge, and how.
pub struct Asked<'a> {
    pub margin: Percent,
    pub is_asked: &'a dyn Fn(&Series) -> bool,
    pub corners: Corners,
    /// Whether the metrics include disk time.
    pub of_disk: bool,
}

/// Whether findings judge this metric.
pub fn is_judged(series: &Series) -> bool {
    series.headline && series.better != Better::Neither
}

/// A pair's result, before the deciding factors are named over all pairs.
pub struct Open {
    finding: Finding,
    factors: [Vec<Factor>; COLUMNS],
    effects: Option<([Estimated; COLUMNS], f64)>,
}

/// The result of a pair, from one run or two; `None` without a common sample.
pub fn open(pair: &Pair<'_>, samples: &[(Sampled, f64)], margin: Percent) -> Option<Open> {
    let mut judged = judge(samples, margin, &pair.excess)?;
    let Tried { chaos: seeds, costs: paid, corner: worst, refuted: why } =
        robust::tried(pair, samples, judged.found);
    if why.is_some() {
        judged.found = Found::CannotTell;
    }
    if let Evidence::Samples { chaos, costs, corner, refuted, model_error, .. } = &mut judged.evidence {
        (*chaos, *costs, *corner, *refuted) = (seeds, paid.map(Box::new), worst, why);
        model_error.clone_from(&pair.model_error);
    }
    let finding = Finding {
        finding: judged.found,
        scenario: pair.a.work.label.clone(),
        metric: pair.a.series.name.clone(),
        dimensions: pair.a.series.dimensions.clone(),
        a: pair.a.label.to_owned(),
        b: pair.b.label.to_owned(),
        ratio: judged.ratio,
        low: Some(judged.least),
        high: Some(judged.most),
        n: samples.len() as u32,
        evidence: judged.evidence,
    };
    let effects = robust::effects_with_error(samples);
    Some(Open { finding, factors: pair.factors.clone(), effects })
}

/// Names the deciding factors, over all pairs and metrics together.
pub fn decided(all: Vec<Open>) -> Vec<Finding> {
    let columns = |open: &Open| (0..COLUMNS).filter(|at| !open.factors[*at].is_empty()).collect::<Vec<_>>();
    let estimated = all.iter().flat_map(|open| {
        let effects = open.effects.iter();
        effects.flat_map(|(effects, _)| columns(open).into_iter().map(|at| effects[at])).collect::<Vec<_>>()
    });
    let mut discovered = discover(&estimated.collect::<Vec<_>>(), FALSE_NAMES).into_iter();
    let mut findings = Vec::new();
    for mut one in all {
        let of = |(effects, mean): ([Estimated; COLUMNS], f64)| -> Vec<Decider> {
            let named = columns(&one).into_iter().zip(discovered.by_ref());
            let mut all: Vec<Decider> =
                named.map(|(at, found)| decider(&one.factors[at], mean, &effects[at], found)).collect();
            let size = |decider: &Decider| decider.effect.ln().abs();
            all.sort_by(|a, b| b.is_named.cmp(&a.is_named).then(size(b).total_cmp(&size(a))));
            all
        };
        let named = one.effects.map(of).unwrap_or_default();
        if let Evidence::Samples { deciders, .. } = &mut one.finding.evidence {
            *deciders = named;
        }
        findings.push(one.finding);
    }
    findings
}

/// The factor that decides a ratio. `own` estimates half of its effect: the change from the low level to the high level.
fn decider(factors: &[Factor], mean: f64, own: &Estimated, found: Discovered) -> Decider {
    Decider {
        factors: factors.to_vec(),
        ratios: [-1.0, 1.0].map(|level| (mean + level * own.effect).exp()),
        effect: (2.0 * own.effect).exp(),
        low: (2.0 * found.low).exp(),
        high: (2.0 * found.high).exp(),
        p: found.p,
        is_named: found.is_named,
    }
}

/// Calls `tell` with each pair of filesystems and their common samples, for each requested metric.
pub fn each_pair(work: &Work<'_>, asked: &Asked<'_>, mut tell: impl FnMut(&Pair<'_>, &[(Sampled, f64)])) {
    for series in work.series.iter().filter(|series| (asked.is_asked)(series)) {
        let all: Vec<_> = series.cells.iter().map(|cell| by_round(work, cell)).collect();
        let means = entrant::means(entrant::entrants(work, series));
        for (at, ours) in series.cells.iter().enumerate() {
            for (b, theirs) in series.cells.iter().zip(&all).skip(at + 1) {
                let [a, b] = [ours, b].map(|cell| Entrant { work, series, label: &cell.filesystem });
                let how = (asked.margin, asked.corners);
                let mut pair = pair([a, b], &means, how, all[at].values().chain(theirs.values()));
                pair.model_error = pair.model_error.filter(|_| asked.of_disk);
                tell(&pair, &common(&all[at], theirs, series.better));
            }
        }
    }
}

/// The range of a log ratio on a modelled disk, and how many samples it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spanned {
    /// The extremes, widened by the model error.
    pub ends: [f64; 2],
    /// The model error: a logarithm, 0 if the metric is no time.
    pub error: f64,
    /// Whether the error was assumed for all of the time, because the disk did not count its waiting times.
    pub is_assumed: bool,
    pub samples: usize,
}

/// The range of the log ratio of two candidates, which may be of two workloads or metrics of one run.
///
/// # Errors
/// The number of common samples, and the trials that are missing.
pub fn spanned(a: Entrant<'_>, b: Entrant<'_>, margin: Percent) -> Result<Spanned, (usize, Lacking)> {
    let rounds = |one: &Entrant<'_>| {
        let cell = one.series.cells.iter().find(|cell| cell.filesystem == one.label);
        cell.map(|cell| by_round(one.work, cell)).unwrap_or_default()
    };
    let (ours, theirs) = (rounds(&a), rounds(&b));
    let samples = common(&ours, &theirs, a.series.better);
    let n = samples.len();
    if n < SAMPLES_NEEDED {
        return Err((n, Lacking::Samples));
    }
    let pair = pair([a, b], &[], (margin, Corners::Expected), ours.values().chain(theirs.values()));
    let [least, most] = pair.extremes(&samples).map_err(|lacking| (n, lacking))?;
    let counted = pair.model_error.as_deref().map(|error| error.times.ln());
    let error = match counted {
        Some(error) => error,
        None if a.series.of.is_time() => evidence::largest_of_all(&a, &b),
        None => 0.0,
    };
    let is_assumed = counted.is_none() && error > 0.0;
    Ok(Spanned { ends: [least - error, most + error], error, is_assumed, samples: n })
}

fn pair<'w, 's>(
    [a, b]: [Entrant<'w>; 2],
    means: &'w [f64],
    (margin, corners): (Percent, Corners),
    measured: impl Iterator<Item = &'s (Sampled, f64)>,
) -> Pair<'w> {
    let factors = factors(measured.map(|(sampled, _)| sampled));
    let (excess, model_error) = (floor::of(&a, &b), model_error(&a, &b));
    Pair { a, b, factors, excess, model_error, means, margin: log_margin(margin), corners }
}

/// The varied factors, for each column of the design.
pub fn factors<'s>(samples: impl Iterator<Item = &'s Sampled>) -> [Vec<Factor>; COLUMNS] {
    let varied: BTreeSet<Factor> =
        samples.flat_map(|sampled| sampled.sample.levels.all()).map(|(factor, _)| factor).collect();
    array::from_fn(|column| varied.iter().filter(|factor| factor.column() == column).copied().collect())
}

/// One filesystem's values and sampled disks, by round.
fn by_round(work: &Work<'_>, cell: &Cell) -> BTreeMap<u32, (Sampled, f64)> {
    let mut disks: BTreeMap<u32, Sampled> = BTreeMap::new();
    for record in work.counted.iter().filter(|record| record.filesystem == cell.filesystem) {
        if let Entry::Vacant(none_yet) = disks.entry(record.round)
            && let Some(sampled) = sampled(record)
        {
            none_yet.insert(sampled);
        }
    }
    let positive = cell.values.iter().filter(|v| v.value > 0.0);
    positive.filter_map(|v| Some((v.round, (disks.get(&v.round)?.clone(), v.value)))).collect()
}

/// The samples that both candidates had in the same round: the disk of `a`, and the log ratio (positive if `a` is better).
/// Candidates may differ in disk, placement or CPU; the variation over rounds is the same for both candidates.
fn common(
    a: &BTreeMap<u32, (Sampled, f64)>,
    b: &BTreeMap<u32, (Sampled, f64)>,
    better: Better,
) -> Vec<(Sampled, f64)> {
    let both = a.iter().filter_map(|(round, ours)| Some((ours, b.get(round)?)));
    // Disks of two classes have different factors at the same point.
    let at = |sampled: &Sampled| (sampled.sample.point, sampled.sample.seed);
    let same = both.filter(|((a, _), (b, _))| at(a) == at(b));
    let mut samples: Vec<(Sampled, f64)> =
        same.map(|((modelled, a), (_, b))| (modelled.clone(), log_ratio(better, *a, *b))).collect();
    // Several rounds with the same sample count as one.
    let mut seen = Vec::new();
    samples.retain(|(m, _)| {
        let new = !seen.contains(&varied(m));
        seen.push(varied(m));
        new
    });
    samples
}

/// Judges one candidate in two runs, the second relative to the first, like two candidates of one run. Uses rounds that had the
/// same sample and the same work in both runs, so that only the change can make a difference. Rounds with the same disk, placement
/// and CPU count once.
pub fn of_two_runs(before: Ran<'_>, after: Ran<'_>, label: &str, margin: Percent) -> Option<Open> {
    let rounds = |(work, series): Ran<'_>| {
        let cell = series.cells.iter().find(|cell| cell.filesystem == label);
        cell.map(|cell| by_round(work, cell)).unwrap_or_default()
    };
    let seed = |work: &Work<'_>, round: u32| work.of_round(label, round).map(|record| record.workload_seed);
    let (theirs, mut ours) = (rounds(before), rounds(after));
    ours.retain(|round, (sampled, _)| {
        let same = theirs.get(round).is_some_and(|(known, _)| known == sampled);
        same && seed(before.0, *round) == seed(after.0, *round)
    });
    let of = |(work, series)| Entrant { work, series, label };
    let all = entrant::entrants(before.0, before.1).chain(entrant::entrants(after.0, after.1));
    let means = entrant::means(all);
    let how = (margin, Corners::Expected);
    let pair = pair([of(after), of(before)], &means, how, ours.values().chain(theirs.values()));
    open(&pair, &common(&ours, &theirs, after.1.better), margin)
}

/// A scenario, and one of its metrics.
pub type Ran<'d> = (&'d Work<'d>, &'d Series);

/// The result of one pair, from its samples.
pub struct Judged {
    pub found: Found,
    pub ratio: f64,
    pub least: f64,
    pub most: f64,
    pub evidence: Evidence,
}

/// Judges the samples of a pair; `None` without samples. Withholds a finding that disk-model overhead might have caused.
pub fn judge(samples: &[(Sampled, f64)], margin: Percent, excess: &Excess) -> Option<Judged> {
    let logs: Vec<f64> = samples.iter().map(|(_, log)| *log).collect();
    let (least, most) = fsderby_stats::range(&logs)?;
    let margin = log_margin(margin);
    let division = divide(&logs, margin);
    let as_measured = found(division, logs.len());
    let intervals: Vec<(f64, f64)> = samples
        .iter()
        .map(|(sampled, log)| (excess.slack(sampled.mips), log))
        .map(|(slack, log)| (log + slack.least, log + slack.most))
        .collect();
    let found = match excess {
        Excess::NotMeasured => Found::CannotTell,
        _ => found(divide_intervals(&intervals, margin), logs.len()),
    };
    let [a_better, within_margin, b_better] =
        [division.above, division.within, division.below].map(|n| n as u32);
    let evidence = Evidence::Samples {
        a_better,
        within_margin,
        b_better,
        deciders: Vec::new(),
        floor: excess.floor(),
        withheld: Some(as_measured).filter(|as_measured| *as_measured != found),
        chaos: None,
        corner: None,
        costs: None,
        model_error: None,
        refuted: None,
    };
    Some(Judged { found, ratio: mean_ratio(&logs)?, least: least.exp(), most: most.exp(), evidence })
}

/// The finding on which all samples agree.
fn found(division: Division, samples: usize) -> Found {
    match division {
        _ if samples < SAMPLES_NEEDED => Found::CannotTell,
        d if d.above == samples => Found::Better,
        d if d.below == samples => Found::Worse,
        d if d.within == samples => Found::Equivalent,
        _ => Found::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::GIB;
    use fsderby_diskmodel::{Level, Levels, Point, SHIPPED, Spec};
    use fsderby_stats::screening::row;

    fn nth(n: u32) -> Sampled {
        let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "hdd-16tb").expect("it is shipped");
        let spec = Spec::parse(text).expect("it is a disk");
        let point = n.checked_sub(1).map_or(Point::NOMINAL, |n| Point::corner(row(n as usize)));
        Sampled {
            disk: "d".into(),
            offset: Bytes(40 * GIB),
            mips: 500,
            sample: spec.sample(point, 1, n),
            ensemble: true,
            disks: 1,
            machine: "m".into(),
        }
    }

    fn is_high(sampled: &Sampled, factor: Factor) -> bool {
        sampled.sample.levels.of(factor) == Some(Level::High)
    }

    /// The judgement of a pair over this many samples; `ratio` gives the ratio in each sample.
    fn pair(samples: u32, ratio: impl Fn(&Sampled) -> f64) -> Judged {
        judge(&logs(samples, ratio), Percent(3.0), &Excess::None).expect("there are samples")
    }

    fn logs(samples: u32, ratio: impl Fn(&Sampled) -> f64) -> Vec<(Sampled, f64)> {
        (0..samples).map(nth).map(|m| (m.clone(), ratio(&m).ln())).collect()
    }

    /// The effect of each factor, for a pair with these samples and ratios.
    fn deciders(samples: u32, ratio: impl Fn(&Sampled) -> f64) -> Vec<Decider> {
        let samples = logs(samples, ratio);
        let factors = factors(samples.iter().map(|(sampled, _)| sampled));
        let judged = judge(&samples, Percent(3.0), &Excess::None).expect("there are samples");
        let finding = Finding {
            finding: judged.found,
            scenario: String::new(),
            metric: String::new(),
            dimensions: String::new(),
            a: "a".into(),
            b: "b".into(),
            ratio: judged.ratio,
            low: None,
            high: None,
            n: samples.len() as u32,
            evidence: judged.evidence,
        };
        let open = Open { finding, factors, effects: robust::effects_with_error(&samples) };
        let [finding] = decided(vec![open]).try_into().expect("one");
        let Evidence::Samples { deciders, .. } = finding.evidence else { panic!("no samples") };
        deciders
    }

    #[test]
    fn better_is_what_all_samples_say_however_many_there_are() {
        assert_eq!(pair(13, |_| 1.04).found, Found::Better);
        assert_eq!(pair(13, |_| 0.9).found, Found::Worse);
        assert_eq!(pair(13, |_| 1.02).found, Found::Equivalent);
        let but_one = |m: &Sampled| if m.sample.point.is_nominal() { 0.8 } else { 1.2 };
        assert_eq!(pair(13, but_one).found, Found::CannotTell);
        assert_eq!(pair(25, but_one).found, Found::CannotTell);
    }

    #[test]
    fn the_same_sign_is_not_enough() {
        let barely = |m: &Sampled| if is_high(m, Factor::Seek) { 1.01 } else { 1.2 };
        assert_eq!(pair(13, barely).found, Found::CannotTell);
    }

    #[test]
    fn what_the_server_may_have_moved_is_withheld_and_what_it_cannot_have_is_found() {
        let mut samples: Vec<(Sampled, f64)> = (0..13).map(|n| (nth(n), 0.06)).collect();
        samples[1].0.mips = 250;
        let judged = |excess: &Excess| {
            let judged = judge(&samples, Percent(3.0), excess).expect("samples");
            let Evidence::Samples { withheld, .. } = judged.evidence else { panic!("no samples") };
            (judged.found, withheld)
        };
        let excess = |logs| floor::measured(logs, 500, None);
        assert_eq!(judged(&Excess::None), (Found::Better, None));
        assert_eq!(judged(&excess([0.06, 0.07, 0.08])), (Found::Better, None));
        // On a CPU of half the speed the overhead doubles to 0.04, and 0.06 − 0.04 is within the margin.
        assert_eq!(judged(&excess([0.06, 0.08, 0.10])), (Found::CannotTell, Some(Found::Better)));
        assert_eq!(judged(&excess([0.06, 0.04, 0.02])), (Found::Better, None), "it is better still without");
        assert_eq!(judged(&Excess::NotMeasured), (Found::CannotTell, Some(Found::Better)));
    }

    #[test]
    fn twelve_samples_allow_no_finding_however_clear_they_are() {
        assert_eq!(pair(12, |_| 9.0).found, Found::CannotTell);
    }

    #[test]
    fn factors_are_named_once_the_fold_shows_an_error_and_thirteen_samples_name_none() {
        let mut random = fsderby_stats::random::Random::new(1);
        let noise: Vec<f64> = (0..25).map(|_| (0.02 * random.normal()).exp()).collect();
        let next = std::cell::Cell::new(0);
        let ratio = |m: &Sampled| {
            let cache = if is_high(m, Factor::Cache) { 0.5 } else { 1.5 };
            cache * noise[next.replace((next.get() + 1) % noise.len())]
        };
        let found = deciders(25, ratio);
        let [first, others @ ..] = found.as_slice() else { panic!("{found:?}") };
        assert!(first.is_named && first.factors == [Factor::Cache] && first.p < 0.001, "{first:?}");
        assert!((first.effect * 3.0 - 1.0).abs() < 0.05 && first.high < 1.0, "{first:?}");
        assert!((first.ratios[0] / first.ratios[1] * first.effect - 1.0).abs() < 1e-9, "{first:?}");
        assert!(others.len() > 7 && others.iter().all(|one| !one.is_named), "{others:?}");
        assert!(others.iter().all(|one| one.low < 1.0 && one.high > 1.0), "{others:?}");
        assert!(deciders(13, ratio).is_empty() && deciders(24, ratio).is_empty());
    }

    #[test]
    fn another_position_is_another_sample() {
        let here = nth(0);
        let there = Sampled { offset: Bytes(0), ..here.clone() };
        assert!(varied(&here) != varied(&there));
        let ours = BTreeMap::from([(1, (here.clone(), 2.0)), (2, (there, 3.0))]);
        assert_eq!(common(&ours, &ours, Better::Higher).len(), 2);
        let again = BTreeMap::from([(1, (here.clone(), 2.0)), (2, (here, 3.0))]);
        assert_eq!(common(&again, &again, Better::Higher).len(), 1);
    }

    #[test]
    fn candidates_on_two_disks_meet_in_their_round_and_only_in_the_same_sample() {
        let on = |disk: &str, mips: u32, n: u32| Sampled {
            disk: disk.into(),
            offset: Bytes(u64::from(mips)),
            mips,
            ..nth(n)
        };
        let ours: BTreeMap<_, _> = (0..3).map(|n| (n + 1, (on("slow", 500, n), 1.0))).collect();
        let mut theirs: BTreeMap<_, _> = (0..3).map(|n| (n + 1, (on("fast", 250, n), 2.0))).collect();
        let met = common(&ours, &theirs, Better::Higher);
        assert!(met.len() == 3 && met.iter().all(|(m, log)| m.disk == "slow" && *log == -2.0_f64.ln()));
        // A disk of another class has different factors at the same point.
        theirs.values_mut().for_each(|(m, _)| m.sample.levels = Levels::NOMINAL);
        assert_eq!(common(&ours, &theirs, Better::Higher).len(), 3);
        // With samples=off every round of the other run has the sample of the first round.
        let fixed: BTreeMap<_, _> = (0..3).map(|n| (n + 1, (on("fast", 250, 0), 2.0))).collect();
        assert_eq!(common(&ours, &fixed, Better::Higher).len(), 1);
    }
}
