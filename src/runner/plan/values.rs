//! Resolves the texts of an experiment and its plan. Only experiments, which have no plan yet, and the resolver use this; all
//! other code receives the values.

use std::sync::Arc;

use crate::exit::Failure;
use crate::schema::plan::PlannedWork;
use crate::stages::{self, StageKind};
use crate::states::{self, State};
use crate::storage::layers::{self, Layer};
use crate::testbeds::Place;
use crate::workloads::{self, Work, Workload};

/// The testbed. Its argument is not inspected: it may name a file.
///
/// # Errors
/// If the text names no testbed; `auto` is one only after it was chosen.
pub fn place(text: &str) -> Result<Place<'_>, String> {
    Place::parse(text)
}

/// The testbed of this text, which may still be `auto`.
///
/// # Errors
/// If the text names no testbed.
pub fn asked(text: &str) -> Result<Place<'_>, String> {
    Place::asked(text)
}

/// Layers between disks and filesystem, from the disks up.
///
/// # Errors
/// Names the layer and what to write.
pub fn layers(texts: &[String]) -> Result<Vec<Box<dyn Layer>>, String> {
    layers::parse(texts)
}

/// The state of the filesystem before the work; `None` stands for `fresh`.
///
/// # Errors
/// If there is no such state, or it is incomplete.
pub fn state(text: Option<&str>) -> Result<State, String> {
    states::parse(text.unwrap_or(states::FRESH))
}

/// # Errors
/// If there is no such workload, or its parameters are not understood.
pub fn work(planned: &PlannedWork) -> Result<(&'static dyn Workload, Arc<dyn Work>), Failure> {
    let fault = |e: String| Failure::usage(format!("workload {}: {e}", planned.label));
    let engine = workloads::engine(&planned.work.engine);
    let engine = engine.ok_or_else(|| fault("this fsderby has no such workload".into()))?;
    Ok((engine, engine.parse(&planned.work.parameters).map_err(fault)?.into()))
}

/// # Errors
/// Names the nearest one.
pub fn stage(name: &str) -> Result<&'static dyn StageKind, String> {
    stages::find(name)
}
