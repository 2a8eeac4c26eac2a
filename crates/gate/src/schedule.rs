//! Order and grouping of tests: one on each CPU, the longest first. At the end, tests that need the whole machine run one after
//! another. Each test is a process, but one process runs several short tests of pure functions: starting a thousand processes
//! took two minutes. A test in real time that fails is repeated once at the end, with nothing beside it, and named.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::programs::Case;

/// Modules whose tests measure how much of the machine a trial gets.
const ALONE: [&str; 2] = ["host::interference::", "host::guard::"];

/// A test that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(25 * 60);

/// If more tests than these fail, none is repeated: that is no disturbance by other processes.
const REPEATED: usize = 5;

/// Number of short tests that share a process.
const BATCH: usize = 40;

/// The result of a test.
pub struct Done {
    pub name: String,
    pub passed: bool,
    /// It failed beside other tests and was repeated alone.
    pub repeated: bool,
    pub time: Duration,
    /// Its complete output.
    pub said: String,
}

/// The tests in starting order, by their earlier times. New tests come first, because they may be long.
fn longest_first(mut cases: Vec<Case>, seconds: &BTreeMap<String, f64>) -> Vec<Case> {
    let expected = |case: &Case| match seconds.get(&case.name) {
        Some(seconds) => *seconds,
        // Only slow tests are recorded, and unit tests are not slow.
        None if case.name.starts_with("unit ") => 0.0,
        None => 1.0,
    };
    cases.sort_by(|a, b| expected(b).total_cmp(&expected(a)));
    cases
}

/// Runs all tests, and prints a line for each that fails or takes long.
pub fn run(cases: Vec<Case>, seconds: &BTreeMap<String, f64>) -> Vec<Done> {
    let (alone, together): (Vec<Case>, _) =
        cases.iter().cloned().partition(|case| ALONE.iter().any(|module| case.name.starts_with(module)));
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    let mut done = at_once(batches(longest_first(together, seconds), seconds), lanes);
    done.extend(at_once(alone.into_iter().map(|case| vec![case]).collect(), 1));
    repeat_alone(&mut done, &cases);
    done
}

/// Repeats failed tests in real time, which a busy machine can make fail. Pure functions give the same result each time and are
/// not repeated.
fn repeat_alone(done: &mut [Done], cases: &[Case]) {
    let case = |one: &Done| cases.iter().find(|case| case.name == one.name && !case.is_pure());
    let failed = done.iter_mut().filter(|one| !one.passed);
    let failed: Vec<_> = failed.filter_map(|one| case(one).map(|case| (one, case.clone()))).collect();
    if failed.len() > REPEATED {
        return;
    }
    for (one, case) in failed {
        eprintln!("repeating {} alone", case.name);
        let again = carry_out(vec![case]).remove(0);
        tell(&again);
        *one = Done { repeated: true, ..again };
    }
}

/// The tests of each process. Recorded tests are slow, and each has its own process.
fn batches(cases: Vec<Case>, seconds: &BTreeMap<String, f64>) -> Vec<Vec<Case>> {
    let mut batches: Vec<Vec<Case>> = Vec::new();
    let is_short = |case: &Case| case.is_pure() && !seconds.contains_key(&case.name);
    for case in cases {
        match batches.last_mut() {
            Some(batch)
                if is_short(&case)
                    && batch.len() < BATCH
                    && batch.iter().all(|other| is_short(other) && other.is_beside(&case)) =>
            {
                batch.push(case);
            }
            _ => batches.push(vec![case]),
        }
    }
    batches
}

fn at_once(batches: Vec<Vec<Case>>, lanes: usize) -> Vec<Done> {
    let waiting = Mutex::new(VecDeque::from(batches));
    // A function, because a `while let` would hold the lock during its body.
    let next = || lock(&waiting).pop_front();
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(batch) = next() {
                    let ended = carry_out(batch);
                    ended.iter().for_each(tell);
                    lock(&done).extend(ended);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// If not all tests of a batch passed, each runs again alone, and that result counts.
fn carry_out(batch: Vec<Case>) -> Vec<Done> {
    let begin = Instant::now();
    let (passed, said) = match output(&batch) {
        // A program that does not know the test also ends with success.
        Ok((status, said)) => (
            status.is_some_and(|status| status.success())
                && said.contains(&format!(" {} passed;", batch.len())),
            said,
        ),
        Err(error) => (false, format!("{error:#}\n")),
    };
    if batch.len() > 1 && !passed {
        return batch.into_iter().flat_map(|case| carry_out(vec![case])).collect();
    }
    let whole = begin.elapsed();
    let one = |case: Case| {
        let time = said.lines().find_map(|line| case.time(line)).unwrap_or(whole);
        Done { name: case.name, passed, repeated: false, time, said: said.clone() }
    };
    batch.into_iter().map(one).collect()
}

/// `None` for a test that was killed because it did not end. Its output goes into a file, because processes that a test leaves
/// running would keep a pipe open.
fn output(batch: &[Case]) -> Result<(Option<ExitStatus>, String)> {
    let mut file = unnamed().context("could not create a file for the output of a test")?;
    let mut command = Case::command(batch).context("there is no test to run")?;
    command.stdin(std::process::Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let mut child =
        command.process_group(0).spawn().with_context(|| format!("could not start {}", batch[0].name))?;
    let status = wait(&mut child)?;
    if status.is_none() {
        writeln!(file, "the test was killed after {} minutes", LONGEST.as_secs() / 60)?;
    }
    let mut said = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut said)?;
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

/// An unnamed file below the target folder.
fn unnamed() -> std::io::Result<File> {
    let path = std::env::temp_dir().join(format!(
        "fsderby-gate-{}-{:?}",
        std::process::id(),
        thread::current().id()
    ));
    let file = File::options().read(true).append(true).create_new(true).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

fn wait(child: &mut Child) -> Result<Option<ExitStatus>> {
    let begin = Instant::now();
    // Most tests take milliseconds.
    let mut pause = Duration::from_millis(1);
    while begin.elapsed() < LONGEST {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Prints slow and failed tests at once.
fn tell(done: &Done) {
    let seconds = done.time.as_secs_f64();
    if !done.passed {
        eprintln!("FAILED {} ({seconds:.1} s)\n{}", done.name, done.said);
    } else if seconds >= 5.0 {
        eprintln!("{seconds:7.1} s  {}", done.name);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn script(folder: &Path, name: &str, lines: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{lines}")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_longest_begins_first_and_unit_tests_end_the_list() {
        let cases = ["unit a::short", "b::new", "c::long"].map(|name| Case::made_up(name, Path::new("true")));
        let order = longest_first(cases.to_vec(), &BTreeMap::from([("c::long".to_owned(), 9.0)]));
        assert_eq!(
            order.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
            ["c::long", "b::new", "unit a::short"]
        );
    }

    /// Each of the two ends well only after the other has begun.
    #[test]
    fn two_lanes_run_two_tests_at_the_same_time() {
        let folder = tempfile::tempdir().unwrap();
        let lines = format!(
            "cd {}\ntouch begun-$1\nfor _ in $(seq 500); do\n[ -e begun-a ] && [ -e begun-b ] && echo ' 1 passed;' && exit\n\
             sleep 0.02\ndone\nexit 1\n",
            folder.path().display()
        );
        let program = script(folder.path(), "waits-for-the-other", &lines);
        let cases = ["x::a", "x::b"].map(|name| Case::made_up(name, &program));
        let done = at_once(cases.map(|case| vec![case]).into(), 2);
        assert!(done.iter().all(|one| one.passed) && done.len() == 2);
    }

    #[test]
    fn a_test_that_fails_or_cannot_be_started_did_not_pass() {
        let folder = tempfile::tempdir().unwrap();
        let shell =
            script(folder.path(), "says", "echo 'test result: ok. 1 passed; 0 failed'\n[ $1 = passes ]");
        let ended = |program: &Path, test: &str| {
            carry_out(vec![Case::made_up(&format!("a::{test}"), program)]).remove(0)
        };
        assert!(ended(&shell, "passes").passed);
        assert!(!ended(&shell, "fails").passed);
        assert!(!ended(Path::new("true"), "unknown").passed, "it ran no test");
        let absent = ended(Path::new("/no/such/program"), "b");
        assert!(!absent.passed && absent.said.contains("could not start a::b"), "{}", absent.said);
    }

    #[test]
    fn short_pure_tests_of_one_program_share_a_process() {
        let (one, other) = (Path::new("one"), Path::new("other"));
        let cases = [
            ("host::a", one),
            ("pure::slow", one),
            ("pure::a", one),
            ("pure::b", one),
            ("pure::c", other),
            ("unit x::d", other),
        ];
        let cases = cases.map(|(name, program)| Case::made_up(name, program));
        let batches = batches(cases.to_vec(), &BTreeMap::from([("pure::slow".to_owned(), 9.0)]));
        let names: Vec<Vec<&str>> =
            batches.iter().map(|batch| batch.iter().map(|case| case.name.as_str()).collect()).collect();
        assert_eq!(
            names,
            [vec!["host::a"], vec!["pure::slow"], vec!["pure::a", "pure::b"], vec!["pure::c", "unit x::d"]]
        );
    }

    /// The first of the two tests passes only the second time, the other one never.
    #[test]
    fn what_failed_in_real_time_is_repeated_once_alone_and_a_pure_test_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let lines = format!(
            "[ $1 = never ] && exit 1\nmkdir {}/once || echo ' 1 passed;'\n",
            folder.path().display()
        );
        let program = script(folder.path(), "program", &lines);
        let cases =
            ["host::second", "host::never", "pure::never"].map(|name| Case::made_up(name, &program)).to_vec();
        let mut done: Vec<Done> = cases.iter().flat_map(|case| carry_out(vec![case.clone()])).collect();
        assert!(done.iter().all(|one| !one.passed && !one.repeated));
        repeat_alone(&mut done, &cases);
        let ended: Vec<_> = done.iter().map(|one| (one.passed, one.repeated)).collect();
        assert_eq!(ended, [(true, true), (false, true), (false, false)]);
    }

    #[test]
    fn where_many_fail_none_is_repeated() {
        let names: Vec<String> = (0..=REPEATED).map(|number| format!("host::{number}")).collect();
        let cases: Vec<Case> =
            names.iter().map(|name| Case::made_up(name, Path::new("/no/such/program"))).collect();
        let mut done: Vec<Done> = cases.iter().flat_map(|case| carry_out(vec![case.clone()])).collect();
        repeat_alone(&mut done, &cases);
        assert!(done.iter().all(|one| !one.passed && !one.repeated));
    }

    /// Here the first test ends its process, so that no other of the batch is heard of.
    #[test]
    fn where_a_batch_fails_each_of_its_tests_is_run_alone() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "[ $1 = bad ] && exit 1\n[ $2 = good ] && echo ' 2 passed;' || echo ' 1 passed;'\n";
        let program = script(folder.path(), "program", lines);
        let ended = |tests: [&str; 2]| {
            let batch = tests.map(|test| Case::made_up(&format!("pure::{test}"), &program));
            carry_out(batch.into()).into_iter().map(|done| (done.name, done.passed)).collect::<Vec<_>>()
        };
        let both =
            |first: &str, passed| vec![(format!("pure::{first}"), passed), ("pure::good".to_owned(), true)];
        assert_eq!(ended(["fine", "good"]), both("fine", true));
        assert_eq!(ended(["bad", "good"]), both("bad", false));
    }
}
