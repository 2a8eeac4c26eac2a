//! The example run of [`super::example`] on a modelled disk: four filesystems, some with ratios that depend on the sample, and
//! the requests of the first round.

use std::fs;

use fsderby_diskmodel::{Factor, Level, Op, Point, SHIPPED, Sample, Spec};
use fsderby_stats::screening::row;

use super::Example;
use crate::analysis::corners;
use crate::analysis::ensemble::SAMPLES_NEEDED;
use crate::schema::event::Stepped;
use crate::schema::job::{Purpose, RESEEDED, StepName};
use crate::schema::record::{FileRef, Record};
use crate::schema::request::Served;
use crate::schema::setup::{ClockKind, Fidelity, Modelled, Named};
use crate::schema::units::{Bytes, GIB, MIB};

/// The labels of the filesystems, in this order: always better than others; always worse; equivalent to the first; and better than
/// some others unless cached writes may wait long.
const LABELS: [&str; 4] = ["cedarfs", "rowanfs", "alderfs", "birchfs"];

/// The example with this many samples, all on the first workload.
pub fn samples(n: u32) -> Example {
    let mut example = super::rounds(n);
    let run = &mut example.run;
    run.plan.testbed = "model:diamondmax-plus-8,offset=30g".into();
    run.plan.candidates.retain(|e| LABELS.contains(&e.label.as_str()));
    run.plan.workloads.truncate(1);
    run.plan.scenarios.truncate(1);
    run.records
        .retain(|r| LABELS.contains(&r.filesystem.as_str()) && r.scenario == super::WORKS[0] && r.round > 0);
    run.records.retain(|r| r.metrics.iter().any(|m| m.headline));
    let folder = example.folder();
    for record in &mut example.run.records {
        on_model(record);
        if record.round == 1 {
            record.requests = Some(requests(&folder, record));
        }
    }
    if n as usize >= SAMPLES_NEEDED {
        let seeds = (1..=RESEEDED).map(Purpose::Reseeded);
        let plain = [Purpose::Doubled, Purpose::Tripled, Purpose::Dear, Purpose::Cheap];
        let all: Vec<Purpose> = plain.into_iter().chain(seeds).collect();
        extend(&mut example, |_| all.clone());
        let due = corners::of(&example.run);
        extend(&mut example, |record| {
            let mine = due.iter().filter(|corner| corner.candidate == record.filesystem);
            mine.map(|corner| Purpose::Corner(corner.point)).collect()
        });
    }
    example
}

/// Adds extra trials with the first round's disk.
fn extend(example: &mut Example, purposes: impl Fn(&Record) -> Vec<Purpose>) {
    let is_first = |record: &&Record| record.round == 1 && record.purpose == Purpose::Measure;
    let first = example.run.records.iter().filter(is_first);
    let again =
        first.flat_map(|record| purposes(record).into_iter().map(|purpose| for_purpose(record, purpose)));
    let again: Vec<Record> = again.collect();
    example.run.records.extend(again);
}

/// An extra trial for one purpose. Disk-model overhead: each repetition of the server's work costs 1 % of the time, a little more
/// on alderfs. Seeds: another seed shifts birchfs by 1 %. Instruction cost: instructions take 10 % of the time. Corner: the disk is
/// a different one.
fn for_purpose(record: &Record, purpose: Purpose) -> Record {
    let mut record = Record { purpose, requests: None, histograms: Vec::new(), ..record.clone() };
    record.trial = record.trial.replace("r01", &purpose.to_string());
    let share = if record.filesystem == "alderfs" { 0.012 } else { 0.01 };
    let mut times = 1.0 / (1.0 + share * f64::from(purpose.server_work() - 1));
    if let Purpose::Reseeded(n) = purpose {
        record.workload_seed += u64::from(n);
        times = if record.filesystem == "birchfs" { 1.0 + 0.002 * f64::from(n) } else { 1.0 };
    }
    if let Purpose::Corner(point) = purpose {
        let sample = disk().sample(point, 7, 0);
        change(&mut record, |modelled| modelled.sample = sample);
        let there = 100.0 * speed(&record, sample);
        record.metrics.iter_mut().filter(|m| m.headline).for_each(|m| m.value = there);
    }
    change(&mut record, |modelled| {
        let usual = modelled.mips;
        (modelled.server_work, modelled.mips) = (purpose.server_work(), purpose.cost().mips(usual));
        times /= 0.9 + 0.1 * f64::from(usual) / f64::from(modelled.mips);
    });
    record.metrics.iter_mut().filter(|m| m.headline).for_each(|m| m.value *= times);
    record
}

fn disk() -> Spec {
    let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "diamondmax-plus-8").expect("it is shipped");
    Spec::parse(text).expect("it is a disk")
}

fn on_model(record: &mut Record) {
    let at = record.round.checked_sub(2).map_or(Point::NOMINAL, |n| Point::corner(row(n as usize)));
    let sample = disk().sample(at, 7, record.round - 1);
    record.testbed = "model:diamondmax-plus-8".into();
    let mips = [500, 250, 1000][sample.levels.of(Factor::Cpu).map_or(0, |level| level as usize + 1)];
    let disk = "diamondmax-plus-8".into();
    let machine = String::new();
    let blake3 = String::new();
    let modelled = Modelled {
        disk,
        blake3,
        mips,
        sample,
        ensemble: true,
        guest_seed: 7,
        disks: 1,
        machine,
        instructions: vec![],
        source: false,
        server_work: 1,
        write_through: false,
        preconditioned: false,
    };
    record.storage = Named::new("disk", &modelled).into();
    let away = sample.levels.of(Factor::Position).map_or(0, |level| if level == Level::Low { -1 } else { 1 });
    record.volume.offset = Bytes((30 * GIB).saturating_add_signed(away * 4 * GIB.cast_signed()));
    (record.clock, record.fidelity) = (ClockKind::Virtual, Fidelity::Model);
    record.stages[0].window_ns = Some([10_000_000_000, 12_000_000_000]);
    let step = |step: StepName, ns: u64| Stepped { step, ns, ..Stepped::default() };
    record.steps.retain(|s| s.step != StepName::Work);
    record.steps.extend([step(StepName::Work, 1_900_000_000), step(StepName::Sync, 100_000_000)]);
    let counters = [
        ("seek_ns", 700_000_000),
        ("rotation_ns", 500_000_000),
        ("transfer_ns", 200_000_000),
        ("idle_ns", 600_000_000),
        ("overhead_ns", 90_000_000),
    ];
    record.stages[0].probes.insert("disk".into(), counters.map(|(name, ns)| (name.to_owned(), ns)).into());
    let cpu = [
        ("machine_cpus_ns", 2_000_000_000),
        ("machine_idle_ns", 1_400_000_000),
        ("machine_iowait_ns", 100_000_000),
    ];
    record.stages[0].probes.insert("cpu".into(), cpu.map(|(name, ns)| (name.to_owned(), ns)).into());
    let value = 100.0 * speed(record, sample);
    record.metrics.iter_mut().filter(|m| m.headline).for_each(|m| m.value = value);
}

/// Changes the record's disk, placement or CPU.
pub fn change(record: &mut Record, change: impl FnOnce(&mut Modelled)) {
    let mut modelled = record.storage.settings().expect("a disk is modelled");
    change(&mut modelled);
    record.storage = Named::new("disk", &modelled).into();
}

fn speed(record: &Record, sample: Sample) -> f64 {
    let seek = |step: f64| match sample.levels.of(Factor::Seek) {
        None => 0.0,
        Some(Level::Low) => -step,
        Some(Level::High) => step,
    };
    match (record.filesystem.as_str(), sample.levels.of(Factor::Destaging)) {
        ("cedarfs", _) => 2.0,
        ("rowanfs", _) => 0.5,
        ("birchfs", Some(Level::High)) => 0.8,
        ("birchfs", _) => 1.3 + seek(0.015),
        _ => 1.0 + seek(0.0015),
    }
}

/// A write every millisecond; each tenth request is a read, each hundredth a flush.
fn requests(folder: &std::path::Path, record: &Record) -> FileRef {
    let first = 30 * GIB / 512;
    let volume = record.volume.size.0 / 512;
    let one = |n: u64| Served {
        arrived_ns: 10_000_000_000 + n * 1_000_000,
        done_ns: 10_000_500_000 + n * 1_000_000,
        sector: first + (n * 65_537 * 8 + n / 2 * 8) % (volume - MIB),
        sectors: 8,
        op: match n {
            n if n % 100 == 99 => Op::Flush,
            n if n % 10 == 9 => Op::Read,
            _ => Op::Write,
        },
        fua: false,
        from_cache: true,
        depth: (n % 5) as u8 + 1,
        seek_ns: 0,
        rotation_ns: 0,
        transfer_ns: 0,
        overhead_ns: 90_000,
        disk: 0,
        life: 0,
    };
    let bytes: Vec<u8> = (0..2000).flat_map(|n| one(n).to_bytes()).collect();
    let path = format!("{}.bin", record.filesystem);
    fs::write(folder.join(&path), &bytes).expect("the folder takes files");
    let blake3 = blake3::hash(&bytes).to_hex().to_string();
    FileRef { path, blake3, what: "requests".into() }
}
