//! Requests of the validation jobs, as data. A model alone and a guest's block device get the same requests.

use serde::{Deserialize, Serialize};

use crate::Spec;

/// Sectors of a block, and of a stream's piece.
pub const BLOCK: u32 = 8;
pub const STREAM: u32 = 256;
/// Sectors of a flash disk that jobs use. They are written first, because reads of unwritten sectors do not reach the flash.
const FLASH_SPAN: u64 = 2 << 20;
/// Pieces of a stream in flight.
pub const STREAM_DEPTH: u64 = 8;
/// Number of places at which a stream is measured, from the outside inwards.
pub const STREAM_PLACES: u64 = 8;
/// Random writes in flight.
pub const WRITE_DEPTH: u64 = 32;
/// Random writes between two clock readings.
pub const WRITE_PART: u64 = 100;
/// Maximum pause after a lone read. It makes the platters' angle random and read-ahead useless.
pub const PAUSE_NS: u64 = 1_000_000;

/// Kind and amount of requests. Unless noted, blocks of 4 KiB at random places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Asks {
    /// Reads one at a time, whose latencies are summed.
    LoneReads {
        count: u64,
    },
    /// A constant number in flight.
    Reads {
        depth: u64,
        count: u64,
    },
    /// A stream of this many pieces in order at each place.
    StreamReads {
        pieces: u64,
    },
    StreamWrites {
        pieces: u64,
    },
    /// [`WRITE_DEPTH`] in flight, for this time.
    Writes {
        seconds: u64,
    },
    /// [`WRITE_DEPTH`] in flight on a disk that was overwritten before; the first `before` are not counted.
    SteadyWrites {
        before: u64,
        count: u64,
    },
    /// What `--state preconditioned` does with a claimed disk: all of it in order, twice, then rounds at random until SNIA's rule holds.
    UntilSteady,
    /// Pairs of a write and its flush, one after the other.
    Syncs {
        count: u64,
    },
    /// `times` repetitions of `writes` writes, a flush, a rest; the flushes' latencies are summed.
    Flushes {
        writes: u64,
        times: u64,
    },
    /// One reader beside one writer that flushes after each write, for this time; counts the reads.
    ReadsBesideSyncs {
        seconds: u64,
    },
}

impl Asks {
    /// 1/`times` of the requests or time, but at least one. The number of writes before a flush is kept.
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
            Asks::UntilSteady => Asks::UntilSteady,
            Asks::Syncs { count } => Asks::Syncs { count: of(count) },
            Asks::Flushes { writes, times } => Asks::Flushes { writes, times: of(times) },
            Asks::ReadsBesideSyncs { seconds } => Asks::ReadsBesideSyncs { seconds: of(seconds) },
        }
    }
}

/// A guest's work on a disk without a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawWork {
    /// Whether the whole volume is first written in order and then left idle.
    pub fill: bool,
    pub asks: Asks,
}

/// Name of the count that a guest reports.
pub const DONE: &str = "done";

/// Requests, or bytes of a stream, and the time they took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    pub done: u64,
    pub ns: u64,
}

impl Taken {
    /// Rate in thousandths per second.
    pub fn rate(self) -> u64 {
        (u128::from(self.done) * 1_000_000_000_000 / u128::from(self.ns.max(1))) as u64
    }

    /// All of these one after the other.
    pub fn all(these: &[Taken]) -> Taken {
        Taken { done: these.iter().map(|t| t.done).sum(), ns: these.iter().map(|t| t.ns).sum() }
    }

    /// Mean time of one request, in nanoseconds.
    pub fn mean_ns(self) -> u64 {
        self.ns / self.done.max(1)
    }
}

/// Places of requests, from a fixed pseudorandom sequence.
#[derive(Clone, Debug)]
pub struct Places {
    /// Size in sectors.
    span: u64,
    random: u64,
}

impl Places {
    pub fn new(span: u64) -> Places {
        Places { span, random: 1 }
    }

    /// Places for a second client on the same span, far away in the sequence. Otherwise it would follow the writer closely and
    /// read data still in the disk's cache.
    #[must_use]
    pub fn of_another(&self) -> Places {
        Places { random: self.random ^ 0x9e37_79b9_7f4a_7c15, ..self.clone() }
    }

    /// Size of the span.
    pub fn sectors(&self) -> u64 {
        self.span
    }

    /// Number of stream pieces in the whole span.
    pub fn pieces(&self) -> u64 {
        self.span / u64::from(STREAM)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.random) * u128::from(limit)) >> 64) as u64
    }

    /// First sector of a random block.
    pub fn block(&mut self) -> u64 {
        self.below(self.span / u64::from(BLOCK)) * u64::from(BLOCK)
    }

    /// First sector of piece `n` of a stream.
    pub fn piece(&self, n: u64) -> u64 {
        let sector = n * u64::from(STREAM) % (self.span - u64::from(STREAM));
        sector - sector % u64::from(BLOCK)
    }

    /// The first piece at each place of a stream.
    pub fn streams(&self) -> impl Iterator<Item = u64> + use<> {
        let each = self.pieces() / STREAM_PLACES;
        (0..STREAM_PLACES).map(move |place| each * place)
    }
}

/// Number of sectors that jobs use: the whole hard disk, or part of any other disk.
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
        // Of 2²⁷ blocks, chance repeats 10⁸ ÷ 2²⁷, less than one.
        assert!(common < 10, "{common}");
    }

    #[test]
    fn a_part_of_what_is_asked_is_never_nothing_and_as_deep() {
        assert_eq!(Asks::Reads { depth: 32, count: 95 }.fewer(10), Asks::Reads { depth: 32, count: 10 });
        assert_eq!(Asks::Writes { seconds: 30 }.fewer(30), Asks::Writes { seconds: 1 });
        assert_eq!(Asks::Flushes { writes: 64, times: 5 }.fewer(10), Asks::Flushes { writes: 64, times: 1 });
    }
}
