//! Published comparisons as data: the figures that a paper printed and its conclusions, so that a run of the same work can be
//! compared.
//!
//! ```toml
//! title = 'A. Author, "Filesystems compared"'
//! year = 2008
//! published = "Place and date, as far as the paper states them."
//! story = "What it compared, and how."
//! disk = "a Disk 40 of 40 GB"
//! model = "disk-40"                     # the modelled disk that represents it, if there is one
//! machine = "a processor of 2.66 GHz, 512 MB of memory, Linux 2.6.15"
//! averages = true                       # figures are averages over trials; the run's figures next to them are then averages too
//!
//! [environment]                         # the environment as far as the paper states it
//! kernel = "2.6.15-1"
//!
//! [[candidate]]                         # only if more than the name of a kind is needed
//! name = "kind-elsewhere"
//! missing = "another system's driver"   # why fsderby has no such kind
//!
//! [[table]]
//! workload = "some-set"                 # the set with the paper's parameters; it may be a planned one
//! place = "tables 3 and 4"
//! unit = "MiB/s"
//! note = "How the figure is computed, in the paper and here."
//! metrics = ["read.throughput", "write.throughput"]
//!
//! [table.figures]                       # one line per candidate, one figure per metric, as printed
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
//! [reproduction]                        # how `fsderby reproduce` runs it
//! memory = "512m"                       # of the paper's machine, unless an experiment states it
//! era = "2006"                          # default options of the paper's time, for `--column era`
//! written = [{ workload = "some-set", kind = "some-kind", ratio = 1.1 }]   # device bytes written ÷ bytes of the work, at full size
//! run = [{ experiment = "some-experiment", scale = "1/16" }]               # name or path; also workloads and filesystems
//! why = [{ change = "the barrier", command = "fsderby run …" }]            # a run in which only this changes
//!
//! A paper's own figures are also tested against its claims. If the figures contradict a claim, the data must say so
//! (`contradicted`).

mod claim;
pub mod here;
mod own;
mod paper;
mod shown;
#[cfg(test)]
mod tests;

use toml::Table as Parameters;

pub use claim::{Claim, Point, Relation, Standing, Test};
pub use own::{load, parse, text};
pub use paper::{Amount, Candidate, Environment, Paper, Repeat, Reproduction, Table, Why};

use crate::workloads;

/// The shipped papers, by name.
pub static TABLE: &[(&str, &str)] = &[
    // Keep one paper per line.
    ("lauper-2002", include_str!("../../papers/lauper-2002.toml")),
    ("arena-raid-2004", include_str!("../../papers/arena-raid-2004.toml")),
    ("doelle-reitter-2004", include_str!("../../papers/doelle-reitter-2004.toml")),
    ("ivers-2006", include_str!("../../papers/ivers-2006.toml")),
    ("djordjevic-2008", include_str!("../../papers/djordjevic-2008.toml")),
];

/// The paper of that name. Panics if it does not parse, because papers are part of the program, and a test reads every paper.
pub fn find(name: &str) -> Option<Paper> {
    let (_, text) = TABLE.iter().find(|(known, _)| *known == name)?;
    Some(toml::from_str(text).unwrap_or_else(|e| panic!("the shipped paper {name} does not parse: {e}")))
}

/// The paper that measured exactly this work, and its tables whose figures match metrics of fsderby.
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

/// The factor that converts a value from one unit to the other; `None` if the units measure different things.
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
