//! `fsderby run`: runs an experiment and reports it.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;

use super::beforehand::{Check, Checked, Place, can_be_judged, jobs, names_what_is_made};
use super::complete;
use super::config::results;
use super::dry_run::{self, Shown};
use super::foresight::Known;
use super::output::print_line;
use super::own_program;
use super::progress::Progress;
use super::setups::common_testbed;
use super::signals;
use crate::analysis::condition::Condition;
use crate::config::Config;
use crate::exit::{self, Failure};
use crate::host::other_runs;
use crate::report::view::number::count;
use crate::runner::execute::candidate_check::CandidateCheck;
use crate::runner::execute::rounds::{Finish, Runner};
use crate::runner::experiment::entry::FilesystemEntry;
use crate::runner::experiment::options::Flags;
use crate::runner::experiment::{Experiment, RoundsAsked};
use crate::runner::experiment::{mounted, planned};
use crate::runner::plan::resolved::Resolved;
use crate::runner::preflight::pace::{self, Time};
use crate::runner::preflight::skips::Skip;
use crate::runner::verify::verify;
use crate::schema::plan::{Plan, Rounds};
use crate::schema::reason::{Held, Outcome, Reason, ValidityCheck};
use crate::schema::record::Record;
use crate::schema::units::Span;
use crate::store::keys::Key;
use crate::store::signature;
use crate::store::{self, Door, Folder, Run};
use crate::testbeds::{Made, Testbeds};

#[derive(Args)]
pub struct Arguments {
    /// Name of a ready experiment, or path to a .toml file
    #[arg(default_value = "quick", add = complete::experiments())]
    experiment: String,
    /// Names of the filesystems to compare instead of the experiment's, or `all`. A filesystem that is also in the
    /// experiment's list keeps the options of that list
    #[arg(long, value_delimiter = ',', value_name = "A,B", add = complete::filesystems())]
    filesystems: Vec<String>,
    /// A filesystem with options: 'ext4 label="no atime" mount=noatime mkfs="-O ^has_journal"', or with its own kernel, memory,
    /// CPUs or testbed: 'ext4 label=old kernel=6.1 memory=64m cpus=2 on=vm'. It is added to the list of --filesystems; without
    /// --filesystems it replaces the experiment's filesystems
    #[arg(long = "filesystem", value_name = "SPEC", add = complete::kinds())]
    filesystem: Vec<FilesystemEntry>,
    /// Ready workloads by name (`fsderby list workloads` shows them), instead of the experiment's workloads
    #[arg(long, value_delimiter = ',', value_name = "A,B", add = complete::workloads())]
    workloads: Vec<String>,
    #[command(flatten)]
    own: own_program::Commands,
    #[command(flatten)]
    settings: Flags,
    /// Compare all other candidates (filesystem entries) with the candidate of this label, instead of with the best
    #[arg(long, value_name = "LABEL", add = complete::kinds())]
    baseline: Option<String>,
    /// Condition that `fsderby compare --fail-if` will judge later; fsderby refuses a run that is too short to decide
    /// this condition; may be repeated
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Condition>,
    /// Folder of the run; must not exist
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Number of trials that run at the same time, only with --on model; default: as many as there are CPUs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    jobs: Option<u32>,
    /// The fsderby binary that guests run as their agent, instead of this one
    #[arg(long, value_name = "FILE", hide = true)]
    agent: Option<PathBuf>,
    /// Continue an interrupted run, or add rounds to it with --rounds or --budget
    #[arg(long, value_name = "DIR", add = complete::runs(), conflicts_with_all = ["experiment", "output", "filesystems", "filesystem", "workloads", "commands", "jobs", "fail_if"])]
    resume: Option<PathBuf>,
    /// With --resume: continue although the folder, or a file in it, belongs to another user; fsderby then executes that user's
    /// plan
    #[arg(long, requires = "resume")]
    trust: bool,
    /// Sign the run at its end with this secret key, made by `fsderby key` or minisign
    #[arg(long, value_name = "KEYFILE")]
    sign: Option<PathBuf>,
    /// Print what would run, with the expected time, bytes and smallest detectable difference, and run nothing; fails if the run
    /// would be refused
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: also print every command of every trial
    #[arg(long, requires = "dry_run")]
    verbose: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let key = read_key(arguments.sign.as_deref())?;
    let ending = Ending { stop: signals::stop()?, key };
    match &arguments.resume {
        Some(folder) => resume(&arguments, folder, &ending),
        None => begin(&arguments, &ending),
    }
}

/// A new run.
fn begin(arguments: &Arguments, ending: &Ending) -> anyhow::Result<ExitCode> {
    let config = super::config::checked()?;
    let experiment = experiment(arguments, config)?;
    let plan = experiment.plan(common_testbed(&experiment)?, now_seed())?;
    let mut made = Made::of(&plan).map_err(Failure::usage)?;
    if let Some(agent) = &arguments.agent {
        made.take_agent(agent).map_err(|m| Failure::usage(m.to_string()))?;
    }
    let testbeds = made.testbeds();
    names_what_is_made(&arguments.filesystems, &testbeds)?;
    let plan = mounted::seen(plan, &testbeds)?;
    let plan = Resolved::of(&plan)?;
    let jobs = jobs(arguments.jobs, &plan, &testbeds)?;
    can_be_judged(&arguments.fail_if, &plan, &testbeds)?;
    let path = arguments.output.clone().unwrap_or_else(|| fresh_folder(config, &plan.name));
    let checked = Check {
        plan: &plan,
        testbeds: &testbeds,
        baseline: arguments.baseline.as_deref(),
        is_lenient: experiment.takes_all(),
        place: Place::New(&path),
    };
    let Checked { mut skips, machine } = checked.all()?;
    if arguments.dry_run {
        if !experiment.takes_all() {
            dry_run::mkfs_options::check(&plan, &testbeds)?;
        }
        let known = Known::beside(&arguments.experiment, &plan);
        let shown = Shown { as_json: arguments.json, is_verbose: arguments.verbose };
        dry_run::print(&plan, &testbeds, &skips, known.as_ref(), jobs, shown)?;
        return machine.map(|_| ExitCode::SUCCESS);
    }
    let machine = machine?;
    if !arguments.quiet {
        // Only a budget is compared with the time, whose estimate is slow.
        let took = plan.budget.map_or_else(Time::default, |_| pace::guess(&plan, &testbeds, &skips, jobs));
        dry_run::notes(&plan, took).iter().for_each(|said| super::say(&format!("note: {said}")));
    }
    tell_other_runs(&testbeds);
    let stop = || ending.stop.load(Ordering::Relaxed);
    skips.extend(
        CandidateCheck { plan: &plan, testbeds: &testbeds, skips: &skips, stop: &stop }
            .all(experiment.takes_all())?,
    );
    if stop() {
        return Ok(ExitCode::from(exit::INTERRUPTED));
    }
    let mut made = Folder::create(&path, &plan, &machine);
    // Another run began in the same second and took the name.
    for again in 2..MOST_NAMES {
        let is_taken = made.is_err() && arguments.output.is_none() && path.exists();
        if !is_taken {
            break;
        }
        made = Folder::create(&path.with_added_extension(again.to_string()), &plan, &machine);
    }
    let mut folder = made?;
    let before = folder.read()?;
    let plan = Resolved::of(&before.plan)?;
    carry_out(arguments, &mut folder, &before, &Due { plan, testbeds, skips, jobs }, ending)
}

/// The rest of a run, or further rounds. A dry run takes no lock and changes nothing.
fn resume(arguments: &Arguments, folder: &Path, ending: &Ending) -> anyhow::Result<ExitCode> {
    let door = store::open_trusted(folder, arguments.trust)?;
    let (folder, before) = match arguments.dry_run {
        true => (None, store::read_through(door)?),
        false => Folder::open_through(door).map(|(folder, before)| (Some(folder), before))?,
    };
    let mut before = planned::judged(before).sound()?;
    let made = Made::of(&before.plan).map_err(Failure::usage)?;
    let testbeds = made.testbeds();
    let jobs = jobs(arguments.jobs, &Resolved::of(&before.plan)?, &testbeds)?;
    let further = ["rounds", "budget"].iter().any(|name| arguments.settings.is_given(name));
    if let (Some(shard), true) = (&before.plan.shard, further) {
        let text = format!(
            "the plan of shard {shard} fixes its number of rounds\n  try: --resume without --rounds and --budget"
        );
        return Err(Failure::usage(text).into());
    }
    before.plan = longer(&before, arguments, jobs);
    let plan = Resolved::of(&before.plan)?;
    let checked = Check {
        plan: &plan,
        testbeds: &testbeds,
        baseline: arguments.baseline.as_deref(),
        is_lenient: true,
        place: Place::Resumed(&before),
    };
    let Checked { skips, machine } = checked.all()?;
    let Some(mut folder) = folder else {
        dry_run::print_further(&before, &plan, &skips, arguments.json)?;
        return machine.map(|_| ExitCode::SUCCESS);
    };
    machine?;
    tell_other_runs(&testbeds);
    carry_out(arguments, &mut folder, &before, &Due { plan, testbeds, skips, jobs }, ending)
}

/// Runs in real time disturb each other; in virtual time they only take longer.
fn tell_other_runs(testbeds: &Testbeds<'_>) {
    let others = if testbeds.are_all_virtual() { Vec::new() } else { other_runs::now() };
    if let [first, ..] = others.as_slice() {
        super::say(&format!(
            "note: {others} of fsderby on this machine (process {first}); their trials and the trials of this run disturb each other\n  try: one \
             run after the other",
            others = count(others.len(), "other run")
        ));
    }
}

/// The plan for the rest of a run. The stored plan fixes the order within each round; options may change the number of
/// rounds. A new budget counts from now; from the plan's own budget, the time used so far is subtracted.
fn longer(before: &Run, arguments: &Arguments, jobs: usize) -> Plan {
    let plan = before.plan.clone();
    match (arguments.settings.one("rounds"), arguments.settings.one("budget")) {
        (Some(RoundsAsked::Exactly(n)), _) => Plan { rounds: Rounds::Exactly(n), budget: None, ..plan },
        (_, Some(budget)) => Plan { rounds: Rounds::AtLeast(1), budget: Some(budget), ..plan },
        _ => {
            let taken: u64 = before.records.iter().map(|record| record.circumstances.host_ns).sum();
            let taken = Duration::from_secs(taken / 1_000_000_000 / jobs as u64);
            Plan { budget: plan.budget.map(|budget| Span(budget.0.saturating_sub(taken))), ..plan }
        }
    }
}

/// The experiment with the configuration and the command-line options applied.
fn experiment(arguments: &Arguments, config: &Config) -> anyhow::Result<Experiment> {
    let own = Experiment::load(&arguments.experiment)?;
    let mut experiment = own.clone();
    experiment.take_configured(config)?;
    experiment.take_filesystems(&arguments.filesystems, &arguments.filesystem);
    if !arguments.workloads.is_empty() || !arguments.own.is_empty() {
        experiment.workloads.clone_from(&arguments.workloads);
        experiment.workload = arguments.own.entries()?;
        experiment.scenario.clear();
        experiment.planned.clear();
        // Weights of workloads that the options have removed.
        experiment.needs.iter_mut().for_each(|needs| needs.workload.clear());
    }
    experiment.take(&arguments.settings)?;
    Ok(experiment.told_from(&own))
}

/// What the end of a run needs: the stop flag and the key to sign with.
struct Ending {
    /// Set by the first Ctrl-C.
    stop: Arc<AtomicBool>,
    key: Option<Key>,
}

/// The trials to run: plan, testbeds, skipped cells, and number of parallel trials.
struct Due<'a> {
    plan: Resolved<'a>,
    testbeds: Testbeds<'a>,
    skips: Vec<Skip>,
    jobs: usize,
}

fn carry_out(
    arguments: &Arguments,
    folder: &mut Folder,
    before: &Run,
    Due { plan, testbeds, skips, jobs }: &Due<'_>,
    Ending { stop, key }: &Ending,
) -> anyhow::Result<ExitCode> {
    crate::agent::remove_what_dead_runs_left();
    let door = folder.door().clone();
    let mut watch = Progress::new(arguments.quiet, Some(&door)).after(before);
    let was_signed = signature::is_signed(&door);
    let finish =
        Runner { plan, testbeds, folder, skips, watch: &mut watch, jobs: *jobs, stop }.run(before)?;
    drop(watch);
    match key {
        Some(key) => sign_what_holds(&door, key)?,
        None if was_signed && !signature::is_signed(&door) => {
            super::say(
                "the run was signed before it was continued, and is now no longer signed\n  try: --resume with --sign KEYFILE",
            );
        }
        None => {}
    }
    let run = folder.read()?;
    let html = super::report::after_run(&run, arguments.baseline.as_deref(), arguments.json)?;
    if !arguments.json {
        print_line(&format!("\nreport: {}", html.display()))?;
    }
    if finish.interrupted {
        super::say(&format!(
            "interrupted; finished trials are kept\n  try: fsderby run --resume {}",
            folder.path().display()
        ));
    }
    Ok(ExitCode::from(code(&run, finish)))
}

/// Signs the run, unless its files were altered before it continued.
pub fn sign_what_holds(run: &Door, key: &Key) -> anyhow::Result<()> {
    match verify(&store::read_through(run.clone())?).wrong.first() {
        None => signature::sign(run, key),
        Some(wrong) => {
            let folder = run.path().display();
            let text = format!("{folder} is not signed: {wrong}\n  try: fsderby verify {folder}");
            Err(Failure::new(exit::DAMAGED, text).into())
        }
    }
}

/// The key to sign with, if one is asked for.
pub fn read_key(path: Option<&Path>) -> anyhow::Result<Option<Key>> {
    Ok(path.map(|path| Key::read(path, || ask_password(path))).transpose()?)
}

/// Asks for the password of a key, only on a terminal.
fn ask_password(key: &Path) -> Option<String> {
    let asks = || rpassword::prompt_password(format!("password of {}: ", key.display())).ok();
    std::io::stdin().is_terminal().then(asks).flatten()
}

fn code(run: &Run, finish: Finish) -> u8 {
    let current = run.current();
    let integrity = |r: &Record| {
        let broken = |c: &ValidityCheck| c.name.is_integrity() && c.held == Held::No;
        r.reason.as_ref().is_some_and(Reason::is_integrity) || r.validity.iter().any(broken)
    };
    if current.iter().any(|r| integrity(r)) {
        exit::INTEGRITY
    } else if finish.interrupted {
        exit::INTERRUPTED
    } else if current.iter().any(|r| matches!(r.outcome, Outcome::Failed | Outcome::Void)) {
        exit::TRIALS
    } else {
        exit::OK
    }
}

/// Number of runs that may begin in one folder in the same second.
const MOST_NAMES: u32 = 100;

/// `results/quick-2026-11-21-101530`
pub fn fresh_folder(config: &Config, name: &str) -> PathBuf {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|w| !w.is_empty()).collect();
    let date =
        jiff::Zoned::now().with_time_zone(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d-%H%M%S").to_string();
    results(config).join(format!("{}-{date}", words.join("-")))
}

/// A random seed; it is stored, so that the run can be repeated.
pub fn now_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| u64::from(t.subsec_nanos()) + 1)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use clap::Parser;

    use super::*;
    use crate::report::compose::repeat;
    use crate::schema::plan::Candidate;
    use crate::schema::setup::Variant;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The plan that these arguments of `fsderby run` result in.
    fn plan(words: &[&str]) -> Plan {
        let line =
            Line::try_parse_from(["fsderby run"].iter().chain(words)).unwrap_or_else(|e| panic!("{e}"));
        let experiment = experiment(&line.arguments, &Config::default()).unwrap();
        experiment.plan(common_testbed(&experiment).unwrap(), 4711).unwrap()
    }

    /// The plan of a printed command after a shell and the parser have read it.
    fn typed(command: &str) -> Plan {
        let words = command.strip_prefix("fsderby run ").unwrap();
        let shell = Command::new("sh").arg("-c").arg(format!("printf '%s\\n' {words}")).output().unwrap();
        let text = String::from_utf8(shell.stdout).unwrap();
        plan(&text.lines().collect::<Vec<_>>())
    }

    #[test]
    fn the_command_that_a_report_prints_gives_the_very_same_plan() {
        let lines: &[&[&str]] = &[
            &[],
            &["--seed", "18446744073709551615", "--memory", "none", "--rounds", "7", "--size", "2147450880"],
            &[
                "--filesystems",
                "xfs,ext4",
                "--filesystem",
                r#"ext4 label="it's no atime" mount=noatime,nodev"#,
            ],
            &["--filesystem", r#"ext4 mkfs="-O ^has_journal -b 1024" mount=noatime label=bare"#],
            &["--filesystem", r#"ext4 label="a \"quick\" {one,two}!""#],
            &["--filesystem", "xfs", "--filesystem", "ext4 label=b", "--filesystem", "ext2"],
            &["--filesystem", r#"ext3-journal conversion label="from ext2""#],
            &["--filesystems", "all", "--filesystem", "ext4 label=second"],
            &["mail-2008", "--filesystems", "ext3-journal,ext2"],
            &["mail-2008", "--filesystem", "ext3-journal", "--filesystem", "ext2"],
            &["mailserver-2002", "--filesystems", "ext2,fat16,xfs", "--on", "loop"],
            &["--power-cut", "50%", "--on", "vm", "--filesystems", "ext4"],
            &["--clients", "4", "--filesystems", "ext4"],
            &["--needs", "mail server", "--filesystems", "ext4,xfs"],
            &["--state", "fresh", "--state", "filled 90%", "--filesystems", "xfs,ext4"],
            &[
                "--filesystem",
                "ext4 label=raid on=vm:disks=5 layer=md:raid5,chunk=64k layer=crypt state='filled 50%'",
                "--filesystem",
                "ext4 layer=none",
                "--on",
                "vm",
                "--layer",
                "crypt",
            ],
            &["--kernel", "6.1", "--kernel", "6.12", "--on", "vm:images=/srv/a b"],
            &["--memory", "24m", "--memory", "64m", "--cpus", "2", "--on", "vm", "--filesystems", "xfs,ext4"],
            &["--on", "model:hdd-16tb", "--on", "model:diamondmax-plus-8,offset=1g", "--kernel", "6.12"],
            &[
                "--filesystem",
                "ext4 label=old kernel=6.1 cpus=1",
                "--filesystem",
                "ext4 memory=1g on=loop",
                "--on",
                "vm",
            ],
            &[
                "--image",
                "written",
                "--cold",
                "--power-cut",
                "120",
                "--rounds",
                "auto",
                "--at-least",
                "9",
                "--budget",
                "90s",
            ],
            &[
                "--image",
                "sparse",
                "--margin",
                "2.5%",
                "--workloads",
                "maildir-quick",
                "--on",
                "loop:/srv/a b",
            ],
        ];
        for words in lines {
            let planned = plan(words);
            let repeat = repeat::of(&planned, true);
            assert_eq!(repeat.warning(), None, "{words:?}");
            assert_eq!(typed(&repeat.command), planned, "{}", repeat.command);
        }
    }

    #[test]
    fn a_stored_plan_is_an_experiment_that_gives_the_very_same_plan() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plan.toml");
        let lines: &[&[&str]] = &[
            &[],
            &[
                "mail-2008",
                "--scale",
                "1/8",
                "--rounds",
                "7",
                "--memory",
                "none",
                "--cold",
                "--image",
                "written",
            ],
            &[
                "--filesystem",
                r#"ext4 label="it's \ bare" mkfs="-O ^has_journal -b 1024""#,
                "--filesystem",
                "xfs label=b",
            ],
            &["--power-cut", "50%", "--on", "vm", "--filesystems", "ext4", "--workloads", "maildir-durable"],
            &["--on", "model:hdd-16tb,mips=250"],
            &["--kernel", "6.1", "--kernel", "6.12", "--cpus", "1", "--cpus", "2", "--memory", "24m"],
            &[
                "--filesystem",
                "ext4 label=old on=vm:kernel=6.1 memory=1g",
                "--filesystem",
                "ext4",
                "--on",
                "loop",
            ],
        ];
        for words in lines {
            let planned = Plan { workload_seed: 9, ..plan(words) };
            std::fs::write(&file, toml::to_string(&planned).unwrap()).unwrap();
            let from = file.display().to_string();
            assert_eq!(plan(&[&from]), planned, "{words:?}");
            let seeded = plan(&[&from, "--seed", "5"]);
            assert_eq!((seeded.plan_seed, seeded.workload_seed), (5, 5));
        }
    }

    #[test]
    fn an_experiment_that_flags_have_changed_says_so() {
        let told = |words: &[&str]| {
            let plan = plan(words);
            (plan.name, plan.analysis.lines().next().unwrap_or_default().chars().take(90).collect::<String>())
        };
        let starts = |words: &[&str], name: &str, with: &str| {
            let (is, analysis) = told(words);
            assert!(is == name && analysis.starts_with(with), "{words:?}: {is}: {analysis}");
        };
        starts(&["--rounds", "3", "--seed", "4", "--on", "vm"], "quick", "Which filesystem on this machine");
        let same = ["--workloads", "postmark-first,sources-first", "--memory", "48m"];
        starts(&same, "quick", "Which filesystem on this machine");
        starts(&["--filesystems", "ext4,xfs,btrfs,f2fs"], "quick", "Which filesystem on this machine");
        starts(&["--scale", "1/3"], "quick at scale 1/3", "quick with a scale of 1/3. Which filesystem");
        for (words, with) in [
            (
                &["--workloads", "maildir-quick,news-quick", "--scale", "1/2"][..],
                "quick with other workloads (maildir-quick, news-quick) and a scale of 1/2.",
            ),
            (&["--workloads", "postmark-first"], "quick with only the workload postmark-first."),
            (&["--memory", "none"], "quick with another memory limit. Which filesystem"),
            (
                &["--scale", "1/3", "--memory", "30m"],
                "quick with a scale of 1/3 and another memory limit. Which",
            ),
            (
                &["--filesystem", "ext4 label=b mount=noatime"],
                "quick with other filesystems. Which filesystem",
            ),
        ] {
            starts(words, "quick with other settings", with);
        }
    }

    #[test]
    fn a_plain_choice_of_filesystems_is_no_change_and_the_description_is_of_those_that_ran() {
        let all = format!("On {} filesystems: Which filesystem on this", crate::filesystems::TABLE.len());
        for (words, with) in [
            (&["--filesystems", "ext4"][..], "On ext4: Which filesystem on this machine"),
            (&["--filesystems", "xfs,ext4,jfs"], "On xfs, ext4 and jfs: Which filesystem on this"),
            (&["--filesystem", "jfs"], "On jfs: Which filesystem on this"),
            (&["--filesystems", "all"], all.as_str()),
            (&["mailserver", "--filesystems", "ext4,xfs"], "On ext4 and xfs: Which filesystem should hold"),
            (&["mail-2008", "--filesystems", "ext3-journal"], "On ext3-journal: Does ReiserFS serve"),
        ] {
            let plan = plan(words);
            assert!(!plan.name.contains("settings"), "{words:?}: {}", plan.name);
            assert!(plan.analysis.starts_with(with), "{words:?}: {}", plan.analysis);
        }
        let both = plan(&["--filesystems", "ext4", "--memory", "none"]);
        assert_eq!(both.name, "quick with other settings");
        assert!(
            both.analysis.starts_with("quick with another memory limit, on ext4. Which"),
            "{}",
            both.analysis
        );
    }

    #[test]
    fn a_scale_reaches_memory_and_a_filled_volume_and_what_is_given_beside_it_is_taken_as_it_is() {
        let of = |words: &[&str]| {
            let plan = plan(words);
            (plan.size.written(), plan.memory.unwrap().written(), plan.state.unwrap_or_default())
        };
        let full = |size: &str, memory: &str, state: &str| (size.into(), memory.into(), state.into());
        assert_eq!(of(&["fileserver"]), full("12g", "512m", "filled 40%"));
        assert_eq!(of(&["fileserver", "--scale", "1/8"]), full("1536m", "64m", "filled 40%"));
        assert_eq!(of(&["fileserver", "--scale", "1/8", "--size", "3g"]), full("3g", "64m", "filled 40%"));
        let given = ["fileserver", "--scale", "1/8", "--memory", "100m", "--state", "fresh"];
        assert_eq!(of(&given), full("12g", "100m", "fresh"), "nothing fills it");
        assert_eq!(of(&["mail-2008", "--scale", "1/16", "--on", "loop"]), full("1638m", "32m", ""));
        let provao = |filesystem: &'static str| {
            of(&["provao", "--workloads", "provao-1g", "--scale", "1/26", "--filesystems", filesystem])
        };
        assert_eq!(provao("ext3-ordered"), full("16g", "20m", ""));
        assert_eq!(provao("ext3-journal"), full("16g", "61m", ""), "its journal pins data");
        assert_eq!(of(&["fileserver", "--scale", "2"]), full("12g", "512m", "filled 40%"));
        assert_eq!(
            of(&["hard-disk", "--scale", "1/2"]),
            full("1024g", "32m", "allocated 80%"),
            "its distances stay"
        );
    }

    #[test]
    fn what_no_command_line_can_say_is_named() {
        let mut planned = plan(&["--scale", "1/4", "--needs", "backup"]);
        planned.name = "my own".into();
        planned.needs.as_mut().unwrap().cpu = Some(2.0);
        planned.workload_seed = 1;
        let variant = Variant { mkfs: vec!["-L one word".into()], ..Variant::default() };
        let label = String::from("a blank in an argument");
        planned.candidates.push(Candidate { label, variant, ..planned.candidates[0].clone() });
        let said = repeat::of(&planned, true).warning().unwrap();
        for what in [
            "name and question",
            "a blank in an argument",
            "postmark-first",
            "sources-first",
            "the needs",
            "seed 1",
        ] {
            assert!(said.contains(what), "{said}");
        }
    }
}
