//! IOzone: one file, written and read with many record sizes and in many orders.
//!
//! For each file size and record size the file is created, the tests run on it in order, and it is deleted. Orders and system
//! calls are those of IOzone 3. The content differs: the original repeats one pattern, which a compressing filesystem stores in
//! almost no space. This code was written from a description of IOzone's behaviour and from traces, without IOzone's code.
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
//! One engine serves trials (`trial`) and `fsderby iozone` (`dropins::iozone`). Both check everything that they read (`content`).
//!
//! # Where a trial differs from the original
//! - The backward test reads once; the original reads a second time and reports the first.
//! - The original's mixed test needs several processes, each of which only reads or only writes. Here one client alternates.
//! - Records may be as small as 64 bytes; the original's minimum is 1 KiB.

use toml::Table;

use super::{ParamSet, Work, Workload};
use crate::schema::declared::Declared;
use crate::schema::description::Description;
use crate::schema::scenario::{Stage, WorkStage};
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

    fn description(&self) -> Description {
        Description {
            what: "Writes and reads one file with several record sizes: sequentially, repeatedly, at random, \
                backward, at a stride, and through C streams.",
            origin: "W. Norcott and D. Capps, IOzone 3. Access order and system calls are those of version 3.471; \
                the code is fsderby's own.",
            limits: "A client works on one file at a time and deletes it before the next, so nothing is \
                     fragmented. A file that fits into memory is read from the page cache, so a read test of \
                     it measures page cache and CPU. Without `fsync = true` the time of a write ends before \
                     its data reaches the disk.",
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

    /// Remounts only if an experiment names the parts; the original remounts only with -U.
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
