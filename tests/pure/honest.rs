//! What an honest run may lack is said, and is no damage: whatever happened to it, `verify` finds nothing wrong.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::carry::carry_out;
use crate::support::scripted::Scripted;
use fsderby::runner::experiment::Experiment;
use fsderby::runner::preflight::skips::Skip;
use fsderby::runner::verify::{Verified, verify};
use fsderby::schema::event::Event;
use fsderby::schema::job::At;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::store::{self, Folder, Run};
use fsderby::testbeds::Next;

const EXPERIMENT: &str = r#"
name = "honest"
size = "1g"
memory = "64m"
workloads = ["postmark-quick"]
filesystems = ["ext2", "ext4", "xfs"]
rounds = 2
scale = "1/16"
seed = 7
"#;

fn plan() -> Plan {
    Experiment::parse(EXPERIMENT, "test").unwrap().plan("loop".into(), 1).unwrap()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn run(&self) -> PathBuf {
        self.0.path().join("run")
    }

    fn carried_out(&self, plan: &Plan, testbed: &Scripted, stop_at: Option<&str>) -> Run {
        carry_out(&self.run(), plan, testbed, &[], stop_at)
    }
}

/// What there is to note of a run with which nothing is wrong.
fn notes(run: &Path) -> Vec<String> {
    let Verified { wrong, notes, .. } = verify(&store::read(run).unwrap());
    assert_eq!(wrong, Vec::<String>::new());
    notes
}

fn notes_say(run: &Path, words: &str) {
    let notes = notes(run);
    assert!(notes.iter().any(|note| note.contains(words)), "'{words}' is not in {notes:?}");
}

/// A kill leaves no word about the end: the seal is that of before, or there is none.
fn killed_after(place: &Place, trial: &str) {
    let ends = ["seal.json", "verdict.json"].map(|name| place.run().join(name));
    let before = ends.each_ref().map(|path| fs::read(path).ok());
    place.carried_out(&plan(), &Scripted::well(), Some(trial));
    for (path, before) in ends.iter().zip(before) {
        match before {
            Some(before) => fs::write(path, before).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
    }
}

#[test]
fn files_that_nothing_covers_are_named_and_are_no_damage() {
    let place = Place::new();
    place.carried_out(&plan(), &Scripted::well(), None);
    let uncovered = || {
        let found = verify(&store::read(&place.run()).unwrap());
        assert_eq!(found.wrong, Vec::<String>::new());
        found.uncovered
    };
    assert_eq!(uncovered(), Vec::<String>::new(), "a run without a written report");
    fs::create_dir(place.run().join("figures")).unwrap();
    for name in ["report.html", "report.md", "plan.toml.old", ".hidden", "seal.json~"] {
        fs::write(place.run().join(name), "text").unwrap();
    }
    std::os::unix::fs::symlink("/nowhere", place.run().join("link")).unwrap();
    let all = [".hidden", "figures", "link", "plan.toml.old", "report.html", "report.md", "seal.json~"];
    assert_eq!(uncovered(), all);
}

#[test]
fn of_a_complete_run_there_is_nothing_to_note() {
    let place = Place::new();
    place.carried_out(&plan(), &Scripted::well(), None);
    assert_eq!(notes(&place.run()), Vec::<String>::new());
}

#[test]
fn an_interrupted_run_is_incomplete_until_it_was_gone_on_with() {
    let place = Place::new();
    for at in [
        plan().integrity_checks().nth(1).unwrap(),
        plan().round(1).nth(2).unwrap(),
        plan().round(2).next().unwrap(),
    ] {
        place.carried_out(&plan(), &Scripted::well(), Some(&at.name()));
        notes_say(&place.run(), "it was interrupted after");
    }
    place.carried_out(&plan(), &Scripted::well(), None);
    assert_eq!(notes(&place.run()), Vec::<String>::new());
}

#[test]
fn a_killed_run_is_incomplete_whether_or_not_it_was_sealed_before() {
    let place = Place::new();
    killed_after(&place, &plan().round(1).nth(1).unwrap().name());
    notes_say(&place.run(), "the run is not sealed");
    place.carried_out(&plan(), &Scripted::well(), Some(&plan().round(2).next().unwrap().name()));
    killed_after(&place, &plan().round(2).nth(2).unwrap().name());
    notes_say(&place.run(), "continued after its end");
    place.carried_out(&plan(), &Scripted::well(), None);
    assert_eq!(notes(&place.run()), Vec::<String>::new());
}

#[test]
fn a_run_that_has_not_begun_is_incomplete() {
    let place = Place::new();
    drop(Folder::create(&place.run(), &plan(), &fsderby::schema::machine::Machine::default()).unwrap());
    notes_say(&place.run(), "the run is not sealed");
}

#[test]
fn what_a_run_left_that_was_killed_while_it_stored_a_trial_makes_way_later() {
    let place = Place::new();
    let next = plan().round(1).nth(1).unwrap().name();
    killed_after(&place, &next);
    let path = place.run().join("trials.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    // Its latencies are stored; of its line there is nothing, or a part.
    for kept in [0, 30] {
        let last = text.trim_end().rfind('\n').unwrap() + 1;
        let left = place
            .run()
            .join(format!("histograms/{}.1.jsonl", plan().round(1).next().unwrap().name().replace('/', "_")));
        fs::write(&path, &text[..text[..last - 1].rfind('\n').unwrap() + 1 + kept]).unwrap();
        assert!(left.exists());
        notes_say(&place.run(), "was stored, but the run was killed before it stored the record");
    }
    let run = place.carried_out(&plan(), &Scripted::well(), None);
    assert_eq!(notes(&place.run()).len(), 1, "the torn line");
    assert!(run.is_complete());
    let orphans = fs::read_dir(place.run().join("histograms")).unwrap().flatten();
    assert_eq!(
        orphans.filter(|e| e.file_name().to_string_lossy().ends_with(".orphan1")).count(),
        1,
        "nothing is thrown away"
    );
}

#[test]
fn void_attempts_dropped_filesystems_and_skipped_ones_are_as_they_should_be() {
    let place = Place::new();
    let events = |job: &fsderby::schema::job::Job, mut events: Vec<Next>| {
        let is_lost = job.trial == "r01/postmark-quick/ext4"
            || (job.trial == "r02/postmark-quick/ext4" && job.attempt == 1);
        if is_lost {
            events.insert(4, Next::Damaged("event 4 was due, 5 came".into()));
        }
        for next in &mut events {
            if let Next::Event(stamped) = next
                && let Event::Tree(tree) = &mut stamped.event
                && tree.at == At::Remounted
                && job.trial.ends_with("/xfs")
            {
                tree.hash = "bb".repeat(32);
            }
        }
        events
    };
    let skips = [Skip {
        filesystem: "ext2".into(),
        scenario: "postmark-quick".into(),
        reason: "there is no mkfs.ext2".into(),
        by_experiment: false,
    }];
    let run = carry_out(&place.run(), &plan(), &Scripted::altered(events), &skips, None);
    assert_eq!(run.records.iter().filter(|r| r.trial == "r01/postmark-quick/ext4").count(), 3, "void thrice");
    assert!(run.records.iter().all(|r| r.filesystem == "ext4" || r.round == 0));
    assert_eq!(notes(&place.run()), Vec::<String>::new());
    // What was skipped is there now: the round is repeated with it, and what was void is tried again.
    carry_out(&place.run(), &plan(), &Scripted::well(), &[], None);
    assert_eq!(notes(&place.run()), Vec::<String>::new());
}

#[test]
fn a_run_with_fewer_or_more_rounds_than_its_plan_is_said_so_and_no_damage() {
    let place = Place::new();
    let rounds = |n: u32| Plan { rounds: Rounds::Exactly(n), ..plan() };
    killed_after(&place, &plan().round(1).next().unwrap().name());
    place.carried_out(&rounds(1), &Scripted::well(), None);
    notes_say(&place.run(), "the run ended after 1 of the plan's 2 rounds");
    place.carried_out(&rounds(4), &Scripted::well(), None);
    assert_eq!(notes(&place.run()), Vec::<String>::new());
    let within = Plan { rounds: Rounds::AtLeast(2), budget: Some("0s".parse().unwrap()), ..plan() };
    place.carried_out(&within, &Scripted::well(), None);
    assert_eq!(notes(&place.run()), Vec::<String>::new());
}
