//! Position of a sector: zone, cylinder, head, angle.
//!
//! Sectors are numbered from the outside: around a track, then the next head of the cylinder, then the next cylinder. All
//! zones have the same number of cylinders. Each track starts later than the previous one by the skew, the time of a head or
//! cylinder switch, so that sequential reads lose no turn.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Zone {
    first_sector: u64,
    first_cylinder: u64,
    /// Sectors per track.
    spt: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    zones: Vec<Zone>,
    sectors: u64,
    /// This many of the last sectors lie at the outer edge, before the first: a shingled disk's log.
    outside: u64,
    heads: u64,
    /// Time of one turn.
    turn_ns: u64,
    head_skew_ns: u64,
    cylinder_skew_ns: u64,
}

/// Position of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub cylinder: u64,
    pub head: u64,
    /// Sectors per track at this position.
    spt: u64,
    /// Index of the sector on its track.
    index: u64,
    /// Angle of the track's first sector, as time within a turn.
    begins_ns: u64,
}

impl Geometry {
    pub fn new(
        sectors: u64,
        outside: u64,
        heads: u64,
        zones: &[u64],
        turn_ns: u64,
        head_skew_ns: u64,
        cylinder_skew_ns: u64,
    ) -> Self {
        let per_zone = cylinders_per_zone(sectors, heads, zones);
        let mut first_sector = 0;
        let layout = (0..).zip(zones).map(|(n, spt)| {
            let zone = Zone { first_sector, first_cylinder: n * per_zone, spt: *spt };
            first_sector += per_zone * heads * spt;
            zone
        });
        let zones = layout.collect();
        Geometry { zones, sectors, outside, heads, turn_ns, head_skew_ns, cylinder_skew_ns }
    }

    pub fn turn_ns(&self) -> u64 {
        self.turn_ns
    }

    /// Sectors per track at this sector.
    pub fn track_sectors(&self, sector: u64) -> u64 {
        self.zone(self.outside_in(sector)).spt
    }

    pub fn place(&self, sector: u64) -> Place {
        let sector = self.outside_in(sector);
        let zone = self.zone(sector);
        let inside = sector - zone.first_sector;
        let (track, index) = (inside / zone.spt, inside % zone.spt);
        let (cylinder, head) = (zone.first_cylinder + track / self.heads, track % self.heads);
        let switches = cylinder * (self.heads - 1) + head;
        let skew_ns = switches * self.head_skew_ns + cylinder * self.cylinder_skew_ns;
        Place { cylinder, head, spt: zone.spt, index, begins_ns: skew_ns % self.turn_ns }
    }

    /// Angle of the sector's start, as time within a turn.
    pub fn angle_ns(&self, place: &Place) -> u64 {
        (place.begins_ns + self.offset_ns(place.spt, place.index)) % self.turn_ns
    }

    /// Time from the start of sector `from` to the end of sector `to` − 1 under the head, track switches included.
    pub fn stream_ns(&self, from: u64, to: u64) -> u64 {
        let mut place = self.place(from);
        let mut left = to - from;
        let mut ns = 0;
        while left > place.spt - place.index {
            left -= place.spt - place.index;
            ns += self.turn_ns - self.offset_ns(place.spt, place.index) + self.skew_after(&place);
            place = self.place(to - left);
        }
        ns + self.offset_ns(place.spt, place.index + left) - self.offset_ns(place.spt, place.index)
    }

    /// For a head that began sector `from` `elapsed_ns` ago: the first sector that has not passed completely, and its start time
    /// relative to the same origin. During a track switch that time may lie in the future.
    pub fn streamed(&self, from: u64, elapsed_ns: u64) -> (u64, u64) {
        let mut place = self.place(from);
        let mut sector = from;
        let mut begins_ns = 0;
        loop {
            let here_ns = self.offset_ns(place.spt, place.index);
            let rest_ns = self.turn_ns - here_ns;
            let inside_ns = elapsed_ns.saturating_sub(begins_ns);
            if inside_ns < rest_ns {
                // The largest k with ⌊k·turn/spt⌋ ≤ x is ⌈(x+1)·spt/turn⌉ − 1.
                let passed = ((here_ns + inside_ns + 1) * place.spt).div_ceil(self.turn_ns) - 1;
                let passed = passed.max(place.index);
                let skip_ns = self.offset_ns(place.spt, passed) - here_ns;
                return (sector + passed - place.index, begins_ns + skip_ns);
            }
            begins_ns += rest_ns + self.skew_after(&place);
            sector += place.spt - place.index;
            place = self.place(sector);
        }
    }

    /// The sector's number counted from the outer edge.
    fn outside_in(&self, sector: u64) -> u64 {
        let moved = sector + self.outside;
        if moved < self.sectors { moved } else { moved - self.sectors }
    }

    fn zone(&self, sector: u64) -> &Zone {
        let after = self.zones.partition_point(|z| z.first_sector <= sector);
        &self.zones[after - 1]
    }

    /// Time from a track's start to its sector `index`. Differences of these add up without rounding error.
    fn offset_ns(&self, spt: u64, index: u64) -> u64 {
        index * self.turn_ns / spt
    }

    fn skew_after(&self, place: &Place) -> u64 {
        if place.head + 1 == self.heads { self.cylinder_skew_ns } else { self.head_skew_ns }
    }
}

/// Cylinders per zone that hold all sectors, equal for all zones.
pub(crate) fn cylinders_per_zone(sectors: u64, heads: u64, zones: &[u64]) -> u64 {
    sectors.div_ceil(heads * zones.iter().sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two zones of 10 cylinders, two heads: 10·2·(100+50) = 3000 sectors.
    fn small() -> Geometry {
        Geometry::new(3000, 0, 2, &[100, 50], 1_000_003, 70_000, 90_000)
    }

    #[test]
    fn sectors_lie_around_a_track_then_down_the_heads_then_inwards() {
        let g = small();
        let at = |s| {
            let p = g.place(s);
            (p.cylinder, p.head, p.index)
        };
        assert_eq!(at(0), (0, 0, 0));
        assert_eq!(at(99), (0, 0, 99));
        assert_eq!(at(100), (0, 1, 0));
        assert_eq!(at(200), (1, 0, 0));
        assert_eq!(at(1999), (9, 1, 99));
        assert_eq!(at(2000), (10, 0, 0));
        assert_eq!(at(2999), (19, 1, 49));
    }

    #[test]
    fn the_last_sectors_can_lie_outside() {
        let g = Geometry::new(3000, 1000, 2, &[100, 50], 1_000_003, 70_000, 90_000);
        let at = |s| (g.place(s).cylinder, g.place(s).index);
        assert_eq!((at(0), at(1000), at(2000), at(2999)), ((5, 0), (10, 0), (0, 0), (4, 99)));
    }

    /// A whole cylinder takes two turns and one head switch, without the cylinder switch at its end.
    #[test]
    fn a_stream_turns_once_a_track_and_loses_the_skew() {
        let g = small();
        assert_eq!(g.stream_ns(0, 100), 1_000_003);
        assert_eq!(g.stream_ns(0, 200), 2 * 1_000_003 + 70_000);
        assert_eq!(g.stream_ns(0, 201), 2 * 1_000_003 + 70_000 + 90_000 + 10_000);
    }

    #[test]
    fn what_has_streamed_is_what_the_time_allows() {
        let g = small();
        for from in [0, 1, 99, 100, 1950, 2030] {
            for to in from + 1..from + 250 {
                let ns = g.stream_ns(from, to);
                assert_eq!(g.streamed(from, ns).0, to, "from {from}");
                assert_eq!(g.streamed(from, ns - 1).0, to - 1, "from {from}");
            }
        }
    }

    /// The head reaches each sector exactly when it passes, so streams can be split anywhere.
    #[test]
    fn angles_follow_the_stream() {
        let g = small();
        let start = g.angle_ns(&g.place(37));
        for to in 38..2500 {
            let (next, begins_ns) = g.streamed(37, g.stream_ns(37, to));
            assert_eq!(next, to);
            assert_eq!((start + begins_ns) % g.turn_ns(), g.angle_ns(&g.place(to)), "sector {to}");
        }
    }
}
