//! Candidates that differ in more than the filesystem, on scripted testbeds: nothing here needs root or a disk.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::quiet::Quiet;
use crate::support::scripted::{Scripted, machine};
use fsderby::report::Report;
use fsderby::report::formats;
use fsderby::report::formats::terminal::{self, Detail};
use fsderby::report::view::latency::Latency;
use fsderby::runner::execute::rounds::Runner;
use fsderby::runner::experiment::scaled::{Given, no_longer_tested};
use fsderby::runner::experiment::{Experiment, RoundsAsked, SHIPPED};
use fsderby::runner::experiment::{longer, planned};
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::preflight::skips::skips;
use fsderby::runner::verify::verify;
use fsderby::schema::event::Event;
use fsderby::schema::job::Purpose;
use fsderby::schema::metric::{Metric, WORK};
use fsderby::schema::plan::{Factors, Plan};
use fsderby::schema::reason::{Outcome, Reason};
use fsderby::schema::setup::{ClockKind, Fidelity};
use fsderby::schema::units::{Bytes, MIB};
use fsderby::store::{self, Folder, Run};
use fsderby::testbeds::{Next, Testbed, Testbeds};

const COMMON: &str = r#"
name = "setups"
size = "1g"
memory = "64m"
workloads = ["maildir-quick"]
rounds = 3
seed = 7
"#;

fn plan(more: &str) -> Plan {
    Experiment::parse(&format!("{COMMON}{more}"), "test").unwrap().plan("loop".into(), 1).unwrap()
}

/// Carried out, or gone on with; with a trial's name, Ctrl-C when that begins.
fn carry_out(path: &Path, plan: &Plan, testbeds: &[&Scripted], stop_at: Option<&str>) -> Run {
    let all = Testbeds::all_of(testbeds.iter().map(|testbed| *testbed as &dyn Testbed));
    let mut folder = match path.exists() {
        true => Folder::open(path).unwrap().0,
        false => Folder::create(path, plan, &machine(plan, &all)).unwrap(),
    };
    let before = store::read(path).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    for testbed in testbeds {
        *testbed.interrupt.lock().unwrap() = stop_at.map(|at| (at.to_owned(), stop.clone()));
    }
    let (plan, none, watch) = (&Resolved::of(plan).unwrap(), &[], &mut Quiet);
    Runner { plan, testbeds: &all, folder: &mut folder, skips: none, watch, jobs: 1, stop: &stop }
        .run(&before)
        .unwrap();
    store::read(path).unwrap()
}

/// Two kernels, each in guests of its own.
fn kernels() -> (Plan, [Scripted; 2]) {
    let plan = plan("filesystems = ['ext4', 'xfs']\non = 'vm'\n[cross]\nkernel = ['6.1', '6.12']\n");
    let guests =
        [Scripted::guests("vm:kernel=6.1", "6.1.0-56"), Scripted::guests("vm:kernel=6.12", "6.12.117")];
    (plan, guests)
}

#[test]
fn every_round_has_every_filesystem_in_every_setup_back_to_back_in_random_order() {
    let (plan, guests) = kernels();
    let labels: Vec<&str> = plan.candidates.iter().map(|c| c.label.as_str()).collect();
    assert_eq!(labels, ["ext4, kernel 6.1", "ext4, kernel 6.12", "xfs, kernel 6.1", "xfs, kernel 6.12"]);
    let folder = tempfile::tempdir().unwrap();
    let run = carry_out(&folder.path().join("run"), &plan, &guests.each_ref(), None);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    assert_eq!(run.records.len(), 4 * (1 + 3));
    for record in &run.records {
        let kernel = if record.filesystem.ends_with("6.12") { "6.12.117" } else { "6.1.0-56" };
        assert_eq!((record.outcome, record.kernel.as_str()), (Outcome::Done, kernel), "{}", record.trial);
        assert_eq!(run.machine.setup(&record.setup).map(|setup| setup.kernel.as_str()), Some(kernel));
    }
    let kernels = |round: u32| {
        let of_round = run.records.iter().filter(|r| r.round == round);
        of_round.map(|r| r.kernel.as_str()).collect::<Vec<_>>()
    };
    let in_blocks = |order: &[&str]| order[0] == order[1] && order[2] == order[3];
    assert!((1..=3).any(|round| !in_blocks(&kernels(round))), "kernels take turns within a round");
    for (testbed, kernel) in guests.iter().zip(["6.1", "6.12"]) {
        let launched = testbed.launched.lock().unwrap();
        assert!(
            launched.len() == 8 && launched.iter().all(|trial| trial.ends_with(&format!("kernel {kernel}")))
        );
    }
}

#[test]
fn a_guest_on_another_kernel_than_its_candidates_voids_its_trial() {
    let (plan, [old, new]) = kernels();
    let old = Scripted {
        alter: Box::new(|_, mut events| {
            for next in &mut events {
                if let Next::Event(stamped) = next
                    && let Event::Hello { kernel, .. } = &mut stamped.event
                {
                    *kernel = "6.12.117".into();
                }
            }
            events
        }),
        ..old
    };
    let folder = tempfile::tempdir().unwrap();
    let run = carry_out(&folder.path().join("run"), &plan, &[&old, &new], None);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    let of_old = run.records.iter().filter(|r| r.setup == "vm:kernel=6.1");
    let (asked, seen) = ("6.1.0-56".to_owned(), "6.12.117".to_owned());
    let reason = Reason::OtherKernel { asked, seen };
    assert!(of_old.clone().count() > 0 && of_old.clone().all(|r| r.reason.as_ref() == Some(&reason)));
    assert!(run.records.iter().filter(|r| r.setup == "vm:kernel=6.12").all(|r| r.outcome == Outcome::Done));
}

#[test]
fn a_record_that_names_another_kernel_or_setup_than_its_own_is_found() {
    let (plan, guests) = kernels();
    let folder = tempfile::tempdir().unwrap();
    let run = carry_out(&folder.path().join("run"), &plan, &guests.each_ref(), None);
    let found = |change: &dyn Fn(&mut Run)| {
        let mut run = Run {
            records: run.records.clone(),
            machine: run.machine.clone(),
            ..store::read(&run.folder).unwrap()
        };
        change(&mut run);
        verify(&run).wrong.join("\n")
    };
    assert_eq!(found(&|_| {}), "");
    assert!(found(&|run| run.records[5].kernel = "6.6".into()).contains("the trial ran on kernel 6.6"));
    assert!(
        found(&|run| run.records[5].setup = "vm".into())
            .contains("the trial's setup differs from the plan's")
    );
    assert!(found(&|run| run.machine.setups.clear()).contains("is not in machine.json"));
    assert!(
        found(&|run| run.records[5].cpus = Some(4))
            .contains("the trial's number of CPUs differs from the plan's")
    );
}

#[test]
fn an_interrupted_round_is_repeated_whole_on_all_its_testbeds() {
    let (plan, guests) = kernels();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let third = plan.round(2).nth(2).unwrap().name();
    let run = carry_out(&path, &plan, &guests.each_ref(), Some(&third));
    assert!(run.records.iter().any(|r| r.reason == Some(Reason::Interrupted)));
    let run = carry_out(&path, &plan, &guests.each_ref(), None);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    let attempts = run.records.iter().filter(|r| r.round == 2).map(|r| r.attempt).max();
    assert_eq!(attempts, Some(2));
    assert!(run.current().iter().all(|r| r.outcome == Outcome::Done));
}

#[test]
fn a_stored_plan_with_setups_expands_to_the_very_same_plan() {
    for more in [
        "filesystems = ['ext4', 'xfs']\n[cross]\nkernel = ['6.1', '6.12']\nmemory = ['64m', '1g']\n",
        "filesystems = ['ext4']\n[cross]\non = ['vm', 'model:hdd-16tb', 'loop']\n",
        "[[filesystem]]\nkind = 'ext4'\nlabel = 'a'\ncpus = 2\non = 'vm'\n[[filesystem]]\nkind = 'xfs'\nmemory = '1g'\n",
    ] {
        let plan = plan(more);
        let text = toml::to_string(&plan).unwrap();
        let again: Plan = toml::from_str(&text).unwrap();
        assert_eq!(again, plan, "{text}");
        let experiment = Experiment::try_from(plan.clone()).unwrap();
        assert_eq!(experiment.plan(plan.testbed.clone(), 1).unwrap(), plan, "{text}");
        let folder = tempfile::tempdir().unwrap();
        drop(Folder::create(&folder.path().join("run"), &plan, &Default::default()).unwrap());
        let run = planned::judged(store::read(&folder.path().join("run")).unwrap());
        assert_eq!(run.damage, Vec::<String>::new());
    }
}

#[test]
fn what_all_candidates_state_is_the_plans_and_one_value_changes_no_label() {
    let one = plan("filesystems = ['ext4', 'xfs']\n[cross]\nkernel = ['6.1']\ncpus = [2]\n");
    assert_eq!((one.testbed.as_str(), one.cpus), ("vm:kernel=6.1", Some(2)));
    assert!(one.candidates.iter().all(|c| c.own == Factors::default() && c.label == c.kind));
    let two = plan("filesystems = ['ext4']\n[cross]\nmemory = ['64m', '1g']\n");
    assert_eq!(two.memory, Some(Bytes(64 * MIB)));
    let memories: Vec<_> = two.candidates.iter().map(|c| two.setup(c).memory).collect();
    assert_eq!(memories, [Some(Bytes(64 * MIB)), Some(Bytes(1024 * MIB))]);
}

/// A report says once what is common, shows what differs, and says what it does not compare.
#[test]
fn a_report_shows_what_differs_and_says_what_it_does_not_compare() {
    let folder = tempfile::tempdir().unwrap();
    let (two, guests) = kernels();
    let run = carry_out(&folder.path().join("kernels"), &two, &guests.each_ref(), None);
    let text = |run: &Run| terminal::text(&Report::of(run), 80, Detail::Glance);
    let shown = text(&run);
    for words in ["Differences between the candidates", "vm:kernel=6.12", "6.12.117", "6.1.0-56"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("differ in testbed and kernel. All have: volume 1 GiB"), "{flat}");
    assert!(!flat.contains("Times come from"), "{flat}");

    let mixed = plan("filesystems = ['ext4']\n[cross]\non = ['loop', 'vm']\n");
    let guest = Scripted::guests("vm", "6.12.117");
    let emulated = Scripted {
        traits: fsderby::testbeds::TestbedTraits { fidelity: Fidelity::VmEmulated, ..guest.traits },
        ..guest
    };
    let run = carry_out(&folder.path().join("mixed"), &mixed, &[&Scripted::well(), &emulated], None);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    assert!(run.records.iter().any(|r| r.clock == ClockKind::Guest));
    let report = Report::of(&run);
    let apart = report.summary.setups.apart.join(" ");
    assert!(
        apart.contains("Times come from 2 clocks: the guest's (“ext4, on vm”); the host's (“ext4, on loop”)"),
        "{apart}"
    );
    assert!(apart.contains("No times are reported for “ext4, on vm”"), "{apart}");
    let headline = report.summary.workloads[0].headlines()[0];
    let n = |label: &str| headline.cells.iter().find(|c| c.filesystem == label).map(|c| c.n);
    assert_eq!((n("ext4, on loop"), n("ext4, on vm")), (Some(3), Some(0)));

    let report = Report::of(&run);
    let written = |name: &str| {
        let format = formats::TABLE.iter().find(|format| format.name() == name).unwrap();
        let mut text = Vec::new();
        format.write(&report, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let csv = written("csv-trials");
    assert!(
        csv.lines().any(|line| line.contains(",vm,vm,6.12.117,")) && csv.contains(",loop,loop,6.0,"),
        "{csv}"
    );
    for text in [written("html"), written("markdown"), written("json")] {
        assert!(text.contains("No times are reported for") && text.contains("6.12.117"), "{text}");
    }

    let alike = plan("filesystems = ['ext4', 'xfs']\n");
    let run = carry_out(&folder.path().join("alike"), &alike, &[&Scripted::well()], None);
    assert!(!text(&run).contains("Differences"));
}

#[test]
fn works_of_one_trial_are_told_apart_by_name_and_what_is_not_measured_gives_no_figure() {
    let stages = "[{ work = 'maildir-quick', measured = false }, { work = 'postmark-quick' }, 'remount', { work = 'maildir-quick' }]";
    let plan = plan(&format!(
        "filesystems = ['ext4', 'xfs']\n[[workload]]\nset = 'postmark-quick'\n[[scenario]]\nlabel = 'three'\nstages = {stages}\n"
    ));
    let folder = tempfile::tempdir().unwrap();
    let run = carry_out(&folder.path().join("run"), &plan, &[&Scripted::well()], None);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    let record = run.records.iter().find(|r| r.round == 1).unwrap();
    let rate = |work: &str| {
        let of =
            |m: &&Metric| m.name == "transactions.rate" && m.dimensions.get(WORK).is_some_and(|w| w == work);
        record.metrics.iter().filter(of).count()
    };
    assert_eq!((rate("maildir-quick"), rate("postmark-quick"), rate("maildir-quick (2)")), (0, 1, 1));
    let histograms = run.histograms(record).unwrap();
    let of = |of| histograms.iter().filter(|h| h.of == Some(of) && h.phase == "create").count();
    assert!(of(0) > 0 && of(1) > 0 && of(2) == of(0), "each work has its own");
    let report = Report::of(&run);
    let of = |latency: &Latency| format!("{}, {}", latency.work, latency.phase);
    let phases: BTreeSet<String> = report.summary.workloads[0].latencies.iter().map(of).collect();
    assert!(phases.contains("postmark-quick, create") && phases.contains("maildir-quick (2), create"));
    let is_measured = |phase: &String| !phase.starts_with(", ") && !phase.starts_with("maildir-quick, ");
    assert!(phases.iter().all(is_measured), "{phases:?}");
}

/// With this scale of the command line over it.
fn at_scale(keys: &str, scale: &str, given: Given) -> Plan {
    let mut experiment = Experiment::parse(keys, "test").unwrap();
    experiment.take_scale(scale.parse().unwrap(), given).unwrap();
    experiment.plan("loop".into(), 1).unwrap()
}

const LARGE: &str = "name = 'large'\nsize = '8g'\nmemory = '512m'\nfilesystems = ['ext4', 'xfs']\nworkloads = ['mail-spool']\n";

#[test]
fn memory_follows_a_scale_down_to_what_a_trial_needs_and_then_the_plan_says_what_is_lost() {
    let memory = |scale| at_scale(LARGE, scale, Given::default()).memory;
    assert_eq!(["1/2", "1/8", "1/16"].map(memory), [256, 64, 32].map(|n| Some(Bytes(n * MIB))));
    assert_eq!(memory("2"), Some(Bytes(512 * MIB)), "a larger one changes the work alone");
    let floored = at_scale(LARGE, "1/40", Given::default());
    assert_eq!(floored.memory, Some(Bytes(19 * MIB)));
    let said = no_longer_tested(&floored).join(" ");
    assert!(said.contains("of memory, but has 19 MiB, the least that it needs."), "{said}");
    assert!(said.contains("--scale 1/27 or larger avoids this"), "{said}");
    assert!(no_longer_tested(&at_scale(LARGE, "1/26", Given::default())).is_empty());
    let given = at_scale(LARGE, "1/40", Given { memory: true, size: false });
    assert_eq!(
        (given.memory, no_longer_tested(&given).len()),
        (Some(Bytes(512 * MIB)), 0),
        "as it was given"
    );
}

/// The characters that content is taken from are as many as the largest file has; records are buffers.
#[test]
fn what_the_works_own_process_keeps_stays_beside_the_page_cache() {
    let of = |set: &str| {
        let keys = LARGE.replace("mail-spool", set).replace("8g", "64g");
        at_scale(&keys, "1/64", Given::default()).memory.unwrap().0 / MIB
    };
    let [small, boxes, records] = ["mail-spool", "mbox-2002-1", "provao-iozone"].map(of);
    assert!(
        small < 20 && (100..512).contains(&boxes) && (96..512).contains(&records),
        "{small} {boxes} {records}"
    );
    let four = format!("clients = 4\n{LARGE}");
    assert!(
        at_scale(&four, "1/64", Given::default()).memory.unwrap().0 / MIB > small,
        "each client has its own"
    );
}

#[test]
fn a_share_that_is_taken_stays_and_the_volume_follows_the_scale_down_to_what_its_kinds_need() {
    let of = |state: &str, scale: &str, given: Given| {
        let plan = at_scale(&format!("state = '{state}'\n{LARGE}"), scale, given);
        (plan.size.0 / MIB, plan.state.clone().unwrap_or_default(), no_longer_tested(&plan))
    };
    let none = Given::default();
    let (size, state, lost) = of("filled 40%", "1/8", none);
    assert_eq!((size, state.as_str(), lost), (1024, "filled 40%", Vec::new()));
    let (size, state, _) = of("aged by postmark-quick", "1/8", none);
    assert_eq!((size, state.as_str()), (1024, "aged by postmark-quick at 1/8"));
    assert_eq!(
        of("allocated 80%", "1/8", none).0,
        8192,
        "its files cost nothing, and its distances are the question"
    );
    assert_eq!(of("fresh", "1/8", none).0, 8192);
    assert_eq!(of("filled 40%", "1/8", Given { size: true, memory: false }).0, 8192);
    let (size, _, lost) = of("filled 40%", "1/25", none);
    assert!(
        size == 512 && lost[0].contains("At scale 1/25 the volume should have 328 MiB, but has 512 MiB"),
        "{size} {lost:?}"
    );
    assert!(lost[0].contains("--scale 1/16 or larger avoids this"), "{lost:?}");
}

/// What the volume of a scaled experiment must hold is scaled with it.
#[test]
fn every_ready_experiment_with_a_state_still_fits_its_volume_at_a_scale() {
    let mut filled = 0;
    for (name, text) in SHIPPED {
        let own = Experiment::parse(text, name).unwrap();
        if own.state.is_none() {
            continue;
        }
        for scale in ["1/2", "1/8", "1/16", "1/64"] {
            let mut experiment = own.clone();
            experiment.take_scale(scale.parse().unwrap(), Given::default()).unwrap();
            experiment
                .filesystem
                .retain(|entry| ["ext4", "xfs", "ext3-ordered"].contains(&entry.kind.as_str()));
            let plan = experiment.plan("loop".into(), 1).unwrap();
            let testbed = Scripted::well();
            let skips = skips(&Resolved::of(&plan).unwrap(), &Testbeds::one(&testbed));
            let reasons: Vec<&str> = skips.iter().map(|skip| skip.reason.as_str()).collect();
            assert!(
                reasons.iter().all(|reason| !reason.contains("too much for")),
                "{name} at {scale}: {reasons:?}"
            );
            filled += 1;
        }
    }
    assert!(filled > 8, "{filled}");
}

#[test]
fn factors_that_are_compared_are_scaled_too_and_are_refused_where_they_become_one() {
    let crossed = LARGE.replace("memory = '512m'\n", "") + "[cross]\nmemory = ['64m', '512m']\n";
    let plan = at_scale(&crossed, "1/2", Given::default());
    let memories: Vec<u64> = plan.candidates.iter().map(|c| plan.setup(c).memory.unwrap().0 / MIB).collect();
    assert_eq!(memories[..4], [32, 256, 32, 256]);
    assert!(plan.candidates[0].label.ends_with("memory 32m"), "{}", plan.candidates[0].label);
    let refused =
        Experiment::parse(&crossed, "test").unwrap().take_scale("1/64".parse().unwrap(), Given::default());
    assert!(refused.unwrap_err().what.contains("two of the compared memory sizes are 19 MiB"));
    let own = LARGE.replace("filesystems = ['ext4', 'xfs']\n", "")
        + "[[filesystem]]\nkind = 'xfs'\nmemory = '1g'\n";
    assert_eq!(at_scale(&own, "1/4", Given::default()).memory, Some(Bytes(256 * MIB)));
}

#[test]
fn a_files_own_scale_stands_beside_its_own_memory_and_another_one_is_taken_from_there() {
    let own = format!("scale = '1/4'\n{LARGE}");
    let as_it_is = Experiment::parse(&own, "test").unwrap().plan("loop".into(), 1).unwrap();
    assert_eq!(as_it_is.memory, Some(Bytes(512 * MIB)));
    assert_eq!(at_scale(&own, "1/8", Given::default()).memory, Some(Bytes(256 * MIB)));
    assert_eq!(at_scale(&own, "1/4", Given::default()), as_it_is);
}

/// Published figures and claims belong to work that has exactly the parameters of its set.
#[test]
fn a_scale_of_one_leaves_all_work_as_it_is() {
    for (name, text) in SHIPPED {
        let plain = Experiment::parse(text, name).unwrap();
        if plain.scale.is_none() {
            let mut whole = plain.clone();
            whole.take_scale("1".parse().unwrap(), Given::default()).unwrap();
            let works = |experiment: Experiment| experiment.plan("loop".into(), 1).unwrap().workloads;
            assert_eq!(works(whole), works(plain), "{name}");
        }
    }
}

/// It is stored with the plan, so that the report says it too, and a plan read back has it.
#[test]
fn what_a_scaled_plan_no_longer_tests_is_said_by_its_report() {
    let small = LARGE.replace("mail-spool", "maildir-quick").replace("8g", "1g") + "rounds = 3\n";
    let plan = at_scale(&small, "1/64", Given::default());
    let folder = tempfile::tempdir().unwrap();
    let run = carry_out(&folder.path().join("run"), &plan, &[&Scripted::well()], None);
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    let experiment = Experiment::try_from(run.plan.clone()).unwrap();
    assert_eq!(experiment.plan("loop".into(), 1).unwrap(), plan);
    let report = Report::of(&run);
    let said = |texts: &[String]| {
        texts
            .iter()
            .any(|text| text.contains("At scale 1/64 a trial should have 8 MiB of memory, but has 19 MiB"))
    };
    assert!(said(&report.summary.heading.warnings), "{:?}", report.summary.heading.warnings);
    let shown = terminal::text(&report, 80, Detail::Glance).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("At scale 1/64 a trial should have 8 MiB of memory"), "{shown}");
}

/// Of a ready experiment, once and on a scripted loop.
fn once(name: &str, change: impl FnOnce(&mut Experiment)) -> (tempfile::TempDir, Run) {
    let own = Experiment::load(name).unwrap();
    let mut experiment = own.clone();
    (experiment.rounds, experiment.budget) = (Some(RoundsAsked::Exactly(1)), None);
    change(&mut experiment);
    let plan = experiment.told_from(&own).plan("loop".into(), 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = carry_out(&folder.path().join("run"), &plan, &[&Scripted::well()], None);
    (folder, run)
}

/// What its trials took, were its work written at 100 MiB a second. A scripted run takes no time of its own.
fn at_100_mib_a_second(run: &Run) -> Duration {
    let phases = run.records.iter().filter(|r| r.purpose == Purpose::Measure).flat_map(|r| r.phases());
    let bytes: u64 = phases.map(|phase| phase.count("bytes_written")).sum();
    Duration::from_nanos(bytes * 1_000_000_000 / (100 * MIB))
}

#[test]
fn where_all_work_was_short_the_run_that_gives_a_verdict_is_named_with_its_minutes() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let (_folder, run) = once("quick", |_| {});
    assert!(longer::is_due(&run), "no commit interval is outlived");
    let next = longer::after(&run, at_100_mib_a_second(&run)).unwrap();
    assert_eq!((next.command.as_str(), next.minutes), ("fsderby run mailserver", 70));
    let slower = longer::after(&run, 3 * at_100_mib_a_second(&run)).unwrap();
    assert_eq!(slower.minutes, 210, "at a third of the pace");
    assert_eq!(longer::after(&run, Duration::ZERO), None, "no pace is known");
    let (_folder, run) = once("quick", |quick| quick.take_filesystems(&names(&["ext4", "jfs"]), &[]));
    let two = longer::after(&run, at_100_mib_a_second(&run)).unwrap();
    assert_eq!(
        (two.command.as_str(), two.minutes),
        ("fsderby run mailserver --filesystems ext4,jfs", 30),
        "of seven candidates three, one of them the copy"
    );
    let typed = ["ext4 label=\"no atime\" mount=noatime", "ext4"];
    let (_folder, run) = once("quick", |quick| {
        quick.take_filesystems(&[], &typed.map(|text| text.parse().unwrap()));
    });
    let options = longer::after(&run, at_100_mib_a_second(&run)).unwrap();
    assert_eq!(
        (options.command.as_str(), options.minutes),
        ("fsderby run mailserver --filesystem 'ext4 label=\"no atime\" mount=noatime' --filesystem ext4", 30),
        "candidates with options stay as they are"
    );
    let eighth = |of: &mut Experiment| of.take_scale("1/8".parse().unwrap(), Given::default()).unwrap();
    let (_folder, run) = once("fileserver", eighth);
    let full = longer::after(&run, at_100_mib_a_second(&run)).unwrap();
    assert_eq!(
        (full.command.as_str(), full.minutes),
        ("fsderby run fileserver", 108),
        "the same at its full size"
    );
}

#[test]
fn of_a_guest_the_boot_is_not_taken_for_the_pace_of_its_work() {
    let (_folder, mut run) = once("quick", |_| {});
    run.records.iter_mut().for_each(|record| record.fidelity = Fidelity::Model);
    let measured = run.records.iter().filter(|r| r.purpose == Purpose::Measure).count() as u32;
    let minutes = |seconds_each: f64| {
        longer::after(&run, Duration::from_secs_f64(seconds_each) * measured).unwrap().minutes
    };
    assert_eq!(minutes(6.0), minutes(9.0), "most of it is the boot of 5 s, so the usual rate stands in");
    assert!(minutes(3600.0) > 10 * minutes(9.0), "here the work took the time");
}

/// The same from when the trials were begun and how long the host took for each.
#[test]
fn the_pace_is_that_of_the_hosts_time_in_which_trials_went_on() {
    let (_folder, mut run) = once("quick", |_| {});
    let n = run.records.len() as u64;
    for (at, record) in run.records.iter_mut().enumerate() {
        record.circumstances.started = format!("2026-11-21T{:02}:{:02}:00Z", 8 + at / 60, at % 60);
        record.circumstances.host_ns = 30_000_000_000;
    }
    let measured = run.records.iter().filter(|r| r.purpose == Purpose::Measure).count() as u64;
    assert!(0 < measured && measured < n, "integrity checks are none of them");
    assert_eq!(longer::than(&run), longer::after(&run, Duration::from_secs(30 * measured)));
}

#[test]
fn a_kind_that_may_be_absent_decides_no_testbed_and_is_no_mistake() {
    let quick = Experiment::load("quick").unwrap();
    let plan = quick.plan("loop".into(), 1).unwrap();
    assert!(quick.takes_all() && plan.candidates.iter().all(|candidate| quick.is_optional(candidate)));
    let desktop = Experiment::load("desktop").unwrap();
    let plan = desktop.plan("loop".into(), 1).unwrap();
    let optional: Vec<&str> =
        plan.candidates.iter().filter(|c| desktop.is_optional(c)).map(|c| c.label.as_str()).collect();
    assert_eq!((optional, desktop.takes_all()), (vec!["f2fs"], false));
}
