//! Advice for a better comparison than two runs: one run whose candidates are both sides of the change, in the same rounds.

use super::repeat;
use crate::analysis::changes::Pair;
use crate::report::view::number::list;
use crate::report::view::repeat::Repeat;
use crate::runner::experiment::Experiment;
use crate::runner::verify::comparable;
use crate::schema::change::{ChangeBasis, Changes, Point, Reach};
use crate::schema::plan::{Candidate, Factors, Plan};
use crate::testbeds::Place;

pub struct Advice {
    pub text: String,
    pub command: Option<String>,
}

pub fn of(pair: &Pair<'_>, changes: &Changes) -> Advice {
    if matches!(changes.basis, ChangeBasis::Samples { .. }) {
        let text =
            "On modelled disks, host and time of day have no effect, so two runs can be compared like candidates of one \
            run."
                .to_owned();
        return Advice { text, command: None };
    }
    let touched: Vec<&str> = changes
        .differences
        .iter()
        .filter_map(|d| if let Reach::Candidate(label) = &d.reach { Some(label.as_str()) } else { None })
        .collect();
    let mut of_everybody = changes.differences.iter().filter(|d| d.reach == Reach::All).peekable();
    if of_everybody.peek().is_some() {
        let is_of_kernels = of_everybody.all(|d| d.point == Some(Point::Kernel));
        let guests = if is_of_kernels { in_guests(pair) } else { None };
        return guests.map_or_else(|| of_all(changes), |plan| with_both_kernels(&plan));
    }
    let both = together(pair, &touched, changes);
    match both {
        Some(plan) => with_both(&plan),
        None => {
            let text = "To see how much two runs differ by chance, repeat the same run. To compare candidates, put them into \
                        one run, in which every round has all candidates."
                .to_owned();
            Advice { text, command: None }
        }
    }
}

/// Changes that reach all candidates: no single run can have both sides.
fn of_all(changes: &Changes) -> Advice {
    let reached = changes.differences.iter().filter(|d| d.reach == Reach::All).map(|d| d.what.clone());
    let whats: Vec<String> = reached.collect();
    let text = format!(
        "The two runs differ in {}, so they cannot be merged into one run. Repeat each run several times, in the \
         order first, second, first, second. Then check whether repetitions of the same run differ as much as the \
         first run differs from the second. If the change cannot affect one candidate, name it with --control LABEL: then \
         fsderby divides all figures by this candidate's figures.",
        list(&whats)
    );
    Advice { text, command: None }
}

/// Each candidate of both runs under both kernels: a machine runs one kernel, its guests may run any.
fn in_guests(pair: &Pair<'_>) -> Option<Plan> {
    let (before, after) = (&pair.before.plan, &pair.after.plan);
    let mut candidates = Vec::new();
    let is_copy = |c: &&Candidate| after.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    let is_common = |c: &&Candidate| before.candidates.iter().any(|old| old.label == c.label);
    for one in after.candidates.iter().filter(|c| !is_copy(c) && is_common(c)) {
        for run in [pair.before, pair.after] {
            let kernel = comparable::kernel(run, &one.label);
            let mut under = under(one, "vm", &kernel);
            under.label = format!("{}, Linux {kernel}", one.label);
            candidates.push(under);
        }
    }
    possible(Plan { testbed: "vm".to_owned(), candidates, guard: None, ..after.clone() }, after)
}

/// The candidate in a guest with that kernel, on a testbed with a kernel setting.
fn under(candidate: &Candidate, testbed: &str, kernel: &str) -> Candidate {
    let (name, settings) = testbed.split_once(':').unwrap_or((testbed, ""));
    let others = settings.split(',').filter(|setting| !setting.is_empty() && !setting.starts_with("kernel="));
    let settings: Vec<String> =
        [format!("kernel={kernel}")].into_iter().chain(others.map(str::to_owned)).collect();
    let mut under = candidate.clone();
    under.own.on = Some(format!("{name}:{}", settings.join(",")));
    under
}

/// The plan, if these candidates can run. The A/A candidate is again the copy of the first.
fn possible(mut plan: Plan, after: &Plan) -> Option<Plan> {
    plan.settle();
    let is_possible = Experiment::try_from(plan.clone()).is_ok();
    is_possible.then(|| Plan { guard: after.guard.clone(), ..plan })
}

fn with_both_kernels(plan: &Plan) -> Advice {
    let repeat = repeat::of(plan, true);
    let text = format!(
        "A machine runs one kernel at a time, but each guest can have its own kernel. The suggested run measures each \
         candidate with both kernels, in the same rounds and in random order. So no other change can be mistaken for \
         the kernel's effect. Both kernels must be in the cache (fsderby kernel list; fsderby kernel fetch SERIES \
         downloads one), and the machine should have KVM: on an emulated CPU only requests, bytes and flushes are \
         judged.{}",
        not_said(&repeat)
    );
    Advice { text, command: Some(repeat.command) }
}

fn not_said(repeat: &Repeat) -> String {
    match repeat.beyond.as_slice() {
        [] => String::new(),
        beyond => {
            format!(" This command line cannot express {}; write an experiment file instead.", list(beyond))
        }
    }
}

fn with_both(plan: &Plan) -> Advice {
    let place = Place::parse(&plan.testbed).ok();
    let repeat = repeat::of(plan, place.is_none_or(|place| place.makes_filesystem()));
    let text = format!(
        "Measure the states before and after the change as candidates of one run. Then every round has both, in \
         random order, so no other difference can be mistaken for the change.{}",
        not_said(&repeat)
    );
    Advice { text, command: Some(repeat.command) }
}

/// The second plan with the changed candidates twice: as in the first run and as in the second. `None` if no plan can express it.
fn together(pair: &Pair<'_>, touched: &[&str], changes: &Changes) -> Option<Plan> {
    let (before, after) = (&pair.before.plan, &pair.after.plan);
    let is_copy = |c: &&Candidate| after.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    let mut candidates = Vec::new();
    for new in after.candidates.iter().filter(|c| !is_copy(c)) {
        let old = before.candidates.iter().find(|old| old.label == new.label);
        let old = old.filter(|_| touched.contains(&new.label.as_str()));
        let has_other_kernel = changes
            .differences
            .iter()
            .any(|d| d.point == Some(Point::Kernel) && d.reach == Reach::Candidate(new.label.clone()));
        // A plan cannot have both sides of an unstated setting, such as the version of mkfs; records tell the kernels.
        let Some(old) = old.filter(|old| has_other_kernel || stated(before, old) != stated(after, new))
        else {
            candidates.push(new.clone());
            continue;
        };
        for (run, one, which) in [(pair.before, old, "before"), (pair.after, new, "after")] {
            let testbed = run.plan.setup(one).testbed;
            let mut one = match has_other_kernel {
                true => under(one, testbed, &comparable::kernel(run, &one.label)),
                false => Candidate { own: on(one, testbed), ..one.clone() },
            };
            one.label = format!("{}, {which}", one.label);
            candidates.push(one);
        }
    }
    let is_twice = candidates.len() > after.candidates.iter().filter(|c| !is_copy(c)).count();
    let plan = Plan { candidates, guard: None, ..after.clone() };
    if is_twice { possible(plan, after) } else { None }
}

fn on(candidate: &Candidate, testbed: &str) -> Factors {
    Factors { on: Some(testbed.to_owned()), ..candidate.own.clone() }
}

fn stated<'p>(plan: &'p Plan, candidate: &'p Candidate) -> (&'p str, &'p crate::schema::setup::Variant) {
    (plan.setup(candidate).testbed, &candidate.variant)
}
