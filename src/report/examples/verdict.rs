//! A hand-made verdict over rounds for [`super::example`]: differences of more than a tenth are told apart, the first two
//! candidates are equivalent, the others are open.

use super::{CANDIDATES, WORKS};
use crate::schema::finding::*;
use crate::schema::units::Percent;

const ALPHA: f64 = 0.05;
/// The candidates of the second workload.
const IN_MEMORY: [usize; 6] = [0, 1, 2, 4, 5, 6];

/// The verdict after this many rounds; findings need ten.
pub fn over_rounds(rounds: u32) -> Verdict {
    let all: Vec<usize> = (0..CANDIDATES.len()).collect();
    let both = [all.as_slice(), IN_MEMORY.as_slice()];
    let findings = WORKS.iter().zip(both).flat_map(|(scenario, who)| pairs(scenario, who, rounds)).collect();
    Verdict {
        schema: SCHEMA,
        records: 0,
        basis: Basis::Rounds { complete: rounds, needed: 10, alpha: ALPHA, earlier: Vec::new() },
        margin: Percent(3.0),
        findings,
        ranks: Vec::new(),
        overall: Vec::new(),
        guard: None,
        cpu: Vec::new(),
        recommendation: None,
    }
}

/// The verdict on the first workload only.
pub fn of_one_workload(rounds: u32) -> Verdict {
    let mut verdict = over_rounds(rounds);
    verdict.findings.retain(|finding| finding.scenario == WORKS[0]);
    verdict
}

fn pairs(scenario: &str, who: &[usize], rounds: u32) -> Vec<Finding> {
    let pair = |(a, b): (usize, usize)| pair(scenario, a, b, rounds);
    let after = |at: usize| who[at + 1..].iter().map(move |b| (who[at], *b));
    (0..who.len()).flat_map(after).map(pair).collect()
}

fn pair(scenario: &str, a: usize, b: usize, rounds: u32) -> Finding {
    let ratio = CANDIDATES[a].2 / CANDIDATES[b].2;
    let is_final = rounds >= 10;
    let finding = match ratio {
        _ if !is_final => Found::CannotTell,
        _ if (a, b) == (0, 1) => Found::Equivalent,
        ratio if ratio > 1.12 => Found::Better,
        ratio if ratio < 0.89 => Found::Worse,
        _ => Found::CannotTell,
    };
    let ends = if finding == Found::Equivalent { [0.93, 1.07] } else { [0.9, 1.11] };
    let [low, high] = ends.map(|end| is_final.then_some(ratio * end));
    let p = Some(if finding == Found::CannotTell { 0.31 } else { 0.0012 });
    let evidence = Evidence::Rounds {
        p: p.filter(|_| is_final),
        smallest: is_final.then_some(1.09),
        rounds_to_equivalent: Some(64).filter(|_| is_final),
    };
    Finding {
        finding,
        scenario: scenario.to_owned(),
        metric: "transactions.rate".to_owned(),
        dimensions: String::new(),
        a: CANDIDATES[a].0.to_owned(),
        b: CANDIDATES[b].0.to_owned(),
        ratio,
        low,
        high,
        n: rounds,
        evidence,
    }
}
