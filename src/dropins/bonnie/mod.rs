//! The original's command line, progress messages, tables and CSV lines, with fsderby's engine.
//!
//! As in the original, an error ends the command with exit code 1; the message is fsderby's. Files that the command created, and
//! no others, are removed whenever it ends.
//!
//! # Differences from the original
//! - The text table of 2.00a prints the number of files in the column for files per second; fsderby prints the rate. The CPU time
//!   of the seeks is counted once, not once for each seeker. The original's table never shows the requested number of seekers;
//!   fsderby's does.
//! - A seed that is not a number, zero directories, and more data than free space are refused before anything is written. The
//!   original then chooses a seed, crashes with a division by zero, or fails when the disk is full.
//! - With `-f` the original still creates, syncs and deletes an empty file, outside its timing.
//! - `-p` and `-y`, which start several instances at a time, and `-Z` are not supported.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write};
use std::process;
use std::sync::Arc;

use fsderby_sys::process::monotonic_ns;
use rustix::fs::statvfs;

mod csv;
mod forms;
mod leftovers;
mod options;
mod results;
mod table;
mod users;

use forms::Form;
use leftovers::Leftovers;
use options::{Options, USAGE};
use results::{Heading, Results, counted};

use super::stopping::{Made, Stoppable, Stopping};
use crate::schema::units::{Bytes, MIB};
use crate::workloads::bonnie::parameters::Parameters;
use crate::workloads::bonnie::rules::{Rules, Semantics};
use crate::workloads::bonnie::small::Order;
use crate::workloads::bonnie::trial::{Act, Names, Run, STEPS, Step};
use crate::workloads::{Clock, Histogram, Log, OpError, Phase, Progress, Work};

/// Exit code of the original when it is stopped.
const STOPPED: u8 = 5;

/// Output streams, passed in for tests.
pub struct Console<'c> {
    pub out: &'c mut dyn Write,
    pub err: &'c mut dyn Write,
}

/// Why the command ended early.
#[derive(Debug)]
pub enum Ended {
    /// The options are wrong, or do not fit this machine.
    Usage(String),
    /// An operation failed.
    Work(OpError),
    /// The reader of the output has closed the pipe.
    Print(io::Error),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Usage(text) => write!(f, "{text}\n{USAGE}"),
            Ended::Work(error) => error.fmt(f),
            Ended::Print(error) => write!(f, "could not print: {error}"),
        }
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Ended::Print(error)
    }
}

/// Runs the whole program.
pub fn run(words: &[OsString], mut console: Console<'_>) -> Result<(), Ended> {
    let options = Options::parse(words).map_err(Ended::Usage)?;
    let said = users::become_user(&options).map_err(Ended::Usage)?;
    let seed = options.seed.unwrap_or_else(|| process::id() ^ (monotonic_ns() / 1_000_000) as u32);
    let memory = options.memory.unwrap_or_else(memory);
    let rules = options.rules(memory, seed);
    fits(&options, &rules, memory).map_err(Ended::Usage)?;
    let name = format!("Bonnie.{}", process::id());
    let leftovers = Arc::new(Leftovers::new(&rules, &name).map_err(Ended::Usage)?);
    let stopping = Stopping::watch(leftovers.clone(), STOPPED);
    let stopping = stopping.map_err(|e| Ended::Usage(format!("could not wait for signals: {e}")))?;
    if let (Some(said), false) = (said, options.quiet) {
        writeln!(console.err, "{said}")?;
    }
    let machine = options.machine.clone().unwrap_or_else(host);
    let heading = Heading {
        form: options.form,
        machine: &machine,
        rules: &rules,
        concurrency: options.concurrency,
        seed,
    };
    let clock = Stoppable { stopping: &stopping, clock: &Monotonic };
    let done = tests(&options, &heading, &name, &clock, &mut console);
    drop(stopping);
    if done.is_err() {
        leftovers.remove();
    }
    done
}

fn tests(
    options: &Options,
    heading: &Heading<'_>,
    name: &str,
    clock: &dyn Clock,
    console: &mut Console<'_>,
) -> Result<(), Ended> {
    if options.tests.is_some_and(|tests| tests > 1) {
        writeln!(console.out, "{}", csv::names(heading.form))?;
    }
    for _ in 0..options.tests.unwrap_or(1) {
        let results = test(heading, name, clock, options.quiet, console)?;
        if options.tests.is_none() {
            let text = table::text(heading, &results);
            let to = if options.quiet { &mut *console.err } else { &mut *console.out };
            to.write_all(text.as_bytes())?;
        }
        writeln!(console.out, "{}", csv::line(heading, &results))?;
        console.out.flush()?;
    }
    Ok(())
}

/// One test, from its first file to its last.
fn test(
    heading: &Heading<'_>,
    name: &str,
    clock: &dyn Clock,
    quiet: bool,
    console: &mut Console<'_>,
) -> Result<Results, Ended> {
    let rules = heading.rules;
    let mut run = Run::new(rules, Names { data: name, folder: name });
    let mut notes = Notes::default();
    for step in STEPS.into_iter().filter(|step| step.is_done(rules)) {
        let (begin, end) = said(step, heading.form, rules);
        if !quiet {
            write!(console.err, "{begin}...")?;
            console.err.flush()?;
        }
        notes.step = Some(step);
        run.steps(&[step], clock, &mut notes).map_err(Ended::Work)?;
        if !quiet {
            writeln!(console.err, "{end}")?;
        }
    }
    Ok(notes.results)
}

/// Messages before and after a step.
fn said(step: Step, form: Form, rules: &Rules) -> (String, String) {
    let [write, read] = form.characters();
    let text = match step {
        Step::WriteCharacters => write,
        Step::Write => "Writing intelligently",
        Step::Rewrite => "Rewriting",
        Step::ReadCharacters => read,
        Step::Read => "Reading intelligently",
        Step::Seek => return ("start 'em".into(), "done...".repeat(rules.seekers as usize)),
        Step::Small(order, act) => {
            let act = match act {
                Act::Create => "Create",
                Act::Stat => "Stat",
                Act::Delete => "Delete",
            };
            let order = if order == Order::Sequential { "sequential" } else { "random" };
            return (format!("{act} files in {order} order"), "done.".into());
        }
    };
    (text.into(), "done".into())
}

/// Whether memory and free space are sufficient.
fn fits(options: &Options, rules: &Rules, memory: u64) -> Result<(), String> {
    let clients = if rules.semantics == Semantics::Second { u64::from(options.concurrency) } else { 1 };
    if rules.chunks > 0 && rules.bytes() / MIB * clients < 2 * memory {
        return Err(format!(
            "the data has {size} MiB, less than twice the memory of {memory} MiB, so it would be read from the page \
             cache\n  try: -s {twice}, or -r 0 to allow it",
            size = rules.bytes() / MIB,
            twice = 2 * memory
        ));
    }
    // The list of each order holds a name and its position.
    if memory > 0 && u64::from(rules.files) * 2 * 40 > memory * MIB {
        return Err(format!(
            "the names of {files} files do not fit into {memory} MiB of memory\n  try: a smaller -n",
            files = rules.files
        ));
    }
    let needed = Parameters { rules: rules.clone(), seed: Some(rules.seed) }.expected(0).bytes_peak;
    let space = statvfs(".").map_err(|e| format!("could not get the free space of '.': {e}"))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if needed > free {
        return Err(format!(
            "{needed} would be written, but {free} are free in {directory}\n  try: a smaller -s or -n",
            needed = Bytes(needed),
            free = Bytes(free),
            directory = options.directory.display()
        ));
    }
    Ok(())
}

/// Memory of the machine in MiB, computed as in the original.
fn memory() -> u64 {
    let about = rustix::system::sysinfo();
    (about.totalram as u64).saturating_mul(about.mem_unit.into()) / MIB
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

struct Monotonic;

impl Clock for Monotonic {
    #[inline]
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }
}

/// Stores the engine's results.
#[derive(Default)]
struct Notes {
    step: Option<Step>,
    results: Results,
    progress: Progress,
}

impl Notes {
    fn result(&mut self) -> Option<&mut results::Result> {
        let at = STEPS.iter().position(|step| Some(*step) == self.step)?;
        Some(&mut self.results.0[at])
    }
}

impl Log for Notes {
    fn phase(&mut self, phase: Phase) {
        let amount = self.step.map_or(0, |step| phase.count(counted(step)));
        if let Some(result) = self.result() {
            (result.ns, result.cpu_ns, result.amount) = (phase.ns, phase.count("cpu_ns"), amount);
        }
    }

    fn histogram(&mut self, _phase: &'static str, _operation: &str, latencies: &Histogram) {
        if let Some(result) = self.result() {
            result.worst_ns = latencies.max();
        }
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }
}
