//! The engine beside the original: wall times as ratios, on tmpfs, where the disk hides nothing.
//!
//! Each round runs, one after the other and starting with another each time: Debian's `postmark`; our
//! drop-in, as a program too; a trial's engine in this process; and the engine's system calls alone, replayed
//! from a list. Promises: drop-in and engine are not slower than the original, and the engine costs at most 5
//! % more than its system calls.
//!
//! A ratio is the median of those of the rounds, and so is that of the CPU time, below it. A promise whose median of wall
//! times is above its limit is broken, and the bench ends with an error; on a busy machine the CPU time, and more rounds,
//! tell whether the machine or the engine broke it.
//!
//! `cargo bench --bench postmark [-- ROUNDS]`

use std::ffi::{CStr, CString};
use std::fs::File;
use std::ops::Range;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use fsderby::workloads::postmark::PostMark;
use fsderby::workloads::postmark::generator::Generator;
use fsderby::workloads::postmark::rules::Rules;
use fsderby::workloads::postmark::trace::{Call, trace};
use fsderby::workloads::{Clock, Histogram, Log, Phase, Progress, Until, Workload};
use rustix::fs::{self, Mode, OFlags, SeekFrom};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 7;
/// tmpfs says 4096 to the original; the engine is given the same.
const STDIO_BUFFER: usize = 4096;

const NOT_SLOWER: f64 = 1.0;
const ENGINE_OVER_REPLAY: f64 = 1.05;

fn main() -> ExitCode {
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("postmark bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> anyhow::Result<()> {
    let rounds = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(ROUNDS).max(1);
    let folder = tempfile::Builder::new().prefix("fsderby-bench").tempdir_in("/dev/shm");
    let folder = folder.context("could not make a folder on /dev/shm")?;
    std::env::set_current_dir(&folder).context("could not enter it")?;
    let a = Rules { number: 20_000, transactions: 100_000, ..Rules::default() };
    let b = Rules { number: 2000, transactions: 50_000, low: 1000, high: 100_000, ..Rules::default() };
    println!("PostMark, medians of {rounds} rounds; wall seconds, then ratios");
    println!(
        "{:11} {:>8} {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8}",
        "", "original", "drop-in", "engine", "replay", "drop-in", "engine", "engine"
    );
    println!("{:48}   {:>8} {:>8} {:>8}", "", "/orig.", "/orig.", "/replay");
    let mut broken = Vec::new();
    for (name, rules) in [("A", a), ("B", b)] {
        for buffering in [true, false] {
            let name = format!("{name} {}", if buffering { "buffered" } else { "raw" });
            broken.extend(measure(&name, &Rules { buffering, ..rules.clone() }, rounds)?);
        }
    }
    ensure!(broken.is_empty(), "promises are broken: {}", broken.join("; "));
    println!("every promise is kept");
    Ok(())
}

/// One line of the table; returns the promises that are broken.
fn measure(name: &str, rules: &Rules, rounds: usize) -> anyhow::Result<Vec<String>> {
    std::fs::write("script", rules.script())?;
    let list = Replay::of(rules);
    let rounds: Vec<Round<Times>> =
        (0..rounds).map(|first| round(first, rules, &list)).collect::<Result<_, _>>()?;
    let seconds = |which: fn(&Round<f64>) -> f64| median(rounds.iter().map(|r| which(&r.wall())).collect());
    let promises = [
        Promise::new("drop-in / original", &rounds, |r| r.drop_in / r.original, NOT_SLOWER),
        Promise::new("engine / original", &rounds, |r| r.prepared / r.original, NOT_SLOWER),
        Promise::new("engine / replay", &rounds, |r| r.engine / r.replay, ENGINE_OVER_REPLAY),
    ];
    let [original, drop_in] = [seconds(|r| r.original), seconds(|r| r.drop_in)];
    let [engine, replay] = [seconds(|r| r.engine), seconds(|r| r.replay)];
    let [a, b, c] = promises.each_ref().map(|promise| promise.ratio);
    println!("{name:11} {original:8.3} {drop_in:8.3} {engine:8.3} {replay:8.3}   {a:8.3} {b:8.3} {c:8.3}");
    let [a, b, c] = promises.each_ref().map(|promise| promise.cpu_ratio);
    println!("{:>47}   {a:8.3} {b:8.3} {c:8.3}", "CPU time");
    Ok(promises.iter().filter(|promise| promise.is_broken()).map(|promise| promise.text(name)).collect())
}

/// Seconds.
#[derive(Clone, Copy, Default)]
struct Times {
    wall: f64,
    cpu: f64,
}

/// What one round took: [`Times`], or one kind of them.
#[derive(Clone, Copy, Default)]
struct Round<T> {
    original: T,
    drop_in: T,
    engine: T,
    /// The engine with its preparing.
    prepared: T,
    replay: T,
}

impl Round<Times> {
    fn map(&self, one: fn(Times) -> f64) -> Round<f64> {
        let Round { original, drop_in, engine, prepared, replay } = *self;
        let [original, drop_in, engine, prepared, replay] =
            [original, drop_in, engine, prepared, replay].map(one);
        Round { original, drop_in, engine, prepared, replay }
    }

    fn wall(&self) -> Round<f64> {
        self.map(|times| times.wall)
    }

    fn cpu(&self) -> Round<f64> {
        self.map(|times| times.cpu)
    }
}

fn round(first: usize, rules: &Rules, list: &Replay) -> anyhow::Result<Round<Times>> {
    let mut round = Round::default();
    for which in (0..4).map(|turn| (first + turn) % 4) {
        match which {
            0 => round.original = program("postmark", &[])?,
            1 => round.drop_in = program(OURS, &["postmark"])?,
            2 => [round.prepared, round.engine] = engine(rules)?,
            _ => round.replay = list.run()?,
        }
    }
    Ok(round)
}

struct Promise {
    what: &'static str,
    ratio: f64,
    cpu_ratio: f64,
    limit: f64,
}

impl Promise {
    fn new(what: &'static str, rounds: &[Round<Times>], ratio: fn(Round<f64>) -> f64, limit: f64) -> Self {
        let ratios: Vec<f64> = rounds.iter().map(|round| ratio(round.wall())).collect();
        let cpu_ratio = median(rounds.iter().map(|round| ratio(round.cpu())).collect());
        Promise { what, ratio: median(ratios), cpu_ratio, limit }
    }

    fn is_broken(&self) -> bool {
        self.ratio > self.limit
    }

    fn text(&self, name: &str) -> String {
        let Promise { what, ratio, cpu_ratio, limit } = self;
        format!("{name}: {what} is {ratio:.3} (CPU {cpu_ratio:.3}), promised ≤ {limit:.2}")
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = ((values.len() - 1) / 2, values.len() / 2);
    (values[low] + values[high]) / 2.0
}

const OURS: &str = env!("CARGO_BIN_EXE_fsderby");

/// Wall time, and the CPU time of this thread or of the children that have ended.
struct Stopwatch {
    wall: Instant,
    cpu: fn() -> anyhow::Result<f64>,
    cpu_start: f64,
}

impl Stopwatch {
    fn start(cpu: fn() -> anyhow::Result<f64>) -> anyhow::Result<Self> {
        let cpu_start = cpu()?;
        Ok(Stopwatch { wall: Instant::now(), cpu, cpu_start })
    }

    fn read(&self) -> anyhow::Result<Times> {
        let wall = self.wall.elapsed().as_secs_f64();
        Ok(Times { wall, cpu: (self.cpu)()? - self.cpu_start })
    }
}

fn thread_cpu() -> anyhow::Result<f64> {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

fn children_cpu() -> anyhow::Result<f64> {
    let stat = procfs::process::Process::myself()?.stat()?;
    Ok((stat.cutime + stat.cstime) as f64 / procfs::ticks_per_second() as f64)
}

fn program(program: &str, arguments: &[&str]) -> anyhow::Result<Times> {
    let watch = Stopwatch::start(children_cpu)?;
    let status = Command::new(program)
        .args(arguments)
        .arg("script")
        .stdin(Stdio::null())
        .stdout(File::create("/dev/null")?)
        .status()
        .with_context(|| format!("could not run {program}; the original is in Debian's package postmark"))?;
    let times = watch.read()?;
    ensure!(status.success(), "{program} ended with {status}");
    Ok(times)
}

/// A trial's engine with and without its preparing: a whole program cannot leave that out, a replay has none.
fn engine(rules: &Rules) -> anyhow::Result<[Times; 2]> {
    let Rules { number, transactions, low, high, buffering, seed, .. } = rules;
    let table = format!(
        "number = {number}\ntransactions = {transactions}\nsize = [{low}, {high}]\nbuffering = {buffering}\n\
         seed = {seed}\nstdio_buffer = {STDIO_BUFFER}\n"
    );
    let prepared = Stopwatch::start(thread_cpu)?;
    let work = PostMark.parse(&table.parse()?).map_err(anyhow::Error::msg)?;
    let mut ready = work.prepare(0, Until::End).map_err(anyhow::Error::msg)?;
    let (clock, mut log) = (WallClock(Instant::now()), Silent::default());
    let engine = Stopwatch::start(thread_cpu)?;
    ready.run(&clock, &mut log)?;
    Ok([prepared.read()?, engine.read()?])
}

struct WallClock(Instant);

impl Clock for WallClock {
    fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

#[derive(Default)]
struct Silent(Progress);

impl Log for Silent {
    fn phase(&mut self, _phase: Phase) {}

    fn histogram(&mut self, _phase: &'static str, _operation: &'static str, _latencies: &Histogram) {}

    fn progress(&self) -> &Progress {
        &self.0
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
    fn run(&self) -> anyhow::Result<Times> {
        let (create, create_mode, append) = if self.buffering {
            (OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC, 0o666, OFlags::WRONLY | OFlags::CREATE)
        } else {
            (OFlags::RDWR | OFlags::CREATE, 0o644, OFlags::RDWR)
        };
        let open = |path: &CStr, flags, mode| fs::openat(fs::CWD, path, flags, Mode::from_raw_mode(mode));
        let mut space = vec![0; self.source.len().max(STDIO_BUFFER)];
        let mut file = None;
        let watch = Stopwatch::start(thread_cpu)?;
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
        watch.read()
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
