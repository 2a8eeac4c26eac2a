//! A plan and what follows from it alone: its values, scenarios, jobs with their steps, and expected amounts. Pure.

pub(super) mod bounds;
pub mod extras;
pub(super) mod floor;
pub mod jobs;
pub(super) mod labels;
pub mod resolved;
pub mod scenarios;
pub mod shard;
pub mod sharded;
pub(super) mod steps;
pub(super) mod values;
pub mod written;
