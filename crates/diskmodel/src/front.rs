//! The parts common to every disk with a cache: command queue, interface, write cache, correct flush and FUA.
//!
//! ```text
//!             overhead            room in the cache        interface
//!  Starting ──────────▶ write: (Roomless ─▶) Receiving ───────────────▶ done, the data is dirty
//!                                                                  └──▶ FUA: Landing ─▶ done when none of it is dirty
//!                       read, in a buffer: Sending ───────────────────▶ done
//!                       read, not there:   Reading ─▶ Sending ────────▶ done; the interface overlaps the medium
//!                       flush:             Draining (─▶ Syncing) ─────▶ done when its epoch is on the medium
//! ```

use std::collections::VecDeque;

use crate::counters::Counters;
use crate::dirty::{Choice, Dirty};
use crate::medium::{Done, Medium, Motion, Read, What, Work};
use crate::passage::{Passage, Stage};
use crate::request::{Completion, Cost, Op, Request, wire_ns};
use crate::spec::FrontSpec;
use crate::waits::{Role, Waits};

/// The part of a streamed read that is still to be sent when the medium is done: 4 KiB.
const TAIL_SECTORS: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Free,
    Starting,
    Roomless,
    Receiving,
    Landing,
    Reading,
    Sending,
    Draining { epoch: u64 },
    Syncing,
}

impl Phase {
    /// Whether the phase may end when data reaches the medium.
    fn waits(self) -> bool {
        matches!(self, Phase::Roomless | Phase::Landing | Phase::Draining { .. })
    }
}

/// A slot of the command queue.
#[derive(Clone, Copy, Debug)]
struct Slot {
    phase: Phase,
    request: Request,
    role: Role,
    arrived_ns: u64,
    /// Time at which the phase began.
    since_ns: u64,
    /// Medium operations up to this time are already charged, so overlapping ones count once.
    charged_ns: u64,
    cost: Cost,
}

const FREE: Slot = Slot {
    phase: Phase::Free,
    request: Request { tag: 0, op: Op::Read, fua: false, sector: 0, sectors: 0 },
    role: Role::NONE,
    arrived_ns: 0,
    since_ns: 0,
    charged_ns: 0,
    cost: Cost {
        queue_ns: 0,
        overhead_ns: 0,
        seek_ns: 0,
        rotation_ns: 0,
        transfer_ns: 0,
        interface_ns: 0,
        from_cache: false,
    },
};

const NEVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Front<M> {
    medium: M,
    overhead_ns: u64,
    write_overhead_ns: u64,
    command_ns: u64,
    interface_kbps: u64,
    write_through: bool,
    /// Whether the cache survives a power failure.
    is_safe: bool,
    flush_queued: bool,
    /// Whether the queue holds a flush that must be alone in the queue.
    is_flushing: bool,
    age_limit_ns: u64,

    /// Requests beyond the queue depth, held by the host's driver.
    waiting: VecDeque<(u64, Request, Role)>,
    slots: Vec<Slot>,
    /// End of each slot's phase, for phases that end by themselves. A separate vector, because every event scans it.
    ends_ns: Vec<u64>,
    /// Slots that wait until data of the cache is written, and the slots among them that wait for room in the cache.
    waiters: usize,
    roomless: usize,
    /// Slots from this index on are free.
    used: usize,
    reads: Vec<Read>,
    dirty: Dirty,
    /// Whether data from this cache lands in a second cache.
    lands_in_a_cache: bool,
    controller_free_ns: u64,
    interface_free_ns: u64,
    done: VecDeque<Completion>,
    waits: Waits,
    counters: Counters,
}

impl<M: Medium> Front<M> {
    pub fn new(spec: &FrontSpec, medium: M) -> Self {
        let depth = spec.queue_depth as usize;
        Front {
            medium,
            overhead_ns: spec.overhead_ns,
            write_overhead_ns: spec.write_overhead_ns,
            command_ns: spec.command_ns,
            interface_kbps: spec.interface_kbps,
            write_through: spec.write_through && !spec.way.protected,
            is_safe: spec.way.protected,
            flush_queued: spec.way.flush_queued,
            is_flushing: false,
            age_limit_ns: spec.age_limit_ns,
            waiting: VecDeque::with_capacity(256),
            slots: vec![FREE; depth],
            ends_ns: vec![NEVER; depth],
            waiters: 0,
            roomless: 0,
            used: 0,
            reads: Vec::with_capacity(depth),
            dirty: Dirty::new(spec.write_cache_sectors, spec.write_cache_entries as usize),
            lands_in_a_cache: false,
            controller_free_ns: 0,
            interface_free_ns: 0,
            done: VecDeque::with_capacity(256),
            waits: Waits::default(),
            counters: Counters::default(),
        }
    }

    pub fn submit(&mut self, now_ns: u64, request: Request) {
        self.run(now_ns);
        let forced = request.op == Op::Write && self.goes_through(&request);
        let copied = self.copied();
        let role = self.waits.begin(now_ns, &request, forced, copied);
        self.waiting.push_back((now_ns, request, role));
        self.admit(now_ns);
    }

    pub fn advance(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        self.run(now_ns);
        done.extend(self.done.drain(..));
    }

    pub fn next_event_ns(&self) -> Option<u64> {
        let told = self.done.front().map(|c| c.at_ns);
        told.or_else(|| self.next_step_ns())
    }

    pub fn is_idle(&self) -> bool {
        self.used == 0
            && self.waiting.is_empty()
            && self.done.is_empty()
            && self.dirty.is_empty()
            && self.medium.next_event_ns().is_none()
    }

    /// Whether a power failure would lose any of these sectors.
    pub fn is_volatile(&self, start: u64, end: u64) -> bool {
        !self.is_safe && (self.dirty.overlaps(start, end) || self.medium.is_volatile(start, end))
    }

    /// Starts logging data that passes the cache.
    pub fn watch(&mut self) {
        self.dirty.watch();
        self.lands_in_a_cache = self.medium.watch();
    }

    /// Appends the events logged since the last call.
    pub fn passages(&mut self, passages: &mut Vec<Passage>) {
        let through = self.lands_in_a_cache;
        passages.extend(self.dirty.passages().filter(|p| !through || p.stage == Stage::Launched));
        self.medium.passages(passages);
    }

    /// Appends the parts of writes under way that are already on the medium.
    pub fn torn(&self, now_ns: u64, torn: &mut Vec<Passage>) {
        if let Some((flight, sectors)) = self.medium.written_by(now_ns)
            && let Some(extent) = self.dirty.flight(flight)
        {
            torn.push(Passage::landed(extent.start, extent.start + sectors));
        }
        self.medium.torn(now_ns, torn);
    }

    pub fn counters(&self, now_ns: u64) -> Counters {
        let mut counters = self.counters;
        self.medium.count(now_ns, &mut counters);
        self.waits.count(now_ns, self.medium.has_copied(), &mut counters);
        counters
    }

    fn next_step_ns(&self) -> Option<u64> {
        let slots = self.ends_ns[..self.used].iter().copied().min().unwrap_or(NEVER);
        let next = self.medium.next_event_ns().map_or(slots, |m| m.min(slots));
        (next != NEVER).then_some(next)
    }

    /// Processes all events up to now, in time order.
    fn run(&mut self, now_ns: u64) {
        while let Some(at) = self.next_step_ns().filter(|at| *at <= now_ns) {
            self.step(at);
        }
    }

    /// Processes all events of one time, in a fixed order.
    fn step(&mut self, now_ns: u64) {
        while let Some(done) = self.medium.finish(now_ns) {
            self.medium_done(now_ns, done);
        }
        for index in 0..self.used {
            if self.ends_ns[index] <= now_ns {
                self.phase_over(now_ns, index);
            }
        }
        self.give_room(now_ns);
        self.admit(now_ns);
        self.start_medium(now_ns);
    }

    /// Admits waiting requests into free slots of the queue.
    fn admit(&mut self, now_ns: u64) {
        while let Some((arrived_ns, request, role)) = self.waiting.front().copied() {
            let is_alone = request.op == Op::Flush && !self.flush_queued;
            if self.is_flushing || (is_alone && self.used > 0) {
                return;
            }
            let Some(index) = self.slots.iter().position(|s| s.phase == Phase::Free) else { return };
            self.waiting.pop_front();
            self.is_flushing = is_alone;
            self.used = self.used.max(index + 1);
            let begins_ns = now_ns.max(self.controller_free_ns);
            self.controller_free_ns = begins_ns + self.command_ns;
            let writes = request.op == Op::Write;
            let overhead_ns = if writes { self.write_overhead_ns } else { self.overhead_ns };
            self.counters.overhead_ns += overhead_ns;
            self.slots[index] = Slot {
                phase: Phase::Starting,
                request,
                role,
                arrived_ns,
                since_ns: now_ns,
                charged_ns: now_ns,
                cost: Cost { overhead_ns, ..Cost::default() },
            };
            self.ends_ns[index] = begins_ns + overhead_ns;
        }
    }

    fn phase_over(&mut self, now_ns: u64, index: usize) {
        let slot = self.slots[index];
        match slot.phase {
            Phase::Starting => self.begin(now_ns, index),
            Phase::Receiving => self.received(now_ns, index),
            Phase::Sending => self.complete(now_ns, index),
            other => unreachable!("no timer ends the phase {other:?} of a queue slot"),
        }
    }

    /// Continues a command that the controller has processed.
    fn begin(&mut self, now_ns: u64, index: usize) {
        let request = self.slots[index].request;
        let (start, end) = (request.sector, request.sector + u64::from(request.sectors));
        self.counters.count_request(&request);
        match request.op {
            Op::Read => {
                if self.dirty.covers(start, end) || self.medium.is_buffered(now_ns, start, request.sectors) {
                    self.counters.read_hits += 1;
                    self.slots[index].cost.from_cache = true;
                    self.send(now_ns, index, now_ns);
                } else {
                    self.enter(now_ns, index, Phase::Reading);
                    let read =
                        Read { slot: index, sector: start, sectors: request.sectors, since_ns: now_ns };
                    self.reads.push(read);
                }
            }
            Op::Write => {
                self.enter(now_ns, index, Phase::Roomless);
            }
            Op::Flush if self.is_safe => self.complete(now_ns, index),
            Op::Flush => {
                let epoch = self.dirty.close_epoch();
                self.enter(now_ns, index, Phase::Draining { epoch });
                self.drained(now_ns, index, epoch);
            }
            Op::Discard => {
                self.dirty.discard(start, end);
                self.medium.discard(now_ns, start, request.sectors);
                self.complete(now_ns, index);
                self.settle_waiters(now_ns, None);
            }
        }
    }

    fn enter(&mut self, now_ns: u64, index: usize, phase: Phase) {
        self.leave(index);
        self.waiters += usize::from(phase.waits());
        self.roomless += usize::from(phase == Phase::Roomless);
        let slot = &mut self.slots[index];
        (slot.phase, slot.since_ns, slot.charged_ns) = (phase, now_ns, now_ns);
    }

    fn leave(&mut self, index: usize) {
        let phase = self.slots[index].phase;
        self.waiters -= usize::from(phase.waits());
        self.roomless -= usize::from(phase == Phase::Roomless);
        self.ends_ns[index] = NEVER;
    }

    /// Lets writes receive their data as the cache has room, the longest waiting first.
    fn give_room(&mut self, now_ns: u64) {
        while self.roomless > 0 {
            let roomless =
                self.slots[..self.used].iter().enumerate().filter(|(_, s)| s.phase == Phase::Roomless);
            let Some((index, _)) = roomless.min_by_key(|(_, s)| s.since_ns) else { return };
            let sectors = u64::from(self.slots[index].request.sectors);
            if !self.dirty.has_room(sectors) {
                return;
            }
            self.dirty.reserve(sectors);
            let begins_ns = now_ns.max(self.interface_free_ns);
            let wire_ns = self.wire_ns(sectors);
            self.interface_free_ns = begins_ns + wire_ns;
            self.enter(now_ns, index, Phase::Receiving);
            self.ends_ns[index] = self.interface_free_ns;
            self.slots[index].cost.interface_ns = wire_ns;
        }
    }

    /// Continues a write whose data has arrived in the cache.
    fn received(&mut self, now_ns: u64, index: usize) {
        let request = self.slots[index].request;
        let through = self.goes_through(&request);
        let end = request.sector + u64::from(request.sectors);
        let urgent = through || self.lands_at(request.sector, end);
        self.dirty.insert(request.sector, end, urgent, now_ns);
        self.medium.overwrite(now_ns, request.sector, request.sectors);
        if through {
            self.enter(now_ns, index, Phase::Landing);
        } else {
            self.counters.writes_cached += 1;
            self.slots[index].cost.from_cache = true;
            self.complete(now_ns, index);
        }
    }

    /// Whether this write completes only when it is on the medium.
    fn goes_through(&self, request: &Request) -> bool {
        (request.fua && !self.is_safe) || self.write_through
    }

    /// Whether the medium copies or erases now, or has since the last call.
    fn copied(&mut self) -> bool {
        let copied = self.medium.has_copied();
        self.medium.forget_copies();
        copied
    }

    /// Whether a FUA write to these sectors is still waiting; data that overwrites them must land too.
    fn lands_at(&self, start: u64, end: u64) -> bool {
        let waiters = if self.waiters > 0 { self.used } else { 0 };
        let overlaps = |r: &Request| r.sector < end && start < r.sector + u64::from(r.sectors);
        self.slots[..waiters].iter().any(|slot| slot.phase == Phase::Landing && overlaps(&slot.request))
    }

    /// Continues a read whose data is available; the interface may transfer the data from `ready_ns` on.
    fn send(&mut self, now_ns: u64, index: usize, ready_ns: u64) {
        let sectors = u64::from(self.slots[index].request.sectors);
        let tail_ns = self.wire_ns(sectors.min(TAIL_SECTORS));
        let whole_ns = ready_ns.max(self.interface_free_ns) + self.wire_ns(sectors);
        let ends_ns = whole_ns.max(now_ns + tail_ns);
        self.interface_free_ns = ends_ns;
        self.enter(now_ns, index, Phase::Sending);
        self.ends_ns[index] = ends_ns;
        self.slots[index].cost.interface_ns = (ends_ns - now_ns).min(self.wire_ns(sectors));
    }

    fn medium_done(&mut self, now_ns: u64, done: Done) {
        match done.what {
            What::Read { slot } => {
                add_motion(&mut self.slots[slot].cost, done.motion);
                self.send(now_ns, slot, now_ns - done.streamed_ns);
            }
            What::Written { flight } => {
                let landed = self.dirty.land(flight);
                let landed = landed.expect("the medium completes only writes that were started");
                self.counters.sectors_destaged += landed.end - landed.start;
                self.settle_waiters(now_ns, Some(done));
            }
            What::Background => {}
            What::Flushed { slot } => {
                add_motion(&mut self.slots[slot].cost, done.motion);
                self.complete(now_ns, slot);
            }
        }
    }

    /// Data has reached the medium: charges the operation to the slots that waited for it and completes those that can.
    fn settle_waiters(&mut self, now_ns: u64, done: Option<Done>) {
        if self.waiters == 0 {
            return;
        }
        for index in 0..self.used {
            let slot = &mut self.slots[index];
            let waits = slot.phase.waits();
            if let Some(done) = done.filter(|d| waits && d.began_ns >= slot.charged_ns) {
                add_motion(&mut slot.cost, done.motion);
                slot.charged_ns = now_ns;
            }
            match slot.phase {
                Phase::Draining { epoch } => self.drained(now_ns, index, epoch),
                Phase::Landing => {
                    let request = slot.request;
                    if !self.dirty.overlaps(request.sector, request.sector + u64::from(request.sectors)) {
                        self.complete(now_ns, index);
                    }
                }
                _ => {}
            }
        }
    }

    fn drained(&mut self, now_ns: u64, index: usize, epoch: u64) {
        if self.dirty.holds_epoch(epoch) {
            return;
        }
        if self.medium.flush(now_ns, index) {
            self.complete(now_ns, index);
        } else {
            self.enter(now_ns, index, Phase::Syncing);
        }
    }

    fn complete(&mut self, now_ns: u64, index: usize) {
        self.leave(index);
        let copied = self.copied();
        let slot = &mut self.slots[index];
        self.waits.end(now_ns, slot.role, copied);
        self.is_flushing &= slot.request.op != Op::Flush;
        let whole_ns = now_ns - slot.arrived_ns;
        let cost = Cost { queue_ns: whole_ns.saturating_sub(slot.cost.service_ns()), ..slot.cost };
        debug_assert_eq!(
            cost.total_ns(),
            whole_ns,
            "the partial times of {request:?} must add up to its latency",
            request = slot.request
        );
        self.done.push_back(Completion { tag: slot.request.tag, at_ns: now_ns, cost });
        *slot = FREE;
        while self.used > 0 && self.slots[self.used - 1].phase == Phase::Free {
            self.used -= 1;
        }
    }

    fn start_medium(&mut self, now_ns: u64) {
        let awaited = self.awaited(now_ns);
        self.medium.start(now_ns, &mut Work { reads: &mut self.reads, dirty: &mut self.dirty, awaited });
    }

    /// The awaited dirty data, and since when: for a flush, a FUA write, a write without room, or because of its age.
    fn awaited(&mut self, now_ns: u64) -> Option<(Choice, u64)> {
        let mut since_ns = NEVER;
        let mut epoch = None;
        let mut room = false;
        let waiters = if self.waiters > 0 { self.used } else { 0 };
        for slot in &self.slots[..waiters] {
            match slot.phase {
                Phase::Draining { epoch: own } => epoch = epoch.max(Some(own)),
                Phase::Landing => {}
                Phase::Roomless => room = true,
                _ => continue,
            }
            since_ns = since_ns.min(slot.since_ns);
        }
        if since_ns == NEVER {
            // Only reads can delay writes for long, so age matters only while reads are pending.
            let may_wait = self.reads.is_empty();
            let old = if may_wait { None } else { self.dirty.older_than(self.age_limit_ns, now_ns) };
            return old.map(|born_ns| (Choice::Any, born_ns));
        }
        Some((if room { Choice::Any } else { Choice::Awaited(epoch) }, since_ns))
    }

    fn wire_ns(&self, sectors: u64) -> u64 {
        wire_ns(sectors, self.interface_kbps)
    }
}

fn add_motion(cost: &mut Cost, motion: Motion) {
    cost.seek_ns += motion.seek_ns;
    cost.rotation_ns += motion.rotation_ns;
    cost.transfer_ns += motion.transfer_ns;
}
