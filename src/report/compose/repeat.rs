//! The command that expands to the same plan, and the parts of the plan that no command can express.

use shell_words::quote;

use crate::report::view::repeat::Repeat;
use crate::runner::experiment::{Experiment, SHIPPED};
use crate::runner::experiment::{options, own_command, profiles, typed};
use crate::runner::plan::scenarios;
use crate::schema::plan::{Candidate, Plan};
use crate::workloads;

/// `makes_filesystem` is a property of the testbed: without mkfs each candidate is a directory, and a single one needs no name.
pub fn of(plan: &Plan, makes_filesystem: bool) -> Repeat {
    let is_named = makes_filesystem || plan.candidates.len() > 1;
    let candidates = if is_named { typed::given(plan) } else { Vec::new() };
    let candidates = candidates.as_slice();
    Repeat {
        command: command(plan, candidates, makes_filesystem),
        beyond: beyond(plan, candidates),
        unnamed: shipped(plan).is_none(),
    }
}

fn command(plan: &Plan, candidates: &[Candidate], makes_filesystem: bool) -> String {
    let mut words = vec!["fsderby run".to_owned()];
    words.extend(shipped(plan).map(str::to_owned));
    let own = shipped(plan).and_then(|name| Experiment::load(name).ok()).unwrap_or_default();
    words.extend(match makes_filesystem {
        true => typed::filesystems(candidates, &own),
        false => typed::directories(plan, candidates),
    });
    let works: Vec<&str> = plan.workloads.iter().map(|w| w.label.as_str()).collect();
    words.push(match own_command::options(plan) {
        Some(options) => shell_words::join(options),
        None => format!("--workloads {}", quote(&works.join(","))),
    });
    // Directories stand with their candidates.
    let says_testbed = makes_filesystem || candidates.is_empty();
    let settings = options::all().filter(|setting| setting.name != options::TESTBED || says_testbed);
    words.extend(settings.flat_map(|setting| (setting.printed)(plan)));
    words.join(" ")
}

/// The shipped experiment that describes this plan.
fn shipped(plan: &Plan) -> Option<&'static str> {
    let same = |text: &str, name: &str| Experiment::parse(text, name).is_ok_and(|e| e.describes(plan));
    SHIPPED.iter().find(|(name, text)| same(text, name)).map(|(name, _)| *name)
}

fn beyond(plan: &Plan, candidates: &[Candidate]) -> Vec<String> {
    let mut beyond = Vec::new();
    let unsaid = candidates.iter().filter(|c| !typed::is_whole(c));
    beyond.extend(unsaid.map(|c| format!("the options of {}", c.label)));
    let as_options = own_command::options(plan).is_some();
    let changed = plan.workloads.iter().filter(|_| !as_options).filter(|w| {
        let ready = workloads::find(&w.label).map(|(engine, set)| (engine.name(), set.file().parameters));
        ready.as_ref().map(|(engine, parameters)| (*engine, parameters))
            != Some((w.work.engine.as_str(), &w.work.parameters))
    });
    beyond.extend(changed.map(|w| format!("the parameters of {}", w.label)));
    let (scenarios, _) = scenarios::given(plan);
    beyond.extend(scenarios.iter().map(|scenario| format!("the stages of {}", scenario.label)));
    let own = plan.workloads.iter().filter(|w| w.clients.is_some());
    beyond.extend(own.map(|w| format!("the number of clients of {workload}", workload = w.label)));
    if plan.needs.as_ref().is_some_and(|needs| profiles::equal_to(needs).is_none()) {
        beyond.push("the needs".to_owned());
    }
    if plan.shard.as_ref().is_some_and(|shard| !shard.due.is_empty()) {
        beyond.push("the trials of the shard".to_owned());
    }
    if plan.workload_seed != plan.plan_seed {
        beyond.push(format!("the workload's seed {}", plan.workload_seed));
    }
    beyond
}
