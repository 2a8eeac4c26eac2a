//! An experiment file: whatever stands in it, it is refused with words, or becomes a plan that stays the same when it is
//! stored and read, and whose jobs can be made.

use fsderby::filesystems;
use fsderby::runner::experiment::{Experiment, SHIPPED};
use fsderby::runner::plan::jobs;
use fsderby::runner::plan::resolved::Resolved;
use fsderby::schema::job::Job;
use fsderby::schema::plan::Plan;
use fsderby::workloads;

use crate::engine::{Target, USUAL, has_words};
use crate::support::scripted::Scripted;

/// Cells of a plan whose jobs are made.
const SMALL: usize = 60;

#[test]
fn an_experiment_is_refused_with_words_or_becomes_a_plan_that_stays_the_same() {
    target().run();
}

pub fn target() -> Target {
    Target {
        name: "experiment",
        seeds: seeds(),
        words: words(),
        inputs: 1000,
        limits: USUAL,
        check: Box::new(check),
    }
}

const EVERYTHING: &str = "name = \"all keys\"\nanalysis = \"What?\"\non = \"loop\"\nsize = \"1g\"\nmemory = \"64m\"\nimage = \"written\"\n\
    cold = true\nrounds = \"auto\"\nat_least = 4\nbudget = \"30m\"\nmargin = \"3%\"\nseed = 7\nscale = \"1/16\"\n\
    workloads = [\"postmark-quick\"]\nfilesystems = [\"ext4\", \"xfs\"]\npower_cut = \"50%\"\nclients = 1\n\
    [[filesystem]]\nkind = \"ext4\"\nlabel = \"no atime\"\nmkfs = [\"-O\", \"^has_journal\"]\nmount = [\"noatime\"]\n\
    [[workload]]\nset = \"maildir-quick\"\nlabel = \"w\"\nclients = 1\nnumber = 100\nsize = [500, \"10k\"]\nlocations = [{ path = \"a\", weight = 3 }]\n\
    [needs]\nprofile = \"mail-server\"\ncpu = 0.5\nrequire = [\"files over 4g\", \"shrink\"]\ndraw = \"cpu\"\n\
    [needs.workload]\nw = { \"read.rate\" = 2 }\n";

fn seeds() -> Vec<Vec<u8>> {
    let plan = |(name, text): &(&str, &str)| {
        let plan = Experiment::parse(text, name).unwrap().plan("loop".into(), 1).unwrap();
        toml::to_string(&plan).unwrap()
    };
    let shipped = SHIPPED.iter().map(|(_, text)| (*text).to_owned());
    let all = ("all keys", EVERYTHING);
    let texts = shipped.chain(SHIPPED.iter().chain([&all]).map(plan)).chain([EVERYTHING.to_owned()]);
    texts.map(String::into_bytes).collect()
}

fn words() -> Vec<String> {
    let kinds = filesystems::TABLE.iter().map(|kind| kind.name());
    let sets = workloads::TABLE.iter().flat_map(|engine| engine.sets()).map(|set| set.name);
    let engines = workloads::TABLE.iter().map(|engine| engine.name());
    let others = [
        "all",
        "auto",
        "exactly",
        "at-least",
        "postmark",
        "sparse",
        "written",
        "preallocated",
        "[[filesystem]]",
        "[[workload]]",
        "variant",
        "conversion = true",
        "label",
        "kind",
        "schema = 4",
        "fsync",
        "fsync_folder",
        "power_cut",
        "[[scenario]]",
        "stages = [{ work = 'postmark-quick' }, 'remount']",
        "clients",
        "plan_seed",
        "none",
        "50%",
        "1/3",
        "0/0",
        "2g",
        "16e",
        "17t",
        "90s",
        "loop",
        "model:zero",
        "directory:/tmp",
        "[needs]",
        "[needs.workload]",
        "profile = 'backup'",
        "require = ['volumes over 16 TiB']",
        "recovery",
        "nan",
        "-0.0",
    ];
    kinds.chain(sets).chain(engines).chain(others).map(str::to_owned).collect()
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let asked = Experiment::parse(&text, "x.toml");
    let plan = match asked.and_then(|experiment| experiment.plan("loop".into(), 1)) {
        Ok(plan) => plan,
        Err(failure) => return has_words(&failure.to_string()),
    };
    let stored = toml::to_string(&plan).expect("a plan can be stored");
    let read = Experiment::parse(&stored, "plan.toml").expect("a stored plan can be read");
    // Where all candidates state a testbed, the first one's is the plan's.
    let again = read.plan(plan.testbed.clone(), 2).expect("a stored plan is accepted");
    assert_eq!(again, plan);
    if plan.candidates.len() * plan.workloads.len() <= SMALL {
        make_jobs(&plan);
    }
}

fn make_jobs(plan: &Plan) {
    let (plan, testbed) = (Resolved::of(plan).expect("it was resolved to be a plan"), Scripted::well());
    for trial in plan.integrity_checks().chain(plan.round(1)) {
        let job = jobs::job(&plan, &trial, 1, &testbed, "token");
        let line = serde_json::to_string(&job).unwrap();
        let read: Job = serde_json::from_str(&line).expect("an agent reads its job");
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        assert!(!line.contains('\n'), "a job is a line");
    }
}
