//! The only place where filesystems, workloads, grounds and probes meet: from an experiment to a plan, from a plan to
//! jobs, from events to records.

pub mod controls;
pub mod experiment;
pub mod fold;
pub mod jobs;
mod launch;
pub mod machine;
pub mod metrics;
pub mod plan;
pub mod power_cut;
pub mod race;
pub mod rerun;
pub mod skips;
pub mod turns;
pub mod verify;
