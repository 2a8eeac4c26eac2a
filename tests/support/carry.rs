//! A plan carried out on the scripted testbed, or gone on with.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fsderby::runner::execute::rounds::Runner;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::runner::preflight::skips::Skip;
use fsderby::schema::plan::Plan;
use fsderby::store::{self, Folder, Run};
use fsderby::testbeds::Testbeds;

use super::quiet::Quiet;
use super::scripted::{Scripted, machine};

/// The plan with the power cut in each trial, as `--power-cut` has it.
pub fn cut(plan: Plan, at: &str) -> Plan {
    let at = at.parse().expect("a moment");
    let scenarios = plan.workloads.iter().map(|work| fsderby::stages::short_form(&work.label, at)).collect();
    Plan { scenarios, ..plan }
}

/// With a trial's name, Ctrl-C when that begins.
pub fn carry_out(run: &Path, plan: &Plan, testbed: &Scripted, skips: &[Skip], stop_at: Option<&str>) -> Run {
    let testbeds = Testbeds::one(testbed);
    let mut folder = match run.exists() {
        true => Folder::open(run).expect("a sound run").0,
        false => Folder::create(run, plan, &machine(plan, &testbeds)).expect("a new run"),
    };
    let before = store::read(run).expect("a run");
    let stop = Arc::new(AtomicBool::new(false));
    *testbed.interrupt.lock().expect("nobody panicked") = stop_at.map(|at| (at.to_owned(), stop.clone()));
    let runner = Runner {
        plan: &Resolved::of(plan).expect("a plan"),
        testbeds: &testbeds,
        folder: &mut folder,
        skips,
        watch: &mut Quiet,
        jobs: 1,
        stop: &stop,
    };
    runner.run(&before).expect("it is carried out");
    store::read(run).expect("a run")
}
