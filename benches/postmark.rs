//! The engine beside the original: wall times as ratios, on tmpfs, where the disk hides nothing.
//!
//! Each round runs four processes in folders of their own: Debian's `postmark`; our drop-in; a trial's engine; and the
//! engine's system calls alone, replayed from a list. They take turns of some milliseconds. Promises: drop-in and engine
//! are not slower than the original, and the engine costs at most 5 % more than its system calls.
//!
//! A ratio is the median of those of the rounds. A promise whose ratio is above its limit is broken, and the bench ends
//! with an error.
//!
//! `cargo bench --bench postmark [-- ROUNDS]`

#[path = "support/turns.rs"]
mod turns;

use std::ffi::{CStr, CString};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, anyhow, bail, ensure};
use fsderby::schema::job::Portion;
use fsderby::workloads::postmark::PostMark;
use fsderby::workloads::postmark::generator::Generator;
use fsderby::workloads::postmark::rules::Rules;
use fsderby::workloads::postmark::trace::{Call, trace};
use fsderby::workloads::{Clock, Silent, Workload};
use rustix::fs::{self, Mode, OFlags, SeekFrom};
use turns::{Contestant, median, race, wait_for_turn};

const ROUNDS: usize = 5;
/// Of the contestants.
const ENGINE: usize = 2;
/// Each is once first, second, third and last, and once before each other.
const ORDERS: [[usize; 4]; 4] = [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]];
/// tmpfs says 4096 to the original; the engine is given the same.
const STDIO_BUFFER: usize = 4096;

const NOT_SLOWER: f64 = 1.0;
const ENGINE_OVER_REPLAY: f64 = 1.05;

const OURS: &str = env!("CARGO_BIN_EXE_fsderby");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["engine", set] => find(set).and_then(|rules| engine(&rules)),
        ["replay", set] => find(set).and_then(|rules| Replay::of(&rules).run()),
        [rounds] => rounds.parse().context("the number of rounds is no number").and_then(bench),
        _ => bench(ROUNDS),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("postmark bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The sets of parameters by name.
fn sets() -> impl Iterator<Item = (String, Rules)> {
    let a = Rules { number: 20_000, transactions: 100_000, ..Rules::default() };
    let b = Rules { number: 2000, transactions: 50_000, low: 1000, high: 100_000, ..Rules::default() };
    [("A", a), ("B", b)].into_iter().flat_map(|(name, rules)| {
        [("buffered", true), ("raw", false)]
            .map(|(how, buffering)| (format!("{name} {how}"), Rules { buffering, ..rules.clone() }))
    })
}

fn find(name: &str) -> anyhow::Result<Rules> {
    let found = sets().find(|(set, _)| set == name);
    Ok(found.with_context(|| format!("there is no set {name}"))?.1)
}

fn bench(rounds: usize) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("fsderby-bench").tempdir_in("/dev/shm");
    let folder = folder.context("could not make a folder on /dev/shm")?;
    println!("PostMark, medians of {rounds} rounds; wall seconds, then ratios");
    println!(
        "{:11} {:>8} {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8}",
        "", "original", "drop-in", "engine", "replay", "drop-in", "engine", "engine"
    );
    println!("{:48}   {:>8} {:>8} {:>8}", "", "/orig.", "/orig.", "/replay");
    let mut broken = Vec::new();
    for (name, rules) in sets() {
        let rounds: Vec<Round> =
            (0..rounds).map(|turn| round(turn, &name, &rules, folder.path())).collect::<Result<_, _>>()?;
        broken.extend(judge(&name, &rounds));
    }
    ensure!(broken.is_empty(), "promises are broken: {}", broken.join("; "));
    println!("every promise is kept");
    Ok(())
}

/// What one round took, in seconds.
struct Round {
    original: f64,
    drop_in: f64,
    engine: f64,
    /// The engine with its preparing: a whole program cannot leave that out, a replay has none.
    prepared: f64,
    replay: f64,
}

fn round(first: usize, set: &str, rules: &Rules, folder: &Path) -> anyhow::Result<Round> {
    let this = std::env::current_exe()?;
    let this = this.to_str().context("the bench's path is not text")?;
    let commands: [&[&str]; 4] = [
        &["postmark", "script"],
        &[OURS, "postmark", "script"],
        &[this, "engine", set],
        &[this, "replay", set],
    ];
    let (mut all, mut prepared) = (Vec::new(), 0.0);
    for (number, command) in commands.iter().enumerate() {
        let place = folder.join(number.to_string());
        std::fs::create_dir_all(&place)?;
        std::fs::write(place.join("script"), rules.script())?;
        let begin = Instant::now();
        all.push(Contestant::start(command, &place, number >= 2)?);
        if number == ENGINE {
            prepared = begin.elapsed().as_secs_f64();
        }
    }
    let mut all: [Contestant; 4] = all.try_into().map_err(|_| anyhow!("there are four"))?;
    race(&mut all, &ORDERS, first)?;
    let [original, drop_in, engine, replay] = all.map(|contestant| contestant.took.as_secs_f64());
    Ok(Round { original, drop_in, engine, prepared: engine + prepared, replay })
}

/// One line of the table; returns the promises that are broken.
fn judge(name: &str, rounds: &[Round]) -> Vec<String> {
    let middle = |of: fn(&Round) -> f64| median(rounds.iter().map(of).collect());
    let [original, drop_in] = [middle(|r| r.original), middle(|r| r.drop_in)];
    let [engine, replay] = [middle(|r| r.engine), middle(|r| r.replay)];
    let promises = [
        ("drop-in / original", middle(|r| r.drop_in / r.original), NOT_SLOWER),
        ("engine / original", middle(|r| r.prepared / r.original), NOT_SLOWER),
        ("engine / replay", middle(|r| r.engine / r.replay), ENGINE_OVER_REPLAY),
    ];
    let [a, b, c] = promises.map(|(_, ratio, _)| ratio);
    println!("{name:11} {original:8.3} {drop_in:8.3} {engine:8.3} {replay:8.3}   {a:8.3} {b:8.3} {c:8.3}");
    let broken = promises.into_iter().filter(|(_, ratio, limit)| ratio > limit);
    broken
        .map(|(what, ratio, limit)| format!("{name}: {what} is {ratio:.3}, promised ≤ {limit:.2}"))
        .collect()
}

/// A trial's engine.
fn engine(rules: &Rules) -> anyhow::Result<()> {
    let Rules { number, transactions, low, high, buffering, seed, .. } = rules;
    let table = format!(
        "number = {number}\ntransactions = {transactions}\nsize = [{low}, {high}]\nbuffering = {buffering}\n\
         seed = {seed}\nstdio_buffer = {STDIO_BUFFER}\n"
    );
    let work = PostMark.parse(&table.parse()?).map_err(anyhow::Error::msg)?;
    let mut ready = work.prepare(0, &Portion::WHOLE).map_err(anyhow::Error::msg)?;
    let (clock, mut log) = (WallClock(Instant::now()), Silent::default());
    wait_for_turn()?;
    ready.run(&clock, &mut log)?;
    std::process::exit(0)
}

struct WallClock(Instant);

impl Clock for WallClock {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// A run's system calls as a list.
struct Replay {
    buffering: bool,
    source: Vec<u8>,
    calls: Vec<Bare>,
}

enum Bare {
    Create(CString),
    OpenRead(CString),
    OpenAppend(CString),
    SeekEnd,
    Write(Range<u32>),
    Read(u32),
    Close,
    Unlink(CString),
}

impl Replay {
    fn of(rules: &Rules) -> Self {
        let (_, source) = Generator::new(rules);
        let mut calls = Vec::new();
        trace(rules, STDIO_BUFFER, &mut |call| calls.push(Bare::from(call)));
        Replay { buffering: rules.buffering, source, calls }
    }

    /// Does nothing but the calls, and stops where one fails.
    fn run(&self) -> anyhow::Result<()> {
        let (create, create_mode, append) = if self.buffering {
            (OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, 0o666, OFlags::WRONLY | OFlags::CREATE)
        } else {
            (OFlags::RDWR | OFlags::CREATE, 0o644, OFlags::RDWR)
        };
        let open = |path: &CStr, flags, mode| fs::openat(fs::CWD, path, flags, Mode::from_raw_mode(mode));
        let mut space = vec![0; self.source.len().max(STDIO_BUFFER)];
        let mut file = None;
        wait_for_turn()?;
        for call in &self.calls {
            match (call, &file) {
                (Bare::Create(path), _) => file = Some(open(path, create, create_mode)?),
                (Bare::OpenRead(path), _) => file = Some(open(path, OFlags::RDONLY, 0)?),
                (Bare::OpenAppend(path), _) => file = Some(open(path, append | OFlags::APPEND, 0o666)?),
                (Bare::Unlink(path), _) => fs::unlinkat(fs::CWD, path, fs::AtFlags::empty())?,
                (Bare::Close, _) => drop(file.take()),
                (Bare::SeekEnd, Some(file)) => {
                    fs::seek(file, SeekFrom::End(0))?;
                }
                (Bare::Write(part), Some(file)) => {
                    rustix::io::write(file, &self.source[part.start as usize..part.end as usize])?;
                }
                (Bare::Read(asked), Some(file)) => {
                    rustix::io::read(file, &mut space[..*asked as usize])?;
                }
                _ => bail!("a request without an open file"),
            }
        }
        // Giving the list back would be timed.
        std::process::exit(0)
    }
}

impl From<Call<'_>> for Bare {
    fn from(call: Call<'_>) -> Self {
        match call {
            Call::Create(path) => Bare::Create(path.into()),
            Call::OpenRead(path) => Bare::OpenRead(path.into()),
            Call::OpenAppend(path) => Bare::OpenAppend(path.into()),
            Call::Unlink(path) => Bare::Unlink(path.into()),
            Call::SeekEnd => Bare::SeekEnd,
            Call::Write(part) => Bare::Write(part.start as u32..part.end as u32),
            Call::Read { asked, .. } => Bare::Read(asked as u32),
            Call::Close => Bare::Close,
            Call::MakeDirectory(_) | Call::RemoveDirectory(_) => {
                unreachable!("the bench has no subdirectories")
            }
        }
    }
}
