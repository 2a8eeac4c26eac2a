//! The jobs on the model alone, without a kernel.

use super::asks::{
    Asks, BLOCK, PAUSE_NS, Places, STREAM, STREAM_DEPTH, STREAM_PLACES, Taken, WRITE_DEPTH, WRITE_PART,
};
use super::rule;
use crate::{Completion, Counters, Drive, Op, Request, Sample, Spec};

/// Runs `asks` on `span` sectors; steady writes choose their own span.
pub(super) fn run(spec: &Spec, asks: Asks, span: u64) -> Taken {
    if let Asks::SteadyWrites { before, count } = asks {
        return steady_writes(spec, before, count);
    }
    let mut host = Host::on(spec, span);
    match asks {
        Asks::LoneReads { count } => host.lone_reads(count),
        Asks::Reads { depth, count } => {
            let ns = host.keep(depth, count, |host, _| host.block(Op::Read));
            Taken { done: count, ns }
        }
        Asks::StreamReads { pieces } => host.streams(Op::Read, pieces),
        Asks::StreamWrites { pieces } => host.streams(Op::Write, pieces),
        Asks::Writes { seconds } => host.writes(seconds),
        Asks::SteadyWrites { .. } => unreachable!("steady writes run on a separate host"),
        Asks::UntilSteady => Taken::all(&host.until_steady()),
        Asks::Syncs { count } => host.syncs(count),
        Asks::Flushes { writes, times } => host.flushes(writes, times),
        Asks::ReadsBesideSyncs { seconds } => host.reads_beside_syncs(seconds),
    }
}

/// A host: its drive, its time, and the places of its requests.
pub(super) struct Host {
    drive: Drive,
    spec: Spec,
    now_ns: u64,
    places: Places,
}

const FLUSH: Request = Request { tag: 0, op: Op::Flush, fua: false, sector: 0, sectors: 0 };

impl Host {
    pub fn bare(spec: &Spec) -> Host {
        let drive = Drive::new(spec, Sample::NOMINAL);
        Host { drive, spec: spec.clone(), now_ns: 0, places: Places::new(spec.sectors()) }
    }

    /// A host on `span` sectors, which are written first unless it is a hard disk.
    fn on(spec: &Spec, span: u64) -> Host {
        let mut host = Host::bare(spec);
        host.places = Places::new(span);
        if !spec.is_rotational() {
            host.keep(STREAM_DEPTH, host.places.pieces(), |host, n| host.piece(Op::Write, n));
            host.rest();
        }
        host
    }

    pub fn block(&mut self, op: Op) -> Request {
        Request { tag: 0, op, fua: false, sector: self.places.block(), sectors: BLOCK }
    }

    fn piece(&self, op: Op, n: u64) -> Request {
        Request { tag: 0, op, fua: false, sector: self.places.piece(n), sectors: STREAM }
    }

    /// Waits for the next completions, all of one time.
    fn wait(&mut self) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.is_empty() {
            let next = self.drive.next_event_ns().expect("something is under way");
            self.now_ns = self.now_ns.max(next);
            self.drive.advance(self.now_ns, &mut done);
        }
        done
    }

    fn lone(&mut self, request: Request) -> u64 {
        let begun_ns = self.now_ns;
        self.drive.submit(begun_ns, request);
        self.wait();
        self.now_ns - begun_ns
    }

    /// Performs `count` requests with `depth` in flight. Returns the time they took.
    pub fn keep(&mut self, depth: u64, count: u64, ask: impl Fn(&mut Host, u64) -> Request) -> u64 {
        let begun_ns = self.now_ns;
        let (mut asked, mut done) = (0, 0);
        while done < count {
            while asked < count && asked - done < depth {
                let request = ask(self, asked);
                self.drive.submit(self.now_ns, request);
                asked += 1;
            }
            done += self.wait().len() as u64;
        }
        self.now_ns - begun_ns
    }

    pub fn counters(&self) -> Counters {
        self.drive.counters()
    }

    /// Waits until the drive has no further event.
    fn rest(&mut self) {
        while let Some(next) = self.drive.next_event_ns() {
            self.now_ns = self.now_ns.max(next);
            self.drive.advance(self.now_ns, &mut Vec::new());
        }
    }

    /// The rounds of a preconditioning, whose rule decides how many there are.
    pub fn until_steady(&mut self) -> Vec<Taken> {
        for _ in 0..rule::PASSES {
            self.keep(STREAM_DEPTH, self.places.pieces(), |host, n| host.piece(Op::Write, n));
        }
        let count = rule::round_writes(self.places.sectors());
        rule::until_steady(|| {
            let ns = self.keep(WRITE_DEPTH, count, |host, _| host.block(Op::Write));
            Ok::<_, std::convert::Infallible>(Taken { done: count, ns })
        })
        .unwrap_or_else(|never| match never {})
    }

    fn lone_reads(&mut self, count: u64) -> Taken {
        let each = (0..count).map(|_| {
            let request = self.block(Op::Read);
            let took_ns = self.lone(request);
            self.now_ns += self.places.below(PAUSE_NS);
            took_ns
        });
        Taken { ns: each.sum(), done: count }
    }

    /// Total over all places.
    fn streams(&mut self, op: Op, pieces: u64) -> Taken {
        let firsts = self.places.streams();
        let each = firsts.map(|first| self.keep(STREAM_DEPTH, pieces, |host, n| host.piece(op, first + n)));
        Taken { ns: each.sum(), done: STREAM_PLACES * pieces * u64::from(STREAM) * 512 }
    }

    fn writes(&mut self, seconds: u64) -> Taken {
        let begun_ns = self.now_ns;
        let mut done = 0;
        while self.now_ns - begun_ns < seconds * 1_000_000_000 {
            self.keep(WRITE_DEPTH, WRITE_PART, |host, _| host.block(Op::Write));
            done += WRITE_PART;
        }
        Taken { done, ns: self.now_ns - begun_ns }
    }

    fn syncs(&mut self, count: u64) -> Taken {
        let begun_ns = self.now_ns;
        (0..count).for_each(|_| self.sync());
        Taken { done: count, ns: self.now_ns - begun_ns }
    }

    /// The requests that Linux sends for a synchronous write; a disk without a volatile cache gets no flush.
    fn sync(&mut self) {
        let request = self.block(Op::Write);
        self.lone(request);
        if self.spec.needs_flushes() {
            self.lone(FLUSH);
        }
    }

    fn flushes(&mut self, writes: u64, times: u64) -> Taken {
        let each = (0..times).map(|_| {
            (0..writes).for_each(|_| {
                let request = self.block(Op::Write);
                self.lone(request);
            });
            let took_ns = self.lone(FLUSH);
            self.rest();
            took_ns
        });
        Taken { ns: each.sum(), done: times }
    }

    fn reads_beside_syncs(&mut self, seconds: u64) -> Taken {
        const READ: u64 = 1;
        const WRITE: u64 = 2;
        let begun_ns = self.now_ns;
        let flushes = self.spec.needs_flushes();
        let read = Request { tag: READ, ..self.block(Op::Read) };
        self.drive.submit(begun_ns, read);
        let write = Request { tag: WRITE, ..self.block(Op::Write) };
        self.drive.submit(begun_ns, write);
        let mut reads = 0;
        while self.now_ns - begun_ns < seconds * 1_000_000_000 {
            for done in self.wait() {
                let next = match done.tag {
                    READ => {
                        reads += 1;
                        Request { tag: READ, ..self.block(Op::Read) }
                    }
                    WRITE if flushes => FLUSH,
                    _ => Request { tag: WRITE, ..self.block(Op::Write) },
                };
                self.drive.submit(self.now_ns, next);
            }
        }
        Taken { done: reads, ns: self.now_ns - begun_ns }
    }
}

/// Uses a sixteenth of the disk with the same dies and blocks of a sixteenth: this copies as much and needs less memory.
fn steady_writes(spec: &Spec, before: u64, count: u64) -> Taken {
    let mut host = Host::bare(&spec.in_steady_state(16));
    host.keep(WRITE_DEPTH, before, |host, _| host.block(Op::Write));
    let ns = host.keep(WRITE_DEPTH, count, |host, _| host.block(Op::Write));
    Taken { done: count, ns }
}
