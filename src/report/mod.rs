//! Reports: what a run measured, for people and for programs. Records alone are read; nothing is measured here, and no
//! kind and no workload is known by its name.
//!
//! ```text
//! store::Run ──► Summary ──► terminal · html · markdown        what people read
//!      │            └──────► json                              the same, for programs
//!      └───────────────────► csv                               every trial × metric
//! ```
//!
//! A report shows medians, ranges and every single value; what it states as a finding comes from `verdict`.

mod absent;
mod capabilities;
mod chart;
pub mod csv;
mod disk;
mod ensemble;
mod heading;
pub mod html;
pub mod json;
mod latency;
pub mod markdown;
mod number;
mod published;
pub(crate) mod repeat;
mod sections;
pub mod summary;
pub mod terminal;
mod validity;

#[cfg(test)]
mod example;
#[cfg(test)]
mod example_letters;
#[cfg(test)]
mod example_model;
#[cfg(test)]
mod example_published;

use crate::analysis::metrics;
use crate::declared::Declared;
use crate::filesystems::{self, Filesystem};
use crate::store::Run;
use summary::Summary;

/// What a report looks up by a name that stands in a record; tests bring their own.
#[derive(Clone, Copy)]
struct Known {
    kind: fn(&str) -> Option<&'static dyn Filesystem>,
    /// What a workload's records may hold.
    metrics: fn(engine: &str) -> Vec<&'static Declared>,
}

/// A run with its summary: what every format is made from.
pub struct Report<'r> {
    pub run: &'r Run,
    pub summary: Summary,
}

impl<'r> Report<'r> {
    pub fn of(run: &'r Run) -> Self {
        Report::with(run, Known { kind: filesystems::find, metrics: metrics::declared_of })
    }

    fn with(run: &'r Run, known: Known) -> Self {
        Report { run, summary: Summary::of(run, known) }
    }
}

/// What is known to be unfair or easily misread, whatever was compared; `BIAS.md` has the whole list with its evidence.
const BIAS: &[&str] = &[
    "The state of the image before mkfs shifts the results of small random writes up to 1.6 times. All trials start in \
     the same state, but another state may give another picture.",
    "A memory limit counts dirty pages of some filesystems otherwise than of others: writeback that respects the \
     limit is not supported by all of them. A small machine is the fairer limit.",
    "What fits into memory is measured at the speed of the page cache and the processor, whatever the disk is.",
    "Filesystems promise different things: with and without a journal, checksums or ordered data. Speed beside unequal \
     promises is not a like-for-like comparison; the table of what each can do stands beside it.",
    "A disk that is a file on another filesystem adds that filesystem's own costs and its free space to every trial.",
];
