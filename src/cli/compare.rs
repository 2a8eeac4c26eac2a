//! `fsderby compare FIRST SECOND`: compares a second run with a first one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use super::output::{print, print_json, print_with, say, terminal_width};
use super::report::{is_output, judged, write_file};
use crate::analysis::changes::{self, Asked, Pair};
use crate::analysis::condition::Condition;
use crate::analysis::dataset::counted;
use crate::exit::{self, Failure};
use crate::report::Beside;
use crate::report::formats::{junit, markdown, terminal};
use crate::report::view::changes::ChangesView;
use crate::runner::experiment::planned;
use crate::runner::verify::comparable::{self, Compared};
use crate::schema::change::Changes;
use crate::schema::finding::Verdict;
use crate::store::{self, Run};
use crate::text::names;

#[derive(Args)]
pub struct Arguments {
    /// Folder of the run before the change
    #[arg(add = super::complete::runs())]
    first: PathBuf,
    /// Folder of the run after the change, with the same workloads in the same setup
    #[arg(add = super::complete::runs())]
    second: PathBuf,
    /// Exit with code 1 if a finding meets this condition, such as "worse > 5%", "different > 3% in METRIC", "better >
    /// 0% for LABEL". The condition is met if the whole interval of the ratio lies beyond the threshold; with "worse >
    /// 5% by estimate" it is enough that the ratio itself lies beyond the threshold
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Condition>,
    /// Label of a control: a candidate that the change cannot have affected. The figures of every other candidate are
    /// divided by the controls' figures. Default: the controls are all candidates with equal options and setup in
    /// both runs, if other candidates differ
    #[arg(long, value_name = "LABEL", add = super::complete::kinds())]
    control: Vec<String>,
    /// Print JSON instead of the tables
    #[arg(long)]
    json: bool,
    /// Write Markdown, for a bug report or pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write JUnit XML for a build server; with `-` as FILE, print it instead of the tables. Each metric of each
    /// candidate is a test case. A test case fails if its finding meets a --fail-if condition or, without --fail-if, is
    /// worse
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

#[derive(Serialize, schemars::JsonSchema)]
pub struct Page<'a> {
    #[serde(flatten)]
    changes: &'a Changes,
    said: &'a ChangesView,
    fail_if: Vec<Asserted>,
}

/// A `--fail-if` condition and whether it is met.
#[derive(Serialize, schemars::JsonSchema)]
struct Asserted {
    holds: bool,
    said: String,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.json && arguments.junit.as_deref().is_some_and(is_output) {
        let text = "--json and --junit - would both go to standard output\n  try: --junit FILE";
        return Err(Failure::usage(text).into());
    }
    let ((before, of_before), (after, of_after)) = (usable(&arguments.first)?, usable(&arguments.second)?);
    other(&before, &after)?;
    let Compared { candidates, differences } = comparable::compared(&before, &after)?;
    let controls = controls(arguments, &candidates, || changes::untouched(&candidates, &differences))?;
    let pair = Pair { before: &before, after: &after };
    let asked = Asked { candidates: &candidates, controls: &controls, differences };
    let mut beside = Beside::of(&pair, changes::of(&pair, asked));
    let notes = [("first", of_before), ("second", of_after)].into_iter();
    let notes = notes.filter_map(|(which, note)| Some(format!("Of the {which} run: {}", note?)));
    beside.view.notes.extend(notes);
    let Beside { changes, view } = &beside;
    nothing(changes)?;
    let (mut asserted, mut met) = (Vec::new(), Vec::new());
    for condition in &arguments.fail_if {
        let holds = condition.holds(changes).map_err(Failure::usage)?;
        met.extend(holds.iter().copied());
        asserted.push(Asserted {
            holds: !holds.is_empty(),
            said: condition.said(changes).map_err(Failure::usage)?,
        });
    }
    if let Some(path) = &arguments.markdown {
        write_file(path, |to| Ok(to.write_all(markdown::changes::text(view).as_bytes())?))?;
    }
    let prints_junit = arguments.junit.as_deref().is_some_and(is_output);
    if let Some(path) = &arguments.junit {
        let met = (!arguments.fail_if.is_empty()).then_some(met.as_slice());
        let xml = junit::text(changes, met)?;
        match prints_junit {
            true => print_with(|to| Ok(to.write_all(&xml)?))?,
            false => write_file(path, |to| Ok(to.write_all(&xml)?))?,
        }
    }
    let fails = asserted.iter().any(|condition| condition.holds);
    if arguments.json {
        print_json(&Page { changes, said: view, fail_if: asserted })?;
    } else {
        if arguments.markdown.is_none() && !prints_junit {
            print(&terminal::changes::text(view, terminal_width()))?;
        }
        asserted.iter().for_each(|condition| say(&condition.said));
    }
    Ok(ExitCode::from(match (fails, changes.missing.is_empty()) {
        (true, _) => exit::FAIL_IF,
        (false, false) => exit::TRIALS,
        (false, true) => exit::OK,
    }))
}

/// A run whose figures may be compared, with notes about it.
pub fn usable(path: &Path) -> anyhow::Result<(Run, Option<String>)> {
    let (run, note) = judged(planned::judged(store::read(path)?));
    let run = run.sound()?;
    let folder = run.folder.display();
    if run.seal.is_none() || run.unsealed > 0 {
        let text = format!(
            "the run in {folder} has not ended: it is still running or was killed\n  try: wait for its end, or fsderby run \
                --resume {folder}"
        );
        return Err(Failure::usage(text).into());
    }
    if counted(&run).is_empty() {
        let text =
            format!("{folder} has no valid trial\n  try: fsderby report {folder}, which gives the reasons");
        return Err(Failure::new(exit::TRIALS, text).into());
    }
    if run.verdict.as_ref().is_some_and(Verdict::is_void) {
        let text = format!(
            "the run in {folder} is void: one filesystem entered twice (A/A check), and its two entries differ\n  try: \
                fsderby report {folder}, and repeat the run on a quieter machine"
        );
        return Err(Failure::new(exit::TRIALS, text).into());
    }
    Ok((run, note))
}

/// Refuses to compare a run with itself or with a copy of itself: no difference could ever be found.
fn other(before: &Run, after: &Run) -> Result<(), Failure> {
    let of = |run: &Run| run.seal.as_ref().map(|seal| seal.trials_blake3.clone());
    if of(before) != of(after) {
        return Ok(());
    }
    let [first, second] = [before, after].map(|run| run.folder.display().to_string());
    Err(Failure::usage(format!("{first} and {second} are the same run\n  try: the folder of another run")))
}

fn controls(
    arguments: &Arguments,
    candidates: &[String],
    untouched: impl FnOnce() -> Vec<String>,
) -> Result<Vec<String>, Failure> {
    if let Some(unknown) = arguments.control.iter().find(|label| !candidates.contains(label)) {
        let known = candidates.iter().map(String::as_str);
        let unknown = names::unknown("candidate", unknown, known);
        return Err(Failure::usage(format!("--control: {unknown}\n  try: a label that both runs have")));
    }
    if arguments.control.is_empty() {
        return Ok(untouched());
    }
    if candidates.iter().all(|label| arguments.control.contains(label)) {
        let text = "--control: all candidates of both runs are controls, so none is left to compare\n  try: fewer \
            controls";
        return Err(Failure::usage(text));
    }
    Ok(arguments.control.clone())
}

fn nothing(changes: &Changes) -> Result<(), Failure> {
    if !changes.findings.is_empty() {
        return Ok(());
    }
    let text = "the two runs have no common metric that can be compared\n  try: two or more rounds of the same \
        workload in both; in virtual time use the same --seed, so that both have the same samples";
    Err(Failure::usage(text))
}
