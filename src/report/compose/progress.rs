//! How far a run is from a verdict.

use crate::analysis::ensemble::{self, SAMPLES_NEEDED};
use crate::report::view::number::count;
use crate::report::view::workload::WorkloadSummary;
use crate::schema::finding::Verdict;
use crate::schema::record::Record;
use crate::store::Run;

/// With fewer complete rounds a result without findings (an emulated CPU, a single candidate) is preliminary.
const ROUNDS_NEEDED: usize = 5;

#[derive(Clone, Copy)]
pub struct Progress {
    /// Rounds, or samples of a modelled disk.
    pub complete: usize,
    pub needed: usize,
    pub is_modelled: bool,
    /// Whether further rounds would bring no new sample.
    pub is_fixed: bool,
}

impl Progress {
    pub fn of(run: &Run, workloads: &[WorkloadSummary], verdict: &Verdict) -> Self {
        let samples = ensemble::fewest_samples(run);
        let rounds = workloads.iter().map(|w| w.rounds).min().unwrap_or(0);
        // An analysis never covers more rounds than are complete.
        let judged = if verdict.findings.is_empty() { rounds } else { verdict.basis.complete() as usize };
        let needed = match samples {
            Some(_) => SAMPLES_NEEDED,
            None if verdict.findings.is_empty() => ROUNDS_NEEDED,
            None => verdict.basis.needed() as usize,
        };
        Progress {
            complete: rounds.min(samples.unwrap_or(rounds)).min(judged),
            needed,
            is_modelled: samples.is_some(),
            is_fixed: run.records.iter().find_map(Record::sampled).is_some_and(|sampled| !sampled.ensemble)
                || samples == Some(1) && rounds > 1,
        }
    }

    /// Whether it has fewer rounds or samples than a verdict needs, so that nothing may be recommended.
    pub fn is_unfinished(&self) -> bool {
        self.complete < self.needed
    }

    /// `2 of 6 rounds`
    pub fn said(&self) -> String {
        let Progress { complete, needed, is_modelled, .. } = self;
        let of = if *is_modelled { "samples of the disk model" } else { "rounds" };
        format!("{complete} of {needed} {of}")
    }

    /// The heading of a run without enough rounds: `No verdict yet (2 of 6 rounds)`. `is_compared`: a single candidate never gets
    /// a verdict.
    pub fn title(&self, is_compared: bool, is_model_only: bool) -> String {
        let what = match is_compared {
            true if self.is_fixed => "No verdict",
            true => "No verdict yet",
            false => "Preliminary result",
        };
        let only = if is_model_only { ", on the model only" } else { "" };
        match self.is_unfinished() {
            true => format!("{what}{only} ({})", self.said()),
            false => format!("{what}{only}"),
        }
    }

    /// Why there is no verdict yet. `is_compared`: see [`Progress::title`]; `has_needs`: the plan asks for a recommendation.
    pub fn lacks(&self, is_compared: bool, has_needs: bool) -> String {
        if self.is_fixed {
            return format!(
                "Sampling is off (samples=off): every round has the same disk. A verdict takes {SAMPLES_NEEDED} \
                 samples (variants of the modelled disk), so more rounds on one disk give no verdict."
            );
        }
        let to = match (is_compared, has_needs) {
            (false, _) => "for medians and ranges",
            (true, false) => "to tell filesystems apart",
            (true, true) => "to tell filesystems apart or to recommend one",
        };
        let what = if is_compared { "a verdict" } else { "this" };
        let (have, needed) = match self.is_modelled {
            true => (
                count(self.complete, "sample"),
                format!("{} samples (variants of the modelled disk, a new one in each round)", self.needed),
            ),
            false => (count(self.complete, "round"), format!("{} rounds", self.needed)),
        };
        let are = if self.complete == 1 { "is" } else { "are" };
        format!("{have} {are} too few {to}: {what} takes {needed}.")
    }
}
