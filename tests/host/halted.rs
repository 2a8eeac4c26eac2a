//! A trial whose processes are stopped, frozen or continued in its middle is void, by the name of what happened: real signals and
//! a real freezer, on tmpfs.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fsderby::schema::job::Purpose;
use fsderby::schema::reason::{Condition, Held, Outcome};
use fsderby::schema::record::Record;
use fsderby::store;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::desk::Desk;
use crate::support::{has_loop, skipped};

/// Longer than the second by which the watching thread may oversleep, beside its own sleep.
const LONG: Duration = Duration::from_millis(2500);

/// The first measured trial of a run that `meddle` reached while it worked, given the pids of the whole run, outermost first.
fn meddled(meddle: impl FnOnce(&[Pid])) -> Record {
    let desk = Desk::new();
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let on = format!("directory:{}", memory.path().display());
    let words =
        ["run", "quick", "--on", &on, "--output", "run", "--memory", "none", "--rounds", "1", "--seed", "1"];
    // Seconds of work: on a busy machine a shorter one would be over before it is stopped.
    let work = ["--workloads", "postmark-quick", "--scale", "8/1"];
    let mut run = desk.fsderby(&[&words[..], &work].concat()).spawn().unwrap();
    let own = Pid::from_child(&run);
    let begin = Instant::now();
    let pids = loop {
        // The integrity check's record is stored when its worker is gone.
        let is_measured =
            fs::read_to_string(desk.path("run/trials.jsonl")).is_ok_and(|text| text.lines().count() > 0);
        let below = descendants(own);
        if is_measured && below.iter().any(|pid| is_working(*pid)) {
            break below;
        }
        assert!(
            begin.elapsed() < Duration::from_secs(60) && run.try_wait().unwrap().is_none(),
            "no trial began"
        );
        sleep(Duration::from_millis(5));
    };
    meddle(&[&[own], &pids[..]].concat());
    run.wait().unwrap();
    let records = store::read(&desk.path("run")).unwrap().records;
    records.into_iter().find(|record| record.purpose == Purpose::Measure).unwrap()
}

/// A worker that has files of ours open.
fn is_working(pid: Pid) -> bool {
    let words = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    let is_worker = words.split(|b| *b == 0).any(|word| word == b"worker");
    let ran = fs::read_to_string(format!("/proc/{}/schedstat", pid.as_raw_nonzero())).unwrap_or_default();
    let ran_ns: u64 = ran.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
    is_worker && ran_ns > 60_000_000
}

fn descendants(of: Pid) -> Vec<Pid> {
    let all = procfs::process::all_processes().unwrap().filter_map(|process| process.ok()?.stat().ok());
    let all: Vec<(i32, i32)> = all.map(|stat| (stat.pid, stat.ppid)).collect();
    let mut found = vec![of.as_raw_nonzero().get()];
    let mut at = 0;
    while at < found.len() {
        let above = found[at];
        found.extend(all.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        at += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

fn is_void_because(record: &Record, whys: &[&str]) {
    assert_eq!(record.outcome, Outcome::Void, "{}", record.why());
    let check = record.validity.iter().find(|check| check.name == Condition::Interference).unwrap();
    let is_named = whys.iter().any(|why| check.seen.contains(why));
    assert!(check.held == Held::No && is_named, "{whys:?} in {check:?}");
    assert!(record.metrics.is_empty());
}

fn signal(pids: &[Pid], signal: Signal) {
    for pid in pids {
        kill_process(*pid, signal).unwrap();
    }
}

#[test]
fn all_of_a_run_stopped_for_seconds_is_void() {
    if !has_loop("a stopped run") {
        return;
    }
    let record = meddled(|all| {
        signal(all, Signal::STOP);
        sleep(LONG);
        signal(all, Signal::CONT);
    });
    is_void_because(&record, &["stopped and continued by signals", "stood still for"]);
}

/// However short it was: no sample would show it.
#[test]
fn the_worker_alone_stopped_for_a_moment_is_void() {
    if !has_loop("a stopped worker") {
        return;
    }
    let record = meddled(|all| {
        let worker: Vec<Pid> = all.iter().copied().filter(|pid| is_working(*pid)).collect();
        signal(&worker, Signal::STOP);
        sleep(Duration::from_millis(150));
        signal(&worker, Signal::CONT);
    });
    is_void_because(&record, &["stopped and continued by signals"]);
}

#[test]
fn a_frozen_run_is_void() {
    if !has_loop("a frozen run") {
        return;
    }
    let Some(freezer) = Freezer::new() else {
        return skipped("a frozen run", "no freezer of control groups");
    };
    let record = meddled(|all| {
        all.iter().for_each(|pid| freezer.take(*pid));
        freezer.freeze(true);
        sleep(LONG);
        freezer.freeze(false);
    });
    is_void_because(&record, &["stood still for"]);
}

/// A control group that can be frozen, of version 1 or 2.
struct Freezer(PathBuf);

impl Freezer {
    fn new() -> Option<Self> {
        let name = format!("fsderby-test-{}", std::process::id());
        let roots = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let made = roots
            .iter()
            .map(|root| Path::new(root).join(&name))
            .find(|group| fs::create_dir(group).is_ok())?;
        let freezer = Freezer(made);
        ["freezer.state", "cgroup.freeze"].iter().any(|file| freezer.0.join(file).exists()).then_some(freezer)
    }

    fn take(&self, pid: Pid) {
        fs::write(self.0.join("cgroup.procs"), pid.as_raw_nonzero().to_string()).unwrap();
    }

    fn freeze(&self, is_frozen: bool) {
        let (one, other) = if is_frozen { ("FROZEN", "1") } else { ("THAWED", "0") };
        let written = fs::write(self.0.join("freezer.state"), one);
        written.or_else(|_| fs::write(self.0.join("cgroup.freeze"), other)).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let begin = Instant::now();
        while fs::remove_dir(&self.0).is_err() && begin.elapsed() < Duration::from_secs(5) {
            sleep(Duration::from_millis(20));
        }
    }
}
