//! The drop-in beside the original: wall time of each phase and CPU time of each group of phases, as ratios, on tmpfs, where the disk hides
//! nothing, and on ext4 over a loop device (as root).
//!
//! Each round runs both, one after the other, in an order that changes from round to round. A phase's time is that between what the
//! program says when it begins the phase and when it ends it, so the three seconds for which the original sleeps are in none; CPU time is
//! the whole process's. Promise, on tmpfs: groups of phases are not slower than the original's, and need no more CPU time, to within
//! [`NOISE`].
//!
//! A ratio is the median of those of the rounds. A broken promise ends the bench with an error.
//!
//! `cargo bench --bench bonnie [-- ROUNDS]`

#[path = "support/ext4.rs"]
mod ext4;

use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use ext4::Ext4;
use fsderby_sys::process::{End, reap};

const ROUNDS: usize = 7;
/// What medians of this many rounds of one program differ by on a quiet machine.
const NOISE: f64 = 0.02;
const OURS: [&str; 2] = [env!("CARGO_BIN_EXE_fsderby"), "bonnie"];
const ORIGINAL: [&str; 1] = ["bonnie++"];

/// Phases that are run together, with the texts that begin them.
struct Group {
    name: &'static str,
    options: &'static [&'static str],
    phases: &'static [(&'static str, &'static str)],
}

const GROUPS: [Group; 2] = [
    Group {
        name: "blocks",
        options: &["-s", "512", "-f", "-n", "0"],
        phases: &[
            ("write", "Writing intelligently"),
            ("rewrite", "Rewriting"),
            ("read", "Reading intelligently"),
            ("seeks", "start 'em"),
        ],
    },
    Group {
        name: "files",
        options: &["-s", "0", "-n", "32:4000:0:4"],
        phases: &[
            ("create seq.", "Create files in seq"),
            ("stat seq.", "Stat files in seq"),
            ("delete seq.", "Delete files in seq"),
            ("create ran.", "Create files in ran"),
            ("stat ran.", "Stat files in ran"),
            ("delete ran.", "Delete files in ran"),
        ],
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let rounds = arguments.first().map_or(Ok(ROUNDS), |text| text.parse());
    match rounds.context("the number of rounds is no number").and_then(bench) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bonnie bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(rounds: usize) -> anyhow::Result<()> {
    let user = if rustix::process::getuid().is_root() { &["-u", "root"][..] } else { &[] };
    println!(
        "Bonnie++, medians of {rounds} rounds: seconds of the original, seconds of ours, ours ÷ original"
    );
    let memory = tempfile::Builder::new().prefix("fsderby-bench").tempdir_in("/dev/shm")?;
    let mut broken = Vec::new();
    for group in &GROUPS {
        let measured = measure(group, memory.path(), user, rounds)?;
        broken.extend(measured.show("tmpfs", group));
    }
    match Ext4::new() {
        Ok(ext4) => {
            for group in &GROUPS {
                measure(group, &ext4.mount(), user, rounds)?.show("ext4", group);
            }
        }
        Err(error) => println!("without ext4 over a loop device: {error:#}"),
    }
    ensure!(broken.is_empty(), "promises are broken: {}", broken.join("; "));
    println!("every promise is kept");
    Ok(())
}

/// Of each round: the phases' seconds, and the CPU seconds of all.
struct Measured {
    original: Vec<(Vec<f64>, f64)>,
    ours: Vec<(Vec<f64>, f64)>,
}

fn measure(group: &Group, place: &Path, user: &[&str], rounds: usize) -> anyhow::Result<Measured> {
    let mut measured = Measured { original: Vec::new(), ours: Vec::new() };
    for round in 0..rounds {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                measured.original.push(once(&ORIGINAL, group, place, user)?);
            } else {
                measured.ours.push(once(&OURS, group, place, user)?);
            }
        }
    }
    Ok(measured)
}

/// The seconds of each phase, and the CPU seconds of the process.
fn once(program: &[&str], group: &Group, place: &Path, user: &[&str]) -> anyhow::Result<(Vec<f64>, f64)> {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(user).args(["-r", "0", "-m", "host", "-z", "42", "-d"]).arg(place);
    command.args(group.options).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| {
        format!("could not run {}; the original is in Debian's package bonnie++", program[0])
    })?;
    let mut said = child.stderr.take().context("it has no standard error")?;
    let (mut text, mut seen) = (String::new(), Vec::new());
    let mut bytes = [0; 4096];
    loop {
        let n = said.read(&mut bytes)?;
        let now = Instant::now();
        if n == 0 {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&bytes[..n]));
        seen.push((text.len(), now));
    }
    let ended = reap(true)?.context("nothing has ended")?;
    ensure!(ended.end == End::Exit(0), "{} ended with {:?}:\n{text}", program[0], ended.end);
    // A phase begins with its text and ends with the next thing that is said behind its dots.
    let when = |at: usize| seen.iter().find(|(length, _)| *length >= at).map(|(_, now)| *now);
    let phase = |(_, begins): &(&str, &str)| {
        let begin = text.find(begins)? + begins.len();
        let end = begin + text[begin..].find("done")? + 4;
        // The last of the seekers.
        let end = if *begins == "start 'em" { end + text[end..].find('\n')? + 1 } else { end };
        Some(when(end)?.duration_since(when(begin)?).as_secs_f64())
    };
    let phases = group.phases.iter().map(phase).collect::<Option<Vec<f64>>>();
    let Some(phases) = phases else { bail!("{} did not say all of its phases:\n{text}", program[0]) };
    Ok((phases, (ended.usage.user_ns + ended.usage.sys_ns) as f64 / 1e9))
}

type Figure = dyn Fn(&(Vec<f64>, f64)) -> f64;

impl Measured {
    /// Prints a line for each phase; returns the promises that are broken.
    fn show(&self, place: &str, group: &Group) -> Vec<String> {
        for (at, (phase, _)) in group.phases.iter().enumerate() {
            self.line(place, phase, &move |run| run.0[at]);
        }
        let all = self.line(place, &format!("all {}", group.name), &|run| run.0.iter().sum());
        let cpu = self.line(place, &format!("CPU, {}", group.name), &|run| run.1);
        let promised =
            [("time", all), ("CPU time", cpu)].into_iter().filter(|(_, ratio)| *ratio > 1.0 + NOISE);
        promised.map(|(what, ratio)| format!("{place}, {}: {what} {ratio:.3}", group.name)).collect()
    }

    fn line(&self, place: &str, what: &str, of: &Figure) -> f64 {
        let ratio = median(self.ours.iter().zip(&self.original).map(|(our, their)| of(our) / of(their)));
        let [original, ours] = [&self.original, &self.ours].map(|runs| median(runs.iter().map(of)));
        println!("{place:6} {what:14} {original:8.3} {ours:8.3}   {ratio:8.3}");
        ratio
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
    (values[low] + values[high]) / 2.0
}
