//! Read buffers: each holds one run of sectors, the latest that passed under the head.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub start: u64,
    pub end: u64,
    /// Number of the last use; 0: never used.
    used: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Segments {
    segments: Vec<Segment>,
    /// Size of each segment.
    sectors: u64,
    uses: u64,
}

impl Segments {
    pub fn new(count: u64, sectors: u64) -> Self {
        Segments { segments: vec![Segment::default(); count as usize], sectors, uses: 0 }
    }

    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    pub fn get(&self, index: usize) -> Segment {
        self.segments[index]
    }

    /// The segment that holds this sector or ends just before it.
    pub fn reaching(&self, sector: u64) -> Option<usize> {
        self.segments.iter().position(|s| s.start < s.end && s.start <= sector && sector <= s.end)
    }

    pub fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.segments[index].used = self.uses;
    }

    /// Reassigns the least recently used buffer to a new run.
    pub fn replace(&mut self, start: u64) -> usize {
        let oldest = (0..self.segments.len()).min_by_key(|i| self.segments[*i].used).unwrap_or_default();
        self.segments[oldest] = Segment { start, end: start, used: 0 };
        self.touch(oldest);
        oldest
    }

    /// Sectors up to `end` have passed; they overwrite the oldest if the buffer is full.
    pub fn grow(&mut self, index: usize, end: u64) {
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(self.sectors));
    }

    /// Sectors are overwritten: a buffer keeps only the sectors before them.
    pub fn overwrite(&mut self, start: u64, end: u64) {
        for segment in &mut self.segments {
            if segment.start < end && start < segment.end {
                segment.end = start.max(segment.start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_used_longest_ago_is_replaced() {
        let mut segments = Segments::new(2, 100);
        let a = segments.replace(1000);
        segments.grow(a, 1050);
        let b = segments.replace(5000);
        segments.grow(b, 5010);
        segments.touch(a);
        assert_eq!(segments.replace(9000), b);
        assert_eq!(segments.reaching(1049), Some(a));
        assert_eq!(segments.reaching(1050), Some(a));
        assert_eq!(segments.reaching(5000), None);
    }

    #[test]
    fn a_buffer_keeps_the_latest_and_forgets_what_is_overwritten() {
        let mut segments = Segments::new(1, 100);
        let a = segments.replace(0);
        segments.grow(a, 130);
        assert_eq!((segments.get(a).start, segments.get(a).end), (30, 130));
        segments.overwrite(100, 108);
        assert_eq!((segments.get(a).start, segments.get(a).end), (30, 100));
    }
}
