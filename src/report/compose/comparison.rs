//! Turns the pairs of a verdict into one list for each headline metric: candidates relative to the best or the baseline.

use std::collections::BTreeSet;

use super::Judged;
use super::pairs::{Pair, Pairs};
use super::sentence::{self, Of};
use crate::analysis::rounds::positive;
use crate::report::view::comparison::{Comparison, GOOD, Line, Tie};
use crate::report::view::row::{Cell, Row};
use crate::report::view::sentence::Sentence;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::{Overall, Place, Ranks, Verdict};
use crate::schema::metric::Of as Quantity;

/// One for each headline metric of a scenario that has findings.
pub fn of(
    scenario: &str,
    rows: &[&Row],
    Judged { verdict, baseline }: Judged<'_>,
    unequal: &[String],
) -> Vec<Comparison> {
    let one = |row: &&Row| {
        let findings = verdict.of(scenario, &row.name, &row.dimensions);
        let pairs =
            Pairs::new(findings.filter(|f| !is_of_copy(verdict, [&f.a, &f.b])).map(Pair::of).collect());
        let same = |r: &&Ranks| {
            (r.scenario.as_str(), &r.metric, &r.dimensions) == (scenario, &row.name, &row.dimensions)
        };
        let places = verdict.ranks.iter().find(same).map(|ranks| ranks.places.clone());
        let places = places.filter(|places| !places.is_empty()).unwrap_or_else(|| pairs.places());
        let places = apart(places, &pairs, unequal);
        let names = Comparison {
            scenario: scenario.to_owned(),
            metric: row.name.clone(),
            dimensions: row.dimensions.clone(),
            title: row.title.clone(),
            times_as: times_as(row),
            is_preliminary: !verdict.is_final(),
            unequal: unequal.to_vec(),
            ..nobody()
        };
        let mut comparison = beside(names, &pairs, places, baseline)?;
        (comparison.without_ratio, comparison.left_out) = left_out(row, &comparison, verdict);
        let analysed = verdict.of(scenario, &row.name, &row.dimensions).map(|f| f.n as usize).max();
        means(&mut comparison, row, analysed);
        if verdict.is_final() {
            tie(&mut comparison.lines, &pairs, unequal);
        } else {
            comparison.lines.iter_mut().for_each(|line| line.finding = None);
        }
        if comparison.is_of_amounts() {
            as_amounts(&mut comparison);
        }
        comparison.sentence = sentence::of(&comparison, &pairs, &Of { row, verdict });
        Some(comparison)
    };
    rows.iter().filter_map(one).collect()
}

/// The geometric mean over all headline metrics; it is no finding. A candidate with weaker durability in one metric is marked
/// here too.
pub fn overall(
    verdict: &Verdict,
    baseline: Option<&str>,
    workloads: &[WorkloadSummary],
) -> Option<Comparison> {
    let all = verdict.overall.iter().filter(|pair| !is_of_copy(verdict, [&pair.a, &pair.b]));
    let pair = |o: &Overall| Pair {
        a: o.a.clone(),
        b: o.b.clone(),
        ratio: o.ratio,
        low: o.low,
        high: o.high,
        found: None,
    };
    let pairs = Pairs::new(all.map(pair).collect());
    let mut unequal: Vec<String> = Vec::new();
    for label in workloads.iter().flat_map(|work| &work.comparisons).flat_map(|c| &c.unequal) {
        if !unequal.contains(label) {
            unequal.push(label.clone());
        }
    }
    let places = apart(pairs.places(), &pairs, &unequal);
    let names = Comparison { title: "geometric mean of all".to_owned(), unequal, ..nobody() };
    beside(names, &pairs, places, baseline)
}

/// Fills in the geometric means, over the rounds in which every compared candidate has a value, as far as they were analysed.
fn means(comparison: &mut Comparison, row: &Row, analysed: Option<usize>) {
    let of = |label: &str| row.cells.iter().find(|cell| cell.filesystem == label);
    let rounds = |line: &Line| -> BTreeSet<u32> {
        of(&line.candidate).into_iter().flat_map(positive).map(|(round, _)| round).collect()
    };
    let common = comparison.lines.iter().map(rounds).reduce(|common, own| &common & &own).unwrap_or_default();
    let basis: BTreeSet<u32> = common.iter().copied().take(analysed.unwrap_or(common.len())).collect();
    for line in &mut comparison.lines {
        let values = of(&line.candidate).into_iter().flat_map(positive);
        let logs: Vec<f64> =
            values.filter(|(round, _)| basis.contains(round)).map(|(_, value)| value.ln()).collect();
        line.mean = (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp());
    }
    comparison.rounds = basis.len();
}

/// The copy in an A/A check is no candidate.
fn is_of_copy(verdict: &Verdict, labels: [&String; 2]) -> bool {
    verdict.guard.as_ref().is_some_and(|guard| labels.contains(&&guard.copy))
}

fn nobody() -> Comparison {
    Comparison {
        scenario: String::new(),
        metric: String::new(),
        dimensions: String::new(),
        title: String::new(),
        times_as: GOOD,
        to: String::new(),
        is_baseline: false,
        is_preliminary: false,
        rounds: 0,
        left_out: Vec::new(),
        without_ratio: Vec::new(),
        lines: Vec::new(),
        unequal: Vec::new(),
        sentence: Sentence::default(),
    }
}

/// For amounts that stand in for times a ratio means more or fewer, not better.
fn times_as(row: &Row) -> &'static str {
    match row.of {
        _ if !row.stands_in => GOOD,
        Quantity::Bytes => "much",
        _ => "many",
    }
}

/// Ratios of the amounts themselves: less is better.
fn as_amounts(comparison: &mut Comparison) {
    let inverted = |low: &mut Option<f64>, high: &mut Option<f64>| {
        (*low, *high) = (high.map(f64::recip), low.map(f64::recip));
    };
    for line in &mut comparison.lines {
        line.ratio = line.ratio.recip();
        inverted(&mut line.low, &mut line.high);
    }
}

/// Candidates with weaker durability come last, unranked; the others are ranked without them.
fn apart(places: Vec<Place>, pairs: &Pairs, unequal: &[String]) -> Vec<Place> {
    let (less, full): (Vec<Place>, Vec<Place>) =
        places.into_iter().partition(|place| unequal.contains(&place.candidate));
    if less.is_empty() || full.is_empty() {
        return full.into_iter().chain(less).collect();
    }
    let among = pairs.without(unequal).places();
    let ranked = |place: Place| match among.iter().find(|other| other.candidate == place.candidate) {
        Some(other) => Place { best: other.best, worst: other.worst, ..place },
        // The only candidate.
        None => Place { best: 1, worst: 1, ..place },
    };
    let unranked = |place| Place { best: 0, worst: 0, ..place };
    full.into_iter().map(ranked).chain(less.into_iter().map(unranked)).collect()
}

fn beside(
    names: Comparison,
    pairs: &Pairs,
    places: Vec<Place>,
    baseline: Option<&str>,
) -> Option<Comparison> {
    let asked = baseline.filter(|label| places.iter().any(|place| place.candidate == *label));
    let to = asked.map_or_else(|| places.first().map(|place| place.candidate.clone()), |l| Some(l.into()))?;
    let line = |place: Place| {
        let pair = pairs.between(&place.candidate, &to);
        Line {
            best: place.best,
            worst: place.worst,
            mean: None,
            ratio: pair.as_ref().map_or(1.0, |pair| pair.ratio),
            low: pair.as_ref().and_then(|pair| pair.low),
            high: pair.as_ref().and_then(|pair| pair.high),
            finding: pair.and_then(|pair| pair.found),
            candidate: place.candidate,
            ties: Vec::new(),
        }
    };
    let lines = places.into_iter().map(line).collect();
    Some(Comparison { is_baseline: asked.is_some(), lines, to, ..names })
}

/// Candidates that did the work and are in no pair: those with a count of zero, and those with too few rounds.
fn left_out(row: &Row, comparison: &Comparison, verdict: &Verdict) -> (Vec<String>, Vec<String>) {
    let is_compared =
        |label: &String| comparison.line(label).is_some() || is_of_copy(verdict, [label, label]);
    let others = row.cells.iter().filter(|cell| cell.n > 0 && !is_compared(&cell.filesystem));
    let (none, few): (Vec<&Cell>, Vec<&Cell>) = others.partition(|cell| cell.min == Some(0.0));
    let labels = |cells: Vec<&Cell>| cells.into_iter().map(|cell| cell.filesystem.clone()).collect();
    (labels(none), labels(few))
}

/// Brackets over adjacent candidates of which no two are told apart, each as long as possible. Overlapping brackets get separate
/// lanes. No bracket joins a candidate with weaker durability to another.
fn tie(lines: &mut [Line], pairs: &Pairs, unequal: &[String]) {
    let labels: Vec<String> = lines.iter().map(|line| line.candidate.clone()).collect();
    let reaches = |from: usize| {
        let is_full = |at: usize| !unequal.contains(&labels[at]);
        let all_tied = |to: usize| {
            (from..to).all(|at| is_full(at) && is_full(to) && pairs.is_tie(&labels[at], &labels[to]))
        };
        (from + 1..labels.len()).take_while(|to| all_tied(*to)).last()
    };
    let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut last_end = 0;
    for from in 0..labels.len() {
        // A bracket that ends where an earlier one does lies within it.
        let Some(to) = reaches(from).filter(|to| *to > last_end) else { continue };
        last_end = to;
        match lanes.iter_mut().find(|lane| lane.last().is_none_or(|(_, end)| *end < from)) {
            Some(lane) => lane.push((from, to)),
            None => lanes.push(vec![(from, to)]),
        }
    }
    for (at, line) in lines.iter_mut().enumerate() {
        line.ties = lanes.iter().map(|lane| part(lane, at)).collect();
    }
}

fn part(lane: &[(usize, usize)], at: usize) -> Tie {
    match lane.iter().find(|(from, to)| (*from..=*to).contains(&at)) {
        Some((from, _)) if *from == at => Tie::First,
        Some((_, to)) if *to == at => Tie::Last,
        Some(_) => Tie::Middle,
        None => Tie::Outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{self, verdict};
    use crate::report::view::sentence::Said;
    use crate::schema::finding::{Found, Guard};

    fn compared(verdict: Verdict, baseline: Option<&str>) -> Comparison {
        let example = examples::rounds(12);
        example.judged(verdict, baseline).summary.workloads[0].comparisons[0].clone()
    }

    fn labels(comparison: &Comparison) -> Vec<&str> {
        comparison.lines.iter().map(|line| line.candidate.split(' ').next().unwrap_or_default()).collect()
    }

    #[test]
    fn the_best_stands_first_and_ranks_say_what_is_open() {
        let comparison = compared(verdict::of_one_workload(12), None);
        let all =
            ["cedarfs", "alderfs,", "alderfs", "birchfs", "maplefs", "elmfs", "birchfs-journal", "rowanfs"];
        assert_eq!(labels(&comparison), all);
        let ranks: Vec<String> = comparison.lines.iter().map(Line::rank).collect();
        assert_eq!(ranks, ["1", "2–3", "2–3", "4–5", "4–6", "5–6", "7", "8"]);
        assert_eq!((comparison.to.as_str(), comparison.is_baseline), ("cedarfs", false));
        assert_eq!(&*comparison.sentence, "cedarfs is 1.11–6.32 times as fast as each of the other 7.");
        assert!(
            comparison.sentence.claims.iter().all(|c| (c.said, c.a.as_str()) == (Said::Better, "cedarfs"))
        );
    }

    #[test]
    fn brackets_that_overlap_stand_beside_each_other() {
        let comparison = compared(verdict::of_one_workload(12), None);
        let drawn: Vec<String> =
            comparison.lines.iter().map(|line| line.ties.iter().map(|tie| tie.drawn()).collect()).collect();
        assert_eq!(drawn, ["  ", "┐ ", "┘ ", "┐ ", "┘┐", " ┘", "  ", "  "]);
    }

    #[test]
    fn beside_a_baseline_the_order_is_the_same_and_the_ratios_are_its() {
        let beside = compared(verdict::of_one_workload(12), Some("birchfs"));
        assert_eq!(labels(&beside), labels(&compared(verdict::of_one_workload(12), None)));
        let ratio = |label: &str| beside.line(label).map(|line| line.ratio);
        assert_eq!(ratio("birchfs"), Some(1.0));
        assert!(ratio("cedarfs").is_some_and(|ratio| (ratio - 1.31 / 0.82).abs() < 1e-9));
        assert_eq!(beside.line("maplefs").map(Line::mark), Some("?"));
        let nobody = compared(verdict::of_one_workload(12), Some("nobody"));
        assert!(!nobody.is_baseline && nobody.to == "cedarfs");
    }

    #[test]
    fn too_few_rounds_give_an_order_and_neither_ranks_nor_brackets() {
        let comparison = compared(verdict::of_one_workload(5), None);
        assert!(comparison.is_preliminary && !comparison.has_ranks() && !comparison.has_ties());
        assert!(comparison.sentence.is_empty(), "no order is said: {}", comparison.sentence);
    }

    #[test]
    fn who_promises_less_has_no_rank_and_is_nobodys_reference() {
        let compared = |mounts: &[&str], verdict: Verdict| {
            let mut example = examples::rounds(12);
            let flags = example.run.plan.candidates.iter_mut().filter(|c| mounts.contains(&c.label.as_str()));
            flags.for_each(|candidate| candidate.variant.mount = vec!["nobarrier".into()]);
            example.judged(verdict, None).summary.workloads[0].comparisons[0].clone()
        };
        let comparison = compared(&["cedarfs"], verdict::of_one_workload(12));
        assert_eq!(
            (comparison.to.as_str(), &comparison.unequal),
            ("alderfs, no atime", &vec!["cedarfs".to_owned()])
        );
        let last = comparison.lines.last().unwrap();
        assert_eq!((last.candidate.as_str(), last.rank()), ("cedarfs", String::new()));
        assert_eq!(comparison.lines[0].rank(), "1–2");
        assert_eq!(
            &*comparison.sentence,
            "“alderfs, no atime” and alderfs are equivalent within 3%; the other 5 are 8.9–80 % slower than “alderfs, \
             no atime” and alderfs."
        );
        assert!(comparison.sentence.claims.iter().all(|claim| claim.a != "cedarfs" && claim.b != "cedarfs"));
        let mut two = verdict::of_one_workload(12);
        two.findings
            .retain(|f| [&f.a, &f.b].iter().all(|label| ["cedarfs", "birchfs"].contains(&label.as_str())));
        let comparison = compared(&["cedarfs"], two);
        assert_eq!(
            &*comparison.sentence,
            "Only birchfs makes synced data durable, so the candidates are not ranked."
        );
        assert!(comparison.sentence.claims.is_empty());
    }

    #[test]
    fn who_entered_a_second_time_is_not_compared() {
        let mut verdict = verdict::of_one_workload(12);
        let (copy, of) = ("rowanfs".to_owned(), "maplefs".to_owned());
        verdict.guard = Some(Guard { copy, of, rounds: 12, p: Some(0.4), voids: false, credible: None });
        let comparison = compared(verdict, None);
        assert!(comparison.line("rowanfs").is_none() && comparison.left_out.is_empty());
    }

    #[test]
    fn who_has_none_of_what_is_counted_is_told_from_who_did_it_too_rarely() {
        let (example, verdict) = (examples::rounds(12), verdict::of_one_workload(12));
        let report = example.judged(verdict.clone(), None);
        let work = &report.summary.workloads[0];
        let mut comparison = work.comparisons[0].clone();
        let mut row = work.rows().find(|row| row.name == comparison.metric).unwrap().clone();
        let rare = comparison.lines.pop().unwrap().candidate;
        let without = comparison.lines.pop().unwrap().candidate;
        row.cells.iter_mut().filter(|cell| cell.filesystem == without).for_each(|cell| cell.min = Some(0.0));
        assert_eq!(left_out(&row, &comparison, &verdict), (vec![without], vec![rare]));
    }

    #[test]
    fn those_that_none_is_better_than_are_said_to_be_open_or_equivalent_and_the_others_beside_them() {
        let mut open = verdict::of_one_workload(12);
        open.findings.retain(|f| ![&f.a, &f.b].contains(&&"cedarfs".to_owned()));
        let said = compared(open.clone(), None).sentence;
        assert_eq!(
            &*said,
            "“alderfs, no atime” and alderfs are equivalent within 3%; the other 5 are 8.9–80 % slower than “alderfs, \
             no atime” and alderfs."
        );
        for finding in &mut open.findings {
            finding.finding = Found::CannotTell;
        }
        let said = compared(open, None).sentence;
        assert_eq!(&*said, "No two of 7 candidates were told apart.");
        assert_eq!(said.claims.len(), 21);
        assert!(said.claims.iter().all(|claim| claim.said == Said::NotToldApart));
    }

    /// The example verdict, reduced to these pairs and findings.
    fn of_these(pairs: &[(&str, &str, Found)]) -> String {
        let mut verdict = verdict::of_one_workload(12);
        let found = |a: &str, b: &str| {
            pairs.iter().find_map(|(x, y, found)| match (*x, *y) {
                pair if pair == (a, b) => Some(*found),
                pair if pair == (b, a) => Some(found.turned()),
                _ => None,
            })
        };
        verdict.findings.retain(|f| found(&f.a, &f.b).is_some());
        for finding in &mut verdict.findings {
            finding.finding = found(&finding.a, &finding.b).unwrap();
            let is_better = matches!(finding.finding, Found::Better);
            (finding.low, finding.high) =
                if is_better { (Some(1.36), Some(1.49)) } else { (Some(0.9), Some(1.1)) };
            if finding.finding == Found::Worse {
                (finding.low, finding.high) = (Some(1.0 / 1.49), Some(1.0 / 1.36));
            }
        }
        compared(verdict, None).sentence.text
    }

    #[test]
    fn a_sentence_says_which_and_by_how_much_and_what_is_open() {
        let (better, open, alike) = (Found::Better, Found::CannotTell, Found::Equivalent);
        let [x, y, z] = ["cedarfs", "birchfs", "maplefs"];
        let said = of_these;
        assert_eq!(said(&[(x, y, better)]), "cedarfs is 1.36–1.49 times as fast as birchfs.");
        assert_eq!(
            said(&[(x, y, open)]),
            "cedarfs and birchfs are not told apart; birchfs is from 10 % slower to 10 % faster than cedarfs."
        );
        assert_eq!(said(&[(x, y, alike)]), "cedarfs and birchfs are equivalent within 3%.");
        assert_eq!(
            said(&[(x, y, open), (x, z, better), (y, z, better)]),
            "maplefs is 26–33 % slower than cedarfs and birchfs; cedarfs and birchfs are not told apart."
        );
        let w = "rowanfs";
        let all = [(x, y, open), (x, z, open), (y, z, open), (x, w, better), (y, w, better), (z, w, better)];
        assert_eq!(
            said(&all),
            "rowanfs is 26–33 % slower than cedarfs, birchfs and maplefs; cedarfs, birchfs and maplefs are not told apart."
        );
        assert_eq!(
            said(&[(x, y, open), (x, z, better), (y, z, open)]),
            "cedarfs and birchfs are not told apart; maplefs is \
             26–33 % slower than cedarfs and not told apart from birchfs."
        );
        assert_eq!(
            said(&[(x, y, better), (x, z, better), (y, z, better)]),
            "cedarfs is 1.36–1.49 times as fast as birchfs and 1.36–1.49 times as fast as maplefs."
        );
        assert_eq!(
            said(&[(x, y, better), (y, z, better), (x, z, open)]),
            "cedarfs is 1.36–1.49 times as fast as birchfs; maplefs is 26–33 % slower than birchfs and not told apart from \
             cedarfs."
        );
    }
}
