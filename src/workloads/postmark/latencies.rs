//! A histogram for each kind of operation, made before the run, so that recording never allocates.

use crate::workloads::{Histogram, Log};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From open to close, an fsync included; so are the next two.
    Create,
    Append,
    Read,
    Delete,
    Fsync,
}

const NAMES: [&str; 5] = ["create", "append", "read", "delete", "fsync"];

/// Each with the count of a phase that says how many there were.
pub const COUNTS: &[(&str, &str)] = &[
    ("create", "created"),
    ("append", "appended"),
    ("read", "read"),
    ("delete", "deleted"),
    ("fsync", "fsyncs"),
];

/// One operation that takes an hour counts as one of an hour.
const LONGEST_NS: u64 = 3600 * 1_000_000_000;
const DIGITS: u8 = 3;

pub struct Latencies([Histogram; 5]);

impl Latencies {
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        let histogram = histogram.expect("an hour in nanoseconds and three digits are valid bounds");
        Latencies(std::array::from_fn(|_| histogram.clone()))
    }

    #[inline]
    pub fn record(&mut self, kind: Kind, ns: u64) {
        self.0[kind as usize].saturating_record(ns);
    }

    /// Hands out what a phase has brought, and starts anew.
    pub fn report(&mut self, phase: &'static str, log: &mut dyn Log) {
        for (operation, histogram) in NAMES.into_iter().zip(&mut self.0) {
            if !histogram.is_empty() {
                log.histogram(phase, operation, histogram);
                histogram.reset();
            }
        }
    }
}
