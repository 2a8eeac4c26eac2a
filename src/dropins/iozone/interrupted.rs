//! The end of `fsderby iozone` by a signal: the command removes its files, and prints its spreadsheet tables with the values
//! measured before the signal.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::options::{Options, Together};
use super::table::{self, Measured};
use super::throughput::Units;
use crate::dropins::stopping::Made;
use crate::workloads::iozone::table::{Pass, Test};

pub struct Interrupted {
    /// Files to remove: those that this command created, unless it keeps them.
    files: Vec<PathBuf>,
    /// Tests, file sizes and record sizes of the spreadsheet tables; `None` without such tables.
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

    /// Stores the total rate of a pass with this number of processes.
    pub fn push_total(&self, count: usize, pass: Pass, total: f64) {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).push((count, pass, total));
    }

    /// The measured values as spreadsheet tables; empty if none were requested.
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
