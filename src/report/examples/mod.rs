//! A made-up run for the tests: eight filesystems that do not exist, two workloads, six rounds; one trial failed, one was
//! void and repeated, two were skipped.

mod kinds;
pub mod letters;
pub mod model;
pub mod needs;
pub mod published;
mod trials;
pub mod verdict;
pub mod works;

use std::fs;

use tempfile::TempDir;

use self::kinds::{KINDS, find};
pub use self::trials::WORKS;
use self::trials::{CANDIDATES, integrity_check, record, trial, without_result};
use crate::analysis::dataset::Dataset;
use crate::analysis::latencies::Latencies;
use crate::filesystems::*;
use crate::report::Report;
use crate::report::compose;
use crate::report::compose::known::Known;
use crate::schema::finding::Verdict;
use crate::schema::job::{Purpose, WorkSpec};
use crate::schema::machine::{Build, Disk, Machine, OnMachine, Tool};
use crate::schema::plan::{Candidate, Plan, PlannedWork, Rounds};
use crate::schema::reason::*;
use crate::schema::record::*;
use crate::schema::scenario::Scenario;
use crate::schema::setup::ImageState;
use crate::schema::units::{Bytes, GIB, MIB, Percent};
use crate::store::{Door, Run};

const KNOWN: Known =
    Known { kind: find, kinds: || KINDS.iter().map(|kind| kind.name).collect(), metrics: letters::declared };

/// A run and the folder that holds its histograms.
pub struct Example {
    pub run: Run,
    folder: TempDir,
}

impl Example {
    /// The folder with the files beside the records.
    pub fn folder(&self) -> std::path::PathBuf {
        self.folder.path().to_owned()
    }

    pub fn report(&self) -> Report<'_> {
        let latencies = Latencies::of(&self.run);
        Report { run: &self.run, summary: compose::summary(&self.run, &latencies, KNOWN, None) }
    }

    /// The report of this run with a verdict made by the test.
    pub fn judged(&self, verdict: Verdict, baseline: Option<&str>) -> Report<'_> {
        let read = compose::Read { dataset: Dataset::of(&self.run), latencies: &Latencies::of(&self.run) };
        Report { run: &self.run, summary: compose::with_verdict(&self.run, &read, verdict, KNOWN, baseline) }
    }
}

/// The whole example.
pub fn example() -> Example {
    rounds(6)
}

/// The example with this many rounds.
pub fn rounds(rounds: u32) -> Example {
    let folder = TempDir::new().expect("a folder for histograms");
    fs::create_dir(folder.path().join("histograms")).expect("a folder in it");
    let plan = plan(rounds);
    let mut records =
        skipped(&plan, &[("birchfs-journal", 1)], "this kernel has no birchfs-journal\n  try: --on vm");
    let why = "letters needs hard links, which rowanfs cannot make";
    records.extend(skipped(&plan, &[("rowanfs", 1)], why));
    records.push(integrity_check(&plan));
    for round in 1..=rounds {
        for (work, name) in WORKS.iter().enumerate() {
            for (place, who) in plan.order(round, name).into_iter().enumerate() {
                records.extend(trial(folder.path(), &plan, work, round, place as u32 + 1, who));
            }
        }
    }
    // Reports name the folder; a random name would make each report different.
    let run = Run {
        folder: "results/mail server-2026-11-21".into(),
        door: Door::open(folder.path()).expect("the folder is there"),
        plan,
        machine: machine(),
        records,
        damage: Vec::new(),
        torn: Vec::new(),
        seal: None,
        verdict: None,
        unsealed: 0,
    };
    Example { run, folder }
}

/// The example with every filesystem twice, under a second label.
pub fn sixteen() -> Example {
    let mut example = example();
    let second = |label: &str| format!("{label} (2)");
    let twins: Vec<Candidate> = example
        .run
        .plan
        .candidates
        .iter()
        .map(|e| Candidate { label: second(&e.label), ..e.clone() })
        .collect();
    example.run.plan.candidates.extend(twins);
    let twin = |r: &Record| Record {
        filesystem: second(&r.filesystem),
        trial: second(&r.trial),
        order: r.order + 8,
        ..r.clone()
    };
    let twins: Vec<Record> = example.run.records.iter().map(twin).collect();
    example.run.records.extend(twins);
    example
}

/// Every trial is skipped, so nothing is compared.
pub fn all_skipped() -> Example {
    let mut example = rounds(1);
    let all: Vec<(&str, usize)> = CANDIDATES.iter().flat_map(|e| [(e.0, 0), (e.0, 1)]).collect();
    let why = "this kernel has none of them\n  try: --on vm";
    example.run.records = skipped(&example.run.plan, &all, why);
    example
}

/// Records of these labels and workloads that are skipped.
pub fn skipped(plan: &Plan, cells: &[(&str, usize)], why: &str) -> Vec<Record> {
    let one = |(label, work): &(&str, usize)| {
        let who = CANDIDATES.iter().position(|e| e.0 == *label).expect("a label of the example");
        let record = Record { purpose: Purpose::Integrity, mounted: None, ..record(plan, *work, 0, 0, who) };
        let trial = format!("skipped/{}/{label}", WORKS[*work]);
        without_result(Record { trial, ..record }, Outcome::Skipped, why)
    };
    cells.iter().map(one).collect()
}

fn plan(rounds: u32) -> Plan {
    let candidate = |(label, kind, _): &(&str, &str, f64)| Candidate {
        label: (*label).to_owned(),
        kind: (*kind).to_owned(),
        variant: variant(label),
        ..Candidate::default()
    };
    let planned = |at: usize| PlannedWork {
        label: WORKS[at].to_owned(),
        clients: None,
        work: work(if at == 0 { 50_000 } else { 5_000 }),
    };
    Plan {
        schema: 1,
        name: "mail server, eight candidates".into(),
        analysis: "Which of them should hold the mail spool?".into(),
        testbed: "loop".into(),
        size: Bytes(2 * GIB),
        memory: Some(Bytes(512 * MIB)),
        image: ImageState::Allocated,
        cold: true,
        clients: 1,
        rounds: Rounds::Exactly(rounds),
        margin: Percent(3.0),
        plan_seed: 42,
        workload_seed: 7,
        candidates: CANDIDATES.iter().map(candidate).collect(),
        workloads: vec![planned(0), planned(1)],
        scenarios: WORKS.map(Scenario::of_work).to_vec(),
        ..Plan::default()
    }
}

fn variant(label: &str) -> Variant {
    let words = |w: &[&str]| w.iter().map(|w| (*w).to_owned()).collect();
    match label {
        "alderfs, no atime" => Variant { mount: words(&["noatime"]), ..Variant::default() },
        long if long.starts_with("elmfs") => Variant { mkfs: words(&["-b", "16384"]), ..Variant::default() },
        _ => Variant::default(),
    }
}

fn work(transactions: i64) -> WorkSpec {
    let mut parameters = toml::Table::new();
    parameters.insert("files".into(), 20_000.into());
    parameters.insert("size".into(), "500..100000".into());
    parameters.insert("transactions".into(), transactions.into());
    WorkSpec { engine: "letters".into(), parameters }
}

fn machine() -> Machine {
    let tool = |kind: &str| Tool {
        kind: kind.into(),
        program: format!("mkfs.{kind}"),
        path: format!("/sbin/mkfs.{kind}"),
        version: "1.47.0".into(),
        blake3: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262".into(),
    };
    Machine {
        fsderby: Build {
            version: "0.1.0".into(),
            commit: String::new(),
            blake3: "d74981efa70a0c880b8d8c1985d075db".into(),
        },
        kernel: "6.12.9".into(),
        kernel_build: "#1 SMP PREEMPT_DYNAMIC".into(),
        architecture: "x86_64".into(),
        cpu: "Example 3000".into(),
        cpus: 4,
        memory: Bytes(16 * GIB),
        hypervisor: String::new(),
        node: String::new(),
        shards: Vec::new(),
        memory_groups: 2,
        setups: vec![on_machine("loop")],
        tools: ["alderfs", "birchfs", "cedarfs", "elmfs"].map(tool).to_vec(),
    }
}

pub fn on_machine(name: &str) -> OnMachine {
    OnMachine {
        name: name.into(),
        kernel: "6.12.9".into(),
        kernel_build: "#1 SMP PREEMPT_DYNAMIC".into(),
        cpu: "Example 3000".into(),
        cpus: 4,
        disk: Disk {
            name: "sda".into(),
            model: "Example Disk 7200".into(),
            size: Bytes(500 * GIB),
            rotational: true,
            scheduler: "mq-deadline".into(),
            fstype: "cedarfs".into(),
            options: vec!["rw".into(), "relatime".into()],
        },
        ..OnMachine::default()
    }
}
