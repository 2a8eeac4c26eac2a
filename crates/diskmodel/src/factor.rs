//! Unknown properties of a disk and its machine, and how far each may deviate from the disk file.
//!
//! Each class of disks has a table of its most important factors, with the two extremes of each. The samples at extremes follow a
//! screening design: a table with one row per sample, whose columns say which factor takes which extreme. Every factor has one
//! column of that table, the same in all classes, so that two disks of different classes can be varied together:
//! ```text
//! column        0         1        2          3           4         5       6          7           8          9    10
//! hard disk     seek      settle   segments   position    overhead  cache   entries    destaging   scheduler  fua  cpu
//! shingled      seek      settle   log        position    overhead  cache   cleaning   destaging   scheduler  fua  cpu
//! RAID          seek      settle   stripes    position    overhead  cache   entries    gathering   scheduler  fua  cpu
//! flash         flush     program  erase      read        overhead  cache   gathering  request     scheduler  fua  cpu
//! card          read-card program  erase      open-units  overhead  cache   –          request     scheduler  –    cpu
//! cloud         latency   write…   burst      jitter      –         –       –          request     scheduler  –    cpu
//! ```
//! A disk skips a factor if both extremes give the same disk.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::spec::{Model, Spec};

/// Columns of the design: the maximum number of factors in a class.
pub const COLUMNS: usize = 11;

/// A property that the ensemble varies.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    Seek,
    Settle,
    Segments,
    Position,
    Overhead,
    Cache,
    Entries,
    Destaging,
    Scheduler,
    Fua,
    Cpu,
    Log,
    Cleaning,
    Stripes,
    Gathering,
    Flush,
    Program,
    Erase,
    Read,
    FlashGathering,
    Request,
    ReadCard,
    OpenUnits,
    ReadLatency,
    WriteLatency,
    Burst,
    Jitter,
}

/// The low or high end of a factor's range.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Low,
    High,
}

/// The value at one end of a factor's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A multiple of the file's value: numerator and denominator.
    Times(u64, u64),
    Kib(u64),
    Is(bool),
    /// A position of the tracks: this many thousandths of the disk further in than the file says.
    Moved(i32),
    /// A multiple of the file's value; and the firmware chooses the next request among this many of the oldest.
    Among {
        times: (u64, u64),
        oldest: u64,
    },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Times(times, 1) => write!(f, "×{times}"),
            End::Times(times, of) => write!(f, "×{times}/{of}"),
            End::Kib(kib) => write!(f, "{kib} KiB"),
            End::Is(is) => write!(f, "{is}"),
            End::Moved(permille) => write!(f, "{:+} ‰ of the disk", permille),
            End::Among { times: (times, of), oldest } => {
                write!(f, "{}, {oldest} oldest", End::Times(*times, *of))
            }
        }
    }
}

/// A factor of a class: its two extremes, and the reason for their distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub factor: Factor,
    pub low: End,
    pub high: End,
    pub why: &'static str,
}

impl Range {
    pub fn end(&self, level: Level) -> End {
        match level {
            Level::Low => self.low,
            Level::High => self.high,
        }
    }
}

const fn times(factor: Factor, by: u64, why: &'static str) -> Range {
    Range { factor, low: End::Times(1, by), high: End::Times(by, 1), why }
}

const fn kib(low: u64, high: u64, why: &'static str) -> Range {
    Range { factor: Factor::Request, low: End::Kib(low), high: End::Kib(high), why }
}

const CPU: Range = times(Factor::Cpu, 2, "our estimate: publications seldom name the computer's processor");
const OVERHEAD: Range = times(
    Factor::Overhead,
    2,
    "our estimate: makers publish the overhead of few controllers, from 0.1 to 0.5 ms",
);
const SCHEDULER: Range = Range {
    factor: Factor::Scheduler,
    low: End::Is(false),
    high: End::Is(true),
    why: "distributions set the scheduler to none, mq-deadline or bfq by udev rules",
};
const FUA: Range = Range {
    factor: Factor::Fua,
    low: End::Is(false),
    high: End::Is(true),
    why: "FUA is off by default in libata, and firmware may implement it as a flush",
};
const POSITION: Range = Range {
    factor: Factor::Position,
    low: End::Moved(-100),
    high: End::Moved(300),
    why: "publications seldom state a partition's position, and inner tracks are slower; a measured BarraCuda reads \
        sequentially as slowly as its model does 300 ‰ of the disk further in",
};
const SEEK: Range = Range {
    factor: Factor::Seek,
    low: End::Times(17, 20),
    high: End::Times(33, 20),
    why: "measured seeks took 0.9 to 1.35 times as long as the three seek times of the disk's file; on a BarraCuda \
        they took 1.65 times as long as its data sheet says",
};
const SETTLE: Range = times(
    Factor::Settle,
    2,
    "our estimate: data sheets give 0.5 to 2 ms for settling before a write, and seldom a time for head switches",
);
const CACHE: Range = times(
    Factor::Cache,
    2,
    "our estimate: firmware uses a part of the drive's memory as write cache, or shares it with read-ahead",
);
const ENTRIES: Range =
    times(Factor::Entries, 4, "our estimate: no maker publishes the number of cache entries");
/// In an array this column also varies the members' request order: the controller's entries decide which requests reach
/// them together.
const MEMBERS_ENTRIES: Range = Range {
    low: IN_ORDER,
    why: "our estimate: no maker publishes the number of cache entries; a measured disk hardly reorders requests, so \
        the low value lets an array's disks choose only among the 7 oldest",
    ..ENTRIES
};
/// Waiting time and reordering distance form one factor: both describe how far firmware departs from arrival order.
const DESTAGING: Range = Range {
    factor: Factor::Destaging,
    low: IN_ORDER,
    high: End::Times(4, 1),
    why: "firmware decides how long a request waits while nearer ones are served; a measured BarraCuda chooses among \
        few requests, so the low value lets it choose only among the 7 oldest",
};
const IN_ORDER: End = End::Among { times: (1, 4), oldest: 7 };
const REQUEST: Range =
    kib(128, 1280, "many drives allow requests of 128 KiB at most; the kernel's default limit is 1280 KiB");

const HARD: &[Range] = &[
    SEEK,
    SETTLE,
    times(Factor::Segments, 2, "our estimate: the number of read segments is adaptive and not published"),
    POSITION,
    OVERHEAD,
    CACHE,
    ENTRIES,
    DESTAGING,
    SCHEDULER,
    FUA,
    CPU,
];
const SHINGLED: &[Range] = &[
    SEEK,
    SETTLE,
    times(Factor::Log, 2, "our estimate: measured logs of shingled drives of one class had 20 to 40 GB"),
    POSITION,
    OVERHEAD,
    CACHE,
    times(
        Factor::Cleaning,
        4,
        "our estimate: firmware decides after how much idle time a drive cleans its log",
    ),
    DESTAGING,
    SCHEDULER,
    FUA,
    CPU,
];
const RAID: &[Range] = &[
    SEEK,
    SETTLE,
    times(
        Factor::Stripes,
        2,
        "our estimate: no maker publishes how many stripes a controller writes at once",
    ),
    POSITION,
    OVERHEAD,
    CACHE,
    MEMBERS_ENTRIES,
    times(
        Factor::Gathering,
        3,
        "our estimate: firmware decides how long it holds a partial stripe before writing it",
    ),
    SCHEDULER,
    FUA,
    CPU,
];
const FLASH: &[Range] = &[
    times(Factor::Flush, 3, "measured flush times of drives of one class differ by more than a factor of 3"),
    times(
        Factor::Program,
        3,
        "our estimate: programming flash takes 0.2 to 2 ms, depending on generation and page; no drive's time is published",
    ),
    times(
        Factor::Erase,
        3,
        "our estimate: erasing a block takes 1 to 10 ms, depending on the flash generation",
    ),
    times(
        Factor::Read,
        2,
        "our estimate: reading flash takes 40 to 110 µs, depending on page and generation",
    ),
    OVERHEAD,
    times(
        Factor::Cache,
        4,
        "our estimate: write caches have from less than 1 MiB to tens of MiB; no drive's size is published",
    ),
    times(
        Factor::FlashGathering,
        3,
        "our estimate: firmware decides how long data waits to fill a program unit",
    ),
    REQUEST,
    SCHEDULER,
    FUA,
    CPU,
];
const CARD: &[Range] = &[
    times(
        Factor::ReadCard,
        2,
        "our estimate: reading flash takes 40 to 110 µs, depending on page and generation",
    ),
    times(
        Factor::Program,
        3,
        "our estimate: programming flash takes 0.2 to 2 ms, depending on generation and page",
    ),
    times(
        Factor::Erase,
        3,
        "our estimate: erasing a block takes 1 to 10 ms, depending on the flash generation",
    ),
    times(
        Factor::OpenUnits,
        2,
        "our estimate: measured cards keep 1 to 10 flash units open, depending on speed class and maker",
    ),
    OVERHEAD,
    CACHE,
    kib(128, 512, "the largest transfer of SD host controllers is between 128 and 512 KiB"),
    SCHEDULER,
    CPU,
];
const CLOUD: &[Range] = &[
    times(Factor::ReadLatency, 2, "our estimate: read latency differs by provider, zone and time of day"),
    times(Factor::WriteLatency, 2, "our estimate: write latency differs as read latency does"),
    times(Factor::Burst, 4, "our estimate: the burst credit at the start of a trial is not known"),
    times(Factor::Jitter, 4, "our estimate: providers publish only mean latencies"),
    kib(128, 1024, "the largest operation has 128 KiB on the smallest volumes and 1024 KiB on larger ones"),
    SCHEDULER,
    CPU,
];
const ZERO: &[Range] = &[CPU];

/// A class of disks: all disks of a class have the same factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Hard,
    Shingled,
    Raid,
    Flash,
    Card,
    Cloud,
    Zero,
}

impl Class {
    pub const ALL: [Class; 7] =
        [Class::Hard, Class::Shingled, Class::Raid, Class::Flash, Class::Card, Class::Cloud, Class::Zero];

    pub fn title(self) -> &'static str {
        match self {
            Class::Hard => "hard disks",
            Class::Shingled => "shingled disks",
            Class::Raid => "RAID of hard disks",
            Class::Flash => "SSDs",
            Class::Card => "cards",
            Class::Cloud => "cloud volumes",
            Class::Zero => "disks that take no time",
        }
    }

    /// Version of the class's extremes, raised at every change, so that stored samples with other extremes are not mistaken for
    /// these. 1: the extremes include the errors found on measured hard disks.
    pub fn extremes(self) -> u8 {
        match self {
            Class::Hard | Class::Shingled | Class::Raid => 1,
            Class::Flash | Class::Card | Class::Cloud | Class::Zero => 0,
        }
    }

    /// The ranges of factors that the disk file may not know exactly.
    pub(crate) fn ranges(self) -> &'static [Range] {
        match self {
            Class::Hard => HARD,
            Class::Shingled => SHINGLED,
            Class::Raid => RAID,
            Class::Flash => FLASH,
            Class::Card => CARD,
            Class::Cloud => CLOUD,
            Class::Zero => ZERO,
        }
    }
}

impl Spec {
    pub fn class(&self) -> Class {
        match &self.model {
            Model::Zero { .. } => Class::Zero,
            Model::Hard(hard) if hard.shingle.is_some() => Class::Shingled,
            Model::Hard(_) => Class::Hard,
            Model::Raid(_) => Class::Raid,
            Model::Flash(_) => Class::Flash,
            Model::Card(_) => Class::Card,
            Model::Cloud(_) => Class::Cloud,
        }
    }

    /// The factors of this disk in column order, without those whose extremes give the same disk.
    pub fn factors(&self) -> Vec<&'static Range> {
        let differs = |range: &&Range| match range.factor {
            Factor::Cpu => true,
            Factor::Position => self.is_rotational(),
            _ => self.with(range, Level::Low) != self.with(range, Level::High),
        };
        self.class().ranges().iter().filter(differs).collect()
    }
}

impl Factor {
    pub const ALL: [Factor; 27] = [
        Factor::Seek,
        Factor::Settle,
        Factor::Segments,
        Factor::Position,
        Factor::Overhead,
        Factor::Cache,
        Factor::Entries,
        Factor::Destaging,
        Factor::Scheduler,
        Factor::Fua,
        Factor::Cpu,
        Factor::Log,
        Factor::Cleaning,
        Factor::Stripes,
        Factor::Gathering,
        Factor::Flush,
        Factor::Program,
        Factor::Erase,
        Factor::Read,
        Factor::FlashGathering,
        Factor::Request,
        Factor::ReadCard,
        Factor::OpenUnits,
        Factor::ReadLatency,
        Factor::WriteLatency,
        Factor::Burst,
        Factor::Jitter,
    ];

    /// Column of the screening design. Within a class each column has at most one factor.
    pub fn column(self) -> usize {
        match self {
            Factor::Seek | Factor::Flush | Factor::ReadCard | Factor::ReadLatency => 0,
            Factor::Settle | Factor::Program | Factor::WriteLatency => 1,
            Factor::Segments | Factor::Log | Factor::Stripes | Factor::Erase | Factor::Burst => 2,
            Factor::Position | Factor::Read | Factor::OpenUnits | Factor::Jitter => 3,
            Factor::Overhead => 4,
            Factor::Cache => 5,
            Factor::Entries | Factor::Cleaning | Factor::FlashGathering => 6,
            Factor::Destaging | Factor::Gathering | Factor::Request => 7,
            Factor::Scheduler => 8,
            Factor::Fua => 9,
            Factor::Cpu => 10,
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Factor::Seek => "the seek time",
            Factor::Settle => "settling and head switches",
            Factor::Segments => "the number of read segments",
            Factor::Position => "the partition's position",
            Factor::Overhead => "the controller's overhead",
            Factor::Cache => "the size of the write cache",
            Factor::Entries => "the number of entries of the write cache",
            Factor::Destaging => "how far the firmware reorders",
            Factor::Scheduler => "the scheduler",
            Factor::Fua => "forced writes or flushes",
            Factor::Cpu => "the CPU's speed",
            Factor::Log => "the size of the shingled disk's log",
            Factor::Cleaning => "when the shingled disk cleans",
            Factor::Stripes => "the number of stripes written at once",
            Factor::Gathering => "how long the controller holds a partial stripe",
            Factor::Flush => "the time of a flush",
            Factor::Program => "the time to program",
            Factor::Erase => "the time to erase",
            Factor::Read | Factor::ReadCard => "the time to read flash",
            Factor::FlashGathering => "how long the SSD collects data for a full program unit",
            Factor::Request => "the largest request",
            Factor::OpenUnits => "the number of flash units that a card keeps open",
            Factor::ReadLatency => "the latency of reads",
            Factor::WriteLatency => "the latency of writes",
            Factor::Burst => "the burst credit that a volume has saved",
            Factor::Jitter => "how far latency scatters",
        }
    }

    /// The names of its low and high level.
    pub fn ends(self) -> [&'static str; 2] {
        match self {
            Factor::Position => ["further out", "further in"],
            Factor::Scheduler => ["none", "mq-deadline"],
            Factor::Fua => ["flushes", "forced writes"],
            Factor::Destaging => ["little", "far"],
            Factor::Cpu => ["half", "double"],
            Factor::Segments | Factor::Entries | Factor::Stripes | Factor::OpenUnits => ["fewer", "more"],
            Factor::Cache | Factor::Log | Factor::Request | Factor::Burst | Factor::Jitter => {
                ["smaller", "larger"]
            }
            _ => ["shorter", "longer"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SHIPPED;

    fn specs() -> Vec<Spec> {
        SHIPPED
            .iter()
            .map(|(name, text)| Spec::parse(text).unwrap_or_else(|e| panic!("{name}: {e}")))
            .collect()
    }

    #[test]
    fn no_disk_has_two_factors_of_one_column() {
        for spec in specs() {
            let mut columns: Vec<usize> = spec.factors().iter().map(|range| range.factor.column()).collect();
            let all = columns.len();
            columns.sort_unstable();
            columns.dedup();
            assert!(columns.len() == all && all <= COLUMNS, "{}: {columns:?}", spec.name());
        }
    }

    #[test]
    fn every_factor_is_listed_and_some_disk_has_it() {
        let mut had: Vec<Factor> = specs().iter().flat_map(|spec| spec.factors()).map(|r| r.factor).collect();
        had.sort_unstable();
        had.dedup();
        assert_eq!(had, Factor::ALL);
    }

    #[test]
    fn what_a_disk_does_not_have_is_left_out() {
        let has = |name: &str, factor: Factor| {
            let spec = specs().into_iter().find(|spec| spec.name() == name).expect("it is shipped");
            spec.factors().iter().any(|range| range.factor == factor)
        };
        assert!(
            has("samsung-870-evo", Factor::Flush) && !has("ssd-sata", Factor::Flush),
            "only one of them takes time to flush"
        );
        // A disk that loses nothing needs no FUA.
        assert!(has("samsung-870-evo", Factor::Fua) && !has("samsung-pm9a3-1920", Factor::Fua));
        assert!(!has("sd-card", Factor::Position) && has("hdd-16tb", Factor::Position));
    }

    #[test]
    fn every_range_says_why_it_is_so_wide() {
        for range in specs().iter().flat_map(|spec| spec.factors()) {
            assert!(range.why.len() > 10 && range.low != range.high, "{range:?}");
        }
    }
}
