//! Which candidates need more CPU time than others, by the rules that headline metrics are judged by: no other order by CPU time is
//! stated.
//!
//! On testbeds whose figures scatter these pairs are a family of their own, at a fifth of the error that the headlines have. On a modelled
//! disk a pair holds in all samples, with all seeds, at every cost of an instruction, and where the main effects expect it to be worst.

use super::dataset::{Dataset, Series};
use super::{ensemble, rounds};
use crate::schema::finding::{Basis, Finding, Look, Verdict};
use crate::schema::metric::Better;
use crate::schema::plan::Plan;

/// Beside the findings of this verdict those on CPU time: *better* is less. `is_cpu` says of a metric's name whether it is what a work takes.
pub fn findings(
    plan: &Plan,
    dataset: &Dataset<'_>,
    verdict: &Verdict,
    is_cpu: &dyn Fn(&str) -> bool,
) -> Vec<Finding> {
    let is_asked = |series: &Series| {
        series.better != Better::Neither && !series.once && !series.headline && is_cpu(&series.name)
    };
    match &verdict.basis {
        Basis::Samples { .. } => ensemble::findings_on(&dataset.workloads, verdict.margin, &is_asked),
        basis @ Basis::Rounds { .. } => match basis.looks().last() {
            Some(look) => {
                let look = Look { alpha: look.alpha / SHARE, ..*look };
                rounds::findings_on(plan, dataset, look, &is_asked)
            }
            None => Vec::new(),
        },
    }
}

/// The headlines' error ÷ that of this family: 1 % beside 5 %.
const SHARE: f64 = 5.0;
