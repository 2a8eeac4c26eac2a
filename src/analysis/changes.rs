//! Compares two runs: which differences the figures of the runs support. Pure; reads only the records.
//!
//! The machine affected each run differently, so rounds of two runs are not paired. On testbeds whose figures scatter, the runs
//! are two independent samples. The difference between the runs themselves is removed only if both runs have a control: a
//! candidate in which nothing was changed. On modelled disks the same sample of the disk gives the same figure, so a candidate in
//! two runs is judged like two candidates of one run, with the extra trials of both runs.

use std::collections::BTreeMap;

use fsderby_stats::two_runs::{TwoRuns, drift, two_runs};

use super::dataset::{Dataset, Series, Work};
use super::ensemble::{self, SAMPLES_NEEDED};
use super::rounds::{ALPHA, FEWEST, log, oriented, positive};
use crate::schema::change::{self, Change, ChangeBasis, Changes, Difference, Missing, Reach};
use crate::schema::finding::{Evidence, Finding, Found};
use crate::schema::metric::Better;
use crate::schema::units::Percent;
use crate::store::Run;

/// The candidates to compare, and their controls.
pub struct Asked<'a> {
    /// Candidates that both runs have, in the order of the second plan.
    pub candidates: &'a [String],
    /// The controls: candidates in which nothing was changed.
    pub controls: &'a [String],
    pub differences: Vec<Difference>,
}

/// Two runs of the same work in the same setup.
pub struct Pair<'r> {
    pub before: &'r Run,
    pub after: &'r Run,
}

/// The controls: candidates that no difference between the runs affects. Empty if differences affect no candidate or all.
pub fn untouched(candidates: &[String], differences: &[Difference]) -> Vec<String> {
    let touched = |label: &String| differences.iter().any(|d| d.reach == Reach::Candidate(label.clone()));
    if differences.iter().any(|d| d.reach == Reach::All) || !candidates.iter().any(touched) {
        return Vec::new();
    }
    candidates.iter().filter(|label| !touched(label)).cloned().collect()
}

/// Compares the two runs. There are no findings if the runs have no headline metric in common.
pub fn of(pair: &Pair<'_>, asked: Asked<'_>) -> Changes {
    let [before, after] = [Dataset::of(pair.before), Dataset::of(pair.after)];
    let margin = Percent(pair.before.plan.margin.0.max(pair.after.plan.margin.0));
    let met = met(&before, &after);
    let judged: Vec<&String> =
        asked.candidates.iter().filter(|label| !asked.controls.contains(label)).collect();
    let is_modelled = ensemble::fewest_samples(pair.before).is_some();
    let missing = missing(&before, &after, asked.candidates);
    let (basis, findings, controls) = match is_modelled {
        true => (
            ChangeBasis::Samples { needed: SAMPLES_NEEDED as u32 },
            over_samples(&met, asked.candidates, margin),
            Vec::new(),
        ),
        false => over_rounds(&met, &judged, asked.controls, margin),
    };
    let schema = change::SCHEMA;
    Changes { schema, basis, margin, differences: asked.differences, findings, controls, missing }
}

/// One headline metric of one scenario in both runs.
struct Met<'d> {
    before: (&'d Work<'d>, &'d Series),
    after: (&'d Work<'d>, &'d Series),
}

fn met<'d>(before: &'d Dataset<'_>, after: &'d Dataset<'_>) -> Vec<Met<'d>> {
    let headlines = |work: &'d Work<'d>| {
        work.series.iter().filter(|s| s.headline && !s.once && s.better != Better::Neither)
    };
    let mut all = Vec::new();
    for ours in &after.workloads {
        let Some(theirs) = before.workloads.iter().find(|work| work.label == ours.label) else { continue };
        for series in headlines(ours) {
            let same = |s: &&Series| (&s.name, &s.dimensions) == (&series.name, &series.dimensions);
            let before = headlines(theirs).find(same);
            all.extend(before.map(|before| Met { before: (theirs, before), after: (ours, series) }));
        }
    }
    all
}

fn missing(before: &Dataset<'_>, after: &Dataset<'_>, candidates: &[String]) -> Vec<Missing> {
    let has = |dataset: &Dataset<'_>, scenario: &str, label: &String| {
        let work = dataset.workloads.iter().find(|work| work.label == scenario);
        work.is_some_and(|work| work.counted.iter().any(|record| record.filesystem == *label))
    };
    let both = after.workloads.iter().filter(|w| before.workloads.iter().any(|b| b.label == w.label));
    let lacks = |scenario: &str, label: &String| {
        let [before, after] = [has(before, scenario, label), has(after, scenario, label)];
        let of = |after| Missing { candidate: label.clone(), scenario: scenario.to_owned(), after };
        [(!before).then(|| of(false)), (!after).then(|| of(true))].into_iter().flatten().collect::<Vec<_>>()
    };
    both.flat_map(|work| candidates.iter().flat_map(|label| lacks(&work.label, label))).collect()
}

/// The logarithms of a candidate's values by round, oriented so that larger is better.
fn logs(series: &Series, label: &str) -> BTreeMap<u32, f64> {
    let cell = series.cells.iter().find(|cell| cell.filesystem == label);
    cell.into_iter().flat_map(positive).map(|(round, value)| (round, oriented(series, value))).collect()
}

/// Logarithms like those of [`logs`], minus the controls' mean in the same round, without rounds that a control lacks.
fn beside(series: &Series, label: &str, controls: &[String]) -> Vec<f64> {
    let controls: Vec<BTreeMap<u32, f64>> = controls.iter().map(|control| logs(series, control)).collect();
    let mean = |round: &u32| {
        let all: Option<Vec<f64>> = controls.iter().map(|control| control.get(round).copied()).collect();
        Some(all?.iter().sum::<f64>() / controls.len().max(1) as f64)
    };
    logs(series, label).iter().filter_map(|(round, log)| Some(log - mean(round)?)).collect()
}

/// The basis of the comparison, the findings, and the changes of the controls.
type OverRounds = (ChangeBasis, Vec<Change>, Vec<Change>);

fn over_rounds(met: &[Met<'_>], judged: &[&String], controls: &[String], margin: Percent) -> OverRounds {
    let samples: Vec<(&Met<'_>, &String, [Vec<f64>; 2])> = met
        .iter()
        .flat_map(|met| judged.iter().map(move |label| (met, *label, met.values(label, controls))))
        .filter(|(_, _, samples)| samples.iter().all(|values| values.len() >= 2))
        .collect();
    let findings = samples.iter().filter_map(|(met, label, values)| {
        let two = two_runs(&values[0], &values[1], samples.len(), ALPHA)?;
        Some(met.change(label, values, &two, Some(margin)))
    });
    let moved = met.iter().flat_map(|met| {
        controls.iter().filter_map(move |label| {
            let values = met.values(label, &[]);
            let two = two_runs(&values[0], &values[1], 1, ALPHA)?;
            Some(met.change(label, &values, &two, None))
        })
    });
    let drifts = samples.iter().flat_map(|(_, _, values)| values).filter_map(|values| drift(values));
    let most = drifts.map(|drift| drift.abs().exp()).reduce(f64::max);
    let basis =
        ChangeBasis::TwoRuns { needed: FEWEST, alpha: ALPHA, controls: controls.to_vec(), drift: most };
    (basis, findings.collect(), moved.collect())
}

impl Met<'_> {
    fn values(&self, label: &str, controls: &[String]) -> [Vec<f64>; 2] {
        [self.before.1, self.after.1].map(|series| beside(series, label, controls))
    }

    /// The change of one candidate. Without a margin the finding is `CannotTell`.
    fn change(&self, label: &str, values: &[Vec<f64>; 2], two: &TwoRuns, margin: Option<Percent>) -> Change {
        let n = [values[0].len() as u32, values[1].len() as u32];
        let enough = n.iter().all(|n| *n >= FEWEST);
        let finding = margin.filter(|_| enough).map_or(Found::CannotTell, |margin| found(two, margin));
        let evidence = Evidence::Rounds {
            p: (enough && margin.is_some()).then_some(two.p),
            smallest: (enough && margin.is_some()).then_some(two.detectable.exp()),
            rounds_to_equivalent: None,
        };
        let (work, series) = self.after;
        Change {
            finding,
            scenario: work.label.clone(),
            metric: series.name.clone(),
            dimensions: series.dimensions.clone(),
            candidate: label.to_owned(),
            ratio: two.estimate.exp(),
            low: enough.then_some(two.interval.low.exp()),
            high: enough.then_some(two.interval.high.exp()),
            n,
            evidence,
        }
    }
}

/// A difference within the margin is found equivalent, even if it is statistically significant.
fn found(two: &TwoRuns, margin: Percent) -> Found {
    let (low, high) = (two.interval.low, two.interval.high);
    match log(margin) {
        margin if -margin < low && high < margin => Found::Equivalent,
        _ if low > 0.0 => Found::Better,
        _ if high < 0.0 => Found::Worse,
        _ => Found::CannotTell,
    }
}

/// Judges samples of the disk that both runs had with the same work, like two candidates of one run.
fn over_samples(met: &[Met<'_>], candidates: &[String], margin: Percent) -> Vec<Change> {
    let open = |met: &Met<'_>| {
        let of = |label: &String| ensemble::of_two_runs(met.before, met.after, label, margin);
        candidates.iter().filter_map(of).collect::<Vec<_>>()
    };
    ensemble::decided(met.iter().flat_map(open).collect()).into_iter().map(change).collect()
}

/// The change of a candidate: its figure in the second run relative to its figure in the first.
fn change(finding: Finding) -> Change {
    Change {
        finding: finding.finding,
        scenario: finding.scenario,
        metric: finding.metric,
        dimensions: finding.dimensions,
        candidate: finding.a,
        ratio: finding.ratio,
        low: finding.low,
        high: finding.high,
        n: [finding.n; 2],
        evidence: finding.evidence,
    }
}
