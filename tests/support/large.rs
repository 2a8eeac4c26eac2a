//! Runs as large as somebody makes who wants small differences found: real records through the store, each with latencies like
//! those of a real trial.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use fsderby::runner::experiment::Experiment;
use fsderby::schema::event::{Buckets, Event};
use fsderby::schema::job::Job;
use fsderby::schema::plan::Plan;
use fsderby::schema::shard::Shard;
use fsderby::store::Run;
use fsderby::workloads::Histogram;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::carry;
use super::scripted::Scripted;

/// What is in every round.
pub const FILESYSTEMS: [&str; 8] =
    ["ext2", "ext3-ordered", "ext4", "xfs", "btrfs", "jfs", "reiserfs", "f2fs"];
pub const WORKLOADS: [&str; 5] =
    ["postmark-quick", "maildir-quick", "maildir-durable", "mail-2008-1", "mail-2008-2"];

/// Filesystems × workloads × rounds, and before them an integrity check of each cell.
pub fn carry_out(folder: &Path, filesystems: &[&str], workloads: &[&str], rounds: u32) -> Run {
    carry::carry_out(folder, &plan(filesystems, workloads, rounds), &Scripted::event(vary), &[], None)
}

/// A run of so many rounds as shards, each in a thread of its own.
pub fn carry_out_shards(below: &Path, rounds: u32, of: u32) {
    std::thread::scope(|scope| {
        for number in 1..=of {
            let shard = Some(Shard { number, of, due: Vec::new() });
            let plan = Plan { shard, ..plan(&FILESYSTEMS, &WORKLOADS, rounds) };
            let folder = below.join(number.to_string());
            scope.spawn(move || carry::carry_out(&folder, &plan, &Scripted::event(vary), &[], None));
        }
    });
}

fn plan(filesystems: &[&str], workloads: &[&str], rounds: u32) -> Plan {
    let text = format!(
        "name = 'large'\nanalysis = 'Is a small difference real?'\nsize = '2g'\nmemory = '512m'\nseed = 7\nrounds = {rounds}\n\
         filesystems = {filesystems:?}\nworkloads = {workloads:?}\n"
    );
    Experiment::parse(&text, "large").and_then(|e| e.plan("loop".into(), 1)).expect("a plan")
}

/// No two trials take equally long, nor do two operations.
fn vary(job: &Job, event: &mut Event) {
    match event {
        Event::Phase(phase) => phase.ns -= noise(job, &phase.name).next_u64() % (phase.ns / 8),
        Event::Histogram(histogram) => spread(job, histogram),
        _ => {}
    }
}

/// As many operations as before; most of them near the median, some many times slower.
fn spread(job: &Job, histogram: &mut Buckets) {
    let mut noise = noise(job, &histogram.operation);
    let mut latencies = Histogram::new_with_bounds(1, 3600 * 1_000_000_000, 3).expect("bounds");
    let operations: u64 = histogram.buckets.iter().map(|(_, n)| n).sum();
    for _ in 0..operations {
        // The logarithm of a latency is about normal: a sum of twelve, each from 0 to 1.
        let twelve: f64 = (0..12).map(|_| (noise.next_u64() >> 11) as f64 / (1_u64 << 53) as f64).sum();
        latencies.saturating_record((40_000.0 * (0.7 * (twelve - 6.0)).exp()) as u64);
    }
    histogram.buckets =
        latencies.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect();
}

/// The same for the same trial each time.
fn noise(job: &Job, what: &str) -> Xoshiro256PlusPlus {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    Xoshiro256PlusPlus::seed_from_u64(hasher.hash_one((&job.trial, what)))
}
