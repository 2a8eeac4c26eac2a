//! Published comparisons: what a paper printed and what it concludes, as data, beside which a run of the same work can be read.
//!
//! ```toml
//! title = 'A. Author, "Filesystems compared"'
//! year = 2008
//! published = "Where and when, as far as it says so itself."
//! story = "What it compared, and how."
//! disk = "a Disk 40 of 40 GB"
//! model = "disk-40"                     # the modelled disk that stands for it, where there is one
//! machine = "a processor of 2.66 GHz, 512 MB of memory, Linux 2.6.15"
//! averages = true                       # its figures are averages of its trials, and ours beside them are then averages too
//!
//! [environment]                         # all that it says of what it measured on; what is not here, it does not say
//! kernel = "2.6.15-1"
//!
//! [[candidate]]                         # where there is more to say than the name of a kind
//! name = "kind-elsewhere"
//! missing = "another system's driver"   # why there is no such kind here
//!
//! [[table]]
//! workload = "some-set"                 # the ready parameters that are the paper's; it may be a set that is still to come
//! place = "tables 3 and 4"
//! unit = "MiB/s"
//! note = "What is divided by what, there and here."
//! metrics = ["read.throughput", "write.throughput"]
//!
//! [table.figures]                       # a line for each candidate, a figure for each metric, as they are printed
//! some-kind = [4.67, 5.46]
//! kind-elsewhere = [2.33, 2.73]
//!
//! [[claim]]                             # a sentence of the paper, in our words
//! says = "Here it is about twice as fast as elsewhere."
//! place = "section 3"
//! workloads = ["some-set"]
//! tests = [{ metrics = ["read.throughput"], of = ["some-kind"], than = ["kind-elsewhere"], relation = { about = 2.0 } }]
//! ```
//!
//! A paper's own figures are put to its claims too. Where they contradict one, it must say so (`contradicted`).

mod claim;
mod paper;
mod shown;
#[cfg(test)]
mod tests;

use toml::Table as Parameters;

pub use claim::{Claim, Point, Relation, Standing, Test};
pub use paper::{Candidate, Environment, Paper, Table};

use crate::workloads;

/// The shipped papers, by name.
pub static TABLE: &[(&str, &str)] = &[
    // One row a line.
    ("lauper-2002", include_str!("../../papers/lauper-2002.toml")),
    ("arena-raid-2004", include_str!("../../papers/arena-raid-2004.toml")),
    ("doelle-reitter-2004", include_str!("../../papers/doelle-reitter-2004.toml")),
    ("ivers-2006", include_str!("../../papers/ivers-2006.toml")),
    ("djordjevic-2008", include_str!("../../papers/djordjevic-2008.toml")),
];

/// The paper of that name. Panics on one that does not parse: they are part of the program, and a test reads them all.
pub fn find(name: &str) -> Option<Paper> {
    let (_, text) = TABLE.iter().find(|(known, _)| *known == name)?;
    Some(toml::from_str(text).unwrap_or_else(|e| panic!("the shipped paper {name} does not parse: {e}")))
}

/// The paper, and its tables with figures of metrics of ours, for exactly this work.
pub fn of_work(engine: &str, parameters: &Parameters) -> Option<(Paper, Vec<Table>)> {
    let is_same = |table: &Table| {
        let found = workloads::find(&table.workload).filter(|_| table.is_comparable());
        found.is_some_and(|(e, set)| e.name() == engine && set.file().parameters == *parameters)
    };
    TABLE.iter().filter_map(|(name, _)| find(name)).find_map(|paper| {
        let tables: Vec<Table> = paper.tables.iter().filter(|table| is_same(table)).cloned().collect();
        (!tables.is_empty()).then_some((paper, tables))
    })
}

/// What a value in one unit is multiplied by to be in the other; `None` where they measure different things.
pub fn factor(from: &str, to: &str) -> Option<f64> {
    let bytes = |unit: &str| match unit {
        "B/s" => Some(1.0),
        "kB/s" => Some(1e3),
        "MB/s" => Some(1e6),
        "KiB/s" => Some(1024.0),
        "MiB/s" => Some(1024.0 * 1024.0),
        _ => None,
    };
    if from == to { Some(1.0) } else { Some(bytes(from)? / bytes(to)?) }
}
