//! A backup: a tree that many small updates keep as another machine has it, as rsync does for a server of backups.
//!
//! ```text
//! full      every file written under a name of its own and put into its place by rename(2)
//! update    run after run: all is walked and every status compared; of each file that has changed the old content is read,
//!           the new one written beside it and put into its place
//! restore   every file read whole
//! ```
//! The files stay.

use toml::Table;

use super::kit::Rate;
use super::{ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::story::Story;
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
            explained: "Bytes written in a second while every file of the backup is made for the first time.",
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
            explained: "Files made in a second, each written under another name and renamed.",
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
            explained: "Files replaced in a second of all updates, with the walk that finds what has changed.",
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
            explained: "Entries whose status was compared in a second of all updates, with all else that an update does.",
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
            explained: "Bytes read in a second while the whole backup is read, in the order in which its directories list it; what the page \
                        cache still has comes from there.",
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
            explained: "Files read whole in a second while the whole backup is read.",
            ..Declared::PER_SECOND
        },
    },
];

impl Workload for Backup {
    fn name(&self) -> &'static str {
        "backup"
    }

    fn story(&self) -> Story {
        Story {
            what: "Makes a tree, brings it up to date again and again by replacing a few of its files, and reads all of it.",
            origin: "fsderby's own, after rsync(1) without --inplace, on the side that receives. A comparison of filesystems for a server \
                     with 370 GB of backups by rsync had this work and did not measure it.",
            limits: "What is sent comes from memory, so the other machine and the network take no time. Nothing but content changes: no names, \
                     owners or times.",
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
