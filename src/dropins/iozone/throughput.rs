//! The throughput mode: several parallel processes, each with its own file.
//!
//! ```text
//! child 0   open ─┐      ├──── operations ────┤ finishes first and ends the measurement (the wall)
//! child 1   open ─┼─ go ─├──── operations ────┼──────┤           only its operations before the wall count
//! child 2   open ─┘      ├──── operations ────┼─┤
//! ```
//! All children start together when each has opened its file. The first child that finishes ends the measurement of all, except with
//! `-x`. The others finish their files untimed, so that the next pass finds complete files. Each process is a thread with its own
//! file descriptor table.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, OnceLock};
use std::thread;

use fsderby_sys::process::own_descriptors;

use super::options::{Shown, Together};
use crate::dropins::stopping::Stopping;
use crate::schema::units::KIB;
use crate::workloads::iozone::matrix::Pair;
use crate::workloads::iozone::passes::{Passes, Took, Turns};
use crate::workloads::iozone::table::{Pass, Test};
use crate::workloads::{Clock, OpError, Progress};

/// A measured pass: its test, the name of its processes with trailing blanks, the width of their number, and its name in the
/// report.
pub struct Kind {
    pub test: Test,
    pub pass: Pass,
    who: &'static str,
    width: usize,
    report: &'static str,
}

const fn kind(test: Test, pass: Pass, (who, width): (&'static str, usize), report: &'static str) -> Kind {
    Kind { test, pass, who, width, report }
}

/// All passes in IOzone's order, in which random writers come after backward, stride and random readers.
pub const KINDS: [Kind; 10] = [
    kind(Test::Write, Pass::Write, ("initial writers \t", 2), "Initial write"),
    kind(Test::Write, Pass::Rewrite, ("rewriters \t", 2), "Rewrite"),
    kind(Test::Read, Pass::Read, ("readers \t\t", 2), "Read"),
    kind(Test::Read, Pass::Reread, ("re-readers \t", 0), "Re-read"),
    kind(Test::Backward, Pass::BackwardRead, ("reverse readers \t", 0), "Reverse Read"),
    kind(Test::Stride, Pass::StrideRead, ("stride readers \t", 0), "Stride read"),
    kind(Test::Random, Pass::RandomRead, ("random readers \t", 0), "Random read"),
    kind(Test::Random, Pass::RandomWrite, ("random writers \t", 0), "Random write"),
    kind(Test::Fwrite, Pass::Fwrite, ("fwriters \t", 2), "Fwrite"),
    kind(Test::Fread, Pass::Fread, ("freaders \t", 2), "Fread"),
];

/// The result of one pass of all children.
pub struct Result {
    /// Each child's operations before the end of the measurement, and their time.
    children: Vec<Took>,
    /// Time from the start of the first child to the end of the last child.
    ns: u64,
}

/// A pass in progress.
struct Race<'r> {
    now: fn() -> u64,
    stopping: &'r Stopping,
    begin: Barrier,
    stonewall: bool,
    progress: Vec<Progress>,
    wall: OnceLock<Wall>,
}

/// Time at which the first child finished, and the number of operations that each child had done by then.
struct Wall {
    at: u64,
    done: Vec<u64>,
}

/// A child's clock: its first reading starts the timing, its second reading ends the timing.
struct Watch<'r> {
    race: &'r Race<'r>,
    begun: AtomicU64,
}

impl Clock for Watch<'_> {
    fn now_ns(&self) -> u64 {
        self.race.stopping.wait_if_stopping();
        if self.begun.load(Relaxed) == 0 {
            self.race.begin.wait();
            let now = (self.race.now)();
            self.begun.store(now, Relaxed);
            return now;
        }
        let now = (self.race.now)();
        if self.race.stonewall {
            let done = || self.race.progress.iter().map(|progress| progress.done.load(Relaxed)).collect();
            self.race.wall.get_or_init(|| Wall { at: now, done: done() });
        }
        now
    }
}

/// Runs one pass of all children.
///
/// # Errors
/// The first error of a child, after all children have ended.
pub fn pass(
    children: &mut [Passes],
    pass: Pass,
    stonewall: bool,
    now: fn() -> u64,
    stopping: &Stopping,
) -> std::result::Result<Result, OpError> {
    let race = Race {
        now,
        stopping,
        begin: Barrier::new(children.len()),
        stonewall,
        progress: children.iter().map(|_| Progress::default()).collect(),
        wall: OnceLock::new(),
    };
    let ended: Vec<_> = thread::scope(|scope| {
        let started: Vec<_> = (0..)
            .zip(children.iter_mut())
            .map(|(number, child)| {
                let race = &race;
                scope.spawn(move || run(child, pass, number, race))
            })
            .collect();
        started.into_iter().map(|child| child.join()).collect()
    });
    let now = now();
    let mut took = Vec::new();
    for ended in ended {
        match ended {
            Ok(ended) => took.push(ended?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    let first = took.iter().map(|(begun, _)| *begun).min().unwrap_or(now);
    let children = (0..).zip(took).map(|(number, took)| by_the_wall(race.wall.get(), number, took)).collect();
    Ok(Result { children, ns: now.saturating_sub(first) })
}

/// Runs one child; returns when it began and how long it took.
fn run(
    child: &mut Passes,
    pass: Pass,
    number: usize,
    race: &Race<'_>,
) -> std::result::Result<(u64, Took), OpError> {
    // Calls cost what they cost a process of one thread. Where it may not be, they cost more.
    let _ = own_descriptors();
    let watch = Watch { race, begun: AtomicU64::new(0) };
    let mut turns = Turns { left: u64::MAX, progress: Some(&race.progress[number]) };
    let ended = child.run(pass, &watch, &mut turns);
    let begun = watch.begun.load(Relaxed);
    if begun == 0 {
        // It failed before it began, and nobody waits for it.
        race.begin.wait();
    }
    Ok((begun, ended?))
}

fn by_the_wall(wall: Option<&Wall>, number: usize, (begun, took): (u64, Took)) -> Took {
    match wall {
        Some(wall) if begun.saturating_add(took.ns) > wall.at => {
            Took { ns: wall.at.saturating_sub(begun), operations: wall.done[number].min(took.operations) }
        }
        _ => took,
    }
}

/// The units in which figures are printed.
#[derive(Clone, Copy)]
pub struct Units {
    pub pair: Pair,
    pub operations: bool,
    /// A shorter time counts as this time.
    pub shortest_ns: u64,
}

impl Units {
    pub fn of(shown: Shown, pair: Pair, shortest_ns: u64) -> Self {
        Units { pair, operations: shown == Shown::Operations, shortest_ns }
    }

    fn name(self) -> &'static str {
        if self.operations { "ops" } else { "kB" }
    }

    fn amount(self, operations: u64) -> f64 {
        let each = if self.operations { 1.0 } else { self.pair.record as f64 / KIB as f64 };
        operations as f64 * each
    }

    fn rate(self, amount: f64, ns: u64) -> f64 {
        amount * 1e9 / ns.max(self.shortest_ns) as f64
    }
}

impl Result {
    pub fn was_short(&self, shortest_ns: u64) -> bool {
        self.children.iter().any(|took| took.ns < shortest_ns)
    }

    fn rates(&self, units: Units) -> Vec<f64> {
        self.children.iter().map(|took| units.rate(units.amount(took.operations), took.ns)).collect()
    }

    /// The throughput that the children saw: the sum of the children's rates.
    pub fn total(&self, units: Units) -> f64 {
        self.rates(units).iter().sum()
    }

    /// The output lines of one pass.
    pub fn text(&self, kind: &Kind, units: Units, together: &Together) -> String {
        let (unit, n) = (units.name(), self.children.len());
        let rates = self.rates(units);
        let amounts: Vec<f64> = self.children.iter().map(|took| units.amount(took.operations)).collect();
        let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        let total: f64 = rates.iter().sum();
        let parent = units.rate(amounts.iter().sum(), self.ns);
        let (who, width, each) = (kind.who, kind.width, together.noun());
        let mut text = format!(
            "\n\tChildren see throughput for {n:>width$} {who}= {total:>10.2} {unit}/sec\n\
             \tParent sees throughput for {n:>width$} {who}= {parent:>10.2} {unit}/sec\n\
             \tMin throughput per {each} \t\t\t= {:>10.2} {unit}/sec \n\
             \tMax throughput per {each} \t\t\t= {most:>10.2} {unit}/sec\n\
             \tAvg throughput per {each} \t\t\t= {:>10.2} {unit}/sec\n\
             \tMin xfer \t\t\t\t\t= {:>10.2} {unit}\n",
            least(&rates),
            total / n as f64,
            least(&amounts),
        );
        for (at, (amount, rate)) in amounts.iter().zip(&rates).enumerate().filter(|_| together.each) {
            let line = writeln!(
                text,
                "\tChild[{at}] xfer count = {amount:>10.2} {unit}, Throughput = {rate:>10.2} {unit}/sec"
            );
            debug_assert!(line.is_ok(), "writing to a string cannot fail");
        }
        text
    }
}

impl Together {
    /// `process`
    fn noun(&self) -> &'static str {
        if self.threads { "thread" } else { "process" }
    }

    fn nouns(&self, n: usize) -> &'static str {
        match (self.threads, n) {
            (_, 1) => self.noun(),
            (true, _) => "threads",
            (false, _) => "processes",
        }
    }

    /// The heading above the measurements with this number of processes.
    pub fn head(&self, n: usize, pair: Pair) -> String {
        format!(
            "\tThroughput test with {n} {}\n\tEach {} writes a {} kByte file in {} kByte records\n",
            self.nouns(n),
            self.noun(),
            pair.file / KIB,
            pair.record / KIB
        )
    }

    /// The report: a row for each measured pass, a column for each number of processes, and 0 for a pass that was not measured.
    pub fn report(&self, totals: &[(usize, Pass, f64)], tests: &[Test], units: Units) -> String {
        let mut text = format!(
            "\n\"Throughput report Y-axis is type of test X-axis is number of {}\"\n\"Record size = {} kBytes \"\n\
             \"Output is in {}\"\n\n",
            self.nouns(0),
            units.pair.record / KIB,
            if units.operations { "ops/sec" } else { "kBytes/sec" }
        );
        for kind in KINDS.iter().filter(|kind| tests.contains(&kind.test)) {
            let total = |n: &usize| {
                let found = totals.iter().find(|(count, pass, _)| count == n && *pass == kind.pass);
                format!(" {:>10.2} ", found.map_or(0.0, |(.., total)| *total))
            };
            let values: String = self.counts.iter().map(total).collect();
            text += &format!("\"{:>15} \"{values}\n\n", kind.report);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(each: bool) -> Together {
        Together { counts: vec![2], stonewall: true, each, threads: false, files: Vec::new() }
    }

    const PAIR: Pair = Pair { file: 64 * KIB, record: 4 * KIB };

    #[test]
    fn what_came_behind_the_wall_does_not_count() {
        let took = |ns, operations| Took { ns, operations };
        let wall = Wall { at: 1500, done: vec![16, 7] };
        assert_eq!(by_the_wall(Some(&wall), 0, (500, took(1000, 16))), took(1000, 16));
        assert_eq!(by_the_wall(Some(&wall), 1, (600, took(2000, 16))), took(900, 7));
        assert_eq!(by_the_wall(None, 1, (600, took(2000, 16))), took(2000, 16));
        // It began only when the first was done.
        assert_eq!(by_the_wall(Some(&wall), 1, (1600, took(5, 16))), took(0, 7));
    }

    #[test]
    fn the_lines_are_the_originals() {
        let took = |ns, operations| Took { ns, operations };
        let result =
            Result { children: vec![took(1_000_000_000, 16), took(2_000_000_000, 8)], ns: 2_000_000_000 };
        let units = Units::of(Shown::Throughput, PAIR, 1000);
        let expected = "\n\tChildren see throughput for  2 initial writers \t=      80.00 kB/sec\n\
            \tParent sees throughput for  2 initial writers \t=      48.00 kB/sec\n\
            \tMin throughput per process \t\t\t=      16.00 kB/sec \n\
            \tMax throughput per process \t\t\t=      64.00 kB/sec\n\
            \tAvg throughput per process \t\t\t=      40.00 kB/sec\n\
            \tMin xfer \t\t\t\t\t=      32.00 kB\n\
            \tChild[0] xfer count =      64.00 kB, Throughput =      64.00 kB/sec\n\
            \tChild[1] xfer count =      32.00 kB, Throughput =      16.00 kB/sec\n";
        assert_eq!(result.text(&KINDS[0], units, &together(true)), expected);
        let operations = Units::of(Shown::Operations, PAIR, 1000);
        let text = result.text(&KINDS[3], operations, &together(false));
        assert!(
            text.starts_with("\n\tChildren see throughput for 2 re-readers \t=      20.00 ops/sec\n"),
            "{text}"
        );
        assert!(!text.contains("Child["));
    }

    #[test]
    fn the_report_has_a_column_for_each_count() {
        let together = Together { counts: vec![1, 2], ..together(false) };
        let totals = [(1, Pass::Write, 10.0), (2, Pass::Write, 19.5), (1, Pass::Rewrite, 3.0)];
        let text = together.report(&totals, &[Test::Write], Units::of(Shown::Throughput, PAIR, 1000));
        let expected = "\n\"Throughput report Y-axis is type of test X-axis is number of processes\"\n\
            \"Record size = 4 kBytes \"\n\"Output is in kBytes/sec\"\n\n\
            \"  Initial write \"      10.00       19.50 \n\n\"        Rewrite \"       3.00        0.00 \n\n";
        assert_eq!(text, expected);
        assert_eq!(together.head(1, PAIR).lines().next(), Some("\tThroughput test with 1 process"));
        assert!(
            together.head(2, PAIR).ends_with("\tEach process writes a 64 kByte file in 4 kByte records\n")
        );
    }
}
