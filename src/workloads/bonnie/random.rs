//! The C library's `rand`, which determines names, sizes and positions of Bonnie++ 2.00a.
//!
//! It is glibc's additive feedback generator of type 3: `r[i] = r[i-3] + r[i-31]`, returning the upper 31 bits. D. Lehmer's
//! generator, `r[i] = 16807 × r[i-1] mod (2^31 - 1)`, seeds it, and the first 310 numbers are discarded.

const WORDS: usize = 31;
const APART: usize = 3;
const THROWN_AWAY: usize = 310;

pub struct Random {
    words: [u32; WORDS],
    at: usize,
}

impl Random {
    pub fn new(seed: u32) -> Self {
        // Seed 0 would give only zeros; the C library replaces it by 1 too.
        let mut word = i64::from(seed.max(1).cast_signed());
        let words = std::array::from_fn(|at| {
            if at > 0 {
                word = (16807 * word) % 0x7FFF_FFFF;
                word += if word < 0 { 0x7FFF_FFFF } else { 0 };
            }
            word as u32
        });
        let mut random = Random { words, at: 0 };
        (0..THROWN_AWAY).for_each(|_| {
            random.draw();
        });
        random
    }

    /// Draws a number from 0 to 2^31 - 1.
    pub fn draw(&mut self) -> u32 {
        let front = (self.at + APART) % WORDS;
        self.words[front] = self.words[front].wrapping_add(self.words[self.at]);
        self.at = (self.at + 1) % WORDS;
        self.words[front] >> 1
    }

    /// Draws a number below `end` by modulo, with the same bias as in Bonnie++.
    pub fn below(&mut self, end: u32) -> u32 {
        self.draw() % end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_the_c_librarys() {
        let first = |seed| {
            let mut random = Random::new(seed);
            [(); 4].map(|()| random.draw())
        };
        assert_eq!(first(1), [1804289383, 846930886, 1681692777, 1714636915]);
        assert_eq!(first(0), first(1));
        assert_eq!(first(42), [71876166, 708592740, 1483128881, 907283241]);
    }
}
