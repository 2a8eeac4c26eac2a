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

#[derive(Clone, Debug, Serialize)]
pub struct WorkloadSummary {
    pub label: String,
    pub engine: String,
    /// One line each: `transactions = 50000`.
    pub parameters: Vec<String>,
    /// In a line, where the scenario is more than the work alone.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stages: String,
    /// What the set is for; empty for a user's own parameters.
    pub story: String,
    pub amount: Amount,
    /// How many processes do it at the same time.
    #[serde(skip_serializing_if = "is_alone")]
    pub clients: u32,
    /// Whether all of them share one CPU, as in virtual time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_one_cpu: bool,
    /// Page cache and workload together: the limit, or the machine's; absent where the run does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Rounds in which every filesystem that can do this work has a trial that counts.
    pub rounds: usize,
    /// Why all of this is about the page cache and the processor; empty where it is about the disk.
    pub page_cache: String,
    /// Why the figures are those of the work's beginning; empty where it went on for long enough.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub short: String,
    /// Whether that is so of every trial.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_short: bool,
    /// How often others took from the work what it needed; empty where they did not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub disturbed: String,
    pub labels: Vec<Label>,
    pub sections: Vec<SectionSummary>,
    /// The same figures in the tables in which people know them.
    #[serde(skip)]
    pub sheets: Vec<Sheet>,
    pub latencies: Vec<Latency>,
    /// Each measured work that was looked at while it went on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<OverTime>,
    /// Each candidate beside the best, or the baseline: one for each headline metric.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// What may be said of each pair's headline metrics. The JSON report has them with the verdict.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// What a paper printed for this very work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<Beside>,
    /// What other programs measured of this work or the like, elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<Imported>,
}

/// What must be said beside a filesystem's figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    pub filesystem: String,
    /// What a validity check saw and in how many trials, or how much of what was written reached the device.
    pub text: String,
    /// Whether it means "page cache and CPU".
    pub page_cache: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct SectionSummary {
    pub title: &'static str,
    pub note: &'static str,
    pub rows: Vec<Row>,
}

impl WorkloadSummary {
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|s| &s.rows)
    }

    /// The declared headline metrics; where none is declared or shown, what reached the device, or the first there is.
    pub fn headlines(&self) -> Vec<&Row> {
        let declared: Vec<&Row> = self.rows().filter(|r| r.headline).collect();
        let first = || self.rows().find(|r| r.of == Of::Bytes).or_else(|| self.rows().next());
        if declared.is_empty() { first().into_iter().collect() } else { declared }
    }

    /// Most that is live at one time.
    pub fn peak(&self) -> Bytes {
        Bytes(self.amount.bytes_peak)
    }

    /// Whether this filesystem's figures, and not those of all, are about the page cache and the processor.
    pub fn marked(&self, filesystem: &str) -> bool {
        self.page_cache.is_empty() && self.labels.iter().any(|l| l.page_cache && l.filesystem == filesystem)
    }

    /// How much is live beside how much memory, and what that makes of the figures.
    pub fn setting(&self) -> String {
        let cpu = if self.on_one_cpu { " on one CPU" } else { "" };
        let by = if self.clients > 1 { format!("{} clients{cpu}, ", self.clients) } else { String::new() };
        let memory =
            self.memory.map_or_else(|| "no memory limit".to_owned(), |memory| format!("{memory} of memory"));
        let setting = match self.page_cache.as_str() {
            // Work that fills what it finds is known only when it is done.
            "" if self.amount == Amount::default() => format!("{by}{memory}"),
            "" => format!("{by}files total at most {} at a time, {memory}", self.peak()),
            why => format!("{by}page cache and CPU: {why}"),
        };
        if self.stages.is_empty() { setting } else { format!("{}; {setting}", self.stages) }
    }

    /// What must be said with the figures, one sentence each: page cache, what is short, what was disturbed, and the rest.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let marked: Vec<String> =
            self.labels.iter().filter(|l| l.page_cache && self.page_cache.is_empty()).map(said).collect();
        if !marked.is_empty() {
            let text = "page cache and CPU: less than half of the written bytes reached the device by the end of the \
                        sync";
            notes.push(format!("{text}: {}", number::list(&marked)));
        }
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

/// `label (31 %)`
fn said(label: &Label) -> String {
    format!("{} ({})", label.filesystem, label.text)
}
