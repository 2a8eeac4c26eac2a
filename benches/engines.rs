//! Every engine beside a bare repetition of its own system calls: wall times as a ratio, on tmpfs, where the disk hides nothing, and on
//! ext4 over a loop device (as root).
//!
//! `strace` writes down what an engine asks of files; then a trial's engine and a process that does nothing but these calls take
//! turns of some milliseconds. What the ratio has above 1 is what the engine itself costs: deciding what comes next, two looks at
//! the clock for each operation, and looking whether what was read is what was written. Promise: at most 5 %.
//!
//! A ratio is the median of those of the rounds. An engine above the limit breaks the promise, and the bench ends with an error.
//! Of Bonnie++ two things are left out: the seeks, whose threads wait for each other, and the single characters of `classic`, which are
//! the CPU's work between two system calls, in the original as in ours. So is the engine `fill`, which is no trial's work and takes all
//! the space that there is. Programs of this machine are no engines of ours.
//!
//! `cargo bench --bench engines [-- ROUNDS [SET]]`

#[path = "support/calls.rs"]
mod calls;
#[path = "support/ext4.rs"]
mod ext4;
#[path = "support/turns.rs"]
mod turns;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, ensure};
use calls::{Calls, STRACE};
use ext4::Ext4;
use fsderby::schema::job::Portion;
use fsderby::workloads::{self, Clock, Ready, SOURCE, Silent, TABLE, Work, Workload};
use fsderby_sys::process::monotonic_ns;
use rustix::process::{getpid, test_kill_process};
use turns::{Contestant, median, race, wait_for_turn};

const ROUNDS: usize = 9;
const LIMIT: f64 = 1.05;
const ORDERS: [[usize; 2]; 2] = [[0, 1], [1, 0]];

/// Each engine's sets, at a scale at which one takes about a second.
const SETS: [(&str, &str); 11] = [
    ("mail-2008-1", "1/4"),
    ("mail-2008-2", "1"),
    ("coldread-quick", "1"),
    ("fileserver-2006", "1/4"),
    ("sparse-quick", "8"),
    ("backup-quick", "2"),
    ("news-quick", "8"),
    ("sources-quick", "4"),
    ("bonnie-quick", "1/4"),
    ("provao-1g", "1/4"),
    ("iozone-quick", "2"),
];

/// The part of Bonnie++ that is left out: its threads wait for each other, and waiting is not repeated.
const SEEK: &str = "seek";
/// The part of Bonnie++ that reads single characters.
const CHARACTERS: &str = "char-read";
/// The folder that a work may copy from, beside the one in which it works.
const BESIDE: &str = "../source";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fill-source", set, scale] => fill_source(set, scale),
        ["record", set, scale] => engine(set, scale, || Ok(test_kill_process(getpid())?)),
        ["engine", set, scale] => engine(set, scale, wait_for_turn),
        ["repeat", recording] => repeat(Path::new(recording)),
        [] => bench(ROUNDS, None),
        [rounds] => rounds.parse().context("no number of rounds").and_then(|rounds| bench(rounds, None)),
        [rounds, set] => {
            rounds.parse().context("no number of rounds").and_then(|rounds| bench(rounds, Some(set)))
        }
        _ => Err(anyhow::anyhow!("write how many rounds, and a set")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("engines bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench(rounds: usize, only: Option<&str>) -> anyhow::Result<()> {
    let runs_programs = |engine: &&&dyn Workload| {
        engine
            .sets()
            .iter()
            .any(|set| engine.parse(&set.file().parameters).is_ok_and(|work| work.needs().programs))
    };
    for engine in TABLE.iter().filter(|engine| engine.name() != "fill" && !runs_programs(engine)) {
        let tried = SETS.iter().any(|(set, _)| engine.sets().iter().any(|s| s.name == *set));
        ensure!(tried, "no set of the engine {} is tried", engine.name());
    }
    println!("Engines beside their system calls, medians of {rounds} rounds: wall seconds, and the ratio");
    println!(
        "{:6} {:16} {:>5} {:>9} {:>8} {:>8} {:>7}",
        "", "", "scale", "calls", "engine", "calls", "ratio"
    );
    let ext4 = Ext4::new().inspect_err(|e| println!("without ext4 over a loop device: {e:#}")).ok();
    let memory = ("tmpfs", PathBuf::from("/dev/shm"));
    let mut broken = Vec::new();
    for (place, path) in [memory].into_iter().chain(ext4.as_ref().map(|ext4| ("ext4", ext4.mount()))) {
        for (set, scale) in SETS.iter().filter(|(set, _)| only.is_none_or(|only| only == *set)) {
            print!("{place:6} ");
            let ratio = compare(&path, set, scale, rounds).with_context(|| format!("{set} on {place}"))?;
            if ratio > LIMIT {
                broken.push(format!("{set} on {place} {ratio:.3}"));
            }
        }
    }
    ensure!(broken.is_empty(), "more than {LIMIT:.2}: {}", broken.join("; "));
    println!("every promise is kept");
    Ok(())
}

/// Prints a line, and returns the ratio.
fn compare(place: &Path, set: &str, scale: &str, rounds: usize) -> anyhow::Result<f64> {
    let folder = tempfile::Builder::new().prefix("fsderby-bench").tempdir_in(place);
    let folder = folder.with_context(|| format!("could not make a folder on {}", place.display()))?;
    let [work, source, traces] = ["work", "source", "traces"].map(|name| folder.path().join(name));
    for place in [&work, &source, &traces] {
        std::fs::create_dir(place)?;
    }
    let this = std::env::current_exe()?;
    let this = this.to_str().context("the bench's path is not text")?;
    let recording = traces.join("calls");
    let recording = recording.to_str().context("a folder's path is not text")?;
    run(&[this, "fill-source", set, scale], &source)?;
    let record: Vec<&str> = STRACE.into_iter().chain([recording, this, "record", set, scale]).collect();
    run(&record, &work)?;
    let calls = Calls::read(Path::new(recording), beside(&work))?.len();
    let mut took = Vec::new();
    for round in 0..rounds {
        let commands: [&[&str]; 2] = [&[this, "engine", set, scale], &[this, "repeat", recording]];
        let mut both = Vec::new();
        for (number, command) in commands.iter().enumerate() {
            // Beside the source as the folder of the recording was, and empty.
            let place = folder.path().join(number.to_string());
            let _ = std::fs::remove_dir_all(&place);
            std::fs::create_dir(&place)?;
            both.push(Contestant::start(command, &place, true)?);
        }
        let mut both: [Contestant; 2] = both.try_into().map_err(|_| anyhow::anyhow!("there are two"))?;
        race(&mut both, &ORDERS, round % 2)?;
        took.push(both.map(|contestant| contestant.took.as_secs_f64()));
    }
    let [engine, bare] = [0, 1].map(|which| median(took.iter().map(|pair| pair[which]).collect()));
    let ratio = median(took.iter().map(|[engine, bare]| engine / bare).collect());
    println!("{set:16} {scale:>5} {calls:9} {engine:8.3} {bare:8.3} {ratio:7.3}");
    Ok(ratio)
}

fn run(command: &[&str], place: &Path) -> anyhow::Result<()> {
    let status =
        Command::new(command[0]).args(&command[1..]).current_dir(place).stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("could not run {}", command[0]))?;
    ensure!(status.success(), "{} ended with {status}", command.join(" "));
    Ok(())
}

/// A set's work, and the parts of it that are done.
fn parsed(set: &str, scale: &str) -> anyhow::Result<(Box<dyn Work>, Vec<Portion>)> {
    let (engine, of) = workloads::find(set).with_context(|| format!("there is no set {set}"))?;
    let scale = scale.parse().map_err(anyhow::Error::msg)?;
    let mut parameters = engine.scale(&of.file().parameters, scale).map_err(anyhow::Error::msg)?;
    let mut parts = engine.parts().to_vec();
    parts.retain(|part| *part != SEEK);
    if parameters.get("semantics").is_some_and(|semantics| semantics.as_str() == Some("classic")) {
        parameters.insert("characters".into(), 0.into());
        parts.retain(|part| *part != CHARACTERS);
    }
    let in_parts = engine.parts().contains(&SEEK);
    let portions =
        if in_parts { parts.into_iter().map(Portion::part).collect() } else { vec![Portion::WHOLE] };
    Ok((engine.parse(&parameters).map_err(anyhow::Error::msg)?, portions))
}

fn beside(work: &Path) -> Option<&'static Path> {
    let source = Path::new(BESIDE);
    let has_any = std::fs::read_dir(work.join(source)).is_ok_and(|mut entries| entries.next().is_some());
    has_any.then_some(source)
}

fn fill_source(set: &str, scale: &str) -> anyhow::Result<()> {
    let (work, _) = parsed(set, scale)?;
    if !work.needs().source {
        return Ok(());
    }
    let ready = work.prepare(0, &Portion::part(SOURCE)).map_err(anyhow::Error::msg)?;
    carry_out(ready)
}

/// A trial's engine, which says by `begin` that all is prepared.
fn engine(set: &str, scale: &str, begin: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let (work, portions) = parsed(set, scale)?;
    let prepare = |portion| work.prepare(0, portion).map_err(anyhow::Error::msg);
    let mut ready = portions.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
    // An engine of several parts copies from nowhere.
    if let (Some(source), [ready]) = (open_source()?, &mut ready[..]) {
        ready.take_source(source);
    }
    begin()?;
    ready.into_iter().try_for_each(carry_out)?;
    std::process::exit(0)
}

fn open_source() -> anyhow::Result<Option<OwnedFd>> {
    Ok(beside(Path::new(".")).map(File::open).transpose()?.map(OwnedFd::from))
}

fn carry_out(mut ready: Box<dyn Ready>) -> anyhow::Result<()> {
    Ok(ready.run(&Monotonic, &mut Silent::default())?)
}

fn repeat(recording: &Path) -> anyhow::Result<()> {
    let calls = Calls::read(recording, beside(Path::new(".")))?;
    let mut ready = calls.prepare(open_source()?);
    wait_for_turn()?;
    ready.run()?;
    // Giving the list back would be timed.
    std::process::exit(0)
}

/// A trial's.
struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }
}
