//! Campaigns on Slurm without Slurm: their folders as their scripts leave them, and what status, dry run and plan say of them.

use std::fs;

use crate::shards::{LOOP, MODEL, model, shards};
use crate::support::carry::carry_out;
use crate::support::desk::{Desk, Said};
use crate::support::scripted::Scripted;
use crate::support::{is_root, skipped};
use fsderby::exit;
use fsderby::runner::experiment::Experiment;
use fsderby::schema::plan::Plan;
use fsderby::schema::shard::Shard;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

/// A campaign of two shards that was written and not submitted.
fn campaign() -> Desk {
    let desk = Desk::new();
    desk.file("own.toml", format!("on = 'loop'\n{LOOP}"));
    let said = desk.say(&["slurm", "own.toml", "--tasks", "2", "--write", "--output", "campaign"]);
    assert_eq!(said.code, 0, "{said:#?}");
    desk
}

/// The campaign's shard, carried out.
fn carry_out_shard(desk: &Desk, number: u32) {
    let text = fs::read_to_string(desk.path("campaign/plan.toml")).unwrap();
    let plan: Plan = toml::from_str(&text).unwrap();
    let plan = Plan { shard: Some(Shard { number, of: 2, due: Vec::new() }), ..plan };
    carry_out(&desk.path(&format!("campaign/shards/{number}")), &plan, &Scripted::well(), &[], None);
}

fn status(desk: &Desk) -> (Said, Value) {
    let json = desk.say(&["slurm", "status", "campaign", "--json"]);
    let page = serde_json::from_str(&json.out).unwrap_or_else(|e| panic!("{e}: {json:#?}"));
    let said = desk.say(&["slurm", "status", "campaign"]);
    assert_eq!(said.code, json.code, "{said:#?}");
    (said, page)
}

#[test]
fn status_counts_each_shards_own_trials_and_names_states_as_all_json_does() {
    let desk = campaign();
    let (said, page) = status(&desk);
    assert_eq!(said.code, 0, "{said:#?}");
    // Two cells: two checks on either node, and two of the four rounds.
    assert_eq!((&page["trials"], &page["of"]), (&0.into(), &12.into()), "{page}");
    assert_eq!(page["shards"][0]["state"], "not_begun");
    assert_eq!(page["jobs"][0]["job"], "probe");
    assert_eq!(page["jobs"][0]["state"], "not_begun");
    carry_out_shard(&desk, 1);
    let (said, page) = status(&desk);
    assert!(
        said.out.contains("shards: 1 done, 0 running, 0 queued, 0 failed, of 2; 6 of 12 trials"),
        "{said:#?}"
    );
    assert_eq!(page["shards"][0]["state"], "done");
    carry_out_shard(&desk, 2);
    let (said, page) = status(&desk);
    assert!(said.out.contains("2 done") && said.out.contains("12 of 12 trials"), "{said:#?}");
    assert!(page["seconds_left"].is_null() && !said.out.contains("left at this pace"), "{said:#?}");
    // A shard may be complete and still have failed: data came back different.
    for (number, code) in [(1, exit::TRIALS), (2, exit::INTEGRITY)] {
        fs::write(desk.path("campaign/ended").join(format!("shards-{number}")), code.to_string()).unwrap();
    }
    let (said, _) = status(&desk);
    assert_eq!(said.code, i32::from(exit::INTEGRITY), "{said:#?}");
    assert!(said.out.contains("shards/2: complete, ended with 6: see log/shards-2.txt"), "{said:#?}");
}

#[test]
fn status_ends_with_the_code_of_the_job_that_failed() {
    let desk = campaign();
    let ended = |name: &str, code: &str| fs::write(desk.path("campaign/ended").join(name), code).unwrap();
    let says = |code: u8, words: &[&str]| {
        let (said, page) = status(&desk);
        assert_eq!(said.code, i32::from(code), "{said:#?} {page}");
        words.iter().for_each(|word| assert!(said.out.contains(word), "{word}: {said:#?}"));
    };
    // A check of a run that is not there says nothing.
    ended("check", "0\n");
    let (said, page) = status(&desk);
    assert!(!said.out.contains("verified") && page["check"].is_null(), "{said:#?}");
    ended("merge", "8\n");
    says(exit::SHARDS, &["job merge: ended with 8: see log/merge.txt", "submit.sh"]);
    ended("shards-2", "2\n");
    says(exit::TRIALS, &["shards/2: ended with 2: see log/shards-2.txt"]);
    ended("probe", "3\n");
    says(exit::MISSING, &["job probe: ended with 3: see log/probe.txt"]);
    for (name, code) in [("probe", "0"), ("merge", "0"), ("finish", "0"), ("check", "7")] {
        ended(name, code);
    }
    fs::remove_file(desk.path("campaign/ended/shards-2")).unwrap();
    fs::create_dir(desk.path("campaign/run")).unwrap();
    says(exit::HASH, &["merged: complete", "check: ended with 7: see log/check.txt"]);
    ended("check", "0");
    says(exit::OK, &["check: verified; no trial was run again"]);
}

#[test]
fn a_submission_that_stopped_is_told_with_its_jobs() {
    let desk = campaign();
    fs::write(desk.path("campaign/submitting"), "probe 17\nshards 18\n").unwrap();
    let (said, _) = status(&desk);
    for word in ["not all jobs are submitted", "submit.sh", "scancel 17 18"] {
        assert!(said.out.contains(word), "{word}: {said:#?}");
    }
}

#[test]
fn a_full_disk_under_a_campaign_is_named_and_leaves_nothing() {
    if !is_root() {
        skipped("a full disk under a campaign", "mounting needs root");
        return;
    }
    let desk = Desk::new();
    desk.file("own.toml", format!("on = 'loop'\n{LOOP}"));
    fs::create_dir(desk.path("full")).unwrap();
    for size in ["nr_inodes=2", "nr_inodes=8", "size=4k"] {
        let before = format!("mount -t tmpfs -o {size} full full; trap 'ls full >left' EXIT; \"$@\"; exit");
        let said = desk.say_after(
            &before,
            &["slurm", "own.toml", "--tasks", "2", "--write", "--output", "full/campaign"],
        );
        let words = ["could not write the campaign's folder", "full/campaign", "No space left", "try: "];
        desk.refused(&said, exit::MISSING.into(), &words);
        assert_eq!(fs::read_to_string(desk.path("left")).unwrap(), "", "{size}");
    }
}

#[test]
fn files_of_a_campaign_that_are_none_or_say_too_much_are_refused() {
    let desk = campaign();
    let path = desk.path("campaign/slurm.toml");
    let text = fs::read_to_string(&path).unwrap();
    for tasks in ["0", "1001", "4294967295"] {
        fs::write(&path, text.replace("tasks = 2", &format!("tasks = {tasks}"))).unwrap();
        desk.refuses(
            &["slurm", "status", "campaign"],
            exit::DAMAGED.into(),
            &["slurm.toml is damaged", tasks, "try: "],
        );
    }
    fs::write(&path, "tasks = ").unwrap();
    desk.refuses(&["slurm", "status", "campaign"], exit::DAMAGED.into(), &["slurm.toml is damaged", "try: "]);
    fs::remove_file(&path).unwrap();
    let fifo =
        |path: &std::path::Path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fifo(&path);
    desk.refuses(
        &["slurm", "status", "campaign"],
        exit::USAGE.into(),
        &["is no campaign", "a FIFO", "try: "],
    );
    fs::remove_file(&path).unwrap();
    fs::write(&path, text).unwrap();
    for name in ["jobs", "next.toml", "ended/check", "shards/1"] {
        fifo(&desk.path("campaign").join(name));
    }
    desk.refuses(&["slurm", "status", "campaign"], exit::DAMAGED.into(), &["next.toml is damaged", "a FIFO"]);
    fs::remove_file(desk.path("campaign/next.toml")).unwrap();
    assert_eq!(status(&desk).0.code, 0);
}

#[test]
fn what_a_merge_calls_for_is_a_campaign_of_those_trials_alone() {
    let desk = Desk::new();
    let all = shards(desk.path(".").as_path(), MODEL, &model(), 2, &[]);
    let words: Vec<&str> = all.iter().map(|shard| shard.to_str().unwrap()).collect();
    let said = desk.say(&[&["merge", "rounds", "--next", "next.toml"], &words[..]].concat());
    assert!(said.code == 0 && said.out.contains("2 trials remain"), "{said:#?}");
    let said = desk.say(&["slurm", "next.toml", "--tasks", "2", "--write", "--output", "campaign"]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(said.out.contains("fsderby merge OUT SHARD… "), "{said:#?}");
    let plan = fs::read_to_string(desk.path("campaign/plan.toml")).unwrap();
    assert_eq!(plan.matches("corner").count(), 2, "{plan}");
    for name in ["merge.sh", "next.sh", "finish.sh", "check.sh"] {
        assert!(!desk.path("campaign").join(name).exists(), "{name}");
    }
    let (said, page) = status(&desk);
    assert_eq!((&page["of"], &page["shards"][1]["of"]), (&2.into(), &1.into()), "{said:#?}");
    desk.refuses(
        &["slurm", "next.toml", "--tasks", "3", "--write"],
        exit::USAGE.into(),
        &["only 2 trials due"],
    );
}

#[test]
fn the_dry_run_of_a_shard_describes_the_shard() {
    let desk = Desk::new();
    let text = "name = 'own'\nworkloads = ['postmark-quick']\nfilesystems = ['ext4']\nrounds = 5\nseed = 7\nguard = false\n";
    desk.file("own.toml", text);
    let dry = |shard: &[&str], more: &[&str]| {
        let words = ["run", "own.toml", "--on", "directory:.", "--dry-run", "--output", "out"];
        let said = desk.say(&[&words[..], shard, more].concat());
        assert_eq!(said.code, 0, "{said:#?}");
        said.out
    };
    let (one, two) = (dry(&["--shard", "1/2"], &[]), dry(&["--shard", "2/2"], &[]));
    assert!(
        one.contains(
            "Shard 1/2: 4 trials in all: 1 integrity check, 3 trials of the rounds, and 0 extra trials."
        ),
        "{one}"
    );
    assert!(two.contains("Shard 2/2: 3 trials in all: 1 integrity check, 2 trials of the rounds"), "{two}");
    assert!(one.contains("Expected for this shard: ") && !one.contains("whole run"), "{one}");
    let page = |shard: &[&str]| -> Value { serde_json::from_str(&dry(shard, &["--json"])).unwrap() };
    let (whole, one, two) = (page(&[]), page(&["--shard", "1/2"]), page(&["--shard", "2/2"]));
    let bytes = |page: &Value| page["share"]["bytes_written"].as_u64().unwrap();
    let ratio = bytes(&one) as f64 / bytes(&two) as f64;
    assert!((ratio - 4.0 / 3.0).abs() < 0.02, "{ratio}");
    assert!(whole["share"].is_null());
    let names = |page: &Value| {
        page["jobs"].as_array().unwrap().iter().map(|job| job["trial"].to_string()).collect::<Vec<_>>()
    };
    assert!(
        names(&one).iter().any(|name| name.contains("r05/"))
            && names(&two).iter().all(|name| !name.contains("r05/"))
    );
    let verbose = dry(&["--shard", "2/2"], &["--verbose"]);
    assert!(verbose.contains("r04/") && !verbose.contains("r03/"), "{verbose}");
}

#[test]
fn the_report_of_a_shard_advises_to_merge_and_not_to_add_rounds() {
    let desk = Desk::new();
    let mut experiment = Experiment::parse(LOOP, "test").unwrap();
    experiment.shard = "1/2".parse().ok();
    let plan = experiment.plan("loop".into(), 7).unwrap();
    carry_out(&desk.path("shard"), &plan, &Scripted::well(), &[], None);
    let said = desk.say(&["report", "shard"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let words: Vec<&str> = said.out.split_whitespace().collect();
    assert!(words.join(" ").contains("This run is shard 1/2 of its plan."), "{said:#?}");
    assert!(said.out.contains("fsderby merge OUT SHARD…") && !said.out.contains("--rounds"), "{said:#?}");
}

/// A stored plan may name what no experiment may: what would be left out stands in the dry run, too.
#[test]
fn the_dry_run_of_a_resumed_run_names_what_would_be_skipped() {
    let desk = Desk::new();
    let text = "name = 'x'\non = 'loop'\nworkloads = ['postmark-quick']\nrounds = 2\nseed = 7\n\
                [[filesystem]]\nkind = 'ext4'\nmount = ['errors=panic']\n[[filesystem]]\nkind = 'xfs'\n";
    let plan = Experiment::parse(text, "test").unwrap().plan("loop".into(), 7).unwrap();
    carry_out(&desk.path("run"), &plan, &Scripted::well(), &[], None);
    let said = desk.say(&["run", "--resume", "run", "--rounds", "3", "--dry-run"]);
    assert!(said.out.contains("skipped ext4") && said.out.contains("panic"), "{said:#?}");
}
