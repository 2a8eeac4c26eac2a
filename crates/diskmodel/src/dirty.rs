//! Dirty data: written to the cache but not yet on the medium.
//!
//! Extents lie in a sorted vector of fixed capacity. Drive firmware has a limited number of descriptors too, and nothing is
//! allocated while requests run. Each extent carries the epoch of its oldest data. A flush closes the current epoch and
//! waits until no data of that or an earlier epoch is left.

use crate::passage::Passage;

/// Sectors `start..end`, all dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub start: u64,
    pub end: u64,
    pub epoch: u64,
    /// Whether a FUA write waits for this extent.
    pub urgent: bool,
    pub born_ns: u64,
    /// Time at which the extent last grew.
    pub grown_ns: u64,
}

/// An extent on its way to the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub id: u64,
    pub extent: Extent,
}

/// Which extents may be written now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Any,
    /// Urgent extents, and extents that flushes up to this epoch wait for.
    Awaited(Option<u64>),
}

impl Choice {
    pub fn allows(self, extent: &Extent) -> bool {
        match self {
            Choice::Any => true,
            Choice::Awaited(epoch) => extent.urgent || epoch.is_some_and(|e| extent.epoch <= e),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Dirty {
    extents: Vec<Extent>,
    flights: Vec<Flight>,
    next_flight: u64,
    epoch: u64,
    /// Number of dirty sectors, number of dirty sectors in flight, and number of sectors reserved for writes whose data still arrives.
    sectors: u64,
    flying: u64,
    reserved: u64,
    capacity: u64,
    entries: usize,
    /// Lower bound of the extents' `born_ns`.
    oldest_ns: u64,
    /// Launches and landings since the last query; `None` if nobody has asked to log them.
    passages: Option<Vec<Passage>>,
}

impl Dirty {
    pub fn new(capacity: u64, entries: usize) -> Self {
        Dirty {
            extents: Vec::with_capacity(2 * entries),
            flights: Vec::with_capacity(64),
            next_flight: 0,
            epoch: 0,
            sectors: 0,
            flying: 0,
            reserved: 0,
            capacity,
            entries,
            oldest_ns: u64::MAX,
            passages: None,
        }
    }

    /// Starts logging launches and landings.
    pub fn watch(&mut self) {
        self.passages = Some(Vec::with_capacity(256));
    }

    /// The events logged since the last call.
    pub fn passages(&mut self) -> impl Iterator<Item = Passage> {
        self.passages.iter_mut().flat_map(|noted| noted.drain(..))
    }

    /// The extent of this flight.
    pub fn flight(&self, id: u64) -> Option<Extent> {
        self.flights.iter().find(|f| f.id == id).map(|f| f.extent)
    }

    pub fn is_empty(&self) -> bool {
        self.extents.is_empty() && self.flights.is_empty()
    }

    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Sectors in extents: neither in flight nor reserved.
    pub fn pending_sectors(&self) -> u64 {
        self.sectors - self.flying
    }

    /// Whether a write has room. A long write begins when half the cache is free and streams through it.
    pub fn has_room(&self, sectors: u64) -> bool {
        let used = self.sectors + self.reserved;
        let needed = sectors.min(self.capacity / 2);
        used == 0 || (used + needed <= self.capacity && self.extents.len() < self.entries)
    }

    /// The most sectors to write at once, so that space frees up while a stream passes.
    pub fn piece(&self) -> u64 {
        (self.capacity / 4).max(8)
    }

    pub fn reserve(&mut self, sectors: u64) {
        self.reserved += sectors;
    }

    /// Closes the epoch and returns it: later writes belong to the next one.
    pub fn close_epoch(&mut self) -> u64 {
        self.epoch += 1;
        self.epoch - 1
    }

    /// Whether data of this or an earlier epoch is not yet on the medium.
    pub fn holds_epoch(&self, epoch: u64) -> bool {
        self.flights.iter().any(|f| f.extent.epoch <= epoch) || self.extents.iter().any(|e| e.epoch <= epoch)
    }

    /// Whether any of these sectors is not yet on the medium.
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        let inside = |e: &Extent| e.start < end && start < e.end;
        self.flights.iter().any(|f| inside(&f.extent))
            || self.extents.get(self.first_ending_after(start)).is_some_and(inside)
    }

    /// Whether the cache holds all of these sectors.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        let within = |e: &Extent| e.start <= start && end <= e.end;
        self.flights.iter().any(|f| within(&f.extent))
            || self.extents.get(self.first_ending_after(start)).is_some_and(within)
    }

    /// Time of the oldest write, if at least `age_ns` ago. Scans the extents only when one may be that old.
    pub fn older_than(&mut self, age_ns: u64, now_ns: u64) -> Option<u64> {
        let is_old = |born_ns: u64| born_ns.saturating_add(age_ns) <= now_ns;
        if is_old(self.oldest_ns) {
            self.oldest_ns = self.extents.iter().map(|e| e.born_ns).min().unwrap_or(u64::MAX);
        }
        is_old(self.oldest_ns).then_some(self.oldest_ns)
    }

    /// Reserved data arrives. Data that overwrites dirty sectors inherits their extent and epoch, so a flush that waits for
    /// them may write more than it must. Urgent sectors are split off: only they become urgent.
    pub fn insert(&mut self, start: u64, end: u64, urgent: bool, now_ns: u64) {
        self.reserved -= end - start;
        self.oldest_ns = self.oldest_ns.min(now_ns);
        let mut at = start;
        let mut index = self.first_ending_after(start);
        while at < end {
            match self.extents.get_mut(index) {
                Some(known) if known.start <= at => {
                    let known_end = known.end;
                    if urgent && !known.urgent {
                        index = self.make_urgent(index, at, end);
                    } else {
                        index += 1;
                    }
                    at = known_end;
                }
                next => {
                    let gap_end = next.map_or(end, |known| known.start.min(end));
                    let fresh = Extent {
                        start: at,
                        end: gap_end,
                        epoch: self.epoch,
                        urgent,
                        born_ns: now_ns,
                        grown_ns: now_ns,
                    };
                    index = self.add(index, fresh);
                    at = gap_end;
                }
            }
        }
    }

    /// Splits the urgent sectors off an extent that holds `start`. Returns the index after the extent's last part.
    fn make_urgent(&mut self, index: usize, start: u64, end: u64) -> usize {
        let whole = self.extents[index];
        let (from, to) = (whole.start.max(start), whole.end.min(end));
        let parts = [
            Extent { end: from, ..whole },
            Extent { start: from, end: to, urgent: true, ..whole },
            Extent { start: to, ..whole },
        ];
        let parts = parts.into_iter().filter(|part| part.start < part.end);
        let before = self.extents.len();
        self.extents.splice(index..=index, parts);
        index + 1 + self.extents.len() - before
    }

    /// Launches sectors `start..end` of an extent towards the medium.
    pub fn launch(&mut self, index: usize, start: u64, end: u64) -> Flight {
        let whole = self.extents[index];
        debug_assert!(whole.start <= start && start < end && end <= whole.end, "sectors of the extent");
        match (whole.start < start, end < whole.end) {
            (false, false) => drop(self.extents.remove(index)),
            (false, true) => self.extents[index].start = end,
            (true, false) => self.extents[index].end = start,
            (true, true) => {
                self.extents[index].end = start;
                self.extents.insert(index + 1, Extent { start: end, ..whole });
            }
        }
        let flight = Flight { id: self.next_flight, extent: Extent { start, end, ..whole } };
        self.next_flight += 1;
        self.flights.push(flight);
        self.flying += end - start;
        self.note(Passage::launched(start, end));
        flight
    }

    /// A flight has landed on the medium.
    pub fn land(&mut self, id: u64) -> Option<Extent> {
        let index = self.flights.iter().position(|f| f.id == id)?;
        let landed = self.flights.swap_remove(index).extent;
        self.sectors -= landed.end - landed.start;
        self.flying -= landed.end - landed.start;
        self.note(Passage::landed(landed.start, landed.end));
        Some(landed)
    }

    fn note(&mut self, passage: Passage) {
        if let Some(noted) = &mut self.passages {
            noted.push(passage);
        }
    }

    /// Drops discarded sectors, except those in flight.
    pub fn discard(&mut self, start: u64, end: u64) {
        let mut index = self.first_ending_after(start);
        while let Some(known) = self.extents.get(index).copied().filter(|e| e.start < end) {
            let (from, to) = (known.start.max(start), known.end.min(end));
            self.sectors -= to - from;
            match (known.start < from, to < known.end) {
                (false, false) => drop(self.extents.remove(index)),
                (false, true) => self.extents[index].start = to,
                (true, false) => {
                    self.extents[index].end = from;
                    index += 1;
                }
                (true, true) => {
                    self.extents[index].end = from;
                    self.extents.insert(index + 1, Extent { start: to, ..known });
                    return;
                }
            }
        }
    }

    /// The eligible extents in arm-sweep order: upwards from `from`, then on from the lowest.
    pub fn sweep(&self, from: u64, choice: Choice) -> impl Iterator<Item = (usize, &Extent)> {
        let middle = self.first_ending_after(from);
        let indices = (middle..self.extents.len()).chain(0..middle);
        indices.map(|i| (i, &self.extents[i])).filter(move |(_, e)| choice.allows(e))
    }

    /// The first extent of the sweep.
    pub fn next(&self, from: u64, choice: Choice) -> Option<(usize, Extent)> {
        self.sweep(from, choice).next().map(|(index, extent)| (index, *extent))
    }

    fn first_ending_after(&self, sector: u64) -> usize {
        self.extents.partition_point(|e| e.end <= sector)
    }

    /// Adds a new extent before `index` and merges it with adjacent ones. Returns the index of the extent that holds or follows
    /// its end.
    fn add(&mut self, index: usize, fresh: Extent) -> usize {
        self.sectors += fresh.end - fresh.start;
        let joins = |known: &Extent| known.epoch == fresh.epoch && known.urgent == fresh.urgent;
        let continues = index > 0 && {
            let before = &self.extents[index - 1];
            before.end == fresh.start && joins(before)
        };
        let is_continued = self.extents.get(index).is_some_and(|next| next.start == fresh.end && joins(next));
        match (continues, is_continued) {
            (true, true) => {
                let last = self.extents.remove(index);
                let first = &mut self.extents[index - 1];
                (first.end, first.grown_ns) = (last.end, fresh.grown_ns);
                first.born_ns = first.born_ns.min(last.born_ns);
                index - 1
            }
            (true, false) => {
                let before = &mut self.extents[index - 1];
                (before.end, before.grown_ns) = (fresh.end, fresh.grown_ns);
                index
            }
            (false, true) => {
                let next = &mut self.extents[index];
                (next.start, next.grown_ns) = (fresh.start, fresh.grown_ns);
                index
            }
            (false, false) => {
                self.extents.insert(index, fresh);
                index + 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(ranges: &[(u64, u64)]) -> Dirty {
        let mut dirty = Dirty::new(1000, 16);
        for (start, end) in ranges {
            dirty.reserve(end - start);
            dirty.insert(*start, *end, false, 0);
        }
        dirty
    }

    fn ranges(dirty: &Dirty) -> Vec<(u64, u64)> {
        dirty.extents().iter().map(|e| (e.start, e.end)).collect()
    }

    #[test]
    fn what_continues_an_extent_grows_it() {
        assert_eq!(ranges(&with(&[(10, 20), (20, 30), (0, 10)])), [(0, 30)]);
        assert_eq!(ranges(&with(&[(10, 20), (40, 50), (0, 60)])), [(0, 60)]);
    }

    #[test]
    fn a_later_epoch_stands_apart_and_an_overwrite_keeps_the_old_one() {
        let mut dirty = with(&[(10, 20)]);
        let epoch = dirty.close_epoch();
        dirty.reserve(10);
        dirty.insert(15, 25, false, 5);
        assert_eq!(ranges(&dirty), [(10, 20), (20, 25)]);
        let flight = dirty.launch(0, 10, 20);
        assert!(dirty.holds_epoch(epoch));
        dirty.land(flight.id);
        assert!(!dirty.holds_epoch(epoch) && dirty.holds_epoch(epoch + 1));
    }

    #[test]
    fn what_is_urgent_is_cut_out_of_what_waits() {
        let mut dirty = with(&[(0, 100), (200, 300)]);
        dirty.reserve(150);
        dirty.insert(60, 210, true, 0);
        let urgent = |dirty: &Dirty| -> Vec<_> {
            dirty.extents().iter().filter(|e| e.urgent).map(|e| (e.start, e.end)).collect()
        };
        assert_eq!(ranges(&dirty), [(0, 60), (60, 200), (200, 210), (210, 300)]);
        assert_eq!(urgent(&dirty), [(60, 200), (200, 210)]);
        dirty.reserve(20);
        dirty.insert(20, 40, true, 0);
        assert_eq!(ranges(&dirty)[..4], [(0, 20), (20, 40), (40, 60), (60, 200)]);
        assert_eq!(urgent(&dirty)[0], (20, 40));
        assert_eq!(dirty.pending_sectors(), 300);
    }

    #[test]
    fn room_counts_what_is_promised_dirty_and_in_flight() {
        let mut dirty = with(&[(0, 600)]);
        assert!(dirty.has_room(400) && !dirty.has_room(401) && !dirty.has_room(5000));
        dirty.reserve(400);
        let flight = dirty.launch(0, 100, 200);
        assert_eq!(ranges(&dirty), [(0, 100), (200, 600)]);
        assert!(!dirty.has_room(1));
        dirty.land(flight.id);
        assert!(dirty.has_room(100) && !dirty.has_room(101));
    }

    #[test]
    fn a_discard_cuts() {
        let mut dirty = with(&[(0, 100), (200, 300)]);
        dirty.discard(50, 250);
        assert_eq!(ranges(&dirty), [(0, 50), (250, 300)]);
        dirty.discard(10, 20);
        assert_eq!(ranges(&dirty), [(0, 10), (20, 50), (250, 300)]);
        assert!(dirty.has_room(910) && dirty.has_room(5000));
    }

    #[test]
    fn a_sweep_starts_at_the_head_and_goes_round() {
        let dirty = with(&[(0, 10), (50, 60), (90, 99)]);
        let order: Vec<u64> = dirty.sweep(55, Choice::Any).map(|(_, e)| e.start).collect();
        assert_eq!(order, [50, 90, 0]);
        assert_eq!(dirty.sweep(0, Choice::Awaited(None)).count(), 0);
    }
}
