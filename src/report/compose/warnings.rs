//! What the heading warns of in its workloads: page cache in place of the disk, short trials, a machine that was not idle.

use crate::report::view::heading::Standing;
use crate::report::view::number::{count, grouped, list, named};
use crate::report::view::sentence::Said;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::units::Bytes;

/// The CPU time of a workload and of what serves it.
const CPU: &str = "cpu.work";

/// Up to this many workloads are listed by name.
pub const NAMED: usize = 3;

/// Which workloads measure page cache and CPU, and why: one reason for all of them, or one for each group.
pub fn page_cache(workloads: &[WorkloadSummary]) -> Option<String> {
    let marked: Vec<&WorkloadSummary> = workloads.iter().filter(|w| !w.page_cache.is_empty()).collect();
    if let [one] = marked[..] {
        return Some(format!(
            "The workload {} measures page cache and CPU rather than the disk: {}.",
            one.label, one.page_cache
        ));
    }
    let mut groups: Vec<(Option<Bytes>, Vec<&WorkloadSummary>)> = Vec::new();
    for one in &marked {
        let fits = one.fits_into();
        match groups.iter_mut().find(|(memory, _)| *memory == fits) {
            Some((_, own)) => own.push(one),
            None => groups.push((fits, vec![one])),
        }
    }
    let reason = |(memory, own): &(Option<Bytes>, Vec<&WorkloadSummary>)| {
        let whose =
            if own.len() == marked.len() { String::new() } else { format!("in {}, ", these(workloads, own)) };
        let peak = own.iter().map(|w| w.peak()).max_by_key(|peak| peak.0).unwrap_or(Bytes(0));
        match memory {
            Some(memory) => {
                format!("{whose}files take at most {peak} at a time and fit into {memory} of memory")
            }
            None => {
                format!("{whose}every filesystem sent less than half of the written bytes to the device")
            }
        }
    };
    let reasons: Vec<String> = groups.iter().map(reason).collect();
    (!marked.is_empty()).then(|| {
        let these = first(&these(workloads, &marked));
        format!("{these} measure page cache and CPU rather than the disk: {}.", reasons.join("; "))
    })
}

/// Which workloads were too short, in all or in some of their trials. `None` if the heading already says that all were.
pub fn short(workloads: &[WorkloadSummary], standing: Standing) -> Option<String> {
    let marked = workloads.iter().filter(|w| !w.short.is_empty() && standing != Standing::Short);
    let (all, some): (Vec<&WorkloadSummary>, Vec<&WorkloadSummary>) = marked.partition(|w| w.is_short);
    const WHY: &str = "so these trials say little about hours of the same workload";
    let all = (!all.is_empty()).then(|| {
        format!("The results of {} are preliminary: the trials are short, {WHY}.", these(workloads, &all))
    });
    let some =
        (!some.is_empty()).then(|| format!("Some trials of {} are short, {WHY}.", these(workloads, &some)));
    let said: Vec<String> = all.into_iter().chain(some).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

pub fn disturbed(workloads: &[WorkloadSummary]) -> Option<String> {
    let marked: Vec<&WorkloadSummary> = workloads.iter().filter(|w| !w.disturbed.is_empty()).collect();
    (!marked.is_empty()).then(|| {
        let sum = |of: fn(&WorkloadSummary) -> usize| marked.iter().map(|work| of(work)).sum::<usize>();
        let n = grouped(&sum(|work| work.disturbed_trials[0]).to_string());
        let which = match marked.len() == workloads.len() {
            true => String::new(),
            false => format!(" of {}", these(workloads, &marked)),
        };
        format!(
            "The machine was not idle: in {n} of {of}{which}, other programs or virtual machines used more than a tenth of the \
             workload's time, or heat slowed the CPU. These trials are counted. The random order favours no candidate, but \
             ranges are wider, and a candidate that takes more CPU time loses more.{}",
            exaggerated(&marked),
            of = count(sum(|work| work.disturbed_trials[1]), "trial")
        )
    })
}

/// Which findings in these workloads may be larger than on an idle machine: those in which the slower candidate needs more CPU time,
/// by the medians of the trials. Empty if nothing was found.
fn exaggerated(marked: &[&WorkloadSummary]) -> String {
    let (mut found, mut exaggerated, mut is_unknown) = (0, 0, false);
    let mut larger: Vec<String> = Vec::new();
    for work in marked {
        let row = work.sections.iter().flat_map(|section| &section.rows).find(|row| row.name == CPU);
        let median = |label: &str| {
            row?.cells.iter().find(|cell| cell.filesystem == label).and_then(|cell| cell.median)
        };
        let speeds = work.comparisons.iter().filter(|comparison| !comparison.is_of_amounts());
        for claim in speeds.flat_map(|c| &c.sentence.claims).filter(|claim| claim.said == Said::Better) {
            let (Some(slower), Some(faster)) = (median(&claim.b), median(&claim.a)) else {
                is_unknown = true;
                continue;
            };
            found += 1;
            if slower > faster {
                exaggerated += 1;
                let one = format!("{} in {}", named(&claim.b), these(&[], &[work]));
                if !larger.contains(&one) {
                    larger.push(one);
                }
            }
        }
    }
    match (found, larger.len()) {
        (0, _) => String::new(),
        (_, 0) if is_unknown => String::new(),
        (_, 0) => {
            " In no difference that was found does the loser have the higher median CPU time.".to_owned()
        }
        (_, 1..=NAMED) => {
            format!(" By the median CPU times, {} may be less slow on an idle machine.", list(&larger))
        }
        _ => format!(
            " By the median CPU times, {exaggerated} of {found} differences may be smaller on an idle machine."
        ),
    }
}

/// The names of the marked workloads, or their number if these are many and all are marked. Called what they are, because many
/// of the names are words: `the workloads deliver and restart`.
pub fn these(workloads: &[WorkloadSummary], marked: &[&WorkloadSummary]) -> String {
    if marked.len() > NAMED && marked.len() == workloads.len() {
        return format!("all {} workloads", marked.len());
    }
    let s = if marked.len() == 1 { "" } else { "s" };
    format!("the workload{s} {}", list(&marked.iter().map(|w| w.label.clone()).collect::<Vec<_>>()))
}

/// At the beginning of a sentence.
fn first(text: &str) -> String {
    let (head, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    head.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::examples::{self, verdict};

    #[test]
    fn a_busy_machine_exaggerates_what_needs_more_cpu_time() {
        let mut works = examples::rounds(12).judged(verdict::over_rounds(12), None).summary.workloads;
        works.truncate(1);
        works[0].disturbed = "disturbed".to_owned();
        let ends =
            |works: &[WorkloadSummary]| disturbed(works).unwrap().rsplit(". ").next().unwrap().to_owned();
        let set = |works: &mut [WorkloadSummary], most: &str| {
            let rows = works[0].sections.iter_mut().flat_map(|section| &mut section.rows);
            for row in rows.filter(|row| row.name == CPU) {
                for cell in row.cells.iter_mut() {
                    cell.median = Some(if cell.filesystem == most { 2.0 } else { 1.0 });
                }
            }
        };
        let claims = &works[0].comparisons[0].sentence.claims;
        let claim = claims.iter().find(|claim| claim.said == Said::Better).unwrap().clone();
        set(&mut works, &claim.a);
        assert_eq!(
            ends(&works),
            "In no difference that was found does the loser have the higher median CPU time."
        );
        set(&mut works, &claim.b);
        let expected = format!(
            "By the median CPU times, {} in the workload letters-quick may be less slow on an idle machine.",
            named(&claim.b)
        );
        assert_eq!(ends(&works), expected);
        works[0].comparisons.clear();
        assert!(ends(&works).ends_with("a candidate that takes more CPU time loses more."));
    }

    #[test]
    fn what_is_true_of_many_workloads_is_said_once() {
        let mut works = examples::example().report().summary.workloads;
        assert!(
            page_cache(&works).unwrap().starts_with("The workload letters-in-memory measures page cache")
        );
        works[0].page_cache = works[1].page_cache.clone();
        let mixed = page_cache(&works).unwrap();
        assert!(
            mixed.ends_with(
                "rather than the disk: in the workload letters-quick, every filesystem sent less than half of the written \
                 bytes to the device; in the workload letters-in-memory, files take at most 210 MiB at a time and fit into 512 MiB of memory."
            ),
            "{mixed}"
        );
        works[0].amount = works[1].amount;
        assert_eq!(
            page_cache(&works).unwrap(),
            "The workloads letters-quick and letters-in-memory measure page cache and CPU rather than the disk: files take at \
             most 210 MiB at a time and fit into 512 MiB of memory."
        );
        let works: Vec<WorkloadSummary> = [&works[..], &works[..]].concat();
        assert!(page_cache(&works).unwrap().starts_with("All 4 workloads measure page cache"));
    }
}
