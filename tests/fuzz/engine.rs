//! The loop around every target: draw an input, try it, and where that fails make the input small and keep it.
//!
//! An input is found wrong when its check panics, or takes more memory or time than any input may.

use std::cell::RefCell;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use allocation_counter::measure;
use rustix::time::{ClockId, clock_gettime};

use crate::mutate::Dice;
use crate::support::say;

/// How many times as many inputs as the gate tries.
const TIMES: &str = "FSDERBY_FUZZ_TIMES";
/// Other inputs than the gate's.
const SEED: &str = "FSDERBY_FUZZ_SEED";
/// The gate tries the same inputs every time, so that no change is refused for a mistake that is older than it.
const SEED_OF_THE_GATE: u64 = 1;
/// A file with the one input to try.
const INPUT: &str = "FSDERBY_FUZZ_INPUT";

/// What one input may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Allocated at any moment.
    pub bytes: u64,
    /// Of CPU time.
    pub time: Duration,
}

/// In a build without optimisation, on a busy machine.
pub const USUAL: Limits = Limits { bytes: 256 << 20, time: Duration::from_secs(10) };

/// After so long the input is taken for one that never ends, and the process is given up.
const STUCK: Duration = Duration::from_secs(90);
/// Of all targets together; beyond it the process is given up before the machine is.
const MOST_RESIDENT_BYTES: u64 = 3 << 30;
/// How often an input is tried in smaller forms.
const SHRINKS: usize = 2000;
const SHRINKING: Duration = Duration::from_secs(20);

/// Panics where an input is treated wrongly.
pub type Check = dyn Fn(&[u8]) + Send + Sync;

/// What is tried: valid inputs to begin with, the words of their language, and what must hold of any bytes.
pub struct Target {
    pub name: &'static str,
    pub seeds: Vec<Vec<u8>>,
    pub words: Vec<String>,
    /// How many are tried: about ten seconds' worth.
    pub inputs: u64,
    pub limits: Limits,
    pub check: Box<Check>,
}

/// An input that is wrong, as small as it could be made.
#[derive(Debug)]
pub struct Finding {
    pub execution: u64,
    pub why: String,
    pub input: Vec<u8>,
}

impl Target {
    /// Fails with the first finding, which then lies in a file.
    pub fn run(&self) {
        if let Some(path) = std::env::var_os(INPUT) {
            (self.check)(&fs::read(path).unwrap());
            return;
        }
        let inputs = self.inputs * number(TIMES).unwrap_or(1);
        let seed = number(SEED).unwrap_or(SEED_OF_THE_GATE);
        say(&format!("fuzz {}: {inputs} inputs, {SEED}={seed}", self.name));
        match self.search(seed, inputs) {
            Ok(()) => {}
            Err(Finding { execution, why, input }) => {
                let path = folder().join(format!("{}.found", self.name));
                fs::write(&path, &input).unwrap();
                panic!(
                    "input {execution} of {SEED}={seed}: {why}\n{}\ntry: {INPUT}={} cargo test --test fuzz {}",
                    input.escape_ascii(),
                    path.display(),
                    self.name
                );
            }
        }
    }

    /// The first of so many inputs that is wrong; the target's own seeds come before them.
    pub fn search(&self, seed: u64, inputs: u64) -> Result<(), Finding> {
        hush();
        let begin = Instant::now();
        let watched = Watched::new(self.name);
        thread::scope(|scope| {
            scope.spawn(|| watched.watch(begin));
            let found = self.search_watched(seed, inputs, &watched);
            watched.over.store(true, Relaxed);
            found
        })
    }

    fn search_watched(&self, seed: u64, inputs: u64, watched: &Watched) -> Result<(), Finding> {
        for execution in 0..self.seeds.len() as u64 + inputs {
            let input = match self.seeds.get(execution as usize) {
                Some(seed) => seed.clone(),
                None => Dice::new(seed, execution).input(&self.seeds, &self.words),
            };
            if let Some(why) = self.trouble(&input, watched) {
                let input = self.smaller(input, watched);
                let why = self.trouble(&input, watched).unwrap_or(why);
                return Err(Finding { execution, why, input });
            }
        }
        Ok(())
    }

    /// What is wrong with an input.
    fn trouble(&self, input: &[u8], watched: &Watched) -> Option<String> {
        watched.begins(input);
        QUIET.replace(Some(String::new()));
        let (before, mut panicked) = (cpu_ns(), false);
        let used = measure(|| {
            panicked = panic::catch_unwind(AssertUnwindSafe(|| (self.check)(input))).is_err();
        });
        let (time, said) = (Duration::from_nanos(cpu_ns() - before), QUIET.take());
        match said.filter(|_| panicked) {
            Some(said) => Some(said),
            None if used.bytes_max > self.limits.bytes => Some(format!("it took {} bytes", used.bytes_max)),
            None if time > self.limits.time => Some(format!("it took {} ms", time.as_millis())),
            None => None,
        }
    }

    /// Takes pieces out, halves first and single bytes last, for as long as something is wrong with what is left.
    fn smaller(&self, mut input: Vec<u8>, watched: &Watched) -> Vec<u8> {
        let (mut tries, end) = (0, Instant::now() + SHRINKING);
        let mut piece = input.len().div_ceil(2);
        while piece > 0 {
            let mut at = 0;
            while at < input.len() {
                if tries == SHRINKS || Instant::now() > end {
                    return input;
                }
                tries += 1;
                let mut less = input.clone();
                less.drain(at..(at + piece).min(input.len()));
                match self.trouble(&less, watched) {
                    Some(_) => input = less,
                    None => at += piece,
                }
            }
            piece /= 2;
        }
        input
    }
}

/// The input under way, in a file so that it outlives whatever it does to the process, and since when.
struct Watched {
    path: PathBuf,
    file: File,
    began_ms: AtomicU64,
    epoch: Instant,
    over: AtomicBool,
}

impl Watched {
    fn new(name: &str) -> Self {
        let path = folder().join(format!("{name}.last"));
        let (file, epoch) = (File::create(&path).unwrap(), Instant::now());
        Watched { path, file, began_ms: AtomicU64::new(0), epoch, over: AtomicBool::new(false) }
    }

    fn begins(&self, input: &[u8]) {
        self.began_ms.store(self.epoch.elapsed().as_millis() as u64, Relaxed);
        self.file.set_len(input.len() as u64).unwrap();
        self.file.write_all_at(input, 0).unwrap();
    }

    /// Ends the process where an input does not end by itself, or takes all memory there is.
    fn watch(&self, begin: Instant) {
        while !self.over.load(Relaxed) {
            thread::sleep(Duration::from_millis(20));
            let under_way = Duration::from_millis(self.began_ms.load(Relaxed));
            let stuck = begin.elapsed().saturating_sub(under_way) > STUCK;
            if stuck || resident_bytes() > MOST_RESIDENT_BYTES {
                let what = if stuck { "does not end" } else { "takes too much memory" };
                say(&format!("an input {what}: {}", self.path.display()));
                process::exit(101);
            }
        }
    }
}

thread_local! {
    /// While an input is tried, what its panic says; it is printed once, when it is small.
    static QUIET: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let said = QUIET.with_borrow_mut(|quiet| quiet.as_mut().map(|text| *text = info.to_string()));
            if said.is_none() {
                loud(info);
            }
        }));
    });
}

/// Files of one test run, kept for the next look.
fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")))
}

fn cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn resident_bytes() -> u64 {
    let memory = procfs::process::Process::myself().and_then(|me| me.statm());
    memory.map_or(0, |memory| memory.resident * rustix::param::page_size() as u64)
}

/// What a refusal must be: words, not too many, and none that a terminal would obey.
pub fn has_words(message: &str) {
    assert!(!message.trim().is_empty(), "it is refused without a word");
    assert!(message.chars().count() <= 5000, "{} bytes: {message:.200}", message.len());
    let control = message.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None, "in: {message}");
}
