//! Shared parts of the engines. An engine uses the parts that it needs; no part depends on an engine.
//!
//! ```text
//! parse      parameters   keys of a TOML table: unknown ones, missing ones, limits, scaling
//! prepare    random       a separate generator for each use of the seed
//!            sizes        file sizes, drawn by a table of weights
//!            tree         numbered files in folders: paths, sizes, content, and the list of files that must exist
//!            noise        content of files, and its verification
//!            zeros        the checksum of holes
//! run        phases       begins and ends a phase: its time, its counts, its latencies
//!            latencies    a histogram for each kind of operation
//!            files        operations on files; an error names the operation and the file
//!            visit        visits a tree like find, tar and rm
//! metrics    rate         a count divided by the time of its phase
//! ```
//! Paths are relative to the current folder, which no other work uses. Between two clock readings only the operation runs: all
//! memory is allocated in `prepare`.

pub mod files;
pub mod latencies;
pub mod noise;
pub mod parameters;
pub mod phases;
mod random;
mod rate;
pub mod sizes;
pub mod tree;
pub mod visit;
pub mod zeros;

pub use latencies::Latencies;
pub use noise::Noise;
pub use parameters::Keys;
pub use phases::{Counts, Phases, Under};
pub use random::random;
pub use rate::Rate;
pub use tree::Tree;
