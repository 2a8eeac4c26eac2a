//! Cold reading: reads files that were written earlier and are not in memory.
//!
//! The workload makes a tree of small, medium and a few large files from the seed. Then it walks the tree, reads it in directory
//! order, in random order and at random offsets, and deletes it, each time after a cold start. Each of these steps is a separate
//! part (see [`super::Workload::parts`]), so no part benefits from data that another part has cached.
//!
//! ```text
//! part  phase           operations                                               similar work after a server's restart
//! 0     create          every file is written, folder by folder                  (files from before the restart)
//! 1     walk            every folder is read, every entry is stat'ed             find, an incremental backup
//! 2     read-ordered    every file is read completely, in directory order        a full backup
//! 3     read-random     every file but the large ones is read in random order    a web, file or mail server's first hour
//! 4     pread-random    single blocks of 4 KiB of the large files, at random     a database
//! 5     delete          every file and folder deleted, in the folders' order     rm -r
//! ```
//! The content is noise and differs between files, so no filesystem can compress or deduplicate it. Each read checks the file's
//! size, and sixteen bytes of every 128 KiB, which identify file and offset.

use toml::Table;

use super::{ParamSet, Work, Workload};
use crate::schema::declared::Declared;
use crate::schema::description::Description;
use crate::schema::units::Scale;

mod metrics;
pub mod parameters;
mod tree;
mod trial;

pub struct ColdRead;

static SETS: &[ParamSet] = &[
    ParamSet { name: "coldread-quick", toml: include_str!("sets/coldread-quick.toml") },
    ParamSet { name: "coldread", toml: include_str!("sets/coldread.toml") },
];

impl Workload for ColdRead {
    fn name(&self) -> &'static str {
        "coldread"
    }

    fn description(&self) -> Description {
        Description {
            what: "Walks and reads existing files with cold caches: in directory order, in random order, and in \
                   single blocks at random; then deletes them. The filesystem is unmounted and mounted again \
                   before each phase.",
            origin: "fsderby's own. File sizes: N. Agrawal, A. Arpaci-Dusseau and R. Arpaci-Dusseau, \
                     \"Generating Realistic Impressions for File-System Benchmarking\", FAST 2009. The \
                     access patterns are those of find, tar, Bonnie++ and fio.",
            limits: "With one client the queue depth is 1, plus the kernel's read-ahead. With --on model all clients \
                     share one vCPU. The tree is written in one go to an empty filesystem, so nothing is aged or \
                     fragmented.",
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
        &trial::NAMES
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(parameters::Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        parameters::scale(parameters, by)
    }
}
