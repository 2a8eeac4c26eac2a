//! Cold reading: files that were written earlier are read while nothing of them is in memory.
//!
//! A tree of small and middle-sized files and a few large ones is made from the seed, and then, each time after a cold
//! start, walked, read in the order in which its folders name it, read in random order, read at random places, and
//! deleted. Each is a part of its own (see [`super::Workload::parts`]): what one has brought into memory never serves another.
//!
//! ```text
//! part  phase           what is done                                             after a server's restart it is
//! 0     create          every file written, folder by folder                     (what was there before)
//! 1     walk            every folder read, every entry's status asked for        find, a backup that looks for changes
//! 2     read-ordered    every file read whole, in the order of its folder        a full backup
//! 3     read-random     every file but the large ones read whole, at random      a web, file or mail server's first hour
//! 4     pread-random    single blocks of 4 KiB of the large files, at random     a database
//! 5     delete          every file and folder deleted, in the folders' order     rm -r
//! ```
//! Each file's content is noise, no two alike, so that no filesystem stores it smaller than it is. What is read is looked at: the
//! size of each file, and sixteen bytes of every 128 KiB, which say of which file and which place they are.

use toml::Table;

use super::{ParamSet, Work, Workload};
use crate::schema::declared::Declared;
use crate::schema::story::Story;
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

    fn story(&self) -> Story {
        Story {
            what: "Walks and reads existing files with cold caches: in directory order, in random order, and in \
                   single blocks at random; then deletes them. The filesystem is unmounted and mounted again \
                   before each phase.",
            origin: "fsderby's own. File sizes: N. Agrawal, A. Arpaci-Dusseau and R. Arpaci-Dusseau, \"Generating \
                     Realistic Impressions for File-System Benchmarking\", FAST 2009. Access patterns: those of \
                     find, tar, Bonnie++ and fio.",
            limits: "With one client the queue depth is 1, plus the kernel's read-ahead. In virtual time all \
                     clients share one vCPU. The tree is written in one go to an empty filesystem, so nothing is \
                     aged or fragmented.",
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
