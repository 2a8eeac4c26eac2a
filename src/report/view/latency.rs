//! Latencies of one operation.

use serde::Serialize;

use crate::schema::metric::Owner;
use crate::schema::units::sum;

/// One operation of one phase, over all filesystems.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Latency {
    /// The work of the phase, if a trial measures several.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub work: Owner,
    pub phase: String,
    pub operation: String,
    pub unit: String,
    /// One row per filesystem, in plan order; a filesystem without this operation has no row.
    pub rows: Vec<Row>,
    /// Why some rows have no intervals; empty if all have them.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub no_intervals: &'static str,
}

/// The operation that a user waits for, fsync, as records name it.
const FSYNC: &str = "fsync";

impl Latency {
    pub fn is_of_fsync(&self) -> bool {
        self.operation == FSYNC
    }

    /// The rows with enough operations for p99, which are drawn.
    pub fn drawn(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.p99().is_some()).collect()
    }

    /// Whether some filesystem did too few of these operations for p99.9.
    pub fn lacks_p999(&self) -> bool {
        self.rows.iter().any(|row| row.p999.is_none())
    }

    pub fn has_intervals(&self) -> bool {
        self.rows.iter().any(|row| row.intervals.is_some())
    }

    /// The notes that a table of these latencies needs, one sentence each.
    pub fn notes(&self) -> impl Iterator<Item = &'static str> {
        let lacks_p99 = self.rows.iter().any(|row| row.p99().is_none()).then_some(NO_P99);
        let lacks_p999 = self.lacks_p999().then_some(NO_P999);
        let intervals = self.has_intervals().then_some(INTERVALS);
        let lacking = Some(self.no_intervals).filter(|why| !why.is_empty());
        [lacks_p99, lacks_p999, intervals, lacking].into_iter().flatten()
    }

    /// The title of the operation: `create (phase transactions)`, `create (maildir-quick, phase transactions)`.
    pub fn title(&self) -> String {
        let work = if self.work.is_empty() { String::new() } else { format!("{}, ", self.work) };
        format!("{} ({work}phase {})", self.operation, self.phase)
    }

    /// The number of operations over all filesystems.
    pub fn n(&self) -> u64 {
        sum(self.rows.iter().map(|row| row.n))
    }
}

/// The number of operations that p99 needs; with fewer, none is above p99.
pub const NEEDED_FOR_P99: u64 = 100;

/// Why p99 is missing in a table.
const NO_P99: &str = "p99 is shown from 100 operations on. With fewer, it would be the longest latency.";

/// The number of operations that p99.9 needs; with fewer, less than ten operations are above p99.9.
pub const NEEDED_FOR_P999: u64 = 10_000;

/// Why p99.9 is missing in a table.
const NO_P999: &str =
    "p99.9 is shown from 10,000 operations on. With fewer, it would rest on fewer than ten operations.";

/// The note beside percentiles.
const INTERVALS: &str = "The 95 % interval of a percentile comes from resampling whole rounds. These \
                         intervals are no findings: each holds by itself, but they do not hold all at once.";
pub const TOO_FEW_ROUNDS: &str = "Percentiles have intervals only with ten or more rounds: fewer rounds do not show \
                                  how much percentiles vary.";
pub const SAMPLES_ARE_CHOSEN: &str = "Percentiles over samples of a modelled disk have no intervals: the samples \
    are designed, not random.";

/// Percentiles over all rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Row {
    pub filesystem: String,
    /// The number of operations.
    pub n: u64,
    pub p50: u64,
    pub p90: u64,
    /// With fewer operations than [`NEEDED_FOR_P99`] the longest, and not shown.
    pub p99: u64,
    /// p99.9; `None` with too few operations: see [`NEEDED_FOR_P999`].
    pub p999: Option<u64>,
    pub max: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
}

/// The lower and the upper end of a 95 % interval.
pub type Ends = (u64, u64);

/// The confidence interval of each percentile of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Intervals {
    pub p50: Ends,
    pub p90: Ends,
    pub p99: Ends,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999: Option<Ends>,
}

impl Row {
    /// p50, p90, p99, p99.9 and the longest, each with its interval.
    pub fn values(&self) -> [Option<(u64, Option<Ends>)>; 5] {
        let ends = self.intervals.as_ref();
        [
            Some((self.p50, ends.map(|all| all.p50))),
            Some((self.p90, ends.map(|all| all.p90))),
            self.p99().map(|p99| (p99, self.around_p99())),
            self.p999.map(|p999| (p999, ends.and_then(|all| all.p999))),
            Some((self.max, None)),
        ]
    }

    /// `None` with too few operations.
    pub fn p99(&self) -> Option<u64> {
        (self.n >= NEEDED_FOR_P99).then_some(self.p99)
    }

    pub fn around_p99(&self) -> Option<Ends> {
        self.p99()?;
        self.intervals.as_ref().map(|all| all.p99)
    }
}

/// The names of [`Row::values`].
pub const VALUES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "longest"];
