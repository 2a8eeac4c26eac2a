//! The phases of a run: each is timed as a whole, and each of its operations individually.

use std::sync::atomic::Ordering::Relaxed;

use super::Latencies;
use crate::workloads::{Cause, Clock, Log, OpError, Phase, Progress};

/// Counts of a phase by name: `files`, `bytes_written`.
pub type Counts = Vec<(&'static str, u64)>;

/// Runs and reports the phases of a run, in order.
pub struct Phases<'a> {
    clock: &'a dyn Clock,
    log: &'a mut dyn Log,
    latencies: &'a mut Latencies,
    stops: bool,
}

/// What a phase's operations need: the clock, the latencies and the progress.
pub struct Under<'a> {
    pub clock: &'a dyn Clock,
    pub latencies: &'a mut Latencies,
    progress: &'a Progress,
    stops: bool,
    begin_ns: u64,
}

impl<'a> Phases<'a> {
    /// Prepares the phases of a run of this many operations.
    pub fn new(
        clock: &'a dyn Clock,
        log: &'a mut dyn Log,
        latencies: &'a mut Latencies,
        operations: u64,
    ) -> Self {
        log.progress().total.store(operations, Relaxed);
        Phases { clock, log, latencies, stops: false }
    }

    /// Stops the run after this many operations, if given.
    pub fn stop_after(self, operations: Option<u64>) -> Self {
        if let Some(operations) = operations {
            self.log.progress().total.fetch_min(operations, Relaxed);
        }
        Phases { stops: operations.is_some(), ..self }
    }

    /// Runs one phase. Only `work` is timed; it returns the phase's counts. If the run stops within the phase, the phase has no
    /// counts and no phase follows.
    pub fn run(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Under<'_>) -> Result<Counts, OpError>,
    ) -> Result<(), OpError> {
        let Phases { clock, log, latencies, stops } = self;
        if *stops && is_over(log.progress()) {
            return Ok(());
        }
        let (begin_ns, progress) = (clock.now_ns(), log.progress());
        let mut under = Under { clock: *clock, latencies, progress, stops: *stops, begin_ns };
        let counts = match work(&mut under) {
            Err(OpError { cause: Cause::Stopped, .. }) => Vec::new(),
            other => other?,
        };
        let begin_ns = under.begin_ns;
        let ns = clock.now_ns() - begin_ns;
        if is_over(log.progress()) {
            log.finished();
        }
        log.phase(phase(name, ns, counts));
        latencies.report(name, *log);
        Ok(())
    }

    /// Untimed work between two phases.
    pub fn between(&mut self, act: impl FnOnce() -> Result<(), OpError>) -> Result<(), OpError> {
        if self.stops && is_over(self.log.progress()) { Ok(()) } else { act() }
    }
}

impl<'a> Under<'a> {
    /// Starts the phase's time now: earlier steps of the phase, such as opening a file, are not timed.
    pub fn begin(&mut self) {
        self.begin_ns = self.clock.now_ns();
    }

    /// The progress, for threads, which cannot share the other fields.
    pub fn progress(&self) -> &'a Progress {
        self.progress
    }

    /// Called before an operation: fails if the run is to stop at this operation.
    #[inline]
    pub fn may(&self) -> Result<(), OpError> {
        if self.stops && is_over(self.progress) {
            return Err(OpError { operation: "go on", path: ".".into(), cause: Cause::Stopped });
        }
        Ok(())
    }

    /// Times one operation of the run and counts it in the progress.
    #[inline]
    pub fn time<T>(
        &mut self,
        operation: usize,
        act: impl FnOnce() -> Result<T, OpError>,
    ) -> Result<T, OpError> {
        self.may()?;
        let done = self.latencies.time(operation, self.clock, act)?;
        self.progress.step();
        Ok(done)
    }

    /// Counts one operation whose caller has timed it.
    #[inline]
    pub fn done(&mut self, operation: usize, begin_ns: u64) {
        self.latencies.record(operation, self.clock.now_ns() - begin_ns);
        self.progress.step();
    }

    /// Counts one operation in the progress.
    #[inline]
    pub fn step(&self) {
        self.progress.step();
    }
}

fn is_over(progress: &Progress) -> bool {
    progress.done.load(Relaxed) >= progress.total.load(Relaxed)
}

fn phase(name: &str, ns: u64, counts: Counts) -> Phase {
    let counts = counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
    Phase { name: name.to_owned(), ns, counts }
}
