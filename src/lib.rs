//! fsderby puts filesystems on the same ground, gives them the same work, and returns a verdict that can be defended.
//!
//! `ARCHITECTURE.md` has the whole idea on one page.

pub mod agent;
pub mod cli;
pub mod exit;
pub mod filesystems;
pub mod grounds;
pub mod lab;
pub mod metric;
pub mod mistakes;
pub mod names;
pub mod probes;
pub mod report;
pub mod store;
pub mod story;
pub mod units;
pub mod verdict;
pub mod workloads;
