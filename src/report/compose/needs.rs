//! The recommendation in words: the choice, the reasons, its costs, when another would be chosen, and what could not be judged.

use super::known::Known;
use super::progress::Progress;
use crate::analysis::criteria::Need;
use crate::analysis::dataset::Dataset;
use crate::analysis::recommendation::{self, Place, Recommendation, Weighed};
use crate::analysis::{metrics, recommended};
use crate::report::view::heading::Standing;
use crate::report::view::needs::{ToChoose, ratio, times, title, why};
use crate::report::view::number::{count, list, named, percents};
use crate::report::view::sentence::{Claim, Sentence};
use crate::schema::declared;
use crate::schema::finding::{Finding, Found, Verdict};
use crate::schema::metric::Better;
use crate::schema::needs::Aspect;
use crate::store::Run;

/// `None` unless the plan states needs, and several filesystems to choose from.
pub fn of(
    run: &Run,
    dataset: &Dataset<'_>,
    verdict: &Verdict,
    (standing, progress): (Standing, Progress),
    known: Known,
) -> Option<ToChoose> {
    let is_copy = |label: &str| run.plan.guard.as_ref().is_some_and(|twice| twice.copy == label);
    if run.plan.candidates.iter().filter(|candidate| !is_copy(&candidate.label)).count() < 2 {
        return None;
    }
    let Known { kind, metrics, .. } = known;
    let found = recommended::of(run, dataset, verdict, recommended::Known { kind, metrics })?;
    let titles: Vec<String> = found.needs.iter().map(|weighed| title(&weighed.need)).collect();
    let sentences = match found.ranking.first() {
        Some(first) if !standing.may_recommend() => unfinished(&found, first, standing, progress),
        _ => sentences(&found, verdict),
    };
    let first = found.choice.as_ref().and(found.ranking.first());
    let sure = first
        .map(|first| established(&found, first, verdict).unwrap_or_else(|| rests_on(&found, verdict).into()));
    let brief: Vec<Sentence> = sentences.first().cloned().into_iter().chain(sure).collect();
    Some(ToChoose { sentences, brief, titles, found })
}

fn sentences(found: &Recommendation, verdict: &Verdict) -> Vec<Sentence> {
    let mut all: Vec<Sentence> = Vec::new();
    let said = |text: Option<String>| text.map(Sentence::from);
    match (&found.choice, found.ranking.first()) {
        (Some(choice), Some(first)) => {
            all.push(chosen(found, choice, first).into());
            all.extend(said(ties(choice, found)));
            all.extend(said(merits(found, first)));
            all.extend(said(cost(found, first)));
            all.push(changes(found, first).into());
            all.extend(established(found, first, verdict));
            all.extend(said(behind(found)));
        }
        _ => all.push(none(found).into()),
    }
    all.extend(said(ruled_out(found)));
    all.extend(said(unjudged(found)));
    all.extend(said(missing(found)));
    if found.choice.is_some() {
        all.push(rests_on(found, verdict).into());
    }
    all
}

/// Without enough rounds for a verdict nothing is recommended: what the estimates say so far.
fn unfinished(
    found: &Recommendation,
    first: &Place,
    standing: Standing,
    progress: Progress,
) -> Vec<Sentence> {
    let none = match standing {
        Standing::Void => "No recommendation: this run is void.".to_owned(),
        _ if progress.is_unfinished() => format!("No recommendation yet ({}).", progress.said()),
        _ => "No recommendation yet: no verdict was given.".to_owned(),
    };
    let by = whose(found);
    let label = named(&first.filesystem);
    let so_far = match found.ranking.get(1) {
        None => format!("By {by}, all candidates except {label} are excluded."),
        Some(next) => format!("By {by}, the estimates so far would choose {label}: {}.", above(first, next)),
    };
    let mut all = vec![none, so_far];
    all.extend(ruled_out(found));
    all.extend(unjudged(found));
    all.extend(missing(found));
    all.push(format!(
        "The estimates are geometric means over {rounds}; nothing is tested yet.",
        rounds = count(found.rounds, "round")
    ));
    all.into_iter().map(Sentence::from).collect()
}

/// Needs of a sentence.
const NEEDS: usize = 4;

/// `the needs of mail-server (deliver 50 %, restart 30 %, CPU time 20 %)`
fn whose(found: &Recommendation) -> String {
    let mut weighed: Vec<&Weighed> = found.needs.iter().filter(|need| need.share > 0.0).collect();
    weighed.sort_by(|a, b| b.share.total_cmp(&a.share));
    let each = |need: &&Weighed| format!("{} {:.0} %", title(&need.need), 100.0 * need.share);
    let mut each: Vec<String> = weighed.iter().take(NEEDS).map(each).collect();
    if weighed.len() > NEEDS {
        each.push(format!("{} more", weighed.len() - NEEDS));
    }
    let weights = match each.as_slice() {
        [] => String::new(),
        each => format!(" ({})", each.join(", ")),
    };
    match &found.profile {
        Some(profile) => format!("the needs of {profile}{weights}"),
        None => format!("the stated needs{weights}"),
    }
}

/// `its weighted mean over these needs is 12 % above the mean of the next candidate, birchfs`
fn above(first: &Place, next: &Place) -> String {
    let more = (first.score / next.score - 1.0).max(0.0);
    format!(
        "its weighted mean over these needs is {} above the mean of the next candidate, {}",
        percents(more, more),
        named(&next.filesystem)
    )
}

fn chosen(found: &Recommendation, choice: &recommendation::Choice, first: &Place) -> String {
    let by = whose(found);
    let label = named(&first.filesystem);
    match (found.ranking.get(1), choice.draw) {
        (None, _) => format!("By {by}, {label} is recommended: all other candidates are excluded."),
        (Some(_), Some(decided)) => format!(
            "By {by}, {label} is recommended: its weighted mean over these needs is within {margin} of the mean of \
             {others}, and the need {need} decides.",
            others = list(&choice.drawn_with),
            margin = found.margin,
            need = decided.title()
        ),
        (Some(next), None) => format!("By {by}, {label} is recommended: {}.", above(first, next)),
    }
}

fn ties(choice: &recommendation::Choice, found: &Recommendation) -> Option<String> {
    let (ties, verb) = (&choice.ties, if choice.ties.len() == 1 { "is" } else { "are" });
    (!ties.is_empty()).then(|| {
        format!(
            "{candidates} {verb} within {margin} of the recommended candidate's mean, so each meets these needs \
             equally well.",
            candidates = list(ties),
            margin = found.margin
        )
    })
}

/// The needs that have a weight and could be judged, with this place's ratio.
fn weighed<'f>(found: &'f Recommendation, place: &'f Place) -> impl Iterator<Item = (&'f Weighed, f64)> {
    let all = found.needs.iter().zip(&place.ratios).filter(|(need, _)| need.weight > 0.0);
    all.filter_map(|(need, ratio)| Some((need, (*ratio)?)))
}

fn merits(found: &Recommendation, first: &Place) -> Option<String> {
    let close = 1.0 / (1.0 + found.margin.0 / 100.0);
    let best: Vec<String> = weighed(found, first)
        .filter(|(_, ratio)| *ratio >= close)
        .map(|(need, _)| title(&need.need))
        .collect();
    let others = found.ranking.len() > 1;
    (others && !best.is_empty()).then(|| {
        format!(
            "By estimate, {candidate} is within {margin} of the first-ranked candidate at {needs}.",
            candidate = named(&first.filesystem),
            margin = found.margin,
            needs = list(&best)
        )
    })
}

/// The needs in which another is better by more than the margin, the largest loss first.
fn cost(found: &Recommendation, first: &Place) -> Option<String> {
    let close = 1.0 / (1.0 + found.margin.0 / 100.0);
    let mut worse: Vec<(&Weighed, f64)> = weighed(found, first).filter(|(_, ratio)| *ratio < close).collect();
    worse.sort_by(|a, b| a.1.total_cmp(&b.1));
    let said: Vec<String> = worse.iter().map(|(need, ratio)| given_up(found, need, *ratio)).collect();
    (!said.is_empty()).then(|| {
        format!(
            "Other estimates of {candidate}, relative to the first-ranked candidate at each need (not \
             tested): {estimates}.",
            candidate = named(&first.filesystem),
            estimates = said.join("; ")
        )
    })
}

/// `CPU time 1.9 times that of B`, `deliver at a rate 19 % below that of B`
fn given_up(found: &Recommendation, need: &Weighed, ratio_to_best: f64) -> String {
    let at = found.needs.iter().position(|other| other.need == need.need).unwrap_or(0);
    let best = found.ranking.iter().find(|place| place.ratios[at].is_some_and(|ratio| ratio >= 0.9999));
    let best = best.map_or("the first", |place| place.filesystem.as_str());
    let is_time = need.judged_by.iter().all(|by| by.better == Better::Lower);
    let title = title(&need.need);
    match need.need {
        Need::Aspect(Aspect::Capacity) => {
            format!("{title} {share} of that of {best}", share = ratio(ratio_to_best))
        }
        Need::Aspect(_) => {
            format!("{title} {factor} times that of {best}", factor = times(1.0 / ratio_to_best))
        }
        _ if is_time => {
            format!("{title} {factor} times the time of {best}", factor = times(1.0 / ratio_to_best))
        }
        _ => {
            let less = percents(1.0 - ratio_to_best, 1.0 - ratio_to_best);
            format!("{title} at a rate {less} below that of {best}")
        }
    }
}

fn changes(found: &Recommendation, first: &Place) -> String {
    let all = found.needs.iter().flat_map(|need| {
        let less = need.less.as_ref().map(|change| (need, change));
        let more = need.more.as_ref().map(|change| (need, change));
        less.into_iter().chain(more)
    });
    let distance = |factor: f64| factor.max(f64::MIN_POSITIVE).ln().abs();
    let nearest = all.min_by(|a, b| distance(a.1.factor).total_cmp(&distance(b.1.factor)));
    let label = &first.filesystem;
    match nearest {
        None if found.ranking.len() < 2 => "No choice of weights changes the recommendation.".to_owned(),
        None => format!("{label} is recommended whatever the weight of any single need."),
        Some((need, change)) => {
            let (weight, factor) = (need.share, change.factor);
            let share = weight * factor / (1.0 - weight + weight * factor);
            let than = if factor < 1.0 { "less than" } else { "more than" };
            format!(
                "{candidate} would be recommended if the weight of {need} were {than} {factor} times as large \
                 ({new_share:.0}% of all weights instead of {old_share:.0}%); every other weight would have to change \
                 by a larger factor.",
                candidate = change.filesystem,
                need = title(&need.need),
                factor = times(factor),
                new_share = 100.0 * share,
                old_share = 100.0 * weight
            )
        }
    }
}

/// Candidates that no weights could make the choice.
fn behind(found: &Recommendation) -> Option<String> {
    let one = |place: &Place| {
        place.behind.first().map(|other| {
            format!("{candidate} (below {other} at every need)", candidate = named(&place.filesystem))
        })
    };
    let all: Vec<String> = found.ranking.iter().filter_map(one).collect();
    (!all.is_empty())
        .then(|| format!("By these estimates, no choice of weights would recommend {}.", list(&all)))
}

fn none(found: &Recommendation) -> String {
    let by = whose(found);
    let is_all_ruled_out =
        !found.ruled_out.is_empty() && found.needs.iter().all(|need| need.judged_by.is_empty());
    match is_all_ruled_out {
        true => format!("By {by}, no candidate is recommended: none meets all requirements."),
        false => format!("By {by}, no candidate is recommended: no need could be judged for any candidate."),
    }
}

/// The candidates that were ruled out, grouped by the requirement that they do not meet.
fn ruled_out(found: &Recommendation) -> Option<String> {
    let mut lacking: Vec<(String, Vec<String>)> = Vec::new();
    for out in &found.ruled_out {
        for lack in &out.lacks {
            let required = lack.required.to_string();
            let said = if lack.said.is_empty() { String::new() } else { format!(" ({})", lack.said) };
            let who = format!("{}{said}", out.filesystem);
            match lacking.iter_mut().find(|(known, _)| *known == required) {
                Some((_, all)) => all.push(who),
                None => lacking.push((required, vec![who])),
            }
        }
    }
    let one = |(required, who): &(String, Vec<String>)| format!("\"{required}\" by {}", list(who));
    let all: Vec<String> = lacking.iter().map(one).collect();
    (!all.is_empty())
        .then(|| format!("Ruled out, because they do not meet a requirement: {}.", all.join("; ")))
}

fn unjudged(found: &Recommendation) -> Option<String> {
    let one = |out: &recommendation::Unjudged| {
        let needs: Vec<String> = out.needs.iter().map(title).collect();
        format!("{} (no figure for {})", out.filesystem, list(&needs))
    };
    let all: Vec<String> = found.unjudged.iter().map(one).collect();
    (!all.is_empty()).then(|| format!("Not ranked: {}.", list(&all)))
}

fn missing(found: &Recommendation) -> Option<String> {
    let one = |need: &Weighed| Some(format!("{} ({})", title(&need.need), why(need.missing?)));
    let all: Vec<String> = found.needs.iter().filter_map(one).collect();
    let weighed = found.needs.iter().filter(|need| need.missing.is_some() && need.weight > 0.0).count();
    let rest = if found.choice.is_some() && weighed > 0 {
        " The other needs are judged for all candidates."
    } else {
        ""
    };
    (!all.is_empty()).then(|| format!("Needs that could not be judged: {}.{rest}", list(&all)))
}

/// The finding between the choice and the runner-up.
fn established(found: &Recommendation, first: &Place, verdict: &Verdict) -> Option<Sentence> {
    let next = &found.ranking.get(1)?.filesystem;
    // Fewer requests do not meet a need for speed.
    let standing_in = metrics::standing_in();
    let is_counted = |metric: &str| declared::find(&standing_in, metric).is_some();
    let with_next =
        |finding: &&Finding| (finding.a == *next || finding.b == *next) && !is_counted(&finding.metric);
    let all: Vec<Finding> = verdict
        .findings
        .iter()
        .filter(with_next)
        .filter_map(|finding| finding.from_the_side_of(&first.filesystem))
        .collect();
    let told = |wanted: Found, words: &str| {
        let mut scenarios: Vec<String> = Vec::new();
        for finding in all.iter().filter(|finding| finding.finding == wanted) {
            if !scenarios.contains(&finding.scenario) {
                scenarios.push(finding.scenario.clone());
            }
        }
        (!scenarios.is_empty()).then(|| format!("{words} {}", list(&scenarios)))
    };
    let told: Vec<String> = [
        told(Found::Better, "better at"),
        told(Found::Worse, "worse at"),
        told(Found::Equivalent, "equivalent at"),
        told(Found::CannotTell, "not told apart at"),
    ]
    .into_iter()
    .flatten()
    .collect();
    (verdict.is_final() && !told.is_empty()).then(|| {
        let text = format!(
            "Findings for {first} relative to {next}: {findings}.",
            first = named(&first.filesystem),
            next = named(next),
            findings = told.join("; ")
        );
        Sentence::new(text, all.iter().filter_map(Claim::of).collect())
    })
}

/// The limits of the recommendation.
fn rests_on(found: &Recommendation, verdict: &Verdict) -> String {
    let rounds = count(found.rounds, "round");
    let tested =
        if verdict.is_final() { "only the findings are statistically tested" } else { "nothing is tested" };
    format!("The recommendation rests on geometric means over {rounds} and on the chosen weights; {tested}.")
}

#[cfg(test)]
mod tests {
    use crate::report::examples::{self, Example, needs, verdict};
    use crate::schema::setup::Fidelity;

    fn said(example: &Example) -> String {
        let summary = example.judged(verdict::over_rounds(12), None).summary;
        let sentences = summary.recommendation.expect("needs are stated").sentences;
        sentences.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_choice_its_cost_and_what_would_change_it_stand_in_sentences() {
        insta::assert_snapshot!(said(&needs::stated()));
    }

    #[test]
    fn with_too_few_rounds_nothing_is_recommended() {
        let mut example = needs::stated();
        example.run.records.retain(|record| record.round <= 2);
        let summary = example.report().summary;
        let sentences = summary.recommendation.expect("needs are stated").sentences;
        assert_eq!(&*sentences[0], "No recommendation yet (2 of 12 rounds).");
        assert!(sentences[1].contains("the estimates so far would choose alderfs"), "{}", &*sentences[1]);
        assert!(sentences.iter().all(|one| !one.contains("recommended")), "{sentences:?}");
        let heading = summary.heading;
        assert_eq!((heading.title.as_str(), heading.choice.len()), ("No verdict yet (2 of 12 rounds)", 0));
        assert!(
            heading
                .conclusion
                .starts_with("2 rounds are too few to tell filesystems apart or to recommend one")
        );
        assert!(heading.next.is_some_and(|next| next.command.ends_with("--rounds 12")));
    }

    #[test]
    fn without_needs_there_is_no_recommendation() {
        assert!(examples::example().report().summary.recommendation.is_none());
    }

    #[test]
    fn who_lacks_what_is_required_is_named_with_it() {
        let text = said(&needs::with("workloads = 1\nrequire = ['data checksums', 'files over 4 GiB']"));
        assert!(
            text.starts_with("By the stated needs (letters-quick 50 %, letters-in-memory 50 %), cedarfs is recommended: all other"),
            "{text}"
        );
        assert!(text.contains("\"files over 4 GiB\" by birchfs (at most 4.0 GiB)"), "{text}");
        let none = said(&needs::with("workloads = 1\nrequire = ['snapshots', 'quotas']"));
        assert!(none.contains("none meets all requirements"), "{none}");
    }

    /// Where times do not count, the other needs are judged and the rest is named.
    #[test]
    fn on_an_emulated_cpu_times_are_not_judged() {
        let emulated = |needs: &str| {
            let mut example = needs::with(needs);
            example.run.records.iter_mut().for_each(|record| record.fidelity = Fidelity::VmEmulated);
            said(&example)
        };
        let text = emulated("capacity = 1\ncpu = 1\n[workload]\nletters-quick = 1");
        assert!(
            text.contains("letters-quick (this need was measured on testbeds whose times are not valid)"),
            "{text}"
        );
        assert!(
            text.contains("CPU time (this need was measured on testbeds whose times are not valid)"),
            "{text}"
        );
        assert!(text.contains("is recommended:"), "capacity is left: {text}");
        let none = emulated("cpu = 1\nworkloads = 1");
        assert!(
            none.starts_with("By the stated needs, no candidate is recommended: no need could be"),
            "{none}"
        );
    }
}
