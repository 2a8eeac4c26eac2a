//! Completions that know fsderby's names. A shell asks the program itself, which reads no device and needs no root.
//!
//! `fsderby completions SHELL` prints the few lines that make a shell ask: `_COMPLETE_FSDERBY=bash fsderby -- WORDS…`.

use clap::{Command, CommandFactory};
use clap_complete::engine::ValueCompleter;
use clap_complete::env::CompleteEnv;
use clap_complete::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter};

use super::Cli;
use super::config::results;
use super::terms;
use crate::analysis::metrics;
use crate::config::Config;
use crate::guest::{bundle, kernel};
use crate::runner::experiment::options::TESTBED;
use crate::runner::experiment::{SHIPPED, eras, profiles};
use crate::schema::setup::ImageState;
use crate::store::PLAN;
use crate::testbeds::model::{disks, machines};
use crate::{config, filesystems, imports, papers, probes, stages, states, storage, testbeds, workloads};

/// Gives the names that fit an option.
type Names = fn() -> ArgValueCandidates;

/// The variable by which a shell asks for completions: its own, so that no other program's sets it.
pub const VARIABLE: &str = "_COMPLETE_FSDERBY";

/// Answers a shell and ends, if a shell asks.
pub fn answer() {
    CompleteEnv::with_factory(command).var(VARIABLE).bin("fsderby").complete();
}

/// The command line; options that the runner declares get their completions here.
fn command() -> Command {
    let with = |command: Command, argument: &'static str, names: Names| {
        command.mut_arg(argument, |argument| argument.add(names()))
    };
    let of_run: [(&str, Names); 7] = [
        (TESTBED, testbeds),
        ("needs", needs),
        ("state", states),
        ("layers", layers),
        ("image", images),
        ("kernel", kernels),
        ("guest", guests),
    ];
    let run = |run| of_run.into_iter().fold(run, |run, (name, names)| with(run, name, names));
    let guest = |command| with(command, "guest", guests);
    let all = Cli::command().mut_subcommand("run", run).mut_subcommand("reproduce", guest);
    all.mut_subcommand("slurm", guest).mut_subcommand("guest", |guest| {
        guest.mut_subcommand("build", |build| with(build, "kernel", kernels))
    })
}

pub fn filesystems() -> ArgValueCandidates {
    names(|| filesystems::TABLE.iter().map(|kind| kind.name().to_owned()).chain(["all".to_owned()]).collect())
}

/// The kinds; options follow after a blank.
pub fn kinds() -> ArgValueCandidates {
    names(|| filesystems::TABLE.iter().map(|kind| kind.name().to_owned()).collect())
}

pub fn workloads() -> ArgValueCandidates {
    names(|| sets().map(str::to_owned).collect())
}

fn testbeds() -> ArgValueCandidates {
    names(|| {
        let plain =
            testbeds::TABLE.iter().map(|kind| kind.name().to_owned()).chain([testbeds::AUTO.to_owned()]);
        plain.chain(disks::TABLE.iter().map(|(disk, _)| format!("model:{disk}"))).collect()
    })
}

#[cfg(feature = "full")]
pub fn disks() -> ArgValueCandidates {
    names(|| of_table(disks::TABLE))
}

#[cfg(feature = "full")]
pub fn machines() -> ArgValueCandidates {
    names(|| of_table(machines::TABLE))
}

fn needs() -> ArgValueCandidates {
    names(|| of_table(profiles::TABLE))
}

/// The states that need no size or set, and the beginning of others.
fn states() -> ArgValueCandidates {
    names(|| states::TABLE.iter().map(|state| state.name().to_owned()).collect())
}

fn layers() -> ArgValueCandidates {
    names(|| {
        storage::layers::TABLE.iter().flat_map(|layer| layer.examples()).map(|of| (*of).to_owned()).collect()
    })
}

fn images() -> ArgValueCandidates {
    names(|| ImageState::ALL.iter().map(|state| state.name().to_owned()).collect())
}

fn kernels() -> ArgValueCandidates {
    names(|| kernel::all().into_iter().map(|kernel| kernel.index.release).collect())
}

fn guests() -> ArgValueCandidates {
    names(bundle::named_in_cache)
}

/// The shipped experiments, and files.
pub fn experiments() -> ArgValueCompleter {
    or_path(|| of_table(SHIPPED), PathCompleter::file)
}

/// The shipped papers, and files.
pub fn papers() -> ArgValueCompleter {
    or_path(|| of_table(papers::TABLE), PathCompleter::file)
}

/// The tools whose results can be imported.
pub fn importable() -> ArgValueCandidates {
    names(|| imports::TABLE.iter().map(|tool| tool.name().to_owned()).collect())
}

/// Everything that `explain` explains.
pub fn subjects() -> ArgValueCandidates {
    names(known)
}

/// The runs in the folder of results, and other folders.
pub fn runs() -> ArgValueCompleter {
    or_path(|| config::get().map(own_runs).unwrap_or_default(), PathCompleter::dir)
}

fn own_runs(config: &Config) -> Vec<String> {
    let folder = results(config);
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let runs = entries.filter(|entry| entry.path().join(PLAN).exists());
    runs.map(|run| folder.join(run.file_name()).display().to_string()).collect()
}

fn of_table<T>(table: &[(&str, T)]) -> Vec<String> {
    table.iter().map(|(name, _)| (*name).to_owned()).collect()
}

fn sets() -> impl Iterator<Item = &'static str> {
    workloads::TABLE.iter().flat_map(|engine| engine.sets()).map(|set| set.name)
}

fn names(all: fn() -> Vec<String>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || all().into_iter().map(CompletionCandidate::new).collect::<Vec<_>>())
}

fn or_path(all: fn() -> Vec<String>, path: fn() -> PathCompleter) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &std::ffi::OsStr| {
        let start = typed.to_string_lossy();
        let own = all().into_iter().filter(|name| name.starts_with(&*start)).map(CompletionCandidate::new);
        let mut found: Vec<CompletionCandidate> = own.collect();
        // Paths are offered where no name fits.
        if found.is_empty() {
            found = path().complete(typed);
        }
        found
    })
}

/// All names that `fsderby explain` knows.
pub fn known() -> Vec<String> {
    let filesystems = filesystems::TABLE.iter().map(|k| k.name());
    let engines = workloads::TABLE.iter().map(|w| w.name());
    let sets = workloads::TABLE.iter().flat_map(|w| w.sets()).map(|s| s.name);
    let testbeds = testbeds::TABLE.iter().map(|g| g.name());
    let probes = probes::TABLE.iter().map(|p| p.name());
    let layers = storage::layers::TABLE.iter().map(|l| l.name());
    let stages = stages::TABLE.iter().map(|s| s.name());
    let states = states::TABLE.iter().map(|s| s.name());
    let experiments = SHIPPED.iter().map(|(name, _)| *name);
    let disks = disks::TABLE.iter().map(|(name, _)| *name);
    let machines = machines::TABLE.iter().map(|(name, _)| *name);
    let papers = papers::TABLE.iter().map(|(name, _)| *name);
    let profiles = profiles::TABLE.iter().map(|(name, _)| *name);
    let eras = eras::TABLE.iter().map(|(name, _)| *name);
    let metrics = metrics::declared().into_iter().flat_map(|(_, all)| all).map(|declared| declared.name);
    filesystems
        .chain(engines)
        .chain(sets)
        .chain(testbeds)
        .chain(probes)
        .chain(layers)
        .chain(stages)
        .chain(states)
        .chain(experiments)
        .chain(disks)
        .chain(machines)
        .chain(papers)
        .chain(profiles)
        .chain(eras)
        .chain(metrics)
        .chain(terms::TERMS.iter().map(|term| term.name))
        .map(str::to_owned)
        .collect()
}
