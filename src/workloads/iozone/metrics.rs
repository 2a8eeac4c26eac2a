//! Turns phases into metrics: bytes ÷ time of each pass, for each pair of sizes.

use crate::schema::declared::{Declared, Over, Section};
use crate::schema::event::Phase;
use crate::schema::metric::Metric;
use crate::schema::units::MIB;
use crate::workloads::kit::Rate;

use super::matrix::Pair;
use super::passes::Took;
use super::table::Pass;

pub const VERSION: u32 = 1;

pub const FILE: &str = "file_bytes";
pub const RECORD: &str = "record_bytes";

const SIZES: Section = Section::Own {
    title: "Record by record",
    note: "Each pass goes through the file in records of one size. A file that fits into memory is read from the \
        page cache.",
};

static ALL: [Rate; 2] = [
    Rate {
        count: "bytes_written",
        declared: Declared {
            name: "all-passes.write.throughput",
            title: "write (all phases that write)",
            short: "write",
            did: "wrote",
            section: Section::Headline,
            over: Over::Phases,
            explained: "Bytes written per second in all passes (tests) that write, for all file and record sizes \
                        together.",
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "bytes_read",
        declared: Declared {
            name: "all-passes.read.throughput",
            title: "read (all phases that read)",
            short: "read",
            did: "read",
            section: Section::Headline,
            over: Over::Phases,
            explained: "Bytes read per second in all passes (tests) that read, for all file and record sizes \
                        together.",
            ..Declared::MIB_PER_SECOND
        },
    },
];

const fn of_pass(
    name: &'static str,
    [short, title]: [&'static str; 2],
    phase: &'static str,
    explained: &'static str,
) -> Declared {
    Declared {
        name,
        title,
        short,
        section: SIZES,
        over: Over::Phase(phase),
        explained,
        ..Declared::MIB_PER_SECOND
    }
}

static PASSES: [(Pass, Declared); 14] = [
    (
        Pass::Write,
        of_pass(
            "pass.write.throughput",
            ["write", "write (phase write)"],
            "write",
            "A new file is written sequentially; the time includes the allocation of its space.",
        ),
    ),
    (
        Pass::Rewrite,
        of_pass(
            "pass.rewrite.throughput",
            ["rewrite", "rewrite (phase rewrite)"],
            "rewrite",
            "The existing file is overwritten sequentially.",
        ),
    ),
    (
        Pass::Read,
        of_pass(
            "pass.read.throughput",
            ["read", "read (phase read)"],
            "read",
            "The file is read sequentially.",
        ),
    ),
    (
        Pass::Reread,
        of_pass(
            "pass.reread.throughput",
            ["reread", "reread (phase reread)"],
            "reread",
            "The file is read sequentially a second time.",
        ),
    ),
    (
        Pass::RandomRead,
        of_pass(
            "pass.random-read.throughput",
            ["random read", "random read (phase random-read)"],
            "random-read",
            "Each record is read once, in random order.",
        ),
    ),
    (
        Pass::RandomWrite,
        of_pass(
            "pass.random-write.throughput",
            ["random write", "random write (phase random-write)"],
            "random-write",
            "Each record is written once, in the same random order as in the random read.",
        ),
    ),
    (
        Pass::BackwardRead,
        of_pass(
            "pass.backward-read.throughput",
            ["backward read", "backward read (phase backward-read)"],
            "backward-read",
            "The records are read from the last to the first.",
        ),
    ),
    (
        Pass::RecordRewrite,
        of_pass(
            "pass.record-rewrite.throughput",
            ["record rewrite", "record rewrite (phase record-rewrite)"],
            "record-rewrite",
            "The first record is written again and again.",
        ),
    ),
    (
        Pass::StrideRead,
        of_pass(
            "pass.stride-read.throughput",
            ["strided read", "strided read (phase stride-read)"],
            "stride-read",
            "Records are read at a fixed distance from each other.",
        ),
    ),
    (
        Pass::Fwrite,
        of_pass(
            "pass.fwrite.throughput",
            ["fwrite", "fwrite (phase fwrite)"],
            "fwrite",
            "The file is written through a C stream with a buffer of one record.",
        ),
    ),
    (
        Pass::Frewrite,
        of_pass(
            "pass.frewrite.throughput",
            ["frewrite", "frewrite (phase frewrite)"],
            "frewrite",
            "The file is overwritten through a C stream.",
        ),
    ),
    (
        Pass::Fread,
        of_pass(
            "pass.fread.throughput",
            ["fread", "fread (phase fread)"],
            "fread",
            "The file is read through a C stream.",
        ),
    ),
    (
        Pass::Freread,
        of_pass(
            "pass.freread.throughput",
            ["freread", "freread (phase freread)"],
            "freread",
            "The file is read through a C stream a second time.",
        ),
    ),
    (
        Pass::Mixed,
        of_pass(
            "pass.mixed.throughput",
            ["mixed", "mixed (phase mixed)"],
            "mixed",
            "Each record is accessed once, in random order; reads and writes alternate.",
        ),
    ),
];

pub fn declared() -> Vec<&'static Declared> {
    ALL.iter().map(|rate| &rate.declared).chain(PASSES.iter().map(|(_, declared)| declared)).collect()
}

/// The phase of a pass. Its name includes the sizes, because phases of several clients with the same name are merged.
pub fn phase(pass: Pass, pair: Pair, took: Took) -> Phase {
    let (reads, writes) = pass.split(took.operations);
    let counts = [
        ("reads", reads),
        ("writes", writes),
        ("bytes_read", reads * pair.record),
        ("bytes_written", writes * pair.record),
    ];
    let counts = counts.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n)).collect();
    Phase { name: format!("{}/{}/{}", pass.name(), pair.file, pair.record), ns: took.ns, counts }
}

/// Pass, file and record of a phase.
fn parsed(name: &str) -> Option<(&str, &str, &str)> {
    let mut parts = name.split('/');
    let found = (parts.next()?, parts.next()?, parts.next()?);
    let is_size = |text: &str| text.parse::<u64>().is_ok();
    (parts.next().is_none() && is_size(found.1) && is_size(found.2)).then_some(found)
}

pub fn metrics(phases: &[Phase]) -> Vec<Metric> {
    let all = ALL.iter().filter_map(|rate| over_those_that_count(rate, phases));
    all.chain(phases.iter().filter_map(of_phase)).collect()
}

/// Computes a rate over the phases that count: read-only passes are left out for writing, write-only passes for reading.
fn over_those_that_count(rate: &Rate, phases: &[Phase]) -> Option<Metric> {
    let counting: Vec<Phase> = phases.iter().filter(|phase| phase.count(rate.count) > 0).cloned().collect();
    rate.metric(&counting)
}

fn of_phase(phase: &Phase) -> Option<Metric> {
    let (pass, file, record) = parsed(&phase.name)?;
    let (_, declared) = PASSES.iter().find(|(own, _)| own.name() == pass)?;
    let moved = phase.count("bytes_read").saturating_add(phase.count("bytes_written"));
    let value = (phase.ns > 0).then(|| moved as f64 * 1e9 / phase.ns as f64 / MIB as f64)?;
    let mut metric = declared.metric(value);
    metric.dimensions = [(FILE, file), (RECORD, record)].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    Some(metric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::KIB;

    #[test]
    fn each_pass_has_a_metric_for_each_pair_of_sizes() {
        let pair = |record| Pair { file: 4 * MIB, record };
        let took = |operations, ns| Took { operations, ns };
        let phases = [
            phase(Pass::Write, pair(KIB), took(4096, 1_000_000_000)),
            phase(Pass::Write, pair(MIB), took(4, 500_000_000)),
            phase(Pass::RandomRead, pair(MIB), took(4, 250_000_000)),
            phase(Pass::BackwardReread, pair(MIB), took(4, 250_000_000)),
        ];
        let seen = metrics(&phases);
        let said: Vec<(String, f64)> = seen
            .iter()
            .map(|m| (format!("{} {}", m.name, m.dimensions.get(RECORD).map_or("", String::as_str)), m.value))
            .collect();
        let expected = [
            ("all-passes.write.throughput ", 8.0 / 1.5),
            ("all-passes.read.throughput ", 16.0),
            ("pass.write.throughput 1024", 4.0),
            ("pass.write.throughput 1048576", 8.0),
            ("pass.random-read.throughput 1048576", 16.0),
        ];
        assert_eq!(said, expected.map(|(name, value)| (name.to_owned(), value)));
        assert!(seen[2].dimensions.get(FILE).is_some_and(|file| file == "4194304"));
    }

    #[test]
    fn a_mixed_pass_counts_for_both() {
        let phase = phase(Pass::Mixed, Pair { file: MIB, record: MIB }, Took { ns: 1, operations: 3 });
        assert_eq!([phase.count("reads"), phase.count("writes")], [2, 1]);
        assert_eq!([phase.count("bytes_read"), phase.count("bytes_written")], [2 * MIB, MIB]);
    }

    #[test]
    fn a_phase_of_another_name_has_no_metric() {
        for name in ["write", "write/1", "write/1/x", "write/1/2/3", "wrote/1/2"] {
            let phase = Phase { name: name.into(), ns: 1, counts: [("bytes_written".into(), 1)].into() };
            assert!(of_phase(&phase).is_none(), "{name}");
        }
    }
}
