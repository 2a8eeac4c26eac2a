//! What a drive is put to: the usual jobs of a benchmark, straight at the model, with no kernel before it.

use crate::{Counters, Drive, Op, Request, Sample, Spec};

const BLOCK: u32 = 8;
const STREAM: u32 = 256;

#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// As the table of measurements names it.
    pub name: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    /// In units of a thousandth.
    pub run: fn(&Spec) -> u64,
}

pub(super) static JOBS: [Job; 11] = [
    Job { name: "read-1", title: "4 KiB random reads, one at a time", unit: "µs", run: lone_read },
    Job { name: "read-32", title: "4 KiB random reads, 32 at a time", unit: "/s", run: reads_32 },
    Job { name: "read-256", title: "4 KiB random reads, 256 at a time", unit: "/s", run: reads_256 },
    Job { name: "stream-read", title: "sequential reading", unit: "MB/s", run: stream_read },
    Job { name: "stream-write", title: "sequential writing", unit: "MB/s", run: stream_write },
    Job {
        name: "write-32",
        title: "4 KiB random writes for 30 s, 32 at a time",
        unit: "/s",
        run: random_writes,
    },
    Job {
        name: "write-steady",
        title: "4 KiB random writes in steady state, 32 at a time",
        unit: "/s",
        run: steady_writes,
    },
    Job { name: "sync", title: "4 KiB write and flush", unit: "µs", run: synced_write },
    Job { name: "flush-8", title: "flush after 8 scattered writes", unit: "ms", run: |s| flush_after(s, 8) },
    Job {
        name: "flush-64",
        title: "flush after 64 scattered writes",
        unit: "ms",
        run: |s| flush_after(s, 64),
    },
    Job {
        name: "read-beside-sync",
        title: "4 KiB random reads beside a writer that flushes each write",
        unit: "/s",
        run: reads_beside_syncs,
    },
];

pub(super) fn find(name: &str) -> Option<&'static Job> {
    JOBS.iter().find(|job| job.name == name)
}

/// A host: its drive, the time, and numbers without a pattern.
pub(super) struct Host {
    drive: Drive,
    spec: Spec,
    now_ns: u64,
    random: u64,
    /// Where it works: all of a hard disk; of flash what was written first, as what is nowhere is not read.
    span: u64,
}

impl Host {
    pub fn bare(spec: &Spec) -> Host {
        let drive = Drive::new(spec, Sample::NOMINAL);
        Host { drive, spec: spec.clone(), now_ns: 0, random: 1, span: spec.sectors() }
    }

    fn new(spec: &Spec) -> Host {
        let mut host = Host::bare(spec);
        if !spec.is_rotational() {
            host.span = host.span.min(2 << 20);
            host.keep(8, host.span / u64::from(STREAM), |host, n| host.stream(Op::Write, n));
            host.rest();
        }
        host
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.random) * u128::from(limit)) >> 64) as u64
    }

    pub fn block(&mut self, op: Op) -> Request {
        let sector = self.below(self.span / u64::from(BLOCK)) * u64::from(BLOCK);
        Request { tag: 0, op, fua: false, sector, sectors: BLOCK }
    }

    fn stream(&self, op: Op, n: u64) -> Request {
        let sector = n * u64::from(STREAM) % (self.span - u64::from(STREAM));
        Request { tag: 0, op, fua: false, sector: sector - sector % u64::from(BLOCK), sectors: STREAM }
    }

    /// Waits for the next completion, or several at one moment.
    fn wait(&mut self) -> Vec<crate::Completion> {
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

    /// So many requests, always so many of them under way. Returns how long they took.
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

    /// Until nothing moves any more.
    fn rest(&mut self) {
        while let Some(next) = self.drive.next_event_ns() {
            self.now_ns = self.now_ns.max(next);
            self.drive.advance(self.now_ns, &mut Vec::new());
        }
    }

    /// A disk with an arm does so many of what takes flash no time.
    fn count(&self, of_flash: u64) -> u64 {
        if self.spec.is_rotational() { of_flash / 20 } else { of_flash }
    }
}

const FLUSH: Request = Request { tag: 0, op: Op::Flush, fua: false, sector: 0, sectors: 0 };

/// Thousandths of a second's worth of `count` in so long.
pub(super) fn rate(count: u64, took_ns: u64) -> u64 {
    (u128::from(count) * 1_000_000_000_000 / u128::from(took_ns.max(1))) as u64
}

fn lone_read(spec: &Spec) -> u64 {
    let mut host = Host::new(spec);
    let count = host.count(20_000);
    let sum: u64 = (0..count)
        .map(|_| {
            let request = host.block(Op::Read);
            let took_ns = host.lone(request);
            // So that the platters' angle is a matter of chance, and read-ahead is no help.
            host.now_ns += host.below(1_000_000);
            took_ns
        })
        .sum();
    sum / count
}

fn reads(spec: &Spec, depth: u64) -> u64 {
    let mut host = Host::new(spec);
    let count = host.count(100_000);
    let took_ns = host.keep(depth, count, |host, _| host.block(Op::Read));
    rate(count, took_ns)
}

fn reads_32(spec: &Spec) -> u64 {
    reads(spec, 32)
}

fn reads_256(spec: &Spec) -> u64 {
    reads(spec, 256)
}

/// Megabytes a second in the mean over eight places, from the outside inwards.
fn streams(spec: &Spec, op: Op) -> u64 {
    let mut host = Host::new(spec);
    let each = 2000;
    let took_ns: u64 = (0..8)
        .map(|place| {
            let first = host.span / u64::from(STREAM) / 8 * place;
            host.keep(8, each, |host, n| host.stream(op, first + n))
        })
        .sum();
    rate(8 * each * u64::from(STREAM) * 512, took_ns) / 1_000_000
}

fn stream_read(spec: &Spec) -> u64 {
    streams(spec, Op::Read)
}

fn stream_write(spec: &Spec) -> u64 {
    streams(spec, Op::Write)
}

fn random_writes(spec: &Spec) -> u64 {
    let mut host = Host::new(spec);
    let begun_ns = host.now_ns;
    let mut count = 0;
    while host.now_ns - begun_ns < 30_000_000_000 {
        host.keep(32, 100, |host, _| host.block(Op::Write));
        count += 100;
    }
    rate(count, host.now_ns - begun_ns)
}

/// All over a sixteenth of the disk, with as many dies and blocks of a sixteenth, which copies as much and takes less memory.
fn steady_writes(spec: &Spec) -> u64 {
    let mut host = Host::bare(&spec.in_steady_state(16));
    host.keep(32, 200_000, |host, _| host.block(Op::Write));
    let count = 100_000;
    let took_ns = host.keep(32, count, |host, _| host.block(Op::Write));
    rate(count, took_ns)
}

fn synced_write(spec: &Spec) -> u64 {
    let mut host = Host::new(spec);
    let count = host.count(2000);
    let begun_ns = host.now_ns;
    (0..count).for_each(|_| sync(&mut host));
    (host.now_ns - begun_ns) / count
}

/// What Linux sends: to a disk without a volatile cache the write alone.
fn sync(host: &mut Host) {
    let request = host.block(Op::Write);
    host.lone(request);
    if host.spec.needs_flushes() {
        host.lone(FLUSH);
    }
}

/// Microseconds, which are thousandths of milliseconds.
fn flush_after(spec: &Spec, writes: u64) -> u64 {
    let mut host = Host::new(spec);
    let times = 50;
    let sum: u64 = (0..times)
        .map(|_| {
            (0..writes).for_each(|_| {
                let request = host.block(Op::Write);
                host.lone(request);
            });
            let took_ns = host.lone(FLUSH);
            host.rest();
            took_ns
        })
        .sum();
    sum / times / 1000
}

fn reads_beside_syncs(spec: &Spec) -> u64 {
    const READ: u64 = 1;
    const WRITE: u64 = 2;
    let mut host = Host::new(spec);
    let begun_ns = host.now_ns;
    let flushes = spec.needs_flushes();
    let read = Request { tag: READ, ..host.block(Op::Read) };
    host.drive.submit(begun_ns, read);
    let write = Request { tag: WRITE, ..host.block(Op::Write) };
    host.drive.submit(begun_ns, write);
    let mut reads = 0;
    while host.now_ns - begun_ns < 10_000_000_000 {
        for done in host.wait() {
            let next = match done.tag {
                READ => {
                    reads += 1;
                    Request { tag: READ, ..host.block(Op::Read) }
                }
                WRITE if flushes => FLUSH,
                _ => Request { tag: WRITE, ..host.block(Op::Write) },
            };
            host.drive.submit(host.now_ns, next);
        }
    }
    rate(reads, host.now_ns - begun_ns)
}
