//! Metrics side by side, in the layout in which the original tool prints them.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Sheet {
    pub title: &'static str,
    pub note: &'static str,
    /// The first columns are names: the line's title if there are several lines, and the filesystem.
    pub columns: Vec<String>,
    pub names: usize,
    pub lines: Vec<Vec<String>>,
}
