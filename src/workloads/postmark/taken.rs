//! One bit for each slot that says whether the slot is taken. The bits fit into the L1 cache, which makes the search for a taken
//! slot fast; the slots themselves would not fit.

const BITS: u32 = u64::BITS;

pub struct Taken {
    words: Vec<u64>,
    slots: u32,
}

impl Taken {
    pub fn none_of(slots: u32) -> Self {
        Taken { words: vec![0; slots.div_ceil(BITS) as usize], slots }
    }

    /// Whether a slot is taken; a number beyond the last slot is not taken.
    #[inline]
    pub fn has(&self, slot: u32) -> bool {
        self.words.get((slot / BITS) as usize).is_some_and(|word| word >> (slot % BITS) & 1 == 1)
    }

    pub fn take(&mut self, slot: u32) {
        self.words[(slot / BITS) as usize] |= 1 << (slot % BITS);
    }

    pub fn free(&mut self, slot: u32) {
        self.words[(slot / BITS) as usize] &= !(1 << (slot % BITS));
    }

    /// The lowest free slot, from the word of `from` on.
    pub fn first_free(&self, from: u32) -> Option<u32> {
        let first = (from / BITS) as usize;
        let words = self.words.iter().enumerate().skip(first);
        let free = words.map(|(at, word)| (at as u32, word.trailing_ones())).find(|(_, ones)| *ones < BITS);
        free.map(|(at, ones)| at * BITS + ones).filter(|slot| *slot < self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_slot_is_found_across_words() {
        let mut taken = Taken::none_of(130);
        (0..130).for_each(|slot| taken.take(slot));
        assert_eq!(taken.first_free(0), None);
        assert!(taken.has(129) && !taken.has(130) && !taken.has(1000));
        taken.free(129);
        assert_eq!(taken.first_free(0), Some(129));
        taken.free(64);
        assert_eq!(taken.first_free(0), Some(64));
        assert!(!taken.has(64));
    }
}
