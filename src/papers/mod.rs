//! Published comparisons: what a paper printed, as data, beside which a run of the same work can be read.
//!
//! ```toml
//! title = 'A. Author, "Filesystems compared"'
//! year = 2008
//! story = "What it compared, and how."
//! disk = "a Disk 40 of 40 GB"
//! model = "disk-40"                     # the modelled disk that stands for it, where there is one
//! machine = "a processor of 2.66 GHz, 512 MB of memory, Linux 2.6.15"
//!
//! [[table]]
//! workload = "some-set"                 # the ready parameters that are the paper's
//! place = "tables 3 and 4"
//! unit = "MiB/s"
//! note = "What is divided by what, there and here."
//! metrics = ["read.throughput", "write.throughput"]
//!
//! [table.figures]                       # a line for each kind, a figure for each metric, as they are printed
//! some-kind = [4.67, 5.46]
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Table as Parameters;

use crate::workloads;

/// The shipped papers, by name.
pub static TABLE: &[(&str, &str)] = &[("djordjevic-2008", include_str!("../../papers/djordjevic-2008.toml"))];

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Who and what: authors and title.
    pub title: String,
    pub year: u16,
    /// What it compared, and how.
    pub story: String,
    pub disk: String,
    /// The modelled disk that stands for that disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// All else that the figures were measured on.
    pub machine: String,
    #[serde(rename = "table")]
    pub tables: Vec<Table>,
}

/// What the paper printed for one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The ready set whose parameters are the paper's.
    pub workload: String,
    /// Where in the paper: `tables 3 and 4`.
    pub place: String,
    /// What the figures are in, whatever the paper calls it: see [`factor`].
    pub unit: String,
    /// What exactly is compared.
    pub note: String,
    /// The metrics that are the same quantities, in the order of the figures.
    pub metrics: Vec<String>,
    /// By kind of filesystem.
    pub figures: BTreeMap<String, Vec<f64>>,
}

/// The paper of that name. Panics on one that does not parse: they are part of the program, and a test reads them all.
pub fn find(name: &str) -> Option<Paper> {
    let (_, text) = TABLE.iter().find(|(known, _)| *known == name)?;
    Some(toml::from_str(text).unwrap_or_else(|e| panic!("the shipped paper {name} does not parse: {e}")))
}

/// The paper, and its table, that has figures for exactly this work.
pub fn of_work(engine: &str, parameters: &Parameters) -> Option<(Paper, Table)> {
    let is_same = |table: &Table| {
        let found = workloads::find(&table.workload);
        found.is_some_and(|(e, set)| e.name() == engine && set.file().parameters == *parameters)
    };
    TABLE.iter().filter_map(|(name, _)| find(name)).find_map(|paper| {
        let table = paper.tables.iter().find(|table| is_same(table)).cloned()?;
        Some((paper, table))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::metrics;
    use crate::filesystems;
    use crate::schema::declared;
    use crate::schema::units::Scale;

    fn all() -> impl Iterator<Item = (Paper, Table)> {
        let papers = TABLE.iter().filter_map(|(name, _)| find(name));
        papers.flat_map(|paper| paper.tables.clone().into_iter().map(move |table| (paper.clone(), table)))
    }

    #[test]
    fn what_is_published_is_of_known_kinds_and_has_a_figure_for_each_metric() {
        for (paper, Table { workload, figures, metrics, .. }) in all() {
            assert!(figures.len() > 1, "{workload}: one figure alone has no rank");
            for (kind, figures) in &figures {
                assert!(filesystems::find(kind).is_some(), "{workload}: {kind} is no kind");
                assert_eq!(figures.len(), metrics.len(), "{workload}: {kind}");
                assert!(figures.iter().all(|f| f.is_finite() && *f > 0.0), "{workload}: {kind}");
            }
            let model = |name: &String| fsderby_diskmodel::SHIPPED.iter().any(|(disk, _)| disk == name);
            assert!(paper.model.iter().all(model), "{}: no such modelled disk", paper.title);
        }
        assert!(all().count() > 0);
    }

    #[test]
    fn what_is_published_is_in_a_unit_that_the_workload_has_too() {
        for (_, table) in all() {
            let (engine, _) = workloads::find(&table.workload).expect("its workload is shipped");
            let known = metrics::declared_of(engine.name());
            for name in &table.metrics {
                let declared = declared::find(&known, name);
                let declared =
                    declared.unwrap_or_else(|| panic!("{}: nobody declares {name}", table.workload));
                assert!(factor(declared.unit, &table.unit).is_some(), "{}: {name}", table.workload);
            }
        }
    }

    #[test]
    fn only_the_very_parameters_of_a_set_are_those_of_the_paper() {
        for (_, table) in all() {
            let (engine, set) = workloads::find(&table.workload).expect("its workload is shipped");
            let parameters = set.file().parameters;
            let of = |engine: &str, parameters| of_work(engine, parameters).map(|(_, t)| t.workload);
            assert_eq!(of(engine.name(), &parameters).as_ref(), Some(&table.workload));
            let half = engine.scale(&parameters, Scale { of: 1, by: 2 }).expect("it scales");
            assert!(of(engine.name(), &half).is_none() && of("another", &parameters).is_none());
        }
    }

    #[test]
    fn units_of_one_quantity_convert_and_others_do_not() {
        assert_eq!(factor("MiB/s", "KiB/s"), Some(1024.0));
        assert_eq!(factor("1/s", "1/s"), Some(1.0));
        assert_eq!(factor("1/s", "MiB/s"), None);
    }
}
