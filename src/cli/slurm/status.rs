//! `fsderby slurm status`: how far a campaign is, from its shards' folders, exit codes, and Slurm's queue.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Args;
use shell_words::quote;

use super::scripts::Campaign;
use super::{CAMPAIGN, MOST, NEXT};
use crate::cli::output::{print_json, print_line};
use crate::cli::pages::{self, JobState, MergedState, ShardState, StateName};
use crate::exit::{self, Failure};
use crate::host::programs;
use crate::report::view::number::minutes_or_hours;
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::sharded;
use crate::schema::plan::Plan;
use crate::schema::reason::Outcome;
use crate::schema::units::{Bytes, KIB, MIB};
use crate::store::{self, Door};

/// Size limit of a campaign's own files; each has a few lines, and a plan a page.
const FILE_MOST: Bytes = Bytes(64 * KIB);
const PLAN_MOST: Bytes = Bytes(MIB);
/// The jobs beside the arrays, in their order.
const JOBS: [&str; 4] = ["probe", "merge", "finish", "check"];

#[derive(Args)]
pub struct Arguments {
    /// Folder of the campaign
    folder: PathBuf,
    /// Print the states of shards and jobs, the numbers of trials, and the time left as JSON
    #[arg(long)]
    json: bool,
}

/// A shard of the plan.
#[derive(Debug)]
struct Shard {
    number: u32,
    state: State,
    /// The exit code that a complete shard left.
    code: Option<u8>,
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

impl State {
    fn name(&self) -> StateName {
        match self {
            State::Done => StateName::Done,
            State::Queued(of) if of == "RUNNING" || of == "COMPLETING" => StateName::Running,
            State::Queued(_) => StateName::Queued,
            State::Failed(_) => StateName::Failed,
            State::NotBegun => StateName::NotBegun,
        }
    }

    fn why(&self) -> Option<String> {
        match self {
            State::Queued(why) | State::Failed(why) => Some(why.clone()),
            State::Done | State::NotBegun => None,
        }
    }
}

/// A campaign's folder with what Slurm says of it.
struct Place<'a> {
    path: &'a Path,
    door: Door,
    /// The jobs that were submitted, by name.
    jobs: BTreeMap<String, String>,
    /// The state of each queued or running task.
    queue: Result<BTreeMap<String, String>, String>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let path = &arguments.folder;
    let not_one = |e: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "{} is no campaign: {CAMPAIGN}: {e}\n  try: fsderby slurm status DIR, with the DIR of fsderby slurm PLAN --submit \
             --output DIR",
            path.display()
        ))
    };
    let door = Door::open(path).map_err(|e| not_one(&e))?;
    let text = door.text(CAMPAIGN, FILE_MOST).map_err(|e| not_one(&e))?;
    let campaign: Campaign = toml::from_str(&text).map_err(|e| damaged(path, CAMPAIGN, e.message()))?;
    if !(1..=MOST).contains(&campaign.tasks) {
        return Err(
            damaged(path, CAMPAIGN, &format!("{} tasks; an array has 1 to {MOST}", campaign.tasks)).into()
        );
    }
    let plan = plan(path, &door, store::PLAN)?;
    let jobs = jobs(&door);
    let queue = queue(&jobs, submitter(&door));
    let place = Place { path, door, jobs, queue };
    let shards = place.shards("shards", &plan, campaign.tasks)?;
    let next = match place.door.has(NEXT).unwrap_or(false) && !campaign.is_of_due {
        true => {
            let plan = self::plan(path, &place.door, NEXT)?;
            let left = plan.shard.as_ref().map_or(0, |shard| shard.due.len());
            place.shards("next", &plan, campaign.tasks.min(u32::try_from(left).unwrap_or(u32::MAX)).max(1))?
        }
        false => Vec::new(),
    };
    let named = if campaign.is_of_due { &JOBS[..1] } else { &JOBS[..] };
    let others: Vec<(&'static str, State, Option<u8>)> =
        named.iter().map(|name| (*name, place.job(name), place.code(name))).collect();
    let exists = |name: &str| place.door.has(name).unwrap_or(false);
    let merged = match (exists("run"), exists("rounds")) {
        (true, _) => Some(MergedState::Complete),
        (false, true) => Some(MergedState::Rounds),
        (false, false) => None,
    };
    // Without a merged run, the code is that of an earlier one.
    let checked = place.code("check").filter(|_| merged == Some(MergedState::Complete));
    let seen = Seen { campaign: &campaign, place: &place, shards, next, others, merged, checked };
    if arguments.json {
        print_json(&seen.page())?;
    } else {
        print_line(&seen.lines().join("\n"))?;
    }
    Ok(ExitCode::from(seen.exit_code()))
}

/// All that is known of a campaign.
struct Seen<'a> {
    campaign: &'a Campaign,
    place: &'a Place<'a>,
    shards: Vec<Shard>,
    next: Vec<Shard>,
    others: Vec<(&'static str, State, Option<u8>)>,
    merged: Option<MergedState>,
    checked: Option<u8>,
}

impl Seen<'_> {
    fn all(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter().chain(&self.next)
    }

    fn page(&self) -> pages::Campaign {
        let shard = |shard: &Shard| ShardState {
            shard: shard.number,
            state: shard.state.name(),
            why: shard.state.why(),
            trials: shard.done,
            of: shard.of,
        };
        let job = |(job, state, exit_code): &(&'static str, State, Option<u8>)| JobState {
            job,
            state: state.name(),
            why: state.why(),
            exit_code: *exit_code,
        };
        pages::Campaign {
            schema_version: pages::VERSION,
            shards: self.shards.iter().map(shard).collect(),
            next: self.next.iter().map(shard).collect(),
            jobs: self.others.iter().map(job).collect(),
            trials: self.all().map(|shard| shard.done).sum(),
            of: self.all().map(|shard| shard.of).sum(),
            seconds_left: self.seconds_left(),
            merged: self.merged,
            check: self.checked,
            queue: self.place.queue.as_ref().err().cloned(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![counted("shards", &self.shards)];
        if !self.next.is_empty() {
            lines.push(counted("shards of worst corners", &self.next));
        }
        lines.extend(self.seconds_left().filter(|_| self.merged != Some(MergedState::Complete)).map(
            |seconds| {
                let corners = if self.next.is_empty() { ", without trials at worst corners" } else { "" };
                format!("about {} left at this pace{corners}", minutes_or_hours(seconds.div_ceil(60)))
            },
        ));
        for (set, shards) in [("shards", &self.shards), ("next", &self.next)] {
            let of_failed = shards.iter().filter_map(|shard| match &shard.state {
                State::Failed(why) => Some(format!("{set}/{}: {why}: see log/{set}-{0}.txt", shard.number)),
                _ => shard.code.filter(|code| *code != exit::OK).map(|code| {
                    format!("{set}/{}: complete, ended with {code}: see log/{set}-{0}.txt", shard.number)
                }),
            });
            lines.extend(of_failed);
        }
        lines.extend(self.others.iter().filter_map(|(name, state, _)| match state {
            State::Failed(why) if *name != "check" => Some(format!("job {name}: {why}: see log/{name}.txt")),
            _ => None,
        }));
        lines.extend(self.merged.map(|merged| match merged {
            MergedState::Complete => "merged: complete".to_owned(),
            MergedState::Rounds => "merged: the rounds; trials at worst corners remain".to_owned(),
        }));
        lines.extend(self.checked.map(|code| match (code, self.campaign.in_virtual_time) {
            (0, true) => "check: verified; trials that were run again are identical".to_owned(),
            (0, false) => "check: verified; no trial was run again".to_owned(),
            (code, _) => format!("check: ended with {code}: see log/check.txt"),
        }));
        if let Err(why) = &self.place.queue {
            lines.push(format!("note: Slurm's queue is unknown: {why}"));
        }
        let path = self.place.path.display().to_string();
        if self.place.door.has(SUBMITTING).unwrap_or(false) {
            let ids: Vec<&str> = self.place.jobs.values().map(String::as_str).collect();
            lines.push(format!(
                "note: not all jobs are submitted\n  try: sh {}, which submits the others; or to cancel: scancel {}",
                quote(&format!("{path}/submit.sh")),
                ids.join(" ")
            ));
        } else if self.exit_code() != exit::OK && !self.is_going() {
            lines.push(format!(
                "  try: sh {}, which continues what is left",
                quote(&format!("{path}/submit.sh"))
            ));
        }
        lines
    }

    /// At the mean time of the trials so far, on the tasks that run now.
    fn seconds_left(&self) -> Option<u64> {
        let (host_ns, records) = self
            .all()
            .fold((0_u64, 0_u64), |(ns, n), shard| (ns.saturating_add(shard.host_ns), n + shard.records));
        let mean = host_ns.checked_div(records)?;
        let left: usize = self.all().map(|shard| shard.of.saturating_sub(shard.done)).sum();
        let running = self.all().filter(|shard| shard.state.name() == StateName::Running).count();
        let in_a_task = if self.campaign.in_virtual_time { self.campaign.cpus.max(1) } else { 1 };
        let at_once = (running.max(1) as u64).saturating_mul(u64::from(in_a_task));
        (left > 0).then(|| (left as u64).saturating_mul(mean) / at_once / 1_000_000_000)
    }

    /// Whether Slurm still has a job of this campaign. Until then nothing may be submitted again.
    fn is_going(&self) -> bool {
        let states =
            self.all().map(|shard| &shard.state).chain(self.others.iter().map(|(_, state, _)| state));
        states.into_iter().any(|state| matches!(state, State::Queued(_)))
    }

    /// The code of the first job that failed; of a shard, that of trials that failed, or of data that came back different.
    fn exit_code(&self) -> u8 {
        let of_job = |name: &str| {
            let (_, state, code) = self.others.iter().find(|(known, ..)| *known == name)?;
            let is_failed = matches!(state, State::Failed(_)) && (name != "check" || self.checked.is_some());
            is_failed.then(|| code.unwrap_or(exit::TRIALS))
        };
        let of_shards = |shards: &[Shard]| {
            let is_failed = shards.iter().any(|shard| matches!(shard.state, State::Failed(_)));
            let told = [exit::INTEGRITY, exit::TRIALS];
            let told = told.into_iter().find(|code| shards.iter().any(|shard| shard.code == Some(*code)));
            told.or(is_failed.then_some(exit::TRIALS))
        };
        of_job("probe")
            .or_else(|| of_shards(&self.shards))
            .or_else(|| of_job("merge"))
            .or_else(|| of_shards(&self.next))
            .or_else(|| of_job("finish"))
            .or_else(|| of_job("check"))
            .unwrap_or(exit::OK)
    }
}

/// `shards: 2 done, 1 running, 1 queued, 0 failed, of 4; 20 of 28 trials`
fn counted(what: &str, shards: &[Shard]) -> String {
    let is = |name: StateName| shards.iter().filter(|shard| shard.state.name() == name).count();
    let [done, running, queued, failed] =
        [StateName::Done, StateName::Running, StateName::Queued, StateName::Failed].map(is);
    let (over, of) = shards.iter().fold((0, 0), |(over, of), shard| (over + shard.done, of + shard.of));
    format!(
        "{what}: {done} done, {running} running, {queued} queued, {failed} failed, of {}; {over} of {of} trials",
        shards.len()
    )
}

impl Place<'_> {
    /// The shards of this plan, in their order.
    fn shards(&self, set: &str, plan: &Plan, tasks: u32) -> anyhow::Result<Vec<Shard>> {
        let counts = sharded::counts(&Resolved::of(plan)?, tasks);
        Ok((1..).zip(counts).map(|(number, of)| self.shard(set, number, of)).collect())
    }

    /// The state of a shard, from its folder, and from Slurm if that answers.
    fn shard(&self, set: &str, number: u32, of: usize) -> Shard {
        let path = self.path.join(set).join(number.to_string());
        let (mut names, mut host_ns, mut records) = (HashSet::new(), 0_u64, 0);
        let run = store::open_door(&path).ok().and_then(|door| {
            let mut keep = |record: crate::schema::record::Record, _| {
                if record.outcome != Outcome::Skipped {
                    host_ns = host_ns.saturating_add(record.circumstances.host_ns);
                    records += 1;
                    names.insert(record.trial);
                }
            };
            store::read_each(door, &mut keep).ok()
        });
        let task = self.jobs.get(set).map(|job| format!("{job}_{number}"));
        let queue = self.queue.as_ref().ok();
        let queued = task.as_ref().and_then(|task| queue?.get(task));
        let is_complete = run.as_ref().is_some_and(store::Run::is_complete);
        let code = self.code(&format!("{set}-{number}"));
        let state = match (queued, code, task) {
            _ if is_complete => State::Done,
            // Slurm removed the shards behind a probe that failed.
            _ if self.code("probe").is_some_and(|code| code != exit::OK) => State::NotBegun,
            (Some(state), ..) => State::Queued(state.clone()),
            (None, Some(code), _) => State::Failed(format!("ended with {code}")),
            // Before a worst corner, the shards are merged.
            (None, None, Some(_)) if set == "next" && run.is_none() && self.is_going("merge") => {
                State::NotBegun
            }
            (None, None, Some(task)) if queue.is_some() => gone(&task),
            _ => State::NotBegun,
        };
        // Of a complete shard, trials of skipped filesystems are over too.
        let done = if is_complete { of } else { names.len().min(of) };
        let code = code.filter(|_| is_complete);
        Shard { number, state, code, done, of, host_ns, records }
    }

    /// The state of a job that is no array.
    fn job(&self, name: &str) -> State {
        let job = self.jobs.get(name);
        let queue = self.queue.as_ref().ok();
        match (self.code(name), job.and_then(|job| queue?.get(job)), job) {
            (Some(0), ..) => State::Done,
            (_, Some(state), _) => State::Queued(state.clone()),
            (Some(code), None, _) => State::Failed(format!("ended with {code}")),
            // If a job before it failed, Slurm removed this one.
            (None, None, Some(job)) if queue.is_some() && self.follows_success(name) => gone(job),
            _ => State::NotBegun,
        }
    }

    /// Whether the job before this one ended well.
    fn follows_success(&self, name: &str) -> bool {
        let at = JOBS.iter().position(|known| *known == name).unwrap_or(0);
        at == 0 || self.code(JOBS[at - 1]) == Some(0)
    }

    fn is_going(&self, name: &str) -> bool {
        self.code(name).is_none() && self.jobs.contains_key(name)
    }

    /// The exit code that a script left.
    fn code(&self, name: &str) -> Option<u8> {
        self.door.text(&format!("ended/{name}"), FILE_MOST).ok()?.trim().parse().ok()
    }
}

fn damaged(path: &Path, name: &str, what: &str) -> Failure {
    let path = path.display();
    let text =
        format!("{path}/{name} is damaged: {what}\n  try: fsderby slurm PLAN --submit --output ANOTHER");
    Failure::new(exit::DAMAGED, text)
}

fn plan(path: &Path, door: &Door, name: &str) -> anyhow::Result<Plan> {
    let text = door.text(name, PLAN_MOST).map_err(|e| match e.kind() {
        ErrorKind::PermissionDenied => Failure::missing(format!(
            "could not open {}/{name}: {e}\n  try: as the user who submitted it",
            path.display()
        )),
        _ => damaged(path, name, &e.to_string()),
    })?;
    Ok(store::plan::parse(&text, name)?)
}

/// The jobs so far of a submission that has not ended.
const SUBMITTING: &str = "submitting";

/// The jobs that were submitted, by name.
fn jobs(door: &Door) -> BTreeMap<String, String> {
    let text = door.text(SUBMITTING, FILE_MOST).or_else(|_| door.text("jobs", FILE_MOST)).unwrap_or_default();
    let job = |line: &str| {
        let (name, id) = line.split_once(' ')?;
        // With several clusters, `ID;CLUSTER`.
        Some((name.to_owned(), id.split(';').next()?.to_owned()))
    };
    text.lines().filter_map(job).collect()
}

/// The user who submitted the jobs, or else this user.
fn submitter(door: &Door) -> u32 {
    let file = door.file(SUBMITTING, FILE_MOST).or_else(|_| door.file("jobs", FILE_MOST));
    file.and_then(|file| file.metadata())
        .map_or_else(|_| rustix::process::getuid().as_raw(), |about| about.uid())
}

/// The state of each queued or running task of the campaign's user, who may be somebody else.
fn queue(jobs: &BTreeMap<String, String>, user: u32) -> Result<BTreeMap<String, String>, String> {
    if jobs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let squeue = programs::find_on_path("squeue").ok_or("there is no squeue on this machine")?;
    let said = Command::new(squeue)
        .args(["--noheader", "--array", "--format=%i %T"])
        .arg(format!("--user={user}"))
        .output();
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

/// The state of a task that Slurm no longer has, and that left no code.
fn gone(task: &str) -> State {
    match accounted(task) {
        // Its code is not visible here yet.
        said if said == "COMPLETED" => State::Done,
        said => State::Failed(said),
    }
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
