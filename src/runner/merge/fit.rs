//! Whether runs are shards of one plan, made by one program with the same tools. Pure.

use std::collections::BTreeMap;

use crate::exit::{Failure, SHARDS};
use crate::schema;
use crate::schema::machine::{Disk, Machine, OnMachine, Tool};
use crate::schema::plan::Plan;
use crate::schema::units::Bytes;
use crate::store::merge::Shard;

/// The refusal of a merge.
pub fn refused(text: impl AsRef<str>) -> Failure {
    Failure::new(SHARDS, format!("not merged: {}", text.as_ref()))
}

/// The sets of shards, each complete and by number: first the shards of the plan itself, then those of trials that results called
/// for. A shard is given by its index.
///
/// # Errors
/// Names the first difference, and what to do.
pub fn sets(shards: &[Shard], in_virtual_time: bool) -> Result<Vec<Vec<usize>>, Failure> {
    let Some(first) = shards.first() else { return Err(refused("no shard was named")) };
    for other in shards {
        same_plan(first, other)?;
        same_program(first, other)?;
        same_machine(first, other, in_virtual_time)?;
    }
    let mut sets: BTreeMap<&[String], Vec<usize>> = BTreeMap::new();
    for (at, one) in shards.iter().enumerate() {
        sets.entry(&shard(one)?.due).or_default().push(at);
    }
    if !sets.contains_key(&[][..]) {
        return Err(refused(format!(
            "{} and the other shards have only trials that results of earlier shards called for\n  try: also name the shards with \
             these results: fsderby merge OUT FIRST… NEXT…",
            name(first)
        )));
    }
    sets.into_values().map(|set| numbered(shards, set)).collect()
}

/// Which shard of its plan this run is.
pub fn shard(run: &Shard) -> Result<&schema::shard::Shard, Failure> {
    run.plan.shard.as_ref().ok_or_else(|| {
        let what = if run.machine.shards.is_empty() { "a whole run" } else { "a merged run" };
        let text = format!(
            "{} is {what}, not a shard\n  try: the folders that fsderby run PLAN --shard I/N --output DIR made",
            name(run)
        );
        refused(text)
    })
}

pub fn name(shard: &Shard) -> String {
    shard.folder.display().to_string()
}

/// Sorts a set and finds what is missing, doubled, or numbered in another way.
fn numbered(shards: &[Shard], mut set: Vec<usize>) -> Result<Vec<usize>, Failure> {
    let of = |at: &usize| shards[*at].plan.shard.as_ref().map_or((0, 0), |shard| (shard.of, shard.number));
    let name = |at: usize| name(&shards[at]);
    set.sort_by_key(of);
    let (first, last) = (set[0], set[set.len() - 1]);
    let (n, other) = (of(&first).0, of(&last).0);
    if n != other {
        return Err(refused(format!(
            "{} is shard {}/{n}, but {} is shard {}/{other}\n  try: fsderby merge OUT SHARD… with shards of one N",
            name(first),
            of(&first).1,
            name(last),
            of(&last).1
        )));
    }
    if let Some([one, twin]) = set.windows(2).find(|pair| of(&pair[0]) == of(&pair[1])) {
        return Err(refused(format!(
            "{} and {} are both shard {}/{n}\n  try: fsderby merge OUT SHARD… with one of them",
            name(*one),
            name(*twin),
            of(one).1
        )));
    }
    // In ascending order and none twice: what is missing follows from one pass.
    let mut there = set.iter().map(|at| of(at).1).peekable();
    let missing: Vec<String> = (1..=n)
        .filter(|number| there.next_if_eq(number).is_none())
        .take(5)
        .map(|number| format!("{number}/{n}"))
        .collect();
    if let Some(one) = missing.first() {
        return Err(refused(format!(
            "shard {} is missing\n  try: fsderby run PLAN --shard {one} --output DIR, then fsderby merge with all {n}",
            missing.join(", ")
        )));
    }
    Ok(set)
}

fn differs(first: &Shard, other: &Shard, what: &str, advice: &str) -> Failure {
    refused(format!("{what} of {} differs from that of {}\n  try: {advice}", name(other), name(first)))
}

fn same_plan(first: &Shard, other: &Shard) -> Result<(), Failure> {
    shard(other)?;
    let [one, two] = [first, other].map(|shard| Plan { shard: None, ..shard.plan.clone() });
    if one == two {
        return Ok(());
    }
    let [one, two] = [one, two].map(|plan| toml::Table::try_from(plan).unwrap_or_default());
    let key = one.keys().chain(two.keys()).find(|key| one.get(*key) != two.get(*key));
    let key = key.map_or("content", String::as_str);
    let advice = format!(
        "fsderby run {}/plan.toml --shard I/N --output DIR in place of that shard, then fsderby merge again",
        name(first)
    );
    Err(differs(first, other, &format!("the plan ({key})"), &advice))
}

fn same_program(first: &Shard, other: &Shard) -> Result<(), Failure> {
    let [one, two] = [first, other].map(|shard| &shard.machine.fsderby);
    if one.version != two.version {
        let what = format!("the version of fsderby ({}, not {})", two.version, one.version);
        return Err(differs(first, other, &what, "run that shard again with the same fsderby"));
    }
    if one != two {
        return Err(differs(
            first,
            other,
            "the build of fsderby",
            "run that shard again with the same program file",
        ));
    }
    Ok(())
}

/// What decides figures: in virtual time neither the host's kernel nor its hardware does.
fn same_machine(first: &Shard, other: &Shard, in_virtual_time: bool) -> Result<(), Failure> {
    let [one, two] = [first, other].map(|shard| &shard.machine);
    let again = "run that shard again on a node with the same";
    let guests = |machine: &Machine| machine.setups.iter().map(|on| on.guest.clone()).collect::<Vec<_>>();
    if guests(one) != guests(two) {
        return Err(differs(
            first,
            other,
            "the guest bundle",
            &format!("{again} bundle: fsderby guest list"),
        ));
    }
    let kernel = |on: &OnMachine| (on.name.clone(), on.kernel.clone(), on.kernel_build.clone());
    let kernels = |machine: &Machine| machine.setups.iter().map(kernel).collect::<Vec<_>>();
    if kernels(one) != kernels(two) {
        let what = if in_virtual_time { "the kernel or the boot files of guests" } else { "the kernel" };
        return Err(differs(first, other, what, &format!("{again} kernel, or with one bundle: --guest ID")));
    }
    if let Some(tool) = other_tool(&one.tools, &two.tools) {
        return Err(differs(first, other, &format!("{tool}, by its hash,"), &format!("{again} packages")));
    }
    if one.architecture != two.architecture {
        return Err(differs(first, other, "the architecture", &format!("{again} architecture")));
    }
    match other_hardware(one, two).filter(|_| !in_virtual_time) {
        None => Ok(()),
        Some(Property { what, values: [ours, theirs] }) => Err(refused(format!(
            "{what} of {} differs from that of {}: {theirs}, not {ours}\n  try: {again} hardware, kernel and mounts: fsderby slurm \
             --partition NAME with nodes of one kind",
            name(other),
            name(first)
        ))),
    }
}

/// A property of two machines.
struct Property {
    what: String,
    values: [String; 2],
}

impl Property {
    fn of(what: &str, one: impl ToString, other: impl ToString) -> Self {
        Property { what: what.to_owned(), values: [one.to_string(), other.to_string()] }
    }

    fn differs(&self) -> bool {
        self.values[0] != self.values[1]
    }
}

/// The first property that reaches figures in real time and that these machines do not share. Rounds of different machines are
/// blocks of different sizes: their spread would be taken for that of the filesystems.
fn other_hardware(one: &Machine, other: &Machine) -> Option<Property> {
    let of_host = [
        Property::of("the CPU", &one.cpu, &other.cpu),
        Property::of("the number of CPUs", one.cpus, other.cpus),
        sized("the memory", one.memory, other.memory),
        Property::of("the hypervisor", named(&one.hypervisor), named(&other.hypervisor)),
        Property::of("the host's kernel", &one.kernel, &other.kernel),
        Property::of("the build of the host's kernel", &one.kernel_build, &other.kernel_build),
        Property::of("the cgroup version", one.memory_groups, other.memory_groups),
    ];
    let setups = one.setups.iter().zip(&other.setups);
    of_host.into_iter().chain(setups.flat_map(|(one, other)| of_setup(one, other))).find(Property::differs)
}

fn of_setup(one: &OnMachine, other: &OnMachine) -> Vec<Property> {
    let (disk, others) = (&one.disk, &other.disk);
    vec![
        Property::of("the CPU", &one.cpu, &other.cpu),
        Property::of("the number of CPUs", one.cpus, other.cpus),
        Property::of("the model of the disk", named(&disk.model), named(&others.model)),
        sized("the size of the disk", disk.size, others.size),
        Property::of("the kind of disk", rotates(disk), rotates(others)),
        Property::of("the I/O scheduler", named(&disk.scheduler), named(&others.scheduler)),
        Property::of("the filesystem of the testbed's folder", named(&disk.fstype), named(&others.fstype)),
        Property::of("the mount options of the testbed's folder", mounted(disk), mounted(others)),
    ]
}

fn named(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

fn rotates(disk: &Disk) -> &str {
    if disk.rotational { "rotational" } else { "not rotational" }
}

/// Options that name the node itself differ between alike nodes.
fn mounted(disk: &Disk) -> String {
    let is_of_node = |option: &&String| !option.starts_with("clientaddr=");
    disk.options.iter().filter(is_of_node).map(String::as_str).collect::<Vec<_>>().join(",")
}

/// Firmware and partitions take slightly different parts on alike machines: sizes within 2 % are the same.
fn sized(what: &str, one: Bytes, other: Bytes) -> Property {
    let is_alike = one.0.abs_diff(other.0) <= one.0.max(other.0) / 50;
    match is_alike {
        true => Property::of(what, one, one),
        false => Property::of(what, one, other),
    }
}

/// The first tool that differs, wherever it lies.
fn other_tool(one: &[Tool], other: &[Tool]) -> Option<String> {
    let of = |tool: &Tool| (tool.kind.clone(), tool.program.clone(), tool.blake3.clone());
    let [ones, others] = [one, other].map(|tools| tools.iter().map(of).collect::<Vec<_>>());
    let lacks = |tools: &[(String, String, String)], tool: &(String, String, String)| !tools.contains(tool);
    let odd = ones.iter().find(|tool| lacks(&others, tool)).or(others.iter().find(|tool| lacks(&ones, tool)));
    odd.map(|(_, program, _)| program.clone())
}
