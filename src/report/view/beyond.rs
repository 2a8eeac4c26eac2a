//! What was tried beyond the samples of a modelled disk, in words: other seeds of the work, and the worst corner.

use super::number::ratio;
use crate::schema::finding::{Chaos, Corner, Evidence, Finding, Refuted};

fn chaos(finding: &Finding) -> Option<&Chaos> {
    let Evidence::Samples { chaos, .. } = &finding.evidence else { return None };
    chaos.as_ref()
}

fn worst(finding: &Finding) -> Option<&Corner> {
    let Evidence::Samples { corner, .. } = &finding.evidence else { return None };
    corner.as_ref()
}

/// How many times its least figure the most of each is over six seeds, beside the others, `1.02, 1.05`.
pub fn spreads(finding: &Finding) -> String {
    chaos(finding).map_or_else(|| "–".to_owned(), |chaos| chaos.spreads.map(ratio).join(", "))
}

/// `0.98, expected 1.01`
pub fn corner(finding: &Finding) -> String {
    let said = |corner: &Corner| {
        let measured = corner.ratio.map_or_else(|| "not tried".to_owned(), ratio);
        format!("{measured}, expected {}", ratio(corner.expected))
    };
    worst(finding).map_or_else(|| "–".to_owned(), said)
}

/// Why what holds in all samples is no finding.
pub fn refuted(finding: &Finding) -> Option<String> {
    let Evidence::Samples { refuted: Some(refuted), .. } = &finding.evidence else { return None };
    let n = finding.n;
    Some(match (refuted, chaos(finding), worst(finding)) {
        (Refuted::Chaos, Some(chaos), _) => {
            let (least, most) = fsderby_stats::range(&chaos.ratios).unwrap_or((1.0, 1.0));
            let (least, most) = (ratio(least), ratio(most));
            format!(
                "held in {n} of {n} samples, and other seeds of the work move it as far ({least} to {most})"
            )
        }
        (Refuted::Corner, _, Some(Corner { ratio: Some(there), .. })) => {
            format!("held in {n} of {n} samples, and not in the worst corner ({})", ratio(*there))
        }
        _ => format!("held in {n} of {n} samples; other seeds or the worst corner have not been tried"),
    })
}

/// The widest spread over the seeds of each candidate in these findings; nothing where none was tried.
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
            "What six seeds of the work on one disk do to each beside the others, the most by the least: {}; no difference that moves by its own size is called.",
            each.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::corners::{self, Cornered};
    use crate::report::examples::{Example, model};
    use crate::schema::finding::Found;
    use crate::schema::job::Purpose;
    use crate::schema::record::Record;

    /// What is said of cedarfs beside birchfs, after this was done to all records.
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
        // The made-up ratios are of one factor, but for a little of another.
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
        assert_eq!(why, "held in 13 of 13 samples, and not in the worst corner (0.76)");
    }

    #[test]
    fn what_was_not_tried_in_its_corner_or_with_other_seeds_is_not_found() {
        let no_corner = pair(|records| records.retain(|record| !is_corner(record)));
        assert_eq!((no_corner.finding, refutes(&no_corner)), (Found::CannotTell, Some(Refuted::Untried)));
        assert!(corner(&no_corner).starts_with("not tried, expected 1.5"), "{}", corner(&no_corner));
        let no_seed = pair(|records| records.retain(|record| record.purpose != Purpose::Reseeded(3)));
        assert_eq!((no_seed.finding, refutes(&no_seed)), (Found::CannotTell, Some(Refuted::Untried)));
    }

    #[test]
    fn what_seeds_move_by_its_own_size_is_not_found_and_what_they_do_to_all_alike_does_not_count() {
        let pair = pair(|records| {
            let one = |record: &&mut Record| {
                record.purpose == Purpose::Reseeded(2)
                    && ["cedarfs", "birchfs"].contains(&&*record.filesystem)
            };
            // Both alike: their ratio is the same with every seed.
            records.iter_mut().filter(one).for_each(|record| times(record, 1.7));
        });
        assert_eq!((pair.finding, refutes(&pair)), (Found::Better, None));
        let pair = self::pair(|records| {
            let one = |r: &&mut Record| r.purpose == Purpose::Reseeded(2) && r.filesystem == "cedarfs";
            records.iter_mut().filter(one).for_each(|record| times(record, 2.6));
        });
        assert_eq!((pair.finding, refutes(&pair)), (Found::CannotTell, Some(Refuted::Chaos)));
        let why = refuted(&pair).unwrap_or_default();
        assert!(why.ends_with("move it as far (1.52 to 3.98)"), "{why}");
    }

    #[test]
    fn only_pairs_that_agree_wait_for_a_corner_and_shared_ones_are_tried_once() {
        let Example { run, .. } = &model::samples(13);
        let due = corners::of(run);
        let of = |label: &str| due.iter().filter(|corner| corner.candidate == label).count();
        // cedarfs, rowanfs and alderfs differ in every sample; birchfs from the first two.
        assert!(["cedarfs", "rowanfs"].iter().all(|label| (1..=3).contains(&of(label))), "{due:?}");
        let tried: Vec<&Record> = run.records.iter().filter(|record| is_corner(record)).collect();
        assert_eq!(tried.len(), due.len());
        let mut later = model::samples(25);
        later.run.records.retain(|record| !is_corner(record));
        let again: Vec<Cornered> = corners::of(&later.run).into_iter().collect();
        assert_eq!(again, due.into_iter().collect::<Vec<_>>(), "later rounds change nothing");
    }
}
