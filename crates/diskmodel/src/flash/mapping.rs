//! Where each unit of the disk lies on the flash, and which superblocks are worth erasing.
//!
//! A disk that was in use long before the trial is not written first: it begins full, as a rule instead of a table. Logical
//! unit u lies in superblock u ÷ V at place u mod V, where V units of each superblock are live and the rest is dead. Tables
//! exist for what was written since: four bytes a unit in each direction, 0.2 % of it.

use crate::draw::mix;
use crate::spec::FlashSpec;

/// Of 4 KiB.
pub(crate) const UNIT_SECTORS: u64 = 8;
const LEAF: usize = 1024;
/// Never written since the beginning.
const AS_BEFORE: u32 = 0;
const NOWHERE: u32 = u32::MAX;

/// A place on the flash: superblock and unit within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    pub superblock: u32,
    pub place: u32,
}

#[derive(Clone, Debug)]
enum State {
    Erased,
    /// Full since the beginning, by the rule.
    Before,
    /// Which logical units were written, in order.
    Written(Vec<u32>),
}

#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    /// Logical to physical, number + 1; leaves exist where something was written.
    leaves: Vec<Option<Box<[u32; LEAF]>>>,
    superblocks: Vec<State>,
    live: Vec<u32>,
    erased: Vec<u32>,
    /// Units of a superblock.
    units: u32,
    /// Live units of one that is full since before.
    before: u32,
    /// Superblocks that are full since before come first.
    full: u32,
    filled_permille: u64,
    /// Lists of erased superblocks, for use again.
    spare: Vec<Vec<u32>>,
}

impl Mapping {
    pub fn new(spec: &FlashSpec) -> Self {
        let (all, units) = (spec.superblocks(), spec.superblock_units());
        let logical = spec.sectors / UNIT_SECTORS;
        let erased = (all * spec.erased_permille / 1000).clamp(super::ssd::KEPT_ERASED as u64 + 1, all);
        let before = logical.div_ceil(all - erased.min(all - 1)).min(units);
        // A disk that begins erased keeps its data, if any, packed.
        let full = logical.div_ceil(before).min(all - erased);
        let live = (before * spec.filled_permille / 1000) as u32;
        let is_before = |n: u64| n < full && spec.filled_permille > 0;
        Mapping {
            leaves: vec![None; (logical + 1).div_ceil(LEAF as u64) as usize],
            superblocks: (0..all).map(|n| if is_before(n) { State::Before } else { State::Erased }).collect(),
            live: (0..all).map(|n| if is_before(n) { live } else { 0 }).collect(),
            erased: (0..all as u32).rev().filter(|n| !is_before(u64::from(*n))).collect(),
            units: units as u32,
            before: before as u32,
            full: full as u32,
            filled_permille: spec.filled_permille,
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

    /// `None` where nothing was written, or it was discarded.
    pub fn locate(&self, unit: u32) -> Option<Location> {
        let leaf = self.leaves[unit as usize / LEAF].as_ref();
        match leaf.map_or(AS_BEFORE, |l| l[unit as usize % LEAF]) {
            AS_BEFORE => self.before(unit),
            NOWHERE => None,
            number => {
                Some(Location { superblock: (number - 1) / self.units, place: (number - 1) % self.units })
            }
        }
    }

    /// Takes an erased superblock to write to.
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
            State::Before => self.units,
            State::Erased => 0,
        }
    }

    /// Writes a unit to the next place of an open superblock; `None` is padding.
    pub fn write(&mut self, superblock: u32, unit: Option<u32>) {
        let State::Written(list) = &mut self.superblocks[superblock as usize] else {
            unreachable!("superblock {superblock} is written but not open")
        };
        let place = list.len() as u32;
        list.push(unit.unwrap_or(NOWHERE));
        if let Some(unit) = unit {
            self.forget(unit);
            self.live[superblock as usize] += 1;
            *self.entry(unit) = superblock * self.units + place + 1;
        }
    }

    pub fn discard(&mut self, unit: u32) {
        if self.locate(unit).is_some() {
            self.forget(unit);
            *self.entry(unit) = NOWHERE;
        }
    }

    /// The superblock with the fewest live units, but for those that are open.
    pub fn cheapest(&self, open: [Option<u32>; 2]) -> Option<u32> {
        let candidates = (0..self.superblocks.len() as u32)
            .filter(|n| !matches!(self.superblocks[*n as usize], State::Erased) && !open.contains(&Some(*n)));
        candidates.min_by_key(|n| self.live[*n as usize])
    }

    /// The next live unit of a superblock from a place on, and its place.
    pub fn next_live(&self, superblock: u32, from: u32) -> Option<(u32, u32)> {
        let is_here = |unit: u32, place: u32| self.locate(unit) == Some(Location { superblock, place });
        match &self.superblocks[superblock as usize] {
            State::Erased => None,
            State::Before => {
                let unit_of = |place: u32| superblock * self.before + place;
                let known = (self.leaves.len() * LEAF) as u32;
                (from..self.before)
                    .map(|place| (unit_of(place), place))
                    .find(|(unit, place)| *unit < known && is_here(*unit, *place))
            }
            State::Written(list) => (from..list.len() as u32)
                .map(|place| (list[place as usize], place))
                .find(|(unit, place)| *unit != NOWHERE && is_here(*unit, *place)),
        }
    }

    /// Nothing live is left in it.
    pub fn erase(&mut self, superblock: u32) {
        let index = superblock as usize;
        if let State::Written(mut list) = std::mem::replace(&mut self.superblocks[index], State::Erased) {
            list.clear();
            self.spare.push(list);
        }
        self.live[index] = 0;
        self.erased.insert(0, superblock);
    }

    /// Where a unit lies by the rule of the beginning.
    fn before(&self, unit: u32) -> Option<Location> {
        let location = Location { superblock: unit / self.before, place: unit % self.before };
        // By the MiB, so that files are there or not there as a whole.
        let is_filled = mix(u64::from(unit / 256)) % 1000 < self.filled_permille;
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

    fn entry(&mut self, unit: u32) -> &mut u32 {
        let leaf = &mut self.leaves[unit as usize / LEAF];
        &mut leaf.get_or_insert_with(|| Box::new([AS_BEFORE; LEAF]))[unit as usize % LEAF]
    }
}
