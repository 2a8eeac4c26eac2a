//! One arm and its platters: its operations and the choice of the next one.

use super::geometry::Geometry;
use super::oldest::Oldest;
use super::seek::SeekCurve;
use super::segments::Segments;
use super::shingle::{Run, Shingle, Way};
use crate::counters::Counters;
use crate::dirty::{Choice, Dirty, Extent};
use crate::medium::{Done, Medium, Motion, Read, What, Work};
use crate::mix::mix;
use crate::sample::Sample;
use crate::spec::HardSpec;

/// Number of writes ahead in the arm's sweep whose positioning times are compared. Comparing more rarely finds a nearer one,
/// and each costs guest instructions.
const WRITES_COMPARED: usize = 8;

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Working {
        done: Done,
        ends_ns: u64,
        /// The read buffer that this operation fills, and the sector at which the filling ends.
        fills: Option<(usize, u64)>,
    },
    /// Read-ahead: sector `from` began to pass at `began_ns`.
    Ahead {
        segment: usize,
        from: u64,
        began_ns: u64,
        until: u64,
        ends_ns: u64,
    },
}

/// A possible next operation, with the time until its data begins to pass.
#[derive(Clone, Copy)]
struct Candidate {
    index: usize,
    positioning: Motion,
}

#[derive(Clone, Debug)]
pub(crate) struct Hard {
    geometry: Geometry,
    curve: SeekCurve,
    sectors: u64,
    head_switch_ns: u64,
    write_settle_ns: u64,
    age_limit_ns: u64,
    /// The firmware chooses the next request among this many of the oldest requests; `None` means among all requests.
    among: Option<usize>,
    /// Sectors of a physical block, which is written at once.
    block_sectors: u64,
    /// The platters' angle at time zero, as time within a turn.
    phase_ns: u64,

    segments: Segments,
    state: State,
    /// The buffer to continue filling while no request waits.
    ahead: Option<(usize, u64)>,
    /// Position of the arm.
    cylinder: u64,
    head: u64,
    /// Position of the sweep over the writes.
    swept: u64,
    /// The sectors of the current or latest write.
    writes: Option<(u64, u64)>,
    shingle: Option<Shingle>,
    /// Time at which the arm became idle.
    idle_since_ns: u64,
    runs: Vec<Run>,
    counters: Counters,
}

impl Hard {
    pub fn new(spec: &HardSpec, sample: &Sample) -> Self {
        let curve = SeekCurve::new(&spec.seek, spec.cylinders())
            .expect("a checked disk file always gives a seek curve");
        let cylinder_skew_ns = curve.track_ns().max(spec.head_switch_ns);
        let geometry = Geometry::new(
            spec.media_sectors(),
            spec.shingle.map_or(0, |s| s.log_sectors),
            spec.heads,
            &spec.zones,
            spec.turn_ns,
            spec.head_switch_ns,
            cylinder_skew_ns,
        );
        Hard {
            phase_ns: mix(sample.seed) % spec.turn_ns,
            geometry,
            curve,
            sectors: spec.sectors,
            head_switch_ns: spec.head_switch_ns,
            write_settle_ns: spec.write_settle_ns,
            age_limit_ns: spec.front.age_limit_ns,
            among: spec.among.map(|among| among as usize),
            block_sectors: u64::from(spec.physical_block / 512),
            segments: Segments::new(spec.read_segments, spec.read_segment_sectors),
            state: State::Idle,
            ahead: None,
            cylinder: 0,
            head: 0,
            swept: 0,
            writes: None,
            shingle: spec.shingle.as_ref().map(|s| Shingle::new(s, spec.sectors)),
            idle_since_ns: 0,
            runs: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Time from now until the sector begins to pass under the head.
    fn positioning(&self, now_ns: u64, sector: u64, writes: bool) -> Motion {
        let place = self.geometry.place(sector);
        let distance = place.cylinder.abs_diff(self.cylinder);
        let seek_ns = match distance {
            0 if place.head == self.head => 0,
            0 => self.head_switch_ns,
            // Part of the skew, for writes too.
            1 => self.curve.track_ns().max(self.head_switch_ns),
            _ if writes => self.curve.ns(distance).max(self.head_switch_ns) + self.write_settle_ns,
            _ => self.curve.ns(distance).max(self.head_switch_ns),
        };
        let turn_ns = self.geometry.turn_ns();
        let under_head_ns = (now_ns + seek_ns + self.phase_ns) % turn_ns;
        let rotation_ns = (self.geometry.angle_ns(&place) + turn_ns - under_head_ns) % turn_ns;
        Motion { seek_ns, rotation_ns, transfer_ns: 0 }
    }

    /// The first sector of a read that is not in a buffer.
    fn missing(&self, read: &Read) -> u64 {
        match self.segments.reaching(read.sector) {
            Some(segment) => self.segments.get(segment).end.clamp(read.sector, read.end()),
            None => read.sector,
        }
    }

    /// Physical sector: the sector itself, or its place in a shingled disk's log.
    fn locate(&self, sector: u64) -> u64 {
        self.shingle.as_ref().map_or(sector, |s| s.locate(sector))
    }

    /// Whether the current read-ahead will reach this read.
    fn streams(&self, read: &Read) -> bool {
        match self.state {
            State::Ahead { segment, until, .. } => {
                let comes_by = self.segments.get(segment).start <= read.sector && read.sector <= until;
                comes_by && (self.shingle.is_none() || read.end() <= until)
            }
            _ => false,
        }
    }

    /// The read with the shortest positioning time, or the oldest one if it exceeds the age limit.
    fn best_read(&self, now_ns: u64, reads: &[Read]) -> Option<Candidate> {
        let candidate = |index: usize, read: &Read| {
            let positioning = if self.streams(read) {
                Motion::default()
            } else {
                self.positioning(now_ns, self.locate(self.missing(read)), false)
            };
            Candidate { index, positioning }
        };
        let all = || reads.iter().enumerate();
        let aged = all().filter(|(_, r)| r.since_ns + self.age_limit_ns <= now_ns);
        if let Some((index, read)) = aged.min_by_key(|(_, r)| r.since_ns) {
            return Some(candidate(index, read));
        }
        if let Some(among) = self.among {
            let oldest = Oldest::of(all().map(|(index, read)| (read.since_ns, index)), among);
            let candidates = oldest.indices().map(|index| candidate(index, &reads[index]));
            return candidates.min_by_key(|c| c.positioning.total_ns());
        }
        all().map(|(i, r)| candidate(i, r)).min_by_key(|c| c.positioning.total_ns())
    }

    fn best_write(&self, now_ns: u64, dirty: &Dirty, choice: Choice) -> Option<Candidate> {
        let candidate = |(index, e): (usize, &Extent)| {
            let goes_to = |shingle: &Shingle| shingle.target(e.start, e.end - e.start);
            let sector = self.shingle.as_ref().map_or(e.start, goes_to);
            Candidate { index, positioning: self.positioning(now_ns, sector, true) }
        };
        let sweep = dirty.sweep(self.swept, choice);
        if let Some(among) = self.among {
            let oldest = Oldest::of(sweep.map(|(index, e)| (e.born_ns, index)), among);
            let candidates = oldest.indices().map(|index| candidate((index, &dirty.extents()[index])));
            return candidates.min_by_key(|c| c.positioning.total_ns());
        }
        sweep.take(WRITES_COMPARED).map(candidate).min_by_key(|c| c.positioning.total_ns())
    }

    /// Whether a read precedes an awaited write: by age if either exceeds the age limit, else by positioning time.
    fn read_goes_first(&self, now_ns: u64, read: (&Read, &Candidate), write: (u64, &Candidate)) -> bool {
        let is_aged = |since_ns: u64| since_ns + self.age_limit_ns <= now_ns;
        if is_aged(read.0.since_ns) || is_aged(write.0) {
            return read.0.since_ns <= write.0;
        }
        read.1.positioning.total_ns() <= write.1.positioning.total_ns()
    }

    fn begin_read(&mut self, now_ns: u64, read: Read, candidate: Candidate) {
        let end = read.end();
        // Stop before a buffer is reassigned; otherwise data of the old read-ahead would pass for this read's data.
        if !self.streams(&read) {
            self.stop_ahead(now_ns);
        }
        let segment = match self.state {
            State::Ahead { segment, .. } => segment,
            _ => match self.segments.reaching(read.sector) {
                Some(known) => known,
                None => self.segments.replace(read.sector),
            },
        };
        let motion = match self.state {
            State::Ahead { from, began_ns, .. } => {
                self.counters.stream_hits += 1;
                self.counters.media_sectors_read += end.saturating_sub(from);
                let ends_ns = if end > from { began_ns + self.geometry.stream_ns(from, end) } else { now_ns };
                self.arm_at(end - 1);
                Motion { transfer_ns: ends_ns.saturating_sub(now_ns), ..Motion::default() }
            }
            _ => self.read_missing(now_ns, self.missing(&read), end, candidate),
        };
        self.segments.touch(segment);
        self.counters.media_reads += 1;
        self.work(now_ns, What::Read { slot: read.slot }, motion, Some((segment, end)));
    }

    fn read_missing(&mut self, now_ns: u64, first: u64, end: u64, candidate: Candidate) -> Motion {
        self.counters.media_sectors_read += end - first;
        if first == end {
            return Motion::default();
        }
        let mut runs = std::mem::take(&mut self.runs);
        match &self.shingle {
            Some(shingle) if shingle.next_logged(first) < end => shingle.runs(first, end, &mut runs),
            _ => {
                self.arm_at(end - 1);
                let transfer_ns = self.geometry.stream_ns(first, end);
                self.runs = runs;
                return Motion { transfer_ns, ..candidate.positioning };
            }
        }
        let motion = self.visit(now_ns, &runs, false);
        runs.clear();
        self.runs = runs;
        motion
    }

    /// Seeks to each run in turn and transfers it.
    fn visit(&mut self, now_ns: u64, runs: &[Run], writes: bool) -> Motion {
        let mut sum = Motion::default();
        for run in runs {
            let way = self.positioning(now_ns + sum.total_ns(), run.at, writes);
            sum.seek_ns += way.seek_ns;
            sum.rotation_ns += way.rotation_ns;
            sum.transfer_ns += self.geometry.stream_ns(run.at, run.at + run.sectors);
            self.arm_at(run.at + run.sectors - 1);
        }
        sum
    }

    /// Writes an extent from its start, at most one track or one piece.
    fn begin_write(&mut self, now_ns: u64, dirty: &mut Dirty, candidate: Candidate) {
        self.stop_ahead(now_ns);
        let extent = dirty.extents()[candidate.index];
        let most = self.geometry.track_sectors(extent.start).min(dirty.piece());
        let limit = self.shingle.as_ref().map_or(u64::MAX, |s| s.limit(extent.start));
        let end = extent.end.min((extent.start + most).next_multiple_of(self.block_sectors)).min(limit);
        let run_sectors = extent.end - extent.start;
        let motion = match self.shingle.as_mut().map(|s| s.write(extent.start, end, run_sectors)) {
            Some(Way::Full) => return self.begin_clean(now_ns),
            Some(Way::Log { at }) => self.visit(now_ns, &[Run { at, sectors: end - extent.start }], true),
            Some(Way::Direct { torn: Some((from, to)) }) => {
                let torn = Run { at: from, sectors: to - from };
                let own = Run { at: extent.start, sectors: end - extent.start };
                self.visit(now_ns, &[torn, torn, own], true)
            }
            Some(Way::Direct { torn: None }) | None => {
                self.arm_at(end - 1);
                let transfer_ns = self.geometry.stream_ns(extent.start, end);
                Motion { transfer_ns, ..candidate.positioning }
            }
        };
        let motion =
            Motion { rotation_ns: motion.rotation_ns + self.partial_ns(extent.start, end), ..motion };
        let flight = dirty.launch(candidate.index, extent.start, end);
        self.counters.media_writes += 1;
        self.counters.media_sectors_written += end - extent.start;
        self.swept = end;
        self.writes = Some((extent.start, end));
        self.work(now_ns, What::Written { flight: flight.id }, motion, None);
    }

    /// A partial block is read first; the block passes again one turn later.
    fn partial_ns(&self, start: u64, end: u64) -> u64 {
        let is_whole = start.is_multiple_of(self.block_sectors) && end.is_multiple_of(self.block_sectors);
        if is_whole { 0 } else { self.geometry.turn_ns() }
    }

    /// Cleans a band: reads it and its parts in the log, then rewrites it.
    fn begin_clean(&mut self, now_ns: u64) {
        let mut runs = std::mem::take(&mut self.runs);
        let band = self.shingle.as_mut().and_then(|s| s.clean(&mut runs));
        if let Some((start, end)) = band {
            let whole = Run { at: start, sectors: end - start };
            let read_ns = self.visit(now_ns, &[whole], false);
            let merged_ns = self.visit(now_ns + read_ns.total_ns(), &runs, false);
            let before_ns = read_ns.total_ns() + merged_ns.total_ns();
            let written_ns = self.visit(now_ns + before_ns, &[whole], true);
            let motion = read_ns.plus(merged_ns).plus(written_ns);
            self.counters.bands_rewritten += 1;
            self.work(now_ns, What::Background, motion, None);
        }
        runs.clear();
        self.runs = runs;
    }

    /// Starts background work, when no request waits and the arm does not read ahead.
    fn in_the_background(&mut self, now_ns: u64, dirty: &mut Dirty) {
        if let Some(write) = self.best_write(now_ns, dirty, Choice::Any) {
            self.begin_write(now_ns, dirty, write);
        } else if self.clean_ns().is_some_and(|at| at <= now_ns) {
            self.begin_clean(now_ns);
        }
    }

    /// Time at which an idle drive begins cleaning.
    fn clean_ns(&self) -> Option<u64> {
        let shingle = self.shingle.as_ref().filter(|s| !s.is_clean())?;
        Some(self.idle_since_ns + shingle.idle_ns)
    }

    /// Begins an operation; the arm's position is set to where it ends.
    fn work(&mut self, now_ns: u64, what: What, motion: Motion, fills: Option<(usize, u64)>) {
        self.counters.seek_ns += motion.seek_ns;
        self.counters.rotation_ns += motion.rotation_ns;
        self.counters.transfer_ns += motion.transfer_ns;
        let done = Done { what, began_ns: now_ns, motion, streamed_ns: motion.transfer_ns };
        self.state = State::Working { done, ends_ns: now_ns + motion.total_ns(), fills };
    }

    fn begin_ahead(&mut self, now_ns: u64) -> bool {
        let Some((segment, until)) = self.ahead.take() else { return false };
        let from = self.segments.get(segment).end;
        if from >= until {
            return false;
        }
        let positioning = self.positioning(now_ns, from, false);
        let began_ns = now_ns + positioning.total_ns();
        let ends_ns = began_ns + self.geometry.stream_ns(from, until);
        self.counters.seek_ns += positioning.seek_ns;
        self.counters.rotation_ns += positioning.rotation_ns;
        self.arm_at(from);
        self.state = State::Ahead { segment, from, began_ns, until, ends_ns };
        true
    }

    /// Adds the sectors read ahead so far to the buffer.
    fn note_ahead(&mut self, now_ns: u64) {
        let State::Ahead { segment, from, began_ns, .. } = &mut self.state else { return };
        if now_ns <= *began_ns {
            return;
        }
        let (next, begins_ns) = self.geometry.streamed(*from, now_ns - *began_ns);
        self.counters.sectors_read_ahead += next - *from;
        self.counters.transfer_ns += begins_ns;
        self.segments.grow(*segment, next);
        (*from, *began_ns) = (next, *began_ns + begins_ns);
    }

    fn stop_ahead(&mut self, now_ns: u64) {
        self.note_ahead(now_ns);
        if let State::Ahead { from, .. } = self.state {
            self.arm_at(from.min(self.sectors - 1));
            self.state = State::Idle;
        }
    }

    fn arm_at(&mut self, sector: u64) {
        let place = self.geometry.place(sector);
        (self.cylinder, self.head) = (place.cylinder, place.head);
    }

    /// The host has consumed a buffer up to `end`, so read-ahead has room to continue.
    fn read_on(&mut self, segment: usize, end: u64) {
        let logged = self.shingle.as_ref().map_or(u64::MAX, |s| s.next_logged(end));
        let wanted = (end + self.segments.sectors()).min(self.sectors).min(logged);
        match &mut self.state {
            State::Ahead { segment: own, from, began_ns, until, ends_ns } if *own == segment => {
                if wanted > *until {
                    *until = wanted;
                    *ends_ns = *began_ns + self.geometry.stream_ns(*from, wanted);
                }
            }
            _ => self.ahead = Some((segment, wanted)),
        }
    }
}

impl Medium for Hard {
    fn is_buffered(&mut self, now_ns: u64, sector: u64, sectors: u32) -> bool {
        self.note_ahead(now_ns);
        let end = sector + u64::from(sectors);
        let Some(segment) = self.segments.reaching(sector) else { return false };
        if self.segments.get(segment).end < end {
            return false;
        }
        self.segments.touch(segment);
        self.read_on(segment, end);
        true
    }

    fn overwrite(&mut self, now_ns: u64, sector: u64, sectors: u32) {
        let end = sector + u64::from(sectors);
        self.note_ahead(now_ns);
        if let State::Ahead { segment, until, .. } = self.state
            && self.segments.get(segment).start < end
            && sector < until
        {
            self.stop_ahead(now_ns);
        }
        self.ahead = self.ahead.filter(|(segment, until)| {
            let start = self.segments.get(*segment).start;
            end <= start || *until <= sector
        });
        self.segments.overwrite(sector, end);
    }

    fn discard(&mut self, _now_ns: u64, _sector: u64, _sectors: u32) {}

    fn start(&mut self, now_ns: u64, work: &mut Work<'_>) {
        if matches!(self.state, State::Working { .. }) {
            return;
        }
        self.note_ahead(now_ns);
        let read = self.best_read(now_ns, work.reads);
        let awaited = work.awaited.and_then(|(choice, since_ns)| {
            self.best_write(now_ns, work.dirty, choice).map(|candidate| (since_ns, candidate))
        });
        match (read, awaited) {
            (Some(read), Some((since_ns, write)))
                if !self.read_goes_first(now_ns, (&work.reads[read.index], &read), (since_ns, &write)) =>
            {
                self.begin_write(now_ns, work.dirty, write);
            }
            (Some(read), _) => {
                let chosen = work.reads.swap_remove(read.index);
                self.begin_read(now_ns, chosen, read);
            }
            (None, Some((_, write))) => self.begin_write(now_ns, work.dirty, write),
            (None, None) => {
                if matches!(self.state, State::Idle) && !self.begin_ahead(now_ns) {
                    self.in_the_background(now_ns, work.dirty);
                }
            }
        }
    }

    fn flush(&mut self, _now_ns: u64, _slot: usize) -> bool {
        true
    }

    fn next_event_ns(&self) -> Option<u64> {
        match self.state {
            State::Idle => self.clean_ns(),
            State::Working { ends_ns, .. } | State::Ahead { ends_ns, .. } => Some(ends_ns),
        }
    }

    fn finish(&mut self, now_ns: u64) -> Option<Done> {
        match self.state {
            State::Working { done, ends_ns, fills } if ends_ns <= now_ns => {
                self.state = State::Idle;
                if done.what != What::Background {
                    self.idle_since_ns = now_ns;
                }
                if let Some((segment, end)) = fills {
                    self.segments.grow(segment, end);
                    self.read_on(segment, end);
                }
                Some(done)
            }
            State::Ahead { ends_ns, .. } if ends_ns <= now_ns => {
                self.stop_ahead(now_ns);
                None
            }
            _ => None,
        }
    }

    /// The sectors that have passed under the head, in whole blocks. A shingled disk registers a write only when it is complete.
    fn written_by(&self, now_ns: u64) -> Option<(u64, u64)> {
        let State::Working { done: Done { what: What::Written { flight }, motion, .. }, ends_ns, .. } =
            self.state
        else {
            return None;
        };
        let (start, end) = self.writes.filter(|_| self.shingle.is_none())?;
        let passed_ns = now_ns.checked_sub(ends_ns - motion.transfer_ns)?;
        let (next, _) = self.geometry.streamed(start, passed_ns);
        let next = (next - next % self.block_sectors).clamp(start, end);
        Some((flight, next - start))
    }

    fn count(&self, now_ns: u64, counters: &mut Counters) {
        counters.add_mechanism(&self.counters);
        counters.stream_hits += self.counters.stream_hits;
        let busy_ns = self.counters.seek_ns + self.counters.rotation_ns + self.counters.transfer_ns;
        counters.idle_ns += now_ns.saturating_sub(busy_ns);
    }
}
