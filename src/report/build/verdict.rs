//! What the verdict says first, in sentences: which one, by how much, how sure. Then how much of all was decided.

use super::sentence::{self, certainty};
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::report::view::beyond;
use crate::report::view::comparison::{Comparison, Lead};
use crate::report::view::floor::{self, Withheld};
use crate::report::view::number::{chance, count, list, named, ratio};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::{Basis, Decider, Evidence, Finding, Found, Guard, Verdict};

/// So many comparisons have their own place in the first sentence.
const NAMED: usize = 4;

/// Which one, by how much, how sure; empty where nothing is compared.
pub fn answer(workloads: &[WorkloadSummary], verdict: &Verdict) -> String {
    let comparisons: Vec<&Comparison> = workloads.iter().flat_map(|work| &work.comparisons).collect();
    match comparisons.as_slice() {
        [] => String::new(),
        [only] => only.sentence.clone(),
        all => of_several(all, verdict),
    }
}

fn of_several(all: &[&Comparison], verdict: &Verdict) -> String {
    let winner = |c: &&Comparison| Some(c.lead.as_ref().filter(|_| c.leaders.len() == 1)?.leader.clone());
    let winners: Vec<Option<String>> = all.iter().map(winner).collect();
    let one = winners[0].as_ref().filter(|one| winners.iter().all(|winner| winner.as_ref() == Some(one)));
    let mut clauses: Vec<String> = all.iter().take(NAMED).map(|c| clause(c, all, one.is_some())).collect();
    if all.len() > NAMED {
        clauses.push(format!("and {} more", all.len() - NAMED));
    }
    let n = if all.len() == 2 { "both".to_owned() } else { format!("all {}", all.len()) };
    let nobody = |c: &&Comparison| c.leaders.len() == c.lines.len();
    if all.iter().all(nobody) {
        let scenarios: Vec<String> = all.iter().map(|c| about(c, all)).collect();
        return format!("No difference was established in {} ({}).", list(&scenarios), certainty(verdict));
    }
    let who = match one {
        Some(one) if all.iter().all(|c| c.is_of_amounts()) => {
            format!("{} needed less than all others in {n} comparisons", named(one))
        }
        Some(one) => format!("{one} was better than all others in {n} comparisons"),
        None => format!("No candidate leads alone in {n} comparisons"),
    };
    format!("{who}: {} ({}).", clauses.join("; "), certainty(verdict))
}

/// `in mailserver alderfs leads with 1.42 times the next, birchfs (1.36 to 1.49)`; who, only where it is not the same everywhere.
fn clause(comparison: &Comparison, all: &[&Comparison], is_said: bool) -> String {
    let about = about(comparison, all);
    match (&comparison.lead, comparison.leaders.as_slice()) {
        (Some(lead), [_]) => {
            let who = if is_said { String::new() } else { format!("{} leads with ", named(&lead.leader)) };
            format!("in {about} {who}{}", far(comparison, lead))
        }
        (_, leaders) if leaders.len() == comparison.lines.len() => {
            format!("in {about} no difference was established")
        }
        (lead, leaders) => {
            let far = lead.as_ref().map_or_else(String::new, |lead| format!(", {}", far(comparison, lead)));
            format!("in {about} {} lead and were not told apart{far}", list(leaders))
        }
    }
}

/// `1.42 times the next, birchfs (1.36 to 1.49)`
fn far(comparison: &Comparison, lead: &Lead) -> String {
    let Lead { leader, next, ratio: times, low, high } = lead;
    let many = match comparison.is_of_amounts() {
        true => format!("times as {} as", comparison.times_as),
        false => "times".to_owned(),
    };
    // Not every leader need be better than the next one.
    let who = if comparison.leaders.len() > 1 { format!("{} with ", named(leader)) } else { String::new() };
    let (times, low, high) = (ratio(*times), ratio(*low), ratio(*high));
    format!("{who}{times} {many} the next, {} ({low} to {high})", named(next))
}

/// Its scenario, and where that has several metrics which: `mail (create)`. In which phase stands in brackets behind a title, and in
/// a sentence only where titles would be alike without it.
fn about(comparison: &Comparison, all: &[&Comparison]) -> String {
    let mut others = all.iter().filter(|c| c.scenario == comparison.scenario && *c != &comparison).peekable();
    if others.peek().is_none() && !comparison.is_of_amounts() {
        return comparison.scenario.clone();
    }
    let plain =
        |c: &Comparison| c.title.split_once(" (").map_or(c.title.clone(), |(title, _)| title.to_owned());
    let title = match others.any(|other| plain(other) == plain(comparison)) {
        true => comparison.title.replace(" (", ", ").replace(')', ""),
        false => plain(comparison),
    };
    format!("{} ({title})", comparison.scenario)
}

/// While there are too few rounds or samples for any finding.
pub fn so_far(workloads: &[WorkloadSummary]) -> String {
    let comparisons: Vec<&Comparison> = workloads.iter().flat_map(|work| &work.comparisons).collect();
    let ahead = |c: &&Comparison| Some(format!("in {} {}", about(c, &comparisons), sentence::so_far(c)?));
    let all: Vec<String> = comparisons.iter().filter_map(ahead).take(NAMED).collect();
    if all.is_empty() {
        return String::new();
    }
    format!("No difference is established yet; so far {}.", all.join("; "))
}

/// Why nothing that was measured can be used.
pub fn void(guard: &Guard) -> String {
    let p = guard.p.map_or_else(String::new, |p| format!(" ({})", chance(p)));
    format!(
        "This run is void: {} is {}, entered a second time, and over all headline metrics the two differ from each other{p}, so what \
         was measured is not what the filesystems differ by.",
        guard.copy, guard.of
    )
}

/// How much was decided, and what would have been seen.
pub fn counts(verdict: &Verdict) -> Vec<String> {
    let (pairs, margin) = (&verdict.findings, verdict.margin);
    let n = |found: &[Found]| pairs.iter().filter(|p| found.contains(&p.finding)).count();
    let differ = n(&[Found::Better, Found::Worse]);
    let withheld = pairs.iter().filter(|pair| Withheld::of(pair).is_some()).count();
    let (alike, open) = (n(&[Found::Equivalent]), n(&[Found::CannotTell]) - withheld);
    let verb = |n, one: &'static str, more: &'static str| if n == 1 { one } else { more };
    let of = count(pairs.len(), "comparison");
    let differs = verb(differ, "differs", "differ");
    let is_alike = verb(alike, "is", "are");
    match &verdict.basis {
        Basis::Samples { .. } => {
            let samples = pairs.iter().map(|p| p.n).min().unwrap_or(0);
            let mut said = vec![
                format!(
                    "Of {of}, {differ} {differs} by more than {margin}, robust to the disk model: held in {samples} of {samples} samples of \
                     disk, position and CPU, at every CPU cost and in the worst corner; {alike} {is_alike} equivalent, and {open} {} on \
                     the disk model, on the cost of an instruction or on chance.",
                    verb(open, "depends", "depend"),
                ),
                decides(pairs),
            ];
            said.extend(beyond::said_of_cost(pairs));
            said.extend(beyond::said(pairs));
            said.extend(floor::said(pairs));
            said
        }
        Basis::Rounds { alpha, .. } => vec![format!(
            "Of {of} of two, {differ} {differs}, {alike} {is_alike} equivalent within the margin of {margin}, and {open} {} open; the \
             chance that any difference found is none is at most {} %.{}",
            verb(open, "is", "are"),
            (alpha * 1000.0).round() / 10.0,
            smallest(pairs),
        )],
    }
}

/// What the number of rounds can show.
fn smallest(pairs: &[Finding]) -> String {
    let smallest = pairs.iter().filter_map(|pair| match pair.evidence {
        Evidence::Rounds { smallest, .. } => smallest,
        Evidence::Samples { .. } => None,
    });
    let (least, most) = smallest.fold((f64::MAX, 0.0), |(l, m): (f64, f64), s| (l.min(s), m.max(s)));
    match (ratio(least), ratio(most)) {
        _ if most <= 0.0 => String::new(),
        (least, most) if least == most => {
            format!(" So many rounds find a ratio of {most} with a probability of 80 %.")
        }
        (least, most) => {
            format!(" So many rounds find ratios of {least} to {most}, by pair, with a probability of 80 %.")
        }
    }
}

/// What the candidate that entered twice shows, where it voids nothing.
pub fn guarded(guard: &Guard) -> Option<String> {
    let p = guard.p.filter(|_| !guard.voids)?;
    Some(format!(
        "{}, entered a second time as {}, does not differ from itself ({}; under 0.001 the run would be void).",
        guard.of,
        guard.copy,
        chance(p)
    ))
}

/// What the undecided comparisons depend on, as far as it was found.
fn decides(pairs: &[Finding]) -> String {
    let is_open = |p: &&Finding| p.finding == Found::CannotTell && Withheld::of(p).is_none();
    let open: Vec<&Finding> = pairs.iter().filter(is_open).collect();
    let mut named: Vec<(String, usize)> = Vec::new();
    for title in open.iter().flat_map(|p| depends_on(p)) {
        match named.iter_mut().find(|(t, _)| *t == title) {
            Some((_, n)) => *n += 1,
            None => named.push((title, 1)),
        }
    }
    named.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    match named.as_slice() {
        [] if open.is_empty() => "No comparison depends on what is uncertain about the disk.".to_owned(),
        [] if open.iter().any(|p| deciders(p).is_empty()) => {
            format!(
                "Which factor decides is shown by {} rounds (--rounds {}).",
                2 * SAMPLES_NEEDED - 1,
                2 * SAMPLES_NEEDED - 1
            )
        }
        [] => "No single factor was found to decide.".to_owned(),
        [(title, 1)] if open.len() == 1 => format!("It depends on {title}."),
        parts => {
            let parts: Vec<String> =
                parts.iter().map(|(title, n)| format!("{title} ({n} of {})", open.len())).collect();
            format!("They depend on {}.", list(&parts))
        }
    }
}

fn deciders(finding: &Finding) -> &[Decider] {
    let Evidence::Samples { deciders, .. } = &finding.evidence else { return &[] };
    deciders
}

fn depends_on(finding: &Finding) -> Vec<String> {
    if beyond::depends_on_cost(finding) {
        return vec!["the assumed CPU cost".to_owned()];
    }
    deciders(finding).iter().filter(|decider| decider.is_named).map(Decider::title).collect()
}

/// How many samples are missing, and why no round would bring them.
pub fn preliminary(complete: usize, is_fixed: bool) -> String {
    let them = format!(
        "Preliminary: {complete} of the {SAMPLES_NEEDED} samples of the disk model that a verdict needs {} complete.",
        if complete == 1 { "is" } else { "are" },
    );
    if is_fixed {
        let why = "Sampling is off (samples=off), so every round has the same disk and further rounds bring no verdict.";
        return format!("{them} {why}");
    }
    them
}

#[cfg(test)]
mod tests {
    use super::super::model::cpu;
    use crate::report::examples::model;
    use crate::report::view::heading::Standing;
    use crate::report::view::standings::{Standings, judged, shown, standings};

    #[test]
    fn thirteen_samples_give_a_verdict_in_three_sentences() {
        let example = model::samples(13);
        let summary = example.report().summary;
        assert_eq!(summary.heading.standing, Standing::Verdict);
        let said = [vec![summary.heading.answer.clone()], summary.heading.findings.clone()].concat();
        assert_eq!(
            said[0],
            "cedarfs did transactions 1.92 times as fast as the next, birchfs (1.52 to 2.50, over 13 samples of the disk model)."
        );
        assert!(said[1].contains("Of 6 comparisons, 5 differ by more than 3%"), "{}", said[1]);
        assert_eq!(said[2], "Which factor decides is shown by 25 rounds (--rounds 25).");
        assert_eq!(
            said[3],
            "What six seeds of the work on one disk do to each beside the others, the most by the least: alderfs 1.00, birchfs 1.01, cedarfs \
             1.00, rowanfs 1.00; no difference that moves by its own size is called."
        );
        assert_eq!(
            said[4],
            "The model's own work moves no ratio by more than 0.2%; findings hold with it and without."
        );
        assert!(summary.heading.brief.len() == 7 && summary.heading.next.is_none());
        let all = [said, summary.heading.sentences].concat().join(" ");
        assert!(
            all.contains("in virtual time on one modelled CPU of 500 million")
                && all.contains("without caches or memory latency")
        );
        assert!(
            !all.contains("image:") && !all.contains("Example 3000") && !all.contains("significant"),
            "{all}"
        );
    }

    #[test]
    fn a_cpu_is_said_with_its_machine_and_its_range() {
        let mut example = model::samples(13);
        for record in &mut example.run.records {
            model::change(record, |m| m.machine = "a-server".into());
        }
        let said = cpu(&example.run).expect("a CPU");
        assert!(
            said.contains("500 million") && said.contains("(250 to 1000 over the samples), a-server,"),
            "{said}"
        );
    }

    #[test]
    fn twelve_samples_are_preliminary_with_the_command_that_brings_the_last() {
        let example = model::samples(12);
        let heading = example.report().summary.heading;
        assert_eq!(heading.title, "Preliminary result over samples of the disk model");
        let next = heading.next.expect("a command");
        assert!(next.command.ends_with("--rounds 13"), "{}", next.command);
    }

    #[test]
    fn rounds_without_samples_never_make_a_verdict() {
        let mut example = model::samples(13);
        let first = example.run.records[0].clone();
        for record in &mut example.run.records {
            (record.storage, record.volume) = (first.storage.clone(), first.volume);
        }
        let heading = example.report().summary.heading;
        assert_eq!((heading.standing, heading.next), (Standing::Preliminary, None));
        assert!(heading.conclusion.contains("samples=off"));
        let mut example = model::samples(1);
        assert!(example.report().summary.heading.next.is_some());
        example.run.records.iter_mut().for_each(|r| model::change(r, |m| m.ensemble = false));
        assert_eq!(example.report().summary.heading.next, None, "after the first round, too");
    }

    #[test]
    fn each_sees_the_pair_from_its_side() {
        let example = model::samples(13);
        let summary = example.report().summary;
        let row = judged(&summary.workloads[0])[0];
        let standings = standings(&summary.workloads[0], row);
        let of = |label: &str| standings.iter().find(|s| s.filesystem == label).map(Standings::cells);
        assert_eq!(of("rowanfs"), Some(["–", "–", "–"].map(str::to_owned)));
        assert_eq!(of("birchfs"), Some(["rowanfs", "–", "alderfs"].map(str::to_owned)));
        let thirteen = shown(&summary.workloads[0], row);
        assert!(thirteen[0].is_open() && !thirteen[1].is_open() && thirteen[0].deciders.is_empty());
        let summary = model::samples(25).report().summary;
        let row = judged(&summary.workloads[0])[0];
        let shown = shown(&summary.workloads[0], row);
        let first = &shown[0].deciders[0];
        assert!(first.is_named && first.title == "how long cached writes wait", "{}", first.title);
        assert!(first.levels.contains("longer 1.2"), "{}", first.levels);
    }
}
