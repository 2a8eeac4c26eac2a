//! The controller: splits reads and dirty stripes into member requests and waits for them.

use std::collections::VecDeque;

use super::layout::{Layout, Piece};
use crate::counters::Counters;
use crate::dirty::{Choice, Dirty, Extent};
use crate::front::Front;
use crate::hard::Hard;
use crate::medium::{Done, Medium, Motion, What, Work};
use crate::passage::{Passage, Stage};
use crate::request::{Completion, Op, Request};
use crate::sample::Sample;
use crate::spec::RaidSpec;

/// An operation that involves several members.
#[derive(Clone, Copy, Debug)]
struct Job {
    what: What,
    began_ns: u64,
    motion: Motion,
    /// Requests to members that have not completed.
    pending: u32,
    /// The extent to write once old data is read.
    then: Option<Extent>,
    /// The stripe that this operation locks.
    stripe: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Raid {
    layout: Layout,
    members: Vec<Front<Hard>>,
    jobs: Vec<Option<Job>>,
    /// Stripes being written.
    busy: Vec<u64>,
    stripes_at_once: usize,
    gather_ns: u64,
    /// A battery protects the controller's cache but not the members' caches, so destaged data must be on the medium.
    forces: bool,
    /// Time at which a partial stripe has waited long enough for the rest of its data.
    wake_ns: Option<u64>,
    /// End of the last stripe written; the sweep continues from here.
    swept: u64,
    ended: VecDeque<Done>,
    completions: Vec<Completion>,
    /// Events that the members logged, in sectors of the members.
    noted: Vec<Passage>,
    counters: Counters,
}

impl Raid {
    pub fn new(spec: &RaidSpec, sample: &Sample) -> Self {
        let member = |n: u64| {
            let own = sample.of_member(n);
            Front::new(&spec.member.front, Hard::new(&spec.member, &own))
        };
        let most = (spec.front.queue_depth + spec.stripes_at_once) as usize;
        Raid {
            layout: Layout { members: spec.members, chunk_sectors: spec.chunk_sectors },
            members: (1..=spec.members).map(member).collect(),
            jobs: vec![None; 2 * most],
            busy: Vec::with_capacity(spec.stripes_at_once as usize),
            stripes_at_once: spec.stripes_at_once as usize,
            gather_ns: spec.gather_ns,
            forces: spec.front.way.protected,
            wake_ns: None,
            swept: 0,
            ended: VecDeque::with_capacity(most),
            completions: Vec::with_capacity(most),
            noted: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// Whether a member's volatile cache holds any of these sectors.
    fn member_holds(&self, start: u64, end: u64) -> bool {
        let holds = |p: Piece| self.members[p.member].is_volatile(p.sector, p.sector + p.sectors);
        self.layout.pieces(start, end).any(holds)
    }

    fn begin(&mut self, now_ns: u64, what: What, stripe: Option<u64>) -> usize {
        let job = Job { what, began_ns: now_ns, motion: Motion::default(), pending: 0, then: None, stripe };
        match self.jobs.iter().position(Option::is_none) {
            Some(free) => {
                self.jobs[free] = Some(job);
                free
            }
            None => {
                self.jobs.push(Some(job));
                self.jobs.len() - 1
            }
        }
    }

    /// Sends a member its part of a job.
    fn ask(&mut self, now_ns: u64, job: usize, op: Op, fua: bool, piece: Piece) {
        match op {
            Op::Read => self.counters.member_reads += 1,
            Op::Write => self.counters.member_writes += 1,
            Op::Flush | Op::Discard => {}
        }
        let request =
            Request { tag: job as u64, op, fua, sector: piece.sector, sectors: piece.sectors as u32 };
        if let Some(job) = &mut self.jobs[job] {
            job.pending += 1;
        }
        self.members[piece.member].submit(now_ns, request);
    }

    fn begin_stripe(&mut self, now_ns: u64, dirty: &mut Dirty, index: usize, start: u64, end: u64) {
        let flight = dirty.launch(index, start, end);
        let stripe = self.layout.stripe_of(start);
        let job = self.begin(now_ns, What::Written { flight: flight.id }, Some(stripe));
        self.busy.push(stripe);
        self.swept = end;
        if end - start == self.layout.stripe_sectors() {
            self.counters.stripes_whole += 1;
            return self.write_stripe(now_ns, job, flight.extent);
        }
        self.counters.stripes_patched += 1;
        if let Some(job) = &mut self.jobs[job] {
            job.then = Some(flight.extent);
        }
        let patch = self.layout.pieces(start, end).count() + 1;
        if self.layout.rest(start, end).count() < patch {
            self.layout.rest(start, end).for_each(|piece| self.ask(now_ns, job, Op::Read, false, piece));
        } else {
            self.layout.pieces(start, end).for_each(|piece| self.ask(now_ns, job, Op::Read, false, piece));
            self.ask(now_ns, job, Op::Read, false, self.layout.parity(start, end));
        }
    }

    /// Writes data and parity, once everything for computing the parity is available.
    fn write_stripe(&mut self, now_ns: u64, job: usize, extent: Extent) {
        let Extent { start, end, urgent, .. } = extent;
        let urgent = urgent || self.forces;
        self.layout.pieces(start, end).for_each(|piece| self.ask(now_ns, job, Op::Write, urgent, piece));
        self.ask(now_ns, job, Op::Write, urgent, self.layout.parity(start, end));
    }

    fn completed(&mut self, now_ns: u64, completion: Completion) {
        let index = completion.tag as usize;
        let Some(job) = &mut self.jobs[index] else { return };
        job.pending -= 1;
        if job.pending > 0 {
            return;
        }
        // The job waited for the member that completed last, so its cost counts.
        job.motion.seek_ns += completion.cost.seek_ns;
        job.motion.rotation_ns += completion.cost.rotation_ns;
        job.motion.transfer_ns += completion.cost.transfer_ns;
        if let Some(extent) = job.then.take() {
            return self.write_stripe(now_ns, index, extent);
        }
        let Job { what, began_ns, motion, .. } = *job;
        self.ended.push_back(Done { what, began_ns, motion, streamed_ns: motion.transfer_ns });
        if let Some(stripe) = job.stripe {
            self.busy.retain(|busy| *busy != stripe);
        }
        self.jobs[index] = None;
    }

    /// The next part of a stripe to write: whole stripes first, then awaited parts or parts that stopped growing for
    /// `gather_ns`.
    fn choose(&mut self, now_ns: u64, dirty: &Dirty, awaited: Option<Choice>) -> Option<(usize, u64, u64)> {
        let stripe_sectors = self.layout.stripe_sectors();
        let mut part: Option<(usize, u64, u64, bool)> = None;
        let mut wake_ns = None;
        for (index, extent) in dirty.sweep(self.swept, Choice::Any) {
            let whole_start = extent.start.next_multiple_of(stripe_sectors);
            if whole_start + stripe_sectors <= extent.end && !self.is_busy(whole_start) {
                return Some((index, whole_start, whole_start + stripe_sectors));
            }
            let due_ns = extent.grown_ns + self.gather_ns;
            let is_awaited = awaited.is_some_and(|choice| choice.allows(extent));
            if !is_awaited && due_ns > now_ns {
                wake_ns = Some(wake_ns.map_or(due_ns, |w: u64| w.min(due_ns)));
            } else if part.is_none_or(|(_, _, _, first)| is_awaited && !first) && !self.is_busy(extent.start)
            {
                let stripe_end = (extent.start / stripe_sectors + 1) * stripe_sectors;
                part = Some((index, extent.start, extent.end.min(stripe_end), is_awaited));
            }
        }
        self.wake_ns = wake_ns;
        part.map(|(index, start, end, _)| (index, start, end))
    }

    fn is_busy(&self, sector: u64) -> bool {
        self.busy.contains(&self.layout.stripe_of(sector))
    }
}

impl Medium for Raid {
    fn is_buffered(&mut self, _now_ns: u64, _sector: u64, _sectors: u32) -> bool {
        false
    }

    fn overwrite(&mut self, _now_ns: u64, _sector: u64, _sectors: u32) {}

    fn discard(&mut self, _now_ns: u64, _sector: u64, _sectors: u32) {}

    fn start(&mut self, now_ns: u64, work: &mut Work<'_>) {
        for read in work.reads.drain(..) {
            let job = self.begin(now_ns, What::Read { slot: read.slot }, None);
            self.layout
                .pieces(read.sector, read.end())
                .for_each(|piece| self.ask(now_ns, job, Op::Read, false, piece));
        }
        let awaited = work.awaited.map(|(choice, _)| choice);
        self.wake_ns = None;
        while self.busy.len() < self.stripes_at_once
            && let Some((index, start, end)) = self.choose(now_ns, work.dirty, awaited)
        {
            self.begin_stripe(now_ns, work.dirty, index, start, end);
        }
    }

    fn flush(&mut self, now_ns: u64, slot: usize) -> bool {
        let job = self.begin(now_ns, What::Flushed { slot }, None);
        for member in 0..self.members.len() {
            self.ask(now_ns, job, Op::Flush, false, Piece { member, sector: 0, sectors: 0 });
        }
        false
    }

    fn next_event_ns(&self) -> Option<u64> {
        let members = self.members.iter().filter_map(Front::next_event_ns).min();
        members.into_iter().chain(self.wake_ns).min()
    }

    fn finish(&mut self, now_ns: u64) -> Option<Done> {
        let mut completions = std::mem::take(&mut self.completions);
        for member in &mut self.members {
            member.advance(now_ns, &mut completions);
        }
        for completion in completions.drain(..) {
            self.completed(now_ns, completion);
        }
        self.completions = completions;
        self.wake_ns = self.wake_ns.filter(|wake| *wake > now_ns);
        self.ended.pop_front()
    }

    fn is_volatile(&self, start: u64, end: u64) -> bool {
        self.member_holds(start, end)
    }

    fn watch(&mut self) -> bool {
        self.members.iter_mut().for_each(Front::watch);
        true
    }

    fn passages(&mut self, passages: &mut Vec<Passage>) {
        for (member, disk) in self.members.iter_mut().enumerate() {
            disk.passages(&mut self.noted);
            of_member(self.layout, member, &mut self.noted, passages);
        }
    }

    fn torn(&self, now_ns: u64, torn: &mut Vec<Passage>) {
        for (member, disk) in self.members.iter().enumerate() {
            let mut own = Vec::new();
            disk.torn(now_ns, &mut own);
            of_member(self.layout, member, &mut own, torn);
        }
    }

    fn count(&self, now_ns: u64, counters: &mut Counters) {
        counters.member_reads += self.counters.member_reads;
        counters.member_writes += self.counters.member_writes;
        counters.stripes_whole += self.counters.stripes_whole;
        counters.stripes_patched += self.counters.stripes_patched;
        for member in &self.members {
            counters.add_mechanism(&member.counters(now_ns));
        }
    }
}

/// Translates data landed on a member into sectors of the array.
fn of_member(layout: Layout, member: usize, own: &mut Vec<Passage>, passages: &mut Vec<Passage>) {
    let landed = own.drain(..).filter(|p| p.stage == Stage::Landed);
    let data = landed.flat_map(|p| layout.data_at(member, p.start, p.end));
    passages.extend(data.map(|(start, end)| Passage::landed(start, end)));
}
