//! A card: large erase units, few of them open; all other writes cause copying.
//!
//! The layer is BAST (J. Kim et al., "A space-efficient flash translation layer for CompactFlash systems", IEEE Transactions
//! on Consumer Electronics 48, 2002). A. Bergmann describes the behaviour of cards in "Optimizing Linux with cheap flash
//! drives", LWN 2011. Data written to a unit goes in whole pages to a log of the unit's size. A log written in order and to
//! its end replaces the unit at once. A log in order that ends early first gets the rest copied. Any other log is merged by
//! copying the whole unit. For a discarded unit only the data written since is copied. The number of logs is limited: a write
//! to one more unit closes the least recently written log.

use std::collections::BTreeSet;

use crate::counters::Counters;
use crate::dirty::{Choice, Dirty};
use crate::medium::{Done, Medium, Motion, What, Work};
use crate::request::wire_ns;
use crate::spec::CardSpec;

/// The log of an open unit.
#[derive(Clone, Copy, Debug)]
struct Log {
    unit: u64,
    /// Used pages of the log.
    pages: u64,
    /// The next sector in order; `None` once a sector was written out of order.
    continues: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// Open logs; the log that was written latest stands last.
    open: Vec<Log>,
    open_units: usize,
    /// Discarded units: only the data written since is copied.
    empty: BTreeSet<u64>,
    unit_sectors: u64,
    page_sectors: u64,
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
    read_kbps: u64,
    working: Option<(u64, Done)>,
    swept: u64,
    /// Whether the current operation copies or erases, and whether any has since [`Medium::forget_copies`].
    is_copying: bool,
    has_copied: bool,
    counters: Counters,
}

impl Card {
    pub fn new(spec: &CardSpec) -> Self {
        Card {
            open: Vec::with_capacity(2 * spec.open_units as usize),
            empty: BTreeSet::new(),
            open_units: spec.open_units as usize,
            unit_sectors: spec.unit_sectors,
            page_sectors: spec.page_sectors,
            read_ns: spec.read_ns,
            program_ns: spec.program_ns,
            erase_ns: spec.erase_ns,
            read_kbps: spec.read_kbps,
            working: None,
            swept: 0,
            is_copying: false,
            has_copied: false,
            counters: Counters::default(),
        }
    }

    fn unit_pages(&self) -> u64 {
        self.unit_sectors / self.page_sectors
    }

    /// Reads and programs this many pages.
    fn copy(&mut self, pages: u64) -> u64 {
        self.counters.units_copied += pages;
        self.counters.units_programmed += pages;
        pages * (wire_ns(self.page_sectors, self.read_kbps) + self.program_ns)
    }

    /// Closes a log: it replaces its unit.
    fn close(&mut self, log: Log) -> u64 {
        self.counters.erases += 1;
        let copied = match log.continues {
            _ if self.empty.remove(&log.unit) => match log.continues {
                Some(_) => 0,
                None => log.pages,
            },
            Some(next) => (self.unit_sectors - (next - log.unit * self.unit_sectors)) / self.page_sectors,
            None => self.unit_pages(),
        };
        let ns = self.copy(copied) + self.erase_ns;
        self.counters.copy_ns += ns;
        (self.is_copying, self.has_copied) = (true, true);
        ns
    }

    /// Writes sectors of one unit to its log.
    fn write(&mut self, start: u64, end: u64) -> u64 {
        let unit = start / self.unit_sectors;
        let pages = end.div_ceil(self.page_sectors) - start / self.page_sectors;
        let mut ns = 0;
        let known = self.open.iter().position(|log| log.unit == unit).map(|index| self.open.remove(index));
        let mut log = match known {
            Some(log) if log.pages + pages <= self.unit_pages() => log,
            other => {
                // The log is full or missing: close the unit's own log, or the least recently used one if all are taken.
                let closed =
                    other.or_else(|| (self.open.len() == self.open_units).then(|| self.open.remove(0)));
                ns += closed.map_or(0, |log| self.close(log));
                Log { unit, pages: 0, continues: Some(unit * self.unit_sectors) }
            }
        };
        log.pages += pages;
        // A partly written page cannot be continued, so the rest of it is lost and the order with it.
        let in_order = log.continues == Some(start) && start.is_multiple_of(self.page_sectors);
        log.continues = in_order.then_some(end);
        self.counters.units_written += pages;
        self.counters.units_programmed += pages;
        ns += pages * self.program_ns;
        if log.continues == Some((unit + 1) * self.unit_sectors) {
            ns += self.close(log);
        } else {
            self.open.push(log);
        }
        ns
    }

    fn begin_write(&mut self, now_ns: u64, dirty: &mut Dirty, index: usize) {
        let extent = dirty.extents()[index];
        let unit_end = (extent.start / self.unit_sectors + 1) * self.unit_sectors;
        let piece = dirty.piece().next_multiple_of(self.page_sectors);
        let end = extent.end.min(unit_end).min(extent.start + piece);
        let flight = dirty.launch(index, extent.start, end);
        let transfer_ns = self.write(extent.start, end);
        self.swept = end;
        self.counters.media_writes += 1;
        self.counters.media_sectors_written += end - extent.start;
        self.work(now_ns, What::Written { flight: flight.id }, transfer_ns, 0);
    }

    fn work(&mut self, now_ns: u64, what: What, transfer_ns: u64, streamed_ns: u64) {
        self.counters.transfer_ns += transfer_ns;
        let motion = Motion { transfer_ns, ..Motion::default() };
        let done = Done { what, began_ns: now_ns, motion, streamed_ns };
        self.working = Some((now_ns + transfer_ns, done));
    }

    /// The extent to write: an extent that a request waits for, otherwise any extent.
    fn choose(&self, dirty: &Dirty, awaited: Option<Choice>) -> Option<usize> {
        dirty.next(self.swept, awaited.unwrap_or(Choice::Any)).map(|(index, _)| index)
    }
}

impl Medium for Card {
    fn is_buffered(&mut self, _now_ns: u64, _sector: u64, _sectors: u32) -> bool {
        false
    }

    fn overwrite(&mut self, _now_ns: u64, _sector: u64, _sectors: u32) {}

    /// Discards units that lie completely within these sectors: drops the logs of the units, so that no old data is copied.
    fn discard(&mut self, _now_ns: u64, sector: u64, sectors: u32) {
        let end = sector + u64::from(sectors);
        let units = sector.div_ceil(self.unit_sectors)..end / self.unit_sectors;
        self.open.retain(|log| !units.contains(&log.unit));
        self.empty.extend(units);
    }

    /// Starts one operation at a time: a read first, unless a request has waited longer for a write.
    fn start(&mut self, now_ns: u64, work: &mut Work<'_>) {
        if self.working.is_some() {
            return;
        }
        let awaited = work.awaited.map(|(choice, _)| choice);
        let awaited_ns = work.awaited.map_or(u64::MAX, |(_, since_ns)| since_ns);
        let oldest = (0..work.reads.len()).min_by_key(|i| (work.reads[*i].since_ns, work.reads[*i].slot));
        let write = self.choose(work.dirty, awaited);
        match (oldest, write) {
            (Some(index), write) if write.is_none() || work.reads[index].since_ns <= awaited_ns => {
                let read = work.reads.swap_remove(index);
                self.counters.media_reads += 1;
                self.counters.media_sectors_read += u64::from(read.sectors);
                let streamed_ns = wire_ns(u64::from(read.sectors), self.read_kbps);
                let what = What::Read { slot: read.slot };
                self.work(now_ns, what, self.read_ns + streamed_ns, streamed_ns);
            }
            (_, Some(index)) => self.begin_write(now_ns, work.dirty, index),
            (_, None) => {}
        }
    }

    fn flush(&mut self, _now_ns: u64, _slot: usize) -> bool {
        true
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.working.map(|(ends_ns, _)| ends_ns)
    }

    fn finish(&mut self, now_ns: u64) -> Option<Done> {
        let (_, done) = self.working.take_if(|(ends_ns, _)| *ends_ns <= now_ns)?;
        self.is_copying = false;
        Some(done)
    }

    fn has_copied(&self) -> bool {
        self.has_copied
    }

    fn forget_copies(&mut self) {
        self.has_copied = self.is_copying;
    }

    fn count(&self, now_ns: u64, counters: &mut Counters) {
        counters.add_mechanism(&self.counters);
        counters.add_flash(&self.counters);
        counters.idle_ns += now_ns.saturating_sub(self.counters.transfer_ns);
    }
}
