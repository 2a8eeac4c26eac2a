//! fsderby compares filesystems under the same conditions and the same work, and returns a verdict that can be defended.
//!
//! `ARCHITECTURE.md` has the whole idea on one page.

pub mod agent;
pub mod analysis;
pub mod cli;
pub mod config;
pub mod devices;
#[cfg(feature = "full")]
pub mod dropins;
pub mod exit;
pub mod filesystems;
pub mod guest;
pub mod host;
pub mod imports;
pub mod papers;
pub mod probes;
pub mod report;
pub mod runner;
pub mod stages;
pub mod states;
pub mod storage;
pub mod store;
pub mod testbeds;
pub mod text;
pub mod version;
pub mod workloads;

pub use fsderby_schema as schema;
