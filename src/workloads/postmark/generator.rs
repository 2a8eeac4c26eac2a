//! The operations of a run in sequence: a pure function of parameters and seed.
//!
//! The next draw depends on whether an operation succeeded (a file that cannot be opened draws no appended size). So the caller
//! asks, acts, and then reports: [`Generator::grow`] after an open, [`Generator::free`] after an unlink.

use std::cell::RefCell;

use super::rules::Rules;
use super::taken::Taken;
use super::twister::Twister;
use crate::schema::units::Bytes;

/// First of the 95 printable characters of file content.
const FIRST_CHARACTER: u8 = b' ';
const CHARACTERS: u32 = 95;

/// A file's name as numbers; [`super::names::Namer`] makes the text of the name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Name {
    pub number: u32,
    pub location: u32,
    pub subdirectory: u32,
}

/// A file of the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// The file's slot in the table; another file may reuse the slot after the file's deletion.
    pub slot: u32,
    pub name: Name,
    pub bytes: u32,
}

/// The first half of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read(File),
    Append(File),
}

/// The second half of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turnover {
    Create(File),
    Delete(File),
}

pub struct Generator {
    rules: Rules,
    draws: Twister,
    /// The table of slots: twice as many as initial files.
    slots: Vec<Slot>,
    taken: Taken,
    cursor: u32,
    /// No slot below this index is free, so the search for the lowest free slot begins here.
    lowest: u32,
    used: u32,
    created: u32,
    /// Cumulative weights of the locations.
    shares: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    name: Name,
    bytes: u32,
}

/// Checks that this machine has the memory for the table, the source and the longest request. The original takes twice the memory
/// for the source, and crashes if it does not get the memory.
pub fn afford(rules: &Rules) -> Result<(), String> {
    let table = 2 * rules.number as usize * size_of::<Slot>();
    let bytes = table + rules.high as usize + rules.high.min(rules.read_block) as usize;
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| {
        format!(
            "the workload needs {amount} of memory, more than this machine has; choose a smaller number or \
             size",
            amount = Bytes(bytes as u64)
        )
    })
}

/// Number of remembered states behind a source. Sets of one experiment have the same seed and few different largest sizes.
const REMEMBERED: usize = 8;

thread_local! {
    /// By seed and largest size, oldest first: behind the source of a file of 100 MB the state takes a tenth of a second.
    static BEHIND: RefCell<Vec<((u32, u32), Twister)>> = const { RefCell::new(Vec::new()) };
}

/// The random numbers behind those of the source.
fn behind_source(rules: &Rules) -> Twister {
    let key = (rules.seed, rules.high);
    BEHIND.with_borrow_mut(|known| {
        if let Some((_, draws)) = known.iter().find(|(of, _)| *of == key) {
            return draws.clone();
        }
        let mut draws = Twister::new(rules.seed);
        draws.skip(2 * u64::from(rules.high));
        if known.len() == REMEMBERED {
            known.remove(0);
        }
        known.push((key, draws.clone()));
        draws
    })
}

impl Generator {
    /// The generator, and the source text from whose prefixes all files are written. `rules` have passed [`Rules::check`].
    pub fn new(rules: &Rules) -> (Self, Vec<u8>) {
        let mut generator = Self::unseeded(rules);
        // The original draws twice the largest size and uses only the first half.
        let source = generator.characters(rules.high);
        generator.draws.skip(u64::from(rules.high));
        (generator, source)
    }

    /// The generator alone, for a run without I/O.
    pub fn without_source(rules: &Rules) -> Self {
        Generator { draws: behind_source(rules), ..Self::unseeded(rules) }
    }

    fn unseeded(rules: &Rules) -> Self {
        let shares = rules.locations.iter().scan(0, |sum, location| {
            *sum += location.weight;
            Some(*sum)
        });
        Generator {
            draws: Twister::new(rules.seed),
            slots: vec![Slot::default(); 2 * rules.number as usize],
            taken: Taken::none_of(2 * rules.number),
            cursor: 0,
            lowest: 0,
            used: 0,
            created: 0,
            shares: shares.collect(),
            rules: rules.clone(),
        }
    }

    fn characters(&mut self, count: u32) -> Vec<u8> {
        (0..count).map(|_| FIRST_CHARACTER + self.draws.below(CHARACTERS) as u8).collect()
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub fn is_out_of_files(&self) -> bool {
        self.used == 0
    }

    /// Takes a slot for a new file and draws the file's name and size. If all slots are taken, draws nothing and returns `None`.
    pub fn create(&mut self) -> Option<File> {
        let slot = self.free_slot()?;
        self.created += 1;
        let name = Name {
            number: self.created,
            location: self.location(),
            subdirectory: self.draws.below(self.rules.split()),
        };
        let bytes = self.rules.low + self.draws.below(self.rules.high - self.rules.low);
        self.slots[slot as usize] = Slot { name, bytes };
        self.taken.take(slot);
        self.used += 1;
        Some(File { slot, name, bytes })
    }

    /// Draws the first half of the transaction. Before an append the caller must ask [`Generator::can_grow`].
    pub fn access(&mut self) -> Option<Access> {
        let bias = self.rules.bias_read?;
        let read = self.draws.below(10) < bias;
        let file = self.pick();
        Some(if read { Access::Read(file) } else { Access::Append(file) })
    }

    /// Draws the second half of the transaction; `None` also if a file is to be created and every slot is taken.
    pub fn turnover(&mut self) -> Option<Turnover> {
        let bias = self.rules.bias_create?;
        if self.draws.below(10) < bias {
            self.create().map(Turnover::Create)
        } else {
            Some(Turnover::Delete(self.pick()))
        }
    }

    pub fn can_grow(&self, file: File) -> bool {
        file.bytes < self.rules.high
    }

    /// Draws the appended size for an opened file that can grow.
    pub fn grow(&mut self, file: File) -> u32 {
        let more = self.draws.below(self.rules.high - file.bytes) + 1;
        self.slots[file.slot as usize].bytes += more;
        more
    }

    /// Frees the file's slot.
    pub fn free(&mut self, file: File) {
        self.taken.free(file.slot);
        self.lowest = self.lowest.min(file.slot);
        self.used -= 1;
    }

    /// The file in that slot, if any.
    pub fn file(&self, slot: u32) -> Option<File> {
        if !self.taken.has(slot) {
            return None;
        }
        let Slot { name, bytes } = self.slots[slot as usize];
        Some(File { slot, name, bytes })
    }

    /// The number of slots.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn files(&self) -> impl Iterator<Item = File> {
        (0..self.slots()).filter_map(|slot| self.file(slot))
    }

    /// A random file: draws slots until one is taken. The caller ensures that at least one slot is taken.
    fn pick(&mut self) -> File {
        loop {
            let slot = self.draws.below(self.slots());
            if let Some(file) = self.file(slot) {
                return file;
            }
        }
    }

    fn free_slot(&mut self) -> Option<u32> {
        let slot = if self.cursor < self.slots() && !self.taken.has(self.cursor) {
            self.cursor
        } else {
            let found = self.taken.first_free(self.lowest);
            self.lowest = found.map_or(self.slots(), |slot| slot + 1);
            found?
        };
        self.cursor = slot + 1;
        Some(slot)
    }

    /// Draws a location; with at most one location draws nothing.
    fn location(&mut self) -> u32 {
        match self.shares.as_slice() {
            [] | [_] => 0,
            shares @ [.., all] => {
                let drawn = self.draws.below(*all);
                shares.partition_point(|sum| *sum <= drawn) as u32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_of_seed_42_starts_as_the_originals() {
        let (mut with, source) = Generator::new(&Rules::default());
        assert!(source.starts_with(b"LeZebJ6S5~qPv$C$py}hmKd H58nM4~.}pv}Q7wS"));
        assert_eq!(source.len(), 10_000);
        let mut without = Generator::without_source(&Rules::default());
        assert_eq!(with.create(), without.create());
    }

    #[test]
    fn a_full_table_creates_and_draws_nothing() {
        let mut generator = Generator::without_source(&Rules { number: 1, ..Rules::default() });
        let [first, _] = [generator.create(), generator.create()];
        assert_eq!(generator.create(), None);
        generator.free(first.expect("there was room"));
        assert_eq!(generator.create().map(|f| (f.slot, f.name.number)), Some((0, 3)));
    }

    #[test]
    fn the_cursor_goes_on_behind_a_reused_slot() {
        let mut generator = Generator::without_source(&Rules { number: 2, ..Rules::default() });
        let files: Vec<File> = (0..4).filter_map(|_| generator.create()).collect();
        generator.free(files[1]);
        generator.free(files[2]);
        let slots: Vec<Option<u32>> = (0..3).map(|_| generator.create().map(|f| f.slot)).collect();
        assert_eq!(slots, [Some(1), Some(2), None]);
    }
}
