//! The testbed that `auto` chooses, and candidates whose setups are the same.

use crate::exit::Failure;
use crate::filesystems;
use crate::runner::experiment::Experiment;
use crate::runner::plan::jobs;
use crate::runner::plan::resolved::Resolved;
use crate::schema::plan::{Candidate, Setup};
use crate::testbeds::{self, Testbeds};

/// The testbed of all candidates that do not name a testbed.
pub fn common_testbed(experiment: &Experiment) -> anyhow::Result<String> {
    let named = experiment.on.as_deref().unwrap_or(testbeds::AUTO);
    if named != testbeds::AUTO {
        return Ok(testbeds::named(&experiment.usual.in_images(named)).map_err(Failure::usage)?);
    }
    let plan = experiment.plan(named.to_owned(), 1)?;
    let undecided: Vec<_> =
        plan.candidates.iter().filter(|c| plan.setup(c).testbed == testbeds::AUTO).collect();
    if undecided.is_empty() {
        return Ok(plan.testbed);
    }
    let all_optional = undecided.iter().all(|c| experiment.is_optional(c));
    let wanted = undecided.iter().filter(|c| all_optional || !experiment.is_optional(c));
    let kinds = wanted.filter_map(|c| filesystems::find(&c.kind));
    let asked: Vec<_> = kinds.map(|kind| kind.kernel()).collect();
    let need = jobs::need(&Resolved::of(&plan)?);
    let chosen = testbeds::choose(&asked, experiment.takes_all(), &need, &experiment.usual);
    Ok(chosen.map_err(Failure::usage)?.name())
}

/// Refuses two candidates with the same setup written differently, such as the kernel `6.1` and the release that 6.1 stands for.
pub fn distinct(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> anyhow::Result<()> {
    let is_one = |a: &Candidate, b: &Candidate| {
        let (ours, theirs) = (plan.setup(a), plan.setup(b));
        let is_written_so = ours.testbed != theirs.testbed
            && Setup { testbed: "", ..ours } == Setup { testbed: "", ..theirs }
            && (&a.kind, &a.variant) == (&b.kind, &b.variant);
        let is = |candidate| {
            let testbed = testbeds.of(plan, candidate);
            let storage = testbed.storage(&jobs::storage_request(plan, candidate, 1));
            (testbed.kernel(), testbed.traits().fidelity, storage)
        };
        is_written_so && is(a) == is(b)
    };
    // A plan may have thousands, and nearly always one testbed.
    let candidates = if plan.testbeds().len() > 1 { plan.candidates.as_slice() } else { &[] };
    for (at, a) in candidates.iter().enumerate() {
        if let Some(b) = plan.candidates[at + 1..].iter().find(|b| is_one(a, b)) {
            let kernel = testbeds.of(plan, a).kernel().map_or_else(String::new, |(release, _)| release);
            let text = format!(
                "{first} and {second} would be the same candidate twice, with kernel {kernel}\n  try: another kernel or \
                 disk for one of them",
                first = a.label,
                second = b.label
            );
            return Err(Failure::usage(text).into());
        }
    }
    Ok(())
}
