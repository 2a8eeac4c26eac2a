//! The phases of a run: each is timed as a whole, and each of its operations by itself.

use std::sync::atomic::Ordering::Relaxed;

use super::Latencies;
use crate::workloads::{Clock, Log, OpError, Phase, Progress};

/// What a phase did, by name: `files`, `bytes_written`.
pub type Counts = Vec<(&'static str, u64)>;

/// Tells the phases of a run, one after the other.
pub struct Phases<'a> {
    clock: &'a dyn Clock,
    log: &'a mut dyn Log,
    latencies: &'a mut Latencies,
}

/// What the operations of a phase need: the clock between them, and where they are told.
pub struct Under<'a> {
    pub clock: &'a dyn Clock,
    pub latencies: &'a mut Latencies,
    progress: &'a Progress,
    begin_ns: u64,
}

impl<'a> Phases<'a> {
    /// Of a run that has so many operations.
    pub fn new(
        clock: &'a dyn Clock,
        log: &'a mut dyn Log,
        latencies: &'a mut Latencies,
        operations: u64,
    ) -> Self {
        log.progress().total.store(operations, Relaxed);
        Phases { clock, log, latencies }
    }

    /// One phase. Only `work` is timed; it says what it did.
    pub fn run(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Under<'_>) -> Result<Counts, OpError>,
    ) -> Result<(), OpError> {
        let Phases { clock, log, latencies } = self;
        let begin_ns = clock.now_ns();
        let mut under = Under { clock: *clock, latencies, progress: log.progress(), begin_ns };
        let counts = work(&mut under)?;
        let begin_ns = under.begin_ns;
        let ns = clock.now_ns() - begin_ns;
        let Progress { done, total, .. } = log.progress();
        if done.load(Relaxed) == total.load(Relaxed) {
            log.finished();
        }
        log.phase(phase(name, ns, counts));
        latencies.report(name, *log);
        Ok(())
    }
}

impl<'a> Under<'a> {
    /// The phase begins only here: what was done before, such as opening a file, is not timed.
    pub fn begin(&mut self) {
        self.begin_ns = self.clock.now_ns();
    }

    /// For threads, which cannot share the rest.
    pub fn progress(&self) -> &'a Progress {
        self.progress
    }

    /// One operation of the run: timed, and counted in its progress.
    #[inline]
    pub fn time<T>(
        &mut self,
        operation: usize,
        act: impl FnOnce() -> Result<T, OpError>,
    ) -> Result<T, OpError> {
        let done = self.latencies.time(operation, self.clock, act)?;
        self.progress.step();
        Ok(done)
    }

    /// The same of one that is timed where it is done.
    #[inline]
    pub fn done(&mut self, operation: usize, begin_ns: u64) {
        self.latencies.record(operation, self.clock.now_ns() - begin_ns);
        self.progress.step();
    }

    /// One operation in its progress.
    #[inline]
    pub fn step(&self) {
        self.progress.step();
    }
}

fn phase(name: &str, ns: u64, counts: Counts) -> Phase {
    let counts = counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
    Phase { name: name.to_owned(), ns, counts }
}
