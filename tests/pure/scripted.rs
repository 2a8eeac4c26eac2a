//! The whole way from a plan to stored records, on a scripted testbed: nothing here needs root or a disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::support::carry::cut;
use crate::support::quiet::Quiet;
use crate::support::scripted::{Scripted, is_integrity, machine};
use fsderby::analysis::metrics;
use fsderby::probes;
use fsderby::report::Report;
use fsderby::report::formats::terminal::{self, Detail};
use fsderby::runner::execute::rounds::{Finish, Runner};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::verify::{rerun, verify};
use fsderby::schema::declared;
use fsderby::schema::event::{Event, Seen};
use fsderby::schema::job::{At, Purpose, StepName};
use fsderby::schema::machine::Machine;
use fsderby::schema::plan::{Candidate, Plan, Rounds};
use fsderby::schema::reason::{Blame, Condition, Held, Loss, Outcome, Reason};
use fsderby::schema::record::Record;
use fsderby::schema::setup::ClockKind;
use fsderby::store::{self, Folder, Run};
use fsderby::testbeds::{Fault, Next, Stamped, Testbed, Testbeds};

const EXPERIMENT: &str = r#"
name = "scripted"
size = "1g"
memory = "64m"
workloads = ["postmark-quick", "maildir-quick"]
filesystems = ["ext2", "ext4", "xfs"]
rounds = 2
seed = 7
"#;

fn plan() -> Plan {
    Experiment::parse(EXPERIMENT, "test").unwrap().plan("loop".into(), 1).unwrap()
}

/// With a trial's name, Ctrl-C when that begins.
fn carry_out(folder: &Path, plan: &Plan, testbed: &Scripted, stop_at: Option<&str>) -> (Finish, Run) {
    let (finish, run) = tried(folder, plan, testbed, stop_at);
    assert_eq!(verify(&run).wrong, Vec::<String>::new(), "whatever happened to an honest run");
    (finish.unwrap(), run)
}

fn tried(
    folder: &Path,
    plan: &Plan,
    testbed: &Scripted,
    stop_at: Option<&str>,
) -> (anyhow::Result<Finish>, Run) {
    tried_on(folder, plan, &[testbed], stop_at)
}

/// On each candidate's own testbed.
fn tried_on(
    folder: &Path,
    plan: &Plan,
    testbeds: &[&Scripted],
    stop_at: Option<&str>,
) -> (anyhow::Result<Finish>, Run) {
    let all = Testbeds::all_of(testbeds.iter().map(|testbed| *testbed as &dyn Testbed));
    let path = folder.join("run");
    let mut folder = match path.exists() {
        true => Folder::open(&path).unwrap().0,
        false => Folder::create(&path, plan, &machine(plan, &all)).unwrap(),
    };
    let before = store::read(&path).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    for testbed in testbeds {
        *testbed.interrupt.lock().unwrap() = stop_at.map(|at| (at.to_owned(), stop.clone()));
    }
    let finish = Runner {
        plan: &Resolved::of(plan).unwrap(),
        testbeds: &all,
        folder: &mut folder,
        skips: &[],
        watch: &mut Quiet,
        jobs: 1,
        stop: &stop,
    }
    .run(&before);
    let run = store::read(&path).unwrap();
    everything_is_declared(&run);
    (finish, run)
}

/// Of [`plan`]: an integrity check for each cell, and its two rounds.
fn all_trials() -> usize {
    let plan = plan();
    plan.integrity_checks().count()
        + (1..=plan.rounds.at_least()).map(|n| plan.round(n).count()).sum::<usize>()
}

/// No metric of any record, whatever was done to the testbed, is one that nobody can explain.
fn everything_is_declared(run: &Run) {
    for record in &run.records {
        let declared = metrics::declared_of(&record.works[0].work.engine);
        for metric in &record.metrics {
            let found = declared::find(&declared, &metric.name);
            let found = found.unwrap_or_else(|| panic!("{}: nobody declares {}", record.trial, metric.name));
            assert_eq!(
                (found.unit, found.of, found.better),
                (metric.unit.as_str(), metric.of, metric.better)
            );
        }
    }
}

/// The run, and its folder for as long as it is kept.
fn compared(testbed: Scripted) -> (tempfile::TempDir, Run) {
    let folder = tempfile::tempdir().unwrap();
    let run = carry_out(folder.path(), &plan(), &testbed, None).1;
    (folder, run)
}

fn outcomes(run: &Run, trial: &str) -> Vec<Outcome> {
    run.records.iter().filter(|r| r.trial == trial).map(|r| r.outcome).collect()
}

#[test]
fn a_good_run_is_proved_measured_and_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let (finish, run) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    assert_eq!(finish, Finish { rounds: 2, interrupted: false });
    assert_eq!(run.records.len(), all_trials(), "an integrity check for each cell and two rounds");
    assert!(
        run.records.iter().all(|r| r.outcome == Outcome::Done),
        "{:?}",
        run.records.iter().map(|r| &r.reason).collect::<Vec<_>>()
    );
    let found = verify(&run);
    assert_eq!(found.wrong, Vec::<String>::new());
    assert!(found.metrics > 300 && found.histograms == 18, "{found:?}");
    let measured = run.records.iter().find(|r| r.purpose == Purpose::Measure).unwrap();
    let rate = measured.metric("transactions.rate").unwrap();
    let ns = measured.phases().find(|p| p.name == "transactions").unwrap().ns;
    assert!((rate.value - 1000.0 / (ns as f64 / 1e9)).abs() < 1e-9 && rate.headline);
}

#[test]
fn two_runs_of_one_seed_take_the_same_order_and_another_seed_another() {
    let names = |plan: &Plan| {
        (1..4).flat_map(|r| plan.round(r).map(|t| t.name()).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(names(&plan()), names(&plan()));
    let other = Plan { plan_seed: 8, ..plan() };
    assert_ne!(names(&plan()), names(&other));
    let first: std::collections::HashSet<_> =
        (1..20).map(|r| plan().round(r).next().unwrap().name()[4..].to_owned()).collect();
    assert_eq!(first.len(), 3, "every filesystem goes first in some round");
}

/// The agent of a guest may say any number.
#[test]
fn a_clock_that_no_machine_has_voids_its_trial() {
    for wrong in [u64::MAX, 1 << 63, i64::MAX as u64] {
        let testbed = Scripted::event(move |job, event| {
            if let Event::Bye { clock_ns, .. } = event
                && is_integrity(job)
            {
                *clock_ns = wrong;
            }
        });
        let (_folder, run) = compared(testbed);
        let checks = run.records.iter().filter(|r| r.purpose == Purpose::Integrity);
        assert!(checks.map(|r| r.outcome).all(|outcome| outcome == Outcome::Void), "{wrong}");
    }
}

/// Whatever a guest counts, its record is judged, computed and shown.
#[test]
fn counters_that_no_machine_has_are_told_as_they_came() {
    let testbed = Scripted::event(|_, event| match event {
        Event::Probe { raw, .. } => raw.values_mut().for_each(|value| *value = u64::MAX),
        Event::Phase(phase) => phase.counts.values_mut().for_each(|count| *count = u64::MAX),
        Event::Stepped(stepped) => (stepped.user_ns, stepped.minflt) = (u64::MAX, u64::MAX),
        Event::Survivors(seen) => (seen.missing, seen.altered) = (u64::MAX, u64::MAX),
        Event::Histogram(latencies) => latencies.buckets.iter_mut().for_each(|(_, count)| *count = u64::MAX),
        _ => {}
    });
    let folder = tempfile::tempdir().unwrap();
    let (_, mut run) = tried(folder.path(), &plan(), &testbed, None);
    assert!(run.records.iter().all(|r| r.phases().all(|p| p.counts.values().all(|n| *n == u64::MAX))));
    // So many of each operation would be more than so many in all.
    let wrong = verify(&run).wrong;
    assert!(
        !wrong.is_empty()
            && wrong
                .iter()
                .all(|what| what.contains("the trial's histograms have a different number of entries"))
    );
    run.records.iter_mut().for_each(|r| r.circumstances.host_ns = u64::MAX);
    let report = Report::of(&run);
    assert!(!terminal::text(&report, 80, Detail::Everything).is_empty());
}

/// One validity check after the other is broken; each voids its trial, which is then repeated twice and no more.
#[test]
fn each_control_that_fails_voids_the_trial_with_its_name() {
    let break_probe = |probe: &'static str, counter: &'static str, value: u64| {
        Scripted::event(move |job, event| {
            if let Event::Probe { name, raw } = event
                && name == probe
                && !is_integrity(job)
            {
                raw.insert(counter.to_owned(), value);
            }
        })
    };
    let cases = [
        ("memory", "r01/postmark-quick/ext4", break_probe("memory", "peak_bytes", 1 << 40)),
        ("flush", "r01/maildir-quick/ext4", break_probe("block_io", "flushes", 0)),
        // Of 900 ms in which a CPU had work.
        ("interference", "r01/postmark-quick/ext4", break_probe("cpu", "machine_steal_ns", 890_000_000)),
        (
            "mount",
            "r01/postmark-quick/ext4",
            Scripted::event(|job, event| {
                if let Event::Mounted(mounted) = event
                    && !is_integrity(job)
                {
                    mounted.fstype = "tmpfs".into();
                }
            }),
        ),
        (
            "clock",
            "r01/postmark-quick/ext4",
            Scripted::event(|job, event| {
                if let Event::Step { clock_ns, .. }
                | Event::Done { clock_ns, .. }
                | Event::Bye { clock_ns, .. } = event
                    && !is_integrity(job)
                {
                    *clock_ns += *clock_ns / 20;
                }
            }),
        ),
    ];
    for (check, trial, testbed) in cases {
        let (_kept, run) = compared(testbed);
        assert_eq!(outcomes(&run, trial), [Outcome::Void; 3], "{check}");
        let record = run.records.iter().find(|r| r.trial == trial).unwrap();
        let broken =
            |reason: &Reason| matches!(reason, Reason::Validity(broken) if broken.name.title() == check);
        assert!(record.reason.as_ref().is_some_and(broken), "{}", record.why());
        assert!(record.validity.iter().any(|c| c.name.title() == check && c.held == Held::No));
        assert!(record.metrics.is_empty(), "a void trial has raw values and no metrics");
        assert_eq!(verify(&run).wrong, Vec::<String>::new());
    }
}

/// The plan's memory is 64 MiB, and ext4 commits every five seconds.
#[test]
fn work_that_is_short_counts_and_is_headed_so() {
    let lasting = |bytes: u64, seconds: u64| {
        Scripted::event(move |_, event| match event {
            Event::Phase(phase) if phase.name == "create" => {
                phase.counts.insert("bytes_written".into(), bytes);
            }
            Event::Stepped(stepped) if stepped.step == StepName::Work => stepped.ns = seconds * 1_000_000_000,
            _ => {}
        })
    };
    let enough = 128 << 20;
    for (bytes, seconds, held) in
        [(enough, 15, Held::Yes), (enough, 14, Held::Label), (60_000_000, 15, Held::Label)]
    {
        let (_kept, run) = compared(lasting(bytes, seconds));
        let of = |r: &&Record| r.filesystem == "ext4" && r.purpose == Purpose::Measure;
        for record in run.records.iter().filter(of) {
            let check = record.validity.iter().find(|c| c.name == Condition::Stationary).unwrap();
            assert_eq!((record.outcome, check.held), (Outcome::Done, held), "{check:?}");
        }
        // The others commit twice a minute at most, so the work as a whole is short each time.
        let report = Report::of(&run);
        let work = &report.summary.workloads[0];
        assert!(
            work.short.contains(if held == Held::Yes {
                "4 of 6 trials are short"
            } else {
                "6 of 6 trials are short"
            }),
            "{}",
            work.short
        );
        let says = if held == Held::Yes { "Some trials of" } else { "the trials are short" };
        assert!(report.summary.heading.warnings.iter().any(|s| s.contains(says)));
        assert!(terminal::text(&report, 80, Detail::Everything).contains("preliminary: "));
    }
}

#[test]
fn caches_that_were_not_dropped_void_a_cold_trial() {
    let folder = tempfile::tempdir().unwrap();
    let warm = Scripted::event(|_, event| {
        if let Event::Seen(Seen::Cold { device_bytes_read, .. }) = event {
            *device_bytes_read = Some(0);
        }
    });
    let plan = Plan { cold: true, ..plan() };
    let (_, run) = carry_out(folder.path(), &plan, &warm, None);
    assert!(
        run.records.iter().all(|r| r.outcome == Outcome::Void && r.why().contains("validity check cold"))
    );
    let (_, run) = carry_out(&folder.path().join("good"), &plan, &Scripted::well(), None);
    assert!(run.records.iter().all(|r| r.outcome == Outcome::Done));
}

#[test]
fn reads_that_do_not_reach_the_device_after_a_cold_start_void_the_trial() {
    let text = EXPERIMENT.replace(r#"["postmark-quick", "maildir-quick"]"#, r#"["coldread-quick"]"#);
    let plan = || Experiment::parse(&text, "test").unwrap().plan("loop".into(), 1).unwrap();
    let reading = |bytes: u64| {
        Scripted::event(move |_, event| match event {
            Event::Probe { name, raw } if name == "block_io" => raw.insert("bytes_read".into(), bytes),
            _ => {}
        })
    };
    // Each part reads 40,000,000 bytes; one in a hundred may be missing.
    for (bytes, outcome) in [(39_500_000, Outcome::Void), (39_700_000, Outcome::Done)] {
        let folder = tempfile::tempdir().unwrap();
        let (_, run) = carry_out(folder.path(), &plan(), &reading(bytes), None);
        for record in run.records.iter().filter(|r| r.purpose == Purpose::Measure) {
            assert_eq!((record.outcome, record.stages.len()), (outcome, 6), "{:?}", record.reason);
            let why = record.why();
            assert!(why.is_empty() || why.starts_with("validity check cold start:"), "{why}");
            assert_eq!(probes::counted(record, "block_io", "bytes_read"), Some(6 * bytes), "the parts' sum");
            assert_eq!(probes::counted(record, "block_io", "volatile_cache"), Some(1), "a state is no sum");
        }
        assert!(run.records.iter().any(|r| r.purpose == Purpose::Measure));
        assert_eq!(verify(&run).wrong, Vec::<String>::new());
    }
}

/// What the host of a guest sees, told before the agent is done.
fn witnessed(probe: &'static str, raw: &'static [(&'static str, u64)]) -> Scripted {
    Scripted::altered(move |_, mut events| {
        let raw = raw.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let event = Event::Probe { name: probe.into(), raw };
        events.insert(events.len() - 2, Next::Event(Stamped { host_ns: 0, event }));
        events
    })
}

#[test]
fn a_host_that_remembers_the_image_or_misses_writes_voids_the_trial() {
    let cached = &[("cached_bytes", 4096)];
    let lost = &[("bytes_written", 4096), ("bytes_read", 1 << 40), ("flushes", 9999)];
    let cold = Plan { cold: true, ..plan() };
    for (plan, testbed, check, outcome, held) in [
        (plan(), witnessed("host_cache", cached), "host cache", Outcome::Done, Held::Label),
        (cold, witnessed("host_cache", cached), "host cache", Outcome::Void, Held::No),
        (plan(), witnessed("host_block_io", lost), "host counters", Outcome::Void, Held::No),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (_, run) = carry_out(folder.path(), &plan, &testbed, None);
        let record = run.records.iter().find(|r| !r.stages.is_empty()).unwrap();
        let found = record.validity.iter().find(|c| c.name.title() == check).map(|c| c.held);
        assert_eq!((record.outcome, found), (outcome, Some(held)), "{:?}", record.reason);
    }
}

#[test]
fn a_lost_event_voids_the_trial_and_a_repeat_may_do_better() {
    let (_kept, run) = compared(Scripted::altered(|job, mut events| {
        if job.attempt == 1 && job.trial == "r01/postmark-quick/xfs" {
            events.insert(4, Next::Damaged("event 4 was due, 5 came".into()));
        }
        events
    }));
    assert_eq!(outcomes(&run, "r01/postmark-quick/xfs"), [Outcome::Void, Outcome::Done]);
    assert_eq!(run.current().len(), all_trials(), "of the two attempts only the last counts");
    let last_of_round = run.records.iter().rposition(|r| r.round == 1).unwrap();
    assert_eq!(
        run.records[last_of_round].trial, "r01/postmark-quick/xfs",
        "repeated at the end of its round"
    );
}

#[test]
fn other_content_than_was_written_is_a_failure_of_the_filesystem() {
    let (_kept, run) = compared(Scripted::event(|job, event| {
        if let Event::Tree(tree) = event
            && tree.at == At::Remounted
            && job.trial.ends_with("/xfs")
        {
            tree.hash = "bb".repeat(32);
        }
    }));
    assert_eq!(outcomes(&run, "integrity/postmark-quick/xfs"), [Outcome::Failed], "not repeated");
    assert!(
        outcomes(&run, "r01/postmark-quick/xfs").is_empty(),
        "what failed its integrity check is not measured"
    );
    assert_eq!(outcomes(&run, "r01/postmark-quick/ext4"), [Outcome::Done], "the others go on");
}

#[test]
fn a_return_to_service_is_timed_and_a_lost_file_is_a_failure_of_the_filesystem() {
    let plan = cut(plan(), "50%");
    let folder = tempfile::tempdir().unwrap();
    let lossy = Scripted::event(|job, event| {
        let Event::Survivors(seen) = event else { return };
        match job.trial.rsplit('/').next() {
            Some("xfs") => seen.missing = 2,
            Some("ext2") => (seen.nameless, seen.names_promised) = (3, false),
            _ => {}
        }
    });
    let (_, run) = carry_out(folder.path(), &plan, &lossy, None);
    let of =
        |name: &str| run.records.iter().find(|r| r.trial == format!("r01/maildir-quick/{name}")).unwrap();
    let value = |name: &str, metric: &str| of(name).metric(metric).map(|m| m.value);
    let parts = ["recovery.repair.time", "recovery.mount.time", "recovery.first_file.time"];
    for name in ["ext4", "ext2"] {
        assert_eq!(of(name).outcome, Outcome::Done, "{:?}", of(name).reason);
        let sum: f64 = parts.iter().filter_map(|part| value(name, part)).sum();
        assert!((value(name, "recovery.time").unwrap() - sum).abs() < 1e-9 && sum > 0.0);
        assert_eq!(value(name, "transactions.rate"), None, "work that was cut short has no rate");
    }
    assert_eq!((value("ext4", parts[0]).is_some(), value("ext2", parts[0]).is_some()), (false, true));
    let held = |name: &str| of(name).validity.iter().find(|c| c.name == Condition::Survivors).unwrap().held;
    assert_eq!((held("ext4"), held("ext2"), held("xfs")), (Held::Yes, Held::Label, Held::No));
    assert_eq!(outcomes(&run, "r01/maildir-quick/xfs"), [Outcome::Failed], "not repeated");
    assert!(of("xfs").why().contains("2 are missing"));
    assert_eq!(
        outcomes(&run, "integrity/maildir-quick/xfs"),
        [Outcome::Done],
        "an integrity check is not cut"
    );
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
}

#[test]
fn a_failed_step_is_one_failed_trial() {
    let (_kept, run) = compared(Scripted::altered(|job, mut events| {
        if job.trial == "r01/postmark-quick/ext2" {
            let failed = Event::Failed {
                step: StepName::Work,
                operation: "write".into(),
                path: "s0/17".into(),
                errno: 28,
                text: "No space left on device".into(),
                blame: Blame::Filesystem,
            };
            events.truncate(12);
            events.push(Next::Event(Stamped { host_ns: 2_000_000_000, event: failed }));
        }
        events
    }));
    let failed = run.records.iter().find(|r| r.outcome != Outcome::Done).unwrap();
    assert_eq!(outcomes(&run, "r01/postmark-quick/ext2"), [Outcome::Failed], "not repeated");
    assert_eq!(failed.why(), "work: write of s0/17 failed: No space left on device");
    assert_eq!(run.current().len(), all_trials());
}

/// A testbed that loses the agent of this trial during its mkfs, with this fault, so many times.
fn losing(trial: &'static str, fault: Option<Fault>, times: u32) -> Scripted {
    let mut testbed = Scripted::altered(move |job, mut events| {
        if job.trial == trial && job.attempt <= times {
            events.truncate(5);
        }
        events
    });
    testbed.fault = Box::new(move |job| fault.clone().filter(|_| job.trial == trial && job.attempt <= times));
    testbed
}

#[test]
fn a_lost_or_hung_agent_says_nothing_of_its_filesystem_and_is_repeated() {
    let trial = "r02/postmark-quick/ext4";
    let hung = Fault::Hung("the guest hung: no output for 480 s".into());
    let killed = Fault::Lost("QEMU exited: signal: 9 (SIGKILL)".into());
    for (fault, is_expected) in [
        (None, (|reason| matches!(reason, Reason::LostAgent(_))) as fn(&Reason) -> bool),
        (
            Some(killed),
            |reason| matches!(reason, Reason::LostAgent(Loss { how, .. }) if how.contains("signal: 9")),
        ),
        (
            Some(hung),
            |reason| matches!(reason, Reason::Hung(Loss { during: Some(step), .. }) if *step == StepName::Make),
        ),
    ] {
        let (_kept, run) = compared(losing(trial, fault.clone(), 1));
        assert_eq!(outcomes(&run, trial), [Outcome::Void, Outcome::Done], "{fault:?}");
        let reason = run.records.iter().find_map(|r| r.reason.as_ref()).unwrap();
        assert!(is_expected(reason), "{reason}");
        let (_kept, run) = compared(losing(trial, fault, 9));
        assert_eq!(outcomes(&run, trial), [Outcome::Void; 3], "twice at most");
    }
}

#[test]
fn a_panic_of_the_kernel_that_serves_it_is_a_failure_of_the_filesystem() {
    let trial = "r02/postmark-quick/ext4";
    let panic = Fault::Panic("kernel message in the guest: Kernel panic - not syncing".into());
    let (_kept, run) = compared(losing(trial, Some(panic), 1));
    assert_eq!(outcomes(&run, trial), [Outcome::Failed], "not repeated");
    let reason = run.records.iter().find_map(|r| r.reason.clone()).unwrap();
    assert_eq!(
        reason.to_string(),
        "the agent ended during make: kernel message in the guest: Kernel panic - not syncing"
    );
}

#[test]
fn an_integrity_check_that_lost_its_agent_drops_nobody() {
    let trial = "integrity/postmark-quick/ext4";
    let (_kept, run) = compared(losing(trial, None, 9));
    assert_eq!(outcomes(&run, trial), [Outcome::Void; 3]);
    assert_eq!(outcomes(&run, "r01/postmark-quick/ext4"), [Outcome::Done]);
}

#[test]
fn what_was_tried_thrice_under_the_wrong_conditions_is_not_tried_again_on_resume() {
    let folder = tempfile::tempdir().unwrap();
    let trial = "r01/postmark-quick/ext4";
    let large = Scripted::event(move |job, event| match event {
        Event::Probe { name, raw } if name == "memory" && job.trial == trial => {
            raw.insert("peak_bytes".into(), 1 << 40);
        }
        _ => {}
    });
    carry_out(folder.path(), &plan(), &large, None);
    let (_, run) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    assert_eq!(outcomes(&run, trial), [Outcome::Void; 3]);
}

#[test]
fn an_interrupted_round_is_repeated_whole() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan();
    let second = plan.round(2).nth(1).unwrap().name();
    let (finish, run) = carry_out(folder.path(), &plan, &Scripted::well(), Some(&second));
    assert_eq!(finish, Finish { rounds: 1, interrupted: true });
    let last = run.records.last().unwrap();
    assert_eq!((last.outcome, &last.reason), (Outcome::Void, &Some(Reason::Interrupted)));
    let (finish, run) = carry_out(folder.path(), &plan, &Scripted::well(), None);
    assert_eq!(finish, Finish { rounds: 2, interrupted: false });
    let first = plan.round(2).next().unwrap().name();
    assert_eq!(
        outcomes(&run, &first),
        [Outcome::Done, Outcome::Done],
        "its pair was run before the interruption"
    );
    assert_eq!(run.current().len(), all_trials());
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
}

/// As many rounds as fit into this time, and two at least.
fn within(budget: &str) -> Plan {
    Plan { rounds: Rounds::AtLeast(2), budget: Some(budget.parse().unwrap()), ..plan() }
}

#[test]
fn a_round_that_was_interrupted_is_completed_though_the_budget_is_used_up() {
    let folder = tempfile::tempdir().unwrap();
    let third = plan().round(3).nth(1).unwrap().name();
    let (finish, run) = carry_out(folder.path(), &within("1h"), &Scripted::well(), Some(&third));
    assert_eq!(finish, Finish { rounds: 2, interrupted: true });
    assert!(run.current().iter().any(|r| r.outcome == Outcome::Void));
    let (finish, run) = carry_out(folder.path(), &within("0s"), &Scripted::well(), None);
    assert_eq!(finish, Finish { rounds: 3, interrupted: false });
    assert_eq!(run.current().len(), all_trials() + plan().round(3).count());
    assert!(run.current().iter().all(|r| r.outcome == Outcome::Done));
}

#[test]
fn a_budget_adds_rounds_to_a_run_that_has_its_least() {
    let folder = tempfile::tempdir().unwrap();
    let (finish, _) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    assert_eq!(finish.rounds, 2);
    let fourth = plan().round(4).next().unwrap().name();
    let (finish, _) = carry_out(folder.path(), &within("1h"), &Scripted::well(), Some(&fourth));
    assert_eq!(finish, Finish { rounds: 3, interrupted: true });
}

#[test]
fn a_round_that_most_likely_does_not_fit_into_the_budget_is_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    carry_out(folder.path(), &plan(), &Scripted::well(), None);
    let (finish, run) = carry_out(folder.path(), &within("0s"), &Scripted::well(), None);
    assert_eq!((finish.rounds, run.current().len()), (2, 18));
}

#[test]
fn only_an_unfinished_round_is_repeated_and_those_after_it_stay() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan();
    let lost = plan.round(1).next().unwrap().name();
    let first = lost.clone();
    let loses = Scripted::altered(move |job, mut events| {
        if job.trial == first {
            events.insert(4, Next::Damaged("event 4 was due, 5 came".into()));
        }
        events
    });
    let (_, run) = carry_out(folder.path(), &plan, &loses, None);
    assert_eq!(outcomes(&run, &lost), [Outcome::Void; 3]);
    let (finish, run) = carry_out(folder.path(), &plan, &Scripted::well(), None);
    assert_eq!((finish.rounds, outcomes(&run, &lost).last()), (2, Some(&Outcome::Done)));
    let repeated = |round| plan.round(round).filter(|t| outcomes(&run, &t.name()).len() > 1).count();
    assert_eq!((repeated(1), repeated(2)), (6, 0), "whole, since pairs must not straddle an interruption");
}

#[test]
fn the_command_that_a_look_prints_leads_to_more_than_a_look() {
    let folder = tempfile::tempdir().unwrap();
    let (_, run) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    let next = |run: &Run| Report::of(run).summary.heading.next.map(|next| next.command);
    let command = next(&run).unwrap();
    let rounds = command.rsplit_once("--rounds ").unwrap().1.parse().unwrap();
    let path = run.folder.to_string_lossy().into_owned();
    let resumed = format!("fsderby run --resume {} --rounds {rounds}", shell_words::quote(&path));
    let longer = Plan { rounds: Rounds::Exactly(rounds), ..plan() };
    let (finish, run) = carry_out(folder.path(), &longer, &Scripted::well(), None);
    assert_eq!((command.as_str(), finish.rounds), (resumed.as_str(), rounds));
    // Rounds enough: what is left is longer work, of the same filesystems.
    assert_eq!(next(&run).as_deref(), Some("fsderby run mailserver --filesystems ext2,ext4,xfs"));
}

#[test]
fn what_cannot_be_launched_is_one_void_trial_once_others_were_and_resume_repeats_it() {
    let plan = plan();
    let full = plan.round(1).nth(1).unwrap().name();
    let mut testbed = Scripted::well();
    let refused = full.clone();
    testbed.refuse = Box::new(move |job| (job.trial == refused).then(|| "no space in /var/tmp".to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let (finish, run) = carry_out(folder.path(), &plan, &testbed, None);
    assert_eq!(finish, Finish { rounds: 2, interrupted: false });
    assert_eq!(outcomes(&run, &full), [Outcome::Void; 3]);
    let why = run.records.iter().find(|r| r.trial == full).unwrap().why();
    assert_eq!(why, "the trial could not be launched: no space in /var/tmp");
    assert_eq!(run.current().iter().filter(|r| r.outcome == Outcome::Done).count(), 17);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    let (_, run) = carry_out(folder.path(), &plan, &Scripted::well(), None);
    assert!(run.current().iter().all(|r| r.outcome == Outcome::Done));
}

#[test]
fn a_run_that_can_launch_nothing_ends_with_the_reason() {
    let mut testbed = Scripted::well();
    testbed.refuse = Box::new(|_| Some("no space in /var/tmp".to_owned()));
    let folder = tempfile::tempdir().unwrap();
    let (finish, run) = tried(folder.path(), &plan(), &testbed, None);
    assert!(finish.is_err_and(|e| e.to_string() == "no space in /var/tmp"));
    assert!(run.records.is_empty());
}

/// The folder for latencies becomes a file while the trial runs that is to be stored in it.
#[test]
fn after_a_trial_that_cannot_be_stored_no_other_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan();
    let names: Vec<String> = plan.round(1).map(|t| t.name()).collect();
    let (last, latencies) = (names[2].clone(), folder.path().join("run/histograms"));
    let testbed = Scripted::altered(move |job, events| {
        if job.trial == last {
            std::fs::remove_dir_all(&latencies).unwrap();
            std::fs::write(&latencies, "").unwrap();
        }
        events
    });
    let (finish, _) = tried(folder.path(), &plan, &testbed, None);
    assert!(finish.is_err_and(|e| e.to_string().contains("could not store a trial")));
    assert_eq!(testbed.launched.lock().unwrap().last(), Some(&names[2]));
}

#[test]
fn an_altered_line_is_found_and_a_torn_one_only_noted() {
    let folder = tempfile::tempdir().unwrap();
    let (_, run) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    let path = run.folder.join("trials.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();

    std::fs::write(&path, text.replacen("\"round\":1", "\"round\":2", 1)).unwrap();
    let wrong = verify(&store::read(&run.folder).unwrap()).wrong;
    assert!(wrong.iter().any(|w| w.contains("checksum")), "{wrong:?}");
    assert!(Folder::open(&run.folder).is_err(), "a damaged run is not gone on with");

    let without_a_line: String =
        text.lines().enumerate().filter(|(n, _)| *n != 3).map(|(_, l)| format!("{l}\n")).collect();
    std::fs::write(&path, without_a_line).unwrap();
    let wrong = verify(&store::read(&run.folder).unwrap()).wrong;
    assert!(wrong.iter().any(|w| w.contains("does not continue")), "{wrong:?}");

    std::fs::write(&path, &text[..text.len() - 40]).unwrap();
    let wrong = verify(&store::read(&run.folder).unwrap()).wrong;
    assert!(
        wrong.iter().any(|w| w.contains("was truncated")),
        "a run that has ended loses nothing: {wrong:?}"
    );
    // One that was killed has no seal.
    std::fs::remove_file(run.folder.join("seal.json")).unwrap();
    let torn = store::read(&run.folder).unwrap();
    assert_eq!((torn.torn.len(), torn.damage.len(), torn.records.len()), (1, 0, 17));
    let (finish, run) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    assert_eq!(finish.rounds, 2);
    assert_eq!(run.current().len(), all_trials());
    assert_eq!((run.torn.len(), verify(&run).wrong.len()), (1, 0), "the torn line stays, noted");
}

#[test]
fn labels_that_differ_in_signs_alone_have_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = plan();
    for (candidate, label) in plan.candidates.iter_mut().zip(["日誌", "慢速", "A.b"]) {
        candidate.label = label.into();
    }
    plan.candidates
        .extend(["a_b", "a b"].map(|label| Candidate { label: label.into(), ..plan.candidates[0].clone() }));
    let (_, run) = carry_out(folder.path(), &plan, &Scripted::well(), None);
    let found = verify(&run);
    assert_eq!((found.wrong, found.histograms), (Vec::new(), 2 * 5 * 3));
}

#[test]
fn a_run_that_another_process_writes_to_is_not_even_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let held = Folder::create(&path, &plan(), &Machine::default()).unwrap();
    std::fs::write(path.join("plan.toml"), "half a pl").unwrap();
    let error = Folder::open(&path).unwrap_err().to_string();
    assert!(error.contains("another fsderby is writing to"), "{error}");
    drop(held);
    assert!(Folder::open(&path).unwrap_err().to_string().contains("plan.toml is damaged"));
}

#[test]
fn a_trial_that_was_repeated_is_run_again_only_as_it_counts() {
    let folder = tempfile::tempdir().unwrap();
    let second = plan().round(2).nth(1).unwrap().name();
    carry_out(folder.path(), &plan(), &Scripted::well(), Some(&second));
    let (_, mut run) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    for record in &mut run.records {
        record.clock = ClockKind::Virtual;
        record.provenance.insert("kernel".into(), "00".into());
    }
    assert_eq!(run.records.iter().filter(|r| r.outcome == Outcome::Done).count(), 19);
    assert_eq!(rerun::candidates(&run).len(), all_trials());
    let trial = rerun::named(&run, &second, false).unwrap();
    assert!(trial.trial == second && trial.outcome == Outcome::Done);
    let misspelt = rerun::named(&run, &format!("{second}x"), false).unwrap_err();
    assert!(misspelt.contains(&format!("did you mean '{second}'?")), "{misspelt}");
    run.records.iter_mut().for_each(|record| record.provenance.clear());
    assert!(rerun::named(&run, &second, false).is_err_and(|e| e.contains("not in virtual time")));
    assert!(rerun::named(&run, &second, true).is_err_and(|e| e.contains("it had no guest")));
}

#[test]
fn an_altered_histogram_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (_, run) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    let file = run.folder.join(&run.records[0].histograms[0].path);
    std::fs::write(file, "{}").unwrap();
    assert!(verify(&run).wrong.iter().any(|w| w.contains("was altered")));
}

#[test]
fn a_console_is_kept_whole_and_an_altered_one_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut talks = Scripted::well();
    talks.console = (0..40).map(|n| format!("line {n}")).collect();
    let (_, run) = carry_out(folder.path(), &plan(), &talks, None);
    let kept = run.records.iter().filter(|r| r.outcome == Outcome::Done);
    let paths: Vec<_> = kept.map(|r| run.folder.join(&r.console.as_ref().unwrap().path)).collect();
    let text = std::fs::read_to_string(&paths[3]).unwrap();
    assert_eq!((text.lines().count(), text.lines().last()), (40, Some("line 39")));
    assert_eq!((verify(&run).consoles, verify(&run).wrong.len()), (18, 0));
    std::fs::write(&paths[3], "line 0\n").unwrap();
    assert!(verify(&run).wrong.iter().any(|w| w.contains("was altered")));
}

#[test]
fn a_figure_changed_together_with_its_checksum_is_still_found() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut run) = carry_out(folder.path(), &plan(), &Scripted::well(), None);
    run.records[8].metrics[0].value *= 1.1;
    let wrong = verify(&run).wrong;
    assert!(wrong.iter().any(|w| w.contains("differs from the value that the raw values give")), "{wrong:?}");
}
