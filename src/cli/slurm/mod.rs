//! `fsderby slurm`: a plan as jobs of Slurm, which schedules; fsderby has no scheduler of its own.

mod scripts;
mod status;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use shell_words::quote;

use self::scripts::Campaign;
use super::config::checked;
use super::output::{print_line, say};
use super::run::{fresh_folder, now_seed};
use super::setups::common_testbed;
use crate::exit::Failure;
use crate::host::caller::{create_folder, create_folders, create_new};
use crate::host::programs;
use crate::report::view::number::count;
use crate::runner::experiment::{Experiment, options};
use crate::runner::plan::resolved::Resolved;
use crate::runner::plan::sharded;
use crate::runner::preflight::{at_once, pace};
use crate::schema::plan::Plan;
use crate::schema::shard::Shard;
use crate::schema::units::{Bytes, MIB};
use crate::store::{Folder, PLAN};
use crate::testbeds::{Made, Testbeds};

/// The campaign's numbers, in its folder.
const CAMPAIGN: &str = "slurm.toml";
/// The plan of the trials that the results of the shards call for.
const NEXT: &str = "next.toml";
/// A shorter shard burdens the scheduler more than it saves time.
const SHORTEST: Duration = Duration::from_secs(15 * 60);
/// Most tasks of an array, as Slurm's default `MaxArraySize` has them.
const MOST: u32 = 1000;
/// Memory of fsderby itself, beside its trials.
const OWN_MEMORY: u64 = 256 * MIB;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Name of a ready experiment, or path to a .toml file: an experiment, the plan.toml of a run, or the next.toml
    /// that fsderby merge --next wrote, with the remaining trials
    #[arg(required = true, add = super::complete::experiments())]
    plan: Option<String>,
    /// Guest bundle whose kernel, programs and agent the nodes use: an ID of `fsderby guest list`, or a file
    #[arg(long, value_name = "ID|FILE")]
    guest: Option<String>,
    /// Folder of the campaign, on a filesystem that all nodes share; must not exist
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Number of shards; by default each shard takes about a quarter of an hour
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    tasks: Option<u32>,
    /// CPUs of a task; on modelled disks this is also the task's number of parallel trials
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpus: u32,
    /// Time limit of a task: minutes, or HOURS:MINUTES:SECONDS; a shard that takes longer is requeued and continues
    #[arg(long, value_name = "TIME")]
    time: Option<Limit>,
    /// Memory of a task; default: the memory that its trials take
    #[arg(long)]
    mem: Option<Bytes>,
    /// Partition of all jobs, as `sinfo` lists it; default: the cluster's default partition
    #[arg(long, value_name = "NAME", value_parser = word)]
    partition: Option<String>,
    /// Account to which Slurm charges all jobs; default: the user's default account
    #[arg(long, value_name = "NAME", value_parser = word)]
    account: Option<String>,
    /// Write the scripts into the campaign's folder instead of printing them
    #[arg(long, conflicts_with = "submit")]
    write: bool,
    /// Write the scripts and submit them
    #[arg(long)]
    submit: bool,
}

#[derive(Subcommand)]
enum What {
    /// Show which shards of a campaign are done, running, queued or failed, and the time left
    Status(status::Arguments),
}

/// A time limit in minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit(u64);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Option<Vec<u64>> = text.split(':').map(|part| part.parse().ok()).collect();
        let minutes = match parts.as_deref() {
            Some([minutes]) => *minutes,
            Some([hours, minutes, seconds]) if *minutes < 60 && *seconds < 60 => {
                hours.saturating_mul(60).saturating_add(minutes + seconds.div_ceil(60))
            }
            _ => 0,
        };
        let fits = (1..=60 * 24 * 365).contains(&minutes);
        fits.then_some(Limit(minutes))
            .ok_or_else(|| format!("'{text}' is no time limit; write 90 (minutes) or 1:30:00"))
    }
}

/// A name that goes into a line of a script.
fn word(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,".contains(c);
    let is_one = !text.is_empty() && text.chars().all(is_plain);
    is_one.then(|| text.to_owned()).ok_or_else(|| format!("'{text}' is no name of Slurm's"))
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(What::Status(arguments)) = &arguments.what {
        return status::run(arguments);
    }
    if arguments.submit && programs::find_on_path("sbatch").is_none() {
        let text = "there is no sbatch on this machine\n  try: fsderby slurm PLAN --write --output DIR here and sh DIR/submit.sh on a \
                    login node, or fsderby run PLAN --shard I/N with another scheduler";
        return Err(Failure::missing(text).into());
    }
    let config = checked()?;
    let mut experiment = Experiment::load(arguments.plan.as_deref().unwrap_or_default())?;
    experiment.take_configured(config)?;
    options::give_guest(arguments.guest.clone(), &mut experiment)?;
    let plan = experiment.plan(common_testbed(&experiment)?, now_seed())?;
    // What a merge calls for is divided again; any other shard's plan stands for the whole.
    let due = plan.shard.as_ref().map(|shard| shard.due.clone()).filter(|due| !due.is_empty());
    let plan = Plan { shard: due.map(|due| Shard { number: 1, of: 1, due }), ..plan };
    let made = Made::of(&plan).map_err(Failure::usage)?;
    let campaign = campaign(arguments, &plan, &made.testbeds())?;
    let folder =
        arguments.output.clone().unwrap_or_else(|| fresh_folder(config, &format!("{} on slurm", plan.name)));
    let folder = std::path::absolute(folder).context("could not find the current folder")?;
    Folder::can_be_created(&folder)?;
    let program = std::env::current_exe().context("could not find this program")?;
    can_be_in_scripts("the campaign's folder", &folder, true)?;
    can_be_in_scripts("the program's file", &program, false)?;
    let scripts = scripts::all(&campaign, &folder, &program);
    if !arguments.write && !arguments.submit {
        for (name, text) in &scripts {
            print_line(&format!("==> {} <==\n{text}", folder.join(name).display()))?;
        }
        return print_line("Nothing was written. Try --write, or --submit.").map(|()| ExitCode::SUCCESS);
    }
    write(&folder, &plan, &campaign, &scripts)?;
    let submit = folder.join("submit.sh");
    let quoted = |path: &Path| quote(&path.display().to_string()).into_owned();
    let merge = campaign.is_of_due.then(|| {
        format!(
            "\nwhen its shards are done: fsderby merge OUT SHARD… {}/*, with the shards that called for them",
            quoted(&folder.join("shards"))
        )
    });
    let merge = merge.unwrap_or_default();
    if !arguments.submit {
        print_line(&format!("{}\nsubmit: sh {}{merge}", folder.display(), quoted(&submit)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let ended = Command::new("sh").arg(&submit).status().context("could not start submit.sh")?;
    if !ended.success() {
        let text = format!(
            "not all jobs of {} were submitted, see above\n  try: sh {}, which submits the others",
            folder.display(),
            quoted(&submit)
        );
        return Err(Failure::missing(text).into());
    }
    print_line(&format!("submitted{merge}\n  try: fsderby slurm status {}", quoted(&folder)))?;
    Ok(ExitCode::SUCCESS)
}

/// Scripts are lines of text: a line end in a path would begin another line. Slurm also puts a job's folder before the name of its
/// log, and replaces % and drops backslashes in both.
fn can_be_in_scripts(what: &str, path: &Path, is_of_jobs: bool) -> Result<(), Failure> {
    let why = match path.to_str() {
        None => "is not text in UTF-8",
        Some(text) if text.contains(char::is_control) => "contains a control character, such as a line end",
        Some(text) if is_of_jobs && text.contains('%') => {
            "contains a %, which Slurm replaces in the names of logs"
        }
        Some(text) if is_of_jobs && text.contains('\\') => {
            "contains a backslash, which Slurm drops in the names of logs"
        }
        Some(_) => return Ok(()),
    };
    let shown = path.to_string_lossy().escape_debug().to_string();
    let advice = if is_of_jobs { "--output with another folder" } else { "a copy of it under another path" };
    Err(Failure::usage(format!("{what} '{shown}' {why}\n  try: {advice}")))
}

/// Numbers of tasks, memory and time, from what the trials take.
fn campaign(arguments: &Arguments, plan: &Plan, testbeds: &Testbeds<'_>) -> anyhow::Result<Campaign> {
    let resolved = Resolved::of(plan)?;
    let in_virtual_time = resolved.share.in_virtual_time();
    let rounds = plan.rounds.at_least();
    let trials = sharded::trials(&resolved, rounds);
    let due = resolved.share.named();
    let is_of_due = resolved.share.is_of_named();
    let trials = if is_of_due { due } else { trials };
    let most = if in_virtual_time || is_of_due { trials } else { rounds as usize };
    let one_by_one = pace::guess(&resolved, testbeds, &[], 1);
    let cells = u32::try_from(plan.candidates.len() * plan.scenarios.len()).unwrap_or(u32::MAX).max(1);
    let extras = u32::try_from(pace::extra_trials(&resolved, &[])).unwrap_or(u32::MAX);
    let whole = match is_of_due {
        true => one_by_one.a_round / cells * u32::try_from(due).unwrap_or(u32::MAX),
        false => one_by_one.of_rounds(rounds) + one_by_one.a_round / cells * extras,
    };
    let at_once = if in_virtual_time { arguments.cpus } else { 1 };
    let most = u32::try_from(most).unwrap_or(u32::MAX).min(MOST);
    let fit = (whole / at_once).as_secs() / SHORTEST.as_secs();
    let tasks = arguments.tasks.unwrap_or(u32::try_from(fit).unwrap_or(u32::MAX).clamp(1, most.max(1)));
    let named = plan.shard.as_ref().map(|shard| shard.due.clone()).unwrap_or_default();
    let shard = Plan { shard: Some(Shard { number: 1, of: tasks, due: named }), ..plan.clone() };
    sharded::check(&Resolved::of(&shard)?)?;
    let a_shard = whole / at_once / tasks;
    if a_shard < SHORTEST && tasks > 1 {
        say(&format!(
            "note: {} in {} take about {} min each; a scheduler wants a quarter of an hour at least\n  try: a smaller N in --tasks N",
            count(trials, "trial"),
            count(tasks as usize, "shard"),
            a_shard.as_secs().div_ceil(60)
        ));
    }
    let memory =
        at_once::memory(&resolved, testbeds).0.saturating_mul(at_once.into()).saturating_add(OWN_MEMORY);
    Ok(Campaign {
        tasks,
        cpus: arguments.cpus,
        memory: arguments.mem.unwrap_or(Bytes(memory)),
        // Twice the estimate; what takes longer is requeued in virtual time.
        minutes: arguments.time.map_or((a_shard.as_secs() * 2 / 60).max(30), |limit| limit.0),
        in_virtual_time,
        partition: arguments.partition.clone(),
        account: arguments.account.clone(),
        is_of_due,
    })
}

/// The folders of a campaign.
const FOLDERS: [&str; 4] = ["log", "ended", "shards", "next"];

/// Writes a new campaign's folder, or nothing.
fn write(folder: &Path, plan: &Plan, campaign: &Campaign, scripts: &[(&str, String)]) -> anyhow::Result<()> {
    let failed = |e: anyhow::Error| {
        Failure::missing(format!(
            "could not write the campaign's folder {}: {e:#}\n  try: --output DIR, in a folder with free space that you can write to",
            folder.display()
        ))
    };
    let above = folder.parent().map_or(Ok(()), create_folders);
    above.and_then(|()| create_folder(folder)).map_err(|e| failed(e.into()))?;
    let made = || -> anyhow::Result<()> {
        for name in FOLDERS {
            create_folder(&folder.join(name))?;
        }
        let write = |name: &str, text: &str| -> std::io::Result<fs::File> {
            let mut file = create_new(&folder.join(name))?;
            file.write_all(text.as_bytes())?;
            Ok(file)
        };
        write(PLAN, &toml::to_string(plan)?)?;
        write(CAMPAIGN, &toml::to_string(campaign)?)?;
        for (name, text) in scripts {
            write(name, text)?.set_permissions(fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    };
    made().map_err(|e| {
        // Only what was made here: these files, then folders that are empty.
        let files = [PLAN, CAMPAIGN].into_iter().chain(scripts.iter().map(|(name, _)| *name));
        files.for_each(|name| drop(fs::remove_file(folder.join(name))));
        FOLDERS.iter().for_each(|name| drop(fs::remove_dir(folder.join(name))));
        let _ = fs::remove_dir(folder);
        failed(e).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_minutes_or_hours_with_minutes_and_seconds() {
        let minutes = |text: &str| text.parse::<Limit>().map(|limit| limit.0);
        assert_eq!((minutes("90"), minutes("1:30:00"), minutes("0:00:30")), (Ok(90), Ok(90), Ok(1)));
        for text in ["", "0", "1:30", "1:60:00", "soon", "-5", "0:00:00", "99999999999999999999"] {
            assert!(minutes(text).is_err(), "{text}");
        }
        let why = |path: &str, is_of_jobs| can_be_in_scripts("the folder", Path::new(path), is_of_jobs);
        for (path, word) in [
            ("a\nb", "control character"),
            ("a\tb", "control character"),
            ("a%b", "a %"),
            ("a\\b", "backslash"),
        ] {
            let said = why(path, true).unwrap_err().to_string();
            assert!(said.contains(word) && said.contains("try: --output"), "{said}");
        }
        assert!(why("/a b/it's \"ä\" $x", true).is_ok() && why("/a%b\\c", false).is_ok());
        assert!(word("all").is_ok() && word("a b").is_err() && word("x\n#SBATCH --uid=0").is_err());
    }
}
