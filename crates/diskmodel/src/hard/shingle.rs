//! Shingled tracks: writing a track requires rewriting all tracks behind it up to the end of its band.
//!
//! A drive-managed disk writes to a log (the persistent cache) and keeps a map of its contents. When idle or when the log is
//! full, it cleans: it reads a band, merges the band's parts from the log, and rewrites the band. Long runs from the start of
//! a band go there directly. A. Aghayev and P. Desnoyers found this by external measurement ("Skylight - a window on shingled
//! disk operation", FAST 2015).
//!
//! The log lies at the outer edge; its sectors are numbered after the disk's own.

use std::collections::BTreeMap;

use crate::spec::ShingleSpec;

/// Destination of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The write goes to its place in the band. `torn` is the rest of a band written earlier, which must be rewritten first.
    Direct { torn: Option<(u64, u64)> },
    /// The write goes to the log, starting at this sector.
    Log { at: u64 },
    /// The log is full: a band must be cleaned first.
    Full,
}

/// A run of sectors at its physical place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub at: u64,
    pub sectors: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Shingle {
    sectors: u64,
    band_sectors: u64,
    log_sectors: u64,
    entries: usize,
    stream_sectors: u64,
    pub idle_ns: u64,
    /// First sector → (end, place in the log).
    map: BTreeMap<u64, (u64, u64)>,
    used: u64,
    /// Next free position in the log, relative to its start.
    head: u64,
    /// The sector that continues a run of direct writes.
    stream: Option<u64>,
    /// Start of the search for the next band to clean; bands are cleaned in turn.
    cursor: u64,
}

impl Shingle {
    pub fn new(spec: &ShingleSpec, sectors: u64) -> Self {
        Shingle {
            sectors,
            band_sectors: spec.band_sectors,
            log_sectors: spec.log_sectors,
            entries: spec.log_entries as usize,
            stream_sectors: spec.stream_sectors,
            idle_ns: spec.idle_ns,
            map: BTreeMap::new(),
            used: 0,
            head: 0,
            stream: None,
            cursor: 0,
        }
    }

    pub fn is_clean(&self) -> bool {
        self.map.is_empty()
    }

    /// Physical place of a sector.
    pub fn locate(&self, sector: u64) -> u64 {
        match self.map.range(..=sector).next_back() {
            Some((start, (end, at))) if sector < *end => at + (sector - start),
            _ => sector,
        }
    }

    /// The first sector at or after this one that is in the log.
    pub fn next_logged(&self, sector: u64) -> u64 {
        if self.locate(sector) != sector {
            return sector;
        }
        self.map.range(sector..).next().map_or(u64::MAX, |(start, _)| *start)
    }

    /// Appends the physical runs that hold these sectors, in logical order.
    pub fn runs(&self, start: u64, end: u64, runs: &mut Vec<Run>) {
        let mut sector = start;
        while sector < end {
            let at = self.locate(sector);
            let to = if at == sector {
                self.next_logged(sector).min(end)
            } else {
                self.map.range(..=sector).next_back().map_or(end, |(_, (until, _))| (*until).min(end))
            };
            runs.push(Run { at, sectors: to - sector });
            sector = to;
        }
    }

    /// Physical start of a write, for a dirty run of `run_sectors` sectors.
    pub fn target(&self, start: u64, run_sectors: u64) -> u64 {
        if self.goes_direct(start, run_sectors) { start } else { self.sectors + self.head }
    }

    fn goes_direct(&self, start: u64, run_sectors: u64) -> bool {
        let begins = start.is_multiple_of(self.band_sectors) && run_sectors >= self.stream_sectors;
        begins || self.stream == Some(start)
    }

    /// Decides and records the destination of `start..end`, part of a dirty run of `run_sectors` sectors.
    pub fn write(&mut self, start: u64, end: u64, run_sectors: u64) -> Way {
        debug_assert!(start < end && end <= self.sectors, "{start}..{end} lies on the disk");
        if self.goes_direct(start, run_sectors) {
            let torn = self.stream.filter(|next| *next != start).and_then(|next| {
                let band_end = self.band(next).1;
                (!next.is_multiple_of(self.band_sectors) && next < band_end).then_some((next, band_end))
            });
            self.forget(start, end);
            self.stream = Some(end).filter(|end| *end < self.sectors);
            return Way::Direct { torn };
        }
        if self.used + (end - start) > self.log_sectors || self.map.len() + 2 > self.entries {
            return Way::Full;
        }
        self.forget(start, end);
        if self.head + (end - start) > self.log_sectors {
            self.head = 0;
        }
        let at = self.sectors + self.head;
        self.head += end - start;
        self.used += end - start;
        self.map.insert(start, (end, at));
        Way::Log { at }
    }

    /// Maximum end of one write from this sector: within its band, and short enough for an empty log.
    pub fn limit(&self, start: u64) -> u64 {
        self.band(start).1.min(start + self.log_sectors / 2)
    }

    /// The next band to clean. Appends its runs in the log to `runs` and removes them from the map.
    pub fn clean(&mut self, runs: &mut Vec<Run>) -> Option<(u64, u64)> {
        let logged = self.map.range(self.cursor..).next().or_else(|| self.map.iter().next());
        let (start, end) = self.band(*logged?.0);
        // A run may have begun in the previous band.
        self.runs(start, end, runs);
        runs.retain(|run| run.at >= self.sectors);
        runs.sort_unstable_by_key(|run| run.at);
        self.forget(start, end);
        self.cursor = end;
        Some((start, end))
    }

    /// First sector and end of the band that holds a sector.
    fn band(&self, sector: u64) -> (u64, u64) {
        let start = sector - sector % self.band_sectors;
        (start, (start + self.band_sectors).min(self.sectors))
    }

    /// Removes these sectors from the log's map.
    fn forget(&mut self, start: u64, end: u64) {
        while let Some((known, (until, at))) =
            self.map.range(..end).next_back().map(|(s, e)| (*s, *e)).filter(|(_, (until, _))| *until > start)
        {
            self.map.remove(&known);
            self.used -= until - known;
            if until > end {
                self.map.insert(end, (until, at + (end - known)));
                self.used += until - end;
            }
            if known < start {
                self.map.insert(known, (start, at));
                self.used += start - known;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten bands of 100 sectors, a log of 60 from sector 1000 on.
    fn shingle() -> Shingle {
        let spec = ShingleSpec {
            band_sectors: 100,
            log_sectors: 60,
            log_entries: 8,
            stream_sectors: 50,
            idle_ns: 1,
        };
        Shingle::new(&spec, 1000)
    }

    fn runs(shingle: &Shingle, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        shingle.runs(start, end, &mut runs);
        runs.iter().map(|r| (r.at, r.sectors)).collect()
    }

    #[test]
    fn what_was_logged_is_found_there() {
        let mut s = shingle();
        assert_eq!(s.write(110, 120, 10), Way::Log { at: 1000 });
        assert_eq!(s.write(115, 118, 3), Way::Log { at: 1010 });
        assert_eq!(runs(&s, 100, 130), [(100, 10), (1000, 5), (1010, 3), (1008, 2), (120, 10)]);
        assert_eq!((s.next_logged(0), s.next_logged(112), s.next_logged(120)), (110, 112, u64::MAX));
    }

    #[test]
    fn a_write_is_reached_where_it_goes() {
        let mut s = shingle();
        assert_eq!((s.target(110, 10), s.target(200, 50)), (1000, 200));
        s.write(110, 120, 10);
        s.write(200, 250, 50);
        assert_eq!((s.target(700, 8), s.target(250, 8)), (1010, 250));
    }

    #[test]
    fn a_full_log_needs_cleaning_and_a_clean_band_is_whole() {
        let mut s = shingle();
        s.write(110, 140, 30);
        s.write(510, 540, 30);
        assert_eq!(s.write(700, 708, 8), Way::Full);
        let mut logged = Vec::new();
        assert_eq!(s.clean(&mut logged), Some((100, 200)));
        assert_eq!(logged, [Run { at: 1000, sectors: 30 }]);
        assert_eq!(runs(&s, 100, 200), [(100, 100)]);
        assert_eq!(s.write(700, 708, 8), Way::Log { at: 1000 });
    }

    #[test]
    fn a_long_run_from_a_bands_beginning_goes_there() {
        let mut s = shingle();
        assert_eq!(s.write(200, 250, 50), Way::Direct { torn: None });
        assert_eq!(s.write(250, 280, 30), Way::Direct { torn: None });
        assert_eq!(s.write(600, 650, 50), Way::Direct { torn: Some((280, 300)) });
        assert!(s.is_clean());
    }
}
