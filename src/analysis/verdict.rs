//! The verdict of a run: all findings, ranks, CPU time, and the recommendation by the plan's needs. Pure, from the records and,
//! for needs, from the properties that kinds declare.

use super::dataset::{Dataset, Work};
use super::ensemble::{self, SAMPLES_NEEDED};
use super::recommended::{self, Known};
use super::{cpu, metrics, order, rounds};
use crate::filesystems;
use crate::schema::finding::{self, Basis, Interim, Verdict};
use crate::schema::needs::Aspect;
use crate::store::Run;

/// The verdict of the run's last analysis; if there was no analysis, the figures so far.
///
/// On testbeds whose figures scatter, each interim analysis spends some of the allowed error. Showing a report of a run spends
/// none of it: only the runner analyses, at the run's end or at a planned point, and the seal records each analysis.
pub fn of(run: &Run, dataset: &Dataset<'_>) -> Verdict {
    let looks = run.seal.as_ref().map(|seal| seal.looks.as_slice()).unwrap_or_default();
    let verdict = over_samples(run, dataset).unwrap_or_else(|| over_rounds(run, dataset, looks));
    whole(run, dataset, verdict)
}

/// The verdict of a run so far, with a new analysis if enough complete rounds have come since the last one.
pub fn given(run: &Run, dataset: &Dataset<'_>) -> Verdict {
    let shown = run.seal.as_ref().map(|seal| seal.looks.as_slice()).unwrap_or_default();
    let verdict = over_samples(run, dataset).unwrap_or_else(|| {
        let looks: Vec<_> = shown.iter().copied().chain(rounds::next(&run.plan, dataset, shown)).collect();
        over_rounds(run, dataset, &looks)
    });
    whole(run, dataset, verdict)
}

fn whole(run: &Run, dataset: &Dataset<'_>, verdict: Verdict) -> Verdict {
    let known = Known { kind: filesystems::find, metrics: metrics::declared_of };
    let aspect_of = recommended::aspects(run, known);
    let is_cpu = |metric: &str| aspect_of(metric) == Some(Aspect::Cpu);
    let cpu = cpu::findings(&run.plan, dataset, &verdict, &is_cpu);
    let verdict = Verdict { cpu, ..verdict };
    Verdict { recommendation: recommended::of(run, dataset, &verdict, known), ..verdict }
}

fn over_rounds(run: &Run, dataset: &Dataset<'_>, looks: &[Interim]) -> Verdict {
    Verdict { records: run.records.len(), ..rounds::verdict(&run.plan, dataset, looks) }
}

/// The verdict on modelled disks, where figures do not scatter and so there is no error to spend.
fn over_samples(run: &Run, dataset: &Dataset<'_>) -> Option<Verdict> {
    let fewest = dataset.workloads.iter().map(Work::complete_rounds).min().unwrap_or(0);
    let complete = ensemble::fewest_samples(run)?.min(fewest) as u32;
    let findings = ensemble::findings(&dataset.workloads, run.plan.margin);
    Some(Verdict {
        schema: finding::SCHEMA,
        records: run.records.len(),
        basis: Basis::Samples { complete, needed: SAMPLES_NEEDED as u32 },
        margin: run.plan.margin,
        ranks: order::of(&findings),
        findings,
        overall: Vec::new(),
        guard: None,
        cpu: Vec::new(),
        recommendation: None,
    })
}
