//! The verdict of a run: all its findings, and what they make together. Pure, from the records alone.

use super::dataset::{Dataset, Work};
use super::ensemble::{self, AGREEMENT, SAMPLES_NEEDED};
use crate::schema::finding::{self, Basis, Finding, Verdict};
use crate::store::Run;

pub fn of(run: &Run, dataset: &Dataset<'_>) -> Verdict {
    let fewest = || dataset.workloads.iter().map(Work::complete_rounds).min().unwrap_or(0);
    let samples = ensemble::fewest_samples(run).map(|samples| samples.min(fewest()));
    match samples {
        Some(complete) => over_samples(run, dataset, complete),
        None => over_rounds(run, fewest()),
    }
}

fn over_samples(run: &Run, dataset: &Dataset<'_>, complete: usize) -> Verdict {
    let (complete, needed) = (complete as u32, SAMPLES_NEEDED as u32);
    let findings: Vec<Finding> =
        dataset.workloads.iter().flat_map(|work| ensemble::findings(work, run.plan.margin)).collect();
    Verdict {
        schema: finding::SCHEMA,
        basis: Basis::Samples { complete, needed, agreement: AGREEMENT },
        margin: run.plan.margin,
        findings,
        ranks: Vec::new(),
        overall: Vec::new(),
        guard: None,
    }
}

fn over_rounds(run: &Run, complete: usize) -> Verdict {
    Verdict {
        schema: finding::SCHEMA,
        basis: Basis::Rounds { complete: complete as u32, needed: 10, alpha: 0.05, earlier: Vec::new() },
        margin: run.plan.margin,
        findings: Vec::new(),
        ranks: Vec::new(),
        overall: Vec::new(),
        guard: None,
    }
}
