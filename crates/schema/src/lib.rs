//! Plain data that fsderby's parts exchange and store: versioned, without I/O.
//!
//! ```text
//! setup ── plan ── job ──▶ agent ──▶ event ──▶ record
//! ```

pub mod candidate;
pub mod change;
pub mod declared;
pub mod description;
pub mod drive;
pub mod event;
pub mod finding;
pub mod import;
pub mod job;
pub mod machine;
pub mod metric;
pub mod needs;
pub mod plan;
pub mod power_cut;
pub mod random;
pub mod reason;
pub mod recommendation;
pub mod record;
pub mod request;
pub mod scenario;
pub mod seal;
pub mod setup;
pub mod shard;
pub mod units;
pub mod work;
