//! `fsderby slurm status`: how far a campaign is, from its shards' folders, exit codes, and Slurm's queue.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::Args;

use super::scripts::Campaign;
use crate::cli::output::{print_json, print_line};
use crate::cli::pages::{self, ShardState};
use crate::exit::{self, Failure};
use crate::host::programs;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::sharded;
use crate::store;

#[derive(Args)]
pub struct Arguments {
    /// Folder of the campaign
    folder: PathBuf,
    #[arg(long)]
    json: bool,
}

/// A shard of the plan.
#[derive(Debug)]
struct Shard {
    number: u32,
    state: State,
    /// Trials that are over, and those of the shard.
    done: usize,
    of: usize,
    host_ns: u64,
    records: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Done,
    /// Slurm's state: `RUNNING`, `PENDING`.
    Queued(String),
    /// It is in no queue and not complete; why, as far as known.
    Failed(String),
    NotBegun,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    let text = fs::read_to_string(folder.join(super::CAMPAIGN)).map_err(|e| {
        let folder = folder.display();
        Failure::usage(format!(
            "{folder} is no campaign: {}: {e}\n  try: the folder that fsderby slurm --submit made",
            super::CAMPAIGN
        ))
    })?;
    let campaign: Campaign =
        toml::from_str(&text).with_context(|| format!("could not parse {}", super::CAMPAIGN))?;
    let plan = fs::read_to_string(folder.join(store::PLAN)).context("could not read the campaign's plan")?;
    let plan = store::plan::parse(&plan, store::PLAN)?;
    let resolved = Resolved::of(&plan)?;
    let total = sharded::trials(&resolved, plan.rounds.at_least());
    let jobs = jobs(folder);
    let queue = queue(&jobs);
    let shards: Vec<Shard> = (1..=campaign.tasks)
        .map(|number| shard(folder, &campaign, number, total, &jobs, queue.as_ref().ok()))
        .collect();
    let run = [("run", "complete"), ("rounds", "the rounds are merged; trials at worst corners remain")];
    let merged = run.iter().find(|(name, _)| folder.join(name).exists()).map(|(_, what)| *what);
    let checked = code(folder, "check");
    let is = |of: fn(&State) -> bool| shards.iter().filter(|shard| of(&shard.state)).count();
    let (done, failed) = (is(|state| *state == State::Done), is(|state| matches!(state, State::Failed(_))));
    let running = is(|state| matches!(state, State::Queued(of) if of == "RUNNING"));
    let queued = is(|state| matches!(state, State::Queued(_))) - running;
    let over: usize = shards.iter().map(|shard| shard.done).sum();
    let left = seconds_left(&shards, &campaign, running);
    if arguments.json {
        let of = |shard: &Shard| ShardState {
            shard: shard.number,
            state: format!("{:?}", shard.state),
            trials: shard.done,
            of: shard.of,
        };
        print_json(&pages::Campaign {
            schema_version: pages::VERSION,
            shards: shards.iter().map(of).collect(),
            trials: over,
            of: total,
            seconds_left: left,
            merged,
            check: checked,
        })?;
    } else {
        let mut lines = vec![format!(
            "shards: {done} done, {running} running, {queued} queued, {failed} failed, of {tasks}; {over} of about {total} trials",
            tasks = campaign.tasks
        )];
        lines.extend(left.filter(|_| merged.is_none()).map(|seconds| {
            format!("about {} min left at this pace, without trials at worst corners", seconds.div_ceil(60))
        }));
        let of_failed = shards.iter().filter_map(|shard| match &shard.state {
            State::Failed(why) => Some(format!("shard {}: {why}; log/shards-{0}.txt", shard.number)),
            _ => None,
        });
        lines.extend(of_failed);
        lines.extend(merged.map(|what| format!("merged: {what}")));
        lines.extend(checked.map(|code| match code {
            0 => "check: verified; trials that were run again are identical".to_owned(),
            code => format!("check: ended with {code}: see log/check.txt"),
        }));
        if let Err(why) = &queue {
            lines.push(format!("note: Slurm's queue is unknown: {why}"));
        }
        if failed > 0 {
            lines.push(format!(
                "  try: sh {}, which continues what is left",
                folder.join("submit.sh").display()
            ));
        }
        print_line(&lines.join("\n"))?;
    }
    Ok(ExitCode::from(if failed > 0 { exit::TRIALS } else { exit::OK }))
}

/// The state of a shard, from its folder, and from Slurm if that answers.
fn shard(
    folder: &Path,
    campaign: &Campaign,
    number: u32,
    total: usize,
    jobs: &BTreeMap<String, String>,
    queue: Option<&BTreeMap<String, String>>,
) -> Shard {
    let path = folder.join("shards").join(number.to_string());
    let (mut names, mut host_ns, mut records) = (std::collections::HashSet::new(), 0, 0);
    let run = store::open_door(&path).ok().and_then(|door| {
        let mut keep = |record: crate::schema::record::Record, _| {
            host_ns += record.circumstances.host_ns;
            records += 1;
            names.insert(record.trial);
        };
        store::read_each(door, &mut keep).ok()
    });
    let of = total / campaign.tasks as usize;
    let queued = jobs.get("shards").and_then(|job| queue?.get(&format!("{job}_{number}")));
    let state = match (&run, queued) {
        (Some(run), _) if run.is_complete() => State::Done,
        (_, Some(state)) => State::Queued(state.clone()),
        (run, None) => match (code(folder, &format!("shards-{number}")), jobs.get("shards")) {
            (Some(code), _) => State::Failed(format!("ended with {code}")),
            (None, None) if run.is_none() => State::NotBegun,
            (None, Some(job)) if queue.is_some() => State::Failed(accounted(&format!("{job}_{number}"))),
            _ => State::NotBegun,
        },
    };
    Shard { number, state, done: names.len(), of, host_ns, records }
}

/// The exit code that a script left.
fn code(folder: &Path, name: &str) -> Option<u8> {
    fs::read_to_string(folder.join("ended").join(name)).ok()?.trim().parse().ok()
}

/// The jobs that were submitted, by name.
fn jobs(folder: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(folder.join("jobs")).unwrap_or_default();
    let job = |line: &str| {
        let (name, id) = line.split_once(' ')?;
        // With several clusters, `ID;CLUSTER`.
        Some((name.to_owned(), id.split(';').next()?.to_owned()))
    };
    text.lines().filter_map(job).collect()
}

/// The state of each queued or running task.
fn queue(jobs: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    if jobs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let squeue = programs::find_on_path("squeue").ok_or("there is no squeue on this machine")?;
    let said = Command::new(squeue).args(["--noheader", "--array", "--format=%i %T", "--me"]).output();
    let said = said.map_err(|e| e.to_string())?;
    if !said.status.success() {
        return Err(String::from_utf8_lossy(&said.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(text
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .map(|(id, state)| (id.into(), state.into()))
        .collect())
}

/// What Slurm's accounting says of a task that ended without a code.
fn accounted(task: &str) -> String {
    let unknown = || "killed, or never started".to_owned();
    let Some(sacct) = programs::find_on_path("sacct") else { return unknown() };
    let said = Command::new(sacct)
        .args(["--noheader", "--parsable2", "--allocations", "--format=State", "--jobs", task])
        .output();
    let text = said
        .ok()
        .filter(|said| said.status.success())
        .map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    text.filter(|state| !state.is_empty()).unwrap_or_else(unknown)
}

/// At the mean time of the trials so far, on the tasks that run now.
fn seconds_left(shards: &[Shard], campaign: &Campaign, running: usize) -> Option<u64> {
    let (host_ns, records) =
        shards.iter().fold((0, 0), |(ns, n), shard| (ns + shard.host_ns, n + shard.records));
    let mean = host_ns.checked_div(records)?;
    let left: usize =
        shards.iter().filter(|shard| shard.state != State::Done).map(|s| s.of.saturating_sub(s.done)).sum();
    let at_once = running.max(1) as u64 * u64::from(campaign.cpus.max(1));
    Some(left as u64 * mean / at_once / 1_000_000_000)
}
