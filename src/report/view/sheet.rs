//! Metrics side by side, as people know them from the tool itself.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sheet {
    pub title: &'static str,
    pub note: &'static str,
    /// Of these the first are no figures: what the line is of, where there are several, and the filesystem.
    pub columns: Vec<String>,
    pub names: usize,
    pub lines: Vec<Vec<String>>,
}
