//! A filesystem compared with itself: the A/A check of a run, and candidates that are the same filesystem under two names.

use crate::analysis::dataset::counted;
use crate::report::view::heading::Standing;
use crate::report::view::number::{chance, count, list, named};
use crate::schema::finding::{Finding, Found, Guard, Verdict};
use crate::schema::plan::{Candidate, Plan};
use crate::schema::setup::Variant;
use crate::store::Run;
use fsderby_stats::credible::FEWEST;

/// The sentence on them.
pub struct Same {
    pub said: Option<String>,
    /// Whether it names the candidate that entered twice for the A/A check.
    pub is_twice_said: bool,
}

pub fn of(run: &Run, verdict: &Verdict, standing: Standing) -> Same {
    let guard = verdict.guard.as_ref().filter(|guard| guard.p.is_some() && !guard.voids);
    let is_told = !matches!(standing, Standing::Nothing | Standing::Void);
    let twins = twins(run).into_iter().find(|all| all.len() > 1).filter(|_| is_told);
    match (twins, guard) {
        (Some(twins), guard) => {
            let guard = guard.filter(|guard| twins.iter().any(|one| one.label == guard.of));
            Same { said: Some(of_twins(&twins, guard, verdict, standing)), is_twice_said: guard.is_some() }
        }
        (None, Some(guard)) if is_told => Same { said: passed(guard), is_twice_said: true },
        _ => Same { said: None, is_twice_said: false },
    }
}

/// Candidates with valid trials, grouped by filesystem, options and setup; without the A/A copy.
fn twins(run: &Run) -> Vec<Vec<&Candidate>> {
    let plan: &Plan = &run.plan;
    let counted = counted(run);
    let did = |c: &&Candidate| counted.iter().any(|record| record.filesystem == c.label);
    let is_copy = |c: &&Candidate| plan.guard.as_ref().is_some_and(|twice| twice.copy == c.label);
    let mut groups: Vec<Vec<&Candidate>> = Vec::new();
    for one in plan.candidates.iter().filter(did).filter(|c| !is_copy(c)) {
        let is_same = |other: &&Candidate| {
            (&one.kind, &one.variant, &one.era) == (&other.kind, &other.variant, &other.era)
                && plan.setup(one) == plan.setup(other)
        };
        match groups.iter_mut().find(|group| is_same(&group[0])) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// `a, b and the A/A copy of a are the same filesystem (KIND with default options); no difference was found, …`
fn of_twins(twins: &[&Candidate], guard: Option<&Guard>, verdict: &Verdict, standing: Standing) -> String {
    let mut who: Vec<String> = twins.iter().map(|one| named(&one.label)).collect();
    who.extend(guard.map(|guard| format!("the A/A copy of {}", named(&guard.of))));
    let (who, first) = (list(&who), twins[0]);
    let options =
        if first.variant == Variant::default() && first.era.is_none() { "default" } else { "the same" };
    let is_both =
        |f: &&Finding| [&f.a, &f.b].iter().all(|label| twins.iter().any(|one| one.label == **label));
    let is_found = |f: &Finding| matches!(f.finding, Found::Better | Found::Worse);
    let found = verdict.findings.iter().filter(is_both).any(is_found);
    let result = match (standing.has_findings(), found) {
        (false, _) => "",
        (true, false) => "; no difference was found, as expected",
        (true, true) => {
            "; a difference was found, so chance or something other than the filesystem changes the figures"
        }
    };
    format!("{who} are the same filesystem ({kind} with {options} options){result}.", kind = first.kind)
}

/// The smallest difference that means anything on this device.
pub fn credible(guard: &Guard) -> String {
    let of = named(&guard.of);
    match guard.credible {
        Some(ratio) => format!(
            "On this device two identical candidates, {of} and its copy, may differ by {:.1} % (95 % interval over \
             {}); smaller differences between candidates are not credible on this device.",
            100.0 * (ratio - 1.0),
            count(guard.rounds as usize, "round")
        ),
        None => format!(
            "{of} entered twice; {FEWEST} rounds are needed to estimate the smallest difference that is credible on \
                this device."
        ),
    }
}

/// The result of the A/A check, unless it voids the run.
fn passed(guard: &Guard) -> Option<String> {
    let p = guard.p.filter(|_| !guard.voids)?;
    Some(format!(
        "A/A check passed: {candidate} entered twice, and no difference between the two entries was found ({p}; below \
         0.001 the run would be void).",
        candidate = named(&guard.of),
        p = chance(p)
    ))
}
