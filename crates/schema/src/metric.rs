//! One measured quantity with its description.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// A value computed from raw records by a pure, versioned function. It is stored, and recomputed by `fsderby verify`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, Deserialize)]
pub struct Metric {
    /// Dotted, from general to specific: `transactions.rate`, `mkfs.time`.
    pub name: String,
    /// Distinguishes values of the same name: `phase`, `file_bytes`, `record_bytes`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dimensions: BTreeMap<String, String>,
    pub value: f64,
    /// The unit that follows the value in print: `1/s`, `MiB/s`, `s`, `bytes`, `%`.
    pub unit: String,
    pub of: Of,
    pub better: Better,
    /// Whether the value is a headline metric: a figure of the workload that a verdict may use (one or two per workload).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headline: bool,
}

/// The dimension that names the work of a value, if a trial has several.
pub const WORK: &str = "work";

/// The work to which a figure belongs. Empty for the steps of the trial, and if a trial measures a single work. Figures of
/// different owners never share a table line.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Owner(String);

impl Owner {
    /// A work of a trial that measures several.
    pub fn work(name: &str) -> Self {
        Owner(name.to_owned())
    }

    pub fn of(metric: &Metric) -> Self {
        Owner(metric.dimensions.get(WORK).cloned().unwrap_or_default())
    }
}

impl Deref for Owner {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kind of quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    Time,
    Count,
    Bytes,
    Share,
    /// One time divided by another.
    ShareOfTime,
}

impl Of {
    /// Whether this kind of quantity is meaningless where times are meaningless, as on an emulated CPU.
    pub fn is_time(self) -> bool {
        matches!(self, Of::Time | Of::ShareOfTime)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
    Neither,
}

impl Metric {
    pub fn new(name: &str, value: f64, unit: &str, of: Of, better: Better) -> Self {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Metric { name, dimensions: BTreeMap::new(), value, unit, of, better, headline: false }
    }

    pub fn headline(self) -> Self {
        Metric { headline: true, ..self }
    }
}
