//! IOzone: one file, written and read in records of many sizes and in many orders.
//!
//! For each size of a file and each size of a record the file is made, the tests go through it one after the other, and it is deleted. The
//! orders and the system calls are those of IOzone 3; the content is not: the original writes one pattern again and again, which a
//! filesystem that compresses stores in nothing. Written from a description of its behaviour and of its traces, without its code.
//!
//! ```text
//! test  passes                        through the file
//! 0     write, rewrite                from the beginning to the end
//! 1     read, reread                  the same
//! 2     random read, random write     each record once, in one random order
//! 3     backward read                 from the last record to the first
//! 4     record rewrite                the first record again and again
//! 5     strided read                  every 17th record, and so on
//! 6     fwrite, frewrite              as 0, through a stream with a buffer as long as a record
//! 7     fread, freread                as 1, through such a stream
//! 8     mixed                         in random order, the first read, the second written …
//! ```
//! One engine serves trials (`trial`) and `fsderby iozone` (`dropins::iozone`). In both all that is read is looked at (`content`).
//!
//! # Where a trial differs from the original
//! - A test that only reads backward reads once; the original reads a second time and reports the first.
//! - The mixed test of the original takes several processes, each of which reads alone or writes alone. Ours does both in turns.
//! - Records may be as small as 64 bytes; the original's have 1 KiB at least.

use toml::Table;

use super::{ParamSet, Work, Workload};
use crate::schema::declared::Declared;
use crate::schema::scenario::{Stage, WorkStage};
use crate::schema::story::Story;
use crate::schema::units::Scale;

pub mod content;
pub mod matrix;
mod metrics;
pub mod orders;
pub mod parameters;
pub mod passes;
mod stream;
pub mod table;
pub mod trial;
mod twister64;

pub struct IoZone;

macro_rules! sets {
    ($($name:literal),* $(,)?) => {
        &[$(ParamSet { name: $name, toml: include_str!(concat!("sets/", $name, ".toml")) }),*]
    };
}

static SETS: &[ParamSet] = sets!["iozone-quick", "provao-iozone", "provao-iozone-as-printed"];

impl Workload for IoZone {
    fn name(&self) -> &'static str {
        "iozone"
    }

    fn story(&self) -> Story {
        Story {
            what: "Writes and reads one file with several record sizes: sequentially, repeatedly, at random, \
                backward, at a stride, and through C streams.",
            origin: "W. Norcott and D. Capps, IOzone 3. Access order and system calls are those of version 3.471; \
                the code is fsderby's own.",
            limits: "A client works on one file at a time and deletes it before the next, so nothing is \
                     fragmented. A file that fits into memory is read from the page cache, so a read test of it \
                     measures page cache and CPU. Without `fsync = true` a write counts before it reaches the \
                     disk.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        metrics::declared()
    }

    fn parts(&self) -> &'static [&'static str] {
        &table::NAMES
    }

    /// Nothing is remounted unless an experiment names the parts: the original does so where it is told to with -U.
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
