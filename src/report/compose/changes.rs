//! The comparison of two runs, in words and figures.

mod answer;

use std::collections::BTreeMap;

use super::known::Known;
use super::words::Words;
use super::{advice, confounded};
use crate::analysis::changes::Pair;
use crate::analysis::dataset::{Cell, Dataset, Series, counted};
use crate::report::view::changes::{ChangesView, Line, Part, RunSaid};
use crate::report::view::number::{Scale, chance, count, list, ratio};
use crate::report::view::sentence::Claim;
use crate::schema::change::{Change, ChangeBasis, Changes, Difference, Missing, Reach};
use crate::schema::declared;
use crate::schema::finding::Guard;
use crate::schema::metric::Better;
use crate::store::Run;

/// At most this many differences stand on the first screen.
const NAMED: usize = 3;

pub fn of(pair: &Pair<'_>, changes: &Changes, known: Known) -> ChangesView {
    let datasets = [Dataset::of(pair.before), Dataset::of(pair.after)];
    let (parts, words): (Vec<Part>, Vec<Words>) = parts(pair, &datasets, changes, known).into_iter().unzip();
    let advice = advice::of(pair, changes);
    let answer = answer::of(changes, &parts, &words);
    ChangesView {
        title: "The second run compared with the first".to_owned(),
        runs: [said(pair.before), said(pair.after)],
        claims: answer.claims.clone(),
        answer,
        confounded: confounded::in_two_runs(pair, changes),
        basis: std::iter::once(changed(&changes.differences)).chain(basis(pair, changes)).collect(),
        differences: changes.differences.iter().map(differs).collect(),
        parts,
        missing: missing(&changes.missing),
        notes: Vec::new(),
        advice: advice.text,
        command: advice.command,
    }
}

fn said(run: &Run) -> RunSaid {
    let counted = counted(run);
    let started = run.records.first().map(|r| r.circumstances.started.as_str()).unwrap_or_default();
    let begun = if started.is_empty() { String::new() } else { format!(", started {started}") };
    let mut rounds: Vec<u32> = counted.iter().map(|record| record.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    RunSaid {
        folder: run.folder.display().to_string(),
        said: format!("{}{begun}, {}", run.plan.name, count(rounds.len(), "round")),
    }
}

/// Each headline metric of each scenario, with the words for its differences.
fn parts(
    pair: &Pair<'_>,
    datasets: &[Dataset<'_>; 2],
    changes: &Changes,
    known: Known,
) -> Vec<(Part, Words)> {
    let all = || changes.findings.iter().chain(&changes.controls);
    let mut parts: Vec<(Part, Words)> = Vec::new();
    let mut seen: Vec<(&str, &str, &str)> = Vec::new();
    for change in all() {
        let key = (change.scenario.as_str(), change.metric.as_str(), change.dimensions.as_str());
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let find = |dataset: &'_ Dataset<'_>| series(dataset, change).cloned();
        let (Some(before), Some(after)) = (find(&datasets[0]), find(&datasets[1])) else { continue };
        let own =
            all().filter(|one| (one.scenario.as_str(), one.metric.as_str(), one.dimensions.as_str()) == key);
        let medians =
            [&before, &after].into_iter().flat_map(|s| s.cells.iter().filter_map(|cell| cell.median));
        let scale = Scale::of(&after.unit, medians);
        let lines = own.map(|one| line(one, changes, [&before, &after], &scale)).collect();
        let name = title(pair.after, change, known);
        let words = Words::of(after.stands_in, after.of, after.better, &name);
        let mut title = scale.heading(&name);
        if !change.dimensions.is_empty() {
            title = format!("{title} ({})", change.dimensions);
        }
        let direction = match after.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
            Better::Neither => "",
        };
        let Change { scenario, metric, dimensions, .. } = change.clone();
        parts.push((Part { scenario, metric, dimensions, title, direction, lines }, words));
    }
    parts
}

fn series<'d>(dataset: &'d Dataset<'_>, change: &Change) -> Option<&'d Series> {
    let work = dataset.workloads.iter().find(|work| work.label == change.scenario)?;
    work.series.iter().find(|s| s.name == change.metric && s.dimensions == change.dimensions)
}

fn title(run: &Run, change: &Change, known: Known) -> String {
    let engines = run.plan.workloads.iter().map(|work| work.work.engine.as_str());
    let title = |engine| {
        let declared = (known.metrics)(engine);
        declared::find(&declared, &change.metric).map(|d| d.title_of(&change.metric))
    };
    engines.filter_map(title).next().unwrap_or_else(|| change.metric.clone())
}

fn line(change: &Change, changes: &Changes, series: [&Series; 2], scale: &Scale) -> Line {
    let mean = |series: &Series| {
        let cell = series.cells.iter().find(|cell| cell.filesystem == change.candidate);
        cell.and_then(Cell::geometric_mean).map_or_else(|| "–".to_owned(), |mean| scale.number(mean))
    };
    let is_control = changes.controls().contains(&change.candidate);
    let finding = Some(change.finding).filter(|_| !is_control && changes.is_judged(change));
    Line {
        candidate: change.candidate.clone(),
        before: mean(series[0]),
        after: mean(series[1]),
        ratio: change.ratio,
        low: change.low,
        high: change.high,
        claim: finding.map(|_| Claim::of_change(change)),
        finding,
        is_control,
    }
}

fn basis(pair: &Pair<'_>, changes: &Changes) -> Vec<String> {
    let mut said = match &changes.basis {
        ChangeBasis::Samples { .. } => {
            let n = changes.findings.iter().map(|change| change.n[0]).min().unwrap_or(0);
            vec![format!(
                "How sure: a finding holds in all {} of both runs (each sample varies the disk, the volume's position \
                 on it and the CPU speed); a range spans the smallest to the largest ratio of these samples. The \
                 figures contain no noise from the host. But any change of the code shifts the figures a little, even \
                 if it has no effect on speed, just as another workload seed would.",
                count(n as usize, "sample"),
            )]
        }
        ChangeBasis::TwoRuns { alpha, controls, drift, .. } => over_rounds(changes, *alpha, controls, *drift),
    };
    let guards = [("first", pair.before), ("second", pair.after)];
    said.extend(
        guards.into_iter().filter_map(|(which, run)| guarded(which, run.verdict.as_ref()?.guard.as_ref()?)),
    );
    said
}

fn over_rounds(changes: &Changes, alpha: f64, controls: &[String], drift: Option<f64>) -> Vec<String> {
    let percent = 100.0 * (1.0 - alpha);
    let ranges = match changes.findings.len() {
        1 => format!("the range is a {percent:.0} % confidence interval"),
        n => format!("all {n} ranges together hold with {percent:.0} % confidence"),
    };
    let sure = format!(
        "How sure: {ranges} (Welch's t, Bonferroni, from the variation within each of the two runs)."
    );
    let mut said = match controls {
        [] => vec![
            sure,
            "A difference between two runs is not necessarily an effect of the change. The runs were made at \
             different times, so heat, other users of the machine and the position of images on the host's disk also \
             affect the ratios. The intervals do not include these influences."
                .to_owned(),
        ],
        some => vec![
            sure,
            format!(
                "Each figure is divided by the figure of the unchanged control {control} in the same round. The \
                 division removes influences that act on candidate and control, but not influences on only one of \
                 them. {drift}", control = list(some), drift = moved(&changes.controls)),
        ],
    };
    said.extend(drift.map(|drift| {
        format!(
            "Figures drift without any change: within one run, a candidate's mean over the first half of the rounds and \
             its mean over the second half differ by a factor of up to {}.",
            ratio(drift)
        )
    }));
    said
}

/// The range of the controls' own changes, which the comparison removes.
fn moved(controls: &[Change]) -> String {
    let least = controls.iter().map(|change| change.ratio).reduce(f64::min);
    let most = controls.iter().map(|change| change.ratio).reduce(f64::max);
    match least.zip(most) {
        Some((least, most)) if least != most => {
            format!(
                "The control's figures in the second run ÷ its figures in the first run: {} to {}.",
                ratio(least),
                ratio(most)
            )
        }
        Some((one, _)) => {
            format!("The control's figures in the second run ÷ its figures in the first run: {}.", ratio(one))
        }
        None => String::new(),
    }
}

fn guarded(which: &str, guard: &Guard) -> Option<String> {
    let p = chance(guard.p?);
    Some(format!(
        "A/A check of the {which} run passed: {candidate} entered twice, and no difference between the two entries \
         was found ({p}).",
        candidate = guard.of
    ))
}

/// What may be the cause, first of all: readers ask for it before they ask how sure the answer is.
fn changed(differences: &[Difference]) -> String {
    let causes: Vec<&Difference> = differences.iter().filter(|one| one.reach != Reach::Chance).collect();
    match causes.as_slice() {
        [] => {
            let seeds = if differences.is_empty() { "" } else { ", except random seeds" };
            format!(
                "Between the runs, nothing changed that fsderby records (its version, the plan, kernels, tools, \
                 options, machine){seeds}. If you changed something, fsderby does not record it, or the change was \
                 not in effect."
            )
        }
        few if few.len() <= NAMED => {
            let said: Vec<String> = few.iter().map(|one| differs(one)).collect();
            format!("Changed from the first run to the second: {}.", said.join("; "))
        }
        many => {
            let named: Vec<&str> = many[..NAMED].iter().map(|one| one.what.as_str()).collect();
            format!(
                "Changed from the first run to the second: {}, and {} more, listed below.",
                named.join(", "),
                many.len() - NAMED
            )
        }
    }
}

/// `the mount options of alderfs: none in the first run, sync in the second`
fn differs(difference: &Difference) -> String {
    let or_none = |text: &String| if text.is_empty() { "none".to_owned() } else { text.clone() };
    let note = if difference.reach == Reach::Chance { " (not a cause by itself)" } else { "" };
    let (before, after) = (or_none(&difference.before), or_none(&difference.after));
    format!("{}: {before} in the first run, {after} in the second{note}", difference.what)
}

/// Missing comparisons, grouped by the candidates and scenarios that share a reason.
fn missing(all: &[Missing]) -> Vec<String> {
    let mut by_candidate: BTreeMap<(&str, &str), Vec<bool>> = BTreeMap::new();
    let mut order: Vec<(&str, &str)> = Vec::new();
    for one in all {
        let key = (one.candidate.as_str(), one.scenario.as_str());
        by_candidate.entry(key).or_default().push(one.after);
        if !order.contains(&key) {
            order.push(key);
        }
    }
    // First groups the candidates of a scenario, then scenarios with the same candidates.
    let mut groups: Vec<(Vec<bool>, Vec<&str>, Vec<&str>)> = Vec::new();
    for (candidate, scenario) in order {
        let which = by_candidate[&(candidate, scenario)].clone();
        match groups.iter_mut().find(|(w, _, scenarios)| *w == which && *scenarios == [scenario]) {
            Some((_, candidates, _)) => candidates.push(candidate),
            None => groups.push((which, vec![candidate], vec![scenario])),
        }
    }
    let mut merged: Vec<(Vec<bool>, Vec<&str>, Vec<&str>)> = Vec::new();
    for (which, candidates, scenarios) in groups {
        match merged.iter_mut().find(|(w, c, _)| *w == which && *c == candidates) {
            Some((_, _, all)) => all.extend(scenarios),
            None => merged.push((which, candidates, scenarios)),
        }
    }
    let listed = |names: &[&str]| list(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>());
    let said = |(which, candidates, scenarios): &(Vec<bool>, Vec<&str>, Vec<&str>)| {
        let runs = match which.as_slice() {
            [false] => "the first run has no",
            [true] => "the second run has no",
            _ => "neither run has a",
        };
        format!(
            "{candidates} in {workloads}: nothing is compared, because {runs} valid trial.",
            candidates = listed(candidates),
            workloads = listed(scenarios)
        )
    };
    merged.iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::changes::{self, Asked};
    use crate::report::Beside;
    use crate::report::examples::{Example, model};
    use crate::runner::verify::comparable;
    use crate::schema::finding::Found;
    use crate::schema::metric::Metric;

    fn beside(before: &Example, after: &Example) -> Beside {
        let pair = Pair { before: &before.run, after: &after.run };
        let compared = comparable::compared(pair.before, pair.after).expect("they can be compared");
        let candidates = compared.candidates;
        let asked = Asked { candidates: &candidates, controls: &[], differences: compared.differences };
        Beside::of(&pair, changes::of(&pair, asked))
    }

    /// A full ensemble in which a candidate's headline is multiplied by `times`.
    fn times(label: &str, times: f64) -> Example {
        let mut example = model::samples(13);
        let headlines = |metrics: &'_ mut Vec<Metric>| {
            metrics.iter_mut().filter(|m| m.headline).for_each(|metric| metric.value *= times);
        };
        let own = example.run.records.iter_mut().filter(|record| record.filesystem == label);
        own.for_each(|record| headlines(&mut record.metrics));
        example
    }

    #[test]
    fn in_virtual_time_the_same_samples_pair_and_differences_are_exact() {
        let Beside { changes, view } = beside(&model::samples(13), &times("birchfs", 1.25));
        let of = |label: &str| {
            changes.findings.iter().find(|change| change.candidate == label).expect("it is there")
        };
        let birchfs = of("birchfs");
        assert_eq!((birchfs.finding, birchfs.n), (Found::Better, [13, 13]));
        for end in [Some(birchfs.ratio), birchfs.low, birchfs.high] {
            assert!(end.is_some_and(|end| (end - 1.25).abs() < 1e-12), "{birchfs:?}");
        }
        assert_eq!((of("cedarfs").finding, of("cedarfs").low), (Found::Equivalent, Some(1.0)));
        assert!(view.basis[1].contains("no noise from the host") && view.command.is_none());
    }

    #[test]
    fn several_changes_at_once_are_named_and_one_is_not() {
        let with = |mount: &[&str]| {
            let mut after = times("birchfs", 1.25);
            let own = after.run.plan.candidates.iter_mut().filter(|c| c.label == "birchfs");
            own.for_each(|c| c.variant.mount = mount.iter().map(|option| (*option).to_owned()).collect());
            beside(&model::samples(13), &after).view.confounded
        };
        assert_eq!(with(&["noatime"]), Vec::<String>::new());
        assert_eq!(
            with(&["noatime", "commit=60"]),
            ["2 things changed at once for birchfs: mount -o noatime and mount -o commit=60. A difference \
              between the runs cannot be attributed to either one alone."]
        );
    }

    #[test]
    fn in_virtual_time_what_did_not_change_is_the_same_to_the_last_digit() {
        let Beside { view, .. } = beside(&model::samples(13), &model::samples(13));
        assert_eq!(&*view.answer, "Every compared figure is identical in both runs.");
    }

    #[test]
    fn in_virtual_time_other_samples_and_other_seeds_of_the_work_do_not_pair() {
        let mut moved = model::samples(13);
        let mut reseeded = model::samples(13);
        for (one, other) in moved.run.records.iter_mut().zip(&mut reseeded.run.records) {
            if one.round > 4 {
                model::change(one, |modelled| modelled.mips += 1);
            }
            other.workload_seed += u64::from(other.round > 2);
        }
        let n = |after: &Example| beside(&model::samples(13), after).changes.findings[0].n;
        assert_eq!((n(&moved), n(&reseeded)), ([4, 4], [2, 2]));
        let Beside { view, changes } = beside(&times("birchfs", 1.25), &moved);
        assert!(
            !changes.is_final()
                && view.answer.starts_with("No verdict yet: findings need at least 13 samples")
        );
    }
}
