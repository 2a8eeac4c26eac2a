//! From a plan to the jobs that an agent carries out. Pure: `--dry-run` prints what comes out of here.

use std::time::Duration;

use crate::filesystems::{self, Filesystem};
use crate::schema::job::{At, Job, PROTOCOL, Purpose, Step, StepName, Until};
use crate::schema::plan::{Plan, PlannedWork, Trial};
use crate::schema::setup::ClockKind;
use crate::schema::units::{Bytes, MIB};
use crate::testbeds::{Moment, Need, Testbed};
use crate::workloads;

/// A step that takes longer than this has failed.
const LIMIT: Duration = Duration::from_secs(3600);
/// What writes or reads all of a volume may take this for each mebibyte of it beside: a disk that does one in a second is broken.
const LIMIT_A_MEBIBYTE: Duration = Duration::from_millis(100);
/// In virtual time waiting costs nothing.
const VIRTUAL_LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);
const ALIVE_EVERY_MS: u64 = 1000;

/// What the storage of a round may depend on; 0 is that of the integrity checks.
pub fn moment(plan: &Plan, round: u32) -> Moment {
    Moment { image: plan.image, size: plan.size, round, seed: plan.plan_seed }
}

/// What the testbed must have for it.
pub fn need(plan: &Plan) -> Need {
    Need { size: plan.size, memory: plan.memory, cold: plan.cold }
}

/// The job of a trial. `token` names what the agent makes on the host.
pub fn job(plan: &Plan, trial: &Trial<'_>, attempt: u32, testbed: &dyn Testbed, token: &str) -> Job {
    let traits = testbed.traits();
    let kind = filesystems::find(&trial.candidate.kind).filter(|_| traits.makes_filesystem);
    let (storage, volume) = testbed.storage(&moment(plan, trial.round));
    let steps = match cut_after(plan, trial.work) {
        Ok(Some(operations)) if trial.purpose == Purpose::Measure => {
            steps_of_a_cut(kind, trial, plan.cold, operations)
        }
        _ => steps(kind, trial, plan.cold),
    };
    // In virtual time nothing is said between the steps, so that nothing but the trial takes time.
    let is_virtual = traits.clock == ClockKind::Virtual;
    Job {
        protocol: PROTOCOL,
        token: token.to_owned(),
        trial: trial.name(),
        attempt,
        purpose: trial.purpose,
        guest: traits.guest,
        modules: modules(kind.filter(|_| traits.guest)),
        limits_seconds: steps.iter().map(|step| limit(step, volume.size, is_virtual)).collect(),
        steps,
        storage,
        volume,
        memory: plan.memory,
        work: trial.work.work.canonical(),
        workload_seed: plan.workload_seed(trial.round),
        alive_every_ms: (!is_virtual).then_some(ALIVE_EVERY_MS),
    }
}

/// After how many operations of this work the power is cut; `None` where it is not.
///
/// # Errors
/// Where the work cannot be cut then.
pub fn cut_after(plan: &Plan, work: &PlannedWork) -> Result<Option<u64>, String> {
    let Some(cut) = plan.power_cut else { return Ok(None) };
    let engine = workloads::engine(&work.work.engine).ok_or("this fsderby has no such workload")?;
    cut.after(engine.parse(&work.work.parameters)?.operations()).map(Some)
}

/// How long a step may take, in seconds.
fn limit(step: &Step, size: Bytes, is_virtual: bool) -> (StepName, u64) {
    let mebibytes = u32::try_from(size.0 / MIB).unwrap_or(u32::MAX);
    let limit = match step {
        _ if is_virtual => VIRTUAL_LIMIT,
        Step::Work { .. } | Step::Space { .. } | Step::ProbesOn | Step::ProbesOff => LIMIT,
        _ => LIMIT + LIMIT_A_MEBIBYTE * mebibytes,
    };
    (step.name(), limit.as_secs())
}

/// Only a guest must be told what to load.
fn modules(kind: Option<&dyn Filesystem>) -> Vec<String> {
    kind.map(|k| k.kernel().modules).unwrap_or_default().iter().map(|name| (*name).to_owned()).collect()
}

/// The order of a trial whose power is cut: the same until the work, then what an administrator would do with that disk.
fn steps_of_a_cut(
    kind: Option<&dyn Filesystem>,
    trial: &Trial<'_>,
    cold: bool,
    operations: u64,
) -> Vec<Step> {
    let mut steps = steps(kind, trial, cold);
    let work = steps.iter().position(|step| matches!(step, Step::Work { .. })).unwrap_or(steps.len());
    steps.truncate(work);
    steps.extend([Step::Work { until: Until::Operation(operations) }, Step::PowerCut, Step::Restart]);
    let repair = kind.into_iter().flat_map(|k| k.recover().repair);
    steps.extend(repair.map(|check| Step::Repair { check }));
    steps.extend(kind.map(|k| Step::MountAgain { mount: k.mount(&trial.candidate.variant) }));
    steps.extend([Step::FirstFile, Step::Survivors { operations }, Step::Unmount]);
    steps.extend(kind.and_then(|k| k.check()).map(|check| Step::Check { check, at: At::Recovered }));
    steps
}

/// How far the work goes each time, with a cold start before each but the first.
fn parts(work: &PlannedWork) -> Vec<Until> {
    let parsed = workloads::engine(&work.work.engine).and_then(|e| e.parse(&work.work.parameters).ok());
    match parsed.map_or(1, |work| work.parts()) {
        0 | 1 => vec![Until::End],
        parts => (0..parts).map(Until::Part).collect(),
    }
}

/// The order of a trial. A folder that is taken as it is has no filesystem to make, mount or check.
fn steps(kind: Option<&dyn Filesystem>, trial: &Trial<'_>, cold: bool) -> Vec<Step> {
    let variant = &trial.candidate.variant;
    let is_integrity = trial.purpose == Purpose::Integrity;
    let mount = kind.map(|k| Step::Mount { mount: k.mount(variant) });
    let check = |at| kind.and_then(|k| k.check()).map(|check| Step::Check { check, at });
    let unmount = || kind.map(|_| Step::Unmount);
    let mut steps = vec![Step::Reset];
    steps.extend(kind.into_iter().flat_map(|k| k.make(variant)).map(|argv| Step::Make { argv }));
    steps.extend(mount.clone());
    steps.extend([Step::Space { at: At::Fresh }, Step::Settle { cold }]);
    for (part, until) in
        if is_integrity { vec![Until::Live] } else { parts(trial.work) }.into_iter().enumerate()
    {
        steps.extend((part > 0).then(|| Step::Cool { mount: kind.map(|k| k.mount(variant)) }));
        steps.extend([Step::ProbesOn, Step::Work { until }, Step::Sync, Step::ProbesOff]);
    }
    if is_integrity {
        steps.push(Step::Verify { at: At::Filled });
        if kind.is_some() {
            steps.extend(unmount());
            steps.extend(check(At::Filled));
            steps.extend(mount);
            steps.push(Step::Verify { at: At::Remounted });
        }
    }
    steps.extend([Step::Empty, Step::Space { at: At::Emptied }]);
    steps.extend(unmount());
    steps.extend(check(At::Emptied));
    steps.extend(kind.into_iter().flat_map(|k| k.revert(variant)).map(|argv| Step::Revert { argv }));
    steps
}
