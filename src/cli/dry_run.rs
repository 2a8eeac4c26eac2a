//! `fsderby run --dry-run`: the very jobs, printed.

use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::output::{print_json, print_line};
use crate::runner::jobs;
use crate::runner::skips::Skip;
use crate::schema::job::{Job, Step, Until};
use crate::schema::plan::{Plan, Rounds, Setup, Trial};
use crate::schema::setup::Mount;
use crate::schema::units::{Bytes, MIB};
use crate::schema::work::Amount;
use crate::testbeds::Testbeds;
use crate::workloads;

/// What the guess of the time rests on, and it is no more than a guess: the first round tells better.
const BYTES_A_SECOND: f64 = 100.0 * MIB as f64;
const OVERHEAD: Duration = Duration::from_millis(800);

pub fn print(
    plan: &Plan,
    testbeds: &Testbeds<'_>,
    skips: &[Skip],
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let skipped: HashSet<(&str, &str)> = skips.iter().map(|s| (&*s.filesystem, &*s.workload)).collect();
    let is_skipped = |t: &Trial<'_>| skipped.contains(&(&t.candidate.label, &t.work.label));
    let trials = plan.integrity_checks().chain(plan.round(1)).filter(|t| !is_skipped(t));
    let job = |trial: &Trial<'_>| {
        let testbed = testbeds.of(plan, trial.candidate);
        jobs::job(plan, trial, 1, testbed, "dry-run")
    };
    if as_json {
        let jobs: Vec<Job> = trials.map(|trial| job(&trial)).collect();
        print_json(&json!({ "plan": plan, "jobs": jobs, "skipped": reasons(skips) }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (mut number, mut total, mut time, mut amounts) = (0, 0_u64, Duration::ZERO, HashMap::new());
    let differ = plan.setups().len() > 1;
    for trial in trials {
        let job = job(&trial);
        let work = (job.work.hash(), job.workload_seed);
        let Amount { bytes_written, .. } = *amounts.entry(work).or_insert_with(|| volume(&job));
        number += 1;
        total = total.saturating_add(bytes_written);
        time += OVERHEAD + Duration::from_secs_f64(bytes_written as f64 / BYTES_A_SECOND);
        let steps: String = job.steps.iter().map(|step| format!("\n  {}", shown(step))).collect();
        let setup =
            if differ { format!(" on {}", in_words(&plan.setup(trial.candidate))) } else { String::new() };
        print_line(&format!("{}{setup}{steps}", job.trial))?;
    }
    let mut lines = Vec::new();
    for (who, why) in reasons(skips) {
        lines.push(format!("skipped {who}: {}", why.replace("\n  try:", "; try:")));
    }
    let (rounds, of) = match plan.rounds {
        Rounds::Exactly(n) => (n, format!("{n} rounds")),
        Rounds::AtLeast(n) => (n, format!("at least {n} rounds")),
    };
    lines.push(format!(
        "\n{} trials a round in random order, {of}, after one integrity check of each cell.",
        number / 2
    ));
    lines.push(format!(
        "Expected for the integrity checks and one round: {} written by the workloads, about {} s; for the run about {} min{}.",
        Bytes(total),
        time.as_secs(),
        (u128::from(time.as_secs() / 2) * (u128::from(rounds) + 1)).div_ceil(60),
        plan.budget.map_or(String::new(), |b| format!(", then as many rounds as fit into {b}")),
    ));
    lines.push("The time is a guess from 100 MiB/s and 0.8 s beside the work of each trial.".to_owned());
    print_line(&format!("{}\nNothing was done.", lines.join("\n")))?;
    Ok(ExitCode::SUCCESS)
}

/// `vm:kernel=6.1 cpus=2, 64 MiB of memory`
fn in_words(setup: &Setup<'_>) -> String {
    let memory = setup.memory.map_or_else(String::new, |memory| format!(", {memory} of memory"));
    format!("{}{memory}", setup.name())
}

fn reasons(skips: &[Skip]) -> Vec<(String, String)> {
    skips.iter().map(|s| (format!("{} × {}", s.filesystem, s.workload), s.reason.clone())).collect()
}

fn shown(step: &Step) -> String {
    let name = step.name();
    let what = match step {
        Step::Make { argv } | Step::Revert { argv } => argv.join(" "),
        Step::Check { check, .. } => check.argv.join(" "),
        Step::Repair { check } => check.argv.join(" "),
        Step::Work { until: Until::Part(n) } => format!("its part {}", n + 1),
        Step::Work { until: Until::Operation(n) } => format!("until its operation {n} is done"),
        Step::Cool { mount: Some(_) } => "unmount, and mount again".to_owned(),
        Step::Cool { mount: None } => "drop all pages of all files, as root all caches".to_owned(),
        Step::Mount { mount: Mount::Command { argv, .. } }
        | Step::MountAgain { mount: Mount::Command { argv, .. } } => argv.join(" "),
        Step::Mount { mount: Mount::Syscall { fstype, options } }
        | Step::MountAgain { mount: Mount::Syscall { fstype, options } } => {
            let options =
                if options.is_empty() { String::new() } else { format!(" -o {}", options.join(",")) };
            format!("mount -t {fstype}{options} {{device}} {{mountpoint}}")
        }
        _ => String::new(),
    };
    format!("{name:<16} {what}").trim_end().to_owned()
}

fn volume(job: &Job) -> Amount {
    let engine = workloads::engine(&job.work.engine);
    let work = engine.and_then(|e| e.parse(&job.work.parameters).ok());
    work.map_or_else(Amount::default, |w| w.expected(job.workload_seed))
}
