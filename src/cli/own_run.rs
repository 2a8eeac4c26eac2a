//! A run that a command such as `fsderby disk twin` makes internally: one trial after another, without a report.

use std::path::Path;

use anyhow::ensure;

use super::progress::Progress;
use super::signals;
use crate::exit::Failure;
use crate::runner::execute::rounds::Runner;
use crate::runner::experiment::Experiment;
use crate::runner::plan::jobs;
use crate::runner::plan::resolved::Resolved;
use crate::runner::preflight::machine;
use crate::runner::preflight::skips::skips;
use crate::schema::record::Record;
use crate::store::Folder;
use crate::testbeds::{self, Made};

/// Runs this experiment on this testbed and returns all its records; the run stays in the folder.
///
/// # Errors
/// If the testbed or a tool is missing, or if the run is interrupted.
pub fn records(experiment: &Experiment, on: &str, folder: &Path) -> anyhow::Result<Vec<Record>> {
    let plan = experiment.plan(on.to_owned(), experiment.seed.unwrap_or_default())?;
    let plan = Resolved::of(&plan)?;
    let made = Made::of(&plan).map_err(Failure::usage)?;
    let testbeds = made.testbeds();
    for candidate in &plan.candidates {
        testbeds::usable(testbeds.of(&plan, candidate), &jobs::need_of(&plan, candidate))
            .map_err(|missing| Failure::missing(missing.to_string()))?;
    }
    let skips = skips(&plan, &testbeds);
    let looked = machine::look(&plan, &testbeds)?;
    let mut folder = Folder::create(folder, &plan, &looked)?;
    let before = folder.read()?;
    let stop = signals::stop()?;
    let runner = Runner {
        plan: &Resolved::of(&before.plan)?,
        testbeds: &testbeds,
        folder: &mut folder,
        skips: &skips,
        watch: &mut Progress::new(false, None),
        jobs: 1,
        stop: &stop,
    };
    let finish = runner.run(&before)?;
    ensure!(!finish.interrupted, "interrupted");
    Ok(folder.read()?.records)
}
