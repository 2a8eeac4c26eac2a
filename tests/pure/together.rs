//! Rounds in virtual time with several trials at a time, on a scripted modelled disk: none waits for the end of another.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::support::scripted::{Scripted, machine};
use fsderby::runner::execute::launch::Tick;
use fsderby::runner::execute::rounds::{Far, Finish, Runner, Watch};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::preflight::skips::Skip;
use fsderby::runner::verify::verify;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::store::{self, Folder, Run};
use fsderby::testbeds::Testbeds;

/// Longer than anything here takes, and what a test that fails takes.
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(50);

fn plan(rounds: u32) -> Plan {
    let text = format!(
        "on = 'model:samsung-870-evo'\nsize = '1g'\nfilesystems = ['ext4']\nworkloads = ['postmark-quick']\n\
         rounds = {rounds}\nseed = 7"
    );
    let experiment = Experiment::parse(&text, "test").unwrap();
    experiment.plan(experiment.on.clone().unwrap(), 7).unwrap()
}

/// Keeps which rounds were told as complete, and how far the run was then.
#[derive(Default)]
struct Recorded {
    rounds: Vec<u32>,
    far: Vec<[u64; 2]>,
}

impl Watch for Recorded {
    fn begins(&mut self, _: &Plan, _: &[Skip]) {}
    fn trial(&mut self, _: &str, _: &Far) {}
    fn tick(&mut self, _: &str, _: Tick) {}
    fn record(&mut self, _: &Record) {}
    fn round(&mut self, round: u32, _: Rounds, far: &Far) {
        self.rounds.push(round);
        self.far.push(far.done);
    }
}

/// Two trials at a time.
fn carry_out(run: &Path, plan: &Plan, testbed: &Scripted, stop: &AtomicBool) -> (Finish, Vec<u32>, Run) {
    let (finish, mut told, run) = told(run, plan, testbed, stop, &[]);
    told.rounds.sort_unstable();
    (finish, told.rounds, run)
}

fn told(
    run: &Path,
    plan: &Plan,
    testbed: &Scripted,
    stop: &AtomicBool,
    skips: &[Skip],
) -> (Finish, Recorded, Run) {
    let testbeds = Testbeds::one(testbed);
    // Programs that other tests start hold the lock until they are executed.
    let open = || {
        (0..100).find_map(|_| {
            Folder::open(run).ok().or_else(|| {
                thread::sleep(SHORT);
                None
            })
        })
    };
    let mut folder = match run.exists() {
        true => open().unwrap().0,
        false => Folder::create(run, plan, &machine(plan, &testbeds)).unwrap(),
    };
    let before = store::read(run).unwrap();
    let mut told = Recorded::default();
    let runner = Runner {
        plan: &Resolved::of(plan).unwrap(),
        testbeds: &testbeds,
        folder: &mut folder,
        skips,
        watch: &mut told,
        jobs: 2,
        stop,
    };
    let finish = runner.run(&before).unwrap();
    let run = store::read(run).unwrap();
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    (finish, told, run)
}

/// The first round's trial is launched only once the second's is, or after a long time.
fn first_waits_for_second(then: impl Fn() + Sync + 'static) -> Scripted {
    let (second, changed) = (Mutex::new(false), Condvar::new());
    let refuse = move |job: &fsderby::schema::job::Job| {
        let begins = |round: &str| job.trial.starts_with(round);
        if begins("r02") {
            *second.lock().unwrap() = true;
            changed.notify_all();
        }
        if begins("r01") {
            let (seen, _) = changed.wait_timeout_while(second.lock().unwrap(), LONG, |seen| !*seen).unwrap();
            if !*seen {
                return Some("the second round waits for the first".to_owned());
            }
            then();
        }
        None
    };
    Scripted { refuse: Box::new(refuse), ..Scripted::on_model("model:samsung-870-evo", |_, _| {}) }
}

#[test]
fn a_round_in_virtual_time_does_not_wait_for_another_and_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plan) = (folder.path().join("run"), plan(4));
    let (finish, told, run) =
        carry_out(&path, &plan, &first_waits_for_second(|| ()), &AtomicBool::new(false));
    assert_eq!(finish, Finish { rounds: 4, interrupted: false });
    assert_eq!(told, [1, 2, 3, 4]);
    assert_eq!(run.records.len(), 5);
    assert!(run.records.iter().all(|record| record.outcome == Outcome::Done && record.attempt == 1));
}

#[test]
fn a_run_that_ended_with_several_rounds_open_verifies_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (path, plan) = (folder.path().join("run"), plan(4));
    let stop = Arc::new(AtomicBool::new(false));
    let pressed = stop.clone();
    let testbed = first_waits_for_second(move || pressed.store(true, Ordering::Relaxed));
    let (finish, told, run) = carry_out(&path, &plan, &testbed, &stop);
    assert!(finish.interrupted && finish.rounds == 0, "the first round was under way: {finish:?}");
    assert!(!told.contains(&1), "{told:?}");
    assert!(run.current().len() < 5);

    let well = Scripted::on_model("model:samsung-870-evo", |_, _| {});
    let (finish, told, run) = carry_out(&path, &plan, &well, &AtomicBool::new(false));
    assert_eq!(finish, Finish { rounds: 4, interrupted: false });
    assert!(told.contains(&1) && told.contains(&4), "{told:?}");
    assert_eq!(run.current().len(), 5);
    assert!(run.current().iter().all(|record| record.outcome == Outcome::Done));
}

/// A skipped filesystem and another shard's trials are not waited for.
#[test]
fn how_far_a_run_is_counts_only_its_own_trials() {
    let folder = tempfile::tempdir().unwrap();
    let well = Scripted::on_model("model:samsung-870-evo", |_, _| {});
    let text = "on = 'model:samsung-870-evo'\nsize = '1g'\nfilesystems = ['ext2', 'ext4']\n\
                workloads = ['postmark-quick']\nrounds = 13\nseed = 7";
    let experiment = Experiment::parse(text, "test").unwrap();
    let skip = Skip {
        filesystem: "ext2".into(),
        scenario: "postmark-quick".into(),
        reason: "none".into(),
        by_experiment: false,
    };
    let sharded = Experiment { shard: Some("2/3".parse().unwrap()), ..experiment.clone() };
    for (name, experiment, skips) in
        [("skip", &experiment, std::slice::from_ref(&skip)), ("shard", &sharded, &[])]
    {
        let plan = experiment.plan(experiment.on.clone().unwrap(), 7).unwrap();
        let (_, told, run) = told(&folder.path().join(name), &plan, &well, &AtomicBool::new(false), skips);
        let records = run.current().len() as u64;
        assert!(
            !told.far.is_empty() && told.far.iter().all(|far| far[1] == records),
            "{name}: {:?}",
            told.far
        );
        assert!(told.far.windows(2).all(|two| two[0][0] < two[1][0]), "{name}: {:?}", told.far);
    }
}
