//! Bonnie++: one large file, written and read in several ways, and many small files that are made, looked at and deleted.
//!
//! What it does and when it looks at the clock is that of Bonnie++, for the same parameters and seed: same files, names and sizes, same
//! system calls in each phase. Written from a description of its behaviour and by watching it run, without its code. There are two of
//! them, because versions differ in what they time; [`rules::Semantics`] says how. A run follows one, and its metrics carry its name.
//!
//! ```text
//! rules + seed → random → tickets, names, sizes, orders       all drawn before anything is timed
//!                              │
//!                 trial: phase after phase ─┬─ data      the large file
//!                                           ├─ seeks     the same at random, by several seekers
//!                                           └─ folders   the small files
//!                 `fsderby bonnie` carries the same phases out and prints the original's tables
//! ```
//! Everything that is read is looked at: [`content`] says how far. The parts `write`, `char-read`, `block-read`, `seek` and `files` can be stages of
//! their own, so that an experiment may put a cold start between writing and reading, which the original does not.
//!
//! # Where a trial differs from the original
//! - Seekers start when all of them are ready, not after 3 or 5 seconds.
//! - The sync at the end of a phase is of the filesystem that is worked on: sync(2) would write the whole machine's data, other candidates'
//!   host included. `fsderby bonnie` calls sync(2).
//! - The CPU time of the seeks is what all threads used. The original counts it several times.
//! - Small files begin with eight bytes that say which one it is, so that reading can tell. The rest is zeros, as the original's.
//! - Classic seekers draw from the seed; the original's from its process number and the time.

use toml::Table;

use super::{ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Sheet};
use crate::schema::scenario::{Stage, WorkStage};
use crate::schema::story::Story;
use crate::schema::units::Scale;

pub mod content;
mod cpu;
mod data;
mod folders;
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

    fn story(&self) -> Story {
        Story {
            what: "Writes a large file, rewrites and reads it sequentially, and seeks in it; then creates many \
                   small files, stats and reads them, and deletes them, in order and at random.",
            origin: "T. Bray, Bonnie, 1990; R. Coker, Bonnie++, 1999 to today. The operations are those of versions 1.0x \
                     (semantics classic) and 1.9x and 2.00 (semantics 2.00); the code is fsderby's own.",
            limits: "A data file that fits into memory measures the page cache, and with `semantics = classic` \
                     nothing else: without an fsync nothing has to reach the disk. The data is nearly constant, \
                     so a compressing filesystem writes almost nothing. The single-character tests measure the \
                     CPU; in 1.0x they use fsderby's buffer instead of the C library's.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
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

    /// All in one go where no part is named, as the original does it: what it has written it reads from memory, if there is enough.
    fn scenario(&self, work: &WorkStage) -> Vec<Stage> {
        vec![Stage::Work(work.clone())]
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(parameters::Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        parameters::scale(parameters, by)
    }
}
