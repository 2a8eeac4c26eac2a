//! Requests directly to a block device, as a disk benchmark sends them: no page cache, no filesystem.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fsderby_diskmodel::validation::asks::{
    Asks, BLOCK, DONE, PAUSE_NS, Places, RawWork, STREAM, STREAM_DEPTH, STREAM_PLACES, Taken, WRITE_DEPTH,
    WRITE_PART,
};
use fsderby_diskmodel::validation::rule::{
    MOST_ROUNDS, PASSES, ROUND, WINDOW, rates, round_writes, steady_from, until_steady,
};
use fsderby_sys::direct::{Ask, Direct};

use super::{StepError, monotonic_ns};
use crate::schema::event::{Phase, Seen, Steady};
use crate::schema::units::Bytes;

const SECTOR: u64 = 512;
/// Time that the disk gets to finish its background work; the rest of longer background work runs during the measurement.
const REST: Duration = Duration::from_secs(10);

/// Sends these requests to the device, which has this size; a phase for each round of a preconditioning, else one.
pub fn carry_out(device: &Path, size: Bytes, work: &RawWork) -> Result<Vec<Phase>, StepError> {
    let done = match work.asks {
        Asks::UntilSteady => rounds(device, size),
        asks => work_on(device, size, work.fill, asks).map(|taken| vec![taken]),
    };
    let done = done.map_err(|e| StepError::io("send requests to", device, e))?;
    let phase = |taken: Taken| {
        let counts = [(DONE.to_owned(), taken.done)].into();
        Phase { name: "raw".into(), ns: taken.ns, counts }
    };
    Ok(done.into_iter().map(phase).collect())
}

fn work_on(device: &Path, size: Bytes, fill: bool, asks: Asks) -> io::Result<Taken> {
    let places = Places::new(size.0 / SECTOR);
    let depth = depth(asks).max(if fill { STREAM_DEPTH } else { 1 });
    let largest = u64::from(STREAM) * SECTOR;
    let direct = Direct::open(device, depth as u16, largest as usize)?;
    let mut bench = Bench { direct, places };
    if fill {
        bench.keep(STREAM_DEPTH, bench.places.pieces(), |places, n| Request::piece(Ask::Write, places, n))?;
        bench.direct.flush()?;
        thread::sleep(REST);
    }
    match asks {
        Asks::LoneReads { count } => bench.lone_reads(count),
        Asks::Reads { depth, count } => bench.blocks(Ask::Read, depth, count),
        Asks::StreamReads { pieces } => bench.streams(Ask::Read, pieces),
        Asks::StreamWrites { pieces } => bench.streams(Ask::Write, pieces),
        Asks::Writes { seconds } => bench.writes(seconds),
        Asks::SteadyWrites { before, count } => {
            bench.blocks(Ask::Write, WRITE_DEPTH, before)?;
            bench.blocks(Ask::Write, WRITE_DEPTH, count)
        }
        Asks::Syncs { count } => bench.syncs(count),
        Asks::Flushes { writes, times } => bench.flushes(writes, times),
        Asks::ReadsBesideSyncs { seconds } => bench.reads_beside_syncs(device, seconds),
        Asks::UntilSteady => Ok(Taken::all(&rounds(device, size)?)),
    }
}

/// Before each trial this share of the device is written at random.
const WASHOUT: u64 = 16;

/// Bytes that preconditioning writes at most, and those before each trial, to a device of this size.
pub fn written(Bytes(size): Bytes) -> [Bytes; 2] {
    let rounds = (size / ROUND).saturating_mul(MOST_ROUNDS as u64);
    [Bytes(size.saturating_mul(PASSES.into()).saturating_add(rounds)), Bytes(size / WASHOUT)]
}

/// Brings a drive near its steady state, after the Solid State Storage Performance Test Specification (SNIA, 2.0.2): written twice in
/// order, then at random until five rounds are steady. It is only like it: the drive is not purged first, and the range can be a part of
/// it. Nothing is discarded.
///
/// # Errors
/// If the device fails.
pub fn precondition(device: &Path, size: Bytes) -> Result<Steady, StepError> {
    let done = rounds(device, size).map_err(|e| StepError::io("precondition", device, e))?;
    let last = &done[done.len().saturating_sub(WINDOW)..];
    let mean_ns = last.iter().map(|taken| taken.mean_ns()).sum::<u64>() / (last.len() as u64).max(1);
    let is_steady = steady_from(&rates(&done)).is_some();
    Ok(Steady { rounds: done.len() as u32, is_steady, write_ns: mean_ns })
}

fn rounds(device: &Path, size: Bytes) -> io::Result<Vec<Taken>> {
    let mut bench = Bench::of(device, size)?;
    for _ in 0..PASSES {
        bench.keep(STREAM_DEPTH, bench.places.pieces(), |places, n| Request::piece(Ask::Write, places, n))?;
    }
    let writes = round_writes(size.0 / SECTOR);
    let done = until_steady(|| bench.blocks(Ask::Write, WRITE_DEPTH, writes))?;
    bench.direct.flush()?;
    Ok(done)
}

/// The fixed writes before each trial; those of the second half are timed.
///
/// # Errors
/// If the device fails.
pub fn wash(device: &Path, size: Bytes, steady: Steady) -> Result<Seen, StepError> {
    let half = (size.0 / WASHOUT / SECTOR / u64::from(BLOCK) / 2).max(1);
    let washed = || -> io::Result<Taken> {
        let mut bench = Bench::of(device, size)?;
        bench.blocks(Ask::Write, WRITE_DEPTH, half)?;
        let probed = bench.blocks(Ask::Write, WRITE_DEPTH, half)?;
        bench.direct.flush().map(|()| probed)
    };
    let probed = washed().map_err(|e| StepError::io("wash", device, e))?;
    Ok(Seen::Washed { writes: 2 * half, write_ns: probed.mean_ns(), steady })
}

/// The most requests in flight.
fn depth(asks: Asks) -> u64 {
    match asks {
        Asks::Reads { depth, .. } => depth,
        Asks::StreamReads { .. } | Asks::StreamWrites { .. } => STREAM_DEPTH,
        Asks::Writes { .. } | Asks::SteadyWrites { .. } | Asks::UntilSteady => WRITE_DEPTH,
        Asks::LoneReads { .. }
        | Asks::Syncs { .. }
        | Asks::Flushes { .. }
        | Asks::ReadsBesideSyncs { .. } => 1,
    }
}

struct Request {
    ask: Ask,
    sector: u64,
    sectors: u32,
}

impl Request {
    fn block(ask: Ask, places: &mut Places) -> Request {
        Request { ask, sector: places.block(), sectors: BLOCK }
    }

    fn piece(ask: Ask, places: &Places, n: u64) -> Request {
        Request { ask, sector: places.piece(n), sectors: STREAM }
    }
}

/// A device, and the places of its requests.
struct Bench {
    direct: Direct,
    places: Places,
}

impl Bench {
    /// For writes in order and at random.
    fn of(device: &Path, size: Bytes) -> io::Result<Bench> {
        let depth = WRITE_DEPTH.max(STREAM_DEPTH) as u16;
        let direct = Direct::open(device, depth, STREAM as usize * SECTOR as usize)?;
        Ok(Bench { direct, places: Places::new(size.0 / SECTOR) })
    }

    fn ask(&mut self, request: &Request) -> io::Result<()> {
        let Request { ask, sector, sectors } = *request;
        self.direct.ask(ask, sector * SECTOR, sectors as usize * SECTOR as usize)
    }

    /// Sends this many requests with constant queue depth. Returns the elapsed time.
    fn keep(
        &mut self,
        depth: u64,
        count: u64,
        next: impl Fn(&mut Places, u64) -> Request,
    ) -> io::Result<u64> {
        let begun_ns = monotonic_ns();
        let (mut asked, mut done) = (0, 0);
        while done < count {
            while asked < count && asked - done < depth {
                let request = next(&mut self.places, asked);
                self.ask(&request)?;
                asked += 1;
            }
            done += self.direct.wait()?;
        }
        Ok(monotonic_ns() - begun_ns)
    }

    fn blocks(&mut self, ask: Ask, depth: u64, count: u64) -> io::Result<Taken> {
        let ns = self.keep(depth, count, |places, _| Request::block(ask, places))?;
        Ok(Taken { done: count, ns })
    }

    fn lone(&mut self, ask: Ask) -> io::Result<u64> {
        Ok(self.blocks(ask, 1, 1)?.ns)
    }

    fn lone_reads(&mut self, count: u64) -> io::Result<Taken> {
        let mut ns = 0;
        for _ in 0..count {
            ns += self.lone(Ask::Read)?;
            thread::sleep(Duration::from_nanos(self.places.below(PAUSE_NS)));
        }
        Ok(Taken { done: count, ns })
    }

    fn streams(&mut self, ask: Ask, pieces: u64) -> io::Result<Taken> {
        let mut ns = 0;
        for first in self.places.streams() {
            ns += self.keep(STREAM_DEPTH, pieces, |places, n| Request::piece(ask, places, first + n))?;
        }
        Ok(Taken { done: STREAM_PLACES * pieces * u64::from(STREAM) * SECTOR, ns })
    }

    fn writes(&mut self, seconds: u64) -> io::Result<Taken> {
        let begun_ns = monotonic_ns();
        let mut done = 0;
        while monotonic_ns() - begun_ns < seconds * 1_000_000_000 {
            self.blocks(Ask::Write, WRITE_DEPTH, WRITE_PART)?;
            done += WRITE_PART;
        }
        Ok(Taken { done, ns: monotonic_ns() - begun_ns })
    }

    fn syncs(&mut self, count: u64) -> io::Result<Taken> {
        let begun_ns = monotonic_ns();
        (0..count).try_for_each(|_| self.sync())?;
        Ok(Taken { done: count, ns: monotonic_ns() - begun_ns })
    }

    /// The kernel flushes if the disk has a volatile cache.
    fn sync(&mut self) -> io::Result<()> {
        self.lone(Ask::Write)?;
        self.direct.flush()
    }

    fn flushes(&mut self, writes: u64, times: u64) -> io::Result<Taken> {
        let mut ns = 0;
        for _ in 0..times {
            (0..writes).try_for_each(|_| self.lone(Ask::Write).map(drop))?;
            let begun_ns = monotonic_ns();
            self.direct.flush()?;
            ns += monotonic_ns() - begun_ns;
            thread::sleep(REST);
        }
        Ok(Taken { done: times, ns })
    }

    fn reads_beside_syncs(&mut self, device: &Path, seconds: u64) -> io::Result<Taken> {
        let direct = Direct::open(device, 1, BLOCK as usize * SECTOR as usize)?;
        let (places, is_over) = (self.places.of_another(), AtomicBool::new(false));
        let mut writer = Bench { direct, places };
        thread::scope(|scope| {
            let writing = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    writer.sync()?;
                }
                Ok(())
            });
            let read = self.reads(seconds);
            is_over.store(true, Ordering::Relaxed);
            let written = writing.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
            written.and(read)
        })
    }

    fn reads(&mut self, seconds: u64) -> io::Result<Taken> {
        let begun_ns = monotonic_ns();
        let mut done = 0;
        while monotonic_ns() - begun_ns < seconds * 1_000_000_000 {
            self.lone(Ask::Read)?;
            done += 1;
        }
        Ok(Taken { done, ns: monotonic_ns() - begun_ns })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// On a file beside the test program, instead of a device.
    #[test]
    fn every_kind_of_work_does_as_much_as_it_is_asked_for() {
        let path = std::env::current_exe().unwrap().with_extension("raw");
        let size = Bytes(4 << 20);
        fs::write(&path, vec![0; size.0 as usize]).unwrap();
        if let Err(e) = Direct::open(&path, 1, 4096) {
            return println!("skipped: {e}");
        }
        let piece = u64::from(STREAM) * SECTOR;
        for (asks, done) in [
            (Asks::LoneReads { count: 3 }, 3),
            (Asks::Reads { depth: 32, count: 70 }, 70),
            (Asks::StreamReads { pieces: 2 }, STREAM_PLACES * 2 * piece),
            (Asks::StreamWrites { pieces: 3 }, STREAM_PLACES * 3 * piece),
            (Asks::SteadyWrites { before: 40, count: 50 }, 50),
            (Asks::Syncs { count: 4 }, 4),
        ] {
            let phases = carry_out(&path, size, &RawWork { fill: false, asks }).unwrap();
            let [phase] = phases.as_slice() else { panic!("{asks:?}: {phases:?}") };
            assert!(phase.count(DONE) == done && phase.ns > 0, "{asks:?}: {phase:?}");
        }
        let until = carry_out(&path, size, &RawWork { fill: false, asks: Asks::UntilSteady }).unwrap();
        assert!((WINDOW..=MOST_ROUNDS).contains(&until.len()), "{until:?}");
        assert!(until.iter().all(|round| round.count(DONE) == size.0 / ROUND / 4096), "{until:?}");
        let kept = fs::read(&path).unwrap();
        assert!(
            kept.contains(&0) && kept.iter().any(|byte| *byte != 0),
            "it was written to, and not all over"
        );
        let asks = Asks::ReadsBesideSyncs { seconds: 0 };
        let beside = carry_out(&path, size, &RawWork { fill: false, asks }).unwrap();
        assert_eq!(beside[0].count(DONE), 0);
        let beyond =
            carry_out(&path, Bytes(1 << 40), &RawWork { fill: false, asks: Asks::LoneReads { count: 9 } });
        assert!(beyond.unwrap_err().to_string().contains("send requests to"));
        fs::remove_file(path).unwrap();
    }
}
