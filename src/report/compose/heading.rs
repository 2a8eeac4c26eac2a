//! The heading of a report: the candidates, the setup, the rounds, and how sure the result is.

use std::collections::{BTreeMap, BTreeSet};

use super::progress::Progress;
use super::warnings::{NAMED, disturbed, page_cache, short, these};
use super::{
    absent, confounded, durability, glance, memory, model, places, repeat, same, sentence, setups, stopping,
    timeless, untested, verdict,
};
use crate::analysis::dataset::counted;
use crate::analysis::elapsed::elapsed;
use crate::analysis::evidence::Coverage;
use crate::analysis::stationary;
use crate::report::view::floor;
use crate::report::view::heading::{Heading, Next, Standing};
use crate::report::view::needs::ToChoose;
use crate::report::view::number::{count, list, minutes_or_hours, named};
use crate::report::view::sentence::Sentence;
use crate::report::view::setups::Setups;
use crate::report::view::workload::WorkloadSummary;
use crate::runner::experiment::{longer, scaled, typed};
use crate::schema::candidate::said;
use crate::schema::finding::{Found, Verdict};
use crate::schema::job::Purpose;
use crate::schema::plan::Candidate;
use crate::schema::reason::{Outcome, Reason};
use crate::schema::record::Record;
use crate::schema::setup::{ClockKind, Fidelity, ImageState};
use crate::store::Run;

const MEDIANS: &str = "Medians and ranges only: differences are not tested.";

/// How conclusive the run is.
pub fn standing(run: &Run, workloads: &[WorkloadSummary], verdict: &Verdict, progress: Progress) -> Standing {
    let is_short = !workloads.is_empty() && workloads.iter().all(|work| work.is_short);
    match progress {
        _ if counted(run).is_empty() => Standing::Nothing,
        _ if verdict.is_void() => Standing::Void,
        p if p.is_unfinished() => Standing::Preliminary,
        _ if verdict.is_final() && is_short => Standing::Short,
        _ if verdict.is_final() => Standing::Verdict,
        p if !verdict.findings.is_empty() && !p.is_modelled => Standing::Preliminary,
        _ => Standing::Medians,
    }
}

pub fn of(
    run: &Run,
    filesystems: &[String],
    workloads: &[WorkloadSummary],
    setups: &Setups,
    verdict: &Verdict,
    (standing, progress): (Standing, Progress),
    choosing: Option<&ToChoose>,
) -> Heading {
    let next = match standing {
        Standing::Preliminary | Standing::Short if run.plan.shard.is_some() => Some(merge()),
        Standing::Preliminary if !progress.is_fixed => Some(next(run, progress)),
        Standing::Short => longer(run),
        _ => None,
    };
    let same = same::of(run, verdict, standing);
    let (answer, findings) = match (standing, &verdict.guard) {
        (Standing::Verdict | Standing::Short, _) => {
            let counts = verdict::counts(verdict).into_iter().map(Sentence::from);
            (verdict::answer(workloads, verdict), counts.chain(places::changed(run, workloads)).collect())
        }
        (Standing::Void, Some(guard)) => (vec![verdict::void(guard).into()], Vec::new()),
        _ => (Vec::new(), Vec::new()),
    };
    let untested = untested::of(run).into_iter().filter(|_| standing != Standing::Void).map(Sentence::from);
    let answer: Vec<Sentence> = untested.chain(answer).collect();
    let choice = choosing.filter(|_| standing.may_recommend());
    let choice = choice.map(|choosing| choosing.brief.clone()).unwrap_or_default();
    let mut sentences = vec![compared(run, filesystems, workloads, setups), place(run, setups), trials(run)];
    sentences.extend(verdict.guard.as_ref().filter(|_| is_claimed(run)).map(same::credible));
    sentences.extend(clients(workloads));
    if progress.is_modelled {
        sentences.push(model::LIMITS.to_owned());
        sentences.extend(model::coverage(run).map(Coverage::said));
    }
    let lacks = progress.lacks(taking_part(run).len() > 1, run.plan.needs.is_some());
    let conclusion = match (&run.plan.shard, standing) {
        (Some(shard), Standing::Preliminary | Standing::Short) => format!(
            "{lacks} This run is shard {shard} of its plan. fsderby run --resume continues an unfinished shard. For \
             the result of the plan, merge all complete shards:"
        )
        .trim_start()
        .to_owned(),
        (_, Standing::Short) => too_short(run, workloads, next.as_ref()),
        _ => conclusion(standing, progress, next.as_ref(), &lacks),
    };
    let timeless = timeless::of(run);
    let warnings = timeless.iter().map(|why| why.said.clone()).chain(setups.apart.iter().cloned());
    let did = taking_part(run);
    let warnings = warnings
        .chain(page_cache(workloads))
        .chain(scaled::no_longer_tested(&run.plan))
        .chain(model::schedule(run))
        .chain(short(workloads, standing))
        .chain(disturbed(workloads));
    let sure = match standing {
        Standing::Nothing => vec![sentences[0].clone()],
        _ => standing
            .has_findings()
            .then(|| sentence::certainty(verdict, rounds(run), standing))
            .into_iter()
            .chain(same.said)
            .chain([turns(run, filesystems, setups, standing, same.is_twice_said)])
            .chain(stopping::of(run, verdict))
            .chain(confounded::in_run(&run.plan, |label| did.contains(label)))
            .chain([terms(run, setups)])
            .chain(floor::shifts(&verdict.findings).filter(|_| standing.has_findings()))
            .chain(model::unsupported(run))
            .collect(),
    };
    Heading {
        name: run.plan.name.clone(),
        question: run.plan.analysis.trim().to_owned(),
        standing,
        title: title(run, (standing, progress), workloads, verdict, timeless.is_some(), did.len()),
        choice,
        claims: answer.iter().flat_map(|sentence| sentence.claims.clone()).collect(),
        answer,
        sure,
        durability: durability::unranked(&run.plan, workloads),
        table: glance::of(workloads, is_on_models(run)).filter(|_| standing != Standing::Void),
        more: more(run),
        findings,
        conclusion,
        warnings: warnings.chain(durability::unequal(&run.plan, workloads)).collect(),
        sentences,
        next,
        repeat: repeat::of(&run.plan, makes_filesystem(run)),
    }
}

/// Whether every counted trial ran on a modelled disk, whose counts are more certain than its times.
fn is_on_models(run: &Run) -> bool {
    counted(run).iter().all(|record| record.clock == ClockKind::Virtual)
}

/// The command that shows the rest.
fn more(run: &Run) -> String {
    let folder = run.folder.to_string_lossy();
    format!("fsderby report {} --all", shell_words::quote(&folder))
}

/// A longer version of the work, on the same filesystems and storage.
fn longer(run: &Run) -> Option<Next> {
    longer::than(run).map(|longer| Next { command: longer.command, minutes: Some(longer.minutes) })
}

fn title(
    run: &Run,
    (standing, progress): (Standing, Progress),
    workloads: &[WorkloadSummary],
    verdict: &Verdict,
    is_timeless: bool,
    taking_part: usize,
) -> String {
    let is_open = verdict.findings.iter().all(|finding| finding.finding == Found::CannotTell);
    let (what, why) = match standing {
        Standing::Nothing => ("Nothing was measured", String::new()),
        Standing::Preliminary => {
            return progress.title(taking_part > 1, model::is_model_only(run));
        }
        Standing::Short => ("Preliminary", ", because the trials are short".to_owned()),
        Standing::Verdict if is_open && !verdict.findings.is_empty() => ("No finding", partly(workloads)),
        Standing::Verdict => ("Verdict", partly(workloads)),
        Standing::Void => ("Void", String::new()),
        Standing::Medians => ("Medians and ranges", String::new()),
    };
    let counters =
        || (is_timeless && standing == Standing::Verdict).then_some(" over counters, without times");
    let basis = model::basis(run, standing).or_else(counters).unwrap_or_default();
    format!("{what}{basis}{why}")
}

/// What a verdict's title adds if the work of some of its workloads is short: `, preliminary for mail-short`.
fn partly(workloads: &[WorkloadSummary]) -> String {
    let short: Vec<&WorkloadSummary> = workloads.iter().filter(|work| work.is_short).collect();
    match short.len() {
        0 => String::new(),
        1..=NAMED => format!(", preliminary for {}", these(workloads, &short)),
        many => format!(", preliminary for {many} of {} workloads", workloads.len()),
    }
}

/// `3 filesystems` if all share one setup, `2 variants of oakfs` if they are of one kind.
fn number(run: &Run, number: usize, setups: &Setups) -> String {
    if setups.differ() {
        return count(number, "candidate");
    }
    let candidates = run.plan.candidates.iter().filter(|candidate| !is_copy(run, &candidate.label));
    let kinds: BTreeSet<&str> = candidates.map(|candidate| candidate.kind.as_str()).collect();
    match kinds.first() {
        Some(kind) if kinds.len() == 1 && number > 1 => {
            format!("{} of {kind}{}", count(number, "variant"), variants(run))
        }
        _ => count(number, "filesystem"),
    }
}

/// In brackets, what distinguishes the variants of one kind: ` (patched: mount=commit=1; base: no options)`.
fn variants(run: &Run) -> String {
    let options = |candidate: &Candidate| match typed::options(candidate) {
        none if none.is_empty() => "no options".to_owned(),
        some => some.join(" "),
    };
    let all: Vec<Candidate> = typed::given(&run.plan);
    let each: Vec<String> = all.iter().map(|one| format!("{}: {}", one.label, options(one))).collect();
    match all.iter().all(|one| typed::options(one).is_empty()) || all.len() > NAMED {
        true => String::new(),
        false => format!(" ({})", each.join("; ")),
    }
}

fn compared(run: &Run, filesystems: &[String], workloads: &[WorkloadSummary], setups: &Setups) -> String {
    let did = taking_part(run);
    let filesystems = candidates(run, filesystems);
    let works: Vec<String> = workloads.iter().map(|w| w.label.clone()).collect();
    let of = if did.len() == filesystems.len() { String::new() } else { format!("{} of ", did.len()) };
    if did.is_empty() {
        let all = number(run, filesystems.len(), setups);
        return format!(
            "{all} were planned with the same workloads ({}), but no trial was possible.",
            list(&works)
        );
    }
    let all = number(run, filesystems.len(), setups);
    format!(
        "{of}{all} ran {which} ({workloads}) in {rounds}, each round in random order.",
        which = count(works.len(), "workload"),
        workloads = list(&works),
        rounds = count(rounds(run), "round")
    )
}

fn taking_part(run: &Run) -> BTreeSet<&str> {
    counted(run).iter().map(|r| r.filesystem.as_str()).filter(|label| !is_copy(run, label)).collect()
}

fn candidates<'r>(run: &Run, filesystems: &'r [String]) -> Vec<&'r String> {
    filesystems.iter().filter(|label| !is_copy(run, label)).collect()
}

/// The copy in an A/A check is no candidate.
fn is_copy(run: &Run, label: &str) -> bool {
    run.plan.guard.as_ref().is_some_and(|twice| twice.copy == label)
}

/// `None` if all workloads have one client.
fn clients(workloads: &[WorkloadSummary]) -> Option<String> {
    let numbers: BTreeSet<u32> = workloads.iter().map(|w| w.clients).collect();
    numbers.iter().find(|n| **n > 1)?;
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let cpu = if workloads.iter().any(|w| w.on_one_cpu) {
        " All clients share the guest's one vCPU: the curve shows concurrency, not CPU scaling."
    } else {
        ""
    };
    Some(format!(
        "{} clients run in parallel, each with the whole workload in its own directory.{cpu}",
        list(&numbers)
    ))
}

fn rounds(run: &Run) -> usize {
    counted(run).iter().map(|r| r.round).collect::<BTreeSet<u32>>().len()
}

/// `3 of 4 filesystems (oakfs skipped: this kernel has no oakfs), 96 trials counted, 1 failed.` Without findings the number of
/// rounds comes first. `is_twice_said`: another sentence names the candidate that entered twice.
fn turns(
    run: &Run,
    filesystems: &[String],
    setups: &Setups,
    standing: Standing,
    is_twice_said: bool,
) -> String {
    let counted = counted(run);
    let did = taking_part(run);
    let filesystems = candidates(run, filesystems);
    let of = if did.len() == filesystems.len() { String::new() } else { format!("{} of ", did.len()) };
    let left: Vec<&str> = filesystems.iter().map(|l| l.as_str()).filter(|l| !did.contains(l)).collect();
    let left = absent::left_out(run, &left).map_or_else(String::new, |why| format!(" ({why})"));
    let twice = run.plan.guard.as_ref().filter(|_| !is_twice_said);
    let twice =
        twice.map(|twice| format!(" ({candidate} twice, for the A/A check)", candidate = named(&twice.of)));
    let all = format!("{}{left}{}", number(run, filesystems.len(), setups), twice.unwrap_or_default());
    let rest: String = uncounted(run).iter().map(|n| format!(", {n}")).collect();
    let trials = count(counted.len(), "trial");
    let rounds = match standing.has_findings() {
        true => String::new(),
        false => format!("{} in random order; ", count(rounds(run), "round")),
    };
    format!("{rounds}{of}{all}, {trials} counted{rest}.")
}

fn place(run: &Run, setups: &Setups) -> String {
    if setups.differ() {
        return differing(run, setups);
    }
    let plan = &run.plan;
    let memory = memory::in_full(run);
    let cold = if plan.cold { ", with cold caches when the workload begins" } else { "" };
    let state = plan.state.as_ref().map(|state| format!(", in the state '{state}' before the workload"));
    format!("{}, with {memory}{cold}{}. {}.", site(run), state.unwrap_or_default(), machine(run))
}

/// `Testbed loop: a new image of 1 GiB (space preallocated), 64 MiB of memory for workload and page cache, cold caches;
/// Linux 6.12 on Example 3000 (4 CPUs).`
fn terms(run: &Run, setups: &Setups) -> String {
    if setups.differ() {
        return differing(run, setups);
    }
    let plan = &run.plan;
    let volume = match (model::disk(run), makes_filesystem(run)) {
        (Some(disk), _) => layered(run, disk),
        (None, true) if is_claimed(run) => format!("{} of the claimed disk", plan.size),
        (None, true) => layered(run, format!("a new image of {} ({})", plan.size, state(plan.image))),
        (None, false) => "a new directory on the mounted filesystem".to_owned(),
    };
    let memory = memory::in_full(run);
    let cold = if plan.cold { ", cold caches" } else { "" };
    let state = plan.state.as_ref().map(|state| format!(", {state}")).unwrap_or_default();
    format!("Testbed {}: {volume}{state}, {memory}{cold}; {}.", plan.testbed, machine(run))
}

fn state(image: ImageState) -> &'static str {
    match image {
        ImageState::Sparse => "sparse",
        ImageState::Allocated => "space preallocated",
        ImageState::Written => "written once",
    }
}

/// The storage from the top layer down to the disks.
fn layered(run: &Run, disk: String) -> String {
    let layers = said(&run.plan.layers);
    let disks = run.records.iter().find_map(|record| record.top.as_ref()).map(|top| top.leaves.len());
    match disks {
        _ if run.plan.layers.is_empty() => disk,
        Some(1) => format!("{layers} on {disk}"),
        Some(disks) => format!("{layers} on {disks} disks, each {disk}"),
        None => format!("{layers} on disks, each {disk}"),
    }
}

/// `The candidates differ in testbed and kernel. All have: volume 1 GiB, memory 64 MiB, …`
fn differing(run: &Run, setups: &Setups) -> String {
    let differ: Vec<String> = setups.factors.iter().map(|factor| (*factor).to_owned()).collect();
    let is_made = makes_filesystem(run);
    let mut common = is_made.then(|| format!("volume {}", run.plan.size)).into_iter().collect::<Vec<_>>();
    common.extend(setups.common.iter().map(|(factor, value)| format!("{factor} {value}")));
    let cold = if run.plan.cold { "; caches are cold when the workload begins" } else { "" };
    let places = match is_made {
        true => "",
        false => {
            "This run compares directories, not filesystems: age, free space, device and other users of each \
             directory are part of the result. "
        }
    };
    let beyond = setups::beyond_reach(run).map_or_else(String::new, |said| format!(" {said}"));
    format!(
        "{places}The candidates differ in {}. All have: {}{cold}.{beyond}",
        list(&differ),
        common.join(", ")
    )
}

fn machine(run: &Run) -> String {
    let machine = setups::first_on_machine(run);
    if let Some(cpu) = model::cpu(run) {
        return format!("Linux {} in virtual time on {cpu}", machine.kernel);
    }
    let cpu = if machine.cpu.is_empty() { "an unnamed CPU" } else { machine.cpu.as_str() };
    format!("Linux {} on {cpu} ({})", machine.kernel, count(machine.cpus as usize, "CPU"))
}

fn makes_filesystem(run: &Run) -> bool {
    run.records.iter().all(|r| r.fidelity.makes_filesystem())
}

/// Whether all trials ran on a disk that its user claimed for them.
fn is_claimed(run: &Run) -> bool {
    !run.records.is_empty() && run.records.iter().all(|record| record.fidelity == Fidelity::Device)
}

/// The starting point of each trial.
fn site(run: &Run) -> String {
    let plan = &run.plan;
    if !makes_filesystem(run) {
        let beyond = setups::beyond_reach(run)
            .map_or_else(String::new, |said| format!(". {}", said.trim_end_matches('.')));
        return format!(
            "On the testbed {}, each trial works in a new directory on the mounted filesystem{beyond}",
            plan.testbed
        );
    }
    if let Some(disk) = model::disk(run) {
        let disk = layered(run, disk);
        return format!("On the testbed {}, each trial makes a new filesystem on {disk}", plan.testbed);
    }
    if is_claimed(run) {
        let (testbed, size) = (&plan.testbed, plan.size);
        return format!(
            "On the testbed {testbed}, each trial makes its filesystem on the same {size} of the claimed disk"
        );
    }
    let (size, testbed) = (plan.size, &plan.testbed);
    let image = layered(run, format!("a new image of {size} ({state})", state = state(plan.image)));
    format!("On the testbed {testbed}, each trial makes its filesystem on {image}")
}

fn trials(run: &Run) -> String {
    let n = counted(run).len();
    let verb = if n == 1 { "is counted" } else { "are counted" };
    match uncounted(run).as_slice() {
        [] => format!("{trials} {verb}; none failed and none is void.", trials = count(n, "trial")),
        rest => {
            format!(
                "{trials} {verb}; the other trials ({others}) are listed with their reasons.",
                trials = count(n, "trial"),
                others = list(rest)
            )
        }
    }
}

/// `1 failed`, `2 repeated`; integrity checks and skips are no trials of a round.
fn uncounted(run: &Run) -> Vec<String> {
    let current: Vec<&Record> = run.current().into_iter().filter(|r| r.purpose == Purpose::Measure).collect();
    let with = |outcome: Outcome| current.iter().filter(|r| r.outcome == outcome).count();
    let mut rest = Vec::new();
    for outcome in [Outcome::Failed, Outcome::Void] {
        if with(outcome) > 0 {
            rest.push(format!("{} {}", with(outcome), outcome.name()));
        }
    }
    let measured = run.records.iter().filter(|r| r.purpose == Purpose::Measure).count();
    let repeated = measured - current.len();
    if repeated > 0 {
        rest.push(format!("{repeated} repeated"));
    }
    rest
}

fn conclusion(standing: Standing, progress: Progress, next: Option<&Next>, lacks: &str) -> String {
    match (standing, next) {
        (Standing::Nothing, _) => "No trial is valid; see the reasons below.".to_owned(),
        (Standing::Preliminary, Some(_)) if progress.complete >= progress.needed => format!(
            "{} of {} rounds are complete, but the run did not end at a planned interim analysis. To continue to the \
             next interim analysis:",
            progress.complete, progress.needed
        ),
        (Standing::Preliminary, next) => {
            let missing = progress.needed.saturating_sub(progress.complete);
            let them = if missing == 1 { "last round".to_owned() } else { format!("other {missing} rounds") };
            let next = next.map_or_else(String::new, |next| {
                format!(" To add the {them}{time}:", time = about(Some(next)))
            });
            format!("{lacks}{next}")
        }
        (Standing::Medians, _) => MEDIANS.to_owned(),
        (Standing::Short | Standing::Verdict | Standing::Void, _) => String::new(),
    }
}

/// What trials that are too short lack: `Preliminary because all workloads are short (no trial took more than 4.8 s). …`
fn too_short(run: &Run, workloads: &[WorkloadSummary], next: Option<&Next>) -> String {
    let which = if workloads.len() == 1 { "the workload is" } else { "all workloads are" };
    let times: Vec<(f64, f64)> =
        counted(run).iter().filter_map(|record| stationary::commits(record)).collect();
    let least = times.iter().map(|(_, needed)| *needed).fold(f64::MAX, f64::min);
    let (took, most) = times.iter().fold((0.0_f64, 0.0_f64), |(a, b), (c, d)| (a.max(*c), b.max(*d)));
    let least = if least < most { format!("{least:.0} to ") } else { String::new() };
    let (took, needed) = match times.is_empty() {
        true => Default::default(),
        false => {
            (format!(" (no trial took more than {took:.1} s)"), format!(" (here {least}{most:.0} s in all)"))
        }
    };
    let takes = next.and_then(|next| next.minutes);
    let takes = takes.map_or_else(String::new, |minutes| format!(" (about {})", minutes_or_hours(minutes)));
    format!(
        "Preliminary because {which} short{took}. A trial is long enough if it lasts at least three commit intervals of its \
         filesystem{needed} and writes twice the memory limit. A longer run, with other workloads{takes}:"
    )
}

/// The duration of a command, if known.
fn about(next: Option<&Next>) -> String {
    let minutes = next.and_then(|next| next.minutes);
    minutes.map(|minutes| format!(", about {}", minutes_or_hours(minutes))).unwrap_or_default()
}

/// A shard has the rounds of its plan: what a verdict needs is in the others.
fn merge() -> Next {
    Next { command: "fsderby merge OUT SHARD…".to_owned(), minutes: None }
}

fn next(run: &Run, progress: Progress) -> Next {
    let folder = run.folder.to_string_lossy();
    let folder = shell_words::quote(&folder);
    let missing = progress.needed.saturating_sub(progress.complete);
    // A round with a failed trial is over but incomplete.
    let rounds = progress.needed.max(progress.complete) + rounds_over(run).saturating_sub(progress.complete);
    let command = format!("fsderby run --resume {folder} --rounds {rounds}");
    Next { command, minutes: minutes_for(run, missing) }
}

/// Rounds with as many trials as any other, whatever their outcome; excludes an interrupted round.
fn rounds_over(run: &Run) -> usize {
    let mut trials: BTreeMap<u32, usize> = BTreeMap::new();
    let current: Vec<&Record> = run.current().into_iter().filter(|r| r.purpose == Purpose::Measure).collect();
    current.iter().for_each(|r| *trials.entry(r.round).or_default() += 1);
    for interrupted in current.iter().filter(|r| r.reason == Some(Reason::Interrupted)) {
        trials.remove(&interrupted.round);
    }
    let most = trials.values().max().copied().unwrap_or(0);
    trials.values().filter(|n| **n == most).count()
}

/// Estimated from the host time of the rounds so far, over all workloads; rounded up.
fn minutes_for(run: &Run, rounds: usize) -> Option<u64> {
    let measured =
        || run.records.iter().filter(|r| r.purpose == Purpose::Measure && r.outcome != Outcome::Skipped);
    let so_far = measured().map(|r| r.round).collect::<BTreeSet<u32>>().len() as u64;
    let all = elapsed(measured()).as_nanos();
    if so_far == 0 || all == 0 {
        return None;
    }
    let minutes = (all / u128::from(so_far)).saturating_mul(rounds as u128).div_ceil(60_000_000_000);
    Some(u64::try_from(minutes).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::dataset::Dataset;
    use crate::report::examples;

    fn complete(run: &Run, work: &str) -> Option<usize> {
        let dataset = Dataset::of(run);
        dataset.workloads.iter().find(|w| w.label == work).map(|w| w.complete_rounds())
    }

    #[test]
    fn a_failed_trial_leaves_its_round_incomplete_and_a_repeated_one_does_not() {
        let example = examples::example();
        assert_eq!(complete(&example.run, examples::WORKS[0]), Some(5));
    }

    #[test]
    fn a_filesystem_that_never_did_the_work_leaves_no_round_incomplete() {
        let example = examples::example();
        assert_eq!(complete(&example.run, examples::WORKS[1]), Some(6));
    }

    #[test]
    fn a_round_that_stays_incomplete_is_made_up_for_by_another() {
        let rounds = |n| examples::rounds(n).report().summary.heading.next.map(|next| next.command);
        // A trial of the third round fails.
        assert!(rounds(4).is_some_and(|command| command.ends_with("--rounds 7")));
        assert!(rounds(2).is_some_and(|command| command.ends_with("--rounds 6")));
    }

    #[test]
    fn a_state_of_all_is_said_with_what_they_are_made_on() {
        let said = |state: Option<&str>| {
            let mut example = examples::example();
            example.run.plan.state = state.map(str::to_owned);
            let heading = example.report().summary.heading;
            [heading.sentences.join(" "), heading.sure.join(" ")]
        };
        assert!(said(None).iter().all(|text| !text.contains("state '") && !text.contains("filled")));
        let [sentences, brief] = said(Some("filled 80%"));
        assert!(sentences.contains(", in the state 'filled 80%' before the workload."), "{sentences}");
        assert!(brief.contains("), filled 80%, "), "{brief}");
    }

    #[test]
    fn the_missing_rounds_are_priced_by_those_that_were_made() {
        let mut example = examples::rounds(2);
        // 14 trials a round, 31 s each, and three rounds missing: 1302 s.
        assert_eq!(minutes_for(&example.run, 3), Some(22));
        assert_eq!(minutes_for(&examples::all_skipped().run, 5), None);
        // A workload's trials run in parallel, as in virtual time: 2 × 31 s a round.
        for record in &mut example.run.records {
            let at = example.run.plan.scenarios.iter().position(|s| s.label == record.scenario).unwrap_or(0);
            record.circumstances.started = format!("2026-11-21T{:02}:{at:02}:00Z", 8 + record.round);
        }
        assert_eq!(minutes_for(&example.run, 3), Some(4));
    }
}
