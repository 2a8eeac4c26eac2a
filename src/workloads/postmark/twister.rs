//! The Mersenne Twister MT19937, with its authors' seeding of 1999.
//!
//! Source: M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998. Libraries use the seeding of 2002, which gives
//! other numbers. PostMark is older, so this file implements the seeding of 1999.

const WORDS: usize = 624;
const OFFSET: usize = 397;
const TWIST: u32 = 0x9908_B0DF;
const UPPER: u32 = 0x8000_0000;

#[derive(Clone)]
pub struct Twister {
    words: [u32; WORDS],
    /// The number of words of the current state that have been returned.
    given: usize,
}

impl Twister {
    pub fn new(seed: u32) -> Self {
        let mut value = seed;
        let mut half = || {
            let high = value & 0xFFFF_0000;
            value = value.wrapping_mul(69069).wrapping_add(1);
            high
        };
        let words = std::array::from_fn(|_| half() | half() >> 16);
        Twister { words, given: WORDS }
    }

    pub fn draw(&mut self) -> u32 {
        if self.given == WORDS {
            self.twist();
        }
        let mut word = self.words[self.given];
        self.given += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9D2C_5680;
        word ^= word << 15 & 0xEFC6_0000;
        word ^ word >> 18
    }

    /// A number below `end`, with the modulo bias of PostMark. Draws nothing if `end` is 0.
    pub fn below(&mut self, end: u32) -> u32 {
        if end == 0 { 0 } else { self.draw() % end }
    }

    /// Discards `count` draws.
    pub fn skip(&mut self, mut count: u64) {
        while count > 0 {
            if self.given == WORDS {
                self.twist();
            }
            let step = count.min((WORDS - self.given) as u64);
            self.given += step as usize;
            count -= step;
        }
    }

    /// Plain loops, because planning draws millions of numbers, and a build for tests does not optimise iterators.
    fn twist(&mut self) {
        let words = &mut self.words;
        let mut at = 0;
        while at < WORDS {
            let next = if at + 1 < WORDS { at + 1 } else { 0 };
            let far = if at < WORDS - OFFSET { at + OFFSET } else { at + OFFSET - WORDS };
            let joined = words[at] & UPPER | words[next] & !UPPER;
            words[at] = words[far] ^ joined >> 1 ^ (TWIST & 0u32.wrapping_sub(joined & 1));
            at += 1;
        }
        self.given = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_seeding_of_1999() {
        let mut forty_two = Twister::new(42);
        let expected = [4179544424, 615236124, 4165290828, 3119652344, 1623863471];
        assert_eq!(expected.map(|_| forty_two.draw()), expected);
        let mut published = Twister::new(4357);
        let expected = [2867219139, 1585203162, 3113124129];
        assert_eq!(expected.map(|_| published.draw()), expected);
    }

    #[test]
    fn nothing_below_zero_is_drawn() {
        let mut a = Twister::new(7);
        assert_eq!(a.below(0), 0);
        assert_eq!(a.draw(), Twister::new(7).draw());
    }

    #[test]
    fn skipping_is_drawing_without_looking() {
        for count in [0, 1, 623, 624, 625, 5000] {
            let (mut skipped, mut drawn) = (Twister::new(42), Twister::new(42));
            skipped.skip(count);
            (0..count).for_each(|_| {
                drawn.draw();
            });
            assert_eq!(skipped.draw(), drawn.draw(), "after {count}");
        }
    }
}
