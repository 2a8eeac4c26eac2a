//! The results beyond the samples of a modelled disk, in words: other workload seeds, other instruction costs, and the worst
//! corner.

use super::number::{count, list, ratio};
use crate::schema::finding::{Chaos, Corner, Costs, Evidence, Finding, ModelError, Refuted};

/// At most this many of the pairs whose result depends on instruction cost are named.
const NAMED: usize = 6;

fn chaos(finding: &Finding) -> Option<&Chaos> {
    let Evidence::Samples { chaos, .. } = &finding.evidence else { return None };
    chaos.as_ref()
}

fn worst(finding: &Finding) -> Option<&Corner> {
    let Evidence::Samples { corner, .. } = &finding.evidence else { return None };
    corner.as_ref()
}

fn paid(finding: &Finding) -> Option<&Costs> {
    let Evidence::Samples { costs, .. } = &finding.evidence else { return None };
    costs.as_deref()
}

fn model_error(finding: &Finding) -> Option<&ModelError> {
    let Evidence::Samples { model_error, .. } = &finding.evidence else { return None };
    model_error.as_deref()
}

/// The spread (highest ÷ lowest value) of each candidate over six seeds, relative to the other candidates: `1.02, 1.05`.
pub fn spreads(finding: &Finding) -> String {
    chaos(finding).map_or_else(|| "–".to_owned(), |chaos| chaos.spreads.map(ratio).join(", "))
}

/// The lowest and the highest ratio over the instruction costs: `0.81 – 1.37`.
pub fn costs(finding: &Finding) -> String {
    paid(finding)
        .map_or_else(|| "–".to_owned(), |costs| format!("{} – {}", ratio(costs.low), ratio(costs.high)))
}

/// Whether only the instruction cost prevents the finding.
pub fn depends_on_cost(finding: &Finding) -> bool {
    matches!(finding.evidence, Evidence::Samples { refuted: Some(Refuted::Cost), .. })
}

/// The ratio at the worst corner, measured and expected: `0.98, expected 1.01`.
pub fn corner(finding: &Finding) -> String {
    let said = |corner: &Corner| {
        let measured = corner.ratio.map_or_else(|| "not tried".to_owned(), ratio);
        format!("{measured}, expected {}", ratio(corner.expected))
    };
    worst(finding).map_or_else(|| "–".to_owned(), said)
}

/// Why a result that holds in all samples is no finding.
pub fn refuted(finding: &Finding) -> Option<String> {
    let Evidence::Samples { refuted: Some(refuted), .. } = &finding.evidence else { return None };
    let n = finding.n;
    if let (Refuted::Cost, Some(costs)) = (refuted, paid(finding)) {
        let (low, high) = (ratio(costs.low), ratio(costs.high));
        return Some(format!(
            "the difference held in {n} of {n} samples, but depends on the assumed CPU cost (ratio {low} to {high})"
        ));
    }
    if let (Refuted::ModelError, Some(error)) = (refuted, model_error(finding)) {
        return Some(format!("the difference held in {n} of {n} samples, but {}", off(error)));
    }
    Some(match (refuted, chaos(finding), worst(finding)) {
        (Refuted::Chaos, Some(chaos), _) => {
            let (least, most) = fsderby_stats::range(&chaos.ratios).unwrap_or((1.0, 1.0));
            let (least, most) = (ratio(least), ratio(most));
            format!(
                "the difference held in {n} of {n} samples, but other workload seeds change the ratio as \
                 much ({least} to {most})"
            )
        }
        (Refuted::Corner, _, Some(Corner { ratio: Some(there), .. })) => {
            format!(
                "the difference held in {n} of {n} samples, but not on the least favourable disk (ratio {})",
                ratio(*there)
            )
        }
        _ => format!(
            "the difference held in {n} of {n} samples; other workload seeds, other CPU costs and the least \
             favourable disk were not tried"
        ),
    })
}

/// The same in a few words, for a sentence in brackets.
pub fn refuted_briefly(finding: &Finding) -> Option<&'static str> {
    let Evidence::Samples { refuted: Some(refuted), .. } = &finding.evidence else { return None };
    Some(match refuted {
        Refuted::Chaos => "other workload seeds change the ratio as much",
        Refuted::Cost => "the difference depends on the assumed CPU cost",
        Refuted::ModelError => {
            "allowing for the disk model's error, the difference may lie within the margin"
        }
        Refuted::Corner => "the difference fails on the least favourable disk",
        Refuted::Untried => "other seeds, CPU costs and the least favourable disk were not tried",
    })
}

/// How far the model error may shift a ratio.
fn off(error: &ModelError) -> String {
    let (there, times) = (ratio(error.ratio), ratio(error.times));
    format!(
        "may lie within the margin if the disk model's error is allowed for (a factor of {times}; the ratio on the \
         unvaried disk is {there})"
    )
}

/// The sentence about the largest part of the model's error, of the pair that it moves most; `None` if it prevents no finding.
pub fn said_of_model_error(findings: &[Finding]) -> Option<String> {
    let prevents = |finding: &&Finding| {
        matches!(finding.evidence, Evidence::Samples { refuted: Some(Refuted::ModelError), .. })
    };
    let all = findings.iter().filter(prevents).filter_map(|finding| Some((finding, model_error(finding)?)));
    let (Finding { a, b, .. }, error) =
        all.max_by(|(_, one), (_, other)| one.times.total_cmp(&other.times))?;
    let part = error.parts.first()?;
    let [ours, theirs] = part.shares.map(|share| format!("{:.0}%", 100.0 * share));
    Some(format!(
        "Models of such disks were off by a factor of up to {worst} for {accesses}, which take {ours} of the time of {a} and \
         {theirs} of the time of {b}.",
        worst = ratio(part.worst[0].max(part.worst[1])),
        accesses = part.access.title()
    ))
}

/// The sentence about pairs whose result depends on the instruction cost; `None` if there are no such pairs.
pub fn said_of_cost(findings: &[Finding]) -> Option<String> {
    let brief = |finding: &Finding| {
        let Finding { a, b, scenario, .. } = finding;
        paid(finding).map(|Costs { low, high, .. }| {
            format!("{a} ÷ {b} in {scenario} ({low} to {high})", low = ratio(*low), high = ratio(*high))
        })
    };
    let mut named: Vec<String> = findings.iter().filter(|f| depends_on_cost(f)).filter_map(brief).collect();
    let n = named.len();
    if n > NAMED {
        named.truncate(NAMED);
        named.push(format!("{} more", n - NAMED));
    }
    let depend = if n == 1 { "depends" } else { "depend" };
    (n > 0).then(|| {
        let (comparisons, pairs) = (count(n, "comparison"), list(&named));
        format!(
            "{comparisons} {depend} on the assumed CPU cost (instructions that only one of two candidates \
                executes may cost 0.77 to 1.3 times as much, or 0.4 to 2.5 times in a filesystem in user space): {pairs}."
        )
    })
}

/// The sentence about the widest spread over the seeds of each candidate in these findings; `None` if no other seed was tried.
pub fn said(findings: &[Finding]) -> Option<String> {
    let mut widest: Vec<(&str, f64)> = Vec::new();
    for finding in findings {
        let Some(chaos) = chaos(finding) else { continue };
        for (label, spread) in [(&finding.a, chaos.spreads[0]), (&finding.b, chaos.spreads[1])] {
            match widest.iter_mut().find(|(known, _)| known == label) {
                Some((_, most)) => *most = most.max(spread),
                None => widest.push((label, spread)),
            }
        }
    }
    let each: Vec<String> = widest.iter().map(|(label, most)| format!("{label} {}", ratio(*most))).collect();
    (!each.is_empty()).then(|| {
        format!(
            "Six workload seeds on one disk change the figures by up to these factors: {factors}. A difference \
             between two candidates is no finding if it is smaller than their factors.",
            factors = each.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::analysis::corners::{self, Cornered};
    use crate::report::examples::{Example, model};
    use crate::schema::finding::Found;
    use crate::schema::job::Purpose;
    use crate::schema::metric::Of;
    use crate::schema::record::Record;

    /// The finding on cedarfs and birchfs, after this change to all records.
    fn pair(change: impl Fn(&mut Vec<Record>)) -> Finding {
        let mut example = model::samples(13);
        change(&mut example.run.records);
        let findings = example.report().summary.verdict.findings.clone();
        let of =
            findings.iter().find_map(|f| Some(f.from_the_side_of("cedarfs")?).filter(|f| f.b == "birchfs"));
        of.expect("the two are compared")
    }

    fn times(record: &mut Record, times: f64) {
        record.metrics.iter_mut().filter(|metric| metric.headline).for_each(|metric| metric.value *= times);
    }

    fn is_corner(record: &Record) -> bool {
        matches!(record.purpose, Purpose::Corner(_))
    }

    fn refutes(finding: &Finding) -> Option<Refuted> {
        let Evidence::Samples { refuted, .. } = &finding.evidence else { panic!("no samples") };
        *refuted
    }

    #[test]
    fn what_held_everywhere_is_found_with_the_corner_that_was_foretold() {
        let pair = pair(|_| {});
        assert_eq!((pair.finding, refutes(&pair)), (Found::Better, None));
        let corner = worst(&pair).expect("a corner was tried");
        let [expected, measured] = [Some(corner.expected), corner.ratio].map(|ratio| ratio.expect("a ratio"));
        // The example's ratios depend on one factor, and slightly on another.
        assert!(
            (measured - 2.0 / 1.315).abs() < 1e-9 && (expected / measured - 1.0).abs() < 0.02,
            "{corner:?}"
        );
        assert_eq!(spreads(&pair), "1.00, 1.01");
    }

    #[test]
    fn what_does_not_hold_in_its_worst_corner_is_not_found() {
        let worse = |record: &mut Record| times(record, 0.5);
        let pair = pair(|records| {
            records.iter_mut().filter(|r| is_corner(r) && r.filesystem == "cedarfs").for_each(worse);
        });
        assert_eq!((pair.finding, refutes(&pair)), (Found::CannotTell, Some(Refuted::Corner)));
        let why = refuted(&pair).expect("it is said");
        assert_eq!(
            why,
            "the difference held in 13 of 13 samples, but not on the least favourable disk (ratio 0.76)"
        );
    }

    /// Makes this candidate compute much: at a higher instruction cost its rate falls to a fifth.
    fn computes(records: &mut [Record], label: &str) {
        let dear = |record: &&mut Record| record.purpose == Purpose::Dear && record.filesystem == label;
        records.iter_mut().filter(dear).for_each(|record| times(record, 0.2));
    }

    #[test]
    fn what_depends_on_the_cost_of_an_instruction_is_not_found() {
        let fair = pair(|_| {});
        assert_eq!((costs(&fair).as_str(), said_of_cost(&[fair])), ("1.43 – 1.64", None));
        let pair = pair(|records| computes(records, "cedarfs"));
        assert_eq!((pair.finding, refutes(&pair)), (Found::CannotTell, Some(Refuted::Cost)));
        assert_eq!(
            refuted(&pair).unwrap_or_default(),
            "the difference held in 13 of 13 samples, but depends on the assumed CPU cost (ratio 0.91 to 2.59)"
        );
        assert_eq!(
            said_of_cost(&[pair]).unwrap_or_default(),
            "1 comparison depends on the assumed CPU cost (instructions that only one of two candidates executes may cost \
             0.77 to 1.3 times as much, or 0.4 to 2.5 times in a filesystem in user space): cedarfs ÷ birchfs in letters-quick (0.91 to 2.59)."
        );
    }

    /// If both candidates execute the same code, its instructions cannot be cheaper for one of them.
    #[test]
    fn two_of_one_kind_pay_alike_for_what_both_compute() {
        let all_cpu = |records: &mut Vec<Record>| {
            for record in records.iter_mut() {
                let factor = match record.purpose {
                    Purpose::Dear => 0.9 + 0.1 * 1.3,
                    Purpose::Cheap => 0.9 + 0.1 / 1.3,
                    _ => continue,
                };
                let cost = if record.purpose == Purpose::Dear { 1.0 / 1.3 } else { 1.3 };
                times(record, factor * cost);
            }
        };
        let unlike = pair(all_cpu);
        assert_eq!(refutes(&unlike), Some(Refuted::Cost));
        let pair = pair(|records| {
            all_cpu(records);
            records.iter_mut().for_each(|record| record.kind = "cedarfs".into());
        });
        assert_eq!((pair.finding, refutes(&pair)), (Found::Better, None));
        let shared = paid(&pair).expect("costs were tried");
        assert!(
            shared.one_kind && shared.shared[0] > 0.98 && shared.low > 1.35 && shared.high < 1.75,
            "{shared:?}"
        );
    }

    #[test]
    fn a_pair_that_depends_on_the_cost_of_an_instruction_waits_for_no_corner() {
        let mut example = model::samples(13);
        let of = |due: &BTreeSet<Cornered>| due.iter().filter(|corner| corner.candidate == "birchfs").count();
        let before = of(&corners::of(&example.run));
        computes(&mut example.run.records, "cedarfs");
        assert_eq!((before, of(&corners::of(&example.run))), (2, 1), "another pair of it has its corner");
    }

    #[test]
    fn what_was_not_tried_in_its_corner_with_other_seeds_or_at_other_costs_is_not_found() {
        let no_corner = pair(|records| records.retain(|record| !is_corner(record)));
        assert_eq!((no_corner.finding, refutes(&no_corner)), (Found::CannotTell, Some(Refuted::Untried)));
        assert!(corner(&no_corner).starts_with("not tried, expected 1.5"), "{}", corner(&no_corner));
        for lacks in [Purpose::Reseeded(3), Purpose::Dear, Purpose::Cheap] {
            let untried = pair(|records| records.retain(|record| record.purpose != lacks));
            assert_eq!((untried.finding, refutes(&untried)), (Found::CannotTell, Some(Refuted::Untried)));
        }
    }

    #[test]
    fn what_seeds_move_by_its_own_size_is_not_found_and_what_they_do_to_all_alike_does_not_count() {
        let pair = pair(|records| {
            let one = |record: &&mut Record| {
                record.purpose == Purpose::Reseeded(2)
                    && ["cedarfs", "birchfs"].contains(&&*record.filesystem)
            };
            // The seed shifts both candidates alike, so their ratio is the same with every seed.
            records.iter_mut().filter(one).for_each(|record| times(record, 1.7));
        });
        assert_eq!((pair.finding, refutes(&pair)), (Found::Better, None));
        let pair = self::pair(|records| {
            let one = |r: &&mut Record| r.purpose == Purpose::Reseeded(2) && r.filesystem == "cedarfs";
            records.iter_mut().filter(one).for_each(|record| times(record, 2.6));
        });
        assert_eq!((pair.finding, refutes(&pair)), (Found::CannotTell, Some(Refuted::Chaos)));
        let why = refuted(&pair).unwrap_or_default();
        assert!(why.ends_with("change the ratio as much (1.52 to 3.98)"), "{why}");
    }

    /// Half of each second was idle; this share of it waits for queued requests.
    fn waits(records: &mut [Record], shares: [f64; 2]) {
        for record in records {
            let share = shares[usize::from(record.filesystem != "cedarfs")];
            let kinds = ["reads", "queued", "streams", "flushes", "copying"];
            let held = kinds.map(|kind| if kind == "queued" { (share * 2e9) as u64 } else { 0 });
            let held = kinds.map(|kind| format!("waited_{kind}_ns")).into_iter().zip(held);
            let stage = &mut record.stages[0];
            stage.probes.or_default("disk").extend(held);
            stage.probes.or_default("cpu").insert("machine_idle_ns".into(), 1_900_000_000);
        }
    }

    /// cedarfs is 1.54 times as fast as birchfs on the nominal disk; queued requests of hard disks are off by a factor of 2.77 at
    /// worst.
    #[test]
    fn what_the_error_of_the_model_may_move_as_far_is_not_found_and_what_is_larger_is() {
        let small = pair(|records| waits(records, [0.5, 0.2]));
        assert_eq!((small.finding, refutes(&small)), (Found::Better, None));
        let error = model_error(&small).expect("the waits were counted");
        assert!((error.times - 2.772_f64.powf(0.3)).abs() < 1e-9 && error.parts.len() == 1, "{error:?}");
        let large = pair(|records| waits(records, [0.1, 0.6]));
        assert_eq!((large.finding, refutes(&large)), (Found::CannotTell, Some(Refuted::ModelError)));
        assert_eq!(
            refuted(&large).unwrap_or_default(),
            "the difference held in 13 of 13 samples, but may lie within the margin if the disk model's error is allowed for \
             (a factor of 1.66; the ratio on the unvaried disk is 1.54)"
        );
        assert_eq!(
            said_of_model_error(&[large]).unwrap_or_default(),
            "Models of such disks were off by a factor of up to 2.77 for queued requests, which take 10% of the time of \
             cedarfs and 60% of the time of birchfs."
        );
        let older = pair(|_| {});
        assert_eq!((older.finding, model_error(&older)), (Found::Better, None), "it did not count them");
    }

    #[test]
    fn a_count_is_moved_by_no_error_of_the_model() {
        let count = pair(|records| {
            waits(records, [0.1, 0.6]);
            let all = records.iter_mut().flat_map(|record| &mut record.metrics);
            all.filter(|metric| metric.headline).for_each(|metric| metric.of = Of::Count);
        });
        assert_eq!((count.finding, model_error(&count)), (Found::Better, None));
    }

    #[test]
    fn who_are_alike_by_other_accesses_are_equivalent_on_the_model_only() {
        let alike = |shares: [f64; 2]| {
            let mut example = model::samples(13);
            let all = &mut example.run.records;
            all.retain(|record| ["cedarfs", "alderfs"].contains(&&*record.filesystem));
            let headlines = all.iter_mut().flat_map(|record| &mut record.metrics).filter(|m| m.headline);
            headlines.for_each(|metric| metric.value = 100.0);
            waits(all, shares);
            example.report().summary.verdict.findings[0].clone()
        };
        assert_eq!(refutes(&alike([0.3, 0.3])), Some(Refuted::Untried), "but for its corner it holds");
        assert_eq!(refutes(&alike([0.3, 0.6])), Some(Refuted::ModelError));
    }

    #[test]
    fn only_pairs_that_agree_wait_for_a_corner_and_shared_ones_are_tried_once() {
        let Example { run, .. } = &model::samples(13);
        let due = corners::of(run);
        let of = |label: &str| due.iter().filter(|corner| corner.candidate == label).count();
        // cedarfs, rowanfs and alderfs differ in every sample, birchfs from the first two.
        assert!(["cedarfs", "rowanfs"].iter().all(|label| (1..=3).contains(&of(label))), "{due:?}");
        let tried: Vec<&Record> = run.records.iter().filter(|record| is_corner(record)).collect();
        assert_eq!(tried.len(), due.len());
        let mut later = model::samples(25);
        later.run.records.retain(|record| !is_corner(record));
        let again: Vec<Cornered> = corners::of(&later.run).into_iter().collect();
        assert_eq!(again, due.into_iter().collect::<Vec<_>>(), "later rounds change nothing");
    }
}
