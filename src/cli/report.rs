//! `fsderby report`: prints a run for people or for programs.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::parser::ArgMatches;
use clap::{Arg, ArgAction, Args, Command, Error, FromArgMatches};

use super::output::{print, print_with, say, terminal_width};
use super::requests;
use crate::analysis::latencies::Latencies;
use crate::exit::{self, Failure};
use crate::host::caller::{create_folders, write_new};
use crate::imports;
use crate::report::Report;
use crate::report::compose::imported::{self, Loaded};
use crate::report::formats::svg::Picture;
use crate::report::formats::terminal::{self, Detail};
use crate::report::formats::{self, Format, Goes, How};
use crate::report::view::imported::Imported;
use crate::runner::experiment::planned;
use crate::runner::verify::other_version::{Others, recomputed};
use crate::runner::verify::{verify, verify_and_read};
use crate::schema::plan::Plan;
use crate::store::{self, Run};
use crate::text::names;

/// Name of the HTML report in the run's folder.
const PAGE: &str = "report.html";

#[derive(Args)]
pub struct Options {
    /// Folder of a run or an import
    #[arg(add = super::complete::runs())]
    run: PathBuf,
    #[command(flatten)]
    asked: Asked,
    /// Compare all other candidates (filesystem entries) with the candidate of this label, instead of with the best
    #[arg(long, value_name = "LABEL", add = super::complete::kinds())]
    baseline: Option<String>,
    /// Show the figures of this import next to the figures of the run; imported figures never enter a verdict
    #[arg(long, value_name = "IMPORT", add = super::complete::runs())]
    beside: Vec<PathBuf>,
    /// Print every metric, and latencies
    #[arg(long)]
    all: bool,
    /// Print as CSV all requests that the modelled disk completed in this trial (r01/SCENARIO/CANDIDATE), in order of
    /// completion
    #[arg(long, value_name = "TRIAL", conflicts_with_all = ["all", "baseline", "beside", "ascii", "output"])]
    requests: Option<String>,
    /// With --summary: write the text in ASCII
    #[arg(long, requires = "summary")]
    ascii: bool,
}

/// The requested formats; the options come from the table of formats.
struct Asked {
    /// Output file of each format, or `-` for standard output.
    files: Vec<(&'static dyn Format, PathBuf)>,
    folders: Vec<(&'static dyn Format, PathBuf)>,
    output: Option<&'static dyn Format>,
}

impl Args for Asked {
    fn augment_args(command: Command) -> Command {
        formats::TABLE.iter().fold(command, |command, format| {
            let arg = Arg::new(format.name()).long(format.name()).help(format.help());
            command.arg(match format.goes() {
                Goes::IntoFile => arg.value_name("FILE").value_parser(clap::value_parser!(PathBuf)),
                Goes::IntoFolder => arg.value_name("FOLDER").value_parser(clap::value_parser!(PathBuf)),
                // One at a time: a group of options allows only one of its members.
                Goes::ToOutput => arg.action(ArgAction::SetTrue).conflicts_with("all").group("output"),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Asked::augment_args(command)
    }
}

impl FromArgMatches for Asked {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let file = |format: &&'static dyn Format| {
            Some((*format, matches.get_one::<PathBuf>(format.name())?.clone()))
        };
        let goes = |goes| formats::TABLE.iter().filter(move |f| f.goes() == goes);
        let output = goes(Goes::ToOutput).find(|f| matches.get_flag(f.name())).copied();
        let [files, folders] =
            [Goes::IntoFile, Goes::IntoFolder].map(|to| goes(to).filter_map(file).collect());
        Ok(Asked { files, folders, output })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Asked::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Asked {
    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    /// Standard output carries one format only; an unwritable file is reported before anything is written.
    fn check(&self, all: bool) -> anyhow::Result<()> {
        let to_output: Vec<String> = self
            .files
            .iter()
            .filter(|(_, path)| is_output(path))
            .map(|(f, _)| format!("--{} -", f.name()))
            .collect();
        let others = self.output.iter().map(|format| format!("--{}", format.name()));
        let others: Vec<String> = others.chain(all.then(|| "--all".to_owned())).collect();
        let both = [to_output.clone(), others].concat();
        if !to_output.is_empty() && both.len() > 1 {
            let both = both.join(" and ");
            let text = format!("{both} would both go to standard output\n  try: a file name instead of -");
            return Err(Failure::usage(text).into());
        }
        self.files.iter().try_for_each(|(format, path)| format.accepts(path))
    }
}

/// The file name that means standard output.
pub fn is_output(path: &Path) -> bool {
    path == Path::new("-")
}

pub fn run(options: &Options) -> anyhow::Result<ExitCode> {
    options.asked.check(options.all)?;
    if let Some(trial) = &options.requests {
        if !options.asked.is_empty() {
            let text = "--requests prints one trial's requests and no report\n  try: a separate command for the other formats";
            return Err(Failure::usage(text).into());
        }
        return requests::print(&options.run, trial);
    }
    if imports::is_import(&options.run) {
        return of_import(options);
    }
    let beside = load(&options.beside)?;
    let (run, latencies, note) = judged_and_read(planned::judged(store::read(&options.run)?));
    known_baseline(options.baseline.as_deref(), &run.plan)?;
    let report = Report::with_latencies(&run, &latencies, options.baseline.as_deref());
    let report = report.with_imports(&beside).with_notes(note);
    drop(latencies);
    let Asked { files, folders, output } = &options.asked;
    for (format, path) in files {
        let how = How { path, ascii: options.ascii };
        match is_output(path) {
            true => print_with(|to| format.write_as(&report, &how, to))?,
            false => write_file(path, |to| format.write_as(&report, &how, to))?,
        }
    }
    for (format, folder) in folders {
        write_folder(folder, &format.files(&report))?;
    }
    let detail = if options.all { Detail::Everything } else { Detail::Glance };
    match output {
        Some(format) => print_format(*format, &report)?,
        None if options.all || options.asked.is_empty() => {
            print(&terminal::text(&report, terminal_width(), detail))?
        }
        None => {}
    }
    if run.damage.is_empty() {
        return Ok(ExitCode::from(exit::OK));
    }
    say(&format!("this run is not reliable\n  try: fsderby verify {}", run.folder.display()));
    Ok(ExitCode::from(exit::DAMAGED))
}

/// Shows imported figures alone, with no run of fsderby beside them.
fn of_import(options: &Options) -> anyhow::Result<ExitCode> {
    if options.baseline.is_some() {
        let text = "--baseline: imported figures are not compared\n  try: without --baseline, or the report of a run with \
                    --beside IMPORT";
        return Err(Failure::usage(text).into());
    }
    let loaded = load(std::iter::once(&options.run).chain(&options.beside))?;
    let all: Vec<Imported> = loaded.iter().flat_map(imported::alone).collect();
    let Asked { files, folders, output } = &options.asked;
    for (format, path) in files {
        match is_output(path) {
            true => print_with(|to| format.write_imported(&all, to))?,
            false => write_file(path, |to| format.write_imported(&all, to))?,
        }
    }
    for (format, _) in folders {
        format.write_imported(&all, &mut io::sink())?;
    }
    match output {
        Some(format) => print_with(|to| format.write_imported(&all, to))?,
        None if options.all || options.asked.is_empty() => {
            print(&terminal::imported::text(&all, terminal_width()))?
        }
        None => {}
    }
    Ok(ExitCode::from(exit::OK))
}

/// The imports in these folders, parsed again from their files.
fn load<'p>(folders: impl IntoIterator<Item = &'p PathBuf>) -> anyhow::Result<Vec<Loaded>> {
    let one = |folder: &PathBuf| {
        Ok(Loaded { folder: folder.display().to_string(), import: imports::read(folder)? })
    };
    folders.into_iter().map(one).collect()
}

/// Checks the label of `--baseline`: it must be the label of a candidate, not of an A/A copy.
pub fn known_baseline(label: Option<&str>, plan: &Plan) -> anyhow::Result<()> {
    let Some(label) = label else { return Ok(()) };
    let is_copy = |known: &&str| plan.guard.as_ref().is_some_and(|twice| twice.copy == *known);
    let known = || plan.candidates.iter().map(|c| c.label.as_str()).filter(|known| !is_copy(known));
    if known().any(|known| known == label) {
        return Ok(());
    }
    let unknown = names::unknown("candidate", label, known());
    Err(Failure::usage(format!("--baseline: {unknown}\n  try: a label of this run")).into())
}

/// The run, with the problems that [`verify`] finds and with all metrics recomputed by this version; a note if the
/// stored ones were computed by another version.
pub fn judged(run: Run) -> (Run, Option<String>) {
    let damage = first_of(verify(&run).wrong);
    recomputed(Run { damage, ..run })
}

/// Like [`judged`], with the run's latencies, which are read only once for verification and report.
fn judged_and_read(run: Run) -> (Run, Latencies, Option<String>) {
    let (found, latencies) = verify_and_read(&run);
    let latencies = latencies.unwrap_or_else(|| Latencies::of(&run));
    let (run, note) = recomputed(Run { damage: first_of(found.wrong), ..run });
    (run, latencies, note)
}

fn first_of(mut damage: Vec<String>) -> Vec<String> {
    const NAMED: usize = 10;
    let more = damage.len().saturating_sub(NAMED);
    damage.truncate(NAMED);
    damage.extend((more > 0).then(|| format!("and {more} more problems; fsderby verify lists all")));
    damage
}

/// After a run: writes the HTML report into the run's folder and prints the table. Returns the path of the report.
pub fn after_run(run: &Run, baseline: Option<&str>, as_json: bool) -> anyhow::Result<PathBuf> {
    // The run was continued after another version had written its first records.
    let renewed = (Others::among(&run.records) != Others::default()).then(|| recomputed(run.clone()));
    let (run, note) = renewed.as_ref().map_or((run, &None), |(run, note)| (run, note));
    let report = Report::beside(run, baseline).with_notes(note.clone());
    let path = run.folder.join(PAGE);
    let mut page = Vec::new();
    formats::html::Html.write(&report, &mut page)?;
    run.door.replace(PAGE, &page).map_err(|e| {
        let (path, folder) = (path.display(), run.folder.display());
        let try_this = format!("free some space, then fsderby report {folder} --html FILE");
        Failure::missing(format!("could not write {path}: {e}\n  try: {try_this}"))
    })?;
    if as_json {
        print_format(&formats::json::Json, &report)?;
    } else {
        print(&terminal::text(&report, terminal_width(), Detail::Glance))?;
        // Repeats the beginning, which a long table has scrolled out of view.
        if io::stdout().is_terminal() {
            print(&format!("\n{}", terminal::opening(&report, terminal_width())))?;
        }
    }
    Ok(path)
}

fn print_format(format: &dyn Format, report: &Report<'_>) -> anyhow::Result<()> {
    print_with(|to| format.write(report, to))
}

pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("could not write {}", path.display());
    if path.exists() {
        let text = format!("{} already exists and is not overwritten\n  try: another name", path.display());
        return Err(Failure::usage(text).into());
    }
    write_new(path, write).with_context(failed)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}

/// Writes new files into a folder, which is created if missing.
fn write_folder(folder: &Path, files: &[Picture]) -> anyhow::Result<()> {
    create_folders(folder).with_context(|| format!("could not create the folder {}", folder.display()))?;
    if let Some(there) = files.iter().map(|file| folder.join(&file.name)).find(|path| path.exists()) {
        let there = there.display();
        let text = format!("{there} already exists and is not overwritten\n  try: another folder");
        return Err(Failure::usage(text).into());
    }
    for file in files {
        write_file(&folder.join(&file.name), |to| Ok(to.write_all(file.svg.as_bytes())?))?;
    }
    if files.is_empty() {
        say("nothing was compared, so there is no picture");
    }
    Ok(())
}
