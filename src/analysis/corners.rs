//! The corners of the disk-model parameters (each at one extreme) at which a run must still try candidates before it has findings.

use std::collections::BTreeSet;

use fsderby_diskmodel::Point;

use super::dataset::Dataset;
use super::ensemble::{self, Asked, SAMPLES_NEEDED};
use super::robust::Corners;
use crate::schema::setup::Sampled;
use crate::store::Run;

/// A trial that a verdict needs: a scenario, a candidate, and a corner of the disk-model parameters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cornered {
    pub scenario: String,
    pub candidate: String,
    pub point: Point,
}

/// The corners still to be tried once all samples exist: one for each pair of candidates whose result is the same in all samples,
/// with and without disk-model overhead, with all seeds, and at every instruction cost. A corner shared by several pairs is tried
/// once. Later rounds do not change the corners.
pub fn of(run: &Run) -> BTreeSet<Cornered> {
    let dataset = Dataset::of(run);
    let mut due = BTreeSet::new();
    for work in &dataset.workloads {
        let asked = Asked {
            margin: run.plan.margin,
            is_asked: &ensemble::is_judged,
            corners: Corners::Tried,
            of_disk: true,
        };
        ensemble::each_pair(work, &asked, |pair, samples| {
            let first: Vec<(Sampled, f64)> = samples.iter().take(SAMPLES_NEEDED).cloned().collect();
            let Some(judged) = ensemble::judge(&first, run.plan.margin, &pair.excess) else {
                return;
            };
            let is_due = pair.awaits_its_corner(judged.found);
            if let Some((point, _)) = pair.worst(&first, judged.found).filter(|_| is_due) {
                let of = |label: &str| Cornered {
                    scenario: work.label.clone(),
                    candidate: label.to_owned(),
                    point,
                };
                due.extend([of(pair.a.label), of(pair.b.label)]);
            }
        });
    }
    due
}
