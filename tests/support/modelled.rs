//! Runs on a modelled disk in virtual time.

use std::sync::atomic::AtomicBool;

use fsderby::runner::experiment::Experiment;
use fsderby::runner::rerun::{Compared, candidates, rerun};
use fsderby::runner::rounds::Runner;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::reason::Outcome;
use fsderby::store::{self, Folder, Run};
use fsderby::testbeds::model::Model;
use fsderby::testbeds::{Testbed, Testbeds};

use super::quiet::{Quiet, has_guests};
use super::scripted::machine;

pub fn model(text: &str) -> Model {
    let mut model: Model = text.parse().unwrap();
    model.agent = env!("CARGO_BIN_EXE_fsderby").into();
    model
}

/// This experiment, with so many rounds.
pub fn compared(text: &str, testbed: &Model, rounds: u32, jobs: usize) -> (tempfile::TempDir, Run) {
    let plan = Experiment::parse(text, "test").unwrap().plan(testbed.name(), 1).unwrap();
    carried_out(Plan { rounds: Rounds::Exactly(rounds), ..plan }, &Testbeds::one(testbed), jobs)
}

pub fn carried_out(plan: Plan, testbeds: &Testbeds<'_>, jobs: usize) -> (tempfile::TempDir, Run) {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("run");
    let mut folder = Folder::create(&path, &plan, &machine(&plan, testbeds)).unwrap();
    let before = store::read(&path).unwrap();
    let stop = AtomicBool::new(false);
    Runner { plan: &plan, testbeds, folder: &mut folder, skips: &[], watch: &mut Quiet, jobs, stop: &stop }
        .run(&before)
        .unwrap();
    let run = store::read(&path).unwrap();
    (desk, run)
}

/// A volume of a tebibyte costs what is written of it, and its requests are so far apart that the arm moves.
pub fn large_volumes(kinds: &[&str]) {
    if !has_guests("volumes of a tebibyte") {
        return;
    }
    let testbed = model("hdd-16tb,samples=off");
    let of_size = |size: &str| {
        let text = format!(
            "name = \"large\"\nsize = \"{size}\"\nmemory = \"256m\"\nworkloads = [\"maildir-quick\"]\n\
             filesystems = {kinds:?}\nrounds = 1\nseed = 7\nscale = \"1/16\"\n"
        );
        compared(&text, &testbed, 0, 2)
    };
    let (_small_desk, small) = of_size("1g");
    let (_desk, large) = of_size("1t");
    let seek_ns = |run: &Run, kind: &str| {
        let record = run.records.iter().find(|r| r.filesystem == kind).unwrap();
        assert_eq!(record.outcome, Outcome::Done, "{kind}: {}", record.why());
        let served = run.requests(record).unwrap().unwrap();
        let moved = served.iter().filter(|s| s.seek_ns > 0);
        let (count, all_ns) = moved.fold((0, 0), |(count, all), s| (count + 1, all + s.seek_ns));
        all_ns / count.max(1)
    };
    for kind in kinds {
        let (near, far) = (seek_ns(&small, kind), seek_ns(&large, kind));
        assert!(far > near, "{kind}: {near} ns for a seek on 1 GiB, {far} ns on 1 TiB");
    }
    let records = candidates(&large);
    rerun(&large, &Testbeds::one(&testbed), &records, 1, 2, &mut |record, compared| {
        assert_eq!(*compared, Compared::Same, "{}", record.trial);
    })
    .unwrap();
}
