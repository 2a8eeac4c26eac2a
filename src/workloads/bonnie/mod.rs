//! Bonnie++: one large file, written and read in several ways, and many small files that are created, read and deleted.
//!
//! Files, names, sizes, system calls and timing are those of Bonnie++ for the same parameters and seed. This code was written
//! from a description of Bonnie++'s behaviour and from traces, without Bonnie++'s code. Versions of Bonnie++ differ in what they
//! time, so there are two [`rules::Semantics`]. A run follows one of them, and the run's metrics have that semantics in their name.
//!
//! ```text
//! rules + seed → random → tickets, names, sizes, orders       all drawn before anything is timed
//!                              │
//!                 trial: phase after phase ─┬─ data      the large file
//!                                           ├─ seeks     the large file at random, by several seekers
//!                                           └─ folders   the small files
//!                 `fsderby bonnie` runs the same phases and prints the original's tables
//! ```
//! Everything that is read is checked; see [`content`]. The parts `write`, `char-read`, `block-read`, `seek` and `files` can be
//! separate stages, so that an experiment can put a cold start between writing and reading, unlike the original.
//!
//! # Where a trial differs from the original
//! - Seekers start when all are ready, not after 3 or 5 seconds.
//! - The sync at the end of a phase is syncfs(2) of the tested filesystem; sync(2) would also write other filesystems' data.
//!   `fsderby bonnie` calls sync(2).
//! - The CPU time of the seeks is counted once, over all threads; the original counts it once per seeker.
//! - Small files begin with eight bytes that identify the file, so that reads can be checked. All other bytes are zeros, as in
//!   the original.
//! - With classic semantics the seekers draw positions from the seed; the original draws them from process ID and time.

use toml::Table;

use super::{Content, ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Sheet};
use crate::schema::description::Description;
use crate::schema::scenario::{Stage, WorkStage};
use crate::schema::units::Scale;

pub mod content;
mod cpu;
mod data;
mod folders;
pub mod lines;
mod metrics;
pub mod parameters;
mod random;
pub mod rules;
mod seeks;
pub mod small;
pub mod trial;

pub struct Bonnie;

macro_rules! sets {
    ($($name:literal),* $(,)?) => {
        &[$(ParamSet { name: $name, toml: include_str!(concat!("sets/", $name, ".toml")) }),*]
    };
}

static SETS: &[ParamSet] = sets!["bonnie-quick", "raid-backup", "provao-1g", "provao-2g", "provao-4g"];

impl Workload for Bonnie {
    fn name(&self) -> &'static str {
        "bonnie"
    }

    fn sheets(&self) -> &'static [Sheet] {
        &metrics::SHEETS
    }

    fn description(&self) -> Description {
        Description {
            what: "Writes a large file, rewrites and reads it sequentially, and seeks in it; then creates many \
                   small files, stats and reads them, and deletes them, in order and at random.",
            origin: "T. Bray, Bonnie, 1990; R. Coker, Bonnie++, 1999 to today. The operations are those of versions 1.0x \
                     (semantics classic) and 1.9x and 2.00 (semantics 2.00); the code is fsderby's own.",
            limits: "A data file that fits into memory is served from the page cache. With `semantics = \
                     classic` there is no fsync, so the data of such a file need not reach the disk at all. \
                     The data is nearly constant, so a compressing filesystem writes almost nothing. The \
                     single-character tests measure the CPU; in 1.0x they use fsderby's buffer instead of the \
                     C library's.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn content(&self) -> Content {
        Content::Constant
    }

    fn declared(&self) -> Vec<&'static Declared> {
        metrics::declared()
    }

    fn timed(&self, phase: &str) -> &'static [(&'static str, &'static str)] {
        trial::timed(phase)
    }

    fn parts(&self) -> &'static [&'static str] {
        &trial::PART_NAMES
    }

    /// Runs all phases in one process if no part is named, like the original: data that fits into memory is then read from memory.
    fn scenario(&self, _work: &dyn Work, work: &WorkStage) -> Vec<Stage> {
        vec![Stage::Work(work.clone())]
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(parameters::Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        parameters::scale(parameters, by)
    }
}
