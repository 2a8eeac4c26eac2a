//! One measured quantity with its description.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, Serializer};

use crate::shared::Shared;

/// A value computed from raw records by a pure, versioned function. It is stored, and recomputed by `fsderby verify`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Stored<'static>")]
pub struct Metric {
    pub value: f64,
    pub quantity: Shared<Quantity>,
}

/// What a value measures: the same in all trials of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Dotted, from general to specific: `transactions.rate`, `mkfs.time`.
    pub name: String,
    /// Distinguishes values of the same name: `phase`, `file_bytes`, `record_bytes`.
    pub dimensions: BTreeMap<String, String>,
    /// The unit that follows the value in print: `1/s`, `MiB/s`, `s`, `bytes`, `%`.
    pub unit: String,
    pub of: Of,
    pub better: Better,
    /// Whether the value is a headline metric: a figure of the workload that a verdict may use (one or two per workload).
    pub headline: bool,
}

/// A value computed from raw records by a pure, versioned function. It is stored, and recomputed by `fsderby verify`.
#[derive(Serialize, JsonSchema, Deserialize)]
struct Stored<'m> {
    /// Dotted, from general to specific: `transactions.rate`, `mkfs.time`.
    name: Cow<'m, str>,
    #[serde(default, skip_serializing_if = "no_dimensions")]
    dimensions: Cow<'m, BTreeMap<String, String>>,
    value: f64,
    unit: Cow<'m, str>,
    of: Of,
    better: Better,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    headline: bool,
}

fn no_dimensions(dimensions: &BTreeMap<String, String>) -> bool {
    dimensions.is_empty()
}

impl From<Stored<'_>> for Metric {
    fn from(stored: Stored<'_>) -> Self {
        let Stored { name, dimensions, value, unit, of, better, headline } = stored;
        let (name, unit, dimensions) = (name.into_owned(), unit.into_owned(), dimensions.into_owned());
        Metric { value, quantity: Quantity { name, dimensions, unit, of, better, headline }.into() }
    }
}

impl JsonSchema for Metric {
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Stored::json_schema(generator)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Quantity { name, dimensions, unit, of, better, headline } = &*self.quantity;
        let stored = Stored {
            name: name.into(),
            dimensions: Cow::Borrowed(dimensions),
            value: self.value,
            unit: unit.into(),
            of: *of,
            better: *better,
            headline: *headline,
        };
        stored.serialize(to)
    }
}

impl Deref for Metric {
    type Target = Quantity;

    fn deref(&self) -> &Quantity {
        &self.quantity
    }
}

impl DerefMut for Metric {
    fn deref_mut(&mut self) -> &mut Quantity {
        &mut self.quantity
    }
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
        let dimensions = BTreeMap::new();
        Metric { value, quantity: Quantity { name, dimensions, unit, of, better, headline: false }.into() }
    }

    #[must_use]
    pub fn headline(mut self) -> Self {
        self.quantity.headline = true;
        self
    }
}
