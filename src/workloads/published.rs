//! What a paper printed for a ready set of parameters: figures as data, beside which a run of that set can be read.
//!
//! ```toml
//! [published]
//! paper = 'A. Author, "Filesystems compared", 2008'
//! place = "tables 3 and 4"
//! disk = "a Disk 40 of 40 GB"
//! model = "disk-40"                     # the modelled disk that stands for it, where there is one
//! machine = "a processor of 2.66 GHz, 512 MB of memory, Linux 2.6.15"
//! unit = "MiB/s"
//! note = "What is divided by what, there and here."
//! metrics = ["read.throughput", "write.throughput"]
//!
//! [published.figures]                   # a line for each kind, a figure for each metric, as they are printed
//! some-kind = [4.67, 5.46]
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::TABLE;

/// The `published` table of a set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Who and what: authors and title.
    pub paper: String,
    /// Where in it: `tables 3 and 4`.
    pub place: String,
    pub disk: String,
    /// The modelled disk that stands for that disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// All else that the figures were measured on.
    pub machine: String,
    /// What the figures are in, whatever the paper calls it: see [`factor`].
    pub unit: String,
    /// What exactly is compared.
    pub note: String,
    /// The metrics that are the same quantities, in the order of the figures.
    pub metrics: Vec<String>,
    /// By kind of filesystem.
    pub figures: BTreeMap<String, Vec<f64>>,
}

/// The shipped set that has exactly these parameters and published figures.
pub fn find(engine: &str, parameters: &Table) -> Option<(&'static str, Published)> {
    let sets = TABLE.iter().filter(|w| w.name() == engine).flat_map(|w| w.sets());
    sets.map(|set| (set.name, set.file()))
        .filter(|(_, file)| file.parameters == *parameters)
        .find_map(|(name, file)| Some((name, file.published?)))
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
    use crate::filesystems;
    use crate::schema::units::Scale;
    use crate::workloads;

    fn all() -> impl Iterator<Item = (&'static str, Published)> {
        let sets = TABLE.iter().flat_map(|w| w.sets());
        sets.filter_map(|set| Some((set.name, set.file().published?)))
    }

    #[test]
    fn what_is_published_is_of_known_kinds_and_has_a_figure_for_each_metric() {
        for (set, published) in all() {
            assert!(published.figures.len() > 1, "{set}: one figure alone has no rank");
            for (kind, figures) in &published.figures {
                assert!(filesystems::find(kind).is_some(), "{set}: {kind} is no kind");
                assert_eq!(figures.len(), published.metrics.len(), "{set}: {kind}");
                assert!(figures.iter().all(|f| f.is_finite() && *f > 0.0), "{set}: {kind}");
            }
            let model = |name: &String| fsderby_diskmodel::SHIPPED.iter().any(|(disk, _)| disk == name);
            assert!(published.model.iter().all(model), "{set}: no such modelled disk");
        }
        assert!(all().count() > 0);
    }

    #[test]
    fn what_is_published_is_in_a_unit_that_the_workload_has_too() {
        for (set, published) in all() {
            let (engine, file) = workloads::find(set).map(|(e, s)| (e, s.file())).expect("it is shipped");
            let work = engine.parse(&file.parameters).expect(set);
            let phase = |name: &str| {
                let counts = ["bytes_read", "bytes_written", "transactions", "created", "read", "deleted"];
                let counts = counts.map(|count| (count.to_owned(), 1)).into();
                workloads::Phase { name: name.into(), ns: 1, counts }
            };
            let metrics = work.metrics(&["create", "transactions", "delete"].map(phase));
            for name in &published.metrics {
                let metric = metrics.iter().find(|m| m.name == *name);
                let metric =
                    metric.unwrap_or_else(|| panic!("{set}: {name} is no metric of {}", engine.name()));
                assert!(factor(&metric.unit, &published.unit).is_some(), "{set}: {name}");
            }
        }
    }

    #[test]
    fn only_the_very_parameters_of_a_set_are_those_of_the_paper() {
        for (set, _) in all() {
            let (engine, file) = workloads::find(set).map(|(e, s)| (e, s.file())).expect("it is shipped");
            assert_eq!(find(engine.name(), &file.parameters).map(|(name, _)| name), Some(set));
            let half = engine.scale(&file.parameters, Scale { of: 1, by: 2 }).expect(set);
            assert!(find(engine.name(), &half).is_none() && find("another", &file.parameters).is_none());
        }
    }

    #[test]
    fn units_of_one_quantity_convert_and_others_do_not() {
        assert_eq!(factor("MiB/s", "KiB/s"), Some(1024.0));
        assert_eq!(factor("1/s", "1/s"), Some(1.0));
        assert_eq!(factor("1/s", "MiB/s"), None);
    }
}
