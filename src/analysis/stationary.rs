//! Whether a work ran long enough that a longer run of the same work would give the same figures. Pure.
//!
//! Written data of less than twice the memory may stay in memory and not reach the device, and a journal may have room until its
//! third commit. Figures of such a short work describe only its beginning. They void nothing: reports head them *short*.

use super::steps;
use crate::filesystems;
use crate::schema::job::{Purpose, StepName};
use crate::schema::reason::{Condition, Held, ValidityCheck};
use crate::schema::record::Record;
use crate::schema::units::{Bytes, sum};

/// The work must write its memory at least this many times.
const MEMORIES: u64 = 2;
/// The work must last this many commit intervals of its filesystem.
const COMMITS: u64 = 3;
/// The commit interval assumed for an unknown filesystem: the kernel writes out data that has been dirty for this long
/// (`Documentation/admin-guide/sysctl/vm.rst`, dirty_expire_centisecs).
const COMMIT_SECONDS: u64 = 30;

/// Judges a trial; `None` if its work writes nothing or was cut short.
pub fn check(record: &Record) -> Option<ValidityCheck> {
    let is_whole = record.measured().all(|stage| stage.window_ns.is_some());
    if record.purpose != Purpose::Measure || !is_whole {
        return None;
    }
    let written = Bytes(sum(record.phases().map(|phase| phase.count("bytes_written"))));
    let ns = work_ns(record);
    if written.0 == 0 || ns == 0 {
        return None;
    }
    let commit = commit_seconds(record);
    let memory = record.memory.or_else(|| machines(record));
    let needed = memory.map(|memory| Bytes(memory.0.saturating_mul(MEMORIES)));
    let is_long = ns >= commit.saturating_mul(COMMITS * 1_000_000_000);
    let is_large = needed.is_none_or(|needed| written >= needed);
    let twice = needed.map_or(String::new(), |needed| format!("{needed} written, twice the memory, and "));
    let seen = format!("{written} in {:.1} s", ns as f64 / 1e9);
    Some(ValidityCheck {
        name: Condition::Stationary,
        asked: format!("{twice}three commit intervals of {commit} s"),
        seen: if is_long && is_large { seen } else { format!("short: {seen}") },
        held: if is_long && is_large { Held::Yes } else { Held::Label },
    })
}

/// The seconds that the work of a trial took, and those of three commit intervals; `None` if its work writes nothing.
pub fn commits(record: &Record) -> Option<(f64, f64)> {
    let written = sum(record.phases().map(|phase| phase.count("bytes_written")));
    (written > 0).then(|| (work_ns(record) as f64 / 1e9, (commit_seconds(record) * COMMITS) as f64))
}

fn commit_seconds(record: &Record) -> u64 {
    filesystems::find(&record.kind)
        .map_or(COMMIT_SECONDS, |kind| filesystems::commit_seconds(kind, &record.variant))
}

/// The sum of the times of all measured works.
fn work_ns(record: &Record) -> u64 {
    let measured = record.works.iter().enumerate().filter(|(_, work)| work.measured);
    sum(measured.flat_map(|(of, _)| steps::of_work(record, of, StepName::Work)).map(|step| step.ns))
}

/// All memory of the machine.
fn machines(record: &Record) -> Option<Bytes> {
    record.measured().find_map(|stage| stage.probe("pages", "total_bytes")).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;
    use crate::schema::event::{Phase, Stepped};
    use crate::schema::record::StageRecord;
    use crate::schema::units::MIB;

    /// A record of a kind with a journal, with 64 MiB of memory.
    fn record(written: u64, seconds: u64) -> Record {
        let mut record = example::record();
        record.kind = "ext4".into();
        record.memory = Some(Bytes(64 * MIB));
        let phases =
            vec![Phase { counts: [("bytes_written".to_owned(), written)].into(), ..Phase::default() }];
        record.stages = vec![StageRecord { phases, window_ns: Some([0, 1]), ..StageRecord::default() }];
        let (step, ns) = (StepName::Work, seconds * 1_000_000_000);
        record.steps = vec![Stepped { step, ns, work: Some(0), ..Stepped::default() }];
        record
    }

    fn held(record: &Record) -> Option<Held> {
        check(record).map(|check| check.held)
    }

    #[test]
    fn work_is_short_that_writes_too_little_or_ends_too_soon() {
        assert_eq!(held(&record(128 * MIB, 15)), Some(Held::Yes));
        assert_eq!(held(&record(128 * MIB - 1, 15)), Some(Held::Label));
        assert_eq!(held(&record(128 * MIB, 14)), Some(Held::Label));
        assert!(check(&record(MIB, 1)).unwrap().seen.starts_with("short: 1 MiB in 1.0 s"));
    }

    #[test]
    fn commits_are_those_of_the_kind_and_of_its_options() {
        let mut slow = record(128 * MIB, 15);
        slow.variant.mount = vec!["noatime".into(), "commit=6".into()];
        assert_eq!(held(&slow), Some(Held::Label));
        let other = Record { kind: "of another version".into(), ..record(128 * MIB, 89) };
        assert_eq!(held(&other), Some(Held::Label));
        assert_eq!(held(&Record { kind: "xfs".into(), ..record(128 * MIB, 90) }), Some(Held::Yes));
    }

    #[test]
    fn without_a_limit_the_machines_memory_counts() {
        let mut all = Record { memory: None, ..record(128 * MIB, 15) };
        assert_eq!(held(&all), Some(Held::Yes), "nobody says how much it is");
        let raw = [("total_bytes".to_owned(), 65 * MIB)].into();
        all.stages[0].probes.insert("pages".into(), raw);
        assert_eq!(held(&all), Some(Held::Label));
    }

    #[test]
    fn nothing_is_asked_of_what_writes_nothing_is_cut_or_is_an_integrity_check() {
        assert_eq!(held(&record(0, 1)), None);
        assert_eq!(held(&Record { purpose: Purpose::Integrity, ..record(MIB, 1) }), None);
        let mut cut = record(MIB, 1);
        cut.stages[0].window_ns = None;
        assert_eq!(held(&cut), None);
    }
}
