//! Everyday tasks of a file server: copies files and trees from a second disk and on the same one, lists, searches and deletes.
//!
//! ```text
//! on the second disk      image, tree/…                        created before timing starts; read-only, not cached
//! copy-image              image      → image-1
//! copy-image-again        image-1    → image-2
//! delete-images           image-1, image-2
//! copy-tree               tree/…     → tree-1/…                as cp -r: folder by folder, in order of names
//! copy-tree-again         tree-1/…   → tree-2/…
//! list                    tree-1/…   → listing                 as ls -lR: every name is stat'ed
//! find                    tree-1/…                             as find -name: only names are read
//! delete-trees            tree-1/…, tree-2/…                   as rm -r
//! ```
//! Each task is a phase with its time, CPU share and page faults as GNU time reports them, and with `sync_each` also the time until
//! all data is on the disk. Creating, mounting and unmounting the filesystem are steps of every trial.
//!
//! Reads are checked: the size of each file, and sixteen bytes of every 4 KiB, which identify file and offset.

use toml::Table;

use super::{ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Sheet};
use crate::schema::description::Description;
use crate::schema::units::Scale;

mod durable;
mod look;
mod metrics;
mod parameters;
mod source;
mod task;
mod trial;

pub struct Tasks;

static SETS: &[ParamSet] = &[
    ParamSet { name: "fileserver-2006", toml: include_str!("sets/fileserver-2006.toml") },
    ParamSet {
        name: "fileserver-2006-as-published",
        toml: include_str!("sets/fileserver-2006-as-published.toml"),
    },
];

impl Workload for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn sheets(&self) -> &'static [Sheet] {
        &metrics::SHEETS
    }

    fn description(&self) -> Description {
        Description {
            what: "Copies a large file and a tree from a second disk, copies both again on the same disk, lists \
                   and searches the tree, and deletes everything. Each task is timed separately.",
            origin: "The tasks of H. Ivers' comparison of 2006, which used cp, rm, ls and find. In this \
                     workload, one process makes the same system calls.",
            limits: "The comparison started a program for each task, which adds some page faults and \
                     milliseconds; this workload starts no programs. The second disk has the size of the \
                     measured disk; its filesystem is the same for all candidates. Only one client. Copies \
                     within one disk read partly from the page cache, as in Ivers' comparison.",
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

    fn parse(&self, parameters: &Table) -> Result<Box<dyn Work>, String> {
        Ok(Box::new(parameters::Parameters::parse(parameters)?))
    }

    fn scale(&self, parameters: &Table, by: Scale) -> Result<Table, String> {
        parameters::scale(parameters, by)
    }
}
