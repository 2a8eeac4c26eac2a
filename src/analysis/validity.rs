//! Whether the conditions of a trial held, judged by their observed effects. Pure.

use super::compression::Stored;
use super::{drive, interference, stationary};
use crate::filesystems;
use crate::probes;
use crate::schema::event::{Seen, Tree};
use crate::schema::job::Step;
use crate::schema::reason::{Condition, Held, ValidityCheck};
use crate::schema::record::{Counters, Record, StageRecord};
use crate::schema::setup::{ClockKind, Mount, Variant};
use crate::schema::units::{Bytes, sum};

/// A trial is void if its guest's clock differs from the host's by more than both of these.
const DRIFT_SHARE: f64 = 0.001;
const DRIFT_NS: u64 = 20_000_000;
/// The limit in nanoseconds if agent and host have the same clock.
const HEARD_NS: u64 = 60_000_000;
/// After a cold start the device reads at least this share of the bytes that the work reads: the mount may have read a file
/// already.
const COLD_SHARE: f64 = 0.99;

/// Facts observed on the host that no event of the record contains.
#[derive(Clone, Copy, Debug, Default)]
pub struct Witness<'a> {
    /// The mount that the plan requested.
    pub asked: Option<&'a Mount>,
    /// Whether the testbed's device bypasses the host's page cache; `None` without such a device.
    pub direct: Option<bool>,
    /// Whether to judge as older versions of fsderby did: see [`mount`].
    pub labels_own: bool,
}

/// All validity checks that the events of a trial with these steps allow.
pub fn judge(record: &Record, steps: &[Step], witness: Witness<'_>) -> Vec<ValidityCheck> {
    let counted = probes::sum(record.measured());
    let counted = Counted { counters: &counted, record };
    let all = [
        mount(record, witness),
        memory(record, &probes::sum(record.stages.iter())),
        cold(record),
        cold_start(record, steps),
        flush(&counted, witness.asked),
        clock(record),
        host_cache(record, steps, witness.direct),
        host_counters(record, &probes::sum(record.stages.iter())),
        stored(record),
        read_back(&record.trees),
        survivors(record),
        reached_device(&counted),
        stationary::check(record),
        interference::check(record),
        drive::check(record),
    ];
    all.into_iter().flatten().collect()
}

/// A trial, with the summed counters of its measured stages.
struct Counted<'a> {
    counters: &'a Counters,
    record: &'a Record,
}

impl Counted<'_> {
    fn count(&self, name: &str) -> u64 {
        sum(self.record.phases().map(|phase| phase.count(name)))
    }
}

fn counter(counters: &Counters, probe: &str, name: &str) -> Option<u64> {
    counters.get(probe)?.get(name).copied()
}

fn check(
    name: Condition,
    asked: impl Into<String>,
    seen: impl Into<String>,
    held: Held,
) -> Option<ValidityCheck> {
    Some(ValidityCheck { name, asked: asked.into(), seen: seen.into(), held })
}

fn yes_or(no: Held, held: bool) -> Held {
    if held { Held::Yes } else { no }
}

/// Judges the mount options. Older versions of fsderby labelled a trial if the user asked for an option to be absent that the kind
/// of filesystem leaves out anyway.
fn mount(record: &Record, witness: Witness<'_>) -> Option<ValidityCheck> {
    let (asked, seen) = (witness.asked?, record.mounted.as_ref()?);
    let kind = filesystems::find(&record.kind)?;
    let own = kind.mount(&Variant::default());
    let own = if witness.labels_own { &[] } else { own.options() };
    let shown =
        |fstype: &str, options: &[String]| format!("{fstype} {}", options.join(",")).trim_end().to_owned();
    let wanted = shown(asked.fstype(), asked.options());
    let options = shown(&seen.fstype, &seen.options);
    let unconfirmed = filesystems::absences_not_shown(&record.variant.mount, own, seen).join(", ");
    match kind.confirm(asked, seen) {
        Err(differs) => check(Condition::Mount, wanted, differs, Held::No),
        Ok(()) if unconfirmed.is_empty() => check(Condition::Mount, wanted, options, Held::Yes),
        Ok(()) => {
            let text = format!("{options}: of {unconfirmed} the kernel shows nothing, nor of the opposite");
            check(Condition::Mount, wanted, text, Held::Label)
        }
    }
}

fn memory(record: &Record, counters: &Counters) -> Option<ValidityCheck> {
    let limit = record.memory?;
    let asked = format!("at most {limit}");
    if let Some(bound) = counter(counters, "memory", "peak_bytes_at_most").map(Bytes) {
        let seen = format!("a machine with {bound} for workload and page cache");
        return check(Condition::Memory, asked, seen, yes_or(Held::No, bound <= limit));
    }
    match counter(counters, "memory", "peak_bytes").map(Bytes) {
        None if !counters.contains_key("cpu") => None,
        None => check(Condition::Memory, asked, "this kernel does not report the peak", Held::Label),
        Some(peak) => {
            check(Condition::Memory, asked, format!("a peak of {peak}"), yes_or(Held::No, peak <= limit))
        }
    }
}

fn is_cold(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Settle { cold: true } | Step::Cool { .. }))
}

fn cold(record: &Record) -> Option<ValidityCheck> {
    let witness = |seen: &Seen| match *seen {
        Seen::Cold { asked_bytes, device_bytes_read } => Some((asked_bytes, device_bytes_read)),
        _ => None,
    };
    // The stage with the largest shortfall counts.
    let missing = |(asked, read): &(u64, Option<u64>)| read.map_or(0, |read| asked.saturating_sub(read));
    let (asked, read) = record.seen.iter().filter_map(witness).max_by_key(missing)?;
    match read {
        None => {
            check(Condition::Cold, "empty caches", "no block device whose reads could show it", Held::Label)
        }
        Some(read) => {
            let text = format!("{} of a test file of {} came from the device", Bytes(read), Bytes(asked));
            check(Condition::Cold, "empty caches", text, yes_or(Held::No, read >= asked))
        }
    }
}

/// After a cold start the device must read at least the bytes that the work reads. A stage that reads only names must make the
/// device read something. Without a remount a shortfall is reported and voids nothing: names and inodes may have stayed in memory,
/// and the device's counters include other processes.
fn cold_start(record: &Record, steps: &[Step]) -> Option<ValidityCheck> {
    let mounted = steps.iter().any(|step| matches!(step, Step::Cool { mount: Some(_) }));
    let cold: Vec<&StageRecord> = after_a_remount(record, steps).collect();
    if cold.is_empty() {
        return None;
    }
    let asked = "empty caches before each part after the first, so that the device reads what the work reads";
    let no = if mounted { Held::No } else { Held::Label };
    let mut held = true;
    let mut seen = Vec::new();
    for stage in cold {
        let names: Vec<&str> = stage.phases.iter().map(|phase| phase.name.as_str()).collect();
        let name = names.join(" and ");
        let wanted = stage.count("bytes_read");
        let Some(read) = stage.probe("block_io", "bytes_read") else {
            let text = "no block device whose reads could show it";
            return check(Condition::ColdStart, asked, text, Held::Label);
        };
        held &= read > 0 && read as f64 >= wanted as f64 * COLD_SHARE;
        let of = if wanted > 0 { format!(" for {}", Bytes(wanted)) } else { String::new() };
        seen.push(format!("{name} {}{of}", Bytes(read)));
    }
    let mut seen = format!("read by the device: {}", seen.join(", "));
    let all_caches =
        record.seen.iter().all(|seen| !matches!(seen, Seen::ColdStart { all_caches: false, .. }));
    if !all_caches {
        seen.push_str("; without root only the files' pages could be dropped, not names and inodes");
    }
    check(Condition::ColdStart, asked, seen, yes_or(no, held && all_caches))
}

/// The measured stages before which the caches were dropped, after the end of the previous stage.
fn after_a_remount<'r>(record: &'r Record, steps: &[Step]) -> impl Iterator<Item = &'r StageRecord> {
    let mut cooled = false;
    let mut cold = Vec::new();
    for step in steps {
        match step {
            Step::Cool { .. } => cooled = true,
            Step::Verify { .. } | Step::Survivors { .. } | Step::Own { .. } => cooled = false,
            Step::Work { work } if std::mem::take(&mut cooled) => cold.push(*work),
            _ => {}
        }
    }
    // A stage that writes finds its own data in memory.
    let writes = |stage: &StageRecord| stage.count("bytes_written") > 0;
    let is_judged = move |stage: &&StageRecord| is_measured(record, stage) && !writes(stage);
    let stage = move |at: usize| record.stages.get(at).filter(is_judged);
    cold.into_iter().filter_map(stage)
}

fn is_measured(record: &Record, stage: &StageRecord) -> bool {
    record.works.get(stage.of).is_some_and(|work| work.measured)
}

fn flush(counted: &Counted<'_>, mount: Option<&Mount>) -> Option<ValidityCheck> {
    let fsyncs = counted.count("fsyncs");
    let flushes = counter(counted.counters, "block_io", "flushes")?;
    if fsyncs == 0 {
        return None;
    }
    let asked = format!("flushes at the device for {fsyncs} fsyncs");
    if counter(counted.counters, "block_io", "volatile_cache") == Some(0) {
        return check(
            Condition::Flush,
            asked,
            "the device has no volatile cache, so no flush is needed",
            Held::Label,
        );
    }
    if flushes == 0 && filesystems::find(&counted.record.kind).is_some_and(|kind| !kind.flushes_on_fsync()) {
        let seen = "none: fsync of this filesystem leaves data in the device's volatile cache";
        return check(Condition::Flush, asked, seen, Held::Label);
    }
    if flushes == 0 && mount.is_some_and(|mount| filesystems::give_up_flushes(mount.options())) {
        let seen = "none, as was asked for: the data stays in the device's volatile cache";
        return check(Condition::Flush, asked, seen, Held::Label);
    }
    check(Condition::Flush, asked, format!("{flushes} flushes"), yes_or(Held::No, flushes > 0))
}

fn clock(record: &Record) -> Option<ValidityCheck> {
    // An agent on the host's own kernel has the same clock; a difference is mostly the delay until the host got the message.
    let most_ns = match record.clock {
        ClockKind::Virtual => return None,
        ClockKind::Guest => DRIFT_NS,
        ClockKind::Host => HEARD_NS,
    };
    let drift = record.circumstances.clock_drift_ns.unsigned_abs();
    let share = drift as f64 / record.circumstances.host_ns.max(1) as f64;
    let seen = format!("{:.3} ms apart ({:.4}%)", drift as f64 / 1e6, share * 100.0);
    check(
        Condition::Clock,
        "the agent's clock as fast as the host's",
        seen,
        yes_or(Held::No, drift <= most_ns || share <= DRIFT_SHARE),
    )
}

/// A trial with cold caches also needs an image that is not in the host's page cache.
fn host_cache(record: &Record, steps: &[Step], direct: Option<bool>) -> Option<ValidityCheck> {
    let direct = direct?;
    let way = if direct { "direct I/O on the image" } else { "I/O through the host's page cache" };
    let Some(cached) = counter(&record.host_probes, "host_cache", "cached_bytes") else {
        return check(
            Condition::HostCache,
            "the image is not in the host's page cache",
            way,
            yes_or(Held::Label, direct),
        );
    };
    let seen = format!("{way}; {} of the image were cached when the work began", Bytes(cached));
    let no = if is_cold(steps) { Held::No } else { Held::Label };
    check(
        Condition::HostCache,
        "the image is not in the host's page cache",
        seen,
        yes_or(no, direct && cached == 0),
    )
}

/// The guest's counts of its disk must have reached the host's device.
fn host_counters(record: &Record, counters: &Counters) -> Option<ValidityCheck> {
    // The number of requests is not compared, because QEMU merges adjacent requests.
    const COUNTERS: [&str; 3] = ["bytes_written", "bytes_read", "flushes"];
    let pair = |name: &&str| {
        counter(counters, "block_io", name).zip(counter(&record.host_probes, "host_block_io", name))
    };
    let pairs: Option<Vec<(u64, u64)>> = COUNTERS.iter().map(pair).collect();
    let pairs = pairs?;
    let [(written, host_written), _, (flushes, host_flushes)] = pairs[..] else { return None };
    let seen = format!(
        "{} of writes and {host_flushes} flushes in the whole trial; in the guest {} and {flushes} from the work to the sync",
        Bytes(host_written),
        Bytes(written)
    );
    let arrived = pairs.iter().all(|(guest, host)| guest <= host);
    check(Condition::HostCounters, "what the guest counts reaches its disk", seen, yes_or(Held::No, arrived))
}

/// Whether every byte of the files was stored in full. Of sparse files only the written bytes count.
fn stored(record: &Record) -> Option<ValidityCheck> {
    let stored = Stored::of(record)?;
    let Stored { bytes, written, on_device, is_at_most, .. } = stored;
    let holes =
        if written < bytes { format!(", of which {} were written", Bytes(written)) } else { String::new() };
    let at_most = if is_at_most { "at most " } else { "" };
    let mut seen =
        format!("{at_most}{} on the device for files of {}{holes}", Bytes(on_device), Bytes(bytes));
    let is_hidden = is_at_most && stored.is_full();
    if is_hidden {
        seen.push_str("; some content is compressed, and its size there is not known");
    }
    let held = stored.is_full() && !is_hidden;
    check(Condition::Stored, "every byte stored in full", seen, yes_or(Held::Label, held))
}

/// Compares each tree of files with the hash that the engines stated at that time, because a later work may have added files.
/// Without a stated hash all trees must equal the first tree.
fn read_back(trees: &[Tree]) -> Option<ValidityCheck> {
    let first = trees.first()?;
    let expected = |tree: &Tree| tree.expected.clone().unwrap_or_else(|| first.hash.clone());
    let wrong = trees.iter().find(|tree| tree.hash != expected(tree));
    let asked = format!("{} files, {} as they were written", first.files, Bytes(first.bytes));
    match wrong {
        None => check(
            Condition::ReadBack,
            asked,
            trees.iter().map(|t| t.at.name()).collect::<Vec<_>>().join(" and ") + ": the same",
            Held::Yes,
        ),
        Some(tree) => check(
            Condition::ReadBack,
            asked,
            format!("{}: {} files, {} of other content", tree.at.name(), tree.files, Bytes(tree.bytes)),
            Held::No,
        ),
    }
}

/// Judges the files after a power cut. A synced file must keep its content; it may lose its name only if its directory was not
/// synced.
fn survivors(record: &Record) -> Option<ValidityCheck> {
    let seen = record.survivors.as_ref()?;
    let (files, bytes) = (seen.files, Bytes(seen.bytes));
    if files == 0 {
        let asked = "synced files survive the power cut";
        return check(Condition::Survivors, asked, "the work had synced no file", Held::Label);
    }
    let promised = if seen.names_promised { "content and name" } else { "content" };
    let asked = format!("{promised} of {files} synced files, {bytes}, survive the power cut");
    let lost = seen.lost.join("; ");
    match (seen.missing, seen.altered, seen.nameless) {
        (0, 0, 0) => check(Condition::Survivors, asked, "all are as they were written", Held::Yes),
        (0, 0, nameless) if !seen.names_promised => {
            let text = format!(
                "{nameless} have lost their names, which only an fsync of their directory would guarantee: {lost}"
            );
            check(Condition::Survivors, asked, text, Held::Label)
        }
        (missing, altered, nameless) => {
            let text =
                format!("{missing} are missing, {altered} altered, {nameless} without their names: {lost}");
            check(Condition::Survivors, asked, text, Held::No)
        }
    }
}

/// Reports, without voiding, that a row measures page cache and CPU.
fn reached_device(counted: &Counted<'_>) -> Option<ValidityCheck> {
    let written = counted.count("bytes_written");
    let reached = counter(counted.counters, "block_io", "bytes_written")?;
    if written == 0 {
        return None;
    }
    let seen = format!("{} of {}", Bytes(reached), Bytes(written));
    check(
        Condition::Device,
        "at least half of the written bytes reach the device",
        seen,
        yes_or(Held::Label, reached >= written.div_ceil(2)),
    )
}
