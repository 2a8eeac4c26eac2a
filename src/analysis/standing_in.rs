//! Counts that replace the workload's headline metrics in a verdict where times do not count, as on an emulated CPU.

use super::metrics;
use crate::schema::declared::{self, Declared};
use crate::schema::metric::Of;
use crate::schema::record::Record;
use crate::schema::setup::ClockKind;
use crate::schema::units::MIB;

/// A counter whose medians are all smaller is not compared: two flushes against three are not worth another test in the verdict.
const FEWEST_COUNTED: f64 = 100.0;
const FEWEST_BYTES: f64 = MIB as f64;

/// The metrics that replace headline metrics.
pub struct StandingIn {
    declared: Vec<&'static Declared>,
    is_modelled: bool,
}

impl StandingIn {
    /// The metrics for these trials; `None` if the times of any trial count.
    pub fn of(counted: &[&Record]) -> Option<Self> {
        let is_timeless = !counted.is_empty() && counted.iter().all(|record| !record.fidelity.times_count());
        is_timeless.then(|| StandingIn {
            declared: metrics::standing_in(),
            is_modelled: counted.iter().any(|record| record.clock == ClockKind::Virtual),
        })
    }

    /// Whether this metric stands in, given each candidate's median and all values.
    pub fn takes(
        &self,
        (metric, of): (&str, Of),
        mut medians: impl Iterator<Item = f64>,
        mut values: impl Iterator<Item = f64>,
    ) -> bool {
        let fewest = if of == Of::Bytes { FEWEST_BYTES } else { FEWEST_COUNTED };
        let is_declared = declared::find(&self.declared, metric).is_some();
        // On a modelled disk each pair needs a ratio in each sample, so every value must be positive.
        is_declared
            && medians.any(|median| median >= fewest)
            && (!self.is_modelled || values.all(|v| v > 0.0))
    }
}
