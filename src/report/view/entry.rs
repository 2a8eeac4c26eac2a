//! A filesystem of the run as it was entered.

use serde::Serialize;

use super::look::Look;

/// A filesystem as it was entered, and as it was mounted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Entry {
    pub label: String,
    pub kind: String,
    /// Further arguments of mkfs and mount; empty for the kind's defaults.
    pub options: String,
    /// Type, driver and options that the kernel showed; empty where nothing was mounted.
    pub mounted: String,
    /// The time whose options it has, and what of them today's tools and drivers no longer have; empty where it has today's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub era: String,
    /// Whether mkfs and mount had the kind's own arguments alone, however it came about.
    #[serde(skip)]
    pub is_plain: bool,
    #[serde(skip)]
    pub look: Look,
}

/// One sentence for each that has options of another time.
pub fn eras(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .filter(|entry| !entry.era.is_empty())
        .map(|entry| format!("{}: {}", entry.label, entry.era))
        .collect()
}

/// How the filesystem of that label looks.
pub fn look(entries: &[Entry], label: &str) -> Look {
    entries.iter().find(|entry| entry.label == label).map(|entry| entry.look).unwrap_or_default()
}
