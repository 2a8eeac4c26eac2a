//! `fsderby reproduce PAPER`: runs a paper's experiments, and judges its tables and claims by them.

use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use fsderby_sys::process::tied_command;
use rustix::process::{Pid, Signal, kill_process};
use shell_words::quote;

use super::compare::usable;
use super::config::checked;
use super::dry_run::{VERBOSE, WHOLE};
use super::kit;
use super::output::{print, print_json, print_with, say, terminal_width};
use super::report::write_file;
use super::run::{fresh_folder, read_key};
use super::signals;
use super::verify::Sample;
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::exit::{self, Failure};
use crate::papers::{self, Paper, Repeat};
use crate::report;
use crate::report::formats::{html, markdown, terminal};
use crate::report::view::reproduced::Reproduced;
use crate::runner::experiment::{Experiment, eras};
use crate::schema::units::{Bytes, Scale, Span};
use crate::store::keys::Key;
use crate::store::{Door, Run};
use crate::text::visible::visible;

/// Today's disk and machine, beside the paper's.
const NOW: &str = "model:samsung-pm9a3-1920,machine=server-2024";
/// Name of the page in the folder of a reproduction.
const PAGE: &str = "reproduced.html";
/// Larger than any page.
const MOST: Bytes = Bytes(64 << 20);

#[derive(Args)]
pub struct Arguments {
    /// Name of a paper, or path of a paper's .toml file
    #[arg(required_unless_present = "check", default_value = "", hide_default_value = true, add = super::complete::papers())]
    paper: String,
    /// Judge the paper by these existing runs, and run nothing
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with_all = ["column", "on", "scale", "budget", "rounds", "output", "dry_run"])]
    from: Vec<PathBuf>,
    /// What to run on: a model of the paper's disk and machine (`then`), the same with the default mkfs and mount options of the
    /// paper's time (`era`), a model of today's disk and machine (`now`), or `then` and `now` (`both`); each is a column of the
    /// results page
    #[arg(long, value_enum, default_value = "both")]
    column: Which,
    /// Run on this testbed instead of the modelled disks and machines of --column
    #[arg(long, value_name = "TESTBED", conflicts_with = "column")]
    on: Option<String>,
    /// Scale of workloads and memory, such as 1/16; default: the scale in the paper's file, otherwise full size; a column
    /// then takes an estimated half hour on two cores
    #[arg(long, value_name = "N/M")]
    scale: Option<Scale>,
    /// Run as many rounds as fit into this time, of which each run gets an equal share; on a modelled disk at least 13
    #[arg(long, value_name = "TIME", conflicts_with = "rounds")]
    budget: Option<Span>,
    /// Number of rounds of each run; default: 13, the smallest number with which a ratio gets a range on a modelled disk
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Folder for the runs and the page of results; if it exists, its runs are continued
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print what would run, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Print every claim with all reasons and with the ranges of all comparisons
    #[arg(long)]
    all: bool,
    /// Also print the paper's commands for further runs that show why results differ: each compares one change only, such as
    /// options of the paper's time, the write barrier, memory or the disk
    #[arg(long)]
    why: bool,
    /// Write one HTML file that opens from disk, without network or scripts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Start the runs' virtual machines from this guest bundle: the ID that `fsderby guest list` prints
    #[arg(long, value_name = "ID", conflicts_with = "from")]
    guest: Option<String>,
    /// Pack runs, guest bundle, paper and page into this new file (a kit), so that others can check them with --check; the runs
    /// must name their guest bundle (--guest)
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    kit: Option<PathBuf>,
    /// Sign the kit with this secret key, made by `fsderby key` or minisign
    #[arg(long, value_name = "KEYFILE", requires = "kit")]
    sign: Option<PathBuf>,
    /// Check a kit: verify its hashes and runs, recompute its page, and execute a random share of its trials again
    #[arg(long, value_name = "KIT", conflicts_with_all = ["paper", "from", "column", "on", "scale", "budget", "rounds", "output", "dry_run", "all", "why", "html", "markdown", "json", "guest", "kit"])]
    check: Option<PathBuf>,
    /// With --check: number or share of each run's trials to execute again
    #[arg(long, value_name = "N|PERCENT|all", default_value = "1%", requires = "check")]
    share: Sample,
    /// With --check: seed of the choice of trials; default: a random seed, which is printed
    #[arg(long, value_name = "N", requires = "check")]
    seed: Option<u64>,
    /// With --check: number of parallel trials; default: as many as there are CPUs
    #[arg(long, value_name = "N", requires = "check", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// With --check: require a signature by this public key: a file, or the key itself
    #[arg(long, value_name = "PUBLIC", requires = "check")]
    key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    Then,
    Era,
    Now,
    Both,
}

/// An experiment of the paper on one testbed.
struct Planned<'p> {
    run: &'p Repeat,
    /// Absent: the experiment's own.
    on: Option<String>,
    /// The era of the filesystems' options; absent: today's options.
    era: Option<&'p str>,
    folder: PathBuf,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(file) = &arguments.check {
        let Arguments { share, seed, jobs, key, .. } = arguments;
        return kit::check(&kit::Asked { file, share, seed: *seed, jobs: *jobs, key: key.as_deref() });
    }
    let paper = papers::load(&arguments.paper)?;
    if let Some(era) = &paper.reproduction.era {
        eras::find(era).map_err(|wrong| Failure::usage(format!("{}: {wrong}", arguments.paper)))?;
    }
    for run in &paper.reproduction.runs {
        Experiment::load(&run.experiment)?;
    }
    let runs = read(&arguments.from)?;
    let key = read_key(arguments.sign.as_deref())?;
    if let Some(to) = &arguments.kit {
        kit::can_be_packed(to, &arguments.paper, &runs, arguments.guest.as_deref())?;
    }
    if !runs.is_empty() {
        return told(arguments, &paper, &runs, None, key.as_ref());
    }
    let config = checked()?;
    let fresh = || fresh_folder(config, &format!("reproduce {}", name(arguments)));
    let folder = arguments.output.clone().unwrap_or_else(fresh);
    has_no_other_page(&folder)?;
    let all = planned(arguments, &paper, &folder)?;
    if arguments.dry_run {
        if arguments.json {
            let what = "the dry run of a paper prints no JSON\n  try: fsderby run EXPERIMENT --dry-run --json, for each \
                        experiment that fsderby reproduce PAPER --dry-run names";
            return Err(Failure::usage(what).into());
        }
        for one in &all {
            let mut command = child(arguments, one, all.len());
            let output = command.arg("--dry-run").stderr(Stdio::inherit()).output();
            let output = output.context("could not start fsderby")?;
            if !output.status.success() {
                return Ok(ExitCode::from(output.status.code().map_or(exit::USAGE, |code| code as u8)));
            }
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            print(&format!("{}:\n{}", one.folder.display(), text.replace(VERBOSE, "")))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    foretell(arguments, &all)?;
    let stop = signals::stop()?;
    let mut worst = exit::OK;
    for one in &all {
        let how = if one.folder.exists() { ", continued with its own plan and options" } else { "" };
        say(&format!("run {}: {}{how}", one.run.experiment, one.folder.display()));
        // The page has all figures, so the report of each run is not printed.
        let status = carried_out(child(arguments, one, all.len()).stdout(Stdio::null()), &stop);
        let status = status.context("could not start fsderby")?;
        if let (Some(signal), false) = (status.signal(), stop.load(Ordering::Relaxed)) {
            let text = format!(
                "the run {} was killed by signal {signal}; its finished trials are kept\n  try: the same command with \
                 --output {}",
                one.folder.display(),
                folder.display()
            );
            return Err(Failure::new(exit::TRIALS, text).into());
        }
        let code = status.code().map_or(exit::INTERRUPTED, |code| code as u8);
        if stop.load(Ordering::Relaxed) || code == exit::INTERRUPTED {
            say(&format!(
                "interrupted; finished trials are kept\n  try: the same command with --output {}",
                folder.display()
            ));
            return Ok(ExitCode::from(exit::INTERRUPTED));
        }
        if ![exit::OK, exit::TRIALS].contains(&code) {
            return Ok(ExitCode::from(code));
        }
        worst = worst.max(code);
    }
    let folders: Vec<PathBuf> = all.into_iter().map(|one| one.folder).collect();
    told(arguments, &paper, &read(&folders)?, Some(&folder), key.as_ref())?;
    Ok(ExitCode::from(worst))
}

/// Runs the command. A signal that stops this program is passed on once: to this end the child has a process group of its own, as
/// Ctrl-C goes to a whole group, and a second signal would end the child without a seal.
fn carried_out(command: &mut Command, stop: &AtomicBool) -> io::Result<ExitStatus> {
    let mut child = command.process_group(0).spawn()?;
    let mut is_told = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.load(Ordering::Relaxed) && !is_told {
            is_told = true;
            // It may have ended meanwhile.
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// `./papers/mine.toml` is `mine`.
fn name(arguments: &Arguments) -> String {
    let path = Path::new(&arguments.paper);
    path.file_stem().map_or_else(|| arguments.paper.clone(), |stem| stem.to_string_lossy().into_owned())
}

/// The runs to make, each in its own folder.
fn planned<'p>(arguments: &Arguments, paper: &'p Paper, folder: &Path) -> Result<Vec<Planned<'p>>, Failure> {
    let runs = &paper.reproduction.runs;
    if runs.is_empty() {
        let text = format!(
            "{} names no experiment to run\n  try: run = [{{ experiment = \"…\" }}] in its [reproduction], or --from RUN",
            arguments.paper
        );
        return Err(Failure::usage(text));
    }
    let now = || Some(NOW.to_owned());
    let era = paper.reproduction.era.as_deref();
    let columns: Vec<(&str, Option<String>, Option<&str>)> = match (&arguments.on, arguments.column) {
        (Some(on), _) => vec![("here", Some(on.clone()), None)],
        (None, Which::Then) => vec![("then", None, None)],
        (None, Which::Era) if era.is_none() => {
            let text = format!(
                "{} names no era, so the default options of its time are not known\n  try: --column then",
                arguments.paper
            );
            return Err(Failure::usage(text));
        }
        (None, Which::Era) => vec![("era", None, era)],
        (None, Which::Now) => vec![("now", now(), None)],
        (None, Which::Both) => vec![("then", None, None), ("now", now(), None)],
    };
    let of = |(column, on, era): &(&str, Option<String>, Option<&'p str>)| -> Vec<Planned<'p>> {
        let one = |(at, run): (usize, &'p Repeat)| {
            let plain = Path::new(&run.experiment).file_stem().unwrap_or_default().to_string_lossy();
            // One experiment may stand in several rows.
            let is_first = runs[..at].iter().all(|other| other.experiment != run.experiment);
            let number = if is_first { String::new() } else { format!("-{}", at + 1) };
            let folder = folder.join(column).join(format!("{plain}{number}"));
            Planned { run, on: on.clone(), era: *era, folder }
        };
        runs.iter().enumerate().map(one).collect()
    };
    Ok(columns.iter().flat_map(of).collect())
}

/// The command that makes or continues one of `n` runs.
fn child(arguments: &Arguments, one: &Planned<'_>, n: usize) -> Command {
    let mut command = tied_command(std::env::current_exe().unwrap_or_else(|_| "fsderby".into()));
    command.arg("run");
    let rounds = arguments.rounds.unwrap_or(SAMPLES_NEEDED as u32).to_string();
    if one.folder.exists() {
        command.arg("--resume").arg(&one.folder);
    } else {
        command.arg(&one.run.experiment).arg("--output").arg(&one.folder);
        command.args(one.on.iter().flat_map(|on| ["--on", on]));
        command.args(one.era.iter().flat_map(|era| ["--era", era]));
        command.args(arguments.guest.iter().flat_map(|id| ["--guest", id]));
        let lists = [("--workloads", &one.run.workloads), ("--filesystems", &one.run.filesystems)];
        for (option, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            command.arg(option).arg(list.join(","));
        }
        let scale = arguments.scale.or(one.run.scale);
        let scale = scale.map(|Scale { of, by }| format!("{of}/{by}"));
        command.args(scale.iter().flat_map(|scale| ["--scale", scale.as_str()]));
    }
    match arguments.budget {
        None => command.args(["--rounds", &rounds]),
        // A plan has its own.
        Some(_) if one.folder.exists() => &mut command,
        Some(budget) => {
            let share = format!("{}s", (budget.0 / n as u32).as_secs().max(1));
            command.args(["--rounds", "auto", "--budget", &share])
        }
    };
    command
}

/// Says how long the runs will take, before the first begins.
fn foretell(arguments: &Arguments, all: &[Planned<'_>]) -> anyhow::Result<()> {
    for one in all.iter().filter(|one| !one.folder.exists()) {
        let output = child(arguments, one, all.len()).arg("--dry-run").output();
        let output = output.context("could not start fsderby")?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let text = text.trim_end().trim_start_matches("fsderby: ").to_owned();
            let code = output.status.code().map_or(exit::USAGE, |code| code as u8);
            return Err(Failure::new(code, text).into());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let expected = text.lines().filter_map(|line| Some(&line[line.find(WHOLE)?..]));
        expected.for_each(|expected| say(&format!("{}: {expected}", one.folder.display())));
    }
    Ok(())
}

fn read(folders: &[PathBuf]) -> anyhow::Result<Vec<Run>> {
    let places: Vec<PathBuf> =
        folders.iter().map(|path| path.canonicalize().unwrap_or(path.clone())).collect();
    if let Some((_, twice)) = folders.iter().enumerate().find(|(at, _)| places[..*at].contains(&places[*at]))
    {
        let text = format!("the run {} is given twice\n  try: each run once", twice.display());
        return Err(Failure::usage(text).into());
    }
    folders.iter().map(|folder| usable(folder).map(|(run, _)| run)).collect()
}

/// Prints and writes the page.
fn told(
    arguments: &Arguments,
    paper: &Paper,
    runs: &[Run],
    folder: Option<&Path>,
    key: Option<&Key>,
) -> anyhow::Result<ExitCode> {
    let page = report::reproduced(&arguments.paper, paper, runs, arguments.why).map_err(Failure::usage)?;
    let page = Reproduced { command: command(arguments), ..page };
    if let Some(to) = &arguments.kit {
        kit::pack(to, (&arguments.paper, runs, &page), key)?;
    }
    if let Some(folder) = folder {
        let path = folder.join(PAGE);
        let page = html::reproduced::page(&page)?;
        has_no_other_page(folder)?;
        Door::open(folder)
            .and_then(|door| door.replace(PAGE, page.as_bytes()))
            .with_context(|| format!("could not write {}", path.display()))?;
        say(&format!("page: {}", path.display()));
    }
    let mut is_written = false;
    let texts = [
        (&arguments.html, arguments.html.as_ref().map(|_| html::reproduced::page(&page)).transpose()?),
        (&arguments.markdown, arguments.markdown.as_ref().map(|_| markdown::reproduced::text(&page))),
    ];
    for (path, text) in texts {
        let (Some(path), Some(text)) = (path, text) else { continue };
        is_written = true;
        match path == Path::new("-") {
            true => print_with(|to| Ok(to.write_all(visible(&text).as_bytes())?))?,
            false => write_file(path, |to| Ok(to.write_all(text.as_bytes())?))?,
        }
    }
    if arguments.json {
        print_json(&page)?;
    } else if !is_written {
        print(&terminal::reproduced::text(&page, terminal_width(), arguments.all))?;
    }
    Ok(ExitCode::from(exit::OK))
}

/// Refuses a folder in which the page would replace a file that is no page of ours.
fn has_no_other_page(folder: &Path) -> Result<(), Failure> {
    let Ok(door) = Door::open(folder) else { return Ok(()) };
    let is_ours = || door.text(PAGE, MOST).is_ok_and(|text| text.contains(html::reproduced::MARK));
    if door.has(PAGE).is_ok_and(|has| !has) || is_ours() {
        return Ok(());
    }
    let path = folder.join(PAGE);
    let text = format!(
        "{} is no page of fsderby and is not overwritten\n  try: --output with a new folder",
        path.display()
    );
    Err(Failure::usage(text))
}

/// The command as a shell takes it.
fn command(arguments: &Arguments) -> String {
    let mut words = vec!["fsderby reproduce".to_owned(), quote(&arguments.paper).into_owned()];
    let folders: Vec<String> =
        arguments.from.iter().map(|run| quote(&run.display().to_string()).into_owned()).collect();
    if !folders.is_empty() {
        words.push(format!("--from {}", folders.join(" ")));
    }
    if let Some(on) = &arguments.on {
        words.push(format!("--on {}", quote(on)));
    } else if arguments.column != Which::Both {
        let name = arguments.column.to_possible_value();
        words.extend(name.map(|name| format!("--column {}", name.get_name())));
    }
    words.extend(arguments.guest.as_ref().map(|id| format!("--guest {}", quote(id))));
    words.extend(arguments.scale.map(|Scale { of, by }| format!("--scale {of}/{by}")));
    words.extend(arguments.budget.map(|budget| format!("--budget {}s", budget.0.as_secs())));
    words.extend(arguments.rounds.map(|rounds| format!("--rounds {rounds}")));
    words.extend(
        arguments.output.as_ref().map(|path| format!("--output {}", quote(&path.display().to_string()))),
    );
    words.extend(arguments.why.then(|| "--why".to_owned()));
    words.join(" ")
}
