//! Several clients of one work: what each did, what they did together, and what happens when one of them fails.

use std::collections::BTreeMap;
use std::fs;

use crate::support::carry::carry_out;
use crate::support::desk::Desk;
use crate::support::forger::Forger;
use crate::support::scripted::Scripted;
use crate::support::{has_loop, is_root, skipped};
use fsderby::runner::experiment::Experiment;
use fsderby::runner::verify::verify;
use fsderby::schema::event::{Client, Phase};
use fsderby::schema::job::{Purpose, StepName};
use fsderby::schema::plan::{Plan, PlannedWork};
use fsderby::schema::reason::Outcome;
use fsderby::schema::record::Record;
use fsderby::schema::scenario::WorkStage;
use fsderby::schema::shared::Keyed;
use fsderby::store::{self, Run};
use fsderby::workloads::clients;

const THREE: &str = "[[workload]]\nset = 'postmark-quick'\nclients = 1\n\
    [[workload]]\nset = 'postmark-quick'\nclients = 2\n\
    [[workload]]\nset = 'postmark-quick'\nclients = 4\n";
const LABELS: [&str; 3] =
    ["postmark-quick, 1 client", "postmark-quick, 2 clients", "postmark-quick, 4 clients"];

fn plan(text: &str) -> Plan {
    let text = format!("name = 'clients'\nfilesystems = ['ext4']\nsize = '1g'\nrounds = 1\nseed = 7\n{text}");
    Experiment::parse(&text, "test").unwrap().plan("loop".into(), 1).unwrap()
}

#[test]
fn works_that_differ_in_their_clients_alone_are_called_by_them() {
    let labels = |text: &str| plan(text).workloads.into_iter().map(|w| w.label).collect::<Vec<_>>();
    assert_eq!(labels(THREE), LABELS);
    let alone = "[[workload]]\nset = 'postmark-quick'\nclients = 4";
    assert_eq!(labels(alone), ["postmark-quick"]);
    assert_eq!(
        labels(&format!("workloads = ['postmark-quick']\n{alone}\n{alone}\nlabel = 'four'")),
        ["postmark-quick", "postmark-quick, 4 clients", "four"]
    );
}

#[test]
fn a_works_own_number_of_clients_comes_before_the_experiments() {
    let plan =
        plan("clients = 3\nworkloads = ['maildir-quick']\n[[workload]]\nset = 'postmark-quick'\nclients = 2");
    let clients: Vec<u32> = {
        let stage = |work: &PlannedWork| WorkStage {
            work: work.label.clone(),
            part: None,
            measured: true,
            clients: None,
        };
        plan.workloads.iter().map(|work| plan.clients_of(work, &stage(work))).collect()
    };
    assert_eq!(clients, [3, 2]);
    let stored = toml::to_string(&plan).unwrap();
    let again = Experiment::parse(&stored, "plan.toml").unwrap().plan("loop".into(), 2).unwrap();
    assert_eq!(again, plan);
}

/// A run of all three on the scripted testbed.
fn scripted() -> (tempfile::TempDir, Run) {
    let kept = tempfile::tempdir().unwrap();
    let run = carry_out(&kept.path().join("run"), &plan(THREE), &Scripted::well(), &[], None);
    (kept, run)
}

#[test]
fn a_run_with_several_clients_verifies() {
    let (_kept, run) = scripted();
    assert_eq!(verify(&run).wrong, Vec::<String>::new());
    assert_eq!(run.records.len(), 6);
    run.records.iter().for_each(conforms);
}

#[test]
fn what_all_did_must_be_what_each_of_them_did() {
    type Change = fn(&mut Record);
    let changes: [(Change, &str); 6] = [
        (|r| drop(r.stages[0].by_client.pop()), "missing: the trial's clients' counters"),
        (|r| r.stages[0].by_client.swap(0, 1), "the trial's clients are not numbered from 0"),
        (
            |r| r.stages[0].by_client[1].ended_ns = r.stages[0].by_client[1].began_ns + 1,
            "were active outside",
        ),
        (
            |r| *r.stages[0].by_client[1].phases[0].phase.counts.get_mut("created").unwrap() += 1,
            "the trial's phases do not match the phases of its clients",
        ),
        (
            |r| r.stages[0].by_client[1].cost.user_ns += 1,
            "the trial's totals do not match the totals of its clients",
        ),
        (|r| r.works[0].clients = 3, "the trial's work differs from the plan's"),
    ];
    let (kept, _) = scripted();
    for (change, words) in changes {
        let mut forger = Forger::of(&kept.path().join("run"));
        change(forger.record("r01/postmark-quick, 4 clients/ext4"));
        forger.write();
        let wrong = verify(&store::read(&forger.folder()).unwrap()).wrong;
        assert!(wrong.iter().any(|what| what.contains(words)), "{words}: {wrong:#?}");
    }
    let mut forger = Forger::of(&kept.path().join("run"));
    let other = forger.record("r01/postmark-quick, 4 clients/ext4").stages[0].by_client.clone();
    forger.record("r01/postmark-quick, 1 client/ext4").stages[0].by_client = other;
    forger.write();
    let wrong = verify(&store::read(&forger.folder()).unwrap()).wrong;
    assert!(wrong.iter().any(|what| what.contains("counters of several")), "{wrong:#?}");
}

#[test]
fn one_two_and_four_clients_do_their_work_in_one_run_on_loop() {
    if !has_loop("several clients on loop") {
        return;
    }
    let desk = Desk::new();
    let run = several(&desk, &desk.testbed(), "filesystems = ['ext4', 'xfs']\nmemory = '128m'\n");
    assert_eq!(run.current().len(), 2 * 2 * 4);
    curves_hold(&run);
}

#[test]
fn several_clients_work_in_a_directory_as_anybody() {
    let desk = Desk::new();
    let run = several(&desk, &format!("directory:{}", desk.images().display()), "filesystems = ['all']\n");
    assert_eq!(run.current().len(), 2 * 4);
    curves_hold(&run);
    assert_eq!(fs::read_dir(desk.images()).unwrap().count(), 0, "nothing is left");
}

/// One, two and four clients of PostMark and three of cold reading.
fn several(desk: &Desk, testbed: &str, more: &str) -> Run {
    let text = format!(
        "name = 'several'\non = '{testbed}'\nsize = '512m'\nrounds = 1\nseed = 7\nscale = '1/16'\n{more}{THREE}\
         [[workload]]\nset = 'coldread-quick'\nclients = 3\n"
    );
    desk.file("several.toml", text);
    let said = desk.say(&["run", "several.toml", "--output", "run", "--quiet"]);
    assert_eq!(said.code, 0, "{said:#?}");
    desk.leaves_nothing(said.pid);
    let verified = desk.say(&["verify", "run"]);
    assert_eq!(verified.code, 0, "{verified:#?}");
    let shown = desk.say(&["report", "run", "--all"]);
    for words in ["4 clients", "fairness"] {
        assert!(shown.out.contains(words), "'{words}' is missing in:\n{}", shown.out);
    }
    assert_eq!(desk.say(&["report", "run", "--markdown", "run.md"]).code, 0);
    let page = fs::read_to_string(desk.path("run.md")).unwrap();
    assert!(page.contains("1, 2, 3 and 4 clients run in parallel"), "{page}");
    store::read(&desk.path("run")).unwrap()
}

/// Of records of the three numbers of clients, and of cold reading.
fn curves_hold(run: &Run) {
    for record in run.current() {
        assert_eq!((record.outcome, &record.reason), (Outcome::Done, &None), "{}", record.trial);
        conforms(record);
        for tree in &record.trees {
            assert_eq!(tree.expected.as_deref(), Some(tree.hash.as_str()), "{}: {tree:?}", record.trial);
        }
    }
    let of = |label: &str, purpose| {
        run.current().into_iter().find(|r| r.scenario == label && r.purpose == purpose).unwrap()
    };
    let [one, two, four] = LABELS.map(|label| of(label, Purpose::Measure));
    let made = |record: &Record| record.phases().map(|p| p.count("created")).sum::<u64>();
    // Each draws from a seed of its own, so they do about as much, and the first one does what it does alone.
    assert!(made(two) > made(one) && made(four) > made(two));
    for several in [two, four] {
        let first = several.stages[0].by_client[0].phases.iter().map(|told| &told.phase);
        assert_eq!(counts(first), counts(one.phases()), "{}", several.trial);
    }
    assert_eq!(one.works[0].clients, 1);
    let [one, two] = [0, 1].map(|at| of(LABELS[at], Purpose::Integrity));
    if let ([alone, ..], [both, ..]) = (&one.trees[..], &two.trees[..]) {
        assert!(both.files > alone.files, "{both:?}");
    }
    let cold = of("coldread-quick", Purpose::Measure);
    assert_eq!(cold.stages.len(), 6);
    assert!(cold.stages.iter().all(|stage| stage.by_client.len() == 3), "each of six parts");
}

fn counts<'p>(phases: impl Iterator<Item = &'p Phase>) -> BTreeMap<&'p str, &'p Keyed<u64>> {
    phases.map(|phase| (phase.name.as_str(), &phase.counts)).collect()
}

/// The sums of what each did are what all did, in a window that holds every one.
fn conforms(record: &Record) {
    let name = &record.trial;
    let clients = record.works[0].clients as usize;
    if clients == 1 {
        let none = record.stages.iter().all(|stage| stage.by_client.is_empty());
        assert!(none && record.metric("clients.fairness").is_none(), "{name}");
        return;
    }
    for phase in record.stages.iter().flat_map(|stage| stage.phases.iter().map(move |phase| (stage, phase))) {
        let (stage, phase) = phase;
        let told = || stage.by_client.iter().flat_map(|c| &c.phases).filter(|p| p.phase.name == phase.name);
        assert_eq!(told().count(), clients, "{name}: {}", phase.name);
        for (what, n) in &phase.counts {
            assert_eq!(told().map(|p| p.phase.count(what)).sum::<u64>(), *n, "{name}: {what}");
        }
        assert!(told().all(|one| one.phase.ns <= phase.ns), "{name}: {}", phase.name);
        let began = told().map(|one| one.began_ns()).min().unwrap();
        let ended = told().map(|one| one.ended_ns).max().unwrap();
        assert_eq!(phase.ns, ended - began, "{name}: {}", phase.name);
    }
    let works: Vec<_> = record.steps.iter().filter(|step| step.step == StepName::Work).collect();
    assert_eq!(works.len(), record.stages.len(), "{name}");
    for (part, work) in record.stages.iter().map(|stage| &stage.by_client).zip(works) {
        assert_eq!(part.iter().map(|c| c.cost.user_ns).sum::<u64>(), work.user_ns, "{name}");
        let began = part.iter().map(|c| c.began_ns).min().unwrap();
        let ended = part.iter().map(|c| c.ended_ns).max().unwrap();
        assert_eq!(work.ns, ended - began, "{name}");
        assert!(part.iter().all(|c| c.ended_ns >= c.began_ns && c.cost.ns <= work.ns), "{name}");
        let last_begin = part.iter().map(|c| c.began_ns).max().unwrap();
        assert!(last_begin < ended, "{name}: they did not work at the same time");
    }
    if record.purpose == Purpose::Measure {
        let fairness = record.metric("clients.fairness").unwrap().value;
        assert!(fairness > 0.0 && fairness <= 1.0, "{name}: {fairness}");
        if let Some(time) = record.metric("work.time") {
            let by_client: Vec<Client> = record.stages.iter().flat_map(|s| s.by_client.clone()).collect();
            let apart: u64 = clients::phases_apart(&by_client).iter().map(|p| p.ns).sum();
            let together: u64 = record.phases().map(|p| p.ns).sum();
            assert!((time.value - apart as f64 / 1e9).abs() < 1e-9 && apart <= together, "{name}");
        }
    }
}

#[test]
fn a_client_that_fails_is_named_and_ends_the_others() {
    if !is_root() {
        skipped("a client that finds no space", "a small tmpfs needs root");
        return;
    }
    let desk = Desk::new();
    let site = desk.path("site");
    fs::create_dir(&site).unwrap();
    // The space is looked at before the run; the number of files is not.
    let mount = format!("mount -t tmpfs -o size=400m,nr_inodes=60 tmpfs {}", site.display());
    let testbed = format!("directory:{}", site.display());
    let run =
        ["run", "--on", &testbed, "--workloads", "postmark-quick", "--scale", "1/2", "--memory", "none"];
    let said =
        desk.say_after(&mount, &[&run[..], &["--clients", "3", "--rounds", "1", "--output", "run"]].concat());
    assert_eq!(said.code, i32::from(fsderby::exit::TRIALS), "{said:#?}");
    let run = store::read(&desk.path("run")).unwrap();
    let why = run.records[0].why();
    assert_eq!(run.records[0].outcome, Outcome::Failed, "{why}");
    assert!(why.contains("No space left on device") && why.contains(": client "), "{why}");
    assert!(
        (0..3).any(|n| why.contains(&format!(" of c{n}/")) && why.contains(&format!("client {n}:"))),
        "{why}"
    );
    desk.leaves_nothing(said.pid);
}

#[test]
fn a_client_that_is_out_of_memory_is_named() {
    if !has_loop("clients that run out of memory") {
        return;
    }
    let desk = Desk::new();
    let run = ["run", "--on", &desk.testbed(), "--workloads", "postmark-quick", "--filesystems", "ext4"];
    let small = ["--scale", "1/16", "--size", "512m", "--memory", "8m", "--clients", "24", "--rounds", "1"];
    let said = desk.say(&[&run[..], &small, &["--output", "run", "--quiet"]].concat());
    assert_eq!(said.code, i32::from(fsderby::exit::TRIALS), "{said:#?}");
    let why = store::read(&desk.path("run")).unwrap().records[0].why();
    assert!(
        why.contains("client ") && why.contains("the workload ran out of memory; try a larger --memory"),
        "{why}"
    );
    desk.leaves_nothing(said.pid);
}
