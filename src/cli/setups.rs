//! Setups from options: testbeds, kernels, memory and CPUs; one value applies to all candidates, several values are combined with
//! each candidate.

use std::path::Path;

use crate::exit::Failure;
use crate::filesystems;
use crate::guest::kernel::{self, Same};
use crate::runner::experiment::Experiment;
use crate::runner::experiment::crossing;
use crate::runner::plan::jobs;
use crate::runner::plan::resolved::Resolved;
use crate::schema::plan::{Candidate, Setup};
use crate::schema::units::Bytes;
use crate::testbeds::{self, Testbeds};

#[derive(Clone, Copy, Debug)]
pub enum Memory {
    Limit(Bytes),
    None,
}

pub fn memory(text: &str) -> Result<Memory, String> {
    if text == "none" { Ok(Memory::None) } else { text.parse().map(Memory::Limit) }
}

/// One value applies to all candidates; several values are combined with each candidate.
pub fn given<T: Clone>(values: &[T], common: &mut Option<T>, cross: &mut Vec<T>) {
    match values {
        [] => {}
        [one] => {
            *common = Some(one.clone());
            cross.clear();
        }
        several => {
            *common = None;
            *cross = several.to_vec();
        }
    }
}

/// `none` means no limit, so it cannot be combined with limits.
pub fn limits(memory: &[Memory]) -> Result<Vec<Bytes>, Failure> {
    let limit = |memory: &Memory| match memory {
        Memory::Limit(limit) => Some(*limit),
        Memory::None => None,
    };
    let limits: Vec<Bytes> = memory.iter().filter_map(limit).collect();
    if limits.len() < memory.len() && memory.len() > 1 {
        let text =
            "--memory none cannot be combined with other limits\n  try: the machine's memory size as a limit";
        return Err(Failure::usage(text));
    }
    Ok(limits)
}

/// Adds kernels to the testbeds' settings; kernel files are imported into the cache.
pub fn give_kernels(kernels: &[String], experiment: &mut Experiment) -> anyhow::Result<()> {
    let release = |kernel: &String| match kernel.contains('/') {
        true => Ok(kernel::import(Path::new(kernel), Same::Refuse)?.index.release),
        false => Ok(kernel.clone()),
    };
    let releases: Vec<String> = kernels.iter().map(release).collect::<anyhow::Result<_>>()?;
    match releases.as_slice() {
        [] => {}
        [one] if experiment.cross.on.is_empty() => {
            let on = experiment.on.as_deref().unwrap_or(testbeds::AUTO);
            experiment.on = Some(crossing::with_kernel(on, one).map_err(Failure::usage)?);
            experiment.cross.kernel.clear();
        }
        _ => experiment.cross.kernel = releases,
    }
    Ok(())
}

/// Adds a guest bundle to the testbeds' settings; a bundle file is imported into the cache.
pub fn give_guest(guest: Option<&str>, experiment: &mut Experiment) -> anyhow::Result<()> {
    let Some(guest) = guest else { return Ok(()) };
    let bundle = super::guest::named(guest)?;
    let with = |on: &str| crossing::with_guest(on, bundle.short()).map_err(Failure::usage);
    if experiment.cross.on.is_empty() {
        experiment.on = Some(with(experiment.on.as_deref().unwrap_or(testbeds::AUTO))?);
    }
    for on in &mut experiment.cross.on {
        *on = with(on)?;
    }
    Ok(())
}

/// The testbed of all candidates that do not name a testbed.
pub fn common_testbed(experiment: &Experiment) -> anyhow::Result<String> {
    let named = experiment.on.as_deref().unwrap_or(testbeds::AUTO);
    if named != testbeds::AUTO {
        return Ok(testbeds::named(named).map_err(Failure::usage)?);
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
    let chosen = testbeds::choose(&asked, experiment.takes_all(), &jobs::need(&Resolved::of(&plan)?));
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
            let storage = testbed.storage(&jobs::moment(plan, candidate, 1));
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
