//! Latencies of one operation.

use serde::Serialize;

/// One operation of one phase, over all filesystems.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    pub phase: String,
    pub operation: String,
    pub unit: String,
    /// In the order of the plan; a filesystem without such an operation has no row.
    pub rows: Vec<Row>,
}

impl Latency {
    /// `create (phase transactions)`
    pub fn title(&self) -> String {
        format!("{} (phase {})", self.operation, self.phase)
    }
}

/// Percentiles over all rounds together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub filesystem: String,
    /// Operations counted.
    pub n: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}
