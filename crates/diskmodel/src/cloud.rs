//! A cloud volume: a network service with limits on operations and bytes per second.
//!
//! Two token buckets, for operations and bytes, fill at the volume's rates and hold a burst. A request waits until both hold
//! its cost, then takes the latency of network and service. The implementation is the "generic cell rate algorithm" of ITU-T
//! I.371: the time at which a bucket would be full again gives its contents. Acknowledged writes are durable, so a flush has
//! nothing to do.

use crate::counters::Counters;
use crate::mix::mix;
use crate::request::{Completion, Cost, Op, Request, wire_ns};
use crate::sample::Sample;
use crate::spec::CloudSpec;
use crate::waits::{Role, Waits};

/// A bucket of tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// Time per token, in 2⁻¹⁶ ns.
    token_ns_16: u64,
    /// Time to fill an empty bucket.
    depth_ns: u64,
    /// Time at which the bucket is full again.
    full_ns: u64,
}

impl Bucket {
    fn new(per_second: u64, burst: u64) -> Self {
        let token_ns_16 = (1_000_000_000 << 16) / per_second;
        Bucket { token_ns_16, depth_ns: span_ns(token_ns_16, burst), full_ns: 0 }
    }

    /// Time at which the bucket holds this many tokens, or is full.
    fn holds_ns(&self, now_ns: u64, tokens: u64) -> u64 {
        let after_ns = self.full_ns.max(now_ns) + span_ns(self.token_ns_16, tokens);
        after_ns.saturating_sub(self.depth_ns).max(now_ns)
    }

    fn take(&mut self, now_ns: u64, tokens: u64) {
        self.full_ns = self.full_ns.max(now_ns) + span_ns(self.token_ns_16, tokens);
    }
}

fn span_ns(token_ns_16: u64, tokens: u64) -> u64 {
    ((u128::from(token_ns_16) * u128::from(tokens)) >> 16) as u64
}

#[derive(Clone, Debug)]
pub(crate) struct Cloud {
    operations: Bucket,
    /// Bucket for bytes, which counts them in sectors.
    bytes: Bucket,
    operation_sectors: u64,
    read_latency_ns: u64,
    write_latency_ns: u64,
    jitter_ns: u64,
    interface_kbps: u64,
    seed: u64,
    submitted: u64,
    /// Time at which the last request left the buckets, which serve requests in order.
    served_ns: u64,
    /// Requests in progress, ordered by completion time.
    under_way: Vec<(Completion, Role)>,
    /// Number of requests at the front of this queue whose end is already counted.
    noted: usize,
    waits: Waits,
    counters: Counters,
}

impl Cloud {
    pub fn new(spec: &CloudSpec, sample: &Sample) -> Self {
        Cloud {
            operations: Bucket::new(spec.operations_per_s, spec.burst_operations),
            bytes: Bucket::new(spec.throughput_kbps * 1000 / 512, spec.burst_sectors),
            operation_sectors: spec.operation_sectors,
            read_latency_ns: spec.read_latency_ns,
            write_latency_ns: spec.write_latency_ns,
            jitter_ns: spec.jitter_ns,
            interface_kbps: spec.interface_kbps,
            seed: sample.seed,
            submitted: 0,
            served_ns: 0,
            under_way: Vec::with_capacity(256),
            noted: 0,
            waits: Waits::default(),
            counters: Counters::default(),
        }
    }

    pub fn submit(&mut self, now_ns: u64, request: Request) {
        self.note(now_ns);
        let role = self.waits.begin(now_ns, &request, false, false);
        self.counters.count_request(&request);
        let (served_ns, cost) = match request.op {
            Op::Flush => (now_ns, Cost::default()),
            Op::Discard => (now_ns, Cost { overhead_ns: self.write_latency_ns, ..Cost::default() }),
            Op::Read | Op::Write => self.serve(now_ns, &request),
        };
        let at_ns = served_ns + cost.service_ns();
        let cost = Cost { queue_ns: served_ns - now_ns, ..cost };
        self.counters.overhead_ns += cost.overhead_ns;
        self.counters.transfer_ns += cost.transfer_ns;
        let index = self.under_way.partition_point(|(c, _)| c.at_ns <= at_ns);
        self.under_way.insert(index, (Completion { tag: request.tag, at_ns, cost }, role));
    }

    /// Counts the requests that have ended by now.
    fn note(&mut self, now_ns: u64) {
        let ended = self.under_way.iter().skip(self.noted).take_while(|(c, _)| c.at_ns <= now_ns);
        for (completion, role) in ended {
            self.waits.end(completion.at_ns, *role, false);
            self.noted += 1;
        }
    }

    /// Time at which the buckets let the request pass, and the cost of the request.
    fn serve(&mut self, now_ns: u64, request: &Request) -> (u64, Cost) {
        let sectors = u64::from(request.sectors);
        let operations = sectors.div_ceil(self.operation_sectors);
        let begins_ns = now_ns.max(self.served_ns);
        let both_ns =
            self.operations.holds_ns(begins_ns, operations).max(self.bytes.holds_ns(begins_ns, sectors));
        self.operations.take(both_ns, operations);
        self.bytes.take(both_ns, sectors);
        self.served_ns = both_ns;
        self.submitted += 1;
        let jitter_ns = mix(self.seed ^ mix(self.submitted)) % (2 * self.jitter_ns + 1);
        let latency_ns = if request.op == Op::Read { self.read_latency_ns } else { self.write_latency_ns };
        let cost = Cost {
            overhead_ns: latency_ns + jitter_ns - self.jitter_ns,
            interface_ns: wire_ns(sectors, self.interface_kbps),
            ..Cost::default()
        };
        (both_ns, cost)
    }

    pub fn advance(&mut self, now_ns: u64, done: &mut Vec<Completion>) {
        self.note(now_ns);
        done.extend(
            self.under_way.drain(..std::mem::take(&mut self.noted)).map(|(completion, _)| completion),
        );
    }

    pub fn next_event_ns(&self) -> Option<u64> {
        self.under_way.first().map(|(c, _)| c.at_ns)
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    pub fn is_volatile(&self, _start: u64, _end: u64) -> bool {
        false
    }

    pub fn counters(&self, now_ns: u64) -> Counters {
        let mut counters = self.counters;
        self.waits.count(now_ns, false, &mut counters);
        counters
    }
}
