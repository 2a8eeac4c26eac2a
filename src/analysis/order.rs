//! Ranks candidates from the findings alone. A candidate never precedes one that was found better.
//!
//! ```text
//! best rank    1 + the number of candidates found better than this one
//! worst rank   number of all candidates − the number found worse than this one
//! place        the next place goes to the best estimate among the candidates than which no remaining one was found better
//! ```

use crate::schema::finding::{Finding, Found, Place, Ranks};

/// One order for each metric of each scenario, in the order of the findings.
pub fn of(findings: &[Finding]) -> Vec<Ranks> {
    let mut all: Vec<Ranks> = Vec::new();
    for one in findings {
        if all.iter().any(|known| one.is_of(&known.scenario, &known.metric, &known.dimensions)) {
            continue;
        }
        let (scenario, metric, dimensions) = (&one.scenario, &one.metric, &one.dimensions);
        let own: Vec<&Finding> =
            findings.iter().filter(|other| other.is_of(scenario, metric, dimensions)).collect();
        all.push(Ranks {
            scenario: scenario.clone(),
            metric: metric.clone(),
            dimensions: dimensions.clone(),
            places: places(&own),
        });
    }
    all
}

/// The places of all candidates in one metric of one scenario; `findings` are the findings on that metric.
fn places(findings: &[&Finding]) -> Vec<Place> {
    let mut remaining: Vec<&str> = Vec::new();
    for label in findings.iter().flat_map(|finding| [&finding.a, &finding.b]) {
        if !remaining.contains(&label.as_str()) {
            remaining.push(label);
        }
    }
    let n = remaining.len() as u32;
    let of = |label: &str, found: Found| {
        findings.iter().filter_map(|f| f.from_the_side_of(label)).filter(|f| f.finding == found).count()
            as u32
    };
    let mut order: Vec<&str> = Vec::new();
    while !remaining.is_empty() {
        let next = next(findings, &remaining);
        order.push(remaining.remove(next));
    }
    let place = |label: &str| Place {
        candidate: label.to_owned(),
        best: 1 + of(label, Found::Worse),
        worst: n - of(label, Found::Better),
        ratio: beside(findings, label, order[0]).unwrap_or_else(|| {
            (estimate(findings, label, &order) - estimate(findings, order[0], &order)).exp()
        }),
    };
    order.iter().map(|label| place(label)).collect()
}

/// Index of the next candidate. If findings form a cycle, the best estimate comes next.
fn next(findings: &[&Finding], remaining: &[&str]) -> usize {
    let is_behind = |label: &str| {
        let found = |other: &&str| from(findings, label, other).is_some_and(|f| f.finding == Found::Worse);
        remaining.iter().any(found)
    };
    let free: Vec<usize> = (0..remaining.len()).filter(|at| !is_behind(remaining[*at])).collect();
    let among = if free.is_empty() { (0..remaining.len()).collect() } else { free };
    let of = |at: &usize| estimate(findings, remaining[*at], remaining);
    // If estimates are equal, the candidate that comes first in the plan.
    among.into_iter().rev().max_by(|a, b| of(a).total_cmp(&of(b))).unwrap_or(0)
}

fn from(findings: &[&Finding], label: &str, other: &str) -> Option<Finding> {
    findings.iter().filter_map(|finding| finding.from_the_side_of(label)).find(|finding| finding.b == other)
}

/// The ratio of one candidate to another; 1 to itself.
fn beside(findings: &[&Finding], label: &str, other: &str) -> Option<f64> {
    if label == other { Some(1.0) } else { from(findings, label, other).map(|finding| finding.ratio) }
}

/// The mean log ratio to these candidates.
fn estimate(findings: &[&Finding], label: &str, others: &[&str]) -> f64 {
    let logs: Vec<f64> =
        others.iter().filter_map(|other| Some(beside(findings, label, other)?.ln())).collect();
    logs.iter().sum::<f64>() / logs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::finding::Evidence;

    fn finding(a: &str, b: &str, finding: Found, ratio: f64) -> Finding {
        Finding {
            finding,
            scenario: "mail".into(),
            metric: "rate".into(),
            dimensions: String::new(),
            a: a.into(),
            b: b.into(),
            ratio,
            low: None,
            high: None,
            n: 13,
            evidence: Evidence::Rounds { p: None, smallest: None, rounds_to_equivalent: None },
        }
    }

    fn told(findings: &[Finding]) -> Vec<(String, u32, u32)> {
        let [ranks] = of(findings).try_into().expect("one metric");
        ranks.places.into_iter().map(|place| (place.candidate, place.best, place.worst)).collect()
    }

    fn is(expected: [(&str, u32, u32); 3]) -> Vec<(String, u32, u32)> {
        expected.into_iter().map(|(label, best, worst)| (label.to_owned(), best, worst)).collect()
    }

    #[test]
    fn ranks_are_what_the_findings_leave_and_places_contradict_none() {
        // c has the better estimate although a was found better, for example on fewer samples.
        let findings = [
            finding("a", "b", Found::CannotTell, 1.2),
            finding("a", "c", Found::Better, 1.01),
            finding("b", "c", Found::CannotTell, 0.5),
        ];
        assert_eq!(told(&findings), is([("a", 1, 2), ("c", 2, 3), ("b", 1, 3)]));
        let [ranks] = of(&findings).try_into().expect("one metric");
        assert!((ranks.places[1].ratio - 1.0 / 1.01).abs() < 1e-12 && ranks.places[0].ratio == 1.0);
    }

    #[test]
    fn without_findings_all_ranks_are_open_and_the_estimate_orders() {
        let findings = [
            finding("a", "b", Found::CannotTell, 0.8),
            finding("a", "c", Found::CannotTell, 0.5),
            finding("b", "c", Found::CannotTell, 0.6),
        ];
        assert_eq!(told(&findings), is([("c", 1, 3), ("b", 1, 3), ("a", 1, 3)]));
        assert!(of(&[]).is_empty());
    }

    #[test]
    fn a_circle_of_findings_has_an_order_all_the_same() {
        let findings = [
            finding("a", "b", Found::Better, 1.1),
            finding("b", "c", Found::Better, 1.1),
            finding("a", "c", Found::Worse, 0.9),
        ];
        assert!(told(&findings).iter().all(|(_, best, worst)| (*best, *worst) == (2, 2)));
    }
}
