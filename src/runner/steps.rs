//! The steps of a trial, in their order.

use crate::filesystems::Filesystem;
use crate::schema::job::{At, Purpose, Step, Until};
use crate::schema::plan::{PlannedWork, Trial};
use crate::workloads;

/// All steps of a trial. A directory that is taken as it is has no filesystem to make, mount or check. `cut_after`: the power goes after so
/// many operations of the work.
pub fn steps(
    kind: Option<&dyn Filesystem>,
    trial: &Trial<'_>,
    cold: bool,
    cut_after: Option<u64>,
) -> Vec<Step> {
    let steps = whole(kind, trial, cold);
    match cut_after {
        None => steps,
        Some(operations) => up_to_a_cut(kind, trial, steps, operations),
    }
}

fn whole(kind: Option<&dyn Filesystem>, trial: &Trial<'_>, cold: bool) -> Vec<Step> {
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

/// The order of a trial whose power is cut: the same until the work, then what an administrator would do with that disk.
fn up_to_a_cut(
    kind: Option<&dyn Filesystem>,
    trial: &Trial<'_>,
    mut steps: Vec<Step>,
    operations: u64,
) -> Vec<Step> {
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
