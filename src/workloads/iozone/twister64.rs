//! The 64-bit Mersenne Twister MT19937-64, with the seed array of IOzone's random order.
//!
//! Source: T. Nishimura, "Tables of 64-bit Mersenne Twisters", ACM TOMACS 10(4), 2000. The authors' test vector of 2004 uses the
//! same seed array.

const WORDS: usize = 312;
const OFFSET: usize = 156;
const TWIST: u64 = 0xB502_6F5A_A966_19E9;
/// Masks of a word's upper 33 bits and lower 31 bits.
const UPPER: u64 = 0xFFFF_FFFF_8000_0000;
const LOWER: u64 = 0x7FFF_FFFF;
const SEED: [u64; 4] = [0x12345, 0x23456, 0x34567, 0x45678];

pub struct Twister64 {
    words: [u64; WORDS],
    /// The number of words of the current state that have been returned.
    given: usize,
}

impl Twister64 {
    pub fn new() -> Self {
        let mut words = started(19_650_218);
        let mut at = 1;
        // The seed array is shorter than the state, so the loop runs over all words of the state.
        for round in 0..WORDS {
            let mixed = mix(words[at - 1], 3_935_559_000_370_003_845) ^ words[at];
            words[at] =
                mixed.wrapping_add(SEED[round % SEED.len()]).wrapping_add((round % SEED.len()) as u64);
            at = next(&mut words, at);
        }
        for _ in 1..WORDS {
            let mixed = mix(words[at - 1], 2_862_933_555_777_941_757) ^ words[at];
            words[at] = mixed.wrapping_sub(at as u64);
            at = next(&mut words, at);
        }
        words[0] = 1 << 63;
        Twister64 { words, given: WORDS }
    }

    pub fn draw(&mut self) -> u64 {
        if self.given == WORDS {
            self.twist();
        }
        let mut word = self.words[self.given];
        self.given += 1;
        word ^= word >> 29 & 0x5555_5555_5555_5555;
        word ^= word << 17 & 0x71D6_7FFF_EDA6_0000;
        word ^= word << 37 & 0xFFF7_EEE0_0000_0000;
        word ^ word >> 43
    }

    fn twist(&mut self) {
        for at in 0..WORDS {
            let joined = self.words[at] & UPPER | self.words[(at + 1) % WORDS] & LOWER;
            let far = self.words[(at + OFFSET) % WORDS];
            self.words[at] = far ^ joined >> 1 ^ (TWIST & 0u64.wrapping_sub(joined & 1));
        }
        self.given = 0;
    }
}

fn started(seed: u64) -> [u64; WORDS] {
    let mut words = [seed; WORDS];
    for at in 1..WORDS {
        words[at] = mix(words[at - 1], 6_364_136_223_846_793_005).wrapping_add(at as u64);
    }
    words
}

fn mix(word: u64, by: u64) -> u64 {
    (word ^ word >> 62).wrapping_mul(by)
}

/// The next index. After the last word it is 1: word 0 is skipped and takes the last word's value.
fn next(words: &mut [u64; WORDS], at: usize) -> usize {
    if at + 1 < WORDS {
        return at + 1;
    }
    words[0] = words[WORDS - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_published_vector() {
        let mut twister = Twister64::new();
        let published: [u64; 5] = [
            7266447313870364031,
            4946485549665804864,
            16945909448695747420,
            16394063075524226720,
            4873882236456199058,
        ];
        assert_eq!(published.map(|_| twister.draw()), published);
    }
}
