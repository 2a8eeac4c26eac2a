//! A made-up run for the tests: eight filesystems that do not exist, two workloads, six rounds; one trial failed, one was
//! void and repeated, two were skipped.

pub mod letters;
pub mod model;
pub mod needs;
pub mod published;
pub mod verdict;

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tempfile::TempDir;

use crate::analysis::dataset::Dataset;
use crate::analysis::latencies::Latencies;
use crate::filesystems::*;
use crate::report::Report;
use crate::report::build;
use crate::report::build::known::Known;
use crate::schema::event::{Buckets, Phase, Space, Stepped};
use crate::schema::finding::Verdict;
use crate::schema::job::{At, Purpose, StepName, WorkSpec};
use crate::schema::machine::{Build, Disk, Machine, OnMachine, Tool};
use crate::schema::metric::{Better, Metric, Of};
use crate::schema::plan::{Candidate, Plan, PlannedWork, Rounds};
use crate::schema::reason::Reason;
use crate::schema::reason::*;
use crate::schema::record::*;
use crate::schema::scenario::Scenario;
use crate::schema::setup::{ClockKind, Fidelity, ImageState, Named, Volume};
use crate::schema::story::Story;
use crate::schema::units::{Bytes, GIB, MIB, Percent};
use crate::schema::work::Amount;
use crate::store::{Door, Run};

const KNOWN: Known =
    Known { kind: find, kinds: || KINDS.iter().map(|kind| kind.name).collect(), metrics: letters::declared };

/// A run and the folder that holds its histograms.
pub struct Example {
    pub run: Run,
    folder: TempDir,
}

impl Example {
    /// Where files beside the records are.
    pub fn folder(&self) -> std::path::PathBuf {
        self.folder.path().to_owned()
    }

    pub fn report(&self) -> Report<'_> {
        let latencies = Latencies::of(&self.run);
        Report { run: &self.run, summary: build::summary(&self.run, &latencies, KNOWN, None) }
    }

    /// With a verdict of the test's own.
    pub fn judged(&self, verdict: Verdict, baseline: Option<&str>) -> Report<'_> {
        let read = build::Read { dataset: Dataset::of(&self.run), latencies: &Latencies::of(&self.run) };
        Report { run: &self.run, summary: build::with_verdict(&self.run, &read, verdict, KNOWN, baseline) }
    }
}

pub const WORKS: [&str; 2] = ["letters-quick", "letters-in-memory"];

/// Label, kind, speed: the first has the speed of 1.
const CANDIDATES: [(&str, &str, f64); 8] = [
    ("alderfs", "alderfs", 1.0),
    ("alderfs, no atime", "alderfs", 1.06),
    ("birchfs", "birchfs", 0.82),
    ("birchfs-journal", "birchfs-journal", 0.41),
    ("cedarfs", "cedarfs", 1.31),
    ("elmfs with an unusually long label, 16k blocks", "elmfs", 0.66),
    ("maplefs", "maplefs", 0.74),
    ("rowanfs", "rowanfs", 0.23),
];

/// The whole example.
pub fn example() -> Example {
    rounds(6)
}

/// The example with so many rounds.
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
    // Reports name the folder; a random one would never give the same report twice.
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

/// Nothing could be compared here.
pub fn all_skipped() -> Example {
    let mut example = rounds(1);
    let all: Vec<(&str, usize)> = CANDIDATES.iter().flat_map(|e| [(e.0, 0), (e.0, 1)]).collect();
    let why = "this kernel has none of them\n  try: --on vm";
    example.run.records = skipped(&example.run.plan, &all, why);
    example
}

/// The records of these labels and workloads, which cannot take part.
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
        guard: None,
        schema: 1,
        name: "mail server, eight candidates".into(),
        analysis: "Which of them should hold the mail spool?".into(),
        testbed: "loop".into(),
        size: Bytes(2 * GIB),
        memory: Some(Bytes(512 * MIB)),
        cpus: None,
        image: ImageState::Allocated,
        layers: Vec::new(),
        state: None,
        cold: true,
        clients: 1,
        rounds: Rounds::Exactly(rounds),
        budget: None,
        margin: Percent(3.0),
        floor: false,
        plan_seed: 42,
        workload_seed: 7,
        needs: None,
        candidates: CANDIDATES.iter().map(candidate).collect(),
        workloads: vec![planned(0), planned(1)],
        scenarios: WORKS.map(Scenario::of_work).to_vec(),
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
        fsderby: Build { version: "0.1.0".into(), blake3: "d74981efa70a0c880b8d8c1985d075db".into() },
        kernel: "6.12.9".into(),
        kernel_build: "#1 SMP PREEMPT_DYNAMIC".into(),
        architecture: "x86_64".into(),
        cpu: "Example 3000".into(),
        cpus: 4,
        memory: Bytes(16 * GIB),
        hypervisor: String::new(),
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

/// What a trial's turn leaves behind: usually one record.
fn trial(folder: &Path, plan: &Plan, work: usize, round: u32, place: u32, who: usize) -> Vec<Record> {
    let record = record(plan, work, round, place, who);
    match (work, round, CANDIDATES[who].0) {
        (0, 3, "maplefs") => {
            let why = "work: write of 's17/4711' failed: Input/output error; try: dmesg";
            vec![without_result(record, Outcome::Failed, why)]
        }
        (0, 4, "cedarfs") => {
            let why = "validity check cold did not hold: the device read 3 MiB of 310 MiB";
            let void = without_result(record.clone(), Outcome::Void, why);
            vec![void, measured(folder, Record { attempt: 2, ..record }, work, who)]
        }
        (1, _, "rowanfs" | "birchfs-journal") => Vec::new(),
        _ => vec![measured(folder, record, work, who)],
    }
}

fn record(plan: &Plan, work: usize, round: u32, place: u32, who: usize) -> Record {
    let candidate = &plan.candidates[who];
    Record {
        schema: SCHEMA,
        trial: format!("r{round:02}/{}/{}", WORKS[work], candidate.label),
        attempt: 1,
        purpose: Purpose::Measure,
        round,
        order: place,
        filesystem: candidate.label.clone(),
        kind: candidate.kind.clone(),
        variant: candidate.variant.clone(),
        scenario: WORKS[work].into(),
        works: vec![RecordedWork {
            name: WORKS[work].into(),
            work: plan.workloads[work].work.clone(),
            params_hash: "0".repeat(64),
            amount: Amount {
                files_peak: 20_400,
                bytes_read: 1_900 * MIB,
                bytes_written: 2_100 * MIB,
                bytes_peak: if work == 0 { 980 * MIB } else { 210 * MIB },
            },
            measured: true,
            clients: 1,
        }],
        testbed: plan.testbed.clone(),
        setup: plan.testbed.clone(),
        kernel: "6.12.9".into(),
        storage: Named { name: "image".into(), ..Named::default() },
        volume: Volume { size: plan.size, offset: Bytes(0) },
        layers: Vec::new(),
        state: None,
        top: None,
        memory: plan.memory,
        cpus: plan.cpus,
        workload_seed: plan.workload_seed(round),
        clock: ClockKind::Host,
        fidelity: Fidelity::Loop,
        outcome: Outcome::Done,
        reason: None,
        mounted: Some(Mounted {
            source: "/dev/loop3".into(),
            fstype: candidate.kind.clone(),
            driver: candidate.kind.clone(),
            options: vec!["rw".into(), "relatime".into()],
        }),
        steps: Vec::new(),
        space: vec![Space {
            at: At::Fresh,
            total: plan.size,
            free: plan.size,
            usable: plan.size,
            inodes: 131_072,
        }],
        stages: vec![StageRecord::default()],
        host_probes: BTreeMap::new(),
        not_available: BTreeMap::new(),
        seen: Vec::new(),
        validity: Vec::new(),
        trees: Vec::new(),
        sandbox: None,
        worker: None,
        survivors: None,
        provenance: BTreeMap::new(),
        histograms: Vec::new(),
        console: None,
        requests: None,
        metrics: Vec::new(),
        metrics_version: 1,
        circumstances: Circumstances {
            launch_ns: 40_000_000,
            started: format!("2026-11-21T{:02}:{:02}:00Z", 8 + round, (place * 6) % 60),
            host_ns: 31_000_000_000,
            load: 0.25,
            steal_ns: 0,
            clock_drift_ns: 0,
            interference: None,
        },
        previous: String::new(),
    }
}

fn without_result(record: Record, outcome: Outcome, why: &str) -> Record {
    let metrics = Vec::new();
    let reason = Some(Reason::Skipped { text: why.into() });
    Record { outcome, reason, metrics, histograms: Vec::new(), ..record }
}

fn integrity_check(plan: &Plan) -> Record {
    let mut record = record(plan, 0, 0, 1, 0);
    record.trial = format!("integrity/{}/{}", WORKS[0], record.filesystem);
    record.purpose = Purpose::Integrity;
    record.metrics =
        vec![time("check-filled.time", 2.7), Metric::new("mkfs.time", 9.9, "s", Of::Time, Better::Lower)];
    record
}

fn measured(folder: &Path, record: Record, work: usize, who: usize) -> Record {
    let mut noise = Noise::of(&record);
    let speed = CANDIDATES[who].2 * if work == 0 { 1.0 } else { 14.0 };
    let seconds = 27.0 / speed;
    let metrics = metrics(&record, speed, &mut noise);
    let step = |step: StepName, ns: u64| Stepped { step, ns, ..Stepped::default() };
    let phase = Phase { name: "work".into(), ns: (seconds * 1e9) as u64, counts: BTreeMap::new() };
    Record {
        steps: vec![
            step(StepName::Make, 310_000_000),
            step(StepName::Mount, 12_000_000),
            step(StepName::Work, phase.ns),
        ],
        stages: vec![StageRecord { phases: vec![phase], ..record.stages[0].clone() }],
        validity: validity(&record),
        histograms: vec![histograms(folder, &record, speed, &mut noise)],
        metrics,
        ..record
    }
}

fn validity(record: &Record) -> Vec<ValidityCheck> {
    let check = |name: Condition, asked: &str, seen: &str, held| ValidityCheck {
        name,
        asked: asked.into(),
        seen: seen.into(),
        held,
    };
    let mut all = vec![
        check(Condition::Mount, "defaults", "rw, relatime", Held::Yes),
        check(Condition::Cold, "310 MiB from the device", "311 MiB", Held::Yes),
    ];
    if record.kind == "cedarfs" {
        let seen = format!("1.{} GiB (compressed)", record.round);
        all.push(check(Condition::Stored, "2.1 GiB in full", &seen, Held::Label));
    }
    all
}

fn rate(name: &str, value: f64) -> Metric {
    Metric::new(name, value, "1/s", Of::Time, Better::Higher)
}

fn time(name: &str, value: f64) -> Metric {
    Metric::new(name, value, "s", Of::Time, Better::Lower)
}

fn counter(name: &str, value: f64) -> Metric {
    Metric::new(name, value.round(), "", Of::Count, Better::Lower)
}

fn metrics(record: &Record, speed: f64, noise: &mut Noise) -> Vec<Metric> {
    let mut vary = |value: f64| value * noise.factor();
    let bytes = |name: &str, value: f64, better| Metric::new(name, value.round(), "bytes", Of::Bytes, better);
    let share = |name: &str, value: f64, better| Metric::new(name, value, "%", Of::Share, better);
    let in_memory = record.scenario == WORKS[1];
    let ratio = if in_memory { 0.31 } else { 1.12 / speed.max(0.4) };
    let mut all = vec![
        rate("transactions.rate", vary(1850.0 * speed)).headline(),
        rate("create.alone.rate", vary(9200.0 * speed)),
        rate("create.mixed.rate", vary(930.0 * speed)),
        rate("read.rate", vary(925.0 * speed)),
        rate("append.rate", vary(919.0 * speed)),
        rate("delete.alone.rate", vary(15_400.0 * speed)),
        rate("delete.mixed.rate", vary(931.0 * speed)),
        Metric::new("read.throughput", vary(47.0 * speed), "MiB/s", Of::Time, Better::Higher),
        Metric::new("write.throughput", vary(61.0 * speed), "MiB/s", Of::Time, Better::Higher),
        time("work.time", vary(27.0 / speed)),
        time("seal.time", vary(3.0 / speed)),
        time("mkfs.time", vary(0.31)),
        time("mount.time", vary(0.012)),
        time("sync.time", vary(2.3 / speed)),
        time("unmount.time", vary(0.11)),
        time("check.time", vary(1.4)),
        share("cpu.share", vary(23.0), Better::Neither),
        time("cpu.time", vary(9.4)),
        time("cpu.machine", vary(11.2)),
        counter("faults.minor", vary(5210.0)),
        counter("faults.major", 0.0),
        bytes("device.bytes_written", vary(2.3e9 * ratio), Better::Lower),
        bytes("device.bytes_read", vary(3.3e8), Better::Lower),
        counter("device.writes", vary(41_000.0)),
        counter("device.reads", vary(7000.0)),
        counter("device.flushes", vary(57.0)),
        Metric::new("device.written_ratio", vary(ratio), "", Of::Share, Better::Neither),
        share("capacity.initial", 97.3, Better::Higher),
        share("capacity.residual", 96.9, Better::Higher),
        bytes("memory.peak", vary(4.9e8), Better::Lower),
    ];
    if in_memory {
        let mut seeks = rate("seeks.random.rate", vary(410.0));
        seeks.dimensions = BTreeMap::from([("file_bytes".to_owned(), "4096".to_owned())]);
        all.push(seeks);
    }
    all
}

fn histograms(folder: &Path, record: &Record, speed: f64, noise: &mut Noise) -> FileRef {
    let path = format!("histograms/{}.jsonl", record.trial.replace(['/', ' ', ','], "-"));
    let mut text = String::new();
    for (operation, ns) in
        [("create", 95_000.0), ("read", 40_000.0), ("append", 61_000.0), ("delete", 33_000.0)]
    {
        let mut at = |factor: f64, count| ((ns / speed * factor * noise.factor()) as u64, count);
        let buckets =
            vec![at(0.5, 20), at(1.0, 9000), at(2.0, 2400), at(4.0, 500), at(30.0, 60), at(300.0, 3)];
        let (phase, operation, unit) = ("transactions".to_owned(), operation.to_owned(), "ns".to_owned());
        let line = serde_json::to_string(&Buckets { of: None, phase, operation, unit, buckets });
        text += &line.expect("a histogram is JSON");
        text.push('\n');
    }
    fs::write(folder.join(&path), &text).expect("write a histogram");
    let blake3 = blake3::hash(text.as_bytes()).to_hex().to_string();
    FileRef { path, blake3, what: "work".into() }
}

/// Some percent up or down, the same for the same trial on every machine.
struct Noise(Xoshiro256PlusPlus);

impl Noise {
    fn of(record: &Record) -> Self {
        Noise(Xoshiro256PlusPlus::from_seed(*blake3::hash(record.trial.as_bytes()).as_bytes()))
    }

    fn factor(&mut self) -> f64 {
        1.0 + ((self.0.next_u64() % 2001) as f64 / 1000.0 - 1.0) * 0.06
    }
}

/// A kind that exists in these tests only.
struct MadeUp {
    name: &'static str,
    journal: Journal,
}

static KINDS: [MadeUp; 7] = [
    MadeUp { name: "alderfs", journal: Journal::Metadata },
    MadeUp { name: "birchfs", journal: Journal::None },
    MadeUp { name: "birchfs-journal", journal: Journal::MetadataAndData },
    MadeUp { name: "cedarfs", journal: Journal::CopyOnWrite },
    MadeUp { name: "elmfs", journal: Journal::Metadata },
    MadeUp { name: "maplefs", journal: Journal::Metadata },
    MadeUp { name: "rowanfs", journal: Journal::None },
];

fn find(name: &str) -> Option<&'static dyn Filesystem> {
    KINDS.iter().find(|k| k.name == name).map(|k| k as &dyn Filesystem)
}

fn fact<T>(value: T, source: &'static str) -> Fact<T> {
    Fact { value, source }
}

impl Filesystem for MadeUp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn story(&self) -> Story {
        let what = "A filesystem that exists in tests only.";
        Story { what, origin: "Nobody made it.", limits: "Everything." }
    }

    fn package(&self) -> &'static str {
        "none"
    }

    fn kernel(&self) -> KernelNeed {
        KernelNeed { types: &[], modules: &[] }
    }

    fn size(&self) -> RangeInclusive<Bytes> {
        Bytes(0)..=Bytes(u64::MAX)
    }

    fn can(&self) -> Capabilities {
        let (manual, kernel) = ("mkfs(8) of the made-up tools", "Documentation/filesystems/made-up.rst");
        let modern = self.journal == Journal::CopyOnWrite;
        let old = self.journal == Journal::None;
        Capabilities {
            journal: fact(self.journal, kernel),
            data_checksums: fact(modern, kernel),
            metadata_checksums: fact(!old, kernel),
            snapshots: fact(modern, kernel),
            compression: fact(modern, manual),
            reflinks: fact(modern, kernel),
            quotas: fact(!old && !modern, kernel),
            hard_links: fact(!old, kernel),
            symlinks: fact(!old, kernel),
            modes: fact(!old, kernel),
            acl: fact(!old, kernel),
            xattr: fact(!old, kernel),
            sparse_files: fact(!old, kernel),
            case_sensitive: fact(!old, kernel),
            grow: fact(if old { Resize::No } else { Resize::Mounted }, manual),
            shrink: fact(if old { Resize::No } else { Resize::Unmounted }, manual),
            check: fact(Some(if modern { Depth::Shallow } else { Depth::Full }), manual),
            largest_file: fact(Bytes(if old { 4 * GIB - 1 } else { 16 * 1024 * GIB }), kernel),
            root_entries: fact(old.then_some(512), kernel),
            conversion: fact(modern, manual),
            linux: fact(Linux { since: "2.6.19", until: None, driver: self.name }, kernel),
        }
    }

    fn make(&self, _: &Variant) -> Vec<Argv> {
        Vec::new()
    }

    fn check(&self) -> Option<Check> {
        None
    }

    fn recover(&self) -> Recovery {
        Recovery { repair: Vec::new(), replays_on_mount: false }
    }

    fn version(&self) -> Argv {
        Vec::new()
    }

    fn mount(&self, _: &Variant) -> Mount {
        Mount::Syscall { fstype: self.name.into(), options: Vec::new() }
    }
}
