//! A histogram per operation, allocated before the run: recording never allocates.

use crate::workloads::{Clock, Histogram, Log};

/// Longer operations count as one hour.
const LONGEST_NS: u64 = 3600 * 1_000_000_000;
const DIGITS: u8 = 3;

/// An empty histogram of nanoseconds.
pub fn histogram() -> Histogram {
    let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
    histogram.expect("an hour in nanoseconds and three digits are valid bounds")
}

/// The histograms of an engine's operations, which the engine numbers from 0.
pub struct Latencies {
    names: &'static [&'static str],
    histograms: Vec<Histogram>,
}

impl Latencies {
    pub fn new(names: &'static [&'static str]) -> Self {
        Latencies { names, histograms: vec![histogram(); names.len()] }
    }

    #[inline]
    pub fn record(&mut self, operation: usize, ns: u64) {
        self.histograms[operation].saturating_record(ns);
    }

    /// Times one operation.
    #[inline]
    pub fn time<T, E>(
        &mut self,
        operation: usize,
        clock: &dyn Clock,
        act: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let begin = clock.now_ns();
        let done = act()?;
        self.record(operation, clock.now_ns() - begin);
        Ok(done)
    }

    /// Reports the histograms of a phase and resets them.
    pub fn report(&mut self, phase: &'static str, log: &mut dyn Log) {
        for (operation, histogram) in self.names.iter().zip(&mut self.histograms) {
            if !histogram.is_empty() {
                log.histogram(phase, operation, histogram);
                histogram.reset();
            }
        }
    }
}
