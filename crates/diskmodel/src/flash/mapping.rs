//! Physical location of each unit of the disk, and the choice of superblocks to erase.
//!
//! A disk that was in use before the trial is not actually written first: the formula in `beginning.rs` gives its initial
//! contents. Tables exist only for units written since: four bytes per unit in each direction, 0.2 % of the data. Garbage
//! collection on a disk in steady state moves units that lie anywhere. A table for each would be a thousand times larger, so
//! moved units have separate map entries.

use std::collections::BTreeMap;
use std::ops::Range;

use super::beginning::{Beginning, Location};
use crate::mix::mix;
use crate::spec::FlashSpec;

/// Sectors of a unit of 4 KiB.
pub(crate) const UNIT_SECTORS: u64 = 8;
/// Number of superblocks kept erased; with fewer, writes pay for garbage collection.
pub(super) const KEPT_ERASED: usize = 3;
const LEAF: usize = 1024;
const MIB_UNITS: u32 = 256;
/// Entry of a unit not written since the start of the trial.
const AS_BEFORE: u32 = 0;
const NOWHERE: u32 = u32::MAX;

/// The mapping of 1024 consecutive units, 4 MiB.
#[derive(Clone, Debug)]
enum Leaf {
    /// No unit was written since the start, though some may have been moved.
    AsBefore,
    /// All units of the leaf were discarded.
    Gone,
    /// Physical number + 1 of each unit.
    Table(Box<[u32; LEAF]>),
}

#[derive(Clone, Debug)]
enum State {
    Erased,
    /// The superblock holds no live unit and is not erased yet.
    Condemned,
    /// The superblock has been full since the start; the formula gives its units.
    Before,
    /// The logical units written to this superblock, in order.
    Written(Vec<u32>),
}

#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    /// The map from logical to physical units; a leaf gets a table at its first write.
    leaves: Vec<Leaf>,
    /// Physical number of units that garbage collection moved in leaves without a table.
    moved: BTreeMap<u32, u32>,
    superblocks: Vec<State>,
    live: Vec<u32>,
    erased: Vec<u32>,
    /// Units per superblock.
    units: u32,
    beginning: Beginning,
    /// Number of superblocks that are full at the start; they come first.
    full: u32,
    filled_permille: u64,
    /// Lists of erased superblocks, for reuse.
    spare: Vec<Vec<u32>>,
}

impl Mapping {
    pub fn new(spec: &FlashSpec) -> Self {
        let (all, units) = (spec.superblocks(), spec.superblock_units());
        let logical = spec.sectors / UNIT_SECTORS;
        let (beginning, full) = if spec.preconditioned {
            // Garbage collection keeps pace with writes: once one of these is open, the first write pays for it.
            let full = all - KEPT_ERASED as u64;
            (Beginning::scattered(logical, full, units), full)
        } else {
            let erased = (all * spec.erased_permille / 1000).clamp(KEPT_ERASED as u64 + 1, all);
            let live = logical.div_ceil(all - erased.min(all - 1)).min(units);
            // A disk that starts erased keeps its data, if any, packed.
            (Beginning::Packed { live: live as u32 }, logical.div_ceil(live).min(all - erased))
        };
        let filled_permille = if spec.preconditioned { 1000 } else { spec.filled_permille };
        let is_before = |n: u64| n < full && filled_permille > 0;
        let live = |n: u64| (u64::from(beginning.live(n as u32)) * filled_permille / 1000) as u32;
        Mapping {
            leaves: vec![Leaf::AsBefore; (logical + 1).div_ceil(LEAF as u64) as usize],
            moved: BTreeMap::new(),
            superblocks: (0..all).map(|n| if is_before(n) { State::Before } else { State::Erased }).collect(),
            live: (0..all).map(|n| if is_before(n) { live(n) } else { 0 }).collect(),
            erased: (0..all as u32).rev().filter(|n| !is_before(u64::from(*n))).collect(),
            units: units as u32,
            beginning,
            full: full as u32,
            filled_permille,
            spare: Vec::new(),
        }
    }

    pub fn units(&self) -> u32 {
        self.units
    }

    pub fn erased(&self) -> usize {
        self.erased.len()
    }

    pub fn live(&self, superblock: u32) -> u32 {
        self.live[superblock as usize]
    }

    /// Counts live units exactly. For a superblock full since the start, [`Mapping::live`] is only the expected number.
    pub fn count_live(&mut self, superblock: u32) -> u32 {
        let mut from = 0;
        let places = std::iter::from_fn(|| {
            let (_, place) = self.next_live(superblock, from)?;
            from = place + 1;
            Some(place)
        });
        let live = places.count() as u32;
        self.live[superblock as usize] = live;
        live
    }

    /// Location of a unit; `None` if never written or discarded.
    pub fn locate(&self, unit: u32) -> Option<Location> {
        let number = match &self.leaves[unit as usize / LEAF] {
            Leaf::AsBefore => self.moved.get(&unit).copied().unwrap_or(AS_BEFORE),
            Leaf::Gone => NOWHERE,
            Leaf::Table(table) => table[unit as usize % LEAF],
        };
        match number {
            AS_BEFORE => self.before(unit),
            NOWHERE => None,
            number => {
                Some(Location { superblock: (number - 1) / self.units, place: (number - 1) % self.units })
            }
        }
    }

    /// Opens an erased superblock for writing.
    pub fn open(&mut self) -> Option<u32> {
        let superblock = self.erased.pop()?;
        let list = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(self.units as usize));
        self.superblocks[superblock as usize] = State::Written(list);
        Some(superblock)
    }

    /// Units written to an open superblock, padding included.
    pub fn written(&self, superblock: u32) -> u32 {
        match &self.superblocks[superblock as usize] {
            State::Written(list) => list.len() as u32,
            State::Before | State::Condemned => self.units,
            State::Erased => 0,
        }
    }

    /// Writes a unit to the next place of an open superblock; `None` is padding.
    pub fn write(&mut self, superblock: u32, unit: Option<u32>) {
        let number = self.place(superblock, unit);
        if let Some(unit) = unit {
            *self.entry(unit) = number;
        }
    }

    /// Moves a unit whose contents do not change.
    pub fn relocate(&mut self, superblock: u32, unit: u32) {
        let number = self.place(superblock, Some(unit));
        match self.leaves[unit as usize / LEAF] {
            Leaf::AsBefore => drop(self.moved.insert(unit, number)),
            Leaf::Gone | Leaf::Table(_) => *self.entry(unit) = number,
        }
    }

    /// Assigns the next place of an open superblock to a unit and returns its number.
    fn place(&mut self, superblock: u32, unit: Option<u32>) -> u32 {
        let State::Written(list) = &mut self.superblocks[superblock as usize] else {
            unreachable!("superblock {superblock} must be open for writing")
        };
        let place = list.len() as u32;
        list.push(unit.unwrap_or(NOWHERE));
        if let Some(unit) = unit {
            self.forget(unit);
            self.live[superblock as usize] += 1;
        }
        superblock * self.units + place + 1
    }

    /// Discards units; whole leaves at once, because a discard may span gigabytes.
    pub fn discard(&mut self, units: Range<u32>) {
        let mut unit = units.start;
        while unit < units.end {
            let leaf = unit as usize / LEAF;
            let to = units.end.min((leaf as u32 + 1) * LEAF as u32);
            match self.leaves[leaf] {
                Leaf::Gone => {}
                _ if (to - unit) as usize == LEAF => {
                    self.forget_all(unit..to);
                    self.take_moved(leaf).for_each(drop);
                    self.leaves[leaf] = Leaf::Gone;
                }
                _ => {
                    self.forget_all(unit..to);
                    (unit..to).for_each(|unit| *self.entry(unit) = NOWHERE);
                }
            }
            unit = to;
        }
    }

    /// Discards units of one leaf.
    fn forget_all(&mut self, units: Range<u32>) {
        if !matches!(self.leaves[units.start as usize / LEAF], Leaf::AsBefore) {
            return units.for_each(|unit| self.forget(unit));
        }
        if matches!(self.beginning, Beginning::Scattered { .. }) {
            return units.for_each(|unit| self.forget(unit));
        }
        // Packed: each MiB, or its part within one superblock, is live or absent as a whole.
        let mut unit = units.start;
        while unit < units.end {
            let at = self.beginning.locate(unit);
            let superblock_end = unit + self.beginning.live(at.superblock) - at.place;
            let to = units.end.min((unit / MIB_UNITS + 1) * MIB_UNITS).min(superblock_end);
            if let Some(old) = self.before(unit) {
                let live = &mut self.live[old.superblock as usize];
                *live = live.saturating_sub(to - unit);
            }
            unit = to;
        }
    }

    /// The superblock with the fewest live units, open ones excluded.
    pub fn cheapest(&self, open: [Option<u32>; 2]) -> Option<u32> {
        let candidates = (0..self.superblocks.len() as u32)
            .filter(|n| !open.contains(&Some(*n)))
            .filter(|n| !matches!(self.superblocks[*n as usize], State::Erased | State::Condemned));
        candidates.min_by_key(|n| self.live[*n as usize])
    }

    /// The next live unit of a superblock from a place on, and its place.
    pub fn next_live(&self, superblock: u32, from: u32) -> Option<(u32, u32)> {
        let is_here = |unit: u32, place: u32| self.locate(unit) == Some(Location { superblock, place });
        match &self.superblocks[superblock as usize] {
            State::Erased | State::Condemned => None,
            State::Before => {
                let unit_of = |place: u32| self.beginning.unit_at(Location { superblock, place });
                let known = (self.leaves.len() * LEAF) as u32;
                (from..self.beginning.live(superblock))
                    .map(|place| (unit_of(place), place))
                    .find(|(unit, place)| *unit < known && is_here(*unit, *place))
            }
            State::Written(list) => (from..list.len() as u32)
                .map(|place| (list[place as usize], place))
                .find(|(unit, place)| *unit != NOWHERE && is_here(*unit, *place)),
        }
    }

    /// Marks a superblock without live units for erasure.
    pub fn condemn(&mut self, superblock: u32) {
        let index = superblock as usize;
        if let State::Written(mut list) = std::mem::replace(&mut self.superblocks[index], State::Condemned) {
            list.clear();
            self.spare.push(list);
        }
        self.live[index] = 0;
    }

    /// Notes that a superblock is erased; it is reused after all superblocks that were erased before.
    pub fn erase(&mut self, superblock: u32) {
        self.superblocks[superblock as usize] = State::Erased;
        self.erased.insert(0, superblock);
    }

    /// Initial location of a unit by the formula.
    fn before(&self, unit: u32) -> Option<Location> {
        let location = self.beginning.locate(unit);
        // Decided per MiB, so that files are present or absent as a whole.
        let is_filled = mix(u64::from(unit / MIB_UNITS)) % 1000 < self.filled_permille;
        let is_there = location.superblock < self.full
            && matches!(self.superblocks[location.superblock as usize], State::Before);
        (is_there && is_filled).then_some(location)
    }

    fn forget(&mut self, unit: u32) {
        if let Some(old) = self.locate(unit) {
            let live = &mut self.live[old.superblock as usize];
            *live = live.saturating_sub(1);
        }
    }

    /// Removes and returns the separate map entries of a leaf.
    fn take_moved(&mut self, leaf: usize) -> impl Iterator<Item = (u32, u32)> {
        let units = (leaf * LEAF) as u32..=(leaf * LEAF + (LEAF - 1)) as u32;
        self.moved.extract_if(units, |_, _| true)
    }

    fn entry(&mut self, unit: u32) -> &mut u32 {
        let number = unit as usize / LEAF;
        if matches!(self.leaves[number], Leaf::AsBefore) {
            let mut table = Box::new([AS_BEFORE; LEAF]);
            self.take_moved(number).for_each(|(unit, at)| table[unit as usize % LEAF] = at);
            self.leaves[number] = Leaf::Table(table);
        }
        let leaf = &mut self.leaves[number];
        match leaf {
            Leaf::Gone => *leaf = Leaf::Table(Box::new([NOWHERE; LEAF])),
            Leaf::AsBefore | Leaf::Table(_) => {}
        }
        match leaf {
            Leaf::Table(table) => &mut table[unit as usize % LEAF],
            Leaf::AsBefore | Leaf::Gone => unreachable!("the leaf of the mapping table was just allocated"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Model;
    use crate::{SHIPPED, Spec};

    /// The SATA disk as shipped: 70 % filled.
    fn mapping() -> Mapping {
        let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "ssd-sata").unwrap();
        match Spec::parse(text).unwrap().model {
            Model::Flash(flash) => Mapping::new(&flash),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_disk_in_use_begins_full_without_tables() {
        let mapping = mapping();
        let filled = (0..125_000_000_u32).step_by(1009).filter(|u| mapping.locate(*u).is_some()).count();
        // Of 123,886 units checked, 70 % hold data.
        assert!(filled.abs_diff(123_886 * 7 / 10) < 1500, "{filled}");
        assert!(mapping.leaves.iter().all(|leaf| matches!(leaf, Leaf::AsBefore)));
        assert!(mapping.erased() > KEPT_ERASED && mapping.live(0) < mapping.units());
    }

    #[test]
    fn what_is_written_moves_and_leaves_a_dead_unit() {
        let mut mapping = mapping();
        let unit = (0..).find(|u| mapping.locate(*u).is_some()).unwrap();
        let old = mapping.locate(unit).unwrap();
        let live = mapping.live(old.superblock);
        let open = mapping.open().unwrap();
        mapping.write(open, Some(unit));
        assert_eq!(mapping.locate(unit), Some(Location { superblock: open, place: 0 }));
        assert_eq!((mapping.live(old.superblock), mapping.live(open)), (live - 1, 1));
        assert_eq!(mapping.next_live(open, 0), Some((unit, 0)));
        mapping.discard(unit..unit + 1);
        assert_eq!((mapping.locate(unit), mapping.live(open)), (None, 0));
        assert_eq!(mapping.next_live(open, 0), None);
    }

    #[test]
    fn a_long_discard_needs_no_tables() {
        let mut mapping = mapping();
        mapping.discard(100..100_000);
        assert!((100..100_000).all(|unit| mapping.locate(unit).is_none()));
        let tables = mapping.leaves.iter().filter(|leaf| matches!(leaf, Leaf::Table(_))).count();
        assert_eq!(tables, 2, "those at its ends");
        mapping.open().unwrap();
        let open = mapping.open().unwrap();
        mapping.write(open, Some(5000));
        assert_eq!(mapping.locate(5000), Some(Location { superblock: open, place: 0 }));
        assert_eq!(mapping.locate(5001), None);
    }
}
