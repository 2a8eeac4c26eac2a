//! Random seeks: several seekers take tickets from one pipe. For each ticket a seeker reads a random chunk, and rewrites a tenth
//! of the chunks.
//!
//! ```text
//!           tickets            end marks
//! pipe ──▶ 17 -40 3 99 … 12 │ END END END ──▶ seeker: lseek, read; for an update also lseek, write
//! ```
//! In 1.9x and 2.00 a ticket is a position. A position that is a multiple of 10 is written as a negative number and requests an
//! update. In 1.0x tickets are empty; each seeker draws its own positions and updates every tenth chunk.
//!
//! Seekers are threads, as in 2.00. In 1.0x seekers were processes; the filesystem sees no difference, since each seeker has its
//! own descriptor and position. Threads end with their process, belong to its cgroup, and share clock, sandbox and counters.
//! Seekers start when all have opened the file; the original sleeps 3 or 5 seconds instead.
//!
//! Seekers do not lock, so one of two simultaneous updates of a chunk can be lost. The check of the data allows for lost updates:
//! a byte may be too low by at most the number of updates of its chunk.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rustix::fs::SeekFrom;
use rustix::pipe::{PipeFlags, pipe_with};

use super::content::Chunk;
use super::cpu::Cpu;
use super::data::{DataFile, Opened};
use super::random::Random;
use super::rules::{Rules, Semantics};
use crate::workloads::kit::files::{self, failed};
use crate::workloads::kit::{Counts, Under};
use crate::workloads::{OpError, Progress};

/// The ticket that ends a seeker, in 1.9x and 2.00.
const END: i32 = i32::MIN;
/// A ticket without a position, in 1.0x.
const GO: u8 = 1;
const STOP: u8 = 0;
/// One of this many chunks is updated.
const UPDATED: u32 = 10;
const PIPE: &str = "the pipe that distributes the seeks";
/// Number of the operation whose latencies are recorded.
const SEEK: usize = 4;

/// The tickets of all seekers, made before timing starts.
pub struct Tickets {
    /// The tickets as written to the pipe, including the tickets that end the seekers.
    bytes: Vec<u8>,
    size: usize,
    seeks: u32,
    /// For each chunk that may be updated, the largest possible number of updates.
    updates: HashMap<u64, u32>,
    /// 1.0x: the seekers' seeds.
    seeds: Vec<u32>,
}

impl Tickets {
    /// No tickets, for a run without a data file.
    pub fn none() -> Self {
        Tickets { bytes: Vec::new(), size: 1, seeks: 0, updates: HashMap::new(), seeds: Vec::new() }
    }

    /// 1.9x and 2.00: draws a number for each ticket from `random`. 1.0x: draws none.
    pub fn draw(rules: &Rules, random: &mut Random) -> Self {
        let mut tickets = Tickets { seeks: rules.seeks, ..Tickets::none() };
        match rules.semantics {
            Semantics::Second => tickets.places(rules, random),
            Semantics::Classic => tickets.plain(rules),
        }
        tickets
    }

    fn places(&mut self, rules: &Rules, random: &mut Random) {
        self.size = size_of::<i32>();
        for _ in 0..rules.seeks {
            let drawn = random.draw().cast_signed();
            let updates = drawn.unsigned_abs().is_multiple_of(UPDATED);
            if updates {
                self.count(u64::from(drawn.unsigned_abs()) % rules.chunks);
            }
            let ticket = if updates { -drawn } else { drawn };
            self.bytes.extend_from_slice(&ticket.to_ne_bytes());
        }
        (0..rules.seekers).for_each(|_| self.bytes.extend_from_slice(&END.to_ne_bytes()));
    }

    /// A seeker may take all tickets or none, so every update that any seeker could do is counted.
    fn plain(&mut self, rules: &Rules) {
        self.size = 1;
        self.bytes = vec![GO; rules.seeks as usize];
        self.bytes.extend(vec![STOP; rules.seekers as usize]);
        self.seeds = (1..=rules.seekers).map(|seeker| rules.seed.wrapping_add(seeker)).collect();
        for seed in self.seeds.clone() {
            let mut own = Own::new(seed);
            for _ in 0..rules.seeks {
                let next = own.next(rules.chunks, rules.chunk);
                if next.updated.is_some() {
                    self.count(next.chunk);
                }
            }
        }
    }

    fn count(&mut self, chunk: u64) {
        *self.updates.entry(chunk).or_default() += 1;
    }

    /// By how much a byte of this chunk may be too low. A number above 255 allows any value, because the byte could have wrapped.
    fn lowered(&self, chunk: u64) -> u32 {
        self.updates.get(&chunk).copied().unwrap_or(0)
    }

    /// The expected number of updates; in 1.0x the real number differs by at most one per seeker.
    pub fn expected_updates(&self) -> u64 {
        if self.seeds.is_empty() {
            let tickets = self.bytes.chunks_exact(self.size).map(place).filter(|place| *place != END);
            return tickets.filter(|place| *place < 0).count() as u64;
        }
        u64::from(self.seeks.div_ceil(UPDATED))
    }
}

fn place(ticket: &[u8]) -> i32 {
    ticket.try_into().map_or(END, i32::from_ne_bytes)
}

/// One seek.
struct Next {
    chunk: u64,
    /// The byte that is decremented, if the chunk is rewritten.
    updated: Option<usize>,
}

/// The positions of one seeker in 1.0x.
struct Own {
    random: Random,
    done: u32,
}

impl Own {
    fn new(seed: u32) -> Self {
        Own { random: Random::new(seed), done: 0 }
    }

    fn next(&mut self, chunks: u64, bytes: u32) -> Next {
        let chunk = u64::from(self.random.draw()) % chunks;
        let updates = self.done.is_multiple_of(UPDATED);
        self.done += 1;
        Next { chunk, updated: updates.then(|| self.random.below(bytes) as usize) }
    }
}

/// The counts of one seeker.
#[derive(Default)]
struct Done {
    seeks: u64,
    updates: u64,
    fsyncs: u64,
    latencies_ns: Vec<u64>,
}

impl Done {
    fn plus(mut self, other: Done) -> Done {
        self.seeks += other.seeks;
        self.updates += other.updates;
        self.fsyncs += other.fsyncs;
        self.latencies_ns.extend(other.latencies_ns);
        self
    }
}

/// Runs all seekers, from the first ticket until the last seeker has closed its file.
pub struct Seeks<'a> {
    pub rules: &'a Rules,
    pub tickets: &'a Tickets,
    pub file: &'a DataFile,
    /// One per seeker.
    pub buffers: Vec<&'a mut [u8]>,
}

impl Seeks<'_> {
    /// Timing starts when all seekers have opened the file, before the first seeker gets a ticket.
    pub fn run(self, under: &mut Under<'_>) -> Result<Counts, OpError> {
        let Seeks { rules, tickets, file, buffers } = self;
        let main = file.open()?;
        let (take, give) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| failed("make", PIPE, e))?;
        let take = Arc::new(take);
        let (is_ready, ready) = channel();
        let (progress, now_ns) = (under.progress(), under.clock.of_threads());
        thread::scope(|scope| {
            let mut seekers = Vec::new();
            for (number, buffer) in buffers.into_iter().enumerate() {
                let own = tickets.seeds.get(number).map(|seed| Own::new(*seed));
                let seeker = Seeker { rules, tickets, own, buffer, progress, now_ns };
                let (take, is_ready) = (take.clone(), is_ready.clone());
                let work = move || seeker.work(file, take, is_ready);
                // If one seeker cannot be started, the other seekers find the pipe closed and end.
                let seeker = thread::Builder::new().spawn_scoped(scope, work);
                seekers.push(seeker.map_err(|e| failed("start", "a seeker", e))?);
            }
            drop((take, is_ready));
            let all_ready = ready.iter().count() == seekers.len();
            under.begin();
            let cpu = Cpu::begin();
            let given = if all_ready {
                hand_out(give, &tickets.bytes)
            } else {
                drop(give);
                Ok(())
            };
            let closed = main.close(rules.syncs_data());
            // Waits for all seekers. A seeker's error takes precedence over a broken pipe.
            let ended: Vec<_> = seekers.into_iter().map(|seeker| seeker.join()).collect();
            let mut done = Done::default();
            for one in ended {
                done = done.plus(one.unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            given.and(closed)?;
            let cpu_ns = cpu.used_ns();
            done.latencies_ns.iter().for_each(|ns| under.latencies.record(SEEK, *ns));
            let bytes = |n: u64| n * u64::from(rules.chunk);
            Ok(vec![
                ("seeks", done.seeks),
                ("updates", done.updates),
                ("bytes_read", bytes(done.seeks)),
                ("bytes_written", bytes(done.updates)),
                ("fsyncs", done.fsyncs),
                ("cpu_ns", cpu_ns),
            ])
        })
    }
}

/// Writes all tickets, in as few calls as the pipe allows.
fn hand_out(give: OwnedFd, tickets: &[u8]) -> Result<(), OpError> {
    files::write_all(&give, PIPE, tickets)
}

struct Seeker<'a> {
    rules: &'a Rules,
    tickets: &'a Tickets,
    /// The seeker's own positions, in 1.0x only.
    own: Option<Own>,
    buffer: &'a mut [u8],
    progress: &'a Progress,
    now_ns: fn() -> u64,
}

impl Seeker<'_> {
    fn work(mut self, file: &DataFile, take: Arc<OwnedFd>, is_ready: Sender<()>) -> Result<Done, OpError> {
        let opened = file.open()?;
        let expected = 2 * self.rules.seeks / self.rules.seekers;
        let mut done = Done { latencies_ns: Vec::with_capacity(expected as usize), ..Done::default() };
        // An error means that nobody waits for this seeker any more; the pipe is then closed.
        let _ = is_ready.send(());
        drop(is_ready);
        while let Some(next) = self.next(&take)? {
            let begin = (self.now_ns)();
            self.seek(&opened, &next, &mut done)?;
            done.latencies_ns.push((self.now_ns)() - begin);
            done.seeks += 1;
            self.progress.step();
        }
        drop(take);
        if self.rules.syncs_data() {
            done.fsyncs += 1;
        }
        opened.close(self.rules.syncs_data())?;
        if self.rules.semantics == Semantics::Second {
            // Each seeker deletes the file at its end, although other seekers may still have the file open.
            file.remove()?;
        }
        Ok(done)
    }

    fn next(&mut self, take: &OwnedFd) -> Result<Option<Next>, OpError> {
        let mut ticket = [0; size_of::<i32>()];
        let ticket = &mut ticket[..self.tickets.size];
        if files::read(take, PIPE, &mut *ticket)? < ticket.len() {
            return Ok(None);
        }
        let Rules { chunks, chunk, .. } = *self.rules;
        Ok(match &mut self.own {
            Some(_) if *ticket == [STOP] => None,
            Some(own) => Some(own.next(chunks, chunk)),
            None => match place(ticket) {
                END => None,
                place => {
                    let number = u64::from(place.unsigned_abs()) % chunks;
                    let marked = (number % u64::from(chunk)) as usize;
                    Some(Next { chunk: number, updated: (place < 0).then_some(marked) })
                }
            },
        })
    }

    fn seek(&mut self, opened: &Opened<'_>, next: &Next, done: &mut Done) -> Result<(), OpError> {
        let chunk = Chunk::new(next.chunk, self.rules.chunk as usize, true);
        let (file, begin) = opened.place(&chunk);
        opened.seek(file, SeekFrom::Start(begin))?;
        opened.read(file, self.buffer)?;
        opened.check(&chunk, self.buffer, || self.tickets.lowered(next.chunk))?;
        let Some(at) = next.updated else { return Ok(()) };
        self.buffer[at] = self.buffer[at].wrapping_sub(1);
        opened.seek(file, SeekFrom::Start(begin))?;
        opened.write(file, self.buffer)?;
        done.updates += 1;
        if self.rules.fsync {
            opened.fsync(file)?;
            done.fsyncs += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::Parameters;
    use super::*;

    fn rules(text: &str) -> Rules {
        Parameters::parse(&text.parse().expect("TOML")).expect("parameters").rules
    }

    #[test]
    fn tickets_are_those_of_the_original() {
        let rules =
            rules("semantics = '2.00'\nsize = '1m'\nchunk = '256k'\nseeks = 20\nseekers = 2\nseed = 42");
        let tickets = Tickets::draw(&rules, &mut Random::new(42));
        let places: Vec<i32> = tickets.bytes.chunks_exact(4).map(place).collect();
        // The first bytes written to the pipe, from strace.
        assert_eq!(tickets.bytes[..8], *b"F\xbeH\x04\x9c\xbb\xc3\xd5");
        assert_eq!(places[..3].iter().map(|p| p.unsigned_abs() % 4).collect::<Vec<_>>(), [2, 0, 1]);
        assert_eq!((places.len(), &places[20..]), (22, &[END; 2][..]));
        assert!(places[..20].iter().all(|p| (*p < 0) == (p.unsigned_abs() % 10 == 0)));
        let updates: u32 = tickets.updates.values().sum();
        assert_eq!(u64::from(updates), tickets.expected_updates());
    }

    #[test]
    fn a_classic_seeker_updates_each_tenth_of_its_own() {
        let rules = rules("semantics = 'classic'\nsize = '1m'\nseeks = 100\nseekers = 3");
        let tickets = Tickets::draw(&rules, &mut Random::new(1));
        assert_eq!((tickets.bytes.len(), tickets.size, tickets.expected_updates()), (103, 1, 10));
        let mut own = Own::new(tickets.seeds[0]);
        let updated: Vec<u32> = (0..30).filter(|_| own.next(128, 8192).updated.is_some()).collect();
        assert_eq!(updated, [0, 10, 20]);
        let all: u32 = tickets.updates.values().sum();
        assert_eq!(all, 30, "what each of three would update, if it drew all tickets");
    }
}
