//! PostMark: the small files of a mail server, in one sequential program.
//!
//! N files of random sizes are created, T transactions run on them, and the remaining files are deleted. A transaction reads a
//! whole file or appends to a file, then creates or deletes a file. Operations are those of PostMark 1.5, 1.51 and 1.53 for the
//! same parameters and seed: same names, sizes, content and system calls. This code was written from a description of PostMark's
//! behaviour and from traces, without PostMark's code.
//!
//! One engine, two uses:
//! ```text
//! rules + seed → generator → drive → Files ─┬─ timed      a trial: strict, ns clock, histograms
//!                                           ├─ dropin     `fsderby postmark`: the original's reports and errors
//!                                           ├─ trace      the system calls, without making them
//!                                           ├─ content    content of the files, without writing them
//!                                           └─ dry        amount of work (expect: an estimate for large runs)
//! ```
//!
//! # Where the drop-in differs from the original
//! Each of the following kills the original by a signal. The drop-in refuses the run with advice on stderr, continues the script,
//! and exits with code 2:
//! - fewer than 10 transactions (the original divides by a tenth of their number);
//! - sizes or numbers of files of 2^30 and more (the original's tables are twice as long), or more than there is
//!   memory for;
//! - locations whose weights sum up to 2^30 or more.
//!
//! Names of locations longer than 80 bytes also kill the original; the drop-in accepts them.
//!
//! Scripts that load each other endlessly stop at [`dropins::postmark::DEEPEST_LOAD`]. The drop-in flushes standard output before
//! it writes to standard error or runs a shell; the original does not. So if both go into one file, the order of lines differs.
//!
//! # Defects that are kept
//! Times are whole seconds, and a time of zero counts as one second; byte sums are 32-bit floats; failed reads and writes are not
//! noticed; there is no report if the files run out. Trials have none of these defects. In drop-in and trial, one subdirectory has
//! the same effect as no subdirectory.

use toml::Table;

use super::{Content, ParamSet, Work, Workload};
use crate::schema::declared::Declared;
use crate::schema::description::Description;
use crate::schema::units::Scale;

mod content;
pub mod drive;
pub mod dry;
mod expect;
pub mod generator;
pub mod kernel;
mod latencies;
mod metrics;
pub mod names;
pub mod parameters;
pub mod rules;
pub mod stream;
mod taken;
mod timed;
pub mod trace;
mod trial;
mod twister;

pub struct PostMark;

macro_rules! sets {
    ($($name:literal),* $(,)?) => {
        &[$(ParamSet { name: $name, toml: include_str!(concat!("sets/", $name, ".toml")) }),*]
    };
}

static SETS: &[ParamSet] = sets![
    "postmark-quick",
    "postmark-first",
    "maildir-quick",
    "maildir-durable",
    "mail-spool",
    "office-files",
    "desktop-unpack",
    "desktop-save",
    "mail-2008-1",
    "mail-2008-1-as-printed",
    "mail-2008-2",
    "mail-2008-3",
    "fileserver-2002-1",
    "fileserver-2002-2",
    "fileserver-2002-3",
    "fileserver-2002-4",
    "fileserver-2002-5",
    "mailserver-2002-1",
    "mailserver-2002-2",
    "mailserver-2002-3",
    "mailserver-2002-4",
    "mailserver-2002-5",
    "mbox-2002-1",
    "mbox-2002-2",
    "mbox-2002-3",
    "mbox-2002-4",
    "mbox-2002-5",
];

impl Workload for PostMark {
    fn name(&self) -> &'static str {
        "postmark"
    }

    fn description(&self) -> Description {
        Description {
            what: "Creates a pool of small files; reads, appends to, creates and deletes files at random; deletes \
                   the rest. It simulates a mail server.",
            origin: "J. Katcher, \"PostMark: A New File System Benchmark\", Network Appliance TR3022, 1997. The \
                     operations are exactly those of versions 1.5 to 1.53; the code is fsderby's own.",
            limits: "A client never renames files or calls stat, and does one operation at a time. Without \
                     `fsync = true` nothing is forced to the disk, so a pool that fits into memory measures \
                     the page cache. All content comes from one printable text, so the content compresses and \
                     deduplicates far better than mail.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn content(&self) -> Content {
        Content::Text
    }

    fn declared(&self) -> Vec<&'static Declared> {
        metrics::declared()
    }

    fn timed(&self, _phase: &str) -> &'static [(&'static str, &'static str)] {
        latencies::COUNTS
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(parameters::Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        parameters::scale(parameters, by)
    }
}
