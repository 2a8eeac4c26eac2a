//! Trials that do not count, and why.

use serde::Serialize;

/// Trials that do not count, for one reason.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Absent {
    pub workload: String,
    pub filesystem: String,
    /// What happened to the trials: `failed`, `void`, `superseded`, or `not run`.
    pub what: &'static str,
    pub reason: String,
    /// The trials in words: `round 3`, `round 4, attempt 1: repeated`; empty if no trial began.
    pub trials: Vec<String>,
}

/// Filesystems that could not take part, for one reason.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Skips {
    pub filesystems: Vec<String>,
    /// The workloads that these filesystems could not do; empty if they could do no workload at all.
    pub workloads: Vec<String>,
    pub reason: String,
}

/// A probe, or a counter of a probe, that was not available.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Unavailable {
    /// Name of the probe or counter: `pace`, `block_io.flushes`.
    pub what: String,
    pub reason: String,
    pub filesystems: Vec<String>,
}

/// The largest number of characters of a reason, except in the list of trials that do not count.
const BRIEF: usize = 120;

/// A reason without its advice, cut at a word if the reason is long. The section "Not counted" has the whole text.
pub fn brief(reason: &str) -> String {
    let text = reason.split(" — try:").next().unwrap_or_default().trim().trim_end_matches('.');
    if text.chars().count() <= BRIEF {
        return text.to_owned();
    }
    let cut: String = text.chars().take(BRIEF).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{} …", cut.trim_end_matches([':', ',', ';', ' ']))
}

impl Skips {
    /// The filesystems, and the workloads if they could do others: `alderfs, birchfs`, `rowanfs on mail`.
    pub fn who(&self) -> String {
        let on = if self.workloads.is_empty() { "" } else { " on " };
        format!("{}{on}{}", self.filesystems.join(", "), self.workloads.join(", "))
    }
}
