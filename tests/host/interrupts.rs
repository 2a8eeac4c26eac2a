//! A run that is stopped, and one whose own processes are: what was measured is kept, nothing else is.

use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::desk::Desk;
use crate::support::{has_loop, is_disturbed};
use fsderby::schema::job::StepName;
use fsderby::schema::reason::{Outcome, Reason};
use fsderby::store::{self, Run};
use rustix::process::{Pid, Signal, kill_process};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run of two filesystems in one round, going on.
struct Going {
    desk: Desk,
    child: Child,
}

impl Going {
    fn new() -> Self {
        let desk = Desk::new();
        let testbed = desk.testbed();
        let words =
            ["run", "quick", "--filesystems", "ext2,ext4", "--workloads", "postmark-quick", "--rounds", "1"];
        let more =
            ["--scale", "1/8", "--size", "64m", "--memory", "16m", "--on", &testbed, "--output", "run"];
        let mut command = desk.fsderby(&[&words[..], &more].concat());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Going { desk, child }
    }

    /// One that has stored this many records and is at work again.
    fn at_work_after(records: usize) -> Self {
        let going = Going::new();
        let begin = Instant::now();
        while going.records() < records || !going.find("worker").is_some_and(has_written) {
            assert!(begin.elapsed() < PATIENCE, "it never came to {records} records");
            std::thread::sleep(Duration::from_millis(2));
        }
        going
    }

    fn records(&self) -> usize {
        fs::read_to_string(self.desk.path("run/trials.jsonl")).map_or(0, |text| text.lines().count())
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// A descendant in this role, the deepest of it.
    fn find(&self, role: &str) -> Option<Pid> {
        let mut found = None;
        let mut parents = vec![self.child.id()];
        while let Some(parent) = parents.pop() {
            for child in children(parent) {
                let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
                if line.split(|b| *b == 0).nth(1) == Some(role.as_bytes()) {
                    found = Pid::from_raw(child.cast_signed());
                }
                parents.push(child);
            }
        }
        found
    }

    fn end(&mut self) -> Option<i32> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.desk.leaves_nothing(self.child.id());
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = self.child.kill();
        panic!("it did not end");
    }

    fn run(&self) -> Run {
        store::read(&self.desk.path("run")).unwrap()
    }

    fn is_completed_by_resume(&self) {
        let said = self.desk.say(&["run", "--resume", "run", "--quiet"]);
        assert_eq!(said.code, 0, "{said:#?}");
        let said = self.desk.say(&["verify", "run"]);
        assert_eq!(said.code, 0, "{said:#?}");
        let run = self.run();
        assert!(run.current().iter().all(|r| r.outcome == Outcome::Done), "{:#?}", run.current());
        assert_eq!(run.current().len(), 4, "two filesystems checked and measured");
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists.flat_map(|l| l.split_whitespace().filter_map(|n| n.parse().ok()).collect::<Vec<_>>()).collect()
}

#[test]
fn the_first_signal_ends_a_run_cleanly() {
    if !has_loop("signals") {
        return;
    }
    for (signal, records) in [(Signal::INT, 0), (Signal::TERM, 2)] {
        let mut going = Going::at_work_after(records);
        going.signal(signal);
        assert_eq!(going.end(), Some(130), "{signal:?}");
        let run = going.run();
        let last = run.records.last().unwrap();
        assert_eq!((last.outcome, &last.reason), (Outcome::Void, &Some(Reason::Interrupted)));
        assert!(going.desk.path("run/report.html").exists());
        going.is_completed_by_resume();
    }
}

/// Two signals of one kind that come before the first is seen are one to the kernel; so a third and a fourth follow.
#[test]
fn the_second_signal_ends_a_run_at_once() {
    if !has_loop("signals") {
        return;
    }
    let mut going = Going::at_work_after(1);
    while going.child.try_wait().unwrap().is_none() {
        going.signal(Signal::INT);
    }
    assert_eq!(going.end(), Some(130));
    assert!(!going.desk.path("run/report.html").exists(), "nothing more was done");
    going.is_completed_by_resume();
}

#[test]
fn a_run_that_aborts_leaves_nothing() {
    if !has_loop("an abort") {
        return;
    }
    let mut going = Going::at_work_after(1);
    going.signal(Signal::ABORT);
    assert_eq!(going.end(), None);
    going.is_completed_by_resume();
}

/// Whether a worker is past its preparation.
fn has_written(worker: Pid) -> bool {
    let text = fs::read_to_string(format!("/proc/{worker}/io")).unwrap_or_default();
    let written = text.lines().find_map(|l| l.strip_prefix("wchar: ")?.parse::<u64>().ok());
    written.is_some_and(|bytes| bytes > 1 << 16)
}

/// One of the run's own processes dies in the first measured trial. Returns how the trials ended that nobody else disturbed, and why
/// that one did.
fn killed(role: impl Fn(&Going) -> Option<Pid>, code: i32) -> (Vec<Outcome>, Reason) {
    let mut going = Going::at_work_after(2);
    kill_process(role(&going).expect("a process in that role"), Signal::KILL).unwrap();
    assert_eq!(going.end(), Some(code));
    let run = going.run();
    assert_eq!(going.desk.say(&["verify", "run"]).code, 0);
    let reason = run.records[2].reason.clone().unwrap();
    (run.records.iter().filter(|r| !is_disturbed(r)).map(|r| r.outcome).collect(), reason)
}

#[test]
fn a_worker_that_is_killed_is_one_failed_trial() {
    if !has_loop("killed workers") {
        return;
    }
    let (outcomes, reason) = killed(|going| going.find("worker"), 4);
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Failed, Outcome::Done], "the run went on");
    let said = reason.to_string();
    assert!(said.contains("work: run of the workload") && said.contains("signal 9"), "{said}");
}

#[test]
fn a_trial_whose_agent_or_supervisor_is_killed_says_nothing_and_is_repeated() {
    if !has_loop("killed agents") {
        return;
    }
    let agent = |going: &Going| going.find("agent");
    let supervisor = |going: &Going| Pid::from_raw(children(going.child.id()).first()?.cast_signed());
    for (found, words) in [killed(agent, 0), killed(supervisor, 0)]
        .into_iter()
        .zip(["killed by signal 9", "the agent's supervisor was killed by signal 9"])
    {
        let (outcomes, reason) = found;
        let [checks @ .., lost, other, again] = &outcomes[..] else { panic!("{outcomes:?}") };
        assert_eq!((checks, lost), (&[Outcome::Done; 2][..], &Outcome::Void), "{reason}");
        assert_eq!((other, again), (&Outcome::Done, &Outcome::Done), "the run went on, and came back to it");
        let Reason::LostAgent(loss) = &reason else { panic!("{reason}") };
        assert_eq!((loss.during, loss.how.as_str()), (Some(StepName::Work), words));
    }
}
