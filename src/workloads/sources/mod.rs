//! Sources: unpacks a program's source tree as from an archive, lists it and deletes it.
//!
//! ```text
//! unpack     directory by directory: files are created, written and given the archive's timestamps
//! list       every directory is read and stat is called for every entry, in the filesystem's own order
//! delete     all files and directories, in the filesystem's own order, each directory after its content
//! ```

use toml::Table;

use super::kit::parameters::{self, Keys};
use super::kit::tree::{Grown, Shape};
use super::kit::{Rate, sizes};
use super::{ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::units::Scale;

mod trial;

pub struct Sources;

static SETS: &[ParamSet] = &[
    ParamSet { name: "sources-quick", toml: include_str!("sets/sources-quick.toml") },
    ParamSet { name: "sources-first", toml: include_str!("sets/sources-first.toml") },
];

const VERSION: u32 = 1;

static RATES: [Rate; 4] = [
    Rate {
        count: "files",
        declared: Declared {
            name: "unpack.rate",
            title: "create (phase unpack)",
            did: "unpacked files",
            section: Section::Headline,
            over: Over::Phase("unpack"),
            explained: "Files created per second, with their directories. Each file is written and given a \
                        timestamp.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "bytes_written",
        declared: Declared {
            name: "unpack.throughput",
            title: "write (phase unpack)",
            section: Section::Throughput,
            over: Over::Phase("unpack"),
            explained: "Bytes of files written per second in the unpack phase.",
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "entries",
        declared: Declared {
            name: "sources.list.rate",
            title: "stat (phase list)",
            short: "stat",
            section: Section::Files,
            over: Over::Phase("list"),
            explained: "Files and directories stat'ed per second, in directory order. Inodes that are still in memory \
                        are not read from the disk.",
            key: true,
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "sources.delete.rate",
            title: "delete (phase delete)",
            short: "delete",
            section: Section::Files,
            over: Over::Phase("delete"),
            explained: "Files deleted per second, in directory order. Their directories are deleted too.",
            key: true,
            ..Declared::PER_SECOND
        },
    },
];

impl Workload for Sources {
    fn name(&self) -> &'static str {
        "sources"
    }

    fn description(&self) -> Description {
        Description {
            what: "Unpacks a source tree like tar, lists it recursively and deletes it.",
            origin: "fsderby's own, after tar(1), ls(1) with -lR and rm(1) with -r: a common first test of a new \
                filesystem.",
            limits: "The archive comes from memory and is not compressed. By default nothing is synced, so data \
                     that fits into memory measures the page cache; owners and modes are not set.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        RATES.iter().map(|rate| &rate.declared).collect()
    }

    fn timed(&self, phase: &str) -> &'static [(&'static str, &'static str)] {
        match phase {
            "unpack" => &[("mkdir", "folders"), ("create", "files")],
            "list" => &[("stat", "entries")],
            "delete" => &[("unlink", "files")],
            _ => &[],
        }
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        let Parameters { tree, .. } = Parameters::parse(parameters)?;
        let numbers = [("files", tree.files.into()), ("folders", tree.folders.into())];
        let scaled = parameters::scaled(parameters, by, numbers)?;
        Parameters::parse(&scaled).map(|_| scaled)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parameters {
    tree: Shape,
    /// Whether each entry and its name are synced before the next entry is unpacked.
    fsync: bool,
}

const KEYS: &[&str] = &["files", "folders", "deepest", "sizes", "fsync"];
/// The state per file must be small compared with the least memory of a trial.
const MOST: u32 = 200_000;

impl Parameters {
    fn parse(table: &Table) -> Result<Self, String> {
        let keys = Keys::of(table, KEYS)?;
        Ok(Parameters {
            tree: Shape {
                files: keys.number("files", 1..=MOST)?,
                folders: keys.number("folders", 1..=MOST)?,
                deepest: keys.number("deepest", 1..=64)?,
                sizes: sizes::rows(keys.needed("sizes")?)?,
            },
            fsync: keys.or("fsync", false)?,
        })
    }

    fn grown(&self, seed: u64) -> Grown {
        Grown::new(&self.tree, "sources", seed)
    }
}
