//! From a record's raw values to its metrics. Pure and versioned: `fsderby verify` calls it again.

use crate::agent::protocol::{At, Purpose, Stepped};
use crate::metric::Better::{Higher, Lower, Neither};
use crate::metric::{Metric, Of};
use crate::store::record::{Outcome, Part, Record};
use crate::workloads::Work;

/// Counted up whenever a metric of this file gets another value from the same raw values.
pub const VERSION: u32 = 1;

/// The version of all metrics of such a record: ours in the thousands, the workload's below.
pub fn version(work: &dyn Work) -> u32 {
    VERSION * 1000 + work.metrics_version()
}

/// The workload's own metrics, then those that every trial has. None for a trial that is not done.
pub fn all(record: &Record, work: &dyn Work) -> Vec<Metric> {
    if record.outcome != Outcome::Done {
        return Vec::new();
    }
    if record.survivors.is_some() {
        // The work was cut short: its rates are those of no other run.
        return [steps(record), recovery(record), capacity(record)].concat();
    }
    let mut metrics =
        if record.purpose == Purpose::Measure { work.metrics(&record.phases) } else { Vec::new() };
    metrics.extend(steps(record));
    metrics.extend(cpu(record));
    metrics.extend(device(record));
    metrics.extend(parts(record));
    metrics.extend(capacity(record));
    metrics
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn steps(record: &Record) -> Vec<Metric> {
    const NAMES: [(&str, &str); 9] = [
        ("mkfs.time", "make"),
        ("mount.time", "mount"),
        ("sync.time", "sync"),
        ("empty.time", "empty"),
        ("unmount.time", "unmount"),
        ("check.time", "check-emptied"),
        ("check-filled.time", "check-filled"),
        ("check-recovered.time", "check-recovered"),
        ("revert.time", "revert"),
    ];
    let metric = |(name, step): &(&str, &str)| {
        Some(Metric::new(name, seconds(record.step_ns(step)?), "s", Of::Time, Lower))
    };
    NAMES.iter().filter_map(metric).collect()
}

/// From the disk as a power cut left it to the first new file: what an administrator runs, the mount, the file. The boot is
/// the machine's and not counted.
fn recovery(record: &Record) -> Vec<Metric> {
    const PARTS: [(&str, &str); 3] = [
        ("recovery.repair.time", "repair"),
        ("recovery.mount.time", "mount-again"),
        ("recovery.first_file.time", "first-file"),
    ];
    let Some(seen) = &record.survivors else { return Vec::new() };
    let took = |step: &str| record.step_ns(step);
    let whole = PARTS.iter().filter_map(|(_, step)| took(step)).sum();
    let mut metrics = vec![Metric::new("recovery.time", seconds(whole), "s", Of::Time, Lower).headline()];
    let part =
        |(name, step): &(&str, &str)| Some(Metric::new(name, seconds(took(step)?), "s", Of::Time, Lower));
    metrics.extend(PARTS.iter().filter_map(part));
    let files = |name: &str, n: u64, better| Metric::new(name, n as f64, "files", Of::Count, better);
    metrics.push(files("recovery.synced", seen.files, Neither));
    metrics.push(files("recovery.lost", seen.missing + seen.altered + seen.nameless, Lower));
    metrics
}

/// The work with all its parts.
fn work(record: &Record) -> Option<Stepped> {
    record.steps.iter().filter(|s| s.step == "work").cloned().reduce(|sum, part| Stepped {
        ns: sum.ns + part.ns,
        user_ns: sum.user_ns + part.user_ns,
        sys_ns: sum.sys_ns + part.sys_ns,
        minflt: sum.minflt + part.minflt,
        majflt: sum.majflt + part.majflt,
        ..sum
    })
}

/// The workload's process and the filesystem's daemons, beside the whole machine.
fn cpu(record: &Record) -> Vec<Metric> {
    let Some(work) = work(record) else { return Vec::new() };
    let own = work.user_ns + work.sys_ns + record.probe("cpu", "daemons_ns").unwrap_or(0);
    let mut metrics = vec![
        Metric::new("cpu.share", 100.0 * own as f64 / work.ns.max(1) as f64, "%", Of::Share, Neither),
        Metric::new("cpu.time", seconds(own), "s", Of::Time, Lower),
        Metric::new("faults.minor", work.minflt as f64, "faults", Of::Count, Lower),
        Metric::new("faults.major", work.majflt as f64, "faults", Of::Count, Lower),
    ];
    let machine = record.probe("cpu", "machine_user_ns").zip(record.probe("cpu", "machine_sys_ns"));
    metrics.extend(
        machine.map(|(user, sys)| Metric::new("cpu.machine", seconds(user + sys), "s", Of::Time, Lower)),
    );
    let peak = record.probe("memory", "peak_bytes");
    metrics.extend(peak.map(|bytes| Metric::new("memory.peak", bytes as f64, "bytes", Of::Bytes, Neither)));
    metrics
}

fn device(record: &Record) -> Vec<Metric> {
    const NAMES: [(&str, &str, Of); 5] = [
        ("device.bytes_written", "bytes_written", Of::Bytes),
        ("device.bytes_read", "bytes_read", Of::Bytes),
        ("device.writes", "writes", Of::Count),
        ("device.reads", "reads", Of::Count),
        ("device.flushes", "flushes", Of::Count),
    ];
    let metric = |(name, counter, of): &(&str, &str, Of)| {
        let value = record.probe("block_io", counter)? as f64;
        let unit = if *of == Of::Bytes { "bytes" } else { "requests" };
        Some(Metric::new(name, value, unit, *of, Lower))
    };
    let mut metrics: Vec<Metric> = NAMES.iter().filter_map(metric).collect();
    let written: u64 = record.phases.iter().map(|p| p.count("bytes_written")).sum();
    if let (Some(reached), 1..) = (record.probe("block_io", "bytes_written"), written) {
        let ratio = reached as f64 / written as f64;
        metrics.push(Metric::new("device.written_ratio", ratio, "of what was written", Of::Share, Neither));
    }
    metrics
}

/// What the device had to read for each part of the work, where it has several.
fn parts(record: &Record) -> Vec<Metric> {
    let metrics = |part: &Part| {
        let counter = |name: &str| part.probes.get("block_io")?.get(name).copied();
        let name = part.phases.join("+");
        let of = |what: &str| format!("device.{what}.{name}");
        let reads =
            counter("reads").map(|n| Metric::new(&of("reads"), n as f64, "requests", Of::Count, Lower));
        let asked = record.count_of(part, "bytes_read");
        let ratio = counter("bytes_read").filter(|_| asked > 0).map(|bytes| {
            Metric::new(&of("read_ratio"), bytes as f64 / asked as f64, "of what was read", Of::Share, Lower)
        });
        [reads, ratio].into_iter().flatten().collect::<Vec<_>>()
    };
    record.parts.iter().skip(1).flat_map(metrics).collect()
}

/// As the papers gave it: what an ordinary user may fill, as a share of the volume given to mkfs.
fn capacity(record: &Record) -> Vec<Metric> {
    let share = |name: &str, at: At| {
        let space = record.space.iter().find(|s| s.at == at)?;
        let value = 100.0 * space.usable.0 as f64 / record.size.0.max(1) as f64;
        Some(Metric::new(name, value, "%", Of::Share, Higher))
    };
    [share("capacity.initial", At::Fresh), share("capacity.residual", At::Emptied)]
        .into_iter()
        .flatten()
        .collect()
}
