//! Random seeks: several seekers draw tickets from one pipe, and each reads a chunk at random; a tenth is written again.
//!
//! ```text
//!           tickets            end marks
//! pipe ──▶ 17 -40 3 99 … 12 │ END END END ──▶ seeker: lseek, read; where it updates, lseek, write
//! ```
//! In 1.9x and 2.00 a ticket says the place, and is negative where the chunk is to be updated: that is every one that 10 divides. In
//! 1.0x a ticket says nothing; each seeker draws its own places and updates each tenth of them.
//!
//! Seekers are threads. In 2.00 they are; in 1.0x they were processes, of which the filesystem sees the same: each has a descriptor of its
//! own, and so a position of its own. Threads end with their process however it dies, count for it in the memory group, and one clock,
//! sandbox and set of counters serve all. They start together when all of them have opened the file, where the original sleeps for 3 or 5
//! seconds to be sure of it.
//!
//! Seekers do not lock each other out, so of two updates of one chunk at a time one can be lost. What is read is checked with that in mind:
//! a byte may be lower than it was by as many updates as there are for its chunk, and no more.

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

/// The end mark among places.
const END: i32 = i32::MIN;
/// Among tickets that say nothing.
const GO: u8 = 1;
const STOP: u8 = 0;
/// One of so many is updated.
const UPDATED: u32 = 10;
const PIPE: &str = "the pipe that hands out seeks";
/// The operation whose latencies are told.
const SEEK: usize = 4;

/// What all seekers know, made before anything is timed.
pub struct Tickets {
    /// As they go through the pipe, the end marks included.
    bytes: Vec<u8>,
    size: usize,
    seeks: u32,
    /// How often each chunk that may be updated is, at most.
    updates: HashMap<u64, u32>,
    /// Of 1.0x: what each seeker draws from.
    seeds: Vec<u32>,
}

impl Tickets {
    /// Of a run without a data file.
    pub fn none() -> Self {
        Tickets { bytes: Vec::new(), size: 1, seeks: 0, updates: HashMap::new(), seeds: Vec::new() }
    }

    /// Takes a number for each from `random` in 1.9x and 2.00, and none in 1.0x.
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

    /// A seeker may draw all tickets or none, so all that each would update is counted.
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

    /// By how much a byte of this chunk may be lower; by any value where a byte could have gone all the way round.
    fn lowered(&self, chunk: u64) -> u32 {
        self.updates.get(&chunk).copied().unwrap_or(0)
    }

    /// How many are updated: of 1.0x to within one a seeker.
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
    /// The byte that is lowered, where the chunk is written again.
    updated: Option<usize>,
}

/// The places of one seeker of 1.0x.
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

/// What a seeker has done.
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

/// All seekers, from the first ticket to the last one's close.
pub struct Seeks<'a> {
    pub rules: &'a Rules,
    pub tickets: &'a Tickets,
    pub file: &'a DataFile,
    /// One a seeker.
    pub buffers: Vec<&'a mut [u8]>,
}

impl Seeks<'_> {
    /// What is timed begins when all have opened the file and before the first gets a ticket.
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
                // Where one cannot be started, the others find the pipe closed and end.
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
            // All are waited for; what one of them met comes before that nobody took the tickets.
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

/// All tickets in as few calls as the pipe takes.
fn hand_out(give: OwnedFd, tickets: &[u8]) -> Result<(), OpError> {
    files::write_all(&give, PIPE, tickets)
}

struct Seeker<'a> {
    rules: &'a Rules,
    tickets: &'a Tickets,
    /// Of 1.0x.
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
        // Who does not wait for it any more closes the pipe.
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
            // Each that ends deletes it, though others may still have it open.
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
        // The first bytes of the one write into the pipe, seen by strace.
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
