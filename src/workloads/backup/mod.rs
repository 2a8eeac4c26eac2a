//! A backup: many small updates keep a tree equal to another machine's, as rsync does on a backup server.
//!
//! ```text
//! full      every file is written under a temporary name and renamed by rename(2)
//! update    repeatedly: all files are visited and their status is compared; the old content of each changed file is
//!           read, and the new content is written to a temporary file, which then replaces the old file
//! restore   every file is read completely
//! ```
//! The work does not delete the files at its end.

use toml::Table;

use super::kit::Rate;
use super::{ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::units::Scale;

mod parameters;
mod state;
mod trial;

pub struct Backup;

static SETS: &[ParamSet] = &[
    ParamSet { name: "backup-quick", toml: include_str!("sets/backup-quick.toml") },
    ParamSet { name: "backup-updates", toml: include_str!("sets/backup-updates.toml") },
];

const VERSION: u32 = 1;
const UPDATE: Over = Over::Phase("update");

static RATES: [Rate; 6] = [
    Rate {
        count: "bytes_written",
        declared: Declared {
            name: "full.throughput",
            title: "write (phase full)",
            short: "write",
            section: Section::Throughput,
            over: Over::Phase("full"),
            explained: "Bytes written per second while each file of the backup is created for the first time.",
            key: true,
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "full.rate",
            title: "create (phase full)",
            section: Section::Files,
            over: Over::Phase("full"),
            explained: "Files created per second; each file is written under a temporary name and then \
                        renamed.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "update.rate",
            title: "replace (phase update)",
            did: "replaced files",
            section: Section::Headline,
            over: UPDATE,
            explained: "Files replaced per second in all updates. The time of an update includes the walk that finds changed \
                files.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "entries",
        declared: Declared {
            name: "update.walk.rate",
            title: "stat (phase update)",
            section: Section::Files,
            over: UPDATE,
            explained: "Files and directories examined by stat per second in all updates. The time of an \
                        update also includes the replacement of changed files.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "bytes_read",
        declared: Declared {
            name: "restore.throughput",
            title: "read (phase restore)",
            short: "restore",
            section: Section::Throughput,
            over: Over::Phase("restore"),
            explained: "Bytes read per second while the whole backup is read in directory order. Files that are \
                        still in the page cache are not read from the disk.",
            key: true,
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "files",
        declared: Declared {
            name: "restore.rate",
            title: "files read (phase restore)",
            section: Section::Files,
            over: Over::Phase("restore"),
            explained: "Files read per second while the whole backup is read.",
            ..Declared::PER_SECOND
        },
    },
];

impl Workload for Backup {
    fn name(&self) -> &'static str {
        "backup"
    }

    fn description(&self) -> Description {
        Description {
            what: "Creates a tree, updates it repeatedly by replacing a few of its files, and reads all of it.",
            origin: "fsderby's own, after the receiving side of rsync(1) without --inplace. A published comparison for \
                     a server with 370 GB of rsync backups named this task, but did not measure it.",
            limits: "The sent data comes from memory, so the sender and the network take no time. Only file \
                     content changes, never names, owners or times.",
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
            "full" | "update" => &[("replace", "files")],
            "restore" => &[("read", "files")],
            _ => &[],
        }
    }

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(parameters::Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        parameters::scale(parameters, by)
    }
}
