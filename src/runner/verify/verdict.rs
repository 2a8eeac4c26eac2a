//! Recomputes the stored verdict, with its recommendation, from its records.

use super::Verified;
use crate::analysis::dataset::Dataset;
use crate::analysis::verdict;
use crate::schema::finding::{Finding, Verdict};
use crate::schema::seal::Seal;
use crate::store::Run;

/// Compares every figure, to the last digit.
pub fn holds(run: &Run, found: &mut Verified) {
    let Some(stored) = &run.verdict else {
        let is_missing = run.seal.is_some();
        found
            .wrong
            .extend(is_missing.then(|| "verdict.json is missing, but the run was sealed with it".to_owned()));
        return;
    };
    let is_its = |seal: &&Seal| stored.records == seal.records && stored.basis.looks() == seal.looks;
    let Some(seal) = run.seal.as_ref().filter(is_its) else {
        if run.seal.is_some() && run.unsealed == 0 {
            found.wrong.push(
                "verdict.json was computed from other records, or at another interim analysis, than the \
                 sealed ones"
                    .into(),
            );
            return;
        }
        // The writer was killed before sealing it.
        let what = "verdict.json was computed from records that were not sealed; fsderby run --resume writes \
                    it again";
        found.notes.push(what.into());
        return;
    };
    // A second copy of the run would double the memory.
    let mut again = match seal.records < run.records.len() {
        false => verdict::of(run, &Dataset::of(run)),
        true => {
            let mut then = run.clone();
            then.records.truncate(seal.records);
            verdict::of(&then, &Dataset::of(&then))
        }
    };
    found.findings = again.findings.len();
    if stored.schema != again.schema {
        found.notes.push(by_older_rules(stored, &again));
        return;
    }
    if stored.recommendation.is_none() && again.recommendation.is_some() {
        let what = "verdict.json has no recommendation although the plan states needs, because an older \
                    version wrote it; fsderby report makes one";
        found.notes.push(what.into());
        again.recommendation = None;
    }
    if stored.findings.is_empty() && !again.findings.is_empty() && !again.is_final() {
        let what = "verdict.json has no findings about counters on an emulated CPU, because an older version \
                    wrote it; fsderby run --resume adds them";
        found.notes.push(what.into());
        return;
    }
    if again == *stored {
        return;
    }
    let differing = stored.findings.iter().zip(&again.findings).find(|(stored, again)| stored != again);
    found.wrong.push(match differing {
        Some((stored, again)) => format!(
            "verdict.json: {a} compared with {b} in {workload} ({metric}) is {stored:?} with ratio \
             {stored_ratio}, but the records give {again:?} with {ratio}",
            a = stored.a,
            b = stored.b,
            workload = stored.scenario,
            metric = stored.metric,
            stored = stored.finding,
            stored_ratio = stored.ratio,
            again = again.finding,
            ratio = again.ratio
        ),
        None if stored.recommendation != again.recommendation => other_recommendation(stored, &again),
        None => "verdict.json differs from the records' verdict".into(),
    });
}

/// The findings that its records no longer yield.
fn by_older_rules(stored: &Verdict, again: &Verdict) -> String {
    let same = |then: &Finding, now: &Finding| {
        now.is_of(&then.scenario, &then.metric, &then.dimensions) && (&now.a, &now.b) == (&then.a, &then.b)
    };
    let now = |then: &Finding| again.findings.iter().find(|now| same(then, now)).map(|now| now.finding);
    let others: Vec<String> = stored
        .findings
        .iter()
        .filter_map(|then| Some((then, now(then).filter(|now| *now != then.finding)?)))
        .map(|(then, now)| {
            format!(
                "{a} compared with {b} in {workload}: {then:?}, now {now:?}",
                a = then.a,
                b = then.b,
                workload = then.scenario,
                then = then.finding
            )
        })
        .collect();
    let changed = if others.is_empty() { "no finding changes".to_owned() } else { others.join("; ") };
    format!(
        "verdict.json follows the rules of version {}, which this fsderby no longer computes; by the rules \
         of version {}, {changed}",
        stored.schema, again.schema
    )
}

/// The choice may be the same with other figures.
fn other_recommendation(stored: &Verdict, again: &Verdict) -> String {
    let chosen = |verdict: &Verdict| {
        let choice = verdict.recommendation.as_ref().and_then(|found| found.choice.as_ref());
        choice.map_or_else(|| "nothing".to_owned(), |choice| choice.filesystem.clone())
    };
    match [chosen(stored), chosen(again)] {
        [one, other] if one == other => {
            format!("verdict.json recommends {one} with other figures than the records give")
        }
        [one, other] => format!("verdict.json recommends {one}, but the records give {other}"),
    }
}
