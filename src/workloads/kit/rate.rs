//! Rates: a work's counts ÷ the time of their phases.

use crate::schema::declared::{Declared, Over};
use crate::schema::metric::Metric;
use crate::schema::units::MIB;
use crate::workloads::Phase;

const NS_PER_SECOND: f64 = 1e9;

/// A declared rate and its count.
pub struct Rate {
    pub count: &'static str,
    pub declared: Declared,
}

impl Rate {
    /// The count per second of the declared phases; `None` if the work had none of them.
    pub fn per_second(&self, phases: &[Phase]) -> Option<f64> {
        let over = |p: &&Phase| match self.declared.over {
            Over::Phase(name) => p.name == name,
            _ => true,
        };
        let (counted, ns) = phases
            .iter()
            .filter(over)
            .map(|p| (p.count(self.count), p.ns))
            .reduce(|all, one| (all.0.saturating_add(one.0), all.1.saturating_add(one.1)))?;
        let of = if self.declared.unit == Declared::MIB_PER_SECOND.unit { MIB } else { 1 };
        (ns > 0).then(|| counted as f64 * NS_PER_SECOND / ns as f64 / of as f64)
    }

    pub fn metric(&self, phases: &[Phase]) -> Option<Metric> {
        Some(self.declared.metric(self.per_second(phases)?))
    }
}
