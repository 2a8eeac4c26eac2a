//! The verdict of a run on a modelled disk: what holds whatever the disk is like.
//!
//! Trials in virtual time have no noise, so repeating them proves nothing. What is uncertain is the model; so each round samples
//! another disk, another place on it and another CPU, the same for all filesystems, and a finding is what nearly all samples
//! agree on.

use std::collections::{BTreeMap, BTreeSet};

use super::dataset::{Cell, Series, Work, counted};
use super::floor::{self, Excess};
use crate::schema::finding::{Decider, Evidence, Finding, Found, Level, Parameter};
use crate::schema::metric::Better;
use crate::schema::record::Record;
use crate::schema::setup::Sampled;
use crate::schema::units::{Bytes, Percent};
use crate::store::Run;
use fsderby_diskmodel::{CachePolicy, Sample};
use fsderby_stats::ensemble::{
    Division, at_least, divide, divide_intervals, mean_ratio, share_by_group, share_by_line,
};

/// Fewer samples give a preliminary result. So many have each of the three cache policies and each of the three speeds of the
/// CPU four times.
pub const SAMPLES_NEEDED: usize = 12;
/// The share of samples that must agree.
pub const AGREEMENT: f64 = 0.95;

/// What a record's disk was sampled as; `None` where no disk was modelled.
pub fn sampled(record: &Record) -> Option<Sampled> {
    record.sampled()
}

/// How many different disks, places and CPUs these records were made on. With the samples off it is one, however many rounds
/// there are.
pub fn samples(records: &[&Record]) -> usize {
    let mut seen = Vec::new();
    for own in records.iter().filter_map(|r| sampled(r)).map(|sampled| varied(&sampled)) {
        if !seen.contains(&own) {
            seen.push(own);
        }
    }
    seen.len()
}

/// How many samples the testbed that has the fewest was sampled in; `None` where no disk was modelled. Candidates may differ in
/// disk, place or CPU: each round brings each of them one sample.
pub fn fewest_samples(run: &Run) -> Option<usize> {
    run.records.iter().find_map(sampled)?;
    let counted = counted(run);
    let of = |testbed: &str| counted.iter().filter(|r| r.testbed == testbed).copied().collect::<Vec<_>>();
    let testbeds: BTreeSet<&str> =
        counted.iter().filter(|r| sampled(r).is_some()).map(|r| r.testbed.as_str()).collect();
    Some(testbeds.into_iter().map(|testbed| samples(&of(testbed))).min().unwrap_or(0))
}

/// What makes a sample another one.
fn varied(modelled: &Sampled) -> (Sample, Bytes, u32) {
    (modelled.sample, modelled.offset, modelled.mips)
}

/// All findings on one workload's headline metrics; none where no disk was modelled.
pub fn findings(work: &Work<'_>, margin: Percent) -> Vec<Finding> {
    let headlines = work.series.iter().filter(|s| s.headline && s.better != Better::Neither);
    headlines.flat_map(|series| pairs(work, series, margin)).collect()
}

/// All pairs of filesystems, in their order.
fn pairs(work: &Work<'_>, series: &Series, margin: Percent) -> Vec<Finding> {
    let all: Vec<_> = series.cells.iter().map(|cell| by_round(work, cell)).collect();
    let mut pairs = Vec::new();
    for (at, a) in series.cells.iter().enumerate() {
        for (b, theirs) in series.cells.iter().zip(&all).skip(at + 1) {
            let samples = common(&all[at], theirs, series.better);
            let excess = floor::of(work, series, &a.filesystem, &b.filesystem);
            let judged = judge(&samples, margin, &excess);
            pairs.extend(judged.map(|judged| Finding {
                finding: judged.found,
                scenario: work.label.clone(),
                metric: series.name.clone(),
                dimensions: series.dimensions.clone(),
                a: a.filesystem.clone(),
                b: b.filesystem.clone(),
                ratio: judged.ratio,
                low: Some(judged.least),
                high: Some(judged.most),
                n: samples.len() as u32,
                evidence: judged.evidence,
            }));
        }
    }
    pairs
}

/// One filesystem's values with the disks that they were measured on.
fn by_round(work: &Work<'_>, cell: &Cell) -> BTreeMap<u32, (Sampled, f64)> {
    let disk = |round: u32| {
        let mut mine = work.counted.iter().filter(|r| r.filesystem == cell.filesystem && r.round == round);
        mine.find_map(|r| sampled(r))
    };
    let positive = cell.values.iter().filter(|v| v.value > 0.0);
    positive.filter_map(|v| Some((v.round, (disk(v.round)?, v.value)))).collect()
}

/// Where both met the same sample in the same round: the first's disk, and the logarithm of how many times better it is. Candidates
/// may be on another disk, at another place or on another CPU; what varies over the rounds varies for both alike.
fn common(
    a: &BTreeMap<u32, (Sampled, f64)>,
    b: &BTreeMap<u32, (Sampled, f64)>,
    better: Better,
) -> Vec<(Sampled, f64)> {
    let sign = if better == Better::Lower { -1.0 } else { 1.0 };
    let both = a.iter().filter_map(|(round, ours)| Some((ours, b.get(round)?)));
    let same = both.filter(|((a, _), (b, _))| a.sample == b.sample);
    let mut samples: Vec<(Sampled, f64)> =
        same.map(|((modelled, a), (_, b))| (modelled.clone(), sign * (a / b).ln())).collect();
    // Rounds without a sample of their own are one.
    let mut seen = Vec::new();
    samples.retain(|(m, _)| {
        let new = !seen.contains(&varied(m));
        seen.push(varied(m));
        new
    });
    samples
}

/// One candidate in two runs, the second beside the first: in rounds that had the same sample and the same work in both, so that
/// nothing but what was changed can differ. A disk, a place and a CPU that came twice count once.
pub fn of_two_runs(before: Ran<'_>, after: Ran<'_>, label: &str) -> Vec<(Sampled, f64)> {
    let rounds = |(work, series): Ran<'_>| {
        let cell = series.cells.iter().find(|cell| cell.filesystem == label);
        cell.map(|cell| by_round(work, cell)).unwrap_or_default()
    };
    let seed = |work: &Work<'_>, round: u32| {
        let mine = |r: &&&Record| r.filesystem == label && r.round == round;
        work.counted.iter().find(mine).map(|record| record.workload_seed)
    };
    let (theirs, mut ours) = (rounds(before), rounds(after));
    ours.retain(|round, (sampled, _)| {
        let same = theirs.get(round).is_some_and(|(known, _)| known == sampled);
        same && seed(before.0, *round) == seed(after.0, *round)
    });
    common(&ours, &theirs, after.1.better)
}

/// A scenario, and one of its metrics.
pub type Ran<'d> = (&'d Work<'d>, &'d Series);

/// What the samples of one pair say.
pub struct Judged {
    pub found: Found,
    pub ratio: f64,
    pub least: f64,
    pub most: f64,
    pub evidence: Evidence,
}

/// `None` without samples. What holds with the program that plays the disk and might not hold without it is withheld.
pub fn judge(samples: &[(Sampled, f64)], margin: Percent, excess: &Excess) -> Option<Judged> {
    let logs: Vec<f64> = samples.iter().map(|(_, log)| *log).collect();
    let (least, most) = fsderby_stats::range(&logs)?;
    let margin = (margin.0 / 100.0).ln_1p();
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
    let withheld = Some(as_measured).filter(|as_measured| *as_measured != found);
    let mut deciders: Vec<Decider> =
        Parameter::ALL.into_iter().filter_map(|parameter| decider(parameter, samples, &logs)).collect();
    deciders.sort_by(|a, b| b.share.total_cmp(&a.share));
    let [a_better, within_margin, b_better] =
        [division.above, division.within, division.below].map(|n| n as u32);
    let floor = excess.floor();
    let evidence = Evidence::Samples { a_better, within_margin, b_better, deciders, floor, withheld };
    Some(Judged { found, ratio: mean_ratio(&logs)?, least: least.exp(), most: most.exp(), evidence })
}

/// What nearly all of so many samples agree on.
fn found(division: Division, samples: usize) -> Found {
    let nearly_all = |n: usize| at_least(n, samples, AGREEMENT);
    match division {
        _ if samples < SAMPLES_NEEDED => Found::CannotTell,
        d if nearly_all(d.above) => Found::Better,
        d if nearly_all(d.below) => Found::Worse,
        d if nearly_all(d.within) => Found::Equivalent,
        _ => Found::CannotTell,
    }
}

fn decider(parameter: Parameter, samples: &[(Sampled, f64)], logs: &[f64]) -> Option<Decider> {
    let amount = |of: fn(&Sampled) -> f64| samples.iter().map(|(m, _)| of(m)).collect::<Vec<f64>>();
    let (share, levels) = match parameter {
        Parameter::SeekTime => {
            let x = amount(|m| f64::from(m.sample.seek_permille));
            (share_by_line(&x, logs), halves(&x, logs, ["shorter", "longer"]))
        }
        Parameter::ReadSegments => {
            let x = amount(|m| f64::from(m.sample.segments_permille));
            (share_by_line(&x, logs), halves(&x, logs, ["fewer", "more"]))
        }
        Parameter::Position => {
            // Of disks that have tracks, the beginning is outside.
            let x = amount(|m| m.offset.0 as f64);
            (share_by_line(&x, logs), halves(&x, logs, ["further out", "further in"]))
        }
        Parameter::CachePolicy => {
            let groups: Vec<usize> = samples.iter().map(|(m, _)| m.sample.cache as usize).collect();
            let name = |group: usize| CACHES.get(group).copied().unwrap_or_default().to_owned();
            (share_by_group(&groups, logs), levels(&groups, logs, name))
        }
        Parameter::CpuSpeed => {
            let groups: Vec<usize> = samples.iter().map(|(m, _)| m.mips as usize).collect();
            (share_by_group(&groups, logs), levels(&groups, logs, |mips| format!("{mips} MIPS")))
        }
    };
    Some(Decider { parameter, share: share?, levels })
}

/// In the order of [`CachePolicy`].
const CACHES: [&str; 3] = ["as specified", "half", "write-through"];
const _: () = assert!(CachePolicy::WriteThrough as usize == 2);

/// The samples below and above the median of `x`.
fn halves(x: &[f64], logs: &[f64], names: [&str; 2]) -> Vec<Level> {
    let Some(middle) = fsderby_stats::median(x) else { return Vec::new() };
    let groups: Vec<usize> = x.iter().map(|x| usize::from(*x > middle)).collect();
    levels(&groups, logs, |half| names[half].to_owned())
}

fn levels(groups: &[usize], logs: &[f64], name: impl Fn(usize) -> String) -> Vec<Level> {
    let mut by_group: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    groups.iter().zip(logs).for_each(|(group, log)| by_group.entry(*group).or_default().push(*log));
    let level = |(group, logs): (usize, Vec<f64>)| {
        Some(Level { name: name(group), samples: logs.len() as u32, ratio: mean_ratio(&logs)? })
    };
    by_group.into_iter().filter_map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::{GIB, MIB};

    fn nth(n: u32) -> Sampled {
        let sample = Sample::nth(1, n);
        let away = i64::from(sample.position_permille) * 40 * MIB.cast_signed();
        Sampled {
            disk: "d".into(),
            offset: Bytes((40 * GIB).saturating_add_signed(away)),
            mips: [500, 250, 1000][sample.cpu as usize],
            sample,
            ensemble: true,
            disks: 1,
            machine: "m".into(),
        }
    }

    /// A pair over so many samples, with this ratio in each.
    fn pair(samples: u32, ratio: impl Fn(&Sampled) -> f64) -> Judged {
        let samples: Vec<(Sampled, f64)> =
            (0..samples).map(nth).map(|m| (m.clone(), ratio(&m).ln())).collect();
        judge(&samples, Percent(3.0), &Excess::None).expect("there are samples")
    }

    impl Judged {
        fn deciders(&self) -> &[Decider] {
            let Evidence::Samples { deciders, .. } = &self.evidence else { return &[] };
            deciders
        }
    }

    #[test]
    fn better_is_what_all_of_a_dozen_samples_say() {
        assert_eq!(pair(12, |_| 1.04).found, Found::Better);
        assert_eq!(pair(12, |_| 0.9).found, Found::Worse);
        assert_eq!(pair(12, |_| 1.02).found, Found::Equivalent);
        let nominal = |m: &Sampled| if m.sample.seek_permille == 0 { 0.8 } else { 1.2 };
        assert_eq!(pair(12, nominal).found, Found::CannotTell);
        assert_eq!(pair(20, nominal).found, Found::Better);
    }

    #[test]
    fn the_same_sign_is_not_enough() {
        let barely = |m: &Sampled| if m.sample.seek_permille > 0 { 1.01 } else { 1.2 };
        assert_eq!(pair(12, barely).found, Found::CannotTell);
    }

    #[test]
    fn what_the_server_may_have_moved_is_withheld_and_what_it_cannot_have_is_found() {
        let samples: Vec<(Sampled, f64)> = (0..12).map(|n| (nth(n), 0.06)).collect();
        let judged = |excess: &Excess| {
            let Judged { found, evidence, .. } = judge(&samples, Percent(3.0), excess).expect("samples");
            let Evidence::Samples { withheld, .. } = evidence else { panic!("no samples") };
            (found, withheld)
        };
        let excess = |logs| Excess::Measured { floor: floor::floor(logs), mips: 500 };
        assert_eq!(judged(&Excess::None), (Found::Better, None));
        assert_eq!(judged(&excess([0.06, 0.07, 0.08])), (Found::Better, None));
        // On the CPU of half the speed twice as much: 0.06 − 0.04 is within the margin.
        assert_eq!(judged(&excess([0.06, 0.08, 0.10])), (Found::CannotTell, Some(Found::Better)));
        assert_eq!(judged(&excess([0.06, 0.04, 0.02])), (Found::Better, None), "it is better still without");
        assert_eq!(judged(&Excess::NotMeasured), (Found::CannotTell, Some(Found::Better)));
    }

    #[test]
    fn eleven_samples_allow_no_finding_however_clear_they_are() {
        assert_eq!(pair(11, |_| 9.0).found, Found::CannotTell);
    }

    #[test]
    fn what_decides_stands_first_with_its_levels() {
        let through = |m: &Sampled| match m.sample.cache {
            CachePolicy::WriteThrough => 0.5,
            _ => 1.5 + f64::from(m.sample.seek_permille) * 1e-5,
        };
        let pair = pair(12, through);
        let first = &pair.deciders()[0];
        assert_eq!((pair.found, first.parameter), (Found::CannotTell, Parameter::CachePolicy));
        assert!(first.share > 0.99);
        let names: Vec<&str> = first.levels.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, CACHES);
        assert!(first.levels.iter().all(|l| l.samples == 4) && first.levels[2].ratio < 0.51);
    }

    #[test]
    fn what_goes_with_the_position_is_found() {
        let inner = |m: &Sampled| (f64::from(m.sample.position_permille) / 50.0).exp();
        let pair = pair(12, inner);
        let first = &pair.deciders()[0];
        assert_eq!(first.parameter, Parameter::Position);
        let levels: Vec<(&str, bool)> =
            first.levels.iter().map(|l| (l.name.as_str(), l.ratio > 1.0)).collect();
        assert_eq!(levels, [("further out", false), ("further in", true)]);
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
        let theirs: BTreeMap<_, _> = (0..3).map(|n| (n + 1, (on("fast", 250, n), 2.0))).collect();
        let met = common(&ours, &theirs, Better::Higher);
        assert!(met.len() == 3 && met.iter().all(|(m, log)| m.disk == "slow" && *log == -2.0_f64.ln()));
        // Without samples of its own every round of theirs is the first one.
        let fixed: BTreeMap<_, _> = (0..3).map(|n| (n + 1, (on("fast", 250, 0), 2.0))).collect();
        assert_eq!(common(&ours, &fixed, Better::Higher).len(), 1);
    }

    #[test]
    fn a_parameter_that_did_not_vary_decides_nothing() {
        let pair = pair(1, |_| 2.0);
        assert!(pair.deciders().is_empty());
    }
}
