//! A copy that is slowed, and nothing else, voids a run: on loop, as root.
//!
//! Nobody who takes part knows which trial is the copy's: this test does, because a plan is a function. While one of the copy's goes
//! on it holds the worker most of the time, as a debugger does: no validity check looks for one.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use crate::support::desk::Desk;
use crate::support::has_loop;
use fsderby::analysis::rounds::VOID_BELOW;
use fsderby::runner::verify::verify;
use fsderby::schema::plan::{Plan, Trial};
use fsderby::schema::reason::Outcome;
use fsderby::store::{self, Run};
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

/// Of every 50 ms the worker has five. On a busy machine single values scatter by half, so less would not be sure to be found.
const HELD: Duration = Duration::from_millis(45);
const GOES_ON: Duration = Duration::from_millis(5);
/// What its work does not feel because it waits for the disk anyway leaves some of that; a copy that is slower by this is slowed.
const SLOWED: f64 = 2.0;
const COPY: &str = "ext4, again";

#[test]
fn a_slowed_copy_voids_a_real_run_and_says_so() {
    if !has_loop("a slowed copy") {
        return;
    }
    let desk = Desk::new();
    let experiment = "name = 'slowed'\nfilesystems = ['ext4', 'ext2']\nworkloads = ['postmark-quick']\nscale = '1/4'\nsize = '64m'\n\
                      rounds = 10\nguard = true\nseed = 1\n";
    desk.file("slowed.toml", experiment);
    let (on, folder) = (desk.testbed(), desk.path("run"));
    let mut command = desk.fsderby(&["run", "slowed.toml", "--on", &on, "--quiet", "--output", "run"]);
    let mut program = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let status = slow_the_copy(&mut program, &folder);
    let run = store::read(&folder).unwrap();
    assert!(status.success(), "{status}: {:?}", run.records.last().map(|record| record.why()));
    assert!(slowed_by(&run) > SLOWED, "the copy took {:.2} times as long", slowed_by(&run));
    let verdict = run.verdict.as_ref().unwrap();
    eprintln!("the copy took {:.1} times as long: {:?}", slowed_by(&run), verdict.guard);
    let guard = verdict.guard.as_ref().unwrap();
    assert!(guard.voids && guard.p.unwrap() < VOID_BELOW && verdict.is_void(), "{guard:?}");
    assert_eq!((guard.of.as_str(), guard.copy.as_str(), guard.rounds), ("ext4", COPY, 10));
    assert_eq!(verify(&run).wrong, Vec::<String>::new(), "it is void, not damaged");
    let said = desk.say(&["report", "run"]);
    assert!(said.out.to_lowercase().contains("void"), "{said:?}");
}

/// Until the program ends.
fn slow_the_copy(program: &mut Child, folder: &Path) -> std::process::ExitStatus {
    let mut known = None;
    loop {
        if let Some(status) = program.try_wait().unwrap() {
            return status;
        }
        let now = worker(program.id());
        if now != known.map(|(worker, _)| worker) {
            known = now.map(|worker| (worker, is_the_copys_turn(folder)));
        }
        if let Some((worker, true)) = known {
            // It may have ended by now.
            let _ = hold(worker);
        }
        sleep(GOES_ON);
    }
}

/// Keeps a process from running for a while. Its parent is not told, as it would be of a signal.
fn hold(process: Pid) -> nix::Result<()> {
    ptrace::seize(process, Options::empty())?;
    ptrace::interrupt(process)?;
    waitpid(process, None)?;
    sleep(HELD);
    ptrace::detach(process, None)
}

/// Whether the trial that comes after those that are stored is the copy's.
fn is_the_copys_turn(folder: &Path) -> bool {
    let Ok(run) = store::read(folder) else { return false };
    let is_stored = |trial: &Trial<'_>| run.records.iter().any(|record| record.trial == trial.name());
    let is_void = |trial: &Trial<'_>| {
        run.current().iter().any(|r| r.trial == trial.name() && r.outcome == Outcome::Void)
    };
    let Some(round) = run.records.last().map(|record| record.round) else { return false };
    let due = |plan: &'_ Plan, round: u32| {
        plan.round(round).find(|t| !is_stored(t)).map(|t| t.candidate.label.clone())
    };
    let again = |plan: &'_ Plan| plan.round(round).find(is_void).map(|t| t.candidate.label.clone());
    // What was void is done again at the end of its round.
    let now = match round {
        0 => (run.records.len() >= run.plan.candidates.len()).then(|| due(&run.plan, 1)).flatten(),
        round => due(&run.plan, round).or_else(|| again(&run.plan)).or_else(|| due(&run.plan, round + 1)),
    };
    now.is_some_and(|label| label == COPY)
}

/// The process below this one that does the work.
fn worker(of: u32) -> Option<Pid> {
    let mut all = vec![of];
    while let Some(pid) = all.pop() {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if words.split(|byte| *byte == 0).nth(1) == Some(b"worker") {
            return Some(Pid::from_raw(pid.cast_signed()));
        }
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    None
}

/// How many times as long the copy took: the geometric mean over the rounds.
fn slowed_by(run: &Run) -> f64 {
    let rate = |round: u32, label: &str| {
        let records = run.current();
        let record = records.iter().find(|r| r.round == round && r.filesystem == label)?;
        record.metrics.iter().find(|metric| metric.headline).map(|metric| metric.value.ln())
    };
    let logs: Vec<f64> =
        (1..=10).filter_map(|round| Some(rate(round, "ext4")? - rate(round, COPY)?)).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}
