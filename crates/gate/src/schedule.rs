//! Which test runs when: one on each CPU, the longest first, and at the end, one after another, those that need the machine
//! to themselves.

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

/// Whoever is below one of these modules measures how much of the machine a trial gets.
const ALONE: [&str; 2] = ["host::interference::", "host::guard::"];

/// A test that takes longer has hung.
const LONGEST: Duration = Duration::from_secs(25 * 60);

/// How a test ended.
pub struct Done {
    pub name: String,
    pub passed: bool,
    pub time: Duration,
    /// All that it printed.
    pub said: String,
}

/// The tests in the order in which they are to begin, by the seconds that they took before. What is new comes first: it may be
/// long.
pub fn longest_first(mut cases: Vec<Case>, seconds: &BTreeMap<String, f64>) -> Vec<Case> {
    let expected = |case: &Case| match seconds.get(&case.name) {
        Some(seconds) => *seconds,
        // Only the slow ones are on record; a unit test is none.
        None if case.name.starts_with("unit ") => 0.0,
        None => 1.0,
    };
    cases.sort_by(|a, b| expected(b).total_cmp(&expected(a)));
    cases
}

/// Runs them all, and prints a line for each that fails or takes long.
pub fn run(cases: Vec<Case>) -> Vec<Done> {
    let (alone, together): (Vec<Case>, _) =
        cases.into_iter().partition(|case| ALONE.iter().any(|module| case.name.starts_with(module)));
    let mut done = at_once(together, thread::available_parallelism().map_or(1, usize::from));
    done.extend(at_once(alone, 1));
    done
}

fn at_once(cases: Vec<Case>, lanes: usize) -> Vec<Done> {
    let waiting = Mutex::new(VecDeque::from(cases));
    // A function, as a `while let` would hold the lock for as long as its body.
    let next = || lock(&waiting).pop_front();
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(case) = next() {
                    let one = carry_out(&case);
                    tell(&one);
                    lock(&done).push(one);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn carry_out(case: &Case) -> Done {
    let begin = Instant::now();
    let (passed, said) = match output(case) {
        // A program that does not know the test ends well, too.
        Ok((status, said)) => {
            (status.is_some_and(|status| status.success()) && said.contains(" 1 passed;"), said)
        }
        Err(error) => (false, format!("{error:#}\n")),
    };
    Done { name: case.name.clone(), passed, time: begin.elapsed(), said }
}

/// `None` of a test that was ended because it did not end. What it prints goes into a file: a pipe would be held open by
/// whatever a test leaves running.
fn output(case: &Case) -> Result<(Option<ExitStatus>, String)> {
    let mut file = unnamed().context("could not make a file for what a test prints")?;
    let mut command = case.command();
    command.stdin(std::process::Stdio::null()).stdout(file.try_clone()?).stderr(file.try_clone()?);
    let mut child =
        command.process_group(0).spawn().with_context(|| format!("could not start {}", case.name))?;
    let status = wait(&mut child)?;
    if status.is_none() {
        writeln!(file, "it was ended after {} minutes", LONGEST.as_secs() / 60)?;
    }
    let mut said = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut said)?;
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

/// A file of no name, below the target folder.
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

/// Who watches sees what is slow and what fails at once.
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
        let done = at_once(cases.to_vec(), 2);
        assert!(done.iter().all(|one| one.passed) && done.len() == 2);
    }

    #[test]
    fn a_test_that_fails_or_cannot_be_started_did_not_pass() {
        let folder = tempfile::tempdir().unwrap();
        let shell =
            script(folder.path(), "says", "echo 'test result: ok. 1 passed; 0 failed'\n[ $1 = passes ]");
        let ended = |program: &Path, test: &str| carry_out(&Case::made_up(&format!("a::{test}"), program));
        assert!(ended(&shell, "passes").passed);
        assert!(!ended(&shell, "fails").passed);
        assert!(!ended(Path::new("true"), "unknown").passed, "it ran no test");
        let absent = ended(Path::new("/no/such/program"), "b");
        assert!(!absent.passed && absent.said.contains("could not start a::b"), "{}", absent.said);
    }
}
