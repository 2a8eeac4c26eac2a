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
    /// Whether mkfs and mount had the kind's own arguments alone, however it came about.
    #[serde(skip)]
    pub is_plain: bool,
    #[serde(skip)]
    pub look: Look,
}

/// How the filesystem of that label looks.
pub fn look(entries: &[Entry], label: &str) -> Look {
    entries.iter().find(|entry| entry.label == label).map(|entry| entry.look).unwrap_or_default()
}
