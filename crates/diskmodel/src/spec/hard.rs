//! The values of a hard disk.

use super::fields::Fields;
use super::{Attached, FrontSpec, SpecError, sectors};
use crate::hard::{SeekCurve, SeekSpec, SeekTimes, cylinders_per_zone};
use crate::request::wire_ns;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HardSpec {
    pub front: FrontSpec,
    pub sectors: u64,
    pub physical_block: u32,
    pub turn_ns: u64,
    pub heads: u64,
    /// Sectors per track, from the outermost zone inwards. All zones have the same number of cylinders.
    pub zones: Vec<u64>,
    pub seek: SeekSpec,
    pub head_switch_ns: u64,
    /// Extra settle time before a write; added to seeks over more than one cylinder.
    pub write_settle_ns: u64,
    pub read_segments: u64,
    pub read_segment_sectors: u64,
    /// Values of a disk with overlapping (shingled) tracks; `None` for other disks.
    pub shingle: Option<ShingleSpec>,
    /// The firmware chooses the next request among this many of the oldest requests; `None` means among all requests.
    pub among: Option<u64>,
}

/// How a drive manages shingled tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShingleSpec {
    pub band_sectors: u64,
    /// The persistent cache, in addition to the disk's own sectors.
    pub log_sectors: u64,
    /// Maximum number of runs in the map of the persistent cache.
    pub log_entries: u64,
    /// Minimum length of a run from the start of a band that is written there directly.
    pub stream_sectors: u64,
    /// Idle time before cleaning begins.
    pub idle_ns: u64,
}

impl ShingleSpec {
    fn read(fields: &mut Fields<'_>) -> Result<Self, SpecError> {
        Ok(ShingleSpec {
            band_sectors: fields.number("band_kib", "KiB", 1024, 1 << 20)? * 2,
            log_sectors: fields.number("log_mib", "MiB", 1, 1 << 20)? * 2048,
            log_entries: fields.number("log_entries", "runs", 16, 10_000_000)?,
            stream_sectors: fields.number("stream_kib", "KiB", 4, 1 << 20)? * 2,
            idle_ns: fields.number("idle_ms", "ms", 1, 100_000)? * 1_000_000,
        })
    }
}

/// Reads the measured seek curve if given, else the three times of a data sheet.
fn read_seek(fields: &mut Fields<'_>) -> Result<SeekSpec, SpecError> {
    if fields.has("seek_curve_us") {
        let points = fields.pairs("seek_curve_us", "cylinders and µs", (1, 1_000_000), 256)?;
        return Ok(SeekSpec::Table(points.into_iter().map(|(far, us)| (far, us * 1000)).collect()));
    }
    Ok(SeekSpec::Times(SeekTimes {
        track_ns: fields.number("seek_track_us", "µs", 1, 100_000)? * 1000,
        average_ns: fields.number("seek_average_us", "µs", 1, 100_000)? * 1000,
        full_ns: fields.number("seek_full_us", "µs", 1, 100_000)? * 1000,
    }))
}

impl HardSpec {
    /// Reads a disk with overlapping tracks.
    pub(super) fn read_shingled(fields: &mut Fields<'_>) -> Result<Self, SpecError> {
        let shingle = ShingleSpec::read(fields)?;
        let spec = HardSpec { shingle: Some(shingle), ..HardSpec::read(fields)? };
        spec.check()?;
        Ok(spec)
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, SpecError> {
        let sectors = sectors(fields)?;
        let physical_block = fields.number("physical_block_bytes", "bytes", 512, 4096)? as u32;
        let rpm = fields.number("rpm", "turns per minute", 1000, 20_000)?;
        let spec = HardSpec {
            sectors,
            physical_block,
            turn_ns: 60_000_000_000 / rpm,
            heads: fields.number("heads", "heads", 1, 64)?,
            zones: fields.numbers("sectors_per_track", "sectors per track, by zone", (16, 100_000), 64)?,
            seek: read_seek(fields)?,
            head_switch_ns: fields.number("head_switch_us", "µs", 0, 100_000)? * 1000,
            write_settle_ns: fields.number("write_settle_us", "µs", 0, 100_000)? * 1000,
            read_segments: fields.number("read_segments", "segments", 1, 1024)?,
            read_segment_sectors: fields.number("read_segment_kib", "KiB", 1, 1 << 20)? * 2,
            shingle: None,
            among: None,
            front: FrontSpec::read(fields, Attached::Sata)?,
        };
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), SpecError> {
        let contradiction = |keys: &str, why: &str| {
            Err(SpecError::Contradiction { keys: keys.to_owned(), why: why.to_owned() })
        };
        let has_curve = SeekCurve::new(&self.seek, self.cylinders()).is_some();
        if !has_curve && matches!(self.seek, SeekSpec::Table(_)) {
            return contradiction(
                "seek_curve_us",
                "the seek distances must be ascending, from 1 cylinder or more",
            );
        }
        if !has_curve {
            let keys = "seek_track_us, seek_average_us, seek_full_us";
            return contradiction(
                keys,
                "the arm's seek times must have 3·average ≥ 2·track + full and 15·average ≤ 7·track + 8·full",
            );
        }
        if self.head_switch_ns.max(self.seek.track_ns()) * 2 >= self.turn_ns {
            return contradiction(
                "head_switch_us, seek_track_us, rpm",
                "the seek to the next track must take less than half a revolution",
            );
        }
        if !self.zones.is_sorted_by(|a, b| a >= b) {
            return contradiction(
                "sectors_per_track",
                "inner tracks cannot have more sectors than outer ones",
            );
        }
        Ok(())
    }

    /// The disk's own sectors and those of the log.
    pub fn media_sectors(&self) -> u64 {
        self.sectors + self.shingle.map_or(0, |s| s.log_sectors)
    }

    pub fn cylinders(&self) -> u64 {
        cylinders_per_zone(self.media_sectors(), self.heads, &self.zones) * self.zones.len() as u64
    }

    /// Overhead, average seek, half a turn, and eight sectors under the head and over the interface.
    pub fn service_4k_ns(&self) -> u64 {
        let mean_track = self.zones.iter().sum::<u64>() / self.zones.len() as u64;
        self.front.overhead_ns
            + self.seek.average_ns(self.cylinders())
            + self.turn_ns / 2
            + 8 * self.turn_ns / mean_track
            + wire_ns(8, self.front.interface_kbps)
    }
}
