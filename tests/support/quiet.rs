//! Runs that nobody watches, and whether guests can take part at all.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use fsderby::guest::kernel;
use fsderby::host::programs;
use fsderby::runner::execute::launch::Tick;
use fsderby::runner::execute::rounds::{Far, Runner, Watch};
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::preflight::skips::Skip;
use fsderby::schema::plan::{Plan, Rounds};
use fsderby::schema::record::Record;
use fsderby::store::{self, Folder, Run};
use fsderby::testbeds::Testbeds;

use super::scripted::machine;
use super::skipped;

/// Whether guests can be started; says so where they cannot.
pub fn has_guests(what: &str) -> bool {
    let lacks = if programs::find("qemu-system-x86_64").is_none() {
        "there is no qemu-system-x86_64 (apt-get install qemu-system-x86)"
    } else if kernel::find(None).is_none() {
        "there is no kernel (fsderby kernel fetch)"
    } else {
        return true;
    };
    skipped(what, lacks);
    false
}

pub struct Quiet;

impl Watch for Quiet {
    fn begins(&mut self, _: &Plan, _: &[Skip]) {}
    fn trial(&mut self, _: &str, _: &Far) {}
    fn tick(&mut self, _: &str, _: Tick) {}
    fn record(&mut self, _: &Record) {}
    fn round(&mut self, _: u32, _: Rounds, _: &Far) {}
}

/// Carried out in a folder that is not there yet, to its end.
pub fn run(path: &Path, plan: &Plan, testbeds: &Testbeds<'_>, skips: &[Skip]) -> Run {
    let mut folder = Folder::create(path, plan, &machine(plan, testbeds)).unwrap();
    let before = store::read(path).unwrap();
    let plan = &Resolved::of(plan).unwrap();
    let (watch, stop) = (&mut Quiet, &AtomicBool::new(false));
    Runner { plan, testbeds, folder: &mut folder, skips, watch, jobs: 1, stop }.run(&before).unwrap();
    store::read(path).unwrap()
}
