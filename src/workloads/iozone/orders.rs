//! The orders in which a file's records are visited.

use super::twister64::Twister64;

/// Every record once, in IOzone's random order, which is the same in each run. IOzone's shuffle is biased; so is this one.
pub fn random(records: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..records).collect();
    let mut twister = Twister64::new();
    for at in 0..order.len() {
        let other = twister.draw() % u64::from(records);
        order.swap(at, other as usize);
    }
    order
}

/// Visits as many records as the file has, each `stride` records after the last. After the end of the file the visits continue
/// at the beginning, each time starting one record later.
pub struct Strided {
    records: u64,
    stride: u64,
    at: u64,
    wraps: u64,
}

impl Strided {
    pub fn new(records: u32, stride: u32) -> Self {
        Strided { records: records.into(), stride: stride.into(), at: 0, wraps: 0 }
    }

    /// Moves to the next record and returns its number.
    pub fn advance(&mut self) -> u64 {
        if self.at + self.stride < self.records.saturating_sub(1) {
            self.at += self.stride;
        } else {
            self.wraps += 1;
            self.at = if self.records <= self.stride { 0 } else { self.wraps % self.records };
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected orders come from traces of IOzone 3.471.
    #[test]
    fn the_random_order_is_the_originals() {
        assert_eq!(random(16), [3, 15, 8, 1, 12, 9, 7, 2, 5, 0, 6, 10, 14, 13, 4, 11]);
        assert_eq!(random(4), [0, 3, 1, 2]);
        let mut all = random(1000);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..1000), "every record once");
    }

    #[test]
    fn the_strided_order_is_the_originals() {
        let order = |records, stride, n| {
            let mut strided = Strided::new(records, stride);
            std::iter::once(0).chain((1..n).map(|_| strided.advance())).collect::<Vec<u64>>()
        };
        assert_eq!(order(40, 17, 10), [0, 17, 34, 1, 18, 35, 2, 19, 36, 3]);
        assert_eq!(order(17, 17, 4), [0, 0, 0, 0], "as many records as the stride, or fewer");
        assert_eq!(order(18, 17, 4), [0, 1, 2, 3]);
        assert_eq!(order(1, 17, 3), [0, 0, 0]);
        assert!(order(40, 17, 400).iter().all(|record| *record < 40));
    }
}
