//! Everything that is checked before a run, in one place: `--dry-run` and the run itself ask the same function, so that a dry run
//! accepts nothing that the run refuses.

use std::collections::HashSet;
use std::path::Path;

use super::report::known_baseline;
use super::setups::distinct;
use crate::analysis::condition::Condition;
use crate::exit::Failure;
use crate::runner::experiment::judgeable;
use crate::runner::plan::jobs;
use crate::runner::plan::resolved::Resolved;
use crate::runner::preflight::skips::{Skip, skips};
use crate::runner::preflight::{at_once, machine};
use crate::schema::machine::Machine;
use crate::schema::setup::ClockKind;
use crate::store::{Folder, Run};
use crate::testbeds::{self, Testbeds};

/// The checks of a run.
pub struct Check<'a> {
    pub plan: &'a Resolved<'a>,
    pub testbeds: &'a Testbeds<'a>,
    pub baseline: Option<&'a str>,
    /// Whether candidates that the experiment itself makes impossible are skipped instead of refused.
    pub is_lenient: bool,
    pub place: Place<'a>,
}

/// Where the run's records go.
pub enum Place<'a> {
    New(&'a Path),
    /// The run continues.
    Resumed(&'a Run),
}

/// The result of the checks.
pub struct Checked {
    /// Candidates that cannot take part.
    pub skips: Vec<Skip>,
    /// This machine, or why the run cannot take place on it. A dry run prints its plan first and fails with this error then.
    pub machine: anyhow::Result<Machine>,
}

impl Check<'_> {
    /// # Errors
    /// If the experiment itself is impossible, so that there is no plan to print.
    pub fn all(&self) -> anyhow::Result<Checked> {
        let Check { plan, testbeds, baseline, is_lenient, .. } = *self;
        known_baseline(baseline, plan)?;
        let skips = skips(plan, testbeds);
        let mut seen = HashSet::new();
        let wrong = skips.iter().filter(|skip| skip.by_experiment).map(|skip| skip.reason.as_str());
        let wrong: Vec<&str> = wrong.filter(|reason| seen.insert(*reason)).collect();
        if !is_lenient && !wrong.is_empty() {
            return Err(Failure::usage(wrong.join("\n")).into());
        }
        let usable = usable(plan, testbeds);
        if skips.len() == plan.candidates.len() * plan.scenarios.len() {
            // A testbed that is not usable explains why no candidate can run.
            usable?;
            return Err(none_can_run(&skips).into());
        }
        Ok(Checked { machine: usable.and_then(|()| self.machine()), skips })
    }

    fn machine(&self) -> anyhow::Result<Machine> {
        match self.place {
            Place::New(folder) => {
                Folder::can_be_created(folder)?;
                machine::look(self.plan, self.testbeds)
            }
            Place::Resumed(before) => {
                machine::same_as_before(before, self.plan, self.testbeds).map(|()| before.machine.clone())
            }
        }
    }
}

fn none_can_run(skips: &[Skip]) -> Failure {
    let reasons: Vec<String> = skips.iter().map(|s| format!("{}: {}", s.filesystem, s.reason)).collect();
    Failure::missing(format!("no candidate can run on this machine\n{}", reasons.join("\n")))
}

/// Whether the run could ever decide the condition.
pub fn can_be_judged(
    conditions: &[Condition],
    plan: &Resolved<'_>,
    testbeds: &Testbeds<'_>,
) -> anyhow::Result<()> {
    let is_timeless = !testbeds.each().any(|testbed| testbed.traits().fidelity.times_count());
    let judgeable = judgeable::of(plan, is_timeless);
    conditions
        .iter()
        .try_for_each(|condition| Ok(condition.can_be_judged(&judgeable).map_err(Failure::usage)?))
}

/// Number of parallel trials: one if trials would disturb each other, else as many as CPUs and memory allow.
pub fn jobs(asked: Option<u32>, plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> anyhow::Result<usize> {
    let is_virtual = testbeds.are_all_virtual();
    match asked {
        Some(jobs) if jobs > 1 && !is_virtual => {
            let felt = testbeds.each().find(|testbed| testbed.traits().clock != ClockKind::Virtual);
            let text = format!(
                "parallel trials with --on {testbed} would disturb each other\n  try: without --jobs, or --on model:DISK",
                testbed = felt.map_or_else(String::new, |testbed| testbed.name())
            );
            Err(Failure::usage(text).into())
        }
        Some(jobs) => Ok(jobs as usize),
        None if is_virtual => Ok(at_once::here(plan, testbeds)),
        None => Ok(1),
    }
}

/// A named filesystem must be one that mkfs can make here.
pub fn names_what_is_made(filesystems: &[String], testbeds: &Testbeds<'_>) -> anyhow::Result<()> {
    let Some(testbed) = testbeds.each().find(|testbed| !testbed.traits().fidelity.makes_filesystem()) else {
        return Ok(());
    };
    if filesystems.is_empty() {
        return Ok(());
    }
    let text = format!(
        "--filesystems has no effect with --on {testbed}, which uses a mounted filesystem\n  try: without --filesystems, or --on loop",
        testbed = testbed.name()
    );
    Err(Failure::usage(text).into())
}

/// Whether these testbeds can be used here, with the current user's rights.
fn usable(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> anyhow::Result<()> {
    for testbed in testbeds.each().filter(|testbed| !testbed.traits().loses_power) {
        if plan.cuts_power() {
            let name = testbed.name();
            let text = format!(
                "--on {name} cannot cut the power\n  try: --on vm or model:DISK, or without --power-cut"
            );
            return Err(Failure::usage(text).into());
        }
    }
    let setups = plan.setups();
    for (candidate, _) in &setups {
        // Where all have one setup, it is no candidate's own fault.
        let is_own = setups.len() > 1;
        let of_candidate = |e: Failure| if is_own { e.of(&candidate.label) } else { e };
        let testbed = testbeds.of(plan, candidate);
        jobs::carried(plan, candidate, testbed).map_err(of_candidate)?;
        let missing = testbeds::usable(testbed, &jobs::need_of(plan, candidate));
        missing.map_err(|missing| of_candidate(missing.into()))?;
    }
    distinct(plan, testbeds)?;
    let on_host = testbeds.each().any(|testbed| testbed.traits().clock == ClockKind::Host);
    if plan.empties_caches() && on_host && !rustix::process::geteuid().is_root() {
        return Err(Failure::missing(
            "cold caches need root\n  try: sudo, or a run without --cold and without the stage drop-caches",
        )
        .into());
    }
    Ok(())
}
