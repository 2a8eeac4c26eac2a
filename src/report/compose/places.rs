//! Filesystems that change places between setups, and the fsync latency in each.

use super::durability::FLUSHES;
use crate::analysis::dataset::counted;
use crate::probes;
use crate::report::view::number::{count, duration, list, named, ratio};
use crate::report::view::row::Row;
use crate::report::view::sentence::{Claim, Said, Sentence};
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::Finding;
use crate::schema::plan::{Candidate, Plan, Setup};
use crate::store::Run;

/// At most this many pairs are named in a sentence.
const NAMED: usize = 6;

/// Sentences for each two setups and each headline metric whose findings differ.
pub fn changed(run: &Run, workloads: &[WorkloadSummary]) -> Vec<Sentence> {
    let setups: Vec<Setup<'_>> = run.plan.setups().into_iter().map(|(_, setup)| setup).collect();
    let after = |at: usize| setups[at + 1..].iter().map(move |second| (at, second));
    let both = || (0..setups.len()).flat_map(after).map(|(at, second)| [setups[at], *second]);
    workloads.iter().flat_map(|work| both().flat_map(move |setups| in_both(run, work, setups))).collect()
}

/// A filesystem that takes part in two setups.
struct Twice<'r> {
    labels: [&'r str; 2],
}

impl<'r> Twice<'r> {
    /// In plan order.
    fn all(plan: &'r Plan, setups: [Setup<'r>; 2]) -> Vec<Self> {
        let within = |setup: Setup<'r>| plan.candidates.iter().filter(move |c| plan.setup(c) == setup);
        let is_same =
            |a: &Candidate, b: &Candidate| (&a.kind, &a.variant, &a.era) == (&b.kind, &b.variant, &b.era);
        let with_second = |first: &'r Candidate| {
            let second = within(setups[1]).find(|second| is_same(first, second))?;
            Some(Twice { labels: [&first.label, &second.label] })
        };
        within(setups[0]).filter_map(with_second).collect()
    }

    /// The common beginning of both labels, before the factor that a crossing adds.
    fn name(&self) -> String {
        let [first, second] = self.labels;
        let alike =
            first.chars().zip(second.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        let before = if alike == first.len() { None } else { first[..alike].rfind(", ") };
        named(before.map_or(first, |at| &first[..at]))
    }
}

/// Pairs by name, the better first, with the supporting findings.
#[derive(Default)]
struct Orders {
    /// Pairs of which one is better in the first setup and the other in the second; named in the first setup's order.
    turned: Vec<Sentence>,
    /// Pairs that are told apart in only one of the setups.
    alone: [Vec<Sentence>; 2],
    /// The candidates in any of these pairs.
    who: Vec<usize>,
}

fn in_both(run: &Run, work: &WorkloadSummary, setups: [Setup<'_>; 2]) -> Vec<Sentence> {
    let all = Twice::all(&run.plan, setups);
    let on = setups.map(|setup| in_words(setup, setups));
    let said = |row: &Row| {
        let is_of = |f: &&Finding| (&f.metric, &f.dimensions) == (&row.name, &row.dimensions);
        let findings: Vec<&Finding> = work.findings.iter().filter(is_of).collect();
        let Orders { turned, alone, who } = orders(&all, &findings);
        if who.is_empty() {
            return None;
        }
        let mut said = format!(
            "In the workload {workload} the order of the candidates ({metric}) differs between {one} and {other}.",
            workload = work.label,
            metric = row.title,
            one = on[0],
            other = on[1]
        );
        let mut claims = Vec::new();
        if !turned.is_empty() {
            let pairs = some(&turned, &mut claims);
            said.push_str(&format!(" On {}, the order is {pairs}; on {}, it is reversed.", on[0], on[1]));
        }
        for (pairs, on) in alone.iter().zip(&on).filter(|(pairs, _)| !pairs.is_empty()) {
            said.push_str(&format!(
                " A difference in these pairs was found only on {on}: {}.",
                some(pairs, &mut claims)
            ));
        }
        let who: Vec<&Twice<'_>> = who.iter().map(|at| &all[*at]).collect();
        let both = || on.iter().enumerate();
        said.extend(both().filter_map(|(at, on)| fsyncs(work, &who, at, on)));
        said.extend(both().filter_map(|(at, on)| without_cache(run, &who, at, on)));
        Some(Sentence::new(said, claims))
    };
    work.headlines().into_iter().filter_map(said).collect()
}

fn orders(all: &[Twice<'_>], findings: &[&Finding]) -> Orders {
    let mut orders = Orders::default();
    for (at, a) in all.iter().enumerate() {
        for (other, b) in all.iter().enumerate().skip(at + 1) {
            let claimed = |setup: usize| {
                findings.iter().find_map(|finding| better(finding, a.labels[setup], b.labels[setup]))
            };
            let is_first = |setup: usize, claim: &Claim| claim.a == a.labels[setup];
            let pair = |setup: usize, claims: &[&Claim]| {
                let [first, second] = if is_first(setup, claims[0]) { [a, b] } else { [b, a] };
                let text = format!("{} before {}", first.name(), second.name());
                Sentence::new(text, claims.iter().map(|claim| (*claim).clone()).collect())
            };
            match [claimed(0), claimed(1)] {
                [Some(then), Some(now)] if is_first(0, &then) != is_first(1, &now) => {
                    orders.turned.push(pair(0, &[&then, &now]));
                }
                [Some(alone), None] => orders.alone[0].push(pair(0, &[&alone])),
                [None, Some(alone)] => orders.alone[1].push(pair(1, &[&alone])),
                _ => continue,
            }
            orders.who.extend([at, other]);
        }
    }
    orders.who.sort_unstable();
    orders.who.dedup();
    orders
}

fn some(pairs: &[Sentence], claims: &mut Vec<Claim>) -> String {
    let mut named: Vec<String> = pairs.iter().take(NAMED).map(|pair| pair.text.clone()).collect();
    claims.extend(pairs.iter().take(NAMED).flat_map(|pair| pair.claims.clone()));
    let more = pairs.len() - named.len();
    named.extend((more > 0).then(|| count(more, "other pair")));
    list(&named)
}

/// The one that was found better; `None` if open.
fn better(finding: &Finding, a: &str, b: &str) -> Option<Claim> {
    let finding = finding.from_the_side_of(a).filter(|finding| finding.b == b)?;
    Claim::of(&finding).filter(|claim| claim.said == Said::Better)
}

/// The factors of this setup that the other lacks.
fn in_words(setup: Setup<'_>, both: [Setup<'_>; 2]) -> String {
    let own = said(setup);
    let rest: Vec<String> = both.into_iter().find(|other| *other != setup).map(said).unwrap_or_default();
    let differs: Vec<String> = own.iter().filter(|factor| !rest.contains(factor)).cloned().collect();
    if differs.is_empty() { setup.testbed.to_owned() } else { differs.join(", ") }
}

fn said(setup: Setup<'_>) -> Vec<String> {
    let Setup { testbed, memory, cpus, layers, state, .. } = setup;
    let memory = memory.map(|memory| format!("{memory} of memory"));
    let cpus = cpus.map(|cpus| count(cpus as usize, "CPU"));
    let layers = Some(crate::schema::candidate::said(layers)).filter(|text| !text.is_empty());
    let state = Some(state.unwrap_or(crate::states::FRESH).to_owned());
    [Some(testbed.to_owned()), memory, cpus, layers, state].into_iter().flatten().collect()
}

/// ` The median fsync on A, and flushes of the device for each: birchfs 97 µs (1.03) and cedarfs 76 µs (none).`
fn fsyncs(work: &WorkloadSummary, who: &[&Twice<'_>], at: usize, on: &str) -> Option<String> {
    let latency = work.latencies.iter().filter(|latency| latency.is_of_fsync()).max_by_key(|l| l.n())?;
    let flushes = work.rows().find(|row| row.name == FLUSHES && row.work == latency.work);
    let one = |one: &&Twice<'_>| {
        let label = one.labels[at];
        let p50 = latency.rows.iter().find(|row| row.filesystem == label)?.p50;
        let flushes = flushes.and_then(|row| row.cells.iter().find(|cell| cell.filesystem == label)?.median);
        let flushes = match flushes {
            None => String::new(),
            Some(0.0) => " (none)".to_owned(),
            Some(n) => format!(" ({})", ratio(n)),
        };
        Some(format!("{} {}{flushes}", one.name(), duration(p50)))
    };
    let all: Vec<String> = who.iter().filter_map(one).collect();
    let each = if flushes.is_some() { " (in brackets: device flushes per fsync)" } else { "" };
    (!all.is_empty()).then(|| format!(" The median fsync latency on {on}{each}: {}.", list(&all)))
}

/// Why nothing is flushed there.
fn without_cache(run: &Run, who: &[&Twice<'_>], at: usize, on: &str) -> Option<String> {
    let is_of = |label: &str| who.iter().any(|one| one.labels[at] == label);
    let records = counted(run).into_iter().filter(|record| is_of(&record.filesystem));
    let mut caches =
        records.filter_map(|record| probes::counted(record, "block_io", "volatile_cache")).peekable();
    caches.peek()?;
    caches
        .all(|cache| cache == 0)
        .then(|| format!(" The device of {on} has no volatile cache, so it receives no flushes."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples;
    use crate::schema::finding::{Found, Verdict};

    /// The example with each filesystem also on a second disk, with other findings for these pairs.
    fn said(otherwise: &[(&str, &str, Found)]) -> Vec<Sentence> {
        let mut example = examples::sixteen();
        for candidate in example.run.plan.candidates.iter_mut().filter(|c| c.label.ends_with(TWIN)) {
            candidate.own.on = Some("loop:/dev/other".to_owned());
        }
        let mut verdict: Verdict = examples::verdict::of_one_workload(12);
        let again = |finding: &Finding| {
            let own = otherwise.iter().find(|(a, b, _)| (*a, *b) == (finding.a.as_str(), finding.b.as_str()));
            let [a, b] = [&finding.a, &finding.b].map(|label| format!("{label}{TWIN}"));
            Finding { a, b, finding: own.map_or(finding.finding, |(_, _, found)| *found), ..finding.clone() }
        };
        let twins: Vec<Finding> = verdict.findings.iter().map(again).collect();
        verdict.findings.extend(twins);
        let report = example.judged(verdict, None);
        changed(&example.run, &report.summary.workloads)
    }

    const TWIN: &str = " (2)";

    #[test]
    fn a_pair_whose_order_another_setup_turns_is_named() {
        let said = said(&[("alderfs", "birchfs", Found::Worse)]);
        let expected = "differs between loop and loop:/dev/other. On loop, the order is alderfs before birchfs; \
                        on loop:/dev/other, it is reversed.";
        assert!(said.len() == 1 && said[0].contains(expected), "{said:?}");
        assert!(!said[0].contains("alone") && !said[0].contains("cedarfs"), "{said:?}");
    }

    #[test]
    fn so_is_one_that_is_told_apart_in_one_setup_alone() {
        let said =
            said(&[("alderfs", "birchfs", Found::CannotTell), ("alderfs", "cedarfs", Found::Equivalent)]);
        assert!(
            said.len() == 1
                && said[0].contains(
                    "A difference in these pairs was found only on loop: alderfs before birchfs and \
                     cedarfs before alderfs."
                ),
            "{said:?}"
        );
    }

    #[test]
    fn where_the_order_is_the_same_nothing_is_said() {
        assert_eq!(said(&[]), Vec::new());
    }
}
