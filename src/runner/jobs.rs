//! From a plan to the jobs that an agent carries out. Pure: `--dry-run` prints what comes out of here.

use std::time::Duration;

use super::steps::steps;
use crate::filesystems::{self, Filesystem};
use crate::schema::job::{Job, LIMIT, PROTOCOL, Purpose, Step, StepName};
use crate::schema::plan::{Candidate, Plan, PlannedWork, Trial};
use crate::schema::setup::ClockKind;
use crate::schema::units::{Bytes, MIB};
use crate::testbeds::{Moment, Need, Testbed};
use crate::workloads;

/// What writes or reads all of a volume may take this for each mebibyte of it beside: no disk in order does less than ten in a second.
const LIMIT_A_MEBIBYTE: Duration = Duration::from_millis(100);
/// In virtual time waiting costs nothing.
const VIRTUAL_LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);
const ALIVE_EVERY_MS: u64 = 1000;

/// What a candidate's storage in a round may depend on; 0 is that of the integrity checks.
pub fn moment(plan: &Plan, candidate: &Candidate, round: u32) -> Moment {
    let setup = plan.setup(candidate);
    Moment { image: setup.image, size: setup.size, round, seed: plan.plan_seed }
}

/// What the testbed must have for what its candidates have in common.
pub fn need(plan: &Plan) -> Need {
    Need { size: plan.size, memory: plan.memory, cpus: plan.cpus, cold: plan.cold }
}

/// What the testbed of this candidate must have for it.
pub fn need_of(plan: &Plan, candidate: &Candidate) -> Need {
    let setup = plan.setup(candidate);
    Need { size: setup.size, memory: setup.memory, cpus: setup.cpus, cold: plan.cold }
}

/// The job of a trial. `token` names what the agent makes on the host.
pub fn job(plan: &Plan, trial: &Trial<'_>, attempt: u32, testbed: &dyn Testbed, token: &str) -> Job {
    let traits = testbed.traits();
    let kind = filesystems::find(&trial.candidate.kind).filter(|_| traits.makes_filesystem);
    let (storage, volume) = testbed.storage(&moment(plan, trial.candidate, trial.round));
    let setup = plan.setup(trial.candidate);
    let steps = steps_of(plan, trial, traits.makes_filesystem);
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
        privileges: kind.filter(|_| !traits.guest).map(|k| k.privileges()).unwrap_or_default(),
        limits_seconds: steps.iter().map(|step| limit(step, volume.size, is_virtual)).collect(),
        steps,
        storage,
        volume,
        memory: setup.memory,
        cpus: setup.cpus,
        work: trial.work.work.canonical(),
        workload_seed: plan.workload_seed(trial.round),
        alive_every_ms: (!is_virtual).then_some(ALIVE_EVERY_MS),
    }
}

/// The steps of a trial, where a filesystem is made or one is taken as it is.
pub fn steps_of(plan: &Plan, trial: &Trial<'_>, makes_filesystem: bool) -> Vec<Step> {
    let kind = filesystems::find(&trial.candidate.kind).filter(|_| makes_filesystem);
    let cut_after = cut_after(plan, trial.work).ok().flatten().filter(|_| trial.purpose == Purpose::Measure);
    steps(kind, trial, plan.cold, cut_after)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_over_a_whole_volume_may_take_longer_on_a_large_one() {
        let seconds = |step: &Step, size: u64| limit(step, Bytes(size), false).1;
        let terabyte = 1 << 40;
        assert_eq!(seconds(&Step::Sync, MIB), 3600);
        assert!(seconds(&Step::Sync, terabyte) > 24 * 3600, "104857 s at 10 MiB/s");
        assert_eq!(seconds(&Step::Work { until: crate::schema::job::Until::End }, terabyte), 3600);
        assert_eq!(limit(&Step::Sync, Bytes(terabyte), true).1, 7 * 24 * 3600);
    }
}
