//! What the jobs ask of a disk, as data: the same for a model alone and for the block device of a guest.

use serde::{Deserialize, Serialize};

use crate::Spec;

/// Sectors of a block, and of a piece of a stream.
pub const BLOCK: u32 = 8;
pub const STREAM: u32 = 256;
/// Sectors of a flash disk that jobs work on: what was written first, as what is nowhere is not read.
const FLASH_SPAN: u64 = 2 << 20;
/// So many pieces of a stream are under way.
pub const STREAM_DEPTH: u64 = 8;
/// A stream is taken at so many places, from the outside inwards.
pub const STREAM_PLACES: u64 = 8;
/// So many random writes are under way.
pub const WRITE_DEPTH: u64 = 32;
/// So many of them come between two looks at the clock.
pub const WRITE_PART: u64 = 100;
/// Behind a lone read comes a pause of at most so long: the platters' angle is a matter of chance, and read-ahead is no help.
pub const PAUSE_NS: u64 = 1_000_000;

/// What is asked for, and how much of it. Where nothing else is said, blocks of 4 KiB at random places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Asks {
    /// Each by itself; their times are summed.
    LoneReads {
        count: u64,
    },
    /// Always so many under way.
    Reads {
        depth: u64,
        count: u64,
    },
    /// So many pieces in order at each place.
    StreamReads {
        pieces: u64,
    },
    StreamWrites {
        pieces: u64,
    },
    /// [`WRITE_DEPTH`] at a time, for so long.
    Writes {
        seconds: u64,
    },
    /// [`WRITE_DEPTH`] at a time on a disk that was overwritten before; the first of them are not counted.
    SteadyWrites {
        before: u64,
        count: u64,
    },
    /// A write and what makes it safe, one after the other.
    Syncs {
        count: u64,
    },
    /// So many writes, then a flush, whose times are summed, then rest.
    Flushes {
        writes: u64,
        times: u64,
    },
    /// One reader beside one writer that makes each of its writes safe, for so long; reads are counted.
    ReadsBesideSyncs {
        seconds: u64,
    },
}

impl Asks {
    /// So many times fewer requests, or as much less time; and never none. How many come before a flush is part of what is asked.
    #[must_use]
    pub fn fewer(self, times: u64) -> Asks {
        let of = |number: u64| number.div_ceil(times);
        match self {
            Asks::LoneReads { count } => Asks::LoneReads { count: of(count) },
            Asks::Reads { depth, count } => Asks::Reads { depth, count: of(count) },
            Asks::StreamReads { pieces } => Asks::StreamReads { pieces: of(pieces) },
            Asks::StreamWrites { pieces } => Asks::StreamWrites { pieces: of(pieces) },
            Asks::Writes { seconds } => Asks::Writes { seconds: of(seconds) },
            Asks::SteadyWrites { before, count } => {
                Asks::SteadyWrites { before: of(before), count: of(count) }
            }
            Asks::Syncs { count } => Asks::Syncs { count: of(count) },
            Asks::Flushes { writes, times } => Asks::Flushes { writes, times: of(times) },
            Asks::ReadsBesideSyncs { seconds } => Asks::ReadsBesideSyncs { seconds: of(seconds) },
        }
    }
}

/// What a guest does on a disk without a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawWork {
    /// Whether all of the volume is written first, in order, and then left alone.
    pub fill: bool,
    pub asks: Asks,
}

/// What a guest calls the count of it.
pub const DONE: &str = "done";

/// How much was done in how long: requests, or the bytes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub done: u64,
    pub ns: u64,
}

impl Taken {
    /// Thousandths of so many a second.
    pub fn rate(self) -> u64 {
        (u128::from(self.done) * 1_000_000_000_000 / u128::from(self.ns.max(1))) as u64
    }

    /// Of one, in nanoseconds.
    pub fn mean_ns(self) -> u64 {
        self.ns / self.done.max(1)
    }
}

/// Where requests go, by numbers without a pattern that are the same each time.
#[derive(Clone, Debug)]
pub struct Places {
    /// So many sectors.
    span: u64,
    random: u64,
}

impl Places {
    pub fn new(span: u64) -> Places {
        Places { span, random: 1 }
    }

    /// Of another who works on the same span: far from these in the row of numbers, as who follows close behind a writer reads what
    /// the disk still has in its cache.
    #[must_use]
    pub fn of_another(&self) -> Places {
        Places { random: self.random ^ 0x9e37_79b9_7f4a_7c15, ..self.clone() }
    }

    /// How many pieces of a stream all of it is.
    pub fn pieces(&self) -> u64 {
        self.span / u64::from(STREAM)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.random) * u128::from(limit)) >> 64) as u64
    }

    /// The sector of a block anywhere.
    pub fn block(&mut self) -> u64 {
        self.below(self.span / u64::from(BLOCK)) * u64::from(BLOCK)
    }

    /// The sector of a stream's piece of that number.
    pub fn piece(&self, n: u64) -> u64 {
        let sector = n * u64::from(STREAM) % (self.span - u64::from(STREAM));
        sector - sector % u64::from(BLOCK)
    }

    /// The first pieces of the streams.
    pub fn streams(&self) -> impl Iterator<Item = u64> + use<> {
        let each = self.pieces() / STREAM_PLACES;
        (0..STREAM_PLACES).map(move |place| each * place)
    }
}

/// Where jobs work, in sectors: all of a hard disk, and a part of any other.
pub(super) fn span(spec: &Spec) -> u64 {
    if spec.is_rotational() { spec.sectors() } else { spec.sectors().min(FLASH_SPAN) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn two_on_the_same_span_do_not_follow_each_other() {
        let mut one = Places::new(1 << 30);
        let mut other = one.of_another();
        let blocks: BTreeSet<u64> = (0..10_000).map(|_| one.block()).collect();
        let common = (0..10_000).filter(|_| blocks.contains(&other.block())).count();
        // Of 2²⁷ blocks chance has 10⁸ ÷ 2²⁷, less than one, in common.
        assert!(common < 10, "{common}");
    }

    #[test]
    fn a_part_of_what_is_asked_is_never_nothing_and_as_deep() {
        assert_eq!(Asks::Reads { depth: 32, count: 95 }.fewer(10), Asks::Reads { depth: 32, count: 10 });
        assert_eq!(Asks::Writes { seconds: 30 }.fewer(30), Asks::Writes { seconds: 1 });
        assert_eq!(Asks::Flushes { writes: 64, times: 5 }.fewer(10), Asks::Flushes { writes: 64, times: 1 });
    }
}
