//! Sparse files: long files with only some pieces written, such as disk images and databases that grow in the middle.
//!
//! ```text
//! write    each file gets its final length, and pieces are written at random offsets
//! read     each file is read completely: holes must read as zeros
//! copy     only written pieces are read and written, as by cp --sparse and rsync -S (lseek(2), SEEK_DATA and SEEK_HOLE)
//! stored   the disk space of files and copies is read after a sync
//! ```
//! Before reading and before copying, all data is synced and its pages are dropped, which is not timed. A filesystem without sparse
//! files writes the zeros, so its copies have no holes.

use toml::Table;

use super::kit::Rate;
use super::{ParamSet, Work, Workload};
use crate::schema::declared::{Declared, Over, Section};
use crate::schema::description::Description;
use crate::schema::event::Phase;
use crate::schema::metric::{Better, Metric};
use crate::schema::units::Scale;

mod parameters;
mod places;
mod trial;

pub struct Sparse;

static SETS: &[ParamSet] = &[
    ParamSet { name: "sparse-quick", toml: include_str!("sets/sparse-quick.toml") },
    ParamSet { name: "sparse-images", toml: include_str!("sets/sparse-images.toml") },
];

const VERSION: u32 = 1;

static RATES: [Rate; 4] = [
    Rate {
        count: "pieces",
        declared: Declared {
            name: "sparse.write.rate",
            title: "pieces written (phase write)",
            section: Section::Files,
            over: Over::Phase("write"),
            explained: "Pieces written per second at random offsets of files that are first extended to full \
                length.",
            ..Declared::PER_SECOND
        },
    },
    Rate {
        count: "bytes_read",
        declared: Declared {
            name: "sparse.read.throughput",
            title: "read, holes too (phase read)",
            did: "read sparse files",
            section: Section::Headline,
            over: Over::Phase("read"),
            explained: "Bytes read per second, including the zeros of holes, from files that are not in the \
                page cache.",
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "bytes_length",
        declared: Declared {
            name: "sparse.copy.throughput",
            title: "copy (phase copy)",
            did: "copied sparse files",
            section: Section::Headline,
            over: Over::Phase("copy"),
            explained: "Total length of the copied files, holes included, ÷ time of the copy. The copy finds holes \
                (SEEK_DATA) and skips them.",
            ..Declared::MIB_PER_SECOND
        },
    },
    Rate {
        count: "bytes_written",
        declared: Declared {
            name: "sparse.copy.written",
            title: "written by the copy (phase copy)",
            short: "written",
            section: Section::Throughput,
            over: Over::Phase("copy"),
            explained: "Bytes written per second by the copy, without holes.",
            ..Declared::MIB_PER_SECOND
        },
    },
];

static STORED: Declared = Declared {
    name: "sparse.stored",
    title: "stored ÷ written, files",
    better: Better::Lower,
    section: Section::Capacity,
    over: Over::Moment,
    explained: "Bytes that the files occupy on the device ÷ bytes written to them.",
    ..Declared::ratio("stored for each byte")
};

static COPIED: Declared = Declared {
    name: "sparse.copy.stored",
    title: "stored ÷ written, copies",
    explained: "Bytes that the copies occupy on the device ÷ bytes written to the original files.",
    ..STORED
};

impl Workload for Sparse {
    fn name(&self) -> &'static str {
        "sparse-files"
    }

    fn description(&self) -> Description {
        Description {
            what: "Writes pieces at random offsets of long files, reads the files completely, copies them without \
                   their holes, and reports the space that files and copies occupy.",
            origin: "fsderby's own. An article on PostMark recommends filesystems for sparse files, but \
                     measures no sparse files.",
            limits: "Before reading and copying, only the files' pages are dropped; inodes and block lists may \
                     stay cached. The content is random, so nothing is compressed.",
        }
    }

    fn sets(&self) -> &'static [ParamSet] {
        SETS
    }

    fn declared(&self) -> Vec<&'static Declared> {
        RATES.iter().map(|rate| &rate.declared).chain([&STORED, &COPIED]).collect()
    }

    fn timed(&self, phase: &str) -> &'static [(&'static str, &'static str)] {
        match phase {
            "write" => &[("write", "files")],
            "read" => &[("read", "files")],
            "copy" => &[("copy", "files")],
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

fn metrics(phases: &[Phase]) -> Vec<Metric> {
    let rates = RATES.iter().filter_map(|rate| rate.metric(phases)).filter(|metric| metric.value > 0.0);
    let count = |phase: &str, name: &str| {
        phases.iter().find(|p| p.name == phase).map(|p| p.count(name)).filter(|n| *n > 0)
    };
    let stored = |declared: &Declared, name| {
        let (stored, written) = (count("stored", name)?, count("write", "bytes_written")?);
        Some(declared.metric(stored as f64 / written as f64))
    };
    rates.chain(stored(&STORED, "bytes_stored")).chain(stored(&COPIED, "bytes_stored_copies")).collect()
}
