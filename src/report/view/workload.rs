//! One workload in a report.

use serde::Serialize;

use super::comparison::Comparison;
use super::imported::Imported;
use super::latency::Latency;
use super::number;
use super::published::Beside;
use super::row::Row;
use super::sheet::Sheet;
use crate::analysis::over_time::OverTime;
use crate::schema::finding::Finding;
use crate::schema::metric::Of;
use crate::schema::units::Bytes;
use crate::schema::work::Amount;

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct WorkloadSummary {
    pub label: String,
    pub engine: String,
    /// The parameters, one line each: `transactions = 50000`.
    pub parameters: Vec<String>,
    /// The stages of the scenario in one line; empty if the work is the only stage.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stages: String,
    /// A note about works that begin right after another work, and what this means for their figures; empty if there are none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub joined: String,
    /// The purpose of the parameter set; empty for a user's own parameters.
    pub story: String,
    pub amount: Amount,
    /// Number of processes that do the workload in parallel.
    #[serde(skip_serializing_if = "is_alone")]
    pub clients: u32,
    /// Whether these processes share one CPU, as in virtual time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_one_cpu: bool,
    /// Memory for page cache and workload together: the limit, or without a limit the machine's memory; `None` if the run does
    /// not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Rounds in which every filesystem that can do this work has a counted trial.
    pub rounds: usize,
    /// Why the workload measures page cache and CPU; empty if it measures the disk.
    pub page_cache: String,
    /// Why the figures describe only the beginning of the work; empty if the work ran long enough.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub short: String,
    /// Whether every trial of the workload was too short.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_short: bool,
    /// A note on how often other processes took CPU time from the workload; empty if they did not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub disturbed: String,
    /// The number of these trials, and of all that were checked.
    #[serde(skip)]
    pub disturbed_trials: [usize; 2],
    pub labels: Vec<Label>,
    pub sections: Vec<SectionSummary>,
    /// The workload's figures in the layout of the original tool.
    #[serde(skip)]
    pub sheets: Vec<Sheet>,
    pub latencies: Vec<Latency>,
    /// Each measured work with readings over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<OverTime>,
    /// Each candidate relative to the best or the baseline: one for each headline metric.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// The findings on each pair's headline metrics. The JSON report has them with the verdict.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// A paper's figures for exactly this work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Beside>,
    /// Figures of other programs for this or similar work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<Imported>,
}

/// A note beside a filesystem's figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Label {
    pub filesystem: String,
    /// What a validity check observed, with the number of trials; or the share of written bytes that reached the device.
    pub text: String,
    /// Whether the note says that the figures measure page cache and CPU.
    pub page_cache: bool,
}

#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct SectionSummary {
    pub title: &'static str,
    pub note: &'static str,
    pub rows: Vec<Row>,
}

impl WorkloadSummary {
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|s| &s.rows)
    }

    /// The declared headline metrics. If none is declared or shown, the bytes at the device, otherwise the first metric.
    pub fn headlines(&self) -> Vec<&Row> {
        let declared: Vec<&Row> = self.rows().filter(|r| r.headline).collect();
        let first = || self.rows().find(|r| r.of == Of::Bytes).or_else(|| self.rows().next());
        if declared.is_empty() { first().into_iter().collect() } else { declared }
    }

    /// The largest amount of live data.
    pub fn peak(&self) -> Bytes {
        Bytes(self.amount.bytes_peak)
    }

    /// The memory, if all live data fits into it; `None` if not, or if memory or data is unknown.
    pub fn fits_into(&self) -> Option<Bytes> {
        self.memory.filter(|memory| (1..=memory.0).contains(&self.amount.bytes_peak))
    }

    /// Whether this filesystem's figures measure page cache and CPU, but not the figures of all filesystems.
    pub fn marked(&self, filesystem: &str) -> bool {
        self.page_cache.is_empty() && self.labels.iter().any(|l| l.page_cache && l.filesystem == filesystem)
    }

    /// Live data, memory, and what the figures therefore measure.
    pub fn setting(&self) -> String {
        let cpu = if self.on_one_cpu { " on one CPU" } else { "" };
        let by = if self.clients > 1 { format!("{} clients{cpu}, ", self.clients) } else { String::new() };
        let memory =
            self.memory.map_or_else(|| "no memory limit".to_owned(), |memory| format!("{memory} of memory"));
        let setting = match self.page_cache.as_str() {
            // The amount of work that fills a volume is known only afterwards.
            "" if self.amount == Amount::default() => format!("{by}{memory}"),
            "" => format!("{by}files take at most {peak} at a time; {memory}", peak = self.peak()),
            why => format!("{by}measures page cache and CPU: {why}"),
        };
        if self.stages.is_empty() { setting } else { format!("{}; {setting}", self.stages) }
    }

    /// Notes that must accompany the figures, one sentence each: on page cache, short work, disturbances, and other facts.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let marked: Vec<String> =
            self.labels.iter().filter(|l| l.page_cache && self.page_cache.is_empty()).map(said).collect();
        if !marked.is_empty() {
            let text = "measures page cache and CPU, because less than half of the written bytes reached the device by \
                        the end of the sync";
            notes.push(format!("{text}: {}", number::list(&marked)));
        }
        notes.extend((!self.joined.is_empty()).then(|| self.joined.clone()));
        notes.extend((!self.short.is_empty()).then(|| format!("preliminary: {}", self.short)));
        notes.extend((!self.disturbed.is_empty()).then(|| format!("interference: {}", self.disturbed)));
        notes.extend(
            self.labels.iter().filter(|l| !l.page_cache).map(|l| format!("{}: {}", l.filesystem, l.text)),
        );
        notes
    }
}

fn is_alone(clients: &u32) -> bool {
    *clients <= 1
}

/// A filesystem with its note in brackets: `label (31 %)`.
fn said(label: &Label) -> String {
    format!("{} ({})", label.filesystem, label.text)
}
