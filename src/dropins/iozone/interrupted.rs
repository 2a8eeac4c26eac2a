//! State of `fsderby iozone` for a signal: the file to remove, and the results so far for the spreadsheet tables.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::options::Options;
use super::table::{self, Measured};
use crate::dropins::stopping::Made;
use crate::workloads::iozone::table::Test;

pub struct Interrupted {
    /// The test file, if this command created it and must remove it.
    file: Option<PathBuf>,
    /// Tests, file sizes and record sizes of the spreadsheet tables, if requested.
    tables: Option<(Vec<Test>, Vec<u64>, Vec<u64>)>,
    measured: Mutex<Vec<Measured>>,
}

impl Interrupted {
    pub fn new(options: &Options, is_ours: bool) -> Self {
        let Options { tests, files, records, .. } = options;
        Interrupted {
            file: (is_ours && !options.keep).then(|| options.file.clone()),
            tables: options.excel.then(|| (tests.clone(), files.clone(), records.clone())),
            measured: Mutex::default(),
        }
    }

    pub fn push(&self, measured: Measured) {
        self.measured().push(measured);
    }

    /// The spreadsheet tables of the results so far; empty if not requested.
    pub fn excel(&self) -> String {
        let tables = self.tables.as_ref();
        tables.map_or_else(String::new, |(tests, files, records)| {
            table::excel(&self.measured(), tests, files, records)
        })
    }

    fn measured(&self) -> MutexGuard<'_, Vec<Measured>> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Made for Interrupted {
    fn remove(&self) {
        if let Some(file) = &self.file {
            let _ = std::fs::remove_file(file);
        }
    }

    fn is_gone(&self) -> bool {
        self.file.as_ref().is_none_or(|file| file.symlink_metadata().is_err())
    }

    fn last_words(&self) -> String {
        format!("\niozone: interrupted\n\n{}exiting iozone\n\n", self.excel())
    }
}
