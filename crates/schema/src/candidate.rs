//! A candidate: a filesystem under its label, and the parts of its setup that differ from the plan.

use serde::{Deserialize, Serialize};

use crate::setup::{ImageState, Variant};
use crate::units::Bytes;

/// A row of the table: a kind with its options, under a label, in a setup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    pub label: String,
    pub kind: String,
    /// Setup values in which this candidate differs from the plan's common values.
    #[serde(flatten)]
    pub own: Factors,
    #[serde(default, skip_serializing_if = "is_default")]
    pub variant: Variant,
    /// The era whose options come before the candidate's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
}

/// Factors in which candidates may differ besides the filesystem; an absent one takes the plan's value. To add a factor, add a
/// field here, its common value in the plan and in [`Setup`], and a line in `Plan::setup`, `Plan::settle` and
/// [`Factors::said`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(default)]
pub struct Factors {
    /// Testbed and storage with their settings, as in the plan: `model:hdd-16tb`, `vm:kernel=6.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Layers between disks and filesystem, from the disks up; an empty list means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<Vec<String>>,
    /// State of the filesystem before the work: `filled 80%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl Factors {
    /// Each stated factor as written: `on`, `vm:kernel=6.1`.
    pub fn said(&self) -> Vec<(&'static str, String)> {
        let on = self.on.clone().map(|on| ("on", on));
        let memory = self.memory.map(|memory| ("memory", memory.written()));
        let cpus = self.cpus.map(|cpus| ("cpus", cpus.to_string()));
        let layers = self.layers.as_ref().map(|layers| ("layers", said(layers)));
        let state = self.state.clone().map(|state| ("state", state));
        [on, memory, cpus, layers, state].into_iter().flatten().collect()
    }
}

/// Layers from the top down, joined by "on".
pub fn said(layers: &[String]) -> String {
    match layers {
        [] => "none".to_owned(),
        layers => layers.iter().rev().map(String::as_str).collect::<Vec<_>>().join(" on "),
    }
}

/// Setup of a candidate's trials: the plan's common values, overridden by its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup<'p> {
    pub testbed: &'p str,
    pub size: Bytes,
    pub memory: Option<Bytes>,
    pub cpus: Option<u32>,
    pub image: ImageState,
    pub layers: &'p [String],
    /// Initial state; `None` stands for `fresh`.
    pub state: Option<&'p str>,
}

impl Setup<'_> {
    pub fn name(&self) -> String {
        setup_name(self.testbed, self.cpus)
    }
}

/// Name of a setup in `machine.json` and in records: its testbed as written, and its number of CPUs if given.
pub fn setup_name(testbed: &str, cpus: Option<u32>) -> String {
    match cpus {
        None => testbed.to_owned(),
        Some(cpus) => format!("{testbed} cpus={cpus}"),
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
