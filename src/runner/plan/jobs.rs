//! Turns a plan into jobs for an agent. Pure: `--dry-run` prints them.

use std::time::Duration;

use super::resolved::Resolved;
use super::scenarios::{Laid, LaidStage, LaidWork};
use super::steps::steps;
use crate::exit::Failure;
use crate::filesystems::{self, BESIDE, Filesystem};
use crate::schema::job::{Cost, Job, LIMIT, PROTOCOL, Purpose, Step, StepName, WorkJob};
use crate::schema::plan::{Candidate, Trial};
use crate::schema::setup::{ClockKind, ImageState};
use crate::schema::units::{Bytes, MIB};
use crate::storage::layers::{self, Layer};
use crate::testbeds::{Need, StorageRequest, Testbed};

/// Extra time limit per mebibyte for steps over the whole volume: any working disk exceeds 10 MiB/s.
const LIMIT_A_MEBIBYTE: Duration = Duration::from_millis(100);
/// Time limit of a step in virtual time. Waiting costs little there: a disk that seeks all the time lets some 150 s pass in a
/// second, so this limit is reached after about five minutes.
const VIRTUAL_LIMIT: Duration = Duration::from_secs(12 * 3600);
const ALIVE_EVERY_MS: u64 = 1000;

/// The inputs to a candidate's storage in a round; round 0 is the integrity checks'.
pub fn storage_request(plan: &Resolved<'_>, candidate: &Candidate, round: u32) -> StorageRequest {
    let setup = plan.setup(candidate);
    let (image, size, seed) = (setup.image, setup.size, plan.plan_seed);
    StorageRequest {
        image,
        size,
        round,
        seed,
        source: false,
        server_work: 1,
        preconditioned: plan.of_candidate(candidate).state.preconditions(),
        corner: None,
        reseeded: 0,
        cost: Cost::Usual,
    }
}

/// The inputs to a trial's storage: those of its candidate and round, and the purpose of the trial.
fn storage_request_of(plan: &Resolved<'_>, trial: &Trial<'_>) -> StorageRequest {
    let (mut corner, mut reseeded) = (None, 0);
    match trial.purpose {
        Purpose::Corner(point) => corner = Some(point),
        Purpose::Reseeded(n) => reseeded = n,
        _ => {}
    }
    let (server_work, cost) = (trial.purpose.server_work(), trial.purpose.cost());
    StorageRequest {
        server_work,
        corner,
        reseeded,
        cost,
        ..storage_request(plan, trial.candidate, trial.round)
    }
}

/// The testbed's requirements from the candidates' common values.
pub fn need(plan: &Resolved<'_>) -> Need {
    let (power_cut, cold, source) = (plan.cuts_power(), plan.empties_caches(), plan.copies_from_beside());
    let (size, memory, cpus) = (plan.size, plan.memory, plan.cpus);
    let (content, preconditioned) = (plan.common_state().content(size), plan.common_state().preconditions());
    Need { size, content, memory, cpus, cold, power_cut, source, preconditioned }
}

/// The testbed's requirements for this candidate.
pub fn need_of(plan: &Resolved<'_>, candidate: &Candidate) -> Need {
    let (setup, state) = (plan.setup(candidate), &plan.of_candidate(candidate).state);
    let (size, memory, cpus) = (setup.size, setup.memory, setup.cpus);
    let (content, preconditioned) = (state.content(size), state.preconditions());
    Need { size, content, memory, cpus, preconditioned, ..need(plan) }
}

/// The job of a trial. `token` names objects that the agent creates on the host.
pub fn job(plan: &Resolved<'_>, trial: &Trial<'_>, attempt: u32, testbed: &dyn Testbed, token: &str) -> Job {
    let traits = testbed.traits();
    let kind = filesystems::find(&trial.candidate.kind).filter(|_| traits.fidelity.makes_filesystem());
    let setup = plan.setup(trial.candidate);
    let laid = plan.laid_of(trial);
    let source = laid.works.iter().any(LaidWork::copies_from_beside);
    let request = StorageRequest { source, ..storage_request_of(plan, trial) };
    let (storage, volume) = testbed.storage(&request);
    let steps = steps(kind, plan, trial, laid);
    let layers = &plan.of_candidate(trial.candidate).layers;
    // In virtual time nothing is sent between steps, so that only the trial takes time.
    let is_virtual = traits.clock == ClockKind::Virtual;
    Job {
        protocol: PROTOCOL,
        token: token.to_owned(),
        trial: trial.name(),
        attempt,
        purpose: trial.purpose,
        guest: traits.guest,
        modules: modules(kind.filter(|_| traits.guest), source, layers),
        programs: layers
            .iter()
            .flat_map(|layer| layer.kind().tools())
            .map(|name| (*name).to_owned())
            .collect(),
        privileges: kind.filter(|_| !traits.guest).map(|k| k.privileges()).unwrap_or_default(),
        limits_seconds: steps
            .iter()
            .map(|step| match step {
                // One disk after another.
                Step::Reset if request.preconditioned => {
                    limit(step, Bytes(volume.size.0.saturating_mul(testbed.disks() as u64)), is_virtual)
                }
                _ => limit(step, volume.size, is_virtual),
            })
            .collect(),
        steps,
        storage,
        volume,
        layers: layers.iter().map(|layer| layer.named()).collect(),
        memory: setup.memory,
        cpus: setup.cpus,
        works: works(plan, trial),
        alive_every_ms: (!is_virtual).then_some(ALIVE_EVERY_MS),
        life: 0,
        pauses: false,
    }
}

/// A job that only makes and mounts the trial's filesystem, on an image that is not written before.
pub fn only_mount(plan: &Resolved<'_>, trial: &Trial<'_>, testbed: &dyn Testbed, token: &str) -> Job {
    let mut job = job(plan, trial, 1, testbed, token);
    let (storage, _) =
        testbed.storage(&StorageRequest { image: ImageState::Sparse, ..storage_request_of(plan, trial) });
    let mounts = job.steps.iter().position(|step| step.name() == StepName::Mount);
    debug_assert!(mounts.is_some(), "every job mounts its filesystem");
    job.steps.truncate(mounts.map_or(0, |at| at + 1));
    job.steps.push(Step::Unmount);
    let (name, seconds) = limit(&Step::Unmount, job.volume.size, false);
    job.limits_seconds.insert(name, seconds);
    Job { trial: format!("check/{}", trial.candidate.label), storage, works: Vec::new(), ..job }
}

/// The steps of a trial, for a new or an existing filesystem.
pub fn steps_of(plan: &Resolved<'_>, trial: &Trial<'_>, makes_filesystem: bool) -> Vec<Step> {
    let kind = filesystems::find(&trial.candidate.kind).filter(|_| makes_filesystem);
    steps(kind, plan, trial, plan.laid_of(trial))
}

/// The works of the trial's stages, in order.
pub fn works(plan: &Resolved<'_>, trial: &Trial<'_>) -> Vec<WorkJob> {
    let laid: &Laid<'_> = plan.laid_of(trial);
    let stages = match trial.purpose {
        Purpose::Integrity => laid.kept(),
        _ => laid.stages.clone(),
    };
    let work = |stage: LaidStage| {
        let LaidStage::Work { of, portion } = stage else { return None };
        Some(WorkJob {
            of,
            work: laid.works[of].planned.work.canonical(),
            seed: plan.seed_of(trial),
            folder: (laid.works.len() > 1).then(|| (of + 1).to_string()),
            portion,
            clients: laid.works[of].clients,
        })
    };
    stages.into_iter().filter_map(work).collect()
}

/// The time limit of a step, in seconds.
fn limit(step: &Step, size: Bytes, is_virtual: bool) -> (StepName, u64) {
    let mebibytes = u32::try_from(size.0 / MIB).unwrap_or(u32::MAX);
    let limit = match step {
        _ if is_virtual => VIRTUAL_LIMIT,
        Step::Work { .. } | Step::Space { .. } | Step::ProbesOn { .. } | Step::ProbesOff { .. } => LIMIT,
        _ => LIMIT + LIMIT_A_MEBIBYTE * mebibytes,
    };
    (step.name(), limit.as_secs())
}

/// The kernel modules that a guest must load, including those of layers, which exist only in guests.
fn modules(kind: Option<&dyn Filesystem>, source: bool, layers: &[Box<dyn Layer>]) -> Vec<String> {
    let own = kind.map(|k| k.kernel().modules).unwrap_or_default();
    let below = layers.iter().flat_map(|layer| layer.modules());
    let mut all: Vec<String> = own.iter().copied().chain(below).map(str::to_owned).collect();
    let beside = kind.filter(|_| source).map(|_| BESIDE.kernel().modules).unwrap_or_default();
    for module in beside {
        if !all.iter().any(|known| known == module) {
            all.push((*module).to_owned());
        }
    }
    all
}

/// The size of the device given to mkfs: one disk, or the layers' device.
///
/// # Errors
/// If the layers do not form a single device.
pub fn device(plan: &Resolved<'_>, candidate: &Candidate, testbed: &dyn Testbed) -> Result<Bytes, String> {
    layers::top(&plan.of_candidate(candidate).layers, &vec![plan.setup(candidate).size; testbed.disks()])
}

/// Whether the testbed has enough disks for the layers and supports them.
///
/// # Errors
/// Names the unsupported layer, and what to try.
pub fn carried(plan: &Resolved<'_>, candidate: &Candidate, testbed: &dyn Testbed) -> Result<(), Failure> {
    let of_candidate = plan.of_candidate(candidate);
    let layers = &of_candidate.layers;
    let built = testbed.builds(layers, of_candidate.state.preconditions());
    if !layers.is_empty() && built.is_none() {
        let text = format!(
            "layers need a guest, and {testbed} has none\n  try: --on vm or model:DISK, or claimed disks",
            testbed = testbed.name()
        );
        return Err(Failure::usage(text));
    }
    device(plan, candidate, testbed).map_err(Failure::usage)?;
    built.unwrap_or(Ok(())).map_err(|missing| Failure::missing(missing.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_over_a_whole_volume_may_take_longer_on_a_large_one() {
        let seconds = |step: &Step, size: u64| limit(step, Bytes(size), false).1;
        let terabyte = 1 << 40;
        assert_eq!(seconds(&Step::Sync { work: 0 }, MIB), 3600);
        assert!(seconds(&Step::Sync { work: 0 }, terabyte) > 24 * 3600, "104857 s at 10 MiB/s");
        assert_eq!(seconds(&Step::Work { work: 0 }, terabyte), 3600);
        assert_eq!(limit(&Step::Sync { work: 0 }, Bytes(terabyte), true).1, 12 * 3600);
    }
}
