//! Placement of data and parity on the members.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub members: u64,
    pub chunk_sectors: u64,
}

/// A run of sectors on one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub member: usize,
    pub sector: u64,
    pub sectors: u64,
}

impl Layout {
    /// Data chunks per stripe.
    pub fn data(&self) -> u64 {
        self.members - 1
    }

    pub fn stripe_sectors(&self) -> u64 {
        self.chunk_sectors * self.data()
    }

    pub fn stripe_of(&self, sector: u64) -> u64 {
        sector / self.stripe_sectors()
    }

    /// Location of sectors that do not cross the end of a chunk.
    fn piece(&self, sector: u64, sectors: u64) -> Piece {
        debug_assert!(
            sector % self.chunk_sectors + sectors <= self.chunk_sectors,
            "a piece crosses no chunk"
        );
        let stripe = self.stripe_of(sector);
        let inside = sector % self.stripe_sectors();
        let (chunk, offset) = (inside / self.chunk_sectors, inside % self.chunk_sectors);
        let member = (self.parity_member(stripe) + 1 + chunk) % self.members;
        Piece { member: member as usize, sector: stripe * self.chunk_sectors + offset, sectors }
    }

    /// The data within these sectors of a member, as sectors of the array; parity is skipped.
    pub fn data_at(&self, member: usize, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let layout = *self;
        let chunk = self.chunk_sectors;
        (start / chunk..end.div_ceil(chunk)).filter_map(move |stripe| {
            let behind = (member as u64 + layout.members - layout.parity_member(stripe)) % layout.members;
            // On the parity member itself the distance is 0.
            let number = behind.checked_sub(1)?;
            let (from, to) = (start.max(stripe * chunk), end.min((stripe + 1) * chunk));
            let first = stripe * layout.stripe_sectors() + number * chunk;
            Some((first + from - stripe * chunk, first + to - stripe * chunk))
        })
    }

    fn parity_member(&self, stripe: u64) -> u64 {
        self.members - 1 - stripe % self.members
    }

    /// The data pieces, chunk by chunk.
    pub fn pieces(&self, start: u64, end: u64) -> impl Iterator<Item = Piece> + use<> {
        let layout = *self;
        let mut at = start;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let to = end.min((at / layout.chunk_sectors + 1) * layout.chunk_sectors);
                let piece = layout.piece(at, to - at);
                at = to;
                piece
            })
        })
    }

    /// The part of a stripe's parity for these sectors: the same offsets within the chunk, or the whole chunk if they cross a
    /// chunk boundary.
    pub fn parity(&self, start: u64, end: u64) -> Piece {
        debug_assert!(
            start < end && self.stripe_of(start) == self.stripe_of(end - 1),
            "one stripe has one parity"
        );
        let stripe = self.stripe_of(start);
        let chunk = self.chunk_sectors;
        let (offset, sectors) =
            if start / chunk == (end - 1) / chunk { (start % chunk, end - start) } else { (0, chunk) };
        Piece { member: self.parity_member(stripe) as usize, sector: stripe * chunk + offset, sectors }
    }

    /// The reads for rebuilding that parity: the stripe's data at the parity's offsets, except the data being written.
    pub fn rest(&self, start: u64, end: u64) -> impl Iterator<Item = Piece> + use<> {
        let layout = *self;
        let parity = self.parity(start, end);
        let offset = parity.sector % self.chunk_sectors;
        let first = self.stripe_of(start) * self.stripe_sectors();
        (0..self.data()).flat_map(move |n| {
            let (low, high) = {
                let chunk_start = first + n * layout.chunk_sectors + offset;
                (chunk_start, chunk_start + parity.sectors)
            };
            let before = (low, high.min(start.max(low)));
            let after = (low.max(end.min(high)), high);
            [before, after].into_iter().filter(|(a, b)| a < b).map(move |(a, b)| layout.piece(a, b - a))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: Layout = Layout { members: 4, chunk_sectors: 10 };

    #[test]
    fn the_layout_is_the_drawn_one() {
        let member = |chunk: u64| FOUR.piece(chunk * 10, 1).member;
        assert_eq!((0..9).map(member).collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1, 2, 3, 0]);
        assert_eq!((0..3).map(|s| FOUR.parity(s * 30, s * 30 + 1).member).collect::<Vec<_>>(), [3, 2, 1]);
    }

    #[test]
    fn what_a_member_holds_is_found_again() {
        for (start, end) in [(0, 240), (25, 45), (7, 8), (119, 121)] {
            let mut found: Vec<(u64, u64)> = FOUR
                .pieces(start, end)
                .flat_map(|p| FOUR.data_at(p.member, p.sector, p.sector + p.sectors))
                .collect();
            found.sort_unstable();
            assert_eq!((found[0].0, found[found.len() - 1].1), (start, end));
            assert!(found.windows(2).all(|pair| pair[0].1 == pair[1].0), "{found:?}");
        }
        let parity = FOUR.parity(0, 30);
        assert_eq!(FOUR.data_at(parity.member, parity.sector, parity.sector + 10).count(), 0);
        assert_eq!(FOUR.data_at(0, 5, 15).collect::<Vec<_>>(), [(5, 10), (40, 45)]);
    }

    #[test]
    fn a_request_is_cut_at_chunks() {
        let pieces: Vec<Piece> = FOUR.pieces(25, 45).collect();
        let piece = |member, sector, sectors| Piece { member, sector, sectors };
        assert_eq!(pieces, [piece(2, 5, 5), piece(3, 10, 10), piece(0, 10, 5)]);
    }

    #[test]
    fn parity_covers_what_is_written_and_the_rest_is_the_rest() {
        assert_eq!(FOUR.parity(12, 15), Piece { member: 3, sector: 2, sectors: 3 });
        assert_eq!(FOUR.parity(8, 12), Piece { member: 3, sector: 0, sectors: 10 });
        let rest: Vec<Piece> = FOUR.rest(12, 15).collect();
        assert_eq!(rest.len(), 2, "the other two chunks, three sectors each: {rest:?}");
        assert!(rest.iter().all(|p| p.sectors == 3 && p.sector == 2));
        let rest: u64 = FOUR.rest(8, 22).map(|p| p.sectors).sum();
        assert_eq!(rest, 30 - 14);
        assert_eq!(FOUR.rest(0, 30).count(), 0);
    }
}
