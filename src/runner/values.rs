//! What the texts of an experiment and its plan stand for. Only an experiment, which has no plan yet, and the resolver ask here:
//! everything else in the runner is given the values.

use std::sync::Arc;

use crate::exit::Failure;
use crate::schema::plan::PlannedWork;
use crate::stages::{self, StageKind};
use crate::states::{self, State};
use crate::storage::layers::{self, Layer};
use crate::testbeds::Place;
use crate::workloads::{self, Work, Workload};

/// Where trials happen. The argument is not looked at: it may name a file.
///
/// # Errors
/// When the text names no testbed; `auto` is one only where it has been chosen.
pub fn place(text: &str) -> Result<Place<'_>, String> {
    Place::parse(text)
}

/// The same, where it may still have to be chosen.
///
/// # Errors
/// When the text names no testbed.
pub fn asked(text: &str) -> Result<Place<'_>, String> {
    Place::asked(text)
}

/// What lies between the disks and the filesystem, from the disks up.
///
/// # Errors
/// Names the layer and what to write.
pub fn layers(texts: &[String]) -> Result<Vec<Box<dyn Layer>>, String> {
    layers::parse(texts)
}

/// What is on the filesystem before the work; `None` is fresh.
///
/// # Errors
/// When there is no such state, or it says too little.
pub fn state(text: Option<&str>) -> Result<State, String> {
    states::parse(text.unwrap_or(states::FRESH))
}

/// # Errors
/// When there is no such workload, or it does not understand its parameters.
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
