//! A run's folder: versioned, append-only, checksummed records that survive death at any moment.
//!
//! ```text
//! results/NAME-DATE/
//!   plan.toml            the expanded experiment with its seeds
//!   machine.json         kernel, CPU, disk, tools and their hashes
//!   trials.jsonl         one record a line, checksummed and chained; a torn last line is tolerated and reported
//!   histograms/          latencies at full resolution, one file a trial
//!   report.html          and what else was asked for
//! ```

pub mod machine;
pub mod record;

use std::collections::HashMap;
use std::path::PathBuf;

use crate::lab::plan::Plan;
use machine::Machine;
use record::Record;

/// A run as it was read from its folder.
#[derive(Clone, Debug)]
pub struct Run {
    pub folder: PathBuf,
    pub plan: Plan,
    pub machine: Machine,
    /// In the order in which they were written, superseded attempts included.
    pub records: Vec<Record>,
    /// What is damaged, one sentence each; empty in a sound run.
    pub damage: Vec<String>,
}

impl Run {
    /// The records that count: of each trial the last attempt.
    pub fn current(&self) -> Vec<&Record> {
        let mut last = HashMap::new();
        for (at, record) in self.records.iter().enumerate() {
            last.insert(record.trial.as_str(), at);
        }
        let mut at: Vec<usize> = last.into_values().collect();
        at.sort_unstable();
        at.into_iter().map(|i| &self.records[i]).collect()
    }
}
