//! From an experiment to a plan, from a plan to jobs, from their events to records: where filesystems, workloads, testbeds and
//! probes meet.

pub mod at_once;
mod bounds;
mod changed;
pub mod comparable;
pub mod crossing;
pub mod entry;
pub mod eras;
pub mod experiment;
pub mod extras;
mod floor;
pub mod fold;
pub mod jobs;
pub mod judgeable;
mod labels;
mod launch;
pub mod longer;
pub mod machine;
mod named;
pub mod needs;
pub mod pace;
pub mod planned;
pub mod profiles;
pub mod raw;
pub mod rerun;
pub mod resolved;
pub mod rounds;
pub mod scaled;
pub mod scenarios;
mod side_by_side;
mod skipped;
pub mod skips;
mod steps;
mod values;
pub mod verify;
pub mod written;
