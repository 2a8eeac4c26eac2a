//! Plain data that fsderby's parts exchange and store: versioned, without I/O.
//!
//! ```text
//! setup ── plan ── job ──▶ agent ──▶ event ──▶ record
//! ```

pub mod event;
pub mod job;
pub mod machine;
pub mod metric;
pub mod request;
pub mod setup;
pub mod story;
pub mod units;
pub mod work;
