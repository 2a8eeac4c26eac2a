//! The verdict in sentences: which candidate, by how much, how sure; then how many comparisons were decided.

use super::sentence;
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::report::view::beyond;
use crate::report::view::comparison::Comparison;
use crate::report::view::floor::{self, Withheld};
use crate::report::view::number::{chance, count, list, named, ratio};
use crate::report::view::sentence::{Claim, Said, Sentence};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::{Basis, Decider, Evidence, Finding, Found, Guard, Verdict};

/// At most this many comparisons get their own sentence.
const NAMED: usize = 4;

/// Which candidate, by how much: one sentence for each comparison, or one for all of many. Empty if nothing is compared.
pub fn answer(workloads: &[WorkloadSummary], verdict: &Verdict) -> Vec<Sentence> {
    let comparisons: Vec<&Comparison> = workloads.iter().flat_map(|work| &work.comparisons).collect();
    match comparisons.as_slice() {
        [] => Vec::new(),
        [only] if workloads.len() == 1 && only.sentence.claims.is_empty() => vec![only.sentence.clone()],
        all if all.iter().all(|c| c.sentence.claims.is_empty()) => unclaimed(all),
        all if all.len() > 1
            && all.iter().all(|c| c.sentence.claims.iter().all(|claim| claim.said == Said::NotToldApart)) =>
        {
            vec![no_difference(all, verdict)]
        }
        all if all.len() > NAMED => vec![counted(all)],
        all => {
            let prefixed = |c: &&Comparison| {
                let no_winner = if is_open(c) { "no winner; " } else { "" };
                let (about, text) = (about(c, all), &c.sentence.text);
                Sentence::new(format!("Workload {about}: {no_winner}{text}"), c.sentence.claims.clone())
            };
            // Where something was found comes first.
            let mut said: Vec<&&Comparison> = all.iter().filter(|c| !c.sentence.is_empty()).collect();
            said.sort_by_key(|c| is_open(c));
            said.into_iter().map(prefixed).collect()
        }
    }
}

/// Whether no two candidates were told apart, nor found equivalent.
fn is_open(comparison: &Comparison) -> bool {
    let claims = &comparison.sentence.claims;
    !claims.is_empty() && claims.iter().all(|claim| claim.said == Said::NotToldApart)
}

/// The sentences without an order, each once.
fn unclaimed(all: &[&Comparison]) -> Vec<Sentence> {
    let mut said: Vec<Sentence> = Vec::new();
    for sentence in all.iter().map(|c| &c.sentence).filter(|sentence| !sentence.is_empty()) {
        if !said.contains(sentence) {
            said.push(sentence.clone());
        }
    }
    said
}

/// `No winner: a and b were not told apart; they may differ by a factor of up to 1.70 in the workload mail, 4.20 in …`
fn no_difference(all: &[&Comparison], verdict: &Verdict) -> Sentence {
    let claims: Vec<Claim> = all.iter().flat_map(|c| c.sentence.claims.clone()).collect();
    let n = all.iter().map(|c| c.ranked()).max().unwrap_or(0);
    let (who, not, they) = match all.iter().find_map(|c| pair(c)) {
        Some(both) if n == 2 => (list(&both.map(|label| named(&label))), "not ", "they"),
        _ => (format!("no two of {n} candidates"), "", "two of them"),
    };
    let is_once = |c: &&Comparison| all.iter().filter(|other| other.scenario == c.scenario).count() == 1;
    let abouts = all.iter().map(|c| if is_once(c) { c.scenario.clone() } else { about(c, all) });
    let factors = all.iter().map(|c| Some(ratio(sentence::largest(&c.sentence.claims)?)));
    let said = match (factors.collect::<Option<Vec<String>>>(), sentence::largest(&claims)) {
        (Some(factors), _) if all.len() <= NAMED => {
            let each =
                factors.iter().zip(abouts).map(|(most, about)| format!("{most} in the workload {about}"));
            format!("; {}", sentence::at_most(they, &each.collect::<Vec<_>>().join(", "), verdict))
        }
        (None, _) if all.len() <= NAMED => format!(" in {}", list(&abouts.collect::<Vec<_>>())),
        (_, most) => {
            let most = most.map(|most| format!("; {}", sentence::at_most(they, &ratio(most), verdict)));
            format!(" in any of {} comparisons{}", all.len(), most.unwrap_or_default())
        }
    };
    Sentence::new(format!("No winner: {who} were {not}told apart{said}."), claims)
}

/// The two ranked candidates, if there are exactly two.
fn pair(comparison: &Comparison) -> Option<[String; 2]> {
    let ranked = comparison.lines.iter().map(|line| &line.candidate);
    let ranked: Vec<&String> = ranked.filter(|label| !comparison.is_unequal(label)).collect();
    let [a, b] = ranked.try_into().ok()?;
    Some([a.clone(), b.clone()])
}

/// `In 7 of 11 comparisons one candidate is better than every other: cedarfs in 5 and birchfs in 2. In the other 4, no …`
fn counted(all: &[&Comparison]) -> Sentence {
    let mut winners: Vec<(String, usize)> = Vec::new();
    let mut claims = Vec::new();
    for comparison in all {
        let own = &comparison.sentence.claims;
        let Some(winner) = winner(comparison) else { continue };
        claims.extend(own.iter().filter(|c| c.said == Said::Better && c.a == winner).cloned());
        match winners.iter_mut().find(|(label, _)| label == winner) {
            Some((_, n)) => *n += 1,
            None => winners.push((winner.to_owned(), 1)),
        }
    }
    winners.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let n = all.len();
    if winners.is_empty() {
        return format!("In none of {n} comparisons is one candidate better than every other.").into();
    }
    let each: Vec<String> =
        winners.iter().map(|(label, times)| format!("{} in {times}", named(label))).collect();
    let won = winners.iter().map(|(_, times)| times).sum::<usize>();
    let rest = match n - won {
        0 => String::new(),
        rest => {
            format!(" In the {}, no candidate is better than every other.", count(rest, "other comparison"))
        }
    };
    Sentence::new(
        format!(
            "In {won} of {n} comparisons one candidate is better than every other: {}.{rest}",
            list(&each)
        ),
        claims,
    )
}

/// The candidate that was found better than every other ranked candidate.
fn winner(comparison: &Comparison) -> Option<&str> {
    let others = comparison.ranked().saturating_sub(1);
    let own = &comparison.sentence.claims;
    let beaten = |label: &str| own.iter().filter(|c| c.said == Said::Better && c.a == label).count();
    let mut labels = comparison.lines.iter().map(|line| line.candidate.as_str());
    labels.find(|label| beaten(label) >= others && others > 0)
}

/// The scenario and its metric: `mail (metric transactions)`. The only comparison of its scenario needs no phase, which the table
/// names; of several metrics names the phase only if titles would be equal without it.
fn about(comparison: &Comparison, all: &[&Comparison]) -> String {
    let Comparison { scenario, title, .. } = comparison;
    let plain =
        |c: &Comparison| c.title.split_once(" (").map_or(c.title.clone(), |(title, _)| title.to_owned());
    let with_phase = title.replace(" (phase ", " in the phase ").replace(" (", " in ").replace(')', "");
    let mut others = all.iter().filter(|c| c.scenario == *scenario && *c != &comparison).peekable();
    let metric = match (others.peek().is_none(), title.split_once(" (phase ")) {
        (true, Some((operation, _))) => operation.to_owned(),
        (true, None) => with_phase,
        (false, _) if others.any(|other| plain(other) == plain(comparison)) => with_phase,
        (false, _) => plain(comparison),
    };
    format!("{scenario} (metric {metric})")
}

/// Why the run is void.
pub fn void(guard: &Guard) -> String {
    let p = guard.p.map_or_else(String::new, |p| format!(" ({})", chance(p)));
    format!(
        "This run is void: its A/A check failed. {of} entered twice, and its two entries ({of} and {copy}) \
         differ{p}, so something other than the filesystems changes the figures.",
        of = named(&guard.of),
        copy = named(&guard.copy)
    )
}

/// The number of decided comparisons, and the detectable difference.
pub fn counts(verdict: &Verdict) -> Vec<String> {
    let (pairs, margin) = (&verdict.findings, verdict.margin);
    let n = |found: &[Found]| pairs.iter().filter(|p| found.contains(&p.finding)).count();
    let differ = n(&[Found::Better, Found::Worse]);
    let withheld = pairs.iter().filter(|pair| Withheld::of(pair).is_some()).count();
    let (alike, open) = (n(&[Found::Equivalent]), n(&[Found::CannotTell]) - withheld);
    let of = count(pairs.len(), "pairwise comparison");
    let cannot_tell = match withheld {
        0 => format!(", and {open} found neither"),
        _ => {
            format!(
                ", {open} found neither, and {withheld} found a difference that disk-model overhead may explain"
            )
        }
    };
    match &verdict.basis {
        Basis::Samples { .. } => {
            let mut said = Vec::new();
            if pairs.len() > 1 {
                said.push(format!(
                    "Of {of}, {differ} found a difference beyond {margin}, {alike} found equivalence{cannot_tell}."
                ));
            }
            said.extend(decides(pairs));
            said.extend(beyond::said_of_cost(pairs));
            said.extend(beyond::said_of_model_error(pairs));
            said.extend(beyond::said(pairs));
            said.extend(floor::withheld(pairs));
            said
        }
        Basis::Rounds { complete, alpha, .. } => {
            let percent = (alpha * 1000.0).round() / 10.0;
            let mut said = vec![match pairs.len() {
                1 => format!(
                    "If the two candidates did not differ, at most {percent} % of runs like this one would report a difference."
                ),
                _ => format!(
                    "Of {of}, {differ} found a difference, {alike} found equivalence within {margin}{cannot_tell}. If no \
                     candidates differed, at most {percent} % of runs like this one would report any difference (family-wise error rate)."
                ),
            }];
            said.extend(sentence::power(*complete, pairs.iter().map(|pair| &pair.evidence)));
            said
        }
    }
}

/// The factors that undecided comparisons depend on, as far as found; `None` if all are decided.
fn decides(pairs: &[Finding]) -> Option<String> {
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
    let of = open.len();
    let each: Vec<String> = named.iter().map(|(title, n)| format!("{title} ({n} of {of})")).collect();
    match (each.as_slice(), named.as_slice()) {
        ([], _) if open.iter().any(|p| deciders(p).is_empty()) => {
            let rounds = 2 * SAMPLES_NEEDED - 1;
            Some(format!(
                "A run of {rounds} rounds (--rounds {rounds}) shows which property of the modelled disk decides the \
                 undecided comparisons."
            ))
        }
        ([], _) if of > 0 => {
            Some("No single property of the modelled disk decides the undecided comparisons.".to_owned())
        }
        ([], _) => None,
        (_, [(title, _)]) if of == 1 => Some(format!("The undecided comparison depends on {title}.")),
        (each, _) => Some(format!("The undecided comparisons depend on {}.", list(each))),
    }
}

fn deciders(finding: &Finding) -> &[Decider] {
    let Evidence::Samples { deciders, .. } = &finding.evidence else { return &[] };
    deciders
}

fn depends_on(finding: &Finding) -> Vec<String> {
    if beyond::depends_on_cost(finding) {
        return vec!["the assumed CPU cost of an instruction".to_owned()];
    }
    deciders(finding).iter().filter(|decider| decider.is_named).map(Decider::title).collect()
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
        let said = [summary.heading.answer.clone(), summary.heading.findings.clone()].concat();
        let said: Vec<String> = said.into_iter().map(|sentence| sentence.text).collect();
        assert_eq!(
            said[0],
            "Workload letters-quick (metric transactions): cedarfs is 1.52–2.50 times as fast as birchfs, 2.00 times as fast as \
             alderfs and 4.00 times as fast as rowanfs."
        );
        assert!(said[1].contains("Of 6 pairwise comparisons, 5 found a difference beyond 3%"), "{}", said[1]);
        assert_eq!(
            said[2],
            "A run of 25 rounds (--rounds 25) shows which property of the modelled disk decides the undecided \
             comparisons."
        );
        assert_eq!(
            said[3],
            "Six workload seeds on one disk change the figures by up to these factors: alderfs 1.00, birchfs 1.01, \
             cedarfs 1.00, rowanfs 1.00. A difference between two candidates is no finding if it is smaller than \
             their factors."
        );
        assert!(summary.heading.sure[0].contains("every finding holds in all 13 samples"));
        assert_eq!(
            summary.heading.sure[3],
            "The simulation's own CPU time shifts the ratios by up to 0.2%; the findings hold with and without this \
             shift."
        );
        assert!(summary.heading.next.is_none());
        let all = [said, summary.heading.sentences].concat().join(" ");
        assert!(
            all.contains("in virtual time on one modelled CPU with 500 million")
                && all.contains("without CPU caches or memory latency")
        );
        assert!(
            !all.contains("image:") && !all.contains("Example 3000") && !all.contains("significant"),
            "{all}"
        );
    }

    #[test]
    fn a_cpu_is_said_with_its_machine_and_its_range() {
        let mut example = model::samples(13);
        let mut said = |machine: &str, times: [u32; 2]| {
            for record in &mut example.run.records {
                let mips = |mips: u32| mips * times[0] / times[1];
                model::change(record, |m| (m.machine, m.mips) = (machine.to_owned(), mips(m.mips)));
            }
            cpu(&example.run).expect("a CPU")
        };
        assert_eq!(
            said("a-server", [1, 1]),
            "one modelled CPU with 500 million instructions per second (250 to 1,000 over the samples), on the machine \
             a-server, without CPU caches or memory latency"
        );
        assert_eq!(
            said("server-2012", [24, 5]),
            "one modelled CPU with 2,400 million instructions per second (1,200 to 4,800 over the samples), like a server \
             with a Xeon E5-2600, 2012 (server-2012), but without CPU caches or memory latency"
        );
        assert!(said("server-2012", [1, 2]).contains("1,200 million instructions per second (600 to 2,400"));
        assert!(!said("server-2012", [1, 1]).contains("Xeon"), "another speed was given");
    }

    #[test]
    fn twelve_samples_are_preliminary_with_the_command_that_brings_the_last() {
        let example = model::samples(12);
        let heading = example.report().summary.heading;
        assert_eq!(heading.title, "No verdict yet (12 of 13 samples of the disk model)");
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
        assert!(first.is_named && first.title == "how far the firmware reorders", "{}", first.title);
        assert!(first.levels.contains("far 1.2"), "{}", first.levels);
    }
}
