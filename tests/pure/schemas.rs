//! What commands print with `--json`, and the files that they store, are as `fsderby schema` says.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use crate::reproduce::PAPER;
use crate::support::carry::carry_out;
use crate::support::desk::Desk;
use crate::support::fsderby;
use crate::support::scripted::Scripted;
use clap::CommandFactory;
use fsderby::cli::Cli;
use fsderby::runner::experiment::Experiment;
use fsderby::schema::event::Event;
use fsderby::schema::plan::Plan;
use fsderby::schema::setup::Modelled;
use fsderby::schema::shard::Shard;
use fsderby::store;
use jsonschema::Validator;
use serde_json::{Value, json};

const LOOP: &str = "name = 'two'\nfilesystems = ['ext2', 'ext4']\nworkloads = ['postmark-quick']\nrounds = 6\nseed = 7\n\
                    [needs]\nprofile = 'mail-server'\n";
const MODEL: &str = "name = 'model'\non = 'model:samsung-870-evo'\nsize = '1g'\nworkloads = ['postmark-quick']\n\
                     filesystems = ['ext2', 'ext4']\nrounds = 13\nscale = '1/16'\nseed = 7\n";
const LINE: &str = "black,250M,1735,95,9819,26,4386,18,1491,79,8697,27,281.6,11,16,783,85,++++,+++761,73,793,86,++++,+++444,41\n";

/// Every schema by its name.
struct Schemas(BTreeMap<String, Validator>);

impl Schemas {
    fn new() -> Self {
        let print =
            |words: &[&str]| String::from_utf8(fsderby().args(words).output().unwrap().stdout).unwrap();
        let one = |line: &str| {
            let name = line.split_whitespace().next().unwrap();
            let schema: Value = serde_json::from_str(&print(&["schema", name])).unwrap();
            assert!(jsonschema::meta::is_valid(&schema), "{name}");
            (name.to_owned(), jsonschema::validator_for(&schema).unwrap_or_else(|e| panic!("{name}: {e}")))
        };
        Schemas(print(&["schema"]).lines().map(one).collect())
    }

    fn accept(&self, name: &str, value: &Value) {
        let errors = self.0[name].iter_errors(value);
        let errors: Vec<String> = errors.map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {:.2000}", errors.join("\n"));
    }

    /// The output of this command, whatever its exit code.
    fn accept_said(&self, name: &str, desk: &Desk, words: &[&str]) -> Value {
        let said = desk.say(&[words, &["--json"]].concat());
        let value = serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{words:?}: {e}: {said:#?}"));
        self.accept(name, &value);
        value
    }
}

fn plan(text: &str, shard: Option<Shard>) -> Plan {
    let mut experiment = Experiment::parse(text, "test").unwrap();
    experiment.shard = shard;
    experiment.plan(experiment.on.clone().unwrap_or_else(|| "loop".into()), 7).unwrap()
}

fn model() -> Scripted {
    Scripted::on_model("model:samsung-870-evo", |job, event| {
        let Event::Phase(phase) = event else { return };
        let whole = if job.trial.ends_with("/ext2") { 100_000_000 } else { 200_000_000 };
        let modelled: Modelled = job.storage.settings().unwrap();
        phase.ns = whole * 9 / 10 + whole / 10 * 1000 / u64::from(modelled.mips);
    })
}

#[test]
fn each_command_that_prints_json_has_a_schema() {
    let listed = String::from_utf8(fsderby().arg("schema").output().unwrap().stdout).unwrap();
    let mut commands = vec![(String::from("fsderby"), Cli::command())];
    let mut found = 0;
    while let Some((path, command)) = commands.pop() {
        if command.get_arguments().any(|argument| argument.get_long() == Some("json")) {
            found += 1;
            let is_listed = listed.contains(&format!("{path} "))
                || listed.contains(&format!("{} --json", path.trim_start_matches("fsderby ")));
            assert!(is_listed, "{path} has no schema");
        }
        let below = command.get_subcommands();
        commands.extend(below.map(|below| (format!("{path} {}", below.get_name()), below.clone())));
    }
    assert!(found >= 12, "{found}");
}

/// What a reader of a page of `--json` looks at first.
#[test]
fn each_page_of_json_has_a_version() {
    let print = |words: &[&str]| String::from_utf8(fsderby().args(words).output().unwrap().stdout).unwrap();
    let listed = print(&["schema"]);
    let pages = listed.lines().filter(|line| line.contains("--json"));
    let mut found = 0;
    for name in pages.map(|line| line.split_whitespace().next().unwrap()) {
        let schema: Value = serde_json::from_str(&print(&["schema", name])).unwrap();
        let required = schema["required"].as_array().unwrap_or_else(|| panic!("{name} is no object"));
        let has = |key: &str| required.iter().any(|required| required == key);
        assert!(has("schema_version") || has("schema"), "{name} requires {required:?}");
        found += 1;
    }
    assert!(found >= 15, "{found}");
}

#[test]
fn what_needs_no_run_is_as_its_schema_says() {
    let (schemas, desk) = (Schemas::new(), Desk::new());
    let all = schemas.accept_said("list", &desk, &["list"]);
    schemas.accept_said("list", &desk, &["list", "disks"]);
    let rows = all.as_object().unwrap().values().filter_map(Value::as_array).flatten();
    let names = rows.filter_map(|row| row["name"].as_str().or(row["metric"]["name"].as_str()));
    // One of each kind of subject would do; a few names of each list are tried.
    for name in names.step_by(7).chain([
        "ext4",
        "postmark",
        "postmark-quick",
        "quick",
        "ssd-nvme",
        "athlon-64",
        "2006",
    ]) {
        schemas.accept_said("explain", &desk, &["explain", name]);
    }
    for what in ["stages", "machines", "papers", "profiles", "terms", "metrics"] {
        let first = &all[what][0];
        let name = first["name"].as_str().or(first["metric"]["name"].as_str()).unwrap();
        schemas.accept_said("explain", &desk, &["explain", name]);
    }
    schemas.accept_said("doctor", &desk, &["doctor"]);
    schemas.accept_said("device-list", &desk, &["device", "list"]);
    schemas.accept_said("kernel-list", &desk, &["kernel", "list"]);
    schemas.accept_said("guest-list", &desk, &["guest", "list"]);
    schemas.accept_said("config-show", &desk, &["config", "show"]);
    let dry = ["run", "quick", "--memory", "none", "--on", "directory:/var/tmp", "--dry-run"];
    let dry = schemas.accept_said("dry-run", &desk, &dry);
    for job in dry["jobs"].as_array().unwrap() {
        schemas.accept("job", job);
    }
    let altered = json!({ "schema_version": 1, "settings": [], "files": [], "variables": [], "other": 1 });
    assert!(schemas.0["doctor"].validate(&altered).is_err(), "a schema that accepts everything");
}

#[test]
fn what_is_made_of_a_run_is_as_its_schema_says() {
    let (schemas, desk) = (Schemas::new(), Desk::new());
    let events: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = events.clone();
    let testbed = Scripted::event(move |_, event| {
        seen.lock().unwrap().push(serde_json::to_value(&*event).unwrap());
    });
    for (name, seed) in [("first", 7), ("second", 8)] {
        carry_out(&desk.path(name), &Plan { plan_seed: seed, ..plan(LOOP, None) }, &testbed, &[], None);
    }
    for event in events.lock().unwrap().iter() {
        schemas.accept("event", event);
    }
    carry_out(&desk.path("model"), &plan(MODEL, None), &model(), &[], None);
    for run in ["first", "model"] {
        schemas.accept_said("report", &desk, &["report", run]);
        schemas.accept_said("verify", &desk, &["verify", run]);
        let text = |name: &str| fs::read_to_string(desk.path(run).join(name)).unwrap();
        schemas.accept(
            "plan.toml",
            &serde_json::to_value(toml::from_str::<toml::Table>(&text("plan.toml")).unwrap()).unwrap(),
        );
        for name in ["machine.json", "verdict.json", "seal.json"] {
            schemas.accept(name, &serde_json::from_str(&text(name)).unwrap());
        }
        for line in text("trials.jsonl").lines() {
            schemas.accept("trials.jsonl", &serde_json::from_str(line).unwrap());
        }
        let files = fs::read_dir(desk.path(run).join("histograms")).into_iter().flatten().flatten();
        for file in files.take(5) {
            for line in fs::read_to_string(file.path()).unwrap().lines() {
                schemas.accept("histograms", &serde_json::from_str(line).unwrap());
            }
        }
    }
    schemas.accept_said("compare", &desk, &["compare", "first", "second", "--fail-if", "worse > 5%"]);
    schemas.accept_said(
        "dry-run",
        &desk,
        &["run", "--resume", "first", "--rounds", "8", "--dry-run", "--trust"],
    );
    desk.file("paper.toml", PAPER);
    schemas.accept_said("reproduce", &desk, &["reproduce", "./paper.toml", "--from", "first"]);
    desk.file("lines", LINE);
    schemas.accept_said(
        "import",
        &desk,
        &["import", "bonnie", "lines", "--label", "xfs", "--output", "import"],
    );
    schemas.accept_said("report-import", &desk, &["report", "import"]);
    schemas.accept_said("verify-import", &desk, &["verify", "import"]);
    schemas.accept_said("report", &desk, &["report", "first", "--beside", "import"]);
    schemas.accept(
        "import.json",
        &serde_json::from_str(&fs::read_to_string(desk.path("import/import.json")).unwrap()).unwrap(),
    );
}

#[test]
fn what_is_merged_is_as_its_schema_says() {
    let (schemas, desk) = (Schemas::new(), Desk::new());
    let text = format!("{LOOP}rounds = 4\nguard = false\n")
        .replace("rounds = 6\n", "")
        .replace("[needs]\nprofile = 'mail-server'\n", "");
    for number in [1, 2] {
        let plan = plan(&text, Some(Shard { number, of: 2, due: Vec::new() }));
        carry_out(&desk.path(&format!("shard-{number}")), &plan, &Scripted::well(), &[], None);
    }
    schemas.accept_said("merge", &desk, &["merge", "whole", "shard-1", "shard-2"]);
    let merged = fs::read_to_string(desk.path("whole/machine.json")).unwrap();
    schemas.accept("machine.json", &serde_json::from_str(&merged).unwrap());
    assert!(store::read(&desk.path("whole")).is_ok());
    desk.file("own.toml", format!("on = 'loop'\n{text}"));
    let words = ["slurm", "own.toml", "--tasks", "2", "--write", "--output", "campaign"];
    let said = desk.say(&words);
    assert_eq!(said.code, 0, "{said:#?}");
    schemas.accept_said("slurm-status", &desk, &["slurm", "status", "campaign"]);
}
