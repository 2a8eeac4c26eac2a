//! A solid-state disk: reads go to the dies at once, writes gather to program units, dead units are collected.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::dies::Dies;
use super::mapping::{KEPT_ERASED, Location, Mapping, UNIT_SECTORS};
use crate::counters::Counters;
use crate::dirty::{Choice, Dirty};
use crate::medium::{Done, Medium, Motion, Read, What, Work};
use crate::mix::mix;
use crate::sample::Sample;
use crate::spec::FlashSpec;

/// What has ended, by time and order of beginning.
type Ending = Reverse<(u64, u64, Ended)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ended {
    Read { slot: usize, began_ns: u64, took_ns: u64 },
    Written { flight: u64, began_ns: u64, took_ns: u64 },
}

/// A superblock whose live units are being copied away.
#[derive(Clone, Copy, Debug)]
struct Victim {
    superblock: u32,
    next: u32,
    /// Units to copy for a thousand that are written.
    per_mille: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Ssd {
    dies: Dies,
    mapping: Mapping,
    /// Units that a die programs at once, and that a page holds.
    program_units: u32,
    page_units: u32,
    gather_ns: u64,
    /// The die that a superblock begins on.
    first_die: usize,
    /// Open superblocks: for what the host writes, for what is copied.
    host: Option<u32>,
    copies: Option<u32>,
    victim: Option<Victim>,
    /// Thousandths of units that writes owe to collecting.
    owed_mille: u64,
    swept: u64,
    wake_ns: Option<u64>,
    endings: BinaryHeap<Ending>,
    begun: u64,
    counters: Counters,
}

impl Ssd {
    pub fn new(spec: &FlashSpec, sample: &Sample) -> Self {
        let dies = Dies::new(spec, sample);
        Ssd {
            first_die: (mix(sample.seed) % dies.count() as u64) as usize,
            dies,
            mapping: Mapping::new(spec),
            program_units: spec.program_units as u32,
            page_units: spec.page_units as u32,
            gather_ns: spec.gather_ns,
            host: None,
            copies: None,
            victim: None,
            owed_mille: 0,
            swept: 0,
            wake_ns: None,
            endings: BinaryHeap::with_capacity(1024),
            begun: 0,
            counters: Counters::default(),
        }
    }

    fn die_of(&self, location: Location) -> usize {
        (self.first_die + (location.place / self.program_units) as usize) % self.dies.count()
    }

    fn end(&mut self, at_ns: u64, ended: Ended) {
        self.begun += 1;
        self.endings.push(Reverse((at_ns, self.begun, ended)));
    }

    /// Each run of units that lie side by side in a program unit is one sensing of its die.
    fn begin_read(&mut self, now_ns: u64, read: &Read) {
        let (first, last) = (read.sector / UNIT_SECTORS, (read.end() - 1) / UNIT_SECTORS);
        let (mut ends_ns, mut took_ns) = (now_ns, 0);
        let mut unit = first;
        while unit <= last {
            let here = self.mapping.locate(unit as u32);
            let Some(here) = here else {
                unit += 1;
                continue;
            };
            let rest = u64::from(self.program_units - here.place % self.program_units);
            let follows = |n: &u64| {
                let next = Location { place: here.place + *n as u32, ..here };
                self.mapping.locate((unit + n) as u32) == Some(next)
            };
            let run = 1 + (1..rest.min(last - unit + 1)).take_while(follows).count() as u64;
            let (left_ns, die_ns) = self.dies.read(now_ns, self.die_of(here), run * UNIT_SECTORS);
            if left_ns > ends_ns {
                (ends_ns, took_ns) = (left_ns, die_ns);
            }
            self.counters.media_reads += 1;
            self.counters.media_sectors_read += run * UNIT_SECTORS;
            unit += run;
        }
        self.end(ends_ns, Ended::Read { slot: read.slot, began_ns: now_ns, took_ns });
    }

    /// The open superblock for what the host writes.
    fn open_host(&mut self, now_ns: u64) -> u32 {
        match self.host.filter(|s| self.mapping.written(*s) < self.mapping.units()) {
            Some(open) => open,
            None => {
                self.host = None;
                while self.mapping.erased() <= 1 {
                    self.collect(now_ns, self.program_units);
                }
                let open = self.mapping.open().expect("one was erased");
                self.host = Some(open);
                open
            }
        }
    }

    /// Fills what is left of a program unit from the cache and programs it.
    fn begin_program(&mut self, now_ns: u64, dirty: &mut Dirty, superblock: u32, awaited: Option<Choice>) {
        let place = self.mapping.written(superblock);
        let die = self.die_of(Location { superblock, place });
        let room = self.program_units - place % self.program_units;
        let mut from_ns = now_ns;
        let mut units = 0;
        let mut flights = [0; 64];
        let mut flown = 0;
        for choice in awaited.into_iter().chain([Choice::Any]) {
            while units < room
                && flown < flights.len()
                && let Some((index, extent)) = dirty.next(self.swept, choice)
            {
                let first = extent.start / UNIT_SECTORS;
                let end = extent.end.min((first + u64::from(room - units)) * UNIT_SECTORS);
                let last = (end - 1) / UNIT_SECTORS;
                for part in [(extent.start, first), (end, last)] {
                    if !part.0.is_multiple_of(UNIT_SECTORS) {
                        from_ns = from_ns.max(self.read_old(now_ns, part.1 as u32));
                    }
                }
                for unit in first..=last {
                    self.mapping.write(superblock, Some(unit as u32));
                }
                units += (last - first + 1) as u32;
                flights[flown] = dirty.launch(index, extent.start, end).id;
                flown += 1;
                self.swept = end;
                self.counters.media_sectors_written += end - extent.start;
            }
        }
        let padding = units.next_multiple_of(self.page_units).min(room) - units;
        (0..padding).for_each(|_| self.mapping.write(superblock, None));
        let programmed = units + padding;
        self.counters.units_written += u64::from(units);
        self.counters.units_programmed += u64::from(programmed);
        self.counters.media_writes += 1;
        let (ends_ns, took_ns) = self.dies.program(from_ns, die, u64::from(programmed) * UNIT_SECTORS);
        for flight in &flights[..flown] {
            self.end(ends_ns, Ended::Written { flight: *flight, began_ns: now_ns, took_ns });
        }
        self.pay(now_ns, programmed);
    }

    /// What is written is a part of a unit: the rest of it is read first. Returns when that is done.
    fn read_old(&mut self, now_ns: u64, unit: u32) -> u64 {
        let old = self.mapping.locate(unit).map(|old| self.die_of(old));
        old.map_or(now_ns, |die| self.dies.read(now_ns, die, UNIT_SECTORS).0)
    }

    /// Who writes while few superblocks are erased copies in proportion: v live of U units cost v ÷ (U − v) copies each.
    fn pay(&mut self, now_ns: u64, units: u32) {
        if self.mapping.erased() >= KEPT_ERASED {
            return;
        }
        let per_mille = self.victim().map_or(0, |v| v.per_mille);
        self.owed_mille += u64::from(units) * per_mille + 1;
        while self.owed_mille > 1000 * u64::from(self.program_units) || per_mille == 0 {
            self.owed_mille = self.owed_mille.saturating_sub(1000 * u64::from(self.program_units));
            self.collect(now_ns, self.program_units);
            if per_mille == 0 {
                return;
            }
        }
    }

    fn victim(&mut self) -> Option<Victim> {
        if self.victim.is_none() {
            let superblock = self.mapping.cheapest([self.host, self.copies])?;
            let (live, all) = (u64::from(self.mapping.live(superblock)), u64::from(self.mapping.units()));
            let per_mille = (1000 * live).div_ceil((all - live.min(all)).max(1));
            self.victim = Some(Victim { superblock, next: 0, per_mille });
        }
        self.victim
    }

    /// Copies up to so many live units of the victim; erases it after the last.
    fn collect(&mut self, now_ns: u64, units: u32) {
        let Some(mut victim) = self.victim() else { return };
        let busy_ns = self.dies.busy_ns;
        let mut copied = 0;
        let mut read_ns = now_ns;
        let mut sensed = None;
        while copied < units
            && let Some((unit, place)) = self.mapping.next_live(victim.superblock, victim.next)
        {
            let die = self.die_of(Location { superblock: victim.superblock, place });
            let group = place / self.program_units;
            if sensed != Some(group) {
                read_ns = read_ns.max(self.dies.read(now_ns, die, UNIT_SECTORS).0);
                sensed = Some(group);
            }
            let target = self.open_copies();
            self.mapping.write(target, Some(unit));
            copied += 1;
            victim.next = place + 1;
        }
        if copied > 0 {
            let target = self.open_copies();
            let place = self.mapping.written(target).saturating_sub(1);
            let die = self.die_of(Location { superblock: target, place });
            self.dies.program(read_ns, die, u64::from(copied) * UNIT_SECTORS);
            self.counters.units_copied += u64::from(copied);
            self.counters.units_programmed += u64::from(copied);
        }
        self.victim = Some(victim);
        if copied < units {
            self.dies.erase(now_ns);
            self.mapping.erase(victim.superblock);
            self.counters.erases += self.dies.count() as u64;
            self.victim = None;
        }
        self.counters.copy_ns += self.dies.busy_ns - busy_ns;
    }

    /// The open superblock for what is copied. One erased superblock is kept for it.
    fn open_copies(&mut self) -> u32 {
        match self.copies.filter(|s| self.mapping.written(*s) < self.mapping.units()) {
            Some(open) => open,
            None => {
                let open = self.mapping.open().expect("one erased superblock is kept for copies");
                self.copies = Some(open);
                open
            }
        }
    }

    /// Whether there is a reason to program now: a full unit, somebody who waits, or nothing new for long enough.
    fn wants_program(&mut self, now_ns: u64, dirty: &Dirty, awaited: Option<Choice>) -> bool {
        let pending = dirty.pending_sectors();
        if pending >= u64::from(self.program_units) * UNIT_SECTORS {
            return true;
        }
        let is_awaited = |choice| dirty.extents().iter().any(|e| Choice::allows(choice, e));
        if pending == 0 || awaited.is_some_and(is_awaited) {
            return pending > 0;
        }
        let due_ns = dirty.extents().iter().map(|e| e.grown_ns).max().unwrap_or(now_ns) + self.gather_ns;
        if due_ns > now_ns {
            self.wake_ns = Some(due_ns);
        }
        due_ns <= now_ns
    }
}

impl Medium for Ssd {
    fn is_buffered(&mut self, _now_ns: u64, _sector: u64, _sectors: u32) -> bool {
        false
    }

    fn overwrite(&mut self, _now_ns: u64, _sector: u64, _sectors: u32) {}

    fn discard(&mut self, _now_ns: u64, sector: u64, sectors: u32) {
        let end = sector + u64::from(sectors);
        let (first, last) = (sector.div_ceil(UNIT_SECTORS) as u32, (end / UNIT_SECTORS) as u32);
        self.mapping.discard(first..last.max(first));
    }

    fn start(&mut self, now_ns: u64, work: &mut Work<'_>) {
        for read in work.reads.drain(..) {
            self.begin_read(now_ns, &read);
        }
        let awaited = work.awaited.map(|(choice, _)| choice);
        self.wake_ns = None;
        while self.wants_program(now_ns, work.dirty, awaited) {
            let superblock = self.open_host(now_ns);
            let place = self.mapping.written(superblock);
            let free_ns = self.dies.free_ns(self.die_of(Location { superblock, place }));
            if free_ns > now_ns {
                self.wake_ns = Some(free_ns);
                return;
            }
            self.begin_program(now_ns, work.dirty, superblock, awaited);
        }
    }

    fn flush(&mut self, _now_ns: u64, _slot: usize) -> bool {
        true
    }

    fn next_event_ns(&self) -> Option<u64> {
        let ending = self.endings.peek().map(|Reverse((at_ns, _, _))| *at_ns);
        ending.into_iter().chain(self.wake_ns).min()
    }

    fn finish(&mut self, now_ns: u64) -> Option<Done> {
        self.wake_ns = self.wake_ns.filter(|wake| *wake > now_ns);
        if self.endings.peek().is_none_or(|Reverse((at_ns, _, _))| *at_ns > now_ns) {
            return None;
        }
        let Reverse((_, _, ended)) = self.endings.pop()?;
        let (what, began_ns, took_ns) = match ended {
            Ended::Read { slot, began_ns, took_ns } => (What::Read { slot }, began_ns, took_ns),
            Ended::Written { flight, began_ns, took_ns } => (What::Written { flight }, began_ns, took_ns),
        };
        Some(Done { what, began_ns, motion: Motion { transfer_ns: took_ns, ..Motion::default() } })
    }

    fn count(&self, now_ns: u64, counters: &mut Counters) {
        counters.add_mechanism(&self.counters);
        counters.add_flash(&self.counters);
        counters.transfer_ns += self.dies.busy_ns;
        counters.idle_ns += (now_ns * self.dies.count() as u64).saturating_sub(self.dies.busy_ns);
    }
}
