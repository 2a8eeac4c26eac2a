//! Turns phases into metrics: each count ÷ its phase's time, and each phase's CPU time ÷ its time.
//!
//! Metrics of the two semantics have different names, so they are never compared.

use super::rules::Semantics;
use crate::schema::declared::{Declared, Over, Section, Sheet};
use crate::schema::event::Phase;
use crate::schema::metric::Metric;
use crate::workloads::kit::Rate;

pub const VERSION: u32 = 1;

/// A phase's rate and its CPU share.
struct Measured {
    rate: Rate,
    cpu: Declared,
}

const CPU: Declared = Declared {
    section: Section::Processor,
    explained: "User and system time of all threads of the workload ÷ the time of the phase. Bonnie++ prints \
                this share next to each rate.",
    drawn: false,
    ..Declared::PERCENT_OF_TIME
};

const CLASSIC_SECTION: Section = Section::Own {
    title: "Bonnie++ 1.0x",
    note: "Nothing is synced: data that fits into memory measures the page cache.",
};
const SECOND_SECTION: Section = Section::Own {
    title: "Bonnie++ 2.00",
    note: "Each data phase ends with an fsync, and each phase that creates or deletes files with a sync; \
           both are part of the phase's time.",
};

/// The metrics of a phase under one semantics. `$of` is the prefix of their names, `$label` the suffix of their titles.
macro_rules! measured {
    ($of:literal, $label:literal, $phase:literal, $rate:literal, $what:literal, $count:literal, $section:expr, $explained:literal, $base:expr) => {
        Measured {
            rate: Rate {
                count: $count,
                declared: Declared {
                    name: concat!($of, ".", $phase, ".", $rate),
                    title: concat!($what, " (phase ", $phase, ", ", $label, ")"),
                    over: Over::Phase($phase),
                    section: $section,
                    explained: $explained,
                    ..$base
                },
            },
            cpu: Declared {
                name: concat!($of, ".", $phase, ".cpu"),
                title: concat!("CPU share of ", $what, " (phase ", $phase, ", ", $label, ")"),
                over: Over::Phase($phase),
                ..CPU
            },
        }
    };
}

macro_rules! all {
    ($of:literal, $label:literal, $section:expr) => {
        [
            measured!(
                $of, $label, "block-write", "throughput", "block write", "bytes_written", Section::Headline,
                "Bytes written per second, in chunks, to a new file.",
                Declared { short: "write", did: "wrote in chunks", ..Declared::MIB_PER_SECOND }
            ),
            measured!(
                $of, $label, "block-read", "throughput", "block read", "bytes_read", Section::Headline,
                "Bytes read per second, in chunks, from the start of the file to its end.",
                Declared { short: "read", did: "read in chunks", ..Declared::MIB_PER_SECOND }
            ),
            measured!(
                $of, $label, "rewrite", "throughput", "rewrite", "bytes_written", $section,
                "Bytes rewritten per second: each chunk is read, changed and written back.",
                Declared { key: true, short: "rewrite", ..Declared::MIB_PER_SECOND }
            ),
            measured!(
                $of, $label, "seek", "rate", "random seeks", "seeks", $section,
                "Chunks read per second at random positions, by several readers at once; a tenth of the \
                    chunks are changed and written back.",
                Declared { key: true, short: "seeks", ..Declared::PER_SECOND }
            ),
            measured!(
                $of, $label, "char-write", "throughput", "write of single characters", "bytes_written", $section,
                "Bytes written per second, one byte at a time. Bonnie++ 1.0x writes through a buffer of 4 KiB; \
                 Bonnie++ 2.00 makes one system call per byte.",
                Declared::MIB_PER_SECOND
            ),
            measured!(
                $of, $label, "char-read", "throughput", "read of single characters", "bytes_read", $section,
                "Bytes read per second, one byte at a time. Bonnie++ 1.0x reads through a buffer of 4 KiB; \
                 Bonnie++ 2.00 makes one system call per byte.",
                Declared::MIB_PER_SECOND
            ),
            measured!(
                $of, $label, "create-ordered", "rate", "create in order", "files", Section::Files,
                "Small files created per second, in order of their names.",
                Declared { key: true, short: "create", ..Declared::PER_SECOND }
            ),
            measured!(
                $of, $label, "stat-ordered", "rate", "stat and read in order", "files", Section::Files,
                "Small files stat'ed per second, in directory order; files that are not empty are also read.",
                Declared::PER_SECOND
            ),
            measured!(
                $of, $label, "delete-ordered", "rate", "delete in order", "files", Section::Files,
                "Small files deleted per second, in directory order.",
                Declared::PER_SECOND
            ),
            measured!(
                $of, $label, "create-random", "rate", "create with random names", "files", Section::Files,
                "Small files created per second, with names that begin with random characters.",
                Declared::PER_SECOND
            ),
            measured!(
                $of, $label, "stat-random", "rate", "stat and read at random", "files", Section::Files,
                "Small files stat'ed per second, in random order; files that are not empty are also read.",
                Declared::PER_SECOND
            ),
            measured!(
                $of, $label, "delete-random", "rate", "delete at random", "files", Section::Files,
                "Small files deleted per second, in random order.",
                Declared::PER_SECOND
            ),
        ]
    };
}

static CLASSIC: [Measured; 12] = all!("bonnie-classic", "1.0x", CLASSIC_SECTION);
static SECOND: [Measured; 12] = all!("bonnie-2", "2.00", SECOND_SECTION);

macro_rules! sheets {
    ($of:literal, $title:literal) => {
        [
            Sheet {
                title: concat!($title, ": data"),
                note: "",
                columns: &[
                    "write, per chr",
                    "CPU",
                    "write, block",
                    "CPU",
                    "rewrite",
                    "CPU",
                    "read, per chr",
                    "CPU",
                    "read, block",
                    "CPU",
                    "random seeks",
                    "CPU",
                ],
                lines: &[(
                    "",
                    &[
                        concat!($of, ".char-write.throughput"),
                        concat!($of, ".char-write.cpu"),
                        concat!($of, ".block-write.throughput"),
                        concat!($of, ".block-write.cpu"),
                        concat!($of, ".rewrite.throughput"),
                        concat!($of, ".rewrite.cpu"),
                        concat!($of, ".char-read.throughput"),
                        concat!($of, ".char-read.cpu"),
                        concat!($of, ".block-read.throughput"),
                        concat!($of, ".block-read.cpu"),
                        concat!($of, ".seek.rate"),
                        concat!($of, ".seek.cpu"),
                    ],
                )],
            },
            Sheet {
                title: concat!($title, ": files"),
                note: "",
                columns: &["create", "CPU", "stat and read", "CPU", "delete", "CPU"],
                lines: &[
                    (
                        "in order",
                        &[
                            concat!($of, ".create-ordered.rate"),
                            concat!($of, ".create-ordered.cpu"),
                            concat!($of, ".stat-ordered.rate"),
                            concat!($of, ".stat-ordered.cpu"),
                            concat!($of, ".delete-ordered.rate"),
                            concat!($of, ".delete-ordered.cpu"),
                        ],
                    ),
                    (
                        "at random",
                        &[
                            concat!($of, ".create-random.rate"),
                            concat!($of, ".create-random.cpu"),
                            concat!($of, ".stat-random.rate"),
                            concat!($of, ".stat-random.cpu"),
                            concat!($of, ".delete-random.rate"),
                            concat!($of, ".delete-random.cpu"),
                        ],
                    ),
                ],
            },
        ]
    };
}

const CLASSIC_SHEETS: [Sheet; 2] = sheets!("bonnie-classic", "As Bonnie++ 1.0x prints it");
const SECOND_SHEETS: [Sheet; 2] = sheets!("bonnie-2", "As Bonnie++ 2.00 prints it");

/// In the order of the original's output.
pub static SHEETS: [Sheet; 4] = [CLASSIC_SHEETS[0], CLASSIC_SHEETS[1], SECOND_SHEETS[0], SECOND_SHEETS[1]];

fn of(semantics: Semantics) -> &'static [Measured; 12] {
    match semantics {
        Semantics::Classic => &CLASSIC,
        Semantics::Second => &SECOND,
    }
}

pub fn declared() -> Vec<&'static Declared> {
    let both = [Semantics::Classic, Semantics::Second].into_iter().flat_map(of);
    both.flat_map(|measured| [&measured.rate.declared, &measured.cpu]).collect()
}

pub fn metrics(semantics: Semantics, phases: &[Phase]) -> Vec<Metric> {
    let rates = of(semantics).iter().filter_map(|measured| measured.rate.metric(phases));
    rates.chain(of(semantics).iter().filter_map(|measured| cpu(&measured.cpu, phases))).collect()
}

fn cpu(declared: &Declared, phases: &[Phase]) -> Option<Metric> {
    let Over::Phase(name) = declared.over else { return None };
    let phase = phases.iter().find(|phase| phase.name == name)?;
    (phase.ns > 0).then(|| declared.metric(100.0 * phase.count("cpu_ns") as f64 / phase.ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::units::MIB;

    #[test]
    fn each_rate_and_each_share_is_of_its_own_phase_and_semantics() {
        let phase = |name: &str, ns, counts: &[(&str, u64)]| Phase {
            name: name.to_owned(),
            ns,
            counts: counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
        };
        let phases = [
            phase("block-write", 500_000_000, &[("bytes_written", 3 * MIB), ("cpu_ns", 125_000_000)]),
            phase("seek", 2_000_000_000, &[("seeks", 10), ("cpu_ns", 3_000_000_000)]),
            phase("delete-random", 250_000_000, &[("files", 5), ("cpu_ns", 0)]),
        ];
        let seen = metrics(Semantics::Classic, &phases);
        let values: Vec<(&str, f64)> = seen.iter().map(|m| (m.name.as_str(), m.value)).collect();
        let expected = [
            ("bonnie-classic.block-write.throughput", 6.0),
            ("bonnie-classic.seek.rate", 5.0),
            ("bonnie-classic.delete-random.rate", 20.0),
            ("bonnie-classic.block-write.cpu", 25.0),
            ("bonnie-classic.seek.cpu", 150.0),
            ("bonnie-classic.delete-random.cpu", 0.0),
        ];
        assert_eq!(values, expected);
        let other = metrics(Semantics::Second, &phases);
        assert!(other.iter().all(|m| seen.iter().all(|s| s.name != m.name)), "{other:?}");
        let headlines: Vec<&str> = other.iter().filter(|m| m.headline).map(|m| m.name.as_str()).collect();
        assert_eq!(headlines, ["bonnie-2.block-write.throughput"]);
    }
}
