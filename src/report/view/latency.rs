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
    /// Whether some filesystem did too few of these operations for p99.9.
    pub fn lacks_p999(&self) -> bool {
        self.rows.iter().any(|row| row.p999.is_none())
    }

    /// `create (phase transactions)`
    pub fn title(&self) -> String {
        format!("{} (phase {})", self.operation, self.phase)
    }
}

/// One operation in a thousand takes longer than p99.9: of fewer than these it would stand on less than ten.
pub const NEEDED_FOR_P999: u64 = 10_000;

/// Why a table lacks some.
pub const NO_P999: &str = "p99.9 takes 10,000 operations: of fewer, less than ten took longer.";

/// Percentiles over all rounds together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub filesystem: String,
    /// Operations counted.
    pub n: u64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    /// Absent where there were too few operations: see [`NEEDED_FOR_P999`].
    pub p999: Option<u64>,
    pub max: u64,
}
