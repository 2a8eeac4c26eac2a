//! The example's first scenario with several works, of which some sync and some do not; every latency is unique in the run.

use std::fs;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Example, WORKS, rounds};
use crate::schema::event::Buckets;
use crate::schema::metric::{Metric, WORK};
use crate::schema::record::{FileRef, Record, RecordedWork};
use crate::schema::scenario::Stage;

/// A measured work of the scenario.
pub struct Own {
    pub name: String,
    /// The operation whose latencies this work recorded: `fsync`, or another operation.
    pub operation: &'static str,
    /// Each candidate's only latency in this work.
    pub latencies_ns: Vec<(String, u64)>,
}

/// Names that occur in no other text of a report.
const NAMES: [&str; 5] = ["quagga", "okapi", "numbat", "quokka", "dugong"];

/// Two to five works in an order drawn from the seed, each with fsync or without.
pub fn of(seed: u64) -> (Example, Vec<Own>) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut example = rounds([2, 6][(random.next_u64() % 2) as usize]);
    let mut names = NAMES.to_vec();
    let number = 2 + (random.next_u64() % 4) as usize;
    let mut works: Vec<Own> = Vec::new();
    for _ in 0..number {
        let name = names.swap_remove((random.next_u64() % names.len() as u64) as usize).to_owned();
        let operation = if random.next_u64().is_multiple_of(2) { "fsync" } else { "create" };
        works.push(Own { name, operation, latencies_ns: Vec::new() });
    }
    let labels: Vec<String> = example.run.plan.candidates.iter().map(|c| c.label.clone()).collect();
    for (at, work) in works.iter_mut().enumerate() {
        let of = |(who, label): (usize, &String)| (label.clone(), latency_ns(at, who));
        work.latencies_ns = labels.iter().enumerate().map(of).collect();
    }
    let folder = example.folder();
    let run = &mut example.run;
    let stages = works.iter().map(|work| Stage::work(&work.name)).collect();
    let scenario = run.plan.scenarios.iter_mut().find(|scenario| scenario.label == WORKS[0]);
    scenario.expect("it is planned").stages = stages;
    for record in run.records.iter_mut().filter(|record| record.scenario == WORKS[0]) {
        let one = record.works[0].clone();
        let all = works.iter().map(|work| RecordedWork { name: work.name.clone(), ..one.clone() });
        record.works = all.collect::<Vec<_>>().into();
        record.metrics =
            works.iter().flat_map(|work| metrics(record, &work.name)).chain(steps(record)).collect();
        if !record.histograms.is_empty() {
            record.histograms = vec![histograms(&folder, record, &works)];
        }
    }
    (example, works)
}

/// The latencies of the first work are 611 ms, 614 ms, …; those of further works start at 741 ms, 871 ms, 611 s and 741 s. No two
/// latencies are printed alike, the axes of two works have no tick in common, and no other figure of the example is printed so.
fn latency_ns(work: usize, candidate: usize) -> u64 {
    let (first, unit) = ([611, 741, 871][work % 3], [1_000_000, 1_000_000_000][work / 3]);
    (first + 3 * candidate as u64) * unit
}

fn is_of_a_step(metric: &Metric) -> bool {
    ["mkfs.time", "mount.time", "unmount.time", "check.time", "check-filled.time"]
        .contains(&metric.name.as_str())
}

fn steps(record: &Record) -> Vec<Metric> {
    record.metrics.iter().filter(|metric| is_of_a_step(metric)).cloned().collect()
}

fn metrics(record: &Record, work: &str) -> Vec<Metric> {
    let own = record.metrics.iter().filter(|metric| !is_of_a_step(metric)).cloned();
    own.map(|mut metric| {
        metric.dimensions.insert(WORK.to_owned(), work.to_owned());
        metric
    })
    .collect()
}

fn histograms(folder: &std::path::Path, record: &Record, works: &[Own]) -> FileRef {
    let path = format!("histograms/of-{}.jsonl", record.trial.replace(['/', ' ', ','], "-"));
    let mut text = String::new();
    for (at, work) in works.iter().enumerate() {
        let own = work.latencies_ns.iter().find(|(label, _)| *label == record.filesystem);
        let (phase, operation, unit) = ("letters".to_owned(), work.operation.to_owned(), "ns".to_owned());
        let buckets = own.map(|(_, ns)| vec![(*ns, 100 * (1 + at as u64))]).unwrap_or_default();
        let line = serde_json::to_string(&Buckets { of: Some(at), phase, operation, unit, buckets });
        text += &(line.expect("a histogram is JSON") + "\n");
    }
    fs::write(folder.join(&path), &text).expect("write a histogram");
    FileRef { path, blake3: blake3::hash(text.as_bytes()).to_hex().to_string(), what: "work".into() }
}
