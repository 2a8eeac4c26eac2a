//! One body for every testbed, engine and filesystem that this machine serves: proved, measured, every condition held,
//! and nothing left behind.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use std::path::Path;

use fsderby::filesystems;
use fsderby::schema::event::Phase;
use fsderby::schema::reason::{Held, Outcome};
use fsderby::schema::record::Record;
use fsderby::store::{self, Run};
use fsderby::workloads;
use support::desk::Desk;
use support::{has_loop, skipped};

/// Enters beside every kind with its defaults.
const VARIANTS: [&str; 2] = [
    "ext3-ordered label=\"ext3, converted\" conversion",
    "ext4 label=\"ext4, no atime\" mount=noatime,commit=30 mkfs=\"-m 0\"",
];

/// The first set of each engine, small.
fn small_sets() -> impl Iterator<Item = &'static str> {
    workloads::TABLE.iter().map(|engine| engine.sets()[0].name)
}

#[test]
fn every_filesystem_does_every_engines_work_on_loop() {
    if !has_loop("conformance on loop") {
        return;
    }
    let desk = Desk::new();
    let mut filesystems = vec!["--filesystems", "all"];
    filesystems.extend(VARIANTS.iter().flat_map(|spec| ["--filesystem", spec]));
    let run = carry_out(&desk, &desk.testbed(), &filesystems);
    for record in run.records.iter().filter(|r| r.outcome == Outcome::Skipped) {
        skipped(&format!("{} × {}", record.filesystem, record.scenario), &record.why());
    }
    let expected = (filesystems::TABLE.len() + VARIANTS.len()) * small_sets().count();
    let compared = run.records.iter().filter(|r| r.round == 1).count();
    let skips = run.records.iter().filter(|r| r.outcome == Outcome::Skipped).count();
    assert_eq!(compared + skips, expected, "each filesystem is compared or skipped with a reason");
    assert!(compared >= 3, "a kernel without three filesystems proves little");
    for label in ["ext3, converted", "ext4, no atime"] {
        let record = run.records.iter().find(|r| r.filesystem == label && r.outcome != Outcome::Skipped);
        assert!(record.is_some(), "{label} was not compared");
    }
    conforms(&run);
}

#[test]
fn a_directory_does_every_engines_work() {
    let desk = Desk::new();
    let run = carry_out(&desk, &format!("directory:{}", desk.images().display()), &[]);
    assert_eq!(run.records.len(), 2 * small_sets().count());
    conforms(&run);
}

fn carry_out(desk: &Desk, testbed: &str, filesystems: &[&str]) -> Run {
    let sets: Vec<&str> = small_sets().collect();
    let sets = sets.join(",");
    let work = ["run", "quick", "--workloads", &sets, "--scale", "1/16", "--rounds", "1", "--seed", "7"];
    let place = ["--on", testbed, "--size", "512m", "--memory", "none", "--output", "run", "--quiet"];
    let said = desk.say(&[&work[..], &place, filesystems].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    desk.leaves_nothing(said.pid);
    let verified = desk.say(&["verify", "run"]);
    assert_eq!(verified.code, 0, "{verified:#?}");
    store::read(&desk.path("run")).unwrap()
}

fn conforms(run: &Run) {
    for record in run.records.iter().filter(|r| r.outcome != Outcome::Skipped) {
        let name = &record.trial;
        assert_eq!((record.outcome, &record.reason), (Outcome::Done, &None), "{name}");
        let broken: Vec<_> = record.validity.iter().filter(|c| c.held == Held::No).collect();
        assert!(broken.is_empty(), "{name}: {broken:?}");
        let did = |p: &Phase| p.ns > 0 && p.counts.values().any(|count| *count > 0);
        assert!(record.phases().next().is_some() && record.phases().all(did), "{name}: {:?}", record.stages);
        assert!(!record.metrics.is_empty() && !record.histograms.is_empty(), "{name}");
        is_mounted_as_asked(record);
        if record.round == 0 {
            is_proved(record);
        }
    }
}

fn is_mounted_as_asked(record: &Record) {
    let mounted = record.mounted.as_ref().unwrap();
    match filesystems::find(&record.kind).filter(|_| record.testbed.starts_with("loop")) {
        Some(kind) => {
            let asked = kind.mount(&record.variant);
            assert_eq!(mounted.fstype, asked.fstype(), "{}", record.trial);
            assert_eq!(kind.confirm(&asked, mounted), Ok(()), "{}", record.trial);
        }
        None => assert!(Path::new(&mounted.source).is_absolute() || !mounted.fstype.is_empty()),
    }
}

/// What was read back is what the engine says it wrote, before and after unmount and mount.
fn is_proved(record: &Record) {
    let made = record.testbed.starts_with("loop");
    assert_eq!(record.trees.len(), if made { 2 } else { 1 }, "{}", record.trial);
    for tree in &record.trees {
        assert!(tree.files > 0, "{}: {tree:?}", record.trial);
        assert_eq!(tree.expected.as_deref(), Some(tree.hash.as_str()), "{}: {tree:?}", record.trial);
    }
}
