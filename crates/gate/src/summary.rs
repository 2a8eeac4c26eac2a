//! The summary that every run prints at its end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::calibration::{self, REFERENCE};
use crate::history::{self, Entry, LONG};
use crate::schedule::Done;

/// Time limit of the gate.
const BUDGET_MINUTES: f64 = 30.0;
/// A module counts as grown if it takes this much longer, and a quarter longer.
const GROWN_SECONDS: f64 = 10.0;
/// Number of slowest tests to print; `make check` leaves all of these out.
const SLOWEST: usize = 20;

pub struct Summary {
    begin: Instant,
    /// Before a full gate, whose total is compared with earlier ones.
    calibration: Option<Duration>,
    steps: Vec<(&'static str, Duration)>,
}

impl Summary {
    pub fn begin() -> Self {
        Summary { begin: Instant::now(), calibration: None, steps: Vec::new() }
    }

    /// Of a full gate.
    pub fn calibrated() -> Self {
        Summary { calibration: Some(calibration::measure()), ..Summary::begin() }
    }

    /// Runs a step before the tests and records its time.
    pub fn step<T>(&mut self, name: &'static str, does: impl FnOnce() -> Result<T>) -> Result<T> {
        let begin = Instant::now();
        let result = does();
        self.steps.push((name, begin.elapsed()));
        result
    }

    /// Prints the summary and returns whether every test passed. A full gate is compared with the last recorded entry.
    pub fn finish(self, mut done: Vec<Done>) -> Result<bool> {
        // The mean of two calibrations: a machine that slows down in between is noticed too.
        let slowness = self
            .calibration
            .map(|first| (first + calibration::measure()).as_secs_f64() / 2.0 / REFERENCE.as_secs_f64());
        done.sort_by_key(|one| std::cmp::Reverse(one.time));
        let rows = |rows: Vec<(String, Duration)>| {
            for (name, time) in rows {
                println!("| `{name}` | {:.1} |", time.as_secs_f64());
            }
        };
        println!("\n| step, module | seconds |\n|---|---|");
        rows(self.steps.iter().map(|(name, time)| ((*name).to_owned(), *time)).collect());
        let modules = by_module(&done);
        rows(longest(&modules, Duration::from_secs(5)));
        println!("\n| slowest tests | seconds |\n|---|---|");
        let slowest = done.partition_point(|one| one.time >= LONG).max(SLOWEST);
        rows(done.iter().take(slowest).map(|one| (one.name.clone(), one.time)).collect());
        skipped(&done);
        let minutes = self.begin.elapsed().as_secs_f64() / 60.0;
        if let Some(slowness) = slowness {
            grown(&modules, slowness, &history::read()?);
            println!(
                "\n{minutes:.1} of {BUDGET_MINUTES} minutes; {reference:.1} minutes on the reference machine, which is {slowness:.2} times as fast",
                reference = minutes / slowness
            );
        } else {
            println!("\n{minutes:.1} minutes");
        }
        for one in done.iter().filter(|one| one.passed && one.repeated) {
            println!("FLAKY  {}: failed beside other tests, passed when repeated alone", one.name);
        }
        let failed: Vec<&Done> = done.iter().filter(|one| !one.passed).collect();
        for one in &failed {
            println!("FAILED {}", one.name);
        }
        println!("{} passed, {} failed", done.len() - failed.len(), failed.len());
        Ok(failed.is_empty())
    }
}

/// Total time of the tests of one file, such as `host::kills`.
fn by_module(done: &[Done]) -> BTreeMap<String, Duration> {
    let mut modules = BTreeMap::new();
    for one in done {
        let name: Vec<&str> = one.name.split("::").take(2).collect();
        *modules.entry(name.join("::")).or_default() += one.time;
    }
    modules
}

fn longest(modules: &BTreeMap<String, Duration>, least: Duration) -> Vec<(String, Duration)> {
    let mut rows: Vec<_> = modules.iter().map(|(name, time)| (name.clone(), *time)).collect();
    rows.retain(|(_, time)| *time >= least);
    rows.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    rows
}

/// Every reason for skipping once, with its number of tests.
fn skipped(done: &[Done]) {
    let mut reasons = BTreeMap::<&str, usize>::new();
    let lines = done.iter().flat_map(|one| one.said.lines());
    for line in lines.filter_map(|line| line.strip_prefix("skipped: ")) {
        *reasons.entry(line).or_default() += 1;
    }
    println!("\nskipped here: {}", reasons.values().sum::<usize>());
    for (reason, times) in reasons {
        println!("  {reason}{}", if times > 1 { format!(" ({times} times)") } else { String::new() });
    }
}

fn grown(modules: &BTreeMap<String, Duration>, slowness: f64, before: &Entry) {
    for (name, time) in modules {
        let now = time.as_secs_f64() / slowness;
        let then = before.seconds.get(name).copied().unwrap_or(0.0);
        if now > then + GROWN_SECONDS && now > then * 1.25 {
            println!(
                "slower than in the last entry of docs/measurements/gate.md: {name}, {then:.0} s then, {now:.0} s now"
            );
        }
    }
}
