//! What a report says first: what was raced, where, how often, and what may be concluded.

use std::collections::BTreeSet;

use serde::Serialize;

use super::number::{count, list};
use super::summary::{WorkloadSummary, counted};
use crate::agent::protocol::{Dev, ImageState, Role};
use crate::filesystems::Variant;
use crate::lab::plan::{Entrant, Plan};
use crate::store::Run;
use crate::store::record::{Outcome, Record};
use crate::units::Bytes;

/// Fewer complete rounds than this are a look, not a verdict.
pub const ROUNDS_NEEDED: usize = 5;

#[derive(Clone, Debug, Serialize)]
pub struct Heading {
    pub name: String,
    /// The question, as the experiment's author put it; may be empty.
    pub question: String,
    pub standing: Standing,
    /// The standing in a few words.
    pub title: &'static str,
    /// What was raced, where, how often, and what may be concluded.
    pub sentences: Vec<String>,
    pub next: Option<Next>,
    /// The same plan once more.
    pub repeat: String,
}

/// How much the run carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// No trial counts.
    Nothing,
    /// Too few complete rounds for a verdict.
    Look,
    /// Enough rounds for medians and ranges; findings are the verdict's.
    Medians,
}

/// What brings the rounds that are missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Next {
    pub command: String,
    /// How long it will take, rounded up; absent where no trial has told.
    pub minutes: Option<u64>,
}

pub fn of(run: &Run, filesystems: &[String], workloads: &[WorkloadSummary]) -> Heading {
    let complete = workloads.iter().map(|w| w.rounds).min().unwrap_or(0);
    let standing = match complete {
        _ if counted(run).is_empty() => Standing::Nothing,
        n if n < ROUNDS_NEEDED => Standing::Look,
        _ => Standing::Medians,
    };
    let next = (standing == Standing::Look).then(|| next(run, complete));
    let mut sentences: Vec<String> = emulated(run).into_iter().collect();
    sentences.extend([raced(run, filesystems, workloads), place(run), trials(run)]);
    sentences.extend(page_cache(workloads));
    sentences.push(conclusion(standing, complete, next.as_ref()));
    Heading {
        name: run.plan.name.clone(),
        question: run.plan.analysis.clone(),
        standing,
        title: title(standing),
        sentences,
        next,
        repeat: repeat(&run.plan),
    }
}

/// Rounds in which every filesystem that ever did this work has a trial that counts.
///
/// A filesystem that is skipped or fails each time is out of the race and does not make a round incomplete.
pub fn complete_rounds(counted: &[&Record]) -> usize {
    let contenders: BTreeSet<&str> = counted.iter().map(|r| r.filesystem.as_str()).collect();
    let rounds: BTreeSet<u32> = counted.iter().map(|r| r.round).collect();
    let seen: BTreeSet<(u32, &str)> = counted.iter().map(|r| (r.round, r.filesystem.as_str())).collect();
    rounds.iter().filter(|round| contenders.iter().all(|c| seen.contains(&(**round, *c)))).count()
}

fn title(standing: Standing) -> &'static str {
    match standing {
        Standing::Nothing => "Nothing was measured",
        Standing::Look => "A look, not a verdict",
        Standing::Medians => "Medians and ranges",
    }
}

fn raced(run: &Run, filesystems: &[String], workloads: &[WorkloadSummary]) -> String {
    let did: BTreeSet<&str> = counted(run).iter().map(|r| r.filesystem.as_str()).collect();
    let rounds = counted(run).iter().map(|r| r.round).collect::<BTreeSet<u32>>().len();
    let works: Vec<String> = workloads.iter().map(|w| w.label.clone()).collect();
    let of =
        if did.len() == filesystems.len() { String::new() } else { format!(" of {}", filesystems.len()) };
    if did.is_empty() {
        let all = count(filesystems.len(), "filesystem");
        return format!("{all} were to be given the same work ({}), and none could do it.", list(&works));
    }
    let verb = if did.len() == 1 { "filesystem was given" } else { "filesystems were given" };
    format!(
        "{}{of} {verb} the same work ({}) in {}; in each round they took their turns in a random order.",
        did.len(),
        list(&works),
        count(rounds, "round"),
    )
}

fn place(run: &Run) -> String {
    let (plan, machine) = (&run.plan, &run.machine);
    let memory = match plan.memory {
        Some(memory) => format!("{memory} of memory for page cache and workload"),
        None => format!("all of the machine's {} of memory", machine.memory),
    };
    let cold = if plan.cold { ", with empty caches at the start" } else { "" };
    let cpu = if machine.cpu.is_empty() { "an unnamed processor" } else { &machine.cpu };
    let cpus = count(machine.cpus as usize, "CPU");
    format!("{}, {memory}{cold}; Linux {} on {cpu} ({cpus}).", site(run), machine.kernel)
}

/// Why no time is shown, and what would give times.
fn emulated(run: &Run) -> Option<String> {
    run.records.iter().find(|r| !r.fidelity.times_count())?;
    let here = repeat(&Plan { ground: "loop".into(), ..run.plan.clone() });
    Some(format!(
        "The CPU was emulated, so no time would say anything about a real machine and none is shown: requests, bytes, flushes and \
         capacity are compared. The same run on a machine with KVM gives times; so does, as root and for the filesystems of this \
         machine's own kernel: {here}"
    ))
}

/// What each trial finds.
fn site(run: &Run) -> String {
    let plan = &run.plan;
    if run.records.iter().any(|r| matches!(r.device, Dev::Folder { .. })) {
        return format!(
            "Each trial gets a new folder on ground {}, on the filesystem that is there",
            plan.ground
        );
    }
    let image = match plan.image {
        ImageState::Sparse => "sparse",
        ImageState::Allocated => "allocated",
        ImageState::Written => "written once",
    };
    let (size, ground) = (plan.size, &plan.ground);
    format!(
        "Each trial gets a filesystem freshly made in a window of {size} on ground {ground} (image: {image})"
    )
}

fn trials(run: &Run) -> String {
    let current: Vec<&Record> = run.current().into_iter().filter(|r| r.role == Role::Measure).collect();
    let with = |outcome: Outcome| current.iter().filter(|r| r.outcome == outcome).count();
    let mut rest = Vec::new();
    for outcome in [Outcome::Failed, Outcome::Void, Outcome::Skipped] {
        if with(outcome) > 0 {
            rest.push(format!("{} {}", with(outcome), outcome.name()));
        }
    }
    let measured = run.records.iter().filter(|r| r.role == Role::Measure).count();
    let repeated = measured - current.len();
    if repeated > 0 {
        rest.push(format!("{repeated} repeated"));
    }
    let n = with(Outcome::Done);
    let verb = if n == 1 { "counts" } else { "count" };
    match rest.as_slice() {
        [] => format!("{} {verb}; none failed, none was void.", count(n, "trial")),
        rest => format!(
            "{} {verb}; not counted and listed with their reasons: {}.",
            count(n, "trial"),
            list(rest)
        ),
    }
}

fn page_cache(workloads: &[WorkloadSummary]) -> Vec<String> {
    let marked = workloads.iter().filter(|w| !w.page_cache.is_empty());
    marked
        .map(|w| format!("{} measures page cache and CPU, not the disk: {}.", w.label, w.page_cache))
        .collect()
}

fn conclusion(standing: Standing, complete: usize, next: Option<&Next>) -> String {
    match (standing, next) {
        (Standing::Nothing, _) => {
            "No trial counts, so nothing can be said; the reasons are listed.".to_owned()
        }
        (Standing::Look, Some(next)) => {
            let time = next.minutes.map(|m| format!(" in about {}", count(m as usize, "minute")));
            format!(
                "This is a look, not a verdict: {} of the {ROUNDS_NEEDED} that a verdict needs {} complete. The \
                 missing ones come{} with this command:",
                count(complete, "round"),
                if complete == 1 { "is" } else { "are" },
                time.unwrap_or_default(),
            )
        }
        _ => "Medians and ranges are given, with every single trial; findings come with the verdict."
            .to_owned(),
    }
}

fn next(run: &Run, complete: usize) -> Next {
    let folder = run.folder.to_string_lossy();
    let command = format!("fsderby run --resume {} --rounds {ROUNDS_NEEDED}", quoted(&folder));
    Next { command, minutes: minutes_for(run, ROUNDS_NEEDED - complete) }
}

/// From the host's time of the rounds so far, over all workloads; rounded up.
fn minutes_for(run: &Run, rounds: usize) -> Option<u64> {
    let measured = || run.records.iter().filter(|r| r.role == Role::Measure && r.outcome != Outcome::Skipped);
    let so_far = measured().map(|r| r.round).collect::<BTreeSet<u32>>().len() as u64;
    let host_ns: u64 = measured().map(|r| r.circumstances.host_ns).sum();
    if so_far == 0 || host_ns == 0 {
        return None;
    }
    Some((host_ns / so_far * rounds as u64).div_ceil(60_000_000_000))
}

/// The command line that expands to the same plan.
fn repeat(plan: &Plan) -> String {
    let mut words = vec!["fsderby run".to_owned()];
    words.extend(plan.entrants.iter().map(|e| format!("--filesystem {}", quoted(&entrant(e)))));
    let works: Vec<&str> = plan.workloads.iter().map(|w| w.label.as_str()).collect();
    words.push(format!("--workloads {}", quoted(&works.join(","))));
    words.push(format!("--ground {}", quoted(&plan.ground)));
    words.push(format!("--size {}", size(plan.size)));
    words.extend(plan.memory.map(|m| format!("--memory {}", size(m))));
    words.push(format!("--rounds {}", plan.rounds.at_least()));
    words.push(format!("--margin {}", plan.margin));
    words.push(format!("--seed {}", plan.plan_seed));
    words.join(" ")
}

/// `KIND label="no atime" mount=noatime`
fn entrant(entrant: &Entrant) -> String {
    let Variant { mkfs, mount, conversion } = &entrant.variant;
    let mut words = vec![entrant.kind.clone()];
    if entrant.label != entrant.kind {
        words.push(format!("label={:?}", entrant.label));
    }
    if !mount.is_empty() {
        words.push(format!("mount={}", mount.join(",")));
    }
    if !mkfs.is_empty() {
        words.push(format!("mkfs={:?}", mkfs.join(" ")));
    }
    if *conversion {
        words.push("conversion".to_owned());
    }
    words.join(" ")
}

/// `2g`: the units of the command line.
fn size(bytes: Bytes) -> String {
    const STEPS: [(u32, &str); 4] = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
    let step = STEPS.iter().find(|(power, _)| bytes.0 > 0 && bytes.0.is_multiple_of(1 << power));
    step.map_or_else(|| bytes.0.to_string(), |(power, unit)| format!("{}{unit}", bytes.0 >> power))
}

/// For a shell: in single quotes where it needs them.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell_only_where_needed() {
        assert_eq!(quoted("a,b-c"), "a,b-c");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
        assert_eq!(quoted(""), "''");
    }

    fn complete(run: &Run, work: &str) -> usize {
        let counted: Vec<&Record> = counted(run).into_iter().filter(|r| r.workload == work).collect();
        complete_rounds(&counted)
    }

    #[test]
    fn a_failed_trial_leaves_its_round_incomplete_and_a_repeated_one_does_not() {
        let example = example::example();
        assert_eq!(complete(&example.run, example::WORKS[0]), 5);
    }

    #[test]
    fn a_filesystem_that_never_did_the_work_leaves_no_round_incomplete() {
        let example = example::example();
        assert_eq!(complete(&example.run, example::WORKS[1]), 6);
    }

    #[test]
    fn the_missing_rounds_are_priced_by_those_that_were_made() {
        let example = example::rounds(2);
        // 14 trials a round, 31 s each, and three rounds missing: 1302 s.
        assert_eq!(minutes_for(&example.run, 3), Some(22));
        assert_eq!(minutes_for(&example::all_skipped().run, 5), None);
    }

    #[test]
    fn sizes_are_written_as_they_are_typed() {
        assert_eq!(size(Bytes(2 << 30)), "2g");
        assert_eq!(size(Bytes(512 << 20)), "512m");
        assert_eq!(size(Bytes(2_147_450_880)), "2097120k");
        assert_eq!(size(Bytes(1001)), "1001");
    }
}
