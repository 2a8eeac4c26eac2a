//! The trials of the made-up run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::schema::event::{Buckets, Phase, Space, Stepped};
use crate::schema::job::{At, Purpose, StepName};
use crate::schema::metric::{Better, Metric, Of};
use crate::schema::plan::Plan;
use crate::schema::reason::*;
use crate::schema::record::*;
use crate::schema::setup::{ClockKind, Fidelity, Mounted, Named, Volume};
use crate::schema::shared::Keyed;
use crate::schema::shared::Shared;
use crate::schema::units::{Bytes, MIB};
use crate::schema::work::Amount;

pub const WORKS: [&str; 2] = ["letters-quick", "letters-in-memory"];

/// Label and kind of each candidate, and its speed relative to the first candidate.
pub const CANDIDATES: [(&str, &str, f64); 8] = [
    ("alderfs", "alderfs", 1.0),
    ("alderfs, no atime", "alderfs", 1.06),
    ("birchfs", "birchfs", 0.82),
    ("birchfs-journal", "birchfs-journal", 0.41),
    ("cedarfs", "cedarfs", 1.31),
    ("elmfs with an unusually long label, 16k blocks", "elmfs", 0.66),
    ("maplefs", "maplefs", 0.74),
    ("rowanfs", "rowanfs", 0.23),
];

/// The records of one trial: usually one.
pub fn trial(folder: &Path, plan: &Plan, work: usize, round: u32, place: u32, who: usize) -> Vec<Record> {
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

pub fn record(plan: &Plan, work: usize, round: u32, place: u32, who: usize) -> Record {
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
        variant: candidate.variant.clone().into(),
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
        }]
        .into(),
        testbed: plan.testbed.clone(),
        setup: plan.testbed.clone(),
        kernel: "6.12.9".into(),
        storage: Named { name: "image".into(), ..Named::default() }.into(),
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
        mounted: Some(Shared::from(Mounted {
            source: "/dev/loop3".into(),
            fstype: candidate.kind.clone(),
            driver: candidate.kind.clone(),
            options: vec!["rw".into(), "relatime".into()],
        })),
        steps: Vec::new(),
        space: vec![Space {
            at: At::Fresh,
            total: plan.size,
            free: plan.size,
            usable: plan.size,
            inodes: 131_072,
        }],
        stages: vec![StageRecord::default()],
        host_probes: Keyed::new(),
        not_available: BTreeMap::new().into(),
        seen: Vec::new(),
        validity: Vec::new(),
        trees: Vec::new(),
        sandbox: None,
        worker: None,
        survivors: None,
        provenance: BTreeMap::new().into(),
        histograms: Vec::new(),
        console: None,
        requests: None,
        metrics: Vec::new(),
        metrics_version: 1,
        circumstances: Circumstances {
            launch_ns: 40_000_000,
            from_state: false,
            started: format!("2026-11-21T{:02}:{:02}:00Z", 8 + round, (place * 6) % 60 + 3 * work as u32),
            host_ns: 31_000_000_000,
            load: 0.25,
            node: String::new(),
            other_runs: 0,
            steal_ns: 0,
            clock_drift_ns: 0,
            interference: None,
            drives: Vec::new(),
        },
        previous: String::new(),
    }
}

pub fn without_result(record: Record, outcome: Outcome, why: &str) -> Record {
    let metrics = Vec::new();
    let reason = Some(Reason::Skipped { text: why.into() });
    Record { outcome, reason, metrics, histograms: Vec::new(), ..record }
}

pub fn integrity_check(plan: &Plan) -> Record {
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
    let phase = Phase { name: "work".into(), ns: (seconds * 1e9) as u64, counts: Keyed::new() };
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
        time("cpu.work", vary(11.2)),
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

/// Deterministic noise of a few percent, seeded by the trial's name.
struct Noise(Xoshiro256PlusPlus);

impl Noise {
    fn of(record: &Record) -> Self {
        Noise(Xoshiro256PlusPlus::from_seed(*blake3::hash(record.trial.as_bytes()).as_bytes()))
    }

    fn factor(&mut self) -> f64 {
        1.0 + ((self.0.next_u64() % 2001) as f64 / 1000.0 - 1.0) * 0.06
    }
}
