//! Whether runs are shards of one plan, made by one program with the same tools. Pure.

use std::collections::BTreeMap;

use crate::exit::{Failure, SHARDS};
use crate::schema::machine::{Machine, OnMachine, Tool};
use crate::schema::plan::Plan;
use crate::schema::shard::Shard;
use crate::store::Run;

/// The shards of one list of trials: those of the plan itself, or those that results called for.
pub struct Set<'r> {
    /// By number, without a gap.
    pub shards: Vec<&'r Run>,
}

/// The refusal of a merge.
pub fn refused(text: impl AsRef<str>) -> Failure {
    Failure::new(SHARDS, format!("not merged: {}", text.as_ref()))
}

/// The sets of shards: first that of the plan itself, each complete.
///
/// # Errors
/// Names the first difference, and what to do.
pub fn sets<'r>(runs: &'r [Run], in_virtual_time: bool) -> Result<Vec<Set<'r>>, Failure> {
    let Some(first) = runs.first() else { return Err(refused("no shard was named")) };
    for run in runs {
        same_plan(first, run)?;
        same_program(first, run)?;
        same_machine(first, run, in_virtual_time)?;
    }
    let mut sets: BTreeMap<&[String], Vec<&Run>> = BTreeMap::new();
    for run in runs {
        sets.entry(&shard(run)?.due).or_default().push(run);
    }
    if !sets.contains_key(&[][..]) {
        return Err(refused(format!(
            "{} and the others have only trials that results called for\n  try: also name the shards whose results called for \
             them",
            name(first)
        )));
    }
    sets.into_values().map(numbered).collect()
}

/// The shard that a run is.
pub fn shard(run: &Run) -> Result<&Shard, Failure> {
    run.plan.shard.as_ref().ok_or_else(|| {
        let what = if run.machine.shards.is_empty() { "a whole run" } else { "a merged run" };
        let text = format!("{} is {what}, no shard\n  try: the folders of fsderby run --shard", name(run));
        refused(text)
    })
}

pub fn name(run: &Run) -> String {
    run.folder.display().to_string()
}

/// Sorts a set and finds what is missing, doubled, or numbered in another way.
fn numbered<'r>(mut shards: Vec<&'r Run>) -> Result<Set<'r>, Failure> {
    let of = |run: &&Run| run.plan.shard.as_ref().map_or((0, 0), |shard| (shard.of, shard.number));
    shards.sort_by_key(of);
    let (first, last) = (shards[0], shards[shards.len() - 1]);
    let (n, other) = (of(&first).0, of(&last).0);
    if n != other {
        return Err(refused(format!(
            "{} is shard {}/{n}, but {} is shard {}/{other}\n  try: shards of one division",
            name(first),
            of(&first).1,
            name(last),
            of(&last).1
        )));
    }
    if let Some([one, twin]) = shards.windows(2).find(|pair| of(&pair[0]) == of(&pair[1])) {
        return Err(refused(format!(
            "{} and {} are both shard {}/{n}\n  try: one of them",
            name(one),
            name(twin),
            of(one).1
        )));
    }
    let missing: Vec<String> = (1..=n)
        .filter(|number| shards.iter().all(|run| of(run).1 != *number))
        .take(5)
        .map(|number| format!("{number}/{n}"))
        .collect();
    if let Some(one) = missing.first() {
        return Err(refused(format!(
            "shard {} is missing\n  try: fsderby run PLAN --shard {one} --output DIR, then merge all {n}",
            missing.join(", ")
        )));
    }
    Ok(Set { shards })
}

fn differs(first: &Run, run: &Run, what: &str, advice: &str) -> Failure {
    refused(format!("{what} of {} differs from that of {}\n  try: {advice}", name(run), name(first)))
}

fn same_plan(first: &Run, run: &Run) -> Result<(), Failure> {
    shard(run)?;
    let [one, other] = [first, run].map(|run| Plan { shard: None, ..run.plan.clone() });
    if one == other {
        return Ok(());
    }
    let [one, other] = [one, other].map(|plan| toml::Table::try_from(plan).unwrap_or_default());
    let key = one.keys().chain(other.keys()).find(|key| one.get(*key) != other.get(*key));
    let key = key.map_or("content", String::as_str);
    Err(differs(first, run, &format!("the plan ({key})"), "shards of one plan.toml"))
}

fn same_program(first: &Run, run: &Run) -> Result<(), Failure> {
    let [one, other] = [first, run].map(|run| &run.machine.fsderby);
    if one.version != other.version {
        let what = format!("the version of fsderby ({}, not {})", other.version, one.version);
        return Err(differs(first, run, &what, "run that shard again with the same fsderby"));
    }
    if one != other {
        return Err(differs(
            first,
            run,
            "the build of fsderby",
            "run that shard again with the same program file",
        ));
    }
    Ok(())
}

/// What decides figures: in virtual time neither the host's kernel nor its CPU does.
fn same_machine(first: &Run, run: &Run, in_virtual_time: bool) -> Result<(), Failure> {
    let [one, other] = [first, run].map(|run| &run.machine);
    let again = "run that shard again on a node with the same";
    let guests = |machine: &Machine| machine.setups.iter().map(|on| on.guest.clone()).collect::<Vec<_>>();
    if guests(one) != guests(other) {
        return Err(differs(first, run, "the guest bundle", &format!("{again} bundle: fsderby guest list")));
    }
    let kernel = |on: &OnMachine| (on.name.clone(), on.kernel.clone(), on.kernel_build.clone());
    let kernels = |machine: &Machine| machine.setups.iter().map(kernel).collect::<Vec<_>>();
    if kernels(one) != kernels(other) {
        let what = if in_virtual_time { "the kernel or the boot files of guests" } else { "the kernel" };
        return Err(differs(first, run, what, &format!("{again} kernel, or with one bundle: --guest ID")));
    }
    if let Some(tool) = other_tool(&one.tools, &other.tools) {
        return Err(differs(first, run, &format!("{tool}, by its hash,"), &format!("{again} packages")));
    }
    if one.architecture != other.architecture {
        return Err(differs(first, run, "the architecture", again));
    }
    let cpu = |machine: &Machine| {
        let of_setups: Vec<_> = machine.setups.iter().map(|on| (on.cpu.clone(), on.cpus)).collect();
        (machine.cpu.clone(), machine.cpus, of_setups)
    };
    if !in_virtual_time && cpu(one) != cpu(other) {
        return Err(differs(first, run, "the CPU", &format!("{again} CPU: sbatch --constraint")));
    }
    Ok(())
}

/// The first tool that differs, wherever it lies.
fn other_tool(one: &[Tool], other: &[Tool]) -> Option<String> {
    let of = |tool: &Tool| (tool.kind.clone(), tool.program.clone(), tool.blake3.clone());
    let [ones, others] = [one, other].map(|tools| tools.iter().map(of).collect::<Vec<_>>());
    let lacks = |tools: &[(String, String, String)], tool: &(String, String, String)| !tools.contains(tool);
    let odd = ones.iter().find(|tool| lacks(&others, tool)).or(others.iter().find(|tool| lacks(&ones, tool)));
    odd.map(|(_, program, _)| program.clone())
}
