//! The steps of a trial, in their order.

use super::scenarios::{Laid, LaidStage, LaidWork};
use crate::filesystems::{BESIDE, Filesystem};
use crate::schema::job::{At, Purpose, Step};
use crate::schema::plan::{Plan, Trial};
use crate::schema::setup::Variant;
use crate::stages::Now;

/// All steps of a trial. An existing directory needs no mkfs, mount or check.
pub fn steps(kind: Option<&dyn Filesystem>, plan: &Plan, trial: &Trial<'_>, laid: &Laid<'_>) -> Vec<Step> {
    let own = Own { plan, kind, variant: &trial.candidate.variant };
    let mut steps = own.made();
    if trial.purpose == Purpose::Integrity {
        steps.extend(works(laid));
        steps.extend(own.read_back());
        steps.extend(own.emptied());
        return steps;
    }
    let (stages, ends_recovered) = own.stages(laid);
    steps.extend(stages);
    steps.extend(if ends_recovered { own.recovered() } else { own.emptied() });
    steps
}

/// The filesystem of a trial, and the plan's options.
struct Own<'a> {
    plan: &'a Plan,
    kind: Option<&'a dyn Filesystem>,
    variant: &'a Variant,
}

impl Own<'_> {
    fn made(&self) -> Vec<Step> {
        let make = self.kind.into_iter().flat_map(|kind| kind.make(self.variant));
        let mut steps = vec![Step::Reset];
        steps.extend(make.map(|argv| Step::Make { argv }));
        steps.extend(self.mount());
        steps.push(Step::Space { at: At::Fresh });
        self.settle(&mut steps);
        steps
    }

    /// Before work.
    fn settle(&self, steps: &mut Vec<Step>) {
        steps.push(Step::Settle { cold: self.plan.cold });
    }

    fn mount(&self) -> Option<Step> {
        self.kind.map(|kind| Step::Mount { mount: kind.mount(self.variant) })
    }

    fn unmount(&self) -> Option<Step> {
        self.kind.map(|_| Step::Unmount)
    }

    fn check(&self, at: At) -> Option<Step> {
        self.kind.and_then(|kind| kind.check()).map(|check| Step::Check { check, at })
    }

    /// The stages' steps, and whether the last one directly follows a power cut.
    fn stages(&self, laid: &Laid<'_>) -> (Vec<Step>, bool) {
        let mut now = Now {
            kind: self.kind,
            variant: self.variant,
            work: None,
            was_cut: false,
            was_mounted_again: false,
        };
        let mut steps = Vec::new();
        for (at, stage) in laid.stages.iter().enumerate() {
            if at > 0 && at == laid.before {
                steps.push(Step::Space { at: At::Prepared });
                self.settle(&mut steps);
            }
            match stage {
                LaidStage::Work { of, portion } => {
                    let work = now.work.map_or(0, |before| before + 1);
                    now = Now { work: Some(work), was_cut: false, was_mounted_again: false, ..now };
                    steps.extend(one_work(work, &laid.works[*of], portion.stop_after.is_some()));
                }
                LaidStage::Other { kind, argument } => {
                    let own = kind.steps(argument.as_deref(), &now);
                    now.was_cut |= own.contains(&Step::PowerCut);
                    now.was_mounted_again |= own.iter().any(is_mounted_again);
                    steps.extend(own);
                }
            }
        }
        (steps, now.was_cut)
    }

    fn read_back(&self) -> Vec<Step> {
        let mut steps = vec![Step::Verify { at: At::Filled }];
        if self.kind.is_some() {
            steps.extend(self.unmount());
            steps.extend(self.check(At::Filled));
            steps.extend(self.mount());
            steps.push(Step::Verify { at: At::Remounted });
        }
        steps
    }

    fn emptied(&self) -> Vec<Step> {
        let mut steps = vec![Step::Empty, Step::Space { at: At::Emptied }];
        steps.extend(self.unmount());
        steps.extend(self.check(At::Emptied));
        let revert = self.kind.into_iter().flat_map(|kind| kind.revert(self.variant));
        steps.extend(revert.map(|argv| Step::Revert { argv }));
        steps
    }

    /// The steps after a recovery: unmount and check. All files stay, so that the check sees the filesystem as the power cut left it.
    fn recovered(&self) -> Vec<Step> {
        self.unmount().into_iter().chain(self.check(At::Recovered)).collect()
    }
}

fn is_mounted_again(step: &Step) -> bool {
    matches!(step, Step::Cool { .. } | Step::ForcedCheck { .. })
}

fn works(laid: &Laid<'_>) -> impl Iterator<Item = Step> {
    laid.works.iter().enumerate().flat_map(|(at, work)| one_work(at, work, false))
}

/// The steps of one work; a work that a power cut ends has no step for its end.
fn one_work(work: usize, laid: &LaidWork<'_>, is_cut: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    if laid.copies_from_beside() {
        steps.push(source(work));
    }
    steps.extend([Step::ProbesOn { work }, Step::Work { work }]);
    if !is_cut {
        steps.extend([Step::Sync { work }, Step::ProbesOff { work }]);
    }
    steps
}

fn source(work: usize) -> Step {
    let variant = Variant::default();
    Step::Source { work, make: BESIDE.make(&variant), mount: BESIDE.mount(&variant) }
}
