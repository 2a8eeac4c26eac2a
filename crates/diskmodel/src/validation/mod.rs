//! The shipped disks against published figures of real ones: jobs, cells, and `docs/measurements/validation.md`.

#![allow(
    clippy::float_arithmetic,
    reason = "the table shows ratios of the model's results; the model itself has no floating-point arithmetic"
)]

pub mod asks;
pub mod beside;
mod coverage;
mod jobs;
mod native;
mod one;
pub mod rule;
pub mod steady;
mod table;
mod traced;

use serde::Deserialize;

pub use jobs::Job;
pub use one::markdown as markdown_of;
pub use table::markdown;

use crate::{SHIPPED, Spec};
use traced::TRACED;

/// Origin of a published figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Kind {
    #[serde(rename = "data sheet")]
    DataSheet,
    #[serde(rename = "measured")]
    Measured,
}

/// How the disk's file uses the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Input,
    Fitted,
    Check,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    held_out: Vec<String>,
    cell: Vec<Cell>,
}

/// One figure of one drive, or a range, in the job's unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cell {
    disk: String,
    job: String,
    is: Vec<f64>,
    kind: Kind,
    role: Role,
    /// Whether the figure was measured with the write cache switched off.
    #[serde(default)]
    write_through: bool,
}

/// A cell and the model's result for it.
struct Compared {
    cell: Cell,
    job: &'static Job,
    is_held_out: bool,
    ours: f64,
}

impl Cell {
    /// The drive from its file, with the write cache set as in the measurement.
    fn spec(&self) -> Spec {
        let mut all = SHIPPED.iter().chain(TRACED);
        let (_, text) = all.find(|(name, _)| *name == self.disk).expect("a known disk");
        let spec = Spec::parse(text).expect("fsderby's own disk files are valid");
        if self.write_through { spec.written_through() } else { spec }
    }

    fn job(&self) -> &'static Job {
        jobs::find(&self.job).expect("a known job")
    }

    /// Whether the figure was measured and no value of the file comes from it.
    fn is_evidence(&self) -> bool {
        self.kind == Kind::Measured && self.role == Role::Check
    }

    /// The geometric middle of a range.
    fn middle(&self) -> f64 {
        let logarithms: f64 = self.is.iter().map(|is| is.ln()).sum();
        (logarithms / self.is.len() as f64).exp()
    }
}

impl Compared {
    /// Model ÷ published; 1 within a range.
    fn ratio(&self) -> f64 {
        let (low, high) = (self.cell.is[0], self.cell.is[self.cell.is.len() - 1]);
        if self.cell.is.len() > 1 && (low..=high).contains(&self.ours) {
            return 1.0;
        }
        self.ours / self.cell.middle()
    }

    fn is_evidence(&self) -> bool {
        self.cell.is_evidence()
    }
}

fn published() -> Published {
    toml::from_str(include_str!("measured.toml")).expect("a test checks measured.toml and all its cells")
}

/// Runs the jobs of all cells.
fn compare() -> Vec<Compared> {
    let Published { held_out, cell } = published();
    let compared = cell.into_iter().map(|cell| {
        let job = cell.job();
        let ours = job.unit.value(job.alone(&cell.spec()));
        Compared { is_held_out: held_out.contains(&cell.disk), job, ours, cell }
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../../../../docs/measurements/validation.md");

    /// The document equals the command's output. To update: `FSDERBY_KNOWN=write cargo test -p fsderby-diskmodel validation`.
    #[test]
    fn the_table_that_is_shown_is_the_one_that_is_computed() {
        let held = coverage::Coverage::of_all();
        let table = table::of(&compare(), &held);
        if std::env::var_os("FSDERBY_KNOWN").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/measurements/validation.md");
            return std::fs::write(path, &table).unwrap();
        }
        assert_eq!(TABLE, table);
        assert_eq!(held.evidence(), crate::EVIDENCE, "what reports have is what is computed here");
    }

    #[test]
    fn a_range_is_met_anywhere_within_and_a_figure_in_the_middle() {
        let (disk, job) = ("zero".to_owned(), "sync".to_owned());
        let cell = |is| Cell {
            disk: disk.clone(),
            job: job.clone(),
            is,
            kind: Kind::Measured,
            role: Role::Check,
            write_through: false,
        };
        let compared = |is, ours| Compared {
            cell: cell(is),
            job: jobs::find("sync").unwrap(),
            is_held_out: false,
            ours,
        };
        assert_eq!(compared(vec![10.0, 40.0], 39.0).ratio(), 1.0);
        assert!((compared(vec![10.0, 40.0], 5.0).ratio() - 0.25).abs() < 1e-9);
        assert!((compared(vec![10.0], 15.0).ratio() - 1.5).abs() < 1e-9);
    }

    /// A 4 KiB write: 32 µs in the controller and 7.45 µs on the wire. Its flush: one more command of 32 µs.
    #[test]
    fn a_job_measures_what_arithmetic_says() {
        let (_, text) = SHIPPED.iter().find(|(name, _)| *name == "samsung-pm883-960").unwrap();
        let spec = Spec::parse(text).unwrap();
        assert_eq!(jobs::find("sync").unwrap().alone(&spec).mean_ns(), 32_000 + 7_447 + 32_000);
    }
}
