//! Candidates that cannot take part here, and why: reported before anything is measured.

use std::cell::LazyCell;
use std::collections::HashSet;

use crate::filesystems::{self, BESIDE, Filesystem};
use crate::host::programs;
use crate::runner::plan::jobs;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::scenarios::LaidWork;
use crate::schema::plan::Candidate;
use crate::schema::scenario::Scenario;
use crate::schema::units::Bytes;
use crate::testbeds::{Testbed, Testbeds};
use crate::workloads::programs::package;
use crate::workloads::{Needs, clients};

/// The share of the volume that certainly remains for the workload's files.
const ROOM: f64 = 0.85;

/// Of more rounds the seeds are not looked at one by one.
const MOST_ROUNDS: u32 = 40;

/// A skipped cell of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    pub filesystem: String,
    pub scenario: String,
    /// One sentence, with what to try.
    pub reason: String,
    /// The machine lacks nothing: the experiment itself is impossible.
    pub by_experiment: bool,
}

/// All skipped cells, in plan order.
pub fn skips(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> Vec<Skip> {
    let mut skips = Vec::new();
    for candidate in &plan.candidates {
        let testbed = testbeds.of(plan, candidate);
        // A plan whose layers form no device is refused earlier.
        let free = testbed.free();
        let device = free.unwrap_or_else(|| jobs::device(plan, candidate, testbed).unwrap_or(plan.size));
        let asked: Vec<_> =
            plan.scenarios.iter().map(|scenario| Asked::of(plan, candidate, scenario, device)).collect();
        if testbed.guests().is_some_and(|guests| guests.starts().bundle_id().is_some()) {
            let all = plan.scenarios.iter().zip(&asked).filter(|(_, asked)| asked.needs.programs);
            skips.extend(all.map(|(scenario, _)| skip(candidate, scenario, no_programs(scenario), true)));
        }
        let programs = plan.scenarios.iter().zip(&asked);
        let missing = programs.filter_map(|(scenario, asked)| Some((scenario, asked.missing.as_ref()?)));
        skips.extend(
            missing.map(|(scenario, name)| skip(candidate, scenario, no_program(scenario, name), false)),
        );
        if !testbed.traits().fidelity.makes_filesystem() {
            let all = plan.scenarios.iter().zip(&asked);
            let takes_all = all.filter(|(_, asked)| asked.needs.whole_filesystem);
            skips.extend(takes_all.map(|(scenario, _)| skip(candidate, scenario, not_ours(scenario), true)));
            let copies = plan.scenarios.iter().zip(&asked);
            let copies = copies.filter(|(_, asked)| asked.needs.source);
            let name = testbed.name();
            if free.is_some() {
                let full = plan.scenarios.iter().zip(&asked).filter(|(_, asked)| asked.peak > asked.room);
                skips.extend(full.map(|(scenario, asked)| {
                    skip(candidate, scenario, too_full(scenario, asked.peak, &name, device), true)
                }));
            }
            skips.extend(
                copies.map(|(scenario, _)| skip(candidate, scenario, no_disk(scenario, &name), true)),
            );
        }
        let Some(kind) =
            filesystems::find(&candidate.kind).filter(|_| testbed.traits().fidelity.makes_filesystem())
        else {
            continue;
        };
        let panics = panics(kind, candidate, testbed);
        let size = panics.or_else(|| size(kind, device));
        let machine = LazyCell::new(|| machine(kind, testbed));
        for (scenario, asked) in plan.scenarios.iter().zip(&asked) {
            let copies = asked.needs.source;
            let needs = || needs(kind, device, scenario, asked);
            let asked = size.clone().or_else(needs).map(|reason| (reason, true));
            let beside = || self::machine(BESIDE, testbed).filter(|_| copies);
            let machine = || machine.clone().or_else(beside);
            let Some((reason, by_experiment)) = asked.or_else(|| machine().map(|reason| (reason, false)))
            else {
                continue;
            };
            skips.push(skip(candidate, scenario, reason, by_experiment));
        }
    }
    one_a_cell(skips)
}

/// A cell is skipped once, for its first reason: the skips are also counted.
fn one_a_cell(mut skips: Vec<Skip>) -> Vec<Skip> {
    let mut seen = HashSet::new();
    skips.retain(|skip| seen.insert((skip.filesystem.clone(), skip.scenario.clone())));
    skips
}

/// On this machine's own kernel no error may stop it.
fn panics(kind: &dyn Filesystem, candidate: &Candidate, testbed: &dyn Testbed) -> Option<String> {
    match testbed.traits().guest {
        true => None,
        false => filesystems::accept_on_host(kind, &candidate.variant).err(),
    }
}

/// A workload that fills the whole filesystem would affect other users of an existing one.
fn not_ours(scenario: &Scenario) -> String {
    let label = &scenario.label;
    format!(
        "{label} fills a whole filesystem, but this filesystem also has other users' data\n  try: --on loop, \
         or --on vm"
    )
}

fn no_program(scenario: &Scenario, program: &str) -> String {
    format!(
        "there is no {program} on this machine, which {} runs\n  try: apt-get install {}",
        scenario.label,
        package(program)
    )
}

/// Guests have the tools of filesystems and no other programs.
fn no_programs(scenario: &Scenario) -> String {
    format!(
        "{} runs programs of this machine, which a guest bundle does not have\n  try: without --guest",
        scenario.label
    )
}

/// The workload would fill what others use too.
fn too_full(scenario: &Scenario, peak: Bytes, testbed: &str, free: Bytes) -> String {
    let label = &scenario.label;
    format!(
        "{label} has up to {peak} of files at a time, too much for {testbed}, which has {free} free\n  try: \
         --scale, or another directory"
    )
}

/// A testbed without mkfs has no second disk either.
fn no_disk(scenario: &Scenario, testbed: &str) -> String {
    format!(
        "{workload} copies from a second disk, which {testbed} does not have\n  try: --on loop, --on vm, or \
         --on model:DISK",
        workload = scenario.label
    )
}

fn skip(candidate: &Candidate, scenario: &Scenario, reason: String, by_experiment: bool) -> Skip {
    Skip { filesystem: candidate.label.clone(), scenario: scenario.label.clone(), reason, by_experiment }
}

/// Checks the kernel and the tools.
fn machine(kind: &dyn Filesystem, testbed: &dyn Testbed) -> Option<String> {
    if let Err(missing) = testbed.serves(&kind.kernel()) {
        return Some(missing.to_string());
    }
    let missing = filesystems::tools(kind).iter().find_map(|program| testbed.tool(program).err())?;
    if testbed.guests().is_some_and(|guests| guests.starts().bundle_id().is_some()) {
        return Some(missing.to_string());
    }
    Some(format!("{}\n  try: apt-get install {}", missing.what, kind.package()))
}

fn size(kind: &dyn Filesystem, size: Bytes) -> Option<String> {
    let fits = kind.size();
    let (name, smallest, largest) = (kind.name(), fits.start(), fits.end());
    if size < *smallest {
        Some(format!(
            "an image of {size} is too small for {name}, which needs {smallest}\n  try: --size {}",
            smallest.written()
        ))
    } else if size > *largest {
        Some(format!(
            "an image of {size} is too large for {name}, whose limit is {largest}\n  try: --size {}",
            largest.written()
        ))
    } else {
        None
    }
}

/// A scenario's requirements on any filesystem.
struct Asked {
    needs: Needs,
    /// The most live bytes of any seed it was asked of.
    peak: Bytes,
    /// What the workload's files may take of the volume.
    room: Bytes,
    /// The share of the filesystem that its state leaves free.
    left: f64,
    /// The first work that needs preallocation; may be the state's.
    preallocates: Option<String>,
    /// A program of this machine that a work names and that is not here.
    missing: Option<String>,
}

impl Asked {
    /// For all its works: in the integrity check all their files exist at once.
    fn of(plan: &Resolved<'_>, candidate: &Candidate, scenario: &Scenario, device: Bytes) -> Self {
        let left = plan.of_candidate(candidate).state.leaves();
        let room = Bytes((device.0 as f64 * ROOM * left) as u64);
        let mut asked =
            Asked { needs: Needs::default(), peak: Bytes(0), room, left, preallocates: None, missing: None };
        let works = &plan.laid(candidate, scenario).works;
        for LaidWork { planned, work, .. } in works {
            let needs = work.needs();
            asked.needs.hard_links |= needs.hard_links;
            asked.needs.symlinks |= needs.symlinks;
            asked.needs.whole_filesystem |= needs.whole_filesystem;
            asked.needs.source |= needs.source;
            asked.needs.programs |= needs.programs;
            asked.needs.owners |= needs.owners;
            let missing = work.programs().into_iter().find(|name| programs::find(name).is_none());
            asked.missing = asked.missing.or_else(|| missing.map(str::to_owned));
            if needs.preallocation {
                asked.preallocates.get_or_insert_with(|| planned.label.clone());
            }
            asked.needs.largest_file = asked.needs.largest_file.max(needs.largest_file);
        }
        let peak = |round| {
            let seed = plan.workload_seed(round);
            let each = works.iter().map(|laid| clients::expected(&*laid.work, seed, laid.clients).bytes_peak);
            Bytes(each.fold(0, u64::saturating_add))
        };
        // Seeds differ by less than twofold: only near the limit is each one's peak worth its time.
        let near = Bytes(room.0 / 2);
        asked.peak = peak(1);
        if asked.peak > near {
            let others = [0].into_iter().chain(2..=plan.rounds.at_least().min(MOST_ROUNDS));
            asked.peak = others.map(peak).fold(asked.peak, Bytes::max);
        }
        asked
    }
}

fn needs(kind: &dyn Filesystem, device: Bytes, scenario: &Scenario, asked: &Asked) -> Option<String> {
    let (Asked { needs, peak, room, left, preallocates, .. }, can) = (asked, kind.can());
    let lacks = |what: &str| {
        Some(format!(
            "{filesystem} has no {what}, which {workload} needs",
            filesystem = kind.name(),
            workload = scenario.label
        ))
    };
    if needs.hard_links && !can.hard_links.value {
        return lacks("hard links");
    }
    if needs.symlinks && !can.symlinks.value {
        return lacks("symbolic links");
    }
    if needs.owners && !can.modes.value {
        return lacks("owners and permission bits");
    }
    if let (Some(work), false) = (preallocates, can.preallocation.value) {
        return Some(format!(
            "{filesystem} has no preallocation (fallocate), which {work} needs",
            filesystem = kind.name()
        ));
    }
    if needs.largest_file > can.largest_file.value {
        return lacks(&format!("files of {}", needs.largest_file));
    }
    if peak > room {
        let of = if *left < 1.0 {
            format!(", of which the initial state leaves {:.0}% free", left * 100.0)
        } else {
            String::new()
        };
        let text = format!(
            "{workload} has up to {peak} of files at a time, too much for an image of {device}{of}",
            workload = scenario.label
        );
        return Some(format!("{text}\n  try: --size or --scale"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::experiment::Experiment;
    use crate::testbeds::Made;

    /// The skips of these works on a directory of a memory filesystem, by scenario.
    fn on_a_directory(works: &str) -> Vec<(String, String)> {
        let on = "directory:/proc/self";
        let text = format!("on = '{on}'\n{works}");
        let experiment = Experiment::parse(&text, "test").unwrap();
        let plan = experiment.plan(on.into(), 7).unwrap();
        let made = Made::of(&plan).unwrap();
        let skips = skips(&Resolved::of(&plan).unwrap(), &made.testbeds());
        assert!(skips.iter().all(|skip| skip.by_experiment), "{skips:#?}");
        skips.into_iter().map(|skip| (skip.scenario, skip.reason)).collect()
    }

    #[test]
    fn a_full_directory_skips_each_cell_once_for_the_reason_that_room_would_not_mend() {
        // Nothing is free in /proc.
        for (work, told) in [
            ("fill-80", "fills a whole filesystem"),
            ("postmark-quick", "too much for directory:/proc/self"),
            ("fileserver-2006", "too much for directory:/proc/self"),
        ] {
            let skips = on_a_directory(&format!("workloads = ['{work}', 'maildir-quick']"));
            assert_eq!(skips.len(), 2, "{work}: {skips:#?}");
            let of = skips.iter().find(|(scenario, _)| scenario == work).unwrap();
            assert!(of.1.contains(told), "{work}: {skips:#?}");
        }
    }
}
