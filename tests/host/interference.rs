//! Beside more busy processes than its figures bear a trial is void, and its record says who took its time: on tmpfs, as root.

use std::process::Child;

use crate::support::desk::{Desk, Said};
use crate::support::has_loop;
use fsderby::runner::verify::verify;
use fsderby::schema::job::Purpose;
use fsderby::schema::reason::{Condition, Held, Outcome, Reason};
use fsderby::schema::record::Record;
use fsderby::store;
use fsderby_sys::process::tied_command;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Of so many and the work each gets a thirty-third of the one CPU: 97 % of the work's time is theirs.
const BUSY: usize = 32;

#[test]
fn a_trial_beside_thirty_two_busy_processes_on_one_cpu_is_void() {
    if !has_loop("interference") {
        return;
    }
    stay_on_one_cpu();
    let desk = Desk::new();
    let busy = Busy::new(BUSY);
    let said = carry_out(&desk);
    drop(busy);
    let run = store::read(&desk.path("run")).unwrap_or_else(|e| panic!("{e:#} {said:?}"));
    let measured: Vec<&Record> = run.records.iter().filter(|r| r.purpose == Purpose::Measure).collect();
    assert_eq!((said.code, measured.len()), (4, 3), "repeated twice at most: {said:?}");
    for record in measured {
        assert_eq!(record.outcome, Outcome::Void, "{}", record.why());
        assert!(matches!(record.reason, Some(Reason::Validity(_))), "{}", record.why());
        // It may not be the first that failed: on a busy machine a tick of the clock comes late, too.
        let share = record.validity.iter().find(|check| check.name == Condition::Interference);
        assert_eq!(share.map(|check| check.held), Some(Held::No), "{:?}", record.validity);
        let seen = record.circumstances.interference.as_ref().unwrap();
        let wall_ns = record.circumstances.host_ns;
        assert!(seen.others_ns.is_some_and(|others| others > wall_ns / 2), "{seen:?} of {wall_ns}");
        assert!(record.metrics.is_empty());
    }
    let checks = run.records.iter().filter(|r| r.purpose == Purpose::Integrity);
    let disturbed: Vec<String> =
        checks.clone().filter(|r| r.outcome != Outcome::Done).map(Record::why).collect();
    assert!(
        checks.map(|r| r.outcome).eq([Outcome::Done]),
        "what is not timed cannot be disturbed: {disturbed:?}"
    );
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
}

/// In memory: work that waits for a disk loses that time to nobody.
fn carry_out(desk: &Desk) -> Said {
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let on = format!("directory:{}", memory.path().display());
    let work = [
        "--workloads",
        "postmark-quick",
        "--scale",
        "1/4",
        "--memory",
        "none",
        "--rounds",
        "1",
        "--seed",
        "1",
    ];
    desk.say(&[&["run", "quick", "--on", &on, "--output", "run"][..], &work].concat())
}

/// All that this thread starts, too. So it takes as many processes whatever machine this is.
fn stay_on_one_cpu() {
    let all = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap());
    sched_setaffinity(None, &one).unwrap();
}

/// Processes that never sleep. Each in a session of its own, as a kernel may share its CPUs out by sessions.
struct Busy(Vec<Child>);

impl Busy {
    fn new(n: usize) -> Self {
        let one = |_| tied_command("setsid").args(["sh", "-c", "while :; do :; done"]).spawn().unwrap();
        Busy((0..n).map(one).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
