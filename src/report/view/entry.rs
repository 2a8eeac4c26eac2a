//! A filesystem of the run, as the plan states it.

use serde::Serialize;

use super::look::Look;

/// A filesystem as the plan states it, and as the kernel mounted it.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Entry {
    pub label: String,
    pub kind: String,
    /// Further arguments of mkfs and mount; empty for the kind's defaults.
    pub options: String,
    /// Type, driver and options that the kernel showed; empty if nothing was mounted.
    pub mounted: String,
    /// The period (era) whose options the filesystem has, and the options of that period that today's tools and drivers do not have
    /// any more; empty for today's options.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub era: String,
    /// Whether mkfs and mount had only the kind's own arguments.
    #[serde(skip)]
    pub is_plain: bool,
    #[serde(skip)]
    pub look: Look,
}

/// One sentence for each entry with options of another period.
pub fn eras(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .filter(|entry| !entry.era.is_empty())
        .map(|entry| format!("{}: {}", entry.label, entry.era))
        .collect()
}

/// The look of the filesystem with that label.
pub fn look(entries: &[Entry], label: &str) -> Look {
    entries.iter().find(|entry| entry.label == label).map(|entry| entry.look).unwrap_or_default()
}
