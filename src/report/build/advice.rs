//! What says more than two runs can: one run in which what was changed are candidates, in the same rounds.

use super::repeat;
use crate::analysis::changes::Pair;
use crate::report::view::number::list;
use crate::runner::experiment::Experiment;
use crate::schema::change::{ChangeBasis, Changes, Reach};
use crate::schema::plan::{Candidate, Plan};
use crate::testbeds;

pub struct Advice {
    pub text: String,
    pub command: Option<String>,
}

pub fn of(pair: &Pair<'_>, changes: &Changes) -> Advice {
    if matches!(changes.basis, ChangeBasis::Samples { .. }) {
        let text =
            "In virtual time two runs say as much as one: nothing is confounded with the change.".to_owned();
        return Advice { text, command: None };
    }
    let touched: Vec<&str> = changes
        .differences
        .iter()
        .filter_map(|d| if let Reach::Candidate(label) = &d.reach { Some(label.as_str()) } else { None })
        .collect();
    if changes.differences.iter().any(|d| d.reach == Reach::All) {
        return of_all(changes);
    }
    let both = together(pair, &touched);
    match both {
        Some(plan) => with_both(&plan),
        None => {
            let text = "Nothing was changed between the two runs that a candidate states. To learn what an occasion alone does, repeat \
                        the same run; to compare candidates, have them in one run, whose rounds have them all."
                .to_owned();
            Advice { text, command: None }
        }
    }
}

/// What no run can have twice in its rounds.
fn of_all(changes: &Changes) -> Advice {
    let reached = changes.differences.iter().filter(|d| d.reach == Reach::All).map(|d| d.what.clone());
    let whats: Vec<String> = reached.collect();
    let text = format!(
        "{} differ, which one run on this machine's own kernel cannot have both ways. Two kernels are candidates of one run in guests: --on vm \
         --kernel FIRST --kernel SECOND. Otherwise make each run several times in turns, first, second, first, second, and see whether the runs \
         of a kind lie as far apart as the two kinds; a candidate that the change cannot reach, in both runs, is a control: --control LABEL.",
        list(&whats)
    );
    Advice { text, command: None }
}

fn with_both(plan: &Plan) -> Advice {
    let kind = testbeds::kind(&plan.testbed).ok();
    let repeat = repeat::of(plan, kind.is_none_or(testbeds::TestbedKind::makes_filesystem));
    let beyond = match repeat.beyond.as_slice() {
        [] => String::new(),
        beyond => format!(" The command does not say {}: take an experiment file with it.", list(beyond)),
    };
    let text = format!(
        "One run with both as candidates has them in the same rounds, in random order, so that no occasion is confounded with the change; its \
         verdict needs no such caution.{beyond}"
    );
    Advice { text, command: Some(repeat.command) }
}

/// The second plan, in which those that were changed take part twice, as in the first run and as in the second; `None` where no
/// plan can say it.
fn together(pair: &Pair<'_>, touched: &[&str]) -> Option<Plan> {
    let (before, after) = (&pair.before.plan, &pair.after.plan);
    let is_copy = |c: &&Candidate| after.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    let mut candidates = Vec::new();
    for new in after.candidates.iter().filter(|c| !is_copy(c)) {
        let old = before.candidates.iter().find(|old| old.label == new.label);
        let old = old.filter(|_| touched.contains(&new.label.as_str()));
        // What a plan does not state, such as the version of mkfs, it cannot have both ways.
        let Some(old) = old.filter(|old| stated(before, old) != stated(after, new)) else {
            candidates.push(new.clone());
            continue;
        };
        for (plan, one, which) in [(before, old, "before"), (after, new, "after")] {
            let mut one = one.clone();
            one.own.on = Some(plan.setup(&one).testbed.to_owned());
            one.label = format!("{}, {which}", one.label);
            candidates.push(one);
        }
    }
    let is_twice = candidates.len() > after.candidates.iter().filter(|c| !is_copy(c)).count();
    let mut plan = Plan { candidates, guard: None, ..after.clone() };
    plan.settle();
    let is_possible = is_twice && Experiment::try_from(plan.clone()).is_ok();
    // A candidate that enters twice is taken from the first one anew.
    is_possible.then(|| Plan { guard: after.guard.clone(), ..plan })
}

fn stated<'p>(plan: &'p Plan, candidate: &'p Candidate) -> (&'p str, &'p crate::schema::setup::Variant) {
    (plan.setup(candidate).testbed, &candidate.variant)
}
