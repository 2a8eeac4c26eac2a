//! The values of an SSD and of a card.

use super::fields::Fields;
use super::{Attached, FrontSpec, SpecError, sectors};
use crate::request::wire_ns;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlashSpec {
    pub front: FrontSpec,
    pub sectors: u64,
    pub channels: u64,
    /// Number of dies over all channels.
    pub dies: u64,
    pub channel_kbps: u64,
    /// Number of 4 KiB units in a page, in one program operation of a die, and in an erase block.
    pub page_units: u64,
    pub program_units: u64,
    pub block_units: u64,
    pub read_ns: u64,
    pub program_ns: u64,
    pub erase_ns: u64,
    /// Maximum wait of a read for a program or erase operation.
    pub suspend_ns: u64,
    /// How long an incomplete program unit waits in the cache for more data.
    pub gather_ns: u64,
    /// Extra time of a flush after the data is programmed: writing the mapping.
    pub flush_ns: u64,
    /// Spare flash, in thousandths of the disk's size.
    pub spare_permille: u64,
    /// Part of the disk that holds data at the start of the trial.
    pub filled_permille: u64,
    /// Part of the flash that is erased at the start of the trial.
    pub erased_permille: u64,
    /// Whether the disk starts full and overwritten at random to steady state. If so, the two values above have no effect.
    pub preconditioned: bool,
}

impl FlashSpec {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, SpecError> {
        let spec = FlashSpec {
            sectors: sectors(fields)?,
            channels: fields.number("channels", "channels", 1, 64)?,
            dies: fields.number("dies", "dies", 1, 1024)?,
            channel_kbps: fields.number("channel_kbps", "kB/s", 1000, 100_000_000)?,
            page_units: fields.number("page_kib", "KiB", 4, 64)? / 4,
            program_units: fields.number("program_kib", "KiB", 4, 256)? / 4,
            block_units: fields.number("block_kib", "KiB", 64, 1 << 20)? / 4,
            read_ns: fields.number("read_us", "µs", 1, 10_000)? * 1000,
            program_ns: fields.number("program_us", "µs", 1, 100_000)? * 1000,
            erase_ns: fields.number("erase_us", "µs", 1, 1_000_000)? * 1000,
            suspend_ns: fields.number("suspend_us", "µs", 0, 1_000_000)? * 1000,
            gather_ns: fields.number("gather_us", "µs", 0, 1_000_000)? * 1000,
            flush_ns: fields.number_or(
                "flush_us",
                "µs",
                (0, 1_000_000),
                (0, "a flush takes only the time to write the cached data"),
            )? * 1000,
            spare_permille: fields.number("spare_permille", "‰", 10, 1000)?,
            filled_permille: fields.number("filled_permille", "‰", 0, 1000)?,
            erased_permille: fields.number("erased_permille", "‰", 0, 1000)?,
            preconditioned: fields.flag_or(
                "preconditioned",
                (
                    false,
                    "by default, a disk is in use, as full as filled_permille says, and not preconditioned",
                ),
            )?,
            front: FrontSpec::read_parallel(fields)?,
        };
        spec.check()?;
        Ok(spec)
    }

    fn check(&self) -> Result<(), SpecError> {
        let contradiction = |keys: &str, why: &str| {
            Err(SpecError::Contradiction { keys: keys.to_owned(), why: why.to_owned() })
        };
        if !self.program_units.is_multiple_of(self.page_units)
            || !self.block_units.is_multiple_of(self.program_units)
        {
            return contradiction(
                "page_kib, program_kib, block_kib",
                "each value must be a multiple of the value before it",
            );
        }
        if self.superblocks() * self.superblock_units() >= u64::from(u32::MAX) {
            return contradiction(
                "sectors, spare_permille",
                "disk and spare flash must be smaller than 16 TiB in all",
            );
        }
        // Garbage collection needs superblocks to write to and one to gain.
        let used = (self.sectors / 8).div_ceil(self.superblock_units());
        if self.superblocks() < used + 6 {
            return contradiction(
                "sectors, spare_permille, dies, block_kib",
                "the spare flash must be at least six blocks per die",
            );
        }
        Ok(())
    }

    pub fn part(&self, part: u64) -> FlashSpec {
        let block_units = (self.block_units / part).next_multiple_of(self.program_units);
        // Whole 4 KiB units.
        let sectors = (self.sectors / part).next_multiple_of(8);
        // Blocks are smaller, so their erase time shrinks in proportion.
        let erase_ns = self.erase_ns / part;
        FlashSpec { sectors, block_units, erase_ns, ..self.clone() }
    }

    pub fn superblock_units(&self) -> u64 {
        self.block_units * self.dies
    }

    pub fn superblocks(&self) -> u64 {
        (self.sectors / 8 * (1000 + self.spare_permille) / 1000).div_ceil(self.superblock_units())
    }

    pub fn service_4k_ns(&self) -> u64 {
        self.front.overhead_ns
            + self.read_ns
            + wire_ns(8, self.channel_kbps)
            + wire_ns(8, self.front.interface_kbps)
    }
}

/// A card with a block-mapped layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CardSpec {
    pub front: FrontSpec,
    pub sectors: u64,
    /// Size of an erase unit.
    pub unit_sectors: u64,
    /// Number of units that can be written at the same time.
    pub open_units: u64,
    pub page_sectors: u64,
    pub read_ns: u64,
    pub program_ns: u64,
    pub erase_ns: u64,
    /// Flash rate for sequential pages, in thousands of bytes a second.
    pub read_kbps: u64,
}

impl CardSpec {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, SpecError> {
        let spec = CardSpec {
            sectors: sectors(fields)?,
            unit_sectors: fields.number("unit_kib", "KiB", 64, 1 << 20)? * 2,
            open_units: fields.number("open_units", "units", 1, 256)?,
            page_sectors: fields.number("page_kib", "KiB", 4, 256)? * 2,
            read_ns: fields.number("read_us", "µs", 1, 100_000)? * 1000,
            program_ns: fields.number("program_us", "µs", 1, 100_000)? * 1000,
            erase_ns: fields.number("erase_us", "µs", 1, 1_000_000)? * 1000,
            read_kbps: fields.number("read_kbps", "kB/s", 1000, 10_000_000)?,
            front: FrontSpec::read(fields, Attached::Mmc)?,
        };
        if !spec.unit_sectors.is_multiple_of(spec.page_sectors) {
            return Err(SpecError::Contradiction {
                keys: "unit_kib, page_kib".to_owned(),
                why: "a flash unit must consist of whole pages".to_owned(),
            });
        }
        Ok(spec)
    }

    pub fn service_4k_ns(&self) -> u64 {
        self.front.overhead_ns
            + self.read_ns
            + wire_ns(8, self.read_kbps)
            + wire_ns(8, self.front.interface_kbps)
    }
}
