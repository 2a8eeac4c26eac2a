//! Dies and channels. Each performs one operation at a time.
//!
//! ```text
//!  read      waits ─▶ sensed ─▶ waits for the channel ─▶ carried to the controller
//!  program   waits ─▶ waits for the channel ─▶ carried to the die ─▶ programmed ◀─▶ stopped for reads
//!  erase     waits ─▶ erased ◀─▶ stopped for reads
//! ```
//! Reads go first. They suspend a program or erase under way, which resumes afterwards and so ends later. Once reads have
//! delayed it by its own duration, it runs to its end. A free channel goes to the die that requested it first; no die holds a
//! channel before it needs it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::spec::FlashSpec;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Read,
    Program,
    Erase,
}

/// An operation for a die, and the task it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub task: usize,
    pub doing: Doing,
    pub sectors: u64,
    /// Time of the die alone: sensing, programming or erasing.
    pub cell_ns: u64,
}

/// A program or an erase.
#[derive(Clone, Copy, Debug)]
struct Change {
    order: Order,
    left_ns: u64,
    has_begun: bool,
    /// Delay caused by reads, without that since `since_ns`.
    delayed_ns: u64,
    since_ns: u64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Sensing(Order),
    /// The operation waits for the channel or uses the channel.
    Leaving(Order),
    Entering(Change),
    Changing(Change, u64),
    /// A change that is being suspended.
    Stopping(Change),
}

#[derive(Clone, Debug)]
struct Die {
    state: State,
    reads: VecDeque<Order>,
    /// Queued changes in order; the first one may be suspended.
    changes: VecDeque<Change>,
    /// Number of the valid event; events with another number are stale.
    turn: u64,
}

#[derive(Clone, Debug, Default)]
struct Channel {
    is_busy: bool,
    /// Dies that wait for this channel.
    queue: VecDeque<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Dies {
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Future events, ordered by time and then by scheduling order: (time, turn, die).
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    turns: u64,
    pub read_ns: u64,
    pub program_ns: u64,
    pub erase_ns: u64,
    suspend_ns: u64,
    /// Channel time per sector, in 2⁻¹⁶ ns.
    sector_ns_16: u64,
    /// Total time of all operations requested from the dies.
    pub busy_ns: u64,
}

impl Dies {
    pub fn new(spec: &FlashSpec) -> Self {
        let die = Die { state: State::Idle, reads: VecDeque::new(), changes: VecDeque::new(), turn: 0 };
        Dies {
            dies: vec![die; spec.dies as usize],
            channels: vec![Channel::default(); spec.channels as usize],
            events: BinaryHeap::with_capacity(1024),
            turns: 0,
            read_ns: spec.read_ns,
            program_ns: spec.program_ns,
            erase_ns: spec.erase_ns,
            suspend_ns: spec.suspend_ns,
            sector_ns_16: ((512 * 1_000_000) << 16) / spec.channel_kbps,
            busy_ns: 0,
        }
    }

    pub fn count(&self) -> usize {
        self.dies.len()
    }

    /// Whether the die has no program or erase under way or queued.
    pub fn takes_changes(&self, die: usize) -> bool {
        let die = &self.dies[die];
        die.changes.is_empty() && matches!(die.state, State::Idle | State::Sensing(_) | State::Leaving(_))
    }

    /// Duration of an order without any waiting.
    pub fn alone_ns(&self, order: &Order) -> u64 {
        order.cell_ns + self.carry_ns(order.sectors)
    }

    pub fn carry_ns(&self, sectors: u64) -> u64 {
        (self.sector_ns_16 * sectors) >> 16
    }

    pub fn ask(&mut self, now_ns: u64, die: usize, order: Order) {
        self.busy_ns += self.alone_ns(&order);
        let own = &mut self.dies[die];
        if order.doing == Doing::Read {
            own.reads.push_back(order);
            self.stop_for_reads(now_ns, die);
        } else {
            own.changes.push_back(Change {
                order,
                left_ns: order.cell_ns,
                has_begun: false,
                delayed_ns: 0,
                since_ns: now_ns,
            });
        }
        if matches!(self.dies[die].state, State::Idle) {
            self.go_on(now_ns, die);
        }
    }

    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((at_ns, _, _))| *at_ns)
    }

    /// Advances the dies until one completes an order, at most up to now.
    pub fn finish(&mut self, now_ns: u64) -> Option<(usize, Order)> {
        while let Some(Reverse((at_ns, turn, die))) = self.events.peek().copied() {
            if at_ns > now_ns {
                return None;
            }
            self.events.pop();
            if self.dies[die].turn == turn
                && let Some(order) = self.turn_over(at_ns, die)
            {
                return Some((die, order));
            }
        }
        None
    }

    /// Handles the end of a die's current operation.
    fn turn_over(&mut self, now_ns: u64, die: usize) -> Option<Order> {
        let mut done = None;
        match self.dies[die].state {
            State::Idle => {}
            State::Sensing(order) => {
                self.dies[die].state = State::Leaving(order);
                self.line_up(now_ns, die);
            }
            State::Leaving(order) => {
                self.leave_channel(now_ns, die);
                self.dies[die].state = State::Idle;
                done = Some(order);
            }
            State::Entering(change) => {
                self.leave_channel(now_ns, die);
                self.change(now_ns, die, change);
            }
            State::Changing(change, _) => {
                self.dies[die].state = State::Idle;
                if let Some(next) = self.dies[die].changes.front_mut() {
                    next.since_ns = now_ns;
                }
                done = Some(change.order);
            }
            State::Stopping(change) => {
                self.dies[die].state = State::Idle;
                self.dies[die].changes.push_front(Change { since_ns: now_ns, ..change });
            }
        }
        if matches!(self.dies[die].state, State::Idle) {
            self.go_on(now_ns, die);
        }
        done
    }

    /// Starts the next operation of an idle die.
    fn go_on(&mut self, now_ns: u64, die: usize) {
        let own = &mut self.dies[die];
        let is_due = |c: &Change| c.delayed_ns + (now_ns - c.since_ns) >= c.order.cell_ns;
        if !own.changes.front().is_some_and(is_due)
            && let Some(order) = own.reads.pop_front()
        {
            own.state = State::Sensing(order);
            return self.foresee(now_ns + order.cell_ns, die);
        }
        let Some(change) = own.changes.pop_front() else { return };
        let change = Change { delayed_ns: change.delayed_ns + (now_ns - change.since_ns), ..change };
        if change.has_begun || change.order.doing == Doing::Erase {
            self.change(now_ns, die, change);
        } else {
            own.state = State::Entering(change);
            self.line_up(now_ns, die);
        }
    }

    fn change(&mut self, now_ns: u64, die: usize, change: Change) {
        let ends_ns = now_ns + change.left_ns;
        self.dies[die].state = State::Changing(Change { has_begun: true, ..change }, ends_ns);
        self.foresee(ends_ns, die);
        self.stop_for_reads(now_ns, die);
    }

    /// Suspends a change for waiting reads, unless it ends soon or was delayed long enough.
    fn stop_for_reads(&mut self, now_ns: u64, die: usize) {
        let own = &mut self.dies[die];
        let State::Changing(change, ends_ns) = own.state else { return };
        let stops_ns = now_ns + self.suspend_ns;
        if own.reads.is_empty() || change.delayed_ns >= change.order.cell_ns || ends_ns <= stops_ns {
            return;
        }
        own.state = State::Stopping(Change { left_ns: ends_ns - stops_ns, ..change });
        self.foresee(stops_ns, die);
    }

    fn foresee(&mut self, at_ns: u64, die: usize) {
        self.turns += 1;
        self.dies[die].turn = self.turns;
        self.events.push(Reverse((at_ns, self.turns, die)));
    }

    fn line_up(&mut self, now_ns: u64, die: usize) {
        let number = die % self.channels.len();
        self.channels[number].queue.push_back(die);
        self.serve(now_ns, number);
    }

    fn leave_channel(&mut self, now_ns: u64, die: usize) {
        let number = die % self.channels.len();
        self.channels[number].is_busy = false;
        self.serve(now_ns, number);
    }

    /// Gives a free channel to the first waiting die.
    fn serve(&mut self, now_ns: u64, number: usize) {
        let channel = &mut self.channels[number];
        if channel.is_busy {
            return;
        }
        let Some(die) = channel.queue.pop_front() else { return };
        channel.is_busy = true;
        let sectors = match self.dies[die].state {
            State::Leaving(order) | State::Entering(Change { order, .. }) => order.sectors,
            other => unreachable!("a flash die in state {other:?} needs no channel"),
        };
        self.foresee(now_ns + self.carry_ns(sectors), die);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Model;
    use crate::{SHIPPED, Spec};

    const READ: u64 = 70_000;
    const PROGRAM: u64 = 2_000_000;
    const SUSPEND: u64 = 500_000;

    /// The dies of `ssd-sata`: dies 0 and 4 share a channel.
    fn dies() -> Dies {
        let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "ssd-sata").unwrap();
        match Spec::parse(text).unwrap().model {
            Model::Flash(flash) => Dies::new(&flash),
            other => panic!("{other:?}"),
        }
    }

    fn order(task: usize, doing: Doing, sectors: u64, cell_ns: u64) -> Order {
        Order { task, doing, sectors, cell_ns }
    }

    /// Completion time of each task's order.
    fn ends(dies: &mut Dies) -> Vec<(usize, u64)> {
        let mut ends = Vec::new();
        while let Some(at_ns) = dies.next_event_ns() {
            while let Some((_, order)) = dies.finish(at_ns) {
                ends.push((order.task, at_ns));
            }
        }
        ends
    }

    #[test]
    fn a_program_is_stopped_for_a_read_and_ends_so_much_later() {
        let mut dies = dies();
        let (page, unit) = (dies.carry_ns(8), dies.carry_ns(192));
        dies.ask(0, 0, order(0, Doing::Program, 192, PROGRAM));
        assert!(!dies.takes_changes(0) && dies.takes_changes(1));
        assert_eq!(dies.finish(unit + 100_000), None);
        dies.ask(unit + 100_000, 0, order(1, Doing::Read, 8, READ));
        let read = unit + 100_000 + SUSPEND + READ + page;
        assert_eq!(ends(&mut dies), [(1, read), (0, unit + PROGRAM + READ + page)]);
    }

    #[test]
    fn a_program_that_is_nearly_done_is_waited_for() {
        let mut dies = dies();
        let unit = dies.carry_ns(192);
        dies.ask(0, 0, order(0, Doing::Program, 192, PROGRAM));
        assert_eq!(dies.finish(unit + PROGRAM - SUSPEND), None);
        dies.ask(unit + PROGRAM - SUSPEND, 0, order(1, Doing::Read, 8, READ));
        let read = unit + PROGRAM + READ + dies.carry_ns(8);
        assert_eq!(ends(&mut dies), [(0, unit + PROGRAM), (1, read)]);
    }

    /// A hundred reads take 7.8 ms, an erase 5 ms: the erase waits for its own duration, then for no more reads.
    #[test]
    fn reads_hold_an_erase_up_for_no_longer_than_it_takes() {
        let mut dies = dies();
        let each = READ + dies.carry_ns(8);
        dies.ask(0, 0, order(0, Doing::Erase, 0, 5_000_000));
        (1..=100).for_each(|task| dies.ask(0, 0, order(task, Doing::Read, 8, READ)));
        let ends = ends(&mut dies);
        let before = 5_000_000_u64.div_ceil(each);
        let erased = ends.iter().find(|(task, _)| *task == 0).unwrap().1;
        assert_eq!(erased, SUSPEND + before * each + 5_000_000 - SUSPEND);
        assert_eq!(ends.last(), Some(&(100, 5_000_000 + 100 * each)));
    }

    /// The die whose page is ready first gets the channel, even if another die got its order earlier.
    #[test]
    fn a_channel_is_not_kept_for_who_cannot_use_it_yet() {
        let mut dies = dies();
        let page = dies.carry_ns(8);
        dies.ask(0, 0, order(0, Doing::Erase, 0, 5_000_000));
        dies.ask(0, 0, order(1, Doing::Program, 192, PROGRAM));
        dies.ask(1000, 4, order(2, Doing::Read, 8, READ));
        dies.ask(1000, 1, order(3, Doing::Read, 8, READ));
        assert_eq!(&ends(&mut dies)[..2], [(2, 1000 + READ + page), (3, 1000 + READ + page)]);
    }

    #[test]
    fn dies_of_one_channel_sense_together_and_are_carried_one_after_the_other() {
        let mut dies = dies();
        let page = dies.carry_ns(8);
        [0, 4, 8].into_iter().for_each(|die| dies.ask(0, die, order(die, Doing::Read, 8, READ)));
        assert_eq!(ends(&mut dies), [(0, READ + page), (4, READ + 2 * page), (8, READ + 3 * page)]);
    }
}
