//! The passages logged by a watched drive, against the data that must survive a power failure.

#![allow(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use fsderby_diskmodel::{Drive, Op, Passage, Request, Sample, Spec, Stage};
use support::{FLUSH, Host, Random, changed, fua, nominal, spec, specs, write};

/// The write that each sector holds: as seen by reads, in flight, and on the medium.
#[derive(Default)]
struct Contents {
    seen: BTreeMap<u64, u64>,
    launched: BTreeMap<u64, u64>,
    landed: BTreeMap<u64, u64>,
}

impl Contents {
    fn written(&mut self, request: &Request) {
        self.seen.extend(sectors(request).map(|sector| (sector, request.tag)));
    }

    fn pass(&mut self, passages: &mut Vec<Passage>) {
        for Passage { stage, start, end } in passages.drain(..) {
            for sector in start..end {
                let Some(seen) = self.seen.get(&sector).copied() else { continue };
                match stage {
                    Stage::Launched => drop(self.launched.insert(sector, seen)),
                    // A disk without a volatile cache launches nothing.
                    Stage::Landed => {
                        let landed = self.launched.get(&sector).copied().unwrap_or(seen);
                        self.landed.insert(sector, landed);
                    }
                }
            }
        }
    }
}

fn sectors(request: &Request) -> std::ops::Range<u64> {
    request.sector..request.sector + u64::from(request.sectors)
}

/// Overlapping writes, and flushes. No discards, because discarded sectors may hold anything.
fn traffic(spec: &Spec, seed: u64) -> Vec<(u64, Request)> {
    let mut random = Random(seed);
    let mut now_ns = 0;
    let arrivals = (0..400).map(|tag| {
        now_ns += if random.below(4) == 0 { random.below(20_000_000) } else { random.below(200_000) };
        let longest = if random.below(8) == 0 { 32 } else { 4 };
        let sectors = 8 * (1 + random.below(longest)) as u32;
        let places = if random.below(3) == 0 { spec.sectors() / 8 - 64 } else { 512 };
        let request = Request { tag, ..write(random.below(places) * 8, sectors) };
        let request = match random.below(12) {
            0 => Request { tag, ..FLUSH },
            1 => Request { fua: true, ..request },
            2 | 3 => Request { op: Op::Read, ..request },
            _ => request,
        };
        (now_ns, request)
    });
    arrivals.collect()
}

fn disks() -> impl Iterator<Item = Spec> {
    let tiny = [("write_cache_kib", 16), ("write_cache_entries", 2)];
    specs().chain([changed("hdd-16tb", &tiny), changed("3ware-raid5", &tiny)])
}

/// After each flush, all data complete before it has landed unless it was overwritten. Data that is not volatile has landed. An
/// idle disk eventually lands everything.
#[test]
fn what_must_be_on_the_medium_has_landed() {
    for spec in disks() {
        let mut lost = 0;
        for (seed, sample) in [(51, 0), (52, 1), (53, 3)].map(|(seed, n)| (seed, support::nth(&spec, n))) {
            let arrivals = traffic(&spec, seed);
            let mut drive = Drive::new(&spec, sample);
            drive.watch();
            let (mut contents, mut passages) = (Contents::default(), Vec::new());
            let mut waiting = arrivals.iter().peekable();
            let mut open: BTreeSet<u64> = BTreeSet::new();
            // By each flush's number: the writes complete when it was submitted.
            let mut promised: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
            let mut complete: BTreeMap<u64, u64> = BTreeMap::new();
            loop {
                let next = drive.next_event_ns();
                if let Some((at_ns, request)) = waiting.next_if(|a| next.is_none_or(|n| a.0 < n)) {
                    open.insert(request.tag);
                    match request.op {
                        Op::Write => contents.written(request),
                        Op::Flush => drop(promised.insert(request.tag, complete.clone())),
                        _ => {}
                    }
                    drive.submit(*at_ns, *request);
                    continue;
                }
                let Some(next) = next else { break };
                let mut done = Vec::new();
                drive.advance(next, &mut done);
                drive.passages(&mut passages);
                contents.pass(&mut passages);
                for tag in done.iter().map(|c| c.tag) {
                    open.remove(&tag);
                    let request = arrivals[tag as usize].1;
                    if request.op == Op::Write {
                        complete.extend(sectors(&request).map(|sector| (sector, tag)));
                    }
                    let due = match request.op {
                        Op::Flush => promised.remove(&tag).unwrap(),
                        Op::Write if request.fua => sectors(&request).map(|sector| (sector, tag)).collect(),
                        _ => BTreeMap::new(),
                    };
                    for (sector, write) in due {
                        let landed = contents.landed.get(&sector).copied();
                        assert!(landed >= Some(write), "{}: {request:?}: {sector}: {landed:?}", spec.name());
                    }
                }
                for (sector, write) in contents.seen.iter().step_by(7).filter(|(_, w)| !open.contains(w)) {
                    let has_landed = contents.landed.get(sector) == Some(write);
                    lost += u64::from(!has_landed);
                    assert!(has_landed || drive.is_volatile(*sector, 1), "{}: {sector}", spec.name());
                }
            }
            assert!(drive.is_idle());
            assert_eq!(contents.seen, contents.landed, "{}", spec.name());
        }
        let has_cache = !spec.way().protected && spec.name() != "zero";
        assert_eq!(lost > 0, has_cache, "{}: {lost} times a sector would have been lost", spec.name());
    }
}

/// Watching costs no time and changes no decision.
#[test]
fn a_drive_that_is_watched_does_the_same() {
    for spec in disks() {
        let arrivals = traffic(&spec, 61);
        let play = |watched: bool| {
            let mut drive = Drive::new(&spec, Sample::NOMINAL);
            if watched {
                drive.watch();
            }
            arrivals.iter().for_each(|(at, request)| drive.submit(*at, *request));
            let mut done = Vec::new();
            drive.advance(1 << 50, &mut done);
            (done, drive.counters())
        };
        assert_eq!(play(true), play(false), "{}", spec.name());
    }
}

fn torn(host: &Host) -> u64 {
    let mut torn = Vec::new();
    host.drive.torn(&mut torn);
    torn.iter().map(|p| p.end - p.start).sum()
}

#[test]
fn of_a_write_under_the_head_those_sectors_are_there_that_have_passed() {
    let mut host = nominal("hdd-16tb");
    host.drive.watch();
    host.drive.submit(0, fua(8_000_000, 256));
    let mut seen = Vec::new();
    while host.drive.next_event_ns().is_some() {
        host.pass(20_000);
        seen.push(torn(&host));
    }
    // Nothing at first, then block after block, and nothing once the write has landed.
    let last = seen.iter().rposition(|n| *n > 0).unwrap();
    assert!(seen[..=last].is_sorted() && seen[last + 1..].iter().all(|n| *n == 0), "{seen:?}");
    assert!(seen.iter().all(|n| n % 8 == 0 && *n < 256) && seen[last] > 128, "{seen:?}");
}

#[test]
fn a_program_unit_of_flash_is_there_as_a_whole_or_not() {
    let mut host = Host::new(&spec("ssd-sata"), Sample::NOMINAL);
    host.drive.watch();
    host.drive.submit(0, fua(0, 256));
    while host.drive.next_event_ns().is_some() {
        host.pass(20_000);
        assert_eq!(torn(&host), 0);
    }
}
