//! What a signal finds of `fsderby iozone`: the files go, and the tables for a spreadsheet have what was measured by then.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::options::{Options, Together};
use super::table::{self, Measured};
use super::throughput::Units;
use crate::dropins::stopping::Made;
use crate::workloads::iozone::table::{Pass, Test};

pub struct Interrupted {
    /// The files, where they are this command's and not to be kept.
    files: Vec<PathBuf>,
    /// Tests, file sizes and record sizes of the tables, where there are to be any.
    tables: Option<(Vec<Test>, Vec<u64>, Vec<u64>)>,
    measured: Mutex<Vec<Measured>>,
    together: Option<(Together, Units)>,
    totals: Mutex<Vec<(usize, Pass, f64)>>,
}

impl Interrupted {
    pub fn new(options: &Options, is_ours: bool, together: Option<(Together, Units)>) -> Self {
        let Options { tests, files, records, .. } = options;
        let made = if is_ours && !options.keep { options.paths() } else { Vec::new() };
        Interrupted {
            files: made,
            tables: options.excel.then(|| (tests.clone(), files.clone(), records.clone())),
            measured: Mutex::default(),
            together,
            totals: Mutex::default(),
        }
    }

    pub fn push(&self, measured: Measured) {
        self.measured().push(measured);
    }

    /// Of a pass of so many at a time.
    pub fn push_total(&self, count: usize, pass: Pass, total: f64) {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).push((count, pass, total));
    }

    /// What has been measured as tables, where they were asked for.
    pub fn excel(&self) -> String {
        let Some((tests, files, records)) = &self.tables else { return String::new() };
        if let Some((together, units)) = &self.together {
            let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
            return together.report(&totals, tests, *units);
        }
        table::excel(&self.measured(), tests, files, records)
    }

    fn measured(&self) -> MutexGuard<'_, Vec<Measured>> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Made for Interrupted {
    fn remove(&self) {
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
    }

    fn is_gone(&self) -> bool {
        self.files.iter().all(|file| file.symlink_metadata().is_err())
    }

    fn last_words(&self) -> String {
        format!("\niozone: interrupted\n\n{}exiting iozone\n\n", self.excel())
    }
}
