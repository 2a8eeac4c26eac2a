//! `fsderby run --dry-run`: prints the jobs of a run without running them.

pub mod mkfs_options;
mod said;
mod shard;

pub use said::{Shown, VERBOSE, notes};

use self::said::{LACKS_ONE, about, besides, guessed, lines_of, long, reasons, verbose};
use self::shard::OfShard;
use super::foresight::{self, Guess, Known};
use super::output::{print_json, print_line};
use super::pages::{DryRun, VERSION};
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::report::view::number::count;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::written::{Amounts, Expected};
use crate::runner::plan::{extras, jobs};
use crate::runner::preflight::pace::{Pace, Time, extra_trials, is_skipped};
use crate::runner::preflight::skips::Skip;
use crate::schema::job::Job;
use crate::schema::plan::{FIRST_LOOK, Rounds, Trial};
use crate::schema::units::Bytes;
use crate::storage;
use crate::store::Run;
use crate::testbeds::Testbeds;

/// The beginning of the sentence that says how long a run takes.
pub const WHOLE: &str = "The whole run takes";

/// `at_once` is the number of trials that run at the same time.
pub fn print(
    plan: &Resolved<'_>,
    testbeds: &Testbeds<'_>,
    skips: &[Skip],
    known: Option<&Known>,
    at_once: usize,
    Shown { as_json, is_verbose }: Shown,
) -> anyhow::Result<()> {
    if let Some(shard) = &plan.shard {
        return OfShard { plan, testbeds, skips, at_once }.print(shard, Shown { as_json, is_verbose });
    }
    let mut amounts = Amounts::default();
    let trials = plan.integrity_checks().chain(plan.round(1)).filter(|t| !is_skipped(t, skips));
    let mut job = |trial: &Trial<'_>| {
        let testbed = testbeds.of(plan, trial.candidate);
        let job = jobs::job(plan, trial, 1, testbed, "dry-run");
        (job, Pace::of(testbed.traits().fidelity), amounts.of(plan, trial))
    };
    let is_timeless = plan.candidates.iter().all(|c| !testbeds.of(plan, c).traits().fidelity.times_count());
    let (mut number, mut total, mut filled, mut resets) = (0, 0_u64, 0_u64, 0_u64);
    let mut time = Time::default();
    let mut paces: Vec<&Pace> = Vec::new();
    let mut add = |(job, pace, work): &(Job, &'static Pace, Expected)| {
        number += 1;
        total = total.saturating_add(work.bytes_written);
        filled = filled.saturating_add(work.filled);
        resets =
            resets.saturating_add(storage::find(&job.storage).map_or(0, |storage| storage.reset_writes(job)));
        time.add(job.purpose, pace.time(job.purpose, work));
        if !paces.contains(pace) {
            paces.push(pace);
        }
    };
    if as_json {
        let jobs: Vec<Job> = trials.map(|trial| job(&trial)).inspect(&mut add).map(|(job, ..)| job).collect();
        let foresight =
            foresight::of(plan, skips, Guess { time: time.parallel(at_once), is_timeless }, known);
        let skipped = reasons(skips);
        let took = known.map_or(time.parallel(at_once), |known| known.time);
        let notes = notes(plan, took);
        let (jobs, notes) = (Some(jobs), Some(notes));
        print_json(&DryRun {
            schema_version: VERSION,
            plan: plan.plan,
            jobs,
            skipped,
            foresight,
            notes,
            share: None,
        })?;
        return Ok(());
    }
    for trial in trials {
        let planned = job(&trial);
        add(&planned);
        if !is_verbose {
            continue;
        }
        print_line(&verbose(plan, &trial, testbeds, &planned.0))?;
    }
    let extras = extra_trials(plan, skips);
    let mut lines = about(plan, testbeds, skips);
    let (rounds, of) = match plan.rounds {
        Rounds::Exactly(n) => (n, count(n as usize, "round")),
        Rounds::AtLeast(n) => (n, format!("at least {}", count(n as usize, "round"))),
        Rounds::Auto => (FIRST_LOOK, "10 to 20 rounds, as many as needed".to_owned()),
    };
    lines.push(format!(
        "The run has {of}, each with {trials} in random order. Before the first round, each filesystem has one integrity check with each workload.",
        trials = count(number / 2, "trial")
    ));
    if extras > 0 {
        let corners = extras::most_corners(plan);
        lines.push(format!(
            "After round {SAMPLES_NEEDED}, {extras} more trials measure the overhead of the disk model, and try \
             other workload seeds and other CPU costs."
        ));
        lines.push(format!(
            "Then each pair with the same result in all samples (variants of the disk, one per round) runs on the disk that \
             is expected to be the pair's worst case: at most {corners} trials for each headline metric."
        ));
    }
    let took = known.map_or(time.parallel(at_once), |known| known.time);
    let [one, all] = [1, rounds].map(|n| took.of_rounds(n).as_secs());
    // These trials count as the number of rounds that they would fill.
    let further = u32::try_from(extras.div_ceil((number / 2).max(1))).unwrap_or(u32::MAX);
    let all = all.saturating_add(took.a_round.saturating_mul(further).as_secs());
    let besides = besides(filled, resets);
    lines.push(format!(
        "The integrity checks and one round take about {one} s, with {} written by the workloads{besides}. {WHOLE} \
            about {}{}.",
        Bytes(total),
        long(all),
        plan.budget.filter(|b| b.0.as_secs() > all).map_or(String::new(), |b| format!(", and further rounds follow if they fit into {b}")),
    ));
    lines.push(match known {
        Some(known) => format!("The time estimate comes from the run in {folder}.", folder = known.from),
        None => guessed(&paces, plan.copies_from_beside(), at_once),
    });
    lines.extend(notes(plan, took));
    lines.extend(amounts.lack_one().then(|| LACKS_ONE.to_owned()));
    if let Some(foresight) =
        foresight::of(plan, skips, Guess { time: time.parallel(at_once), is_timeless }, known)
    {
        lines.push(String::new());
        lines.extend(foresight.lines());
    }
    let commands = if is_verbose { "" } else { VERBOSE };
    print_line(&format!("{}\nNothing was done.{commands}", lines.join("\n")))
}

/// When a run is resumed: the differences that further rounds can detect.
pub fn print_further(run: &Run, plan: &Resolved<'_>, skips: &[Skip], as_json: bool) -> anyhow::Result<()> {
    if let Some(shard) = &plan.shard {
        return shard::print_rest(run, plan, shard, skips, as_json);
    }
    let known = Known::of_itself(run);
    let foresight = known.and_then(|known| foresight::of(plan, skips, Guess::default(), Some(&known)));
    if as_json {
        let skipped = reasons(skips);
        print_json(&DryRun {
            schema_version: VERSION,
            plan: plan.plan,
            jobs: None,
            skipped,
            foresight,
            notes: None,
            share: None,
        })?;
        return Ok(());
    }
    let lines = foresight.map_or_else(
        || vec!["Three complete rounds are needed to estimate the differences that further rounds can detect.".to_owned()],
        |foresight| foresight.lines(),
    );
    let lines: Vec<String> = lines_of(skips).chain(lines).collect();
    print_line(&format!("{}\nNothing was done.", lines.join("\n")))
}
