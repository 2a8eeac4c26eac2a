//! From an experiment to a plan, to jobs, to records: the meeting point of filesystems, workloads, testbeds and probes.
//!
//! ```text
//! plan <- preflight <- experiment        the user's file and flags become a plan
//!             ^------- execute <- verify
//!                                 ^-- merge
//! ```

pub mod execute;
pub mod experiment;
pub mod merge;
pub mod plan;
pub mod preflight;
pub mod verify;
