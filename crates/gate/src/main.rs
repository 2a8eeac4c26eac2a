//! Runs the project's tests, for `make check`, `make test` and `make nightly`.
//!
//! Each test is a process, as in nextest, which is not used because building it takes a third of the gate's budget. The longest
//! tests begin first, one on each CPU. At the end a run prints its slowest tests, the skipped ones, and its total time compared
//! with the budget.

mod calibration;
mod history;
mod licences;
mod programs;
mod schedule;
mod steps;
mod summary;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use programs::Case;
use schedule::Done;
use summary::Summary;

const USAGE: &str = "usage: cargo run -p fsderby-gate -- check | test [PART…] | nightly [PART…] | copyright";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let passed = match words.as_slice() {
        ["check"] => check(),
        ["test"] => test(),
        ["test", parts @ ..] => some(parts),
        ["nightly", parts @ ..] => nightly(parts),
        ["copyright"] => licences::copyright().map(|page| {
            print!("{page}");
            true
        }),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("gate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Lints, unit tests, and short tests that need neither root nor another program.
fn check() -> Result<bool> {
    let mut summary = Summary::begin();
    summary.step("lint", steps::lint_checked)?;
    let programs =
        summary.step("build", || programs::build(&[&["--workspace"], &steps::CHECKED[..]].concat()))?;
    let cases = programs::cases(&programs)?;
    let short = cases.into_iter().filter(|case| !history::is_long(&case.name)).collect();
    summary.finish(run(short))
}

/// All tests except the nightly parts.
fn test() -> Result<bool> {
    let mut summary = Summary::calibrated();
    summary.step("setup", steps::setup)?;
    summary.step("lint", steps::lint)?;
    let programs =
        summary.step("build", || programs::build(&["--workspace", "--lib", "--bins", "--tests"]))?;
    summary.step("examples", steps::examples)?;
    summary.step("kernels", || steps::kernels(&programs::fsderby(&programs)?))?;
    summary.finish(run(programs::cases(&programs)?))
}

/// The gate's tests whose names begin with one of these: `host`, `host::kills`.
fn some(parts: &[&str]) -> Result<bool> {
    let mut summary = Summary::begin();
    let programs =
        summary.step("build", || programs::build(&["--workspace", "--lib", "--bins", "--tests"]))?;
    let cases = programs::cases(&programs)?;
    if let Some(unknown) = parts.iter().find(|part| !cases.iter().any(|case| case.is_of(part))) {
        bail!("no test's name begins with '{unknown}'");
    }
    let wanted = cases.into_iter().filter(|case| parts.iter().any(|part| case.is_of(part)));
    summary.finish(run(wanted.collect()))
}

/// The nightly parts, or the named ones. A part is a module of `tests/nightly`, a module inside it (`conformance_vm::raid5`),
/// or one of [`steps::PARTS`].
fn nightly(parts: &[&str]) -> Result<bool> {
    let mut summary = Summary::begin();
    summary.step("setup", steps::setup)?;
    let programs = summary.step("build", || programs::build(&["--test", "nightly", "--bins"]))?;
    let cases = programs::cases(&programs)?;
    let tests = cases.iter().flat_map(Case::parts);
    let all: BTreeSet<&str> = tests.chain(steps::PARTS.map(|(name, _)| name)).collect();
    if let Some(unknown) = parts.iter().find(|part| !all.contains(**part)) {
        let all: Vec<&str> = all.into_iter().collect();
        bail!("there is no nightly part '{unknown}'; the parts are {}", all.join(", "));
    }
    summary.step("kernels", || steps::kernels(&programs::fsderby(&programs)?))?;
    let is_wanted = |name: &str| parts.is_empty() || parts.contains(&name);
    let wanted = cases.iter().filter(|case| case.parts().any(is_wanted));
    let mut done = run(wanted.cloned().collect());
    for (name, command) in steps::PARTS.iter().filter(|(name, _)| is_wanted(name)) {
        let begin = Instant::now();
        let passed =
            steps::command(command).with_context(|| format!("could not start the nightly part {name}"))?;
        let name = (*name).to_owned();
        done.push(Done { name, passed, repeated: false, time: begin.elapsed(), said: String::new() });
    }
    summary.finish(done)
}

fn run(cases: Vec<Case>) -> Vec<Done> {
    schedule::run(cases, &history::expected())
}
