//! What a dry run says of a plan: its parts in words, a trial with its commands.

use std::iter;

use crate::filesystems::adds_stored;
use crate::report::view::number::{count, named};
use crate::runner::experiment::scaled;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::scenarios;
use crate::runner::preflight::pace::{self, Pace, Time};
use crate::runner::preflight::skips::Skip;
use crate::schema::candidate::said;
use crate::schema::job::{Job, Portion, Step, WorkJob};
use crate::schema::plan::{Candidate, Plan, PlannedWork, Setup, Trial};
use crate::schema::scenario::Stage;
use crate::schema::setup::{Fidelity, Mount};
use crate::schema::units::Bytes;
use crate::storage::layers;
use crate::testbeds::Testbeds;
use crate::workloads::fio;

/// How a dry run is printed.
#[derive(Clone, Copy)]
pub struct Shown {
    pub as_json: bool,
    /// Whether every command of every trial is printed too. JSON always has the jobs.
    pub is_verbose: bool,
}

/// The end of a dry run without commands; `reproduce` has no such option.
pub const VERBOSE: &str = " With --verbose, every command is printed.";

pub const LACKS_ONE: &str =
    "The estimate leaves out data of unknown size: of programs, and of workloads that fill the volume.";

/// The plan and what is skipped of it.
pub fn about(plan: &Resolved<'_>, testbeds: &Testbeds<'_>, skips: &[Skip]) -> Vec<String> {
    iter::once(what(plan)).chain(conditioning(plan, testbeds)).chain(lines_of(skips)).collect()
}

/// `skipped ext4 × mailserver: …`
pub fn lines_of(skips: &[Skip]) -> impl Iterator<Item = String> {
    let line = |(who, why): (String, String)| format!("skipped {who}: {}", why.replace("\n  try:", "; try:"));
    reasons(skips).into_iter().map(line)
}

/// Bytes that are not written by workloads.
pub fn besides(filled: u64, resets: u64) -> String {
    let besides = [("to fill filesystems before them", filled), ("by resets of the volume", resets)];
    let besides = besides.iter().filter(|(_, bytes)| *bytes > 0);
    besides.map(|(what, bytes)| format!(" and {} {what}", Bytes(*bytes))).collect()
}

/// A trial with its commands.
pub fn verbose(plan: &Resolved<'_>, trial: &Trial<'_>, testbeds: &Testbeds<'_>, job: &Job) -> String {
    let steps: String = job.steps.iter().map(|step| format!("\n  {}", shown(step, job))).collect();
    let built = built(plan, trial, testbeds);
    let steps = steps.replacen("\n  reset", &format!("\n  reset{built}"), 1);
    let differ = plan.setups().len() > 1;
    let setup = in_words(&plan.setup(trial.candidate));
    let setup = if differ { format!("\n  {:<16} {setup}", "setup") } else { String::new() };
    format!("{}{setup}{steps}", job.trial)
}

/// Candidates, workloads, testbeds and size of the volume.
fn what(plan: &Resolved<'_>) -> String {
    let testbeds = plan.testbeds().join(" and ");
    let cut =
        scenarios::given(plan).1.map_or_else(String::new, |cut| format!(", with a power cut after {cut}"));
    let guard = plan.guard.as_ref();
    let labels = plan.candidates.iter().map(|candidate| candidate.label.as_str());
    let candidates = labels.filter(|label| guard.is_none_or(|guard| guard.copy != *label));
    let twice = guard.map(|guard| guard.of.as_str());
    format!(
        "The experiment “{experiment}” has {filesystems}{twice} and {scenarios}{cut} on {testbeds}, with volumes of {size}.",
        experiment = plan.name,
        filesystems = listed(candidates, "filesystem"),
        twice = twice.map(|of| format!(", {} twice for the A/A check,", named(of))).unwrap_or_default(),
        scenarios = listed(plan.scenarios.iter().map(|scenario| scenario.label.as_str()), "workload"),
        size = plan.size
    )
}

/// Their number, with the names of a few.
fn listed<'n>(names: impl Iterator<Item = &'n str>, what: &str) -> String {
    const MOST: usize = 6;
    let names: Vec<&str> = names.collect();
    let between = if names.iter().any(|name| name.contains(',')) { "; " } else { ", " };
    let more = if names.len() > MOST { format!("{between}…") } else { String::new() };
    format!("{} ({}{more})", count(names.len(), what), names[..names.len().min(MOST)].join(between))
}

/// What a run with these options can no longer test or guarantee, and what figures of its job files do not mean.
pub fn notes(plan: &Plan, took: Time) -> Vec<String> {
    let of_job = |work: &PlannedWork| {
        fio::notes(&work.work).into_iter().map(|text| format!("{}: {text}", work.label)).collect::<Vec<_>>()
    };
    let scaled = scaled::no_longer_tested(plan).into_iter().chain(pace::beyond_budget(plan, took));
    scaled.chain(plan.workloads.iter().flat_map(of_job)).collect()
}

/// A length of seconds: `16 min`, from two hours `2.4 h`.
pub fn long(seconds: u64) -> String {
    if seconds < 7200 {
        format!("{} min", seconds.div_ceil(60))
    } else {
        format!("{:.1} h", seconds as f64 / 3600.0)
    }
}

/// The basis of the time estimate, as a sentence.
pub fn guessed(paces: &[&Pace], copies: bool, at_once: usize) -> String {
    let of = |pace: &&Pace| {
        let Pace { mib_a_second, operations_a_second, fsyncs_a_second, overhead, .. } = pace;
        let copied = match copies {
            true => format!(" ({} for copies from a second disk)", pace.copied_mib_a_second),
            false => String::new(),
        };
        let whose = match **pace == pace::EMULATED {
            true => ", on an emulated CPU",
            false => " (not measured on this machine: a hard disk may take many times as long)",
        };
        format!(
            "{mib_a_second} MiB/s{copied}, {operations_a_second} operations/s, {fsyncs_a_second} fsyncs/s and {seconds} s of overhead per \
             trial{whose}",
            seconds = overhead.as_secs_f64()
        )
    };
    let from = paces.iter().map(of).collect::<Vec<_>>().join("; ");
    let at_once = if at_once > 1 { format!(", {at_once} trials at the same time") } else { String::new() };
    format!("The time estimate assumes {from}{at_once}.")
}

/// `vm:kernel=6.1 cpus=2, 64 MiB of memory`
fn in_words(setup: &Setup<'_>) -> String {
    let memory = setup.memory.map_or_else(String::new, |memory| format!(", {memory} of memory"));
    let layers = match setup.layers {
        [] => String::new(),
        layers => format!(", {}", said(layers)),
    };
    format!("{}{memory}{layers}", setup.name())
}

pub fn reasons(skips: &[Skip]) -> Vec<(String, String)> {
    skips.iter().map(|s| (format!("{} × {}", s.filesystem, s.scenario), s.reason.clone())).collect()
}

fn shown(step: &Step, job: &Job) -> String {
    let name = step.name();
    let what = match step {
        Step::Make { argv } | Step::Revert { argv } => argv.join(" "),
        Step::Check { check, .. } | Step::ForcedCheck { check, .. } => check.argv.join(" "),
        Step::Repair { check } => check.argv.join(" "),
        Step::Source { make, .. } => {
            let make = make.iter().map(|argv| argv.join(" ")).collect::<Vec<_>>().join("; ");
            format!("{make}, filled, mounted read-only")
        }
        Step::Work { work } => job.works.get(*work).map(worked).unwrap_or_default(),
        Step::Own { stage } => Stage::Other(stage.clone()).to_string(),
        Step::Cool { mount: Some(_) } => "unmount, and mount again".to_owned(),
        Step::Cool { mount: None } => "drop the page cache of all files; as root, drop all caches".to_owned(),
        Step::Mount { mount: Mount::Command { argv, .. } }
        | Step::MountAgain { mount: Mount::Command { argv, .. } } => argv.join(" "),
        Step::Mount { mount: Mount::Syscall { fstype, options: given } }
        | Step::MountAgain { mount: Mount::Syscall { fstype, options: given } } => {
            let options = if given.is_empty() { String::new() } else { format!(" -o {}", given.join(",")) };
            // What the superblock stores is known only after mkfs.
            let stored = match !job.guest && adds_stored(fstype, given) {
                true => ", with errors= as stored by mkfs",
                false => "",
            };
            format!("mount -t {fstype}{options} {{device}} {{mountpoint}}{stored}")
        }
        _ => String::new(),
    };
    format!("{name:<16} {what}").trim_end().to_owned()
}

/// What preconditioning writes to a claimed disk.
fn conditioning(plan: &Resolved<'_>, testbeds: &Testbeds<'_>) -> Option<String> {
    let is_real = |c: &Candidate| {
        let fidelity = testbeds.of(plan, c).traits().fidelity;
        fidelity == Fidelity::Device && plan.of_candidate(c).state.preconditions()
    };
    let candidate = plan.candidates.iter().find(|c| is_real(c))?;
    let [once, each] = crate::agent::conditioning(plan.setup(candidate).size);
    let disks = match testbeds.of(plan, candidate).disks() {
        1 => "the disk".to_owned(),
        many => format!("each of the {many} disks"),
    };
    Some(format!(
        "Preconditioning writes at most {once} to {disks} before the first trial, and {each} before each trial."
    ))
}

/// How the reset prepares the disks before mkfs.
fn built(plan: &Resolved<'_>, trial: &Trial<'_>, testbeds: &Testbeds<'_>) -> String {
    let testbed = testbeds.of(plan, trial.candidate);
    let disks: Vec<String> = (0..testbed.disks()).map(|n| format!("{{disk{n}}}")).collect();
    let commands =
        layers::commands(&plan.of_candidate(trial.candidate).layers, &disks, plan.size, &testbed.owner());
    commands.iter().map(|argv| format!("\n  {:<16} {}", "layer", argv.join(" "))).collect()
}

/// The stage's workload and part.
fn worked(WorkJob { work, folder, portion, clients, .. }: &WorkJob) -> String {
    let Portion { part, stop_after, .. } = portion;
    let words = [
        folder.as_ref().map(|folder| format!("{} in {folder}", work.engine)),
        part.as_ref().map(|part| format!("its part {part}")),
        stop_after.map(|n| format!("stopped after operation {n}")),
        (*clients > 1).then(|| format!("by {clients} clients in parallel")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guess_says_what_it_rests_on_for_each_kind_of_cpu() {
        let native = Pace::of(Fidelity::Loop);
        assert_eq!(
            guessed(&[native], false, 1),
            "The time estimate assumes 150 MiB/s, 20000 operations/s, 400 fsyncs/s and 0.8 s of overhead per trial \
             (not measured on this machine: a hard disk may take many times as long)."
        );
        let both = guessed(&[native, Pace::of(Fidelity::Model)], true, 2);
        assert!(
            both.contains(
                "; 64 MiB/s (13 for copies from a second disk), 2500 operations/s, 200 fsyncs/s and 5 s"
            ),
            "{both}"
        );
        assert!(both.ends_with("on an emulated CPU, 2 trials at the same time."), "{both}");
    }
}
