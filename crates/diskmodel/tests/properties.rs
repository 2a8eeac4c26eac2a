//! Properties of every disk under any requests: causality, nothing lost, flush order, determinism, and independence of how often
//! the drive is advanced.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use fsderby_diskmodel::{Access, Completion, Drive, Op, Request, Sample, Spec};
use support::{Random, changed, specs};

/// Submission time and request.
type Arrival = (u64, Request);

/// All shipped disks, and some that soon reach their limits: a full SSD, a shingled disk with a 1 MiB log, tiny caches.
fn disks() -> impl Iterator<Item = Spec> {
    let full = [
        ("sectors", 262_144),
        ("dies", 4),
        ("block_kib", 384),
        ("filled_permille", 1000),
        ("erased_permille", 0),
    ];
    let tiny = [("write_cache_kib", 16), ("write_cache_entries", 2), ("read_segments", 1)];
    let at_their_limits = [
        changed("ssd-sata", &full),
        changed("hdd-smr", &[("log_mib", 1), ("log_entries", 16), ("idle_ms", 1), ("stream_kib", 4)]),
        changed("hdd-16tb", &tiny),
        changed("3ware-raid5", &tiny[..2]),
        changed("sd-card", &[("queue_depth", 32)]),
    ];
    specs().chain(at_their_limits)
}

/// Mixed traffic: bursts and pauses, hot and cold places, runs and single blocks.
fn traffic(spec: &Spec, seed: u64, count: u64) -> Vec<Arrival> {
    let mut random = Random(seed);
    let (mut now_ns, mut run) = (0, 0);
    let arrivals = (0..count).map(|tag| {
        now_ns += match random.below(10) {
            0 => random.below(200_000_000),
            1..=4 => random.below(3_000_000),
            _ => random.below(100_000),
        };
        let longest = if random.below(8) == 0 { 128 } else { 4 };
        let sectors = 8 * (1 + random.below(longest)) as u32;
        let room = spec.sectors() - u64::from(sectors);
        let sector = match random.below(4) {
            0 => random.below(room / 8) * 8,
            1 => random.below(4096) * 8,
            _ => run,
        };
        run = (sector + u64::from(sectors)).min(spec.sectors() - 2048);
        let (op, fua) = match random.below(20) {
            0 => (Op::Flush, false),
            1 => (Op::Discard, false),
            2 | 3 => (Op::Write, true),
            4..=11 => (Op::Write, false),
            _ => (Op::Read, false),
        };
        let (sector, sectors) = if op == Op::Flush { (0, 0) } else { (sector, sectors) };
        (now_ns, Request { tag, op, fua, sector, sectors })
    });
    arrivals.collect()
}

/// Replays the arrivals; advances the drive at `glances` extra times between two events.
fn play(spec: &Spec, sample: Sample, arrivals: &[Arrival], glances: u64) -> (Vec<Completion>, Drive) {
    let mut drive = Drive::new(spec, sample);
    let mut random = Random(glances);
    let mut done = Vec::new();
    let mut now_ns = 0;
    let mut look = |drive: &mut Drive, done: &mut Vec<Completion>, from: u64, to: u64| {
        let mut moments: Vec<u64> = (0..glances).map(|_| from + random.below(to - from + 1)).collect();
        moments.sort_unstable();
        moments.into_iter().for_each(|at| drive.advance(at, done));
    };
    for (at_ns, request) in arrivals {
        look(&mut drive, &mut done, now_ns, *at_ns);
        now_ns = *at_ns;
        drive.submit(now_ns, *request);
    }
    while let Some(next) = drive.next_event_ns() {
        let next = next.max(now_ns);
        look(&mut drive, &mut done, now_ns, next);
        now_ns = next;
        drive.advance(now_ns, &mut done);
    }
    (done, drive)
}

fn samples(spec: &Spec) -> [Sample; 4] {
    [0, 1, 2, 3].map(|n| support::nth(spec, n))
}

#[test]
fn every_request_completes_once_not_before_it_was_submitted_and_its_parts_are_its_whole() {
    for spec in disks() {
        for (seed, sample) in (1..).zip(samples(&spec)) {
            let arrivals = traffic(&spec, seed, 1500);
            let (done, drive) = play(&spec, sample, &arrivals, 0);
            assert!(drive.is_idle(), "{}", spec.name());
            assert!(done.is_sorted_by_key(|c| c.at_ns), "{}: out of order", spec.name());
            let mut seen = vec![false; arrivals.len()];
            for completion in &done {
                let (arrived_ns, request) = arrivals[completion.tag as usize];
                assert!(!std::mem::replace(&mut seen[completion.tag as usize], true), "twice: {request:?}");
                assert!(completion.at_ns >= arrived_ns, "{}: {request:?}", spec.name());
                assert_eq!(
                    completion.cost.total_ns(),
                    completion.at_ns - arrived_ns,
                    "{}: {request:?}: {:?}",
                    spec.name(),
                    completion.cost
                );
            }
            assert!(seen.iter().all(|s| *s), "{}: lost", spec.name());
            assert_eq!(drive.counters().requests(), 1500);
        }
    }
}

#[test]
fn the_same_input_gives_the_same_output_however_often_the_drive_is_asked() {
    for spec in disks() {
        for (seed, sample) in (21..).zip(samples(&spec)) {
            let arrivals = traffic(&spec, seed, 800);
            let (once, drive) = play(&spec, sample, &arrivals, 0);
            let (again, _) = play(&spec, sample, &arrivals, 0);
            let (often, asked) = play(&spec, sample, &arrivals, 3);
            assert_eq!(once, again, "{}", spec.name());
            assert_eq!(once, often, "{}", spec.name());
            assert_eq!(drive.counters(), asked.counters(), "{}", spec.name());
        }
    }
}

/// The later writes wait for nothing, so none of them is awaited; but they cover sectors that the first must land.
#[test]
fn a_forced_write_ends_although_its_sectors_are_written_again_meanwhile() {
    for spec in disks() {
        let request = |tag, fua, sector, sectors| Request { tag, op: Op::Write, fua, sector, sectors };
        let again = (1..33).map(|tag| (0, request(tag, false, (tag - 1) * 8, 8)));
        let arrivals: Vec<Arrival> = [(0, request(0, true, 0, 256))].into_iter().chain(again).collect();
        let (done, drive) = play(&spec, Sample::NOMINAL, &arrivals, 0);
        assert!(done.len() == arrivals.len() && drive.is_idle(), "{}: {} done", spec.name(), done.len());
    }
}

/// Counted from submissions and completions alone, regardless of the access.
#[test]
fn all_time_with_a_request_outstanding_is_waited_for_and_no_other() {
    let mut kinds = [0; Access::ALL.len()];
    for spec in disks() {
        for (seed, sample) in (51..).zip(samples(&spec)) {
            let arrivals = traffic(&spec, seed, 800);
            let (done, drive) = play(&spec, sample, &arrivals, 0);
            let mut held: Vec<(u64, u64)> =
                done.iter().map(|c| (arrivals[c.tag as usize].0, c.at_ns)).collect();
            held.sort_unstable();
            let (mut sum, mut reached) = (0, 0);
            for (begin, end) in held {
                sum += end.saturating_sub(begin.max(reached));
                reached = reached.max(end);
            }
            let waited = Access::ALL.map(|access| drive.counters().waited_ns(access));
            assert_eq!(waited.iter().sum::<u64>(), sum, "{}: {waited:?}", spec.name());
            (0..kinds.len()).for_each(|at| kinds[at] += waited[at]);
        }
    }
    assert!(kinds.iter().all(|ns| *ns > 0), "{kinds:?}");
}

/// A drive that is not advanced between two submissions processes the events in between by itself.
#[test]
fn a_drive_that_is_asked_only_at_the_end_did_the_same() {
    for spec in disks() {
        let arrivals = traffic(&spec, 31, 800);
        let (asked, _) = play(&spec, Sample::NOMINAL, &arrivals, 0);
        let mut drive = Drive::new(&spec, Sample::NOMINAL);
        arrivals.iter().for_each(|(at, request)| drive.submit(*at, *request));
        let mut done = Vec::new();
        drive.advance(u64::MAX / 4, &mut done);
        assert_eq!(asked, done, "{}", spec.name());
    }
}

/// A completed write, and the later writes over it.
struct Written {
    request: Request,
    submitted: u64,
    completed: u64,
}

fn overlap(a: &Request, b: &Request) -> bool {
    a.sector < b.sector + u64::from(b.sectors) && b.sector < a.sector + u64::from(a.sectors)
}

/// When a flush completes, no write completed before its submission would be lost in a power failure. The same holds for a FUA
/// write at its completion. Sectors overwritten meanwhile are excluded, because the new data may be lost.
#[test]
fn what_is_flushed_is_on_the_medium() {
    for spec in disks() {
        let (mut flushed, mut forced) = (0, 0);
        for (seed, sample) in (41..).zip(samples(&spec)) {
            let arrivals = traffic(&spec, seed, 500);
            let mut drive = Drive::new(&spec, sample);
            let mut step = 0;
            let mut submitted = vec![0; arrivals.len()];
            let mut writes: Vec<Written> = Vec::new();
            let mut waiting = arrivals.iter().peekable();
            loop {
                step += 1;
                let next = drive.next_event_ns();
                if let Some((at_ns, request)) = waiting.next_if(|a| next.is_none_or(|n| a.0 < n)) {
                    drive.submit(*at_ns, *request);
                    submitted[request.tag as usize] = step;
                    continue;
                }
                let Some(next) = next else { break };
                let mut done = Vec::new();
                drive.advance(next, &mut done);
                // Completions at the same time may come in any order: register all, then check all.
                for completion in &done {
                    let request = arrivals[completion.tag as usize].1;
                    if request.op == Op::Write {
                        let submitted = submitted[completion.tag as usize];
                        writes.push(Written { request, submitted, completed: step });
                    }
                }
                let under_way = |since: u64, request: &Request| {
                    let anew = writes.iter().any(|w| w.completed >= since && overlap(&w.request, request));
                    let soon = arrivals.iter().any(|(_, other)| {
                        other.op == Op::Write
                            && submitted[other.tag as usize] > 0
                            && overlap(other, request)
                            && !writes.iter().any(|w| w.request.tag == other.tag)
                    });
                    anew || soon
                };
                for completion in &done {
                    let request = arrivals[completion.tag as usize].1;
                    let since = submitted[completion.tag as usize];
                    let must: Vec<Request> = match request.op {
                        Op::Flush => {
                            let before = writes.iter().filter(|w| w.completed < since);
                            before.map(|w| w.request).filter(|r| !under_way(since, r)).collect()
                        }
                        Op::Write if request.fua => {
                            let others = writes.iter().filter(|w| w.request.tag != request.tag);
                            let alone = !others
                                .filter(|w| w.completed >= since || w.submitted >= since)
                                .any(|w| overlap(&w.request, &request));
                            Vec::from_iter(alone.then_some(request))
                        }
                        _ => Vec::new(),
                    };
                    for kept in must {
                        if request.op == Op::Flush {
                            flushed += 1
                        } else {
                            forced += 1
                        }
                        assert!(
                            !drive.is_volatile(kept.sector, kept.sectors),
                            "{}: {request:?} completed, {kept:?} would be lost",
                            spec.name()
                        );
                    }
                }
                if writes.len() > 300 {
                    writes.drain(..150);
                }
            }
        }
        assert!(flushed > 1000 && forced > 50, "{}: {flushed} and {forced} judged", spec.name());
    }
}
