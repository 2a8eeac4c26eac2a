//! Time during which a disk has outstanding requests, by [`Access`].
//!
//! Time with at least one outstanding request counts once. It is split at each submission and completion. Each interval
//! belongs to the first row that matches:
//!
//! ```text
//! outstanding                                                              counts to
//! a write or flush, while flash copied or erased in the background         copying
//! a flush or forced write, and a read                                      queued
//! a flush or forced write (complete only on the medium)                    flushes
//! only sequential requests: each begins where the last of its kind ended   streams
//! one read                                                                 reads
//! anything else: several requests, or a cached write                       queued
//! ```
//! This is observation only: no disk's behaviour depends on it. It knows nothing of the host's activity.

use crate::counters::Counters;
use crate::evidence::Access;
use crate::request::{Op, Request};

/// The properties of a request that decide its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    reads: bool,
    /// A flush, or a write that completes only on the medium.
    forced: bool,
    /// Whether the request begins where the last request of its kind ended.
    in_order: bool,
    /// A write or a flush.
    changes: bool,
}

impl Role {
    /// The role without a request.
    pub const NONE: Role = Role { reads: false, forced: false, in_order: false, changes: false };
}

/// The number of outstanding requests with each property.
#[derive(Clone, Copy, Debug, Default)]
struct Outstanding {
    all: u32,
    reads: u32,
    forced: u32,
    in_order: u32,
    changes: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    outstanding: Outstanding,
    /// Sector after the last read and after the last write.
    ends: [u64; 2],
    since_ns: u64,
    waited_ns: [u64; Access::ALL.len()],
}

impl Waits {
    /// Notes that a request arrives. `forced`: a write that completes only on the medium. `copied`: flash copies or erases now, or has
    /// since the last call.
    pub fn begin(&mut self, now_ns: u64, request: &Request, forced: bool, copied: bool) -> Role {
        self.pass(now_ns, copied);
        let end = request.sector + u64::from(request.sectors);
        let last = match request.op {
            Op::Read => Some(&mut self.ends[0]),
            Op::Write => Some(&mut self.ends[1]),
            Op::Flush | Op::Discard => None,
        };
        let role = Role {
            reads: request.op == Op::Read,
            forced: forced || request.op == Op::Flush,
            in_order: last.is_some_and(|last| std::mem::replace(last, end) == request.sector),
            changes: matches!(request.op, Op::Write | Op::Flush),
        };
        self.outstanding.add(role);
        role
    }

    /// Notes that a request completes.
    pub fn end(&mut self, now_ns: u64, role: Role, copied: bool) {
        self.pass(now_ns, copied);
        self.outstanding.remove(role);
    }

    /// Adds the times up to now, outstanding requests included.
    pub fn count(&self, now_ns: u64, copied: bool, counters: &mut Counters) {
        let mut waits = self.clone();
        waits.pass(now_ns, copied);
        for (access, ns) in Access::ALL.into_iter().zip(waits.waited_ns) {
            *counters.waited_mut(access) += ns;
        }
    }

    fn pass(&mut self, now_ns: u64, copied: bool) {
        let past_ns = now_ns.saturating_sub(std::mem::replace(&mut self.since_ns, now_ns));
        if let Some(access) = self.outstanding.access(copied) {
            self.waited_ns[access as usize] += past_ns;
        }
    }
}

impl Outstanding {
    fn add(&mut self, role: Role) {
        self.all += 1;
        self.reads += u32::from(role.reads);
        self.forced += u32::from(role.forced);
        self.in_order += u32::from(role.in_order);
        self.changes += u32::from(role.changes);
    }

    fn remove(&mut self, role: Role) {
        self.all -= 1;
        self.reads -= u32::from(role.reads);
        self.forced -= u32::from(role.forced);
        self.in_order -= u32::from(role.in_order);
        self.changes -= u32::from(role.changes);
    }

    /// The access that the outstanding requests count as; `None` without any.
    fn access(&self, copied: bool) -> Option<Access> {
        Some(match self {
            Outstanding { all: 0, .. } => return None,
            one if copied && one.changes > 0 => Access::Copying,
            one if one.forced > 0 && one.reads > 0 => Access::Queued,
            one if one.forced > 0 => Access::Flushes,
            one if one.in_order == one.all => Access::Streams,
            Outstanding { all: 1, reads: 1, .. } => Access::Reads,
            _ => Access::Queued,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, sector: u64) -> Request {
        Request { tag: 0, op, fua: false, sector, sectors: 8 }
    }

    /// Times up to `now_ns`: reads, queued, streams, flushes, copying.
    fn waited(waits: &Waits, now_ns: u64) -> [u64; 5] {
        let mut counters = Counters::default();
        waits.count(now_ns, false, &mut counters);
        Access::ALL.map(|access| counters.waited_ns(access))
    }

    #[test]
    fn time_without_a_request_is_none_and_that_of_one_read_is_its_own() {
        let mut waits = Waits::default();
        assert_eq!(waited(&waits, 70), [0; 5]);
        let read = waits.begin(100, &request(Op::Read, 500), false, false);
        assert_eq!(waited(&waits, 130), [30, 0, 0, 0, 0], "while it is outstanding");
        waits.end(150, read, false);
        assert_eq!(waited(&waits, 900), [50, 0, 0, 0, 0]);
    }

    #[test]
    fn of_several_each_nanosecond_counts_once() {
        let mut waits = Waits::default();
        let [a, b] =
            [(0, 500), (40, 9000)].map(|(at, s)| waits.begin(at, &request(Op::Read, s), false, false));
        waits.end(60, a, false);
        waits.end(100, b, false);
        assert_eq!(waited(&waits, 100), [80, 20, 0, 0, 0]);
    }

    #[test]
    fn what_goes_on_where_the_last_one_ended_is_a_stream_until_something_else_comes() {
        let mut waits = Waits::default();
        let first = waits.begin(0, &request(Op::Write, 800), false, false);
        waits.end(10, first, false);
        let stream = [808, 816].map(|sector| waits.begin(10, &request(Op::Write, sector), false, false));
        let other = waits.begin(30, &request(Op::Read, 816), false, false);
        waits.end(35, other, false);
        stream.into_iter().for_each(|one| waits.end(40, one, false));
        // A single write that is not sequential may wait for other data in the cache.
        assert_eq!(waited(&waits, 50), [0, 15, 25, 0, 0]);
    }

    #[test]
    fn who_makes_writes_safe_waits_for_a_flush_and_who_reads_beside_it_in_a_queue() {
        let mut waits = Waits::default();
        let write = waits.begin(0, &request(Op::Write, 80), false, false);
        let flush = waits.begin(10, &request(Op::Flush, 0), false, false);
        let read = waits.begin(30, &request(Op::Read, 80), false, false);
        waits.end(60, read, false);
        waits.end(70, write, false);
        waits.end(90, flush, false);
        assert_eq!(waited(&waits, 90), [0, 10 + 30, 0, 20 + 30, 0]);
        let forced = waits.begin(100, &request(Op::Write, 80), true, false);
        waits.end(105, forced, false);
        assert_eq!(waited(&waits, 105)[3], 55);
    }

    #[test]
    fn while_flash_copies_writes_wait_for_that_and_reads_do_not() {
        let mut waits = Waits::default();
        let write = waits.begin(0, &request(Op::Write, 80), false, false);
        waits.end(50, write, true);
        let read = waits.begin(50, &request(Op::Read, 80), false, true);
        waits.end(60, read, true);
        let discard = waits.begin(60, &request(Op::Discard, 80), false, true);
        waits.end(61, discard, true);
        assert_eq!(waited(&waits, 61), [10, 1, 0, 0, 50]);
    }
}
