//! A campaign on a real Slurm of two nodes: what it gives is what one machine gives, whatever becomes of its tasks.

use std::fs;
use std::path::Path;

use crate::support::desk::{Desk, run};
use crate::support::forger::{Forger, copy};
use crate::support::quiet::has_guests;
use crate::support::slurm::{Cluster, NODES, process_of};
use fsderby::exit;
use fsderby::schema::record::{Circumstances, Record};
use fsderby::store;
use rustix::process::{Signal, kill_process};

const PLAN: &str = "name = \"cluster\"\nsize = \"320m\"\nmemory = \"64m\"\non = \"model:hdd-16tb,samples=off\"\nworkloads = [\"postmark-quick\"]\n\
                    filesystems = [\"ext4\", \"xfs\"]\nrounds = 1\nseed = 7\nscale = \"1/64\"\n";

/// A folder whose name the shell and sbatch would read in another way, if a script let them.
const ODD: &str = "it's \"$HOME\" `id` @JOBS@ #1";

/// The records without what differs from run to run, by name.
fn measured(run: &Path) -> Vec<Record> {
    let bare = |record: &&Record| Record {
        attempt: 1,
        circumstances: Circumstances::default(),
        previous: String::new(),
        histograms: Vec::new(),
        console: None,
        requests: record.requests.clone().map(|file| store_only_the_hash(file.blake3)),
        ..(*record).clone()
    };
    let run = store::read(run).unwrap();
    let mut records: Vec<Record> = run.current().iter().map(bare).collect();
    records.sort_by(|a, b| a.trial.cmp(&b.trial));
    records
}

/// A file's name has the number of the attempt.
fn store_only_the_hash(blake3: String) -> fsderby::schema::record::FileRef {
    fsderby::schema::record::FileRef { path: String::new(), blake3, what: String::new() }
}

#[test]
fn an_array_with_a_killed_task_gives_the_run_of_one_machine_and_foreign_shards_are_refused() {
    if !has_guests("a campaign on Slurm") {
        return;
    }
    let Some(cluster) = Cluster::start("a campaign on Slurm") else { return };
    let desk = Desk::new();
    desk.file("plan.toml", PLAN);
    for odd in ["100%a", "a\\b", "a\nb"] {
        let words = ["slurm", "plan.toml", "--output", odd, "--tasks", "4", "--write"];
        desk.refuses(&words, exit::USAGE.into(), &["the campaign's folder", "contains a ", "try: --output"]);
    }
    let say = |words: &[&str]| run(desk.fsderby(words).env("SLURM_CONF", cluster.path("slurm.conf")));
    let said = say(&["slurm", "plan.toml", "--output", ODD, "--tasks", "4", "--submit"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let campaign = desk.path(ODD);

    // A task is killed in the middle of its trial; its script requeues it.
    let begun = |_: &Cluster| campaign.join("shards/2/trials.jsonl").exists();
    cluster.wait("second shard", begun);
    let process = process_of(&campaign, "2/4").expect("its process");
    kill_process(process, Signal::KILL).unwrap();
    cluster.wait("end of the campaign", |_| campaign.join("ended/check").exists());
    let log = |name: &str| fs::read_to_string(campaign.join("log").join(name)).unwrap_or_default();
    for name in ["probe", "merge", "finish", "shards-1"] {
        assert_eq!(
            fs::read_to_string(campaign.join("ended").join(name)).unwrap(),
            "0\n",
            "{name}: {}",
            log("merge.txt")
        );
    }
    assert_eq!(fs::read_to_string(campaign.join("ended/check")).unwrap(), "0\n", "{}", log("check.txt"));
    assert!(log("check.txt").contains("rerun: 1 identical, 0 different"), "{}", log("check.txt"));
    fs::rename(&campaign, desk.path("campaign")).unwrap();
    let said = say(&["slurm", "status", "campaign"]);
    assert!(said.code == 0 && said.out.contains("4 done, 0 running"), "{said:#?}");
    assert!(said.out.contains("merged: complete") && said.out.contains("identical"), "{said:#?}");

    let said = say(&["run", "plan.toml", "--output", "whole", "--quiet"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let merged = desk.path("campaign/run");
    assert_eq!(measured(&merged), measured(&desk.path("whole")));
    let plans = [&merged, &desk.path("whole")].map(|run| fs::read_to_string(run.join("plan.toml")).unwrap());
    assert_eq!(plans[0], plans[1]);
    let read = store::read(&merged).unwrap();
    let nodes = read.current().iter().map(|record| record.circumstances.node.clone()).collect::<Vec<_>>();
    assert!(NODES.iter().all(|node| nodes.iter().any(|on| on == node)), "{nodes:?}");
    assert!(desk.path("campaign/run/report.html").exists());

    refused(&desk);
    differs(&desk, &nodes[0]);
}

/// What no merge accepts, by its name.
fn refused(desk: &Desk) {
    let shard = |n: u32| format!("campaign/shards/{n}");
    let [one, two, three, four] = [1, 2, 3, 4].map(shard);
    let [one, two, three, four] = [&one, &two, &three, &four].map(String::as_str);
    let merge = |shards: &[&str], code: u8, words: &[&str]| {
        desk.refuses(&[&["merge", "out"], shards].concat(), code.into(), words);
    };
    copy(&desk.path(four), &desk.path("damaged"));
    let trials = desk.path("damaged/trials.jsonl");
    let text = fs::read_to_string(&trials).unwrap();
    fs::write(&trials, text.replacen("\"done\"", "\"fine\"", 1)).unwrap();
    merge(&[one, two, three, "damaged"], exit::DAMAGED, &["damaged is damaged", "try: "]);
    merge(&[one, two, three, four, two], exit::SHARDS, &["both shard 2/4", "try: "]);
    merge(&[one, two, four], exit::SHARDS, &["shard 3/4 is missing", "--shard 3/4"]);
    let mut forger = Forger::of(&desk.path(four));
    forger.plan.plan_seed += 1;
    forger.write();
    copy(&forger.folder(), &desk.path("foreign"));
    merge(&[one, two, three, "foreign"], exit::SHARDS, &["the plan (plan_seed) of foreign", "try: "]);
    merge(&[one, two, three, "campaign/run"], exit::SHARDS, &["campaign/run is a merged run, not a shard"]);
}

/// A node whose figures differ, and nobody saw it: the trial is run again.
fn differs(desk: &Desk, node: &str) {
    let shard = desk.path("campaign/shards/1");
    let trial = store::read(&shard).unwrap().records[0].trial.clone();
    let mut forger = Forger::of(&shard);
    forger.record(&trial).steps[0].minflt += 1;
    forger.compute_again(&trial);
    forger.write();
    copy(&forger.folder(), &desk.path("odd"));
    let shards = ["odd", "campaign/shards/2", "campaign/shards/3", "campaign/shards/4"];
    let said = desk.say(&[&["merge", "odd-run"][..], &shards].concat());
    assert_eq!(said.code, 0, "{said:#?}");
    let said = desk.say(&["verify", "odd-run", "--rerun", &trial]);
    assert_eq!(said.code, i32::from(exit::HASH), "{said:#?}");
    let here = fsderby::host::node::name();
    assert!(said.out.contains("DIFFERS") && said.out.contains(&format!("again on {here}")), "{said:#?}");
    assert!(NODES.iter().any(|on| said.out.contains(&format!("first on {on}"))), "{node}: {said:#?}");
}
