//! An SSD: reads go to the dies at once, writes gather into program units, garbage collection reclaims dead units.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::beginning::Location;
use super::dies::{Dies, Doing, Order};
use super::mapping::{KEPT_ERASED, Mapping, UNIT_SECTORS};
use super::tasks::{Purpose, Tasks};
use crate::counters::Counters;
use crate::dirty::{Choice, Dirty};
use crate::medium::{Done, Medium, Motion, Read, What, Work};
use crate::mix::mix;
use crate::sample::Sample;
use crate::spec::FlashSpec;

/// Maximum number of cache extents in one program operation.
const FLIGHTS: usize = 64;

/// A finished operation, ordered by end time and then by start order.
type Ending = Reverse<(u64, u64, Ended)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ended {
    Read { slot: usize, began_ns: u64, took_ns: u64, streamed_ns: u64 },
    Written { flight: u64, began_ns: u64, took_ns: u64 },
    Flushed { slot: usize, began_ns: u64 },
}

/// A superblock under garbage collection: its live units are being copied away.
#[derive(Clone, Copy, Debug)]
struct Victim {
    superblock: u32,
    next: u32,
    /// Units to copy per thousand units written.
    per_mille: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Ssd {
    dies: Dies,
    tasks: Tasks,
    mapping: Mapping,
    /// Units per program operation of a die, and per page.
    program_units: u32,
    page_units: u32,
    gather_ns: u64,
    flush_ns: u64,
    /// Die on which a superblock starts.
    first_die: usize,
    /// Open superblocks: one for host writes, one for copies.
    host: Option<u32>,
    copies: Option<u32>,
    victim: Option<Victim>,
    /// Number of superblocks being erased.
    erasing: usize,
    /// Units that writes owe to garbage collection, in thousandths.
    owed_mille: u64,
    swept: u64,
    wake_ns: Option<u64>,
    endings: BinaryHeap<Ending>,
    begun: u64,
    /// Whether the disk has programmed any unit since the last flush.
    is_unflushed: bool,
    /// Copies and erases under way, and whether any ran since [`Medium::forget_copies`].
    copying: usize,
    has_copied: bool,
    counters: Counters,
}

impl Ssd {
    pub fn new(spec: &FlashSpec, sample: &Sample) -> Self {
        let dies = Dies::new(spec);
        Ssd {
            first_die: (mix(sample.seed) % dies.count() as u64) as usize,
            dies,
            tasks: Tasks::default(),
            mapping: Mapping::new(spec),
            program_units: spec.program_units as u32,
            page_units: spec.page_units as u32,
            gather_ns: spec.gather_ns,
            flush_ns: spec.flush_ns,
            host: None,
            copies: None,
            victim: None,
            erasing: 0,
            owed_mille: 0,
            swept: 0,
            wake_ns: None,
            endings: BinaryHeap::with_capacity(1024),
            begun: 0,
            is_unflushed: false,
            copying: 0,
            has_copied: false,
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

    /// Requests a read from a die for a task.
    fn sense(&mut self, now_ns: u64, task: usize, die: usize, sectors: u64) {
        self.tasks.get(task).reads += 1;
        let order = Order { task, doing: Doing::Read, sectors, cell_ns: self.dies.read_ns };
        self.dies.ask(now_ns, die, order);
    }

    /// Programs a die once all reads of the task are done.
    fn program(&mut self, now_ns: u64, task: usize, die: usize, units: u32) {
        let sectors = u64::from(units) * UNIT_SECTORS;
        let order = Order { task, doing: Doing::Program, sectors, cell_ns: self.dies.program_ns };
        let own = self.tasks.get(task);
        own.took_ns = self.dies.alone_ns(&order);
        if own.reads > 0 {
            own.then = Some((die, order));
        } else {
            self.dies.ask(now_ns, die, order);
        }
    }

    /// Handles the completion of an order by a die.
    fn ordered(&mut self, now_ns: u64, order: Order) {
        let carry_ns = self.dies.carry_ns(order.sectors);
        let alone_ns = self.dies.alone_ns(&order);
        let task = self.tasks.get(order.task);
        if order.doing == Doing::Read {
            task.reads -= 1;
            task.first_ns = task.first_ns.min(now_ns - carry_ns);
            task.took_ns = task.took_ns.max(alone_ns);
            if task.reads > 0 {
                return;
            }
            if let Some((die, order)) = task.then.take() {
                return self.dies.ask(now_ns, die, order);
            }
        }
        self.carried_out(now_ns, order.task);
    }

    fn carried_out(&mut self, now_ns: u64, task: usize) {
        let own = self.tasks.get(task);
        let (began_ns, took_ns) = (own.began_ns, own.took_ns);
        match own.purpose {
            Purpose::Read { slot } => {
                let streamed_ns = now_ns.saturating_sub(own.first_ns);
                self.end(now_ns, Ended::Read { slot, began_ns, took_ns, streamed_ns });
            }
            Purpose::Write => {
                let flights = std::mem::take(&mut self.tasks.get(task).flights);
                flights.iter().for_each(|flight| {
                    self.end(now_ns, Ended::Written { flight: *flight, began_ns, took_ns })
                });
                self.tasks.get(task).flights = flights;
            }
            Purpose::Copy => self.copying -= 1,
            Purpose::Erase { superblock, die } if die + 1 < self.dies.count() => {
                own.purpose = Purpose::Erase { superblock, die: die + 1 };
                return self.erase_block(now_ns, task, die + 1);
            }
            Purpose::Erase { superblock, .. } => {
                (self.erasing, self.copying) = (self.erasing - 1, self.copying - 1);
                self.mapping.erase(superblock);
            }
        }
        self.tasks.release(task);
    }

    /// Starts a read. Each run of units that are adjacent in a program unit is one sense operation of its die.
    fn begin_read(&mut self, now_ns: u64, read: &Read) {
        let (first, last) = (read.sector / UNIT_SECTORS, (read.end() - 1) / UNIT_SECTORS);
        let task = self.tasks.begin(now_ns, Purpose::Read { slot: read.slot });
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
            self.sense(now_ns, task, self.die_of(here), run * UNIT_SECTORS);
            self.counters.media_reads += 1;
            self.counters.media_sectors_read += run * UNIT_SECTORS;
            unit += run;
        }
        if self.tasks.get(task).reads == 0 {
            self.carried_out(now_ns, task);
        }
    }

    /// The open superblock for host writes; `None` until another one is erased.
    fn open_host(&mut self, now_ns: u64) -> Option<u32> {
        let has_room = |s: &u32| self.mapping.written(*s) < self.mapping.units();
        if let Some(open) = self.host.filter(has_room) {
            return Some(open);
        }
        self.host = None;
        while self.mapping.erased() + self.erasing <= 1 && self.collect(now_ns) {}
        if self.mapping.erased() > 1 {
            self.host = self.mapping.open();
        }
        self.host
    }

    /// Fills the rest of a program unit from the cache and programs it.
    fn begin_program(&mut self, now_ns: u64, dirty: &mut Dirty, superblock: u32, awaited: Option<Choice>) {
        let place = self.mapping.written(superblock);
        let die = self.die_of(Location { superblock, place });
        let room = self.program_units - place % self.program_units;
        let task = self.tasks.begin(now_ns, Purpose::Write);
        let mut units = 0;
        let mut flown = 0;
        for choice in awaited.into_iter().chain([Choice::Any]) {
            while units < room
                && flown < FLIGHTS
                && let Some((index, extent)) = dirty.next(self.swept, choice)
            {
                let first = extent.start / UNIT_SECTORS;
                let end = extent.end.min((first + u64::from(room - units)) * UNIT_SECTORS);
                let last = (end - 1) / UNIT_SECTORS;
                for part in [(extent.start, first), (end, last)] {
                    if !part.0.is_multiple_of(UNIT_SECTORS) {
                        self.read_old(now_ns, task, part.1 as u32);
                    }
                }
                for unit in first..=last {
                    self.mapping.write(superblock, Some(unit as u32));
                }
                units += (last - first + 1) as u32;
                self.tasks.get(task).flights.push(dirty.launch(index, extent.start, end).id);
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
        self.is_unflushed = true;
        self.program(now_ns, task, die, programmed);
        self.pay(now_ns, programmed);
    }

    /// Reads the old unit before a write of a part of it.
    fn read_old(&mut self, now_ns: u64, task: usize, unit: u32) {
        if let Some(old) = self.mapping.locate(unit) {
            self.sense(now_ns, task, self.die_of(old), UNIT_SECTORS);
        }
    }

    /// With few erased superblocks, each write pays for copies in proportion: v live of U units cost v ÷ (U − v) copies per unit.
    fn pay(&mut self, now_ns: u64, units: u32) {
        if self.mapping.erased() + self.erasing >= KEPT_ERASED {
            return;
        }
        let per_mille = self.victim().map_or(0, |v| v.per_mille);
        let unit_mille = 1000 * u64::from(self.program_units);
        self.owed_mille += u64::from(units) * per_mille + 1;
        while self.owed_mille > unit_mille || per_mille == 0 {
            self.owed_mille = self.owed_mille.saturating_sub(unit_mille);
            if !self.collect(now_ns) || per_mille == 0 {
                return;
            }
        }
    }

    /// Chooses a victim only if its live units have a place: one superblock is erased, or the open one has room for all of them.
    fn victim(&mut self) -> Option<Victim> {
        if self.victim.is_none() {
            let superblock = self.mapping.cheapest([self.host, self.copies])?;
            let (live, all) = (u64::from(self.mapping.live(superblock)), u64::from(self.mapping.units()));
            let room = self.copies.map_or(0, |open| all - u64::from(self.mapping.written(open)));
            let fits = |mapping: &mut Mapping| {
                room >= live && (room == all || room >= u64::from(mapping.count_live(superblock)))
            };
            if self.mapping.erased() == 0 && !fits(&mut self.mapping) {
                return None;
            }
            let per_mille = (1000 * live).div_ceil((all - live.min(all)).max(1));
            self.victim = Some(Victim { superblock, next: 0, per_mille });
        }
        self.victim
    }

    /// Copies live units of the victim, at most one program operation; erases it after the last. Returns whether there was a
    /// victim.
    fn collect(&mut self, now_ns: u64) -> bool {
        let Some(mut victim) = self.victim() else { return false };
        let busy_ns = self.dies.busy_ns;
        let task = self.tasks.begin(now_ns, Purpose::Copy);
        let mut copied = 0;
        let mut sensed = None;
        let mut last = None;
        while copied < self.program_units
            && let Some((unit, place)) = self.mapping.next_live(victim.superblock, victim.next)
        {
            let die = self.die_of(Location { superblock: victim.superblock, place });
            let group = place / self.program_units;
            if sensed != Some(group) {
                self.sense(now_ns, task, die, UNIT_SECTORS);
                sensed = Some(group);
            }
            let target = self.open_copies();
            last = Some(Location { superblock: target, place: self.mapping.written(target) });
            self.mapping.relocate(target, unit);
            copied += 1;
            victim.next = place + 1;
        }
        if let Some(last) = last {
            let die = self.die_of(last);
            self.copies();
            self.counters.copy_ns += self.dies.busy_ns - busy_ns;
            self.program(now_ns, task, die, copied);
            self.counters.copy_ns += self.tasks.get(task).took_ns;
            self.counters.units_copied += u64::from(copied);
            self.counters.units_programmed += u64::from(copied);
        } else {
            self.tasks.release(task);
        }
        self.victim = Some(victim);
        if copied < self.program_units {
            self.victim = None;
            self.erase(now_ns, victim.superblock);
        }
        true
    }

    fn copies(&mut self) {
        (self.copying, self.has_copied) = (self.copying + 1, true);
    }

    /// Erases a superblock block by block: one die at a time is busy with it, the others continue.
    fn erase(&mut self, now_ns: u64, superblock: u32) {
        self.mapping.condemn(superblock);
        self.erasing += 1;
        self.copies();
        self.counters.erases += self.dies.count() as u64;
        self.counters.copy_ns += self.dies.erase_ns * self.dies.count() as u64;
        let task = self.tasks.begin(now_ns, Purpose::Erase { superblock, die: 0 });
        self.erase_block(now_ns, task, 0);
    }

    fn erase_block(&mut self, now_ns: u64, task: usize, number: usize) {
        let die = (self.first_die + number) % self.dies.count();
        let order = Order { task, doing: Doing::Erase, sectors: 0, cell_ns: self.dies.erase_ns };
        self.dies.ask(now_ns, die, order);
    }

    /// The open superblock for copies. One erased superblock is reserved for it.
    fn open_copies(&mut self) -> u32 {
        match self.copies.filter(|s| self.mapping.written(*s) < self.mapping.units()) {
            Some(open) => open,
            None => {
                let open = self
                    .mapping
                    .open()
                    .expect("an erased superblock is always reserved for garbage collection");
                self.copies = Some(open);
                open
            }
        }
    }

    /// Whether to program now: a full program unit is pending, a request waits, or no new data came for long enough.
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
            let Some(superblock) = self.open_host(now_ns) else { return };
            let place = self.mapping.written(superblock);
            if !self.dies.takes_changes(self.die_of(Location { superblock, place })) {
                return;
            }
            self.begin_program(now_ns, work.dirty, superblock, awaited);
        }
    }

    /// Writes the mapping after the data.
    fn flush(&mut self, now_ns: u64, slot: usize) -> bool {
        if self.flush_ns == 0 || !std::mem::take(&mut self.is_unflushed) {
            return true;
        }
        self.end(now_ns + self.flush_ns, Ended::Flushed { slot, began_ns: now_ns });
        false
    }

    fn next_event_ns(&self) -> Option<u64> {
        let ending = self.endings.peek().map(|Reverse((at_ns, _, _))| *at_ns);
        ending.into_iter().chain(self.wake_ns).chain(self.dies.next_event_ns()).min()
    }

    fn finish(&mut self, now_ns: u64) -> Option<Done> {
        self.wake_ns = self.wake_ns.filter(|wake| *wake > now_ns);
        while let Some((_, order)) = self.dies.finish(now_ns) {
            self.ordered(now_ns, order);
        }
        if self.endings.peek().is_none_or(|Reverse((at_ns, _, _))| *at_ns > now_ns) {
            return None;
        }
        let Reverse((_, _, ended)) = self.endings.pop()?;
        let (what, began_ns, transfer_ns, streamed_ns) = match ended {
            Ended::Read { slot, began_ns, took_ns, streamed_ns } => {
                (What::Read { slot }, began_ns, took_ns, streamed_ns)
            }
            Ended::Written { flight, began_ns, took_ns } => {
                (What::Written { flight }, began_ns, took_ns, took_ns)
            }
            Ended::Flushed { slot, began_ns } => {
                (What::Flushed { slot }, began_ns, self.flush_ns, self.flush_ns)
            }
        };
        let motion = Motion { transfer_ns, ..Motion::default() };
        Some(Done { what, began_ns, motion, streamed_ns })
    }

    fn has_copied(&self) -> bool {
        self.has_copied
    }

    fn forget_copies(&mut self) {
        self.has_copied = self.copying > 0;
    }

    fn count(&self, now_ns: u64, counters: &mut Counters) {
        counters.add_mechanism(&self.counters);
        counters.add_flash(&self.counters);
        counters.transfer_ns += self.dies.busy_ns;
        counters.idle_ns += (now_ns * self.dies.count() as u64).saturating_sub(self.dies.busy_ns);
    }
}
